//! How does a report read in a terminal?

use samples::units;
use serde_json::Value;

use crate::{Report, Subject};

/// Width at which sentences wrap.
const WIDTH: usize = 96;

pub(crate) fn of(report: &Report) -> String {
    let mut out = format!("{}\n", heading(report));
    for line in surroundings(report) {
        out.push_str(&format!("  {line}\n"));
    }
    for warning in &report.warnings {
        out.push_str(&wrapped("warning: ", &warning.text));
        if !warning.advice.is_empty() {
            out.push_str(&wrapped("         ", &format!("→ {}", warning.advice)));
        }
    }
    for table in &report.tables {
        out.push('\n');
        out.push_str(&table.text());
    }
    if let Some(tail) = &report.tail {
        out.push('\n');
        out.push_str(&wrapped("Verdict: ", &tail.verdict.text));
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
    if let Some(subject) = &report.subject {
        parts.push(steps(subject));
    }
    if facts.elapsed_s > 0.0 {
        parts.push(units::duration(facts.elapsed_s));
    }
    if facts.backend == "simulate" {
        parts.push("simulated: no device was touched".into());
    }
    format!("{}: {}", report.title, parts.join(", "))
}

fn steps(subject: &Subject) -> String {
    let n = subject.steps.len();
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {}{plural}", units::count(n as u64), subject.value_name())
}

/// Machine, file systems, clock: one line each, as far as they are known.
pub(crate) fn surroundings(report: &Report) -> Vec<String> {
    let facts = &report.facts;
    let mut lines = Vec::new();
    let machine: Vec<String> = ["host", "processor", "model", "cpu", "memory_bytes", "kernel", "hypervisor"]
        .iter()
        .filter_map(|key| facts.machine.get(key).and_then(|value| plain(key, value)))
        .collect();
    if !machine.is_empty() {
        lines.push(machine.join(", "));
    }
    for system in &facts.file_systems {
        let part =
            |keys: &[&str]| keys.iter().find_map(|key| system.get(key).and_then(|value| plain(key, value)));
        let name = part(&["directory", "path", "mount"]).unwrap_or_default();
        let kind = part(&["type", "file_system", "kind"]).unwrap_or_default();
        let device = part(&["device", "source"]).map(|device| format!(" on {device}")).unwrap_or_default();
        lines.push(format!("{name}: {kind}{device}"));
    }
    lines
}

/// A simple value as text; sizes with their unit. None of null, lists and objects.
pub(crate) fn plain(key: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) if key.ends_with("_bytes") => number.as_u64().map(units::bytes),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.into()),
        _ => None,
    }
}

/// `text` after `first`, wrapped, further lines indented as far as `first` is long.
pub(crate) fn wrapped(first: &str, text: &str) -> String {
    let indent = " ".repeat(first.chars().count());
    let mut out = String::new();
    let mut line = first.to_string();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = indent.clone();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}
