//! How the load of a run was set, in the words of its program, and in what runs differ.

use samples::Facts;

/// What the program says of how it works: `direct`, `depth 16`.
pub fn settings(facts: &Facts) -> Vec<String> {
    let said = facts.report.get("title").map(String::as_str).unwrap_or_default();
    // Older runs said that what goes through the page cache is cached.
    let today = |word: &str| if word == "cached" { "buffered".into() } else { word.to_owned() };
    said.split(',').map(str::trim).filter(|word| !word.is_empty()).map(today).collect()
}

/// Of each run the settings that not all of them have: what its program says, its ranks, its parameters.
pub fn differing_settings(runs: &[&Facts]) -> Vec<Vec<String>> {
    let differs = |of: &dyn Fn(&Facts) -> Option<String>| {
        let mut all = runs.iter().map(|facts| of(facts));
        let first = all.next().flatten();
        all.any(|other| other != first)
    };
    let said = |facts: &Facts| settings(facts).join(", ");
    let is_said_unlike = differs(&|facts| Some(said(facts)));
    let are_programs_unlike = differs(&|facts| Some(facts.name.clone()));
    let are_ranks_unlike = differs(&|facts| Some(facts.ranks.to_string()));
    let mut keys: Vec<&String> = runs.iter().flat_map(|facts| facts.parameters.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| differs(&|facts| facts.parameters.get(*key).cloned()));
    let of_run = |facts: &Facts| {
        let mut found = if is_said_unlike { settings(facts) } else { Vec::new() };
        if are_programs_unlike {
            found.insert(0, format!("program {}", facts.name));
        }
        if are_ranks_unlike {
            found.push(format!("{} rank{}", facts.ranks, if facts.ranks == 1 { "" } else { "s" }));
        }
        for key in &keys {
            let Some(value) = facts.parameters.get(*key) else { continue };
            // `depth 16` stands among the words already.
            if !found.contains(&format!("{key} {value}")) {
                found.push(format!("{key}={}", readable(key, value)));
            }
        }
        found
    };
    runs.iter().map(|facts| of_run(facts)).collect()
}

/// Whether two runs were asked to keep other numbers of operations in flight.
pub fn ask_other_depths(old: &Facts, new: &Facts) -> bool {
    let depth = |facts: &Facts| {
        let said = settings(facts).into_iter().find(|one| one.starts_with("depth "));
        said.or_else(|| facts.parameters.get("depth").map(|depth| format!("depth {depth}")))
            .filter(|depth| depth != "depth 1")
    };
    depth(old) != depth(new)
}

/// Of each run its tags, `servers=2`, where they tell all runs apart; else in what the runs differ. Empty where nothing does.
pub fn apart(runs: &[&Facts]) -> Vec<String> {
    let tags = |facts: &Facts| {
        let all = facts.tags.iter().map(|(key, value)| format!("{key}={value}"));
        all.collect::<Vec<_>>().join(", ")
    };
    let tagged: Vec<String> = runs.iter().map(|facts| tags(facts)).collect();
    let mut distinct = tagged.clone();
    distinct.sort();
    distinct.dedup();
    if distinct.len() == runs.len() && tagged.iter().all(|one| !one.is_empty()) {
        return tagged;
    }
    let differing = differing_settings(runs).into_iter().zip(tagged);
    differing
        .map(|(settings, tags)| {
            [tags].into_iter().chain(settings).filter(|one| !one.is_empty()).collect::<Vec<_>>().join(", ")
        })
        .collect()
}

/// A number of bytes as it is read: `size=1 GiB`; other parameters as they are.
fn readable(key: &str, value: &str) -> String {
    /// Parameters of our loads that are bytes; no other says what its number is.
    const BYTES: [&str; 4] = ["bs", "size", "filesize", "stride"];
    let bytes = value.parse::<u64>().ok().filter(|bytes| BYTES.contains(&key) && *bytes >= 1024);
    // Only where nothing is rounded away: two runs that differ must not look alike.
    let whole = bytes.filter(|bytes| {
        let unit = 1 << (10 * (bytes.ilog2() / 10));
        bytes % unit == 0
    });
    whole.map_or_else(|| value.to_owned(), samples::units::bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(title: &str, ranks: u32, parameters: &[(&str, &str)]) -> Facts {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Facts {
            ranks,
            report: [("title".to_owned(), title.to_owned())].into(),
            parameters: parameters.iter().map(pair).collect(),
            ..Facts::default()
        }
    }

    #[test]
    fn each_run_has_what_sets_it_apart() {
        let cached = run("cached", 1, &[("bs", "4096"), ("dir", ".")]);
        let direct = run("direct, depth 16", 1, &[("bs", "4096"), ("depth", "16"), ("dir", ".")]);
        let many = run("cached", 4, &[("bs", "65536"), ("dir", ".")]);
        assert_eq!(differing_settings(&[&cached, &cached]), [Vec::<String>::new(), Vec::new()]);
        assert_eq!(differing_settings(&[&cached, &direct]), [vec!["buffered"], vec!["direct", "depth 16"]]);
        assert_eq!(
            differing_settings(&[&cached, &many]),
            [vec!["1 rank", "bs=4 KiB"], vec!["4 ranks", "bs=64 KiB"]]
        );
        let odd = [
            run("", 1, &[("size", "1073741825"), ("n", "4096")]),
            run("", 1, &[("size", "1073741824"), ("n", "8")]),
        ];
        assert_eq!(
            differing_settings(&[&odd[0], &odd[1]]),
            [vec!["n=4096", "size=1073741825"], vec!["n=8", "size=1 GiB"]]
        );
        assert_eq!(differing_settings(&[]), Vec::<Vec<String>>::new());
        assert_eq!(settings(&direct), ["direct", "depth 16"]);
        assert_eq!(settings(&Facts::default()), Vec::<String>::new());
        let tagged = |servers: &str, ranks| Facts {
            tags: [("servers".to_owned(), servers.to_owned())].into(),
            ..run("", ranks, &[])
        };
        assert_eq!(apart(&[&tagged("1", 1), &tagged("2", 4)]), ["servers=1", "servers=2"]);
        assert_eq!(apart(&[&tagged("1", 1), &tagged("1", 4)]), ["servers=1, 1 rank", "servers=1, 4 ranks"]);
        assert_eq!(apart(&[&cached, &direct]), ["buffered", "direct, depth 16"]);
        assert_eq!(apart(&[&cached, &cached]), ["", ""]);
    }
}
