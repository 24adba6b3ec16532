//! The first line of a screen: what ran, on what.

use samples::{NodeFacts, units};

use crate::Report;
use crate::how_many::how_many;

/// `parallel_write: 16 ranks, 400 steps, ext4 on /dev/vda`.
pub(super) fn title(report: &Report) -> String {
    let facts = &report.facts;
    let ranks = if facts.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", facts.ranks) };
    let ranks = ranks + &on_nodes(&facts.nodes);
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

/// ` on 4 nodes (n1, n2, n3, n4)`, of more than four the first two and the last; nothing of a run on one.
fn on_nodes(nodes: &[NodeFacts]) -> String {
    let names: Vec<&str> = nodes.iter().map(|node| node.host.as_str()).collect();
    let named = match names.as_slice() {
        [] | [_] => return String::new(),
        [first, second, _, _, .., last] if names.len() > 4 => format!("{first}, {second} … {last}"),
        few => few.join(", "),
    };
    format!(" on {} nodes ({named})", units::count(nodes.len() as u64))
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

    #[test]
    fn several_nodes_are_named() {
        let of = |nodes: u32| {
            let hosts = (1..=nodes).map(|node| format!("n{node}")).collect();
            on_nodes(&NodeFacts::of(&(0..nodes).collect::<Vec<_>>(), hosts))
        };
        assert_eq!((of(0), of(1)), (String::new(), String::new()));
        assert_eq!(of(4), " on 4 nodes (n1, n2, n3, n4)");
        assert_eq!(of(1000), " on 1,000 nodes (n1, n2 … n1000)");
    }
}
