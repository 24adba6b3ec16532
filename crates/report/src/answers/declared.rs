//! What a program declares for the first screen of its answer: sentences with gaps for numbers, and the rows it asks for.

use super::Measured;

/// A row or column that a program asks for: `NAME = WHAT`, or `WHAT` alone; several of which the first is taken that the
/// run has: `WHAT | OTHER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    pub name: Option<&'a str>,
    what: &'a str,
}

impl<'a> Asked<'a> {
    /// Its choices, the best first.
    pub fn choices(self) -> impl Iterator<Item = &'a str> {
        self.what.split('|').map(str::trim)
    }
}

impl<'a> Measured<'a> {
    /// The entries of a list that the program declares, which semicolons separate.
    pub fn declared(&self, key: &str) -> Vec<Asked<'a>> {
        wanted(self.run.facts.report.get(key).map_or("", String::as_str))
    }

    /// The sentences that the program declares as `say`, with their gaps filled in; `{disk}` is what its files are on, and
    /// has no value where they are in memory.
    pub fn said(&self, value: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        let on = &self.run.facts.file_systems;
        let disk = match (on.iter().any(|one| one.in_memory), on.iter().any(|one| one.remote)) {
            (true, _) => None,
            (false, true) => Some("the file server"),
            (false, false) => Some("the disk"),
        };
        let text = self.run.facts.report.get("say").map_or("", String::as_str);
        filled(text, &|gap| if gap == "disk" { disk.map(str::to_owned) } else { value(gap) })
    }
}

/// `A load` of a name that the program gives, `One stat` of an operation.
pub(super) fn one(given: Option<&str>, operation: &str) -> String {
    match given {
        Some(name) if name.starts_with(['a', 'e', 'i', 'o', 'u']) => format!("An {name}"),
        Some(name) => format!("A {name}"),
        None => crate::words::operation::one(operation),
    }
}

fn wanted(list: &str) -> Vec<Asked<'_>> {
    let entry = |text| match str::split_once(text, " = ") {
        Some((name, what)) => Asked { name: Some(name.trim()), what: what.trim() },
        None => Asked { name: None, what: str::trim(text) },
    };
    list.split(';').map(str::trim).filter(|text| !text.is_empty()).map(entry).collect()
}

/// Sentences whose gaps `{WHAT}` or `{WHAT | OTHER}` have values. A clause, up to `; `, is left out where a gap of it has
/// none. Where a clause has parts in square brackets, only those parts are left out that lack a value, and the clause
/// where none is left.
fn filled(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let sentence = |text: &str| {
        let clauses: Vec<String> =
            text.trim_end_matches('.').split("; ").filter_map(|text| clause(text, value)).collect();
        let said = clauses.join("; ");
        // A name of a call keeps its small letter; a clause that comes first in place of another gets a capital.
        let said = if text.starts_with(char::is_uppercase) { crate::words::capital(&said) } else { said };
        (!said.is_empty()).then(|| format!("{said}."))
    };
    text.split(". ").filter_map(sentence).collect()
}

fn clause(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let Some((lead, rest)) = text.split_once('[') else { return without_gaps(text, value) };
    let (parts, tail) = rest.rsplit_once(']')?;
    let (lead, tail) = (without_gaps(lead, value)?, without_gaps(tail, value)?);
    let parts: Vec<String> = parts
        .split(['[', ']'])
        .filter(|part| part.contains('{'))
        .filter_map(|part| without_gaps(part, value))
        .collect();
    (!parts.is_empty()).then(|| format!("{lead}{}{tail}", parts.join(", ")))
}

fn without_gaps(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (gap, after) = after.split_once('}')?;
        done.push_str(before);
        done.push_str(&gap.split('|').find_map(|one| value(one.trim()))?);
        rest = after;
    }
    done.push_str(rest);
    Some(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_value_is_left_out_with_its_part_or_clause() {
        let text = "A write takes {write}; a read takes [{direct | cold} from the disk], [{memory} from memory]. \
                    getpid {getpid}.";
        let said = |known: &[&str]| filled(text, &|what| known.contains(&what).then(|| format!("<{what}>")));
        assert_eq!(
            said(&["write", "cold", "memory", "getpid"]),
            [
                "A write takes <write>; a read takes <cold> from the disk, <memory> from memory.",
                "getpid <getpid>."
            ]
        );
        assert_eq!(said(&["direct", "cold"]), ["A read takes <direct> from the disk."]);
        assert_eq!(said(&["memory", "getpid"])[0], "A read takes <memory> from memory.");
        assert!(said(&[]).is_empty() && filled("", &|_| None).is_empty());
        // Gaps beside the brackets are those of the clause.
        let beside = |known: &str| {
            filled("A read takes [{warm}], a write {write}.", &|what| {
                known.contains(what).then(|| "1 s".into())
            })
        };
        assert_eq!(beside("warm, write"), ["A read takes 1 s, a write 1 s."]);
        assert!(beside("warm").is_empty());
    }

    #[test]
    fn a_list_has_entries_with_names_or_without() {
        let found = wanted("load = chase; read: O_DIRECT | read: cold;");
        assert_eq!((found.len(), found[0].name, found[1].name), (2, Some("load"), None));
        assert_eq!(found[1].choices().collect::<Vec<_>>(), ["read: O_DIRECT", "read: cold"]);
    }
}
