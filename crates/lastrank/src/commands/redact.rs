//! Hides host, command line, paths and user in a run, for `--redact`.

use std::collections::BTreeSet;

use samples::{Facts, MachineFacts, PathFacts, Run};
use serde_json::Value;

const HIDDEN: &str = "redacted";

/// Hides what names this machine and its user: the sections that hold such names are cut down as by
/// `lastrank machine --redact`, and what they named is hidden wherever else it stands: program, parameters, labels,
/// warnings.
pub fn redact(run: &mut Run) {
    let secrets = secrets(&run.facts);
    let facts = &mut run.facts;
    if let Some(machine) = &facts.machine {
        let mut whole = machine.clone();
        whole.paths = std::mem::take(&mut facts.file_systems);
        let (machine, paths) = sections(&machine::redact(&whole));
        (facts.machine, facts.file_systems) = (Some(machine), paths);
    }
    if let Some(mpi) = &mut facts.mpi {
        mpi.library = mpi.library.file_name().unwrap_or_default().into();
        mpi.why = HIDDEN.into();
    }
    facts.command_line = vec![HIDDEN.into()];
    // Facts that this version wrote can be read again.
    if let Ok(mut value) = serde_json::to_value(&*facts) {
        hide(&mut value, &secrets);
        if let Ok(hidden) = serde_json::from_value(value) {
            *facts = hidden;
        }
    }
    for site in &mut run.sites {
        site.labels.iter_mut().for_each(|label| *label = without(label, &secrets));
        site.group = without(&site.group, &secrets);
    }
}

/// A description as the facts of a run hold it: the machine and, beside it, the paths, each with its summary.
pub fn sections(described: &MachineFacts) -> (MachineFacts, Vec<PathFacts>) {
    let mut machine = MachineFacts { summary: machine::line(described), clock: None, ..described.clone() };
    let mut paths = std::mem::take(&mut machine.paths);
    paths.iter_mut().for_each(|path| path.summary = machine::path_line(path));
    (machine, paths)
}

/// What is to be hidden, longest first.
fn secrets(facts: &Facts) -> Vec<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    let pieces = |text: &str| -> Vec<String> {
        let separators = |c: char| matches!(c, '=' | ',' | ':') || c.is_whitespace();
        text.split(separators).filter(|piece| piece.contains('/')).map(str::to_owned).collect()
    };
    found.extend(facts.command_line.iter().flat_map(|word| pieces(word)));
    found.extend(facts.parameters.values().flat_map(|value| pieces(value)));
    found.extend(facts.machine.iter().filter_map(|machine| machine.host.clone()));
    found.extend(facts.hosts.iter().chain(facts.nodes.iter().map(|node| &node.host)).cloned());
    for place in &facts.file_systems {
        found.insert(place.path.clone());
        found.extend(place.real_path.clone());
    }
    found.extend(["HOME", "USER", "LOGNAME"].iter().filter_map(|name| std::env::var(name).ok()));
    // Whose home directory it is.
    let people: Vec<String> = found
        .iter()
        .filter_map(|path| path.strip_prefix("/home/")?.split('/').next().map(str::to_owned))
        .collect();
    found.extend(people);
    let mut found: Vec<String> =
        found.into_iter().filter(|secret| secret.len() > 1 && secret != "root" && secret != "./").collect();
    found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    found
}

/// Hides in `text` the paths that stand in `sources`, the user and the host.
pub fn redact_text(text: &str, sources: &[&str]) -> String {
    let separators = |c: char| matches!(c, '=' | ',' | ':' | '"' | '\'' | ';') || c.is_whitespace();
    // `1/2` is no path.
    let is_path = |piece: &&str| ["/", "./", "../", "~/"].iter().any(|begin| piece.starts_with(begin));
    let words = sources.iter().flat_map(|source| source.split(separators)).filter(is_path);
    let mut facts = Facts { command_line: words.map(str::to_owned).collect(), ..Facts::default() };
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|host| host.trim().to_owned());
    facts.machine = Some(MachineFacts { host, ..MachineFacts::default() });
    without(text, &secrets(&facts))
}

fn without(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN))
}

fn hide(value: &mut Value, secrets: &[String]) {
    match value {
        Value::String(text) => *text = without(text, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, secrets)),
        Value::Object(fields) => fields.values_mut().for_each(|field| hide(field, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use samples::{Site, Warning};

    use super::*;

    #[test]
    fn a_program_of_a_job_file_names_no_path_of_it() {
        let job = "[a]\ndirectory=/home/ada/x\nfilename=/data/set:/data/set2\nbs=4k\n# 1/2\n";
        let program = "# lastrank import ./ada/job.fio\ndefine place \"dir\" $dir \"/home/ada/x\";\n\
                       write(\"/data/set2\", 1/2); write(\"/data/set\", 1); # ada\n";
        let hidden = redact_text(program, &[job, "./ada/job.fio"]);
        assert!(!hidden.contains("ada") && !hidden.contains("/data"), "{hidden}");
        assert!(hidden.contains("write(\"redacted\", 1/2)"), "{hidden}");
    }

    #[test]
    fn nothing_names_the_machine_or_its_user_any_more() {
        let mut run = Run::default();
        run.facts.command_line =
            vec!["lastrank".into(), "run".into(), "--set".into(), "dir=/home/ada/x".into()];
        run.facts.parameters.insert("dir".into(), "/home/ada/x".into());
        run.facts.program = "write(\"/home/ada/x/f\", 1); # by ada".into();
        run.facts.machine =
            Some(MachineFacts { host: Some("secret-host".into()), ..MachineFacts::default() });
        run.facts
            .warnings
            .push(Warning { text: "secret-host: /home/ada/x is full".into(), ..Warning::default() });
        run.sites.push(Site { labels: vec!["on secret-host".into()], ..Site::default() });
        redact(&mut run);
        let text = serde_json::to_string(&(&run.facts, &run.sites)).expect("plain data");
        assert!(!text.contains("ada") && !text.contains("secret-host"), "{text}");
        assert!(run.facts.program.starts_with("write(\"redacted/f\", 1)"), "{}", run.facts.program);
    }
}
