//! The first line of a screen: what ran, on what.

use samples::units;

use crate::Report;
use crate::how_many::how_many;

/// `parallel_write: 16 ranks, 400 steps, ext4 on /dev/vda`.
pub(super) fn title(report: &Report) -> String {
    let facts = &report.facts;
    let ranks = if facts.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", facts.ranks) };
    let mut parts = Vec::new();
    let said = report.facts.report.get("title").filter(|said| !said.is_empty());
    // A program that says how it works leaves no room for a number that is 1.
    parts.extend(Some(ranks).filter(|_| facts.ranks != 1 || said.is_none()));
    parts.extend(said.into_iter().flat_map(|said| said.split(',')).map(|part| with_units(part.trim())));
    parts.extend(super::answer::subject(report).map(|main| how_many(&main.subject)));
    if facts.is_simulated() {
        parts.push("simulated (no device)".into());
    } else {
        let on = facts.file_systems.iter().find_map(|on| {
            let kind = on.file_system.as_ref().filter(|kind| !kind.is_empty())?;
            let source = on.mount.as_ref().map_or(on.path.as_str(), |mount| mount.source.as_str());
            Some(format!("{kind} on {source}"))
        });
        parts.extend(on);
    }
    format!("{}: {}", report.title, parts.join(", "))
}

/// `reads of 4096 bytes` as `reads of 4 KiB`: a program knows its parameters as numbers.
fn with_units(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_bytes = |at: usize| words.get(at) == Some(&"bytes");
    let number = |at: usize| words[at].parse::<u64>().ok();
    let said = (0..words.len()).filter(|at| *at == 0 || !is_bytes(*at) || number(at - 1).is_none());
    let said = said.map(|at| match number(at).filter(|_| is_bytes(at + 1)) {
        Some(bytes) => units::bytes(bytes),
        None => words[at].to_owned(),
    });
    said.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_bytes_has_a_unit() {
        assert_eq!(with_units("reads of 4096 bytes, direct"), "reads of 4096 bytes, direct");
        assert_eq!(with_units("ways to read and write 4096 bytes"), "ways to read and write 4 KiB");
        assert_eq!(with_units("bytes of nothing"), "bytes of nothing");
    }
}
