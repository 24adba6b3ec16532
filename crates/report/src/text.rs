//! Writes a report as text for a terminal.

use samples::{MachineFacts, PathFacts, TimeUse, units};
use serde_json::Value;

use crate::how_many::how_many;
use crate::screen::answer;
use crate::table::width;
use crate::wrap::{columns_for, wrapped_with_units};
use crate::{Report, percent};

/// Width at which sentences wrap; less where a terminal is narrower.
const WIDEST: usize = 96;

pub(crate) fn of(report: &Report) -> String {
    let mut out = format!("{}\n", heading(report));
    for line in surroundings(report) {
        out.push_str(&format!("  {line}\n"));
    }
    if let Some(line) = where_the_time_went(report) {
        out.push_str(&format!("  {line}\n"));
    }
    let (sign, outcome) = answer::outcome(report);
    out.push_str(&sentence(&format!("{} ", sign.mark()), &outcome));
    answer::verified_sentence(report).iter().for_each(|text| out.push_str(&sentence("  ", text)));
    for warning in &report.warnings {
        out.push_str(&sentence("warning: ", &warning.text));
        if !warning.advice.is_empty() {
            out.push_str(&sentence("         ", &format!("→ {}", warning.advice)));
        }
    }
    // The verdict says whether what follows may be used.
    if let Some(tail) = answer::judged(report).and_then(|main| main.tail.as_ref()) {
        out.push('\n');
        let of = answer::judged_name(report).map_or(String::new(), |name| format!(" on {name}"));
        out.push_str(&sentence(&format!("Verdict{of}: "), &tail.text()));
        for advice in tail.advice() {
            out.push_str(&sentence("       → ", &advice));
        }
    }
    for table in report
        .chapters
        .iter()
        .filter(|chapter| (!chapter.folded || chapter.below_answer) && !chapter.on_page_only)
        .flat_map(|chapter| &chapter.tables)
    {
        out.push('\n');
        out.push_str(&table.text());
    }
    let said = report.answer.as_ref().map_or(&report.brief, |answer| &answer.sentences);
    if !said.is_empty() {
        out.push('\n');
        out.push_str(&sentence("In short: ", &said.join(" ")));
    }
    out
}

/// `parallel_write: 16 ranks, 400 steps, 12.3 s`.
pub(crate) fn heading(report: &Report) -> String {
    let facts = &report.facts;
    let mut parts = vec![match facts.ranks {
        1 => "1 rank".to_string(),
        ranks => format!("{ranks} ranks"),
    }];
    if let Some(main) = report.main.as_ref().filter(|_| report.brief.is_empty()) {
        parts.push(how_many(&main.subject));
    }
    if facts.elapsed_s > 0.0 {
        parts.push(units::duration(facts.elapsed_s));
    }
    if facts.backend.starts_with("simulate") {
        parts.push("simulated: no device was touched".into());
    }
    format!("{}: {}", report.title, parts.join(", "))
}

/// `Time of 16 ranks: 71% in commands, 20% waiting for others, 9% engine`. None for a simulated run and
/// where it is not known.
pub(crate) fn where_the_time_went(report: &Report) -> Option<String> {
    if report.facts.backend.starts_with("simulate") {
        return None;
    }
    let sum = |part: fn(&TimeUse) -> f64| report.time.iter().map(part).sum::<f64>();
    let wall = sum(|one| one.wall_s);
    if wall <= 0.0 {
        return None;
    }
    let parts = [
        (sum(|one| one.operations_s), "in commands"),
        (sum(|one| one.waiting_s), "waiting for others"),
        (sum(|one| one.paused_s), "in pauses of the program"),
        (sum(|one| one.engine_s), "engine"),
    ];
    let shown: Vec<String> = parts
        .iter()
        .filter(|(seconds, _)| *seconds > 0.0)
        .map(|(seconds, what)| format!("{} {what}", percent(seconds / wall)))
        .collect();
    let ranks = match report.time.len() {
        1 => "the rank".to_owned(),
        several => format!("{several} ranks"),
    };
    Some(format!("Time of {ranks}: {}", shown.join(", ")))
}

/// Machine and file systems: one line each, as far as they are known. Empty for a simulated run.
pub(crate) fn surroundings(report: &Report) -> Vec<String> {
    let facts = &report.facts;
    if facts.backend.starts_with("simulate") {
        return Vec::new();
    }
    let machine = facts.machine.as_ref().and_then(machine_line);
    machine.into_iter().chain(facts.file_systems.iter().filter_map(path_line)).collect()
}

/// `node17, Example CPU, 8 CPUs (KVM guest), 16 GiB, Linux 6.12.0`, as far as it is known.
fn machine_line(machine: &MachineFacts) -> Option<String> {
    let guest = machine.virtualisation.hypervisor.as_ref();
    let online = machine.processor.online.map(|online| match guest {
        Some(guest) => format!("{online} CPUs ({guest} guest)"),
        None => format!("{online} CPUs"),
    });
    let kernel =
        [&machine.kernel.name, &machine.kernel.release].map(|part| part.as_deref().unwrap_or_default());
    let parts = [
        machine.host.clone(),
        machine.processor.model.clone(),
        online,
        machine.memory.total.map(units::bytes),
        Some(kernel.join(" ").trim().to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `/data on ext4 (/dev/nvme0n1, NVMe SSD)`; none where the file system is not known.
fn path_line(on: &PathFacts) -> Option<String> {
    let kind = on.file_system.as_ref().filter(|kind| !kind.is_empty() && !on.path.is_empty())?;
    let source = on.mount.as_ref().map(|mount| mount.source.as_str());
    let device = on.device.as_ref().map(|device| device.kind.as_str());
    let details: Vec<&str> =
        [source, device].into_iter().flatten().filter(|detail| !detail.is_empty()).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    Some(format!("{} on {kind}{details}", on.path))
}

/// A simple value as text; sizes, known by the last word of their `key`, with their unit. None of
/// null, lists and objects.
pub(crate) fn plain(key: &str, value: &Value) -> Option<String> {
    const SIZES: [&str; 11] =
        ["bytes", "total", "available", "free", "swap", "used", "dirty", "stack", "memory", "line", "block"];
    let last = key.rsplit(['/', '_', ' ']).next().unwrap_or_default();
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) if SIZES.contains(&last) => number.as_u64().map(units::bytes),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.into()),
        _ => None,
    }
}

/// `text` after `first`, wrapped, further lines indented as far as `first` is long, where that leaves half of a line.
pub fn sentence(first: &str, text: &str) -> String {
    const SHORT: usize = 4;
    let columns = columns_for(WIDEST);
    if width(first) > columns / 2 {
        let (whole, indent) = (format!("{first}{text}"), " ".repeat(SHORT));
        return wrapped_with_units(&whole, columns - SHORT).join(&format!("\n{indent}")) + "\n";
    }
    let indent = " ".repeat(width(first));
    wrapped_with_units(text, columns - indent.len())
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{}{line}\n", if index == 0 { first } else { &indent }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_of_any_length_is_followed_by_its_text() {
        assert!(
            sentence("Fit: ", &"word ".repeat(40)).lines().skip(1).all(|line| line.starts_with("     word"))
        );
        let long = sentence(&format!("{}: ", "x".repeat(300)), &"word ".repeat(40));
        assert!(long.lines().skip(1).all(|line| line.starts_with("    word")), "{long}");
        assert_eq!(long.matches("word").count(), 40);
    }
}
