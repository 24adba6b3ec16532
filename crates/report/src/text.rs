//! Writes a report as text for a terminal.

use samples::{TimeUse, units};
use serde_json::Value;

use crate::table::{width, wrapped};
use crate::{Report, Subject, percent};

/// Width at which sentences wrap.
const WIDTH: usize = 96;

pub(crate) fn of(report: &Report) -> String {
    let mut out = format!("{}\n", heading(report));
    for line in surroundings(report) {
        out.push_str(&format!("  {line}\n"));
    }
    if let Some(line) = where_the_time_went(report) {
        out.push_str(&format!("  {line}\n"));
    }
    for warning in &report.warnings {
        out.push_str(&sentence("warning: ", &warning.text));
        if !warning.advice.is_empty() {
            out.push_str(&sentence("         ", &format!("→ {}", warning.advice)));
        }
    }
    for table in report
        .chapters
        .iter()
        .filter(|chapter| !(chapter.folded || chapter.on_page_only))
        .flat_map(|chapter| &chapter.tables)
    {
        out.push('\n');
        out.push_str(&table.text());
    }
    if !report.brief.is_empty() {
        out.push('\n');
        out.push_str(&sentence("In short: ", &report.brief.join(" ")));
    } else if let Some(tail) = report.tail() {
        out.push('\n');
        out.push_str(&sentence("Verdict: ", &tail.text()));
        for advice in tail.advice() {
            out.push_str(&sentence("       → ", &advice));
        }
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
        parts.push(steps(&main.subject));
    }
    if facts.elapsed_s > 0.0 {
        parts.push(units::duration(facts.elapsed_s));
    }
    if facts.backend.starts_with("simulate") {
        parts.push("simulated: no device was touched".into());
    }
    format!("{}: {}", report.title, parts.join(", "))
}

/// `Time of 16 ranks: 71 % in commands, 20 % waiting for others, 9 % engine`. None for a simulated run and
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

fn steps(subject: &Subject) -> String {
    let n = subject.steps.len();
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {}{plural}", units::count(n as u64), subject.value_name())
}

/// Machine and file systems: one line each, as far as they are known. Empty for a simulated run.
pub(crate) fn surroundings(report: &Report) -> Vec<String> {
    let facts = &report.facts;
    if facts.backend.starts_with("simulate") {
        return Vec::new();
    }
    let part = |value: &Value, pointers: &[&str]| {
        pointers.iter().find_map(|pointer| plain(pointer, value.pointer(pointer)?)).unwrap_or_default()
    };
    let machine = &facts.machine;
    let mut parts = vec![part(machine, &["/host"]), part(machine, &["/processor/model", "/processor"])];
    let online = part(machine, &["/processor/online"]);
    let guest = part(machine, &["/virtualisation/hypervisor"]);
    parts.push(match (online.is_empty(), guest.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!("{online} CPUs"),
        (false, false) => format!("{online} CPUs ({guest} guest)"),
    });
    parts.push(part(machine, &["/memory/total"]));
    parts.push(
        [part(machine, &["/kernel/name"]), part(machine, &["/kernel/release"])].join(" ").trim().to_string(),
    );
    parts.retain(|part| !part.is_empty());
    let mut lines = Vec::new();
    if !parts.is_empty() {
        lines.push(parts.join(", "));
    }
    for place in &facts.file_systems {
        let path = part(place, &["/path", "/directory"]);
        let kind = part(place, &["/file_system", "/type"]);
        let details: Vec<String> = [part(place, &["/mount/source"]), part(place, &["/device/kind"])]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        if path.is_empty() || kind.is_empty() {
            continue;
        }
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        lines.push(format!("{path} on {kind}{details}"));
    }
    lines
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

/// `text` after `first`, wrapped, further lines indented as far as `first` is long.
pub fn sentence(first: &str, text: &str) -> String {
    let indent = width(first);
    let lines = wrapped(text, WIDTH - indent);
    lines.iter().enumerate().fold(String::new(), |mut out, (index, line)| {
        let before = if index == 0 { first.to_string() } else { " ".repeat(indent) };
        out.push_str(&format!("{before}{line}\n"));
        out
    })
}
