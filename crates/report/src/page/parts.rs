//! How do tables and facts read on a page?

use std::fmt::Write as _;

use samples::Facts;
use serde::Serialize;
use serde_json::Value;

use super::escaped;
use crate::Table;
use crate::text::plain;

/// Rows from which on a table is folded.
const LONG: usize = 40;

/// Tables: narrow ones in pairs; one without a neighbour takes the whole row.
pub(super) fn tables(tables: &[Table]) -> String {
    if tables.is_empty() {
        return String::new();
    }
    let mut out = String::from("<div class=\"tables\">\n");
    let mut tables = tables.iter().peekable();
    let mut waiting = false;
    while let Some(table) = tables.next() {
        let pairs = waiting || tables.peek().is_some_and(|next| is_narrow(next));
        let narrow = is_narrow(table) && pairs;
        waiting = narrow && !waiting;
        out.push_str(&html_table(table, !narrow));
    }
    out.push_str("</div>\n");
    out
}

/// Does the table fit half the page without scrolling?
fn is_narrow(table: &Table) -> bool {
    let width = |at: usize| {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| cell.chars().count());
        cells.chain([table.columns[at].name.chars().count()]).max().unwrap_or(0) + 2
    };
    (0..table.columns.len()).map(width).sum::<usize>() <= 66
}

fn html_table(table: &Table, is_wide: bool) -> String {
    let wide = if is_wide { " all" } else { "" };
    // A long table would keep all that follows out of sight.
    let is_long = table.rows.len() > LONG;
    let unfold = if is_long {
        format!("<details><summary>{} rows</summary>", table.rows.len())
    } else {
        String::new()
    };
    let mut out = format!(
        "<section class=\"table card{wide}\"><h3>{}</h3>{unfold}<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>",
        escaped(&table.title)
    );
    for column in &table.columns {
        let class = if column.number { " class=\"number\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escaped(&column.name));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str(if row.strong { "<tr class=\"strong\">" } else { "<tr>" });
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let class = match (column.number, cell.chars().count() > 24) {
                (true, _) => "number",
                (false, true) => "text",
                (false, false) => "word",
            };
            let _ = write!(out, "<td class=\"{class}\">{}</td>", escaped(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>");
    if is_long {
        out.push_str("</details>");
    }
    if !table.note.is_empty() {
        let _ = write!(out, "<p class=\"note\">{}</p>", escaped(&table.note));
    }
    out.push_str("</section>\n");
    out
}

/// How the run came about: command, parameters, machine, clock, versions, program text.
pub(super) fn facts(facts: &Facts, timed_lines: &[usize]) -> String {
    let mut out = String::from("<h2 id=\"facts\">How it was measured</h2>\n<div class=\"facts\">\n");
    let mut run = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            run.push((name.to_string(), value));
        }
    };
    add("command", facts.command_line.join(" "));
    add("started", facts.started.clone());
    if facts.ranks > 0 {
        add("ranks", facts.ranks.to_string());
    }
    add("communicator", facts.communicator.clone());
    add("placement", facts.placement.clone());
    add("backend", facts.backend.clone());
    if !facts.program.is_empty() {
        add("seed", facts.seed.to_string());
    }
    add("every rank reached the end", if facts.complete { "yes".into() } else { "no".into() });
    out.push_str(&pairs("The run", &run));
    out.push_str(&pairs("Parameters", &facts.parameters.clone().into_iter().collect::<Vec<_>>()));
    out.push_str(&pairs("Machine", &flat(&facts.machine)));
    let mut rest = flat(&facts.clock);
    rest.iter_mut().for_each(|(name, _)| *name = format!("clock {name}"));
    rest.extend(facts.versions.iter().map(|(name, version)| (format!("{name} version"), version.clone())));
    out.push_str(&pairs("Clock and versions", &rest));
    for system in &facts.file_systems {
        out.push_str(&pairs("File system", &flat(system)));
    }
    out.push_str("</div>\n");
    if !facts.program.is_empty() {
        let timed: std::collections::BTreeSet<usize> = timed_lines.iter().copied().collect();
        out.push_str(
            "<section class=\"card listing\"><h3>The program</h3><ol class=\"program\" tabindex=\"0\">",
        );
        for (index, line) in facts.program.lines().enumerate() {
            let class = if timed.contains(&(index + 1)) { " class=\"timed\"" } else { "" };
            let _ = write!(out, "<li{class}>{}</li>", escaped(line));
        }
        out.push_str("</ol><p class=\"note\">Timed lines are shaded.</p></section>\n");
    }
    out
}

fn pairs(title: &str, pairs: &[(String, String)]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let mut out = format!("<section class=\"card\"><h3>{title}</h3>");
    let list = |pairs: &[(String, String)]| {
        let mut out = String::from("<dl class=\"pairs\">");
        for (name, value) in pairs {
            let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
        }
        out.push_str("</dl>");
        out
    };
    const FIRST: usize = 12;
    out.push_str(&list(&pairs[..pairs.len().min(FIRST)]));
    if pairs.len() > FIRST {
        let rest = &pairs[FIRST..];
        let _ = write!(out, "<details><summary>{} more</summary>{}</details>", rest.len(), list(rest));
    }
    out.push_str("</section>\n");
    out
}

/// A section of the facts as pairs of a path and a value: `memory total`, `16 GiB`. Every field is shown, also one
/// that only a newer version knows, so this walks the JSON.
fn flat(section: &impl Serialize) -> Vec<(String, String)> {
    let mut out = Vec::new();
    walk("", &serde_json::to_value(section).unwrap_or_default(), &mut out);
    out
}

fn walk(path: &str, value: &Value, out: &mut Vec<(String, String)>) {
    let below = |name: &str| {
        let name = name.trim_end_matches("_bytes").replace('_', " ");
        if path.is_empty() { name } else { format!("{path} {name}") }
    };
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match plain(key, value) {
                    Some(text) => out.push((below(key), text)),
                    None => walk(&below(key), value, out),
                }
            }
        }
        Value::Array(list) => {
            let texts: Option<Vec<String>> = list.iter().map(|value| plain("", value)).collect();
            match texts {
                Some(texts) if !texts.is_empty() => out.push((path.into(), texts.join(", "))),
                Some(_) => {}
                None => list
                    .iter()
                    .enumerate()
                    .for_each(|(index, value)| walk(&below(&(index + 1).to_string()), value, out)),
            }
        }
        _ => {}
    }
}
