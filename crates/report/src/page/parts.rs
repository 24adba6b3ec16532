//! Tables and facts as parts of a page.

use std::collections::BTreeSet;

use maud::{Markup, html};
use samples::Facts;
use serde::Serialize;
use serde_json::Value;

use crate::Table;
use crate::text::plain;

/// Tables of more rows are folded, which are those of all ranks; what is folded is not printed.
const LONG: usize = 12;

/// What the page calls `kernel.command_line` of the machine.
const KERNEL_COMMAND_LINE: &str = "kernel command line";

/// Tables: narrow ones in pairs; one without a neighbour takes the whole row.
pub(super) fn tables(tables: &[Table]) -> Markup {
    let mut waiting = false;
    let takes_row = |(index, table): (usize, &Table)| {
        let pairs = waiting || tables.get(index + 1).is_some_and(is_narrow);
        let narrow = is_narrow(table) && pairs;
        waiting = narrow && !waiting;
        !narrow
    };
    let rows: Vec<bool> = tables.iter().enumerate().map(takes_row).collect();
    html! {
        @if !tables.is_empty() {
            div.tables { @for (table, row) in tables.iter().zip(rows) { (html_table(table, row)) } }
        }
    }
}

/// Whether the table fits half the page without scrolling.
fn is_narrow(table: &Table) -> bool {
    let width = |at: usize| {
        let cells =
            table.rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| crate::table::width(cell));
        cells.chain([crate::table::width(&table.columns[at].name)]).max().unwrap_or(0) + 2
    };
    (0..table.columns.len()).map(width).sum::<usize>() <= 66
}

/// Whether names in the first column are so long that they go on in a second line where there is little room.
fn has_long_names(table: &Table) -> bool {
    const LETTERS: usize = 26;
    let is_long =
        |row: &crate::table::Row| row.cells.first().is_some_and(|name| name.chars().count() > LETTERS);
    table.rows.iter().any(is_long)
}

fn html_table(table: &Table, is_wide: bool) -> Markup {
    let body = html! {
        div.scroll tabindex="0" {
            table class=[has_long_names(table).then_some("names")] {
                thead {
                    tr {
                        @for (at, column) in table.columns.iter().enumerate() {
                            th scope="col" class=[class_of(at, column.number)] { (column.name) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr class=[row.strong.then_some("strong")] {
                            @for (at, (cell, column)) in row.cells.iter().zip(&table.columns).enumerate() {
                                td class=[class_of(at, column.number)] { (cell) }
                            }
                        }
                    }
                }
            }
        }
    };
    html! {
        section.table.card.all[is_wide] {
            h3 { (table.title) }
            // A long table would push everything below it out of sight.
            @if table.rows.len() > LONG {
                details { summary { (table.rows.len()) " rows" } (body) }
            } @else {
                (body)
            }
            @if !table.note.is_empty() { p.note { (table.note) } }
        }
    }
}

/// What a cell is where it is not what most are: a name in the first column, a number in the others.
fn class_of(at: usize, is_number: bool) -> Option<&'static str> {
    match (at, is_number) {
        (0, true) => Some("number"),
        (0, false) | (1.., true) => None,
        (1.., false) => Some("word"),
    }
}

/// How the run came about: command, parameters, machine, clock, versions, program text.
///
/// The kernel's command line is for those who ask for details: it is long, and may name disks.
pub(super) fn facts(facts: &Facts, timed_lines: &[usize], details: bool) -> Markup {
    let mut run = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            run.push((name.to_string(), value));
        }
    };
    add("command", facts.command_line.join(" "));
    add("started", facts.began().unwrap_or("simulated").to_owned());
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
    let mut rest = flat(&facts.clock);
    rest.iter_mut().for_each(|(name, _)| *name = format!("clock {name}"));
    rest.extend(facts.versions.iter().map(|(name, version)| (format!("{name} version"), version.clone())));
    let mut machine = flat(&facts.machine);
    machine.retain(|(name, _)| details || name != KERNEL_COMMAND_LINE);
    let parameters: Vec<(String, String)> = facts.parameters.clone().into_iter().collect();
    html! {
        h2 #facts { "How it was measured" }
        div.facts {
            (pairs("The run", &run))
            (pairs("Parameters", &parameters))
            (pairs("Machine", &machine))
            (pairs("Clock and versions", &rest))
            @for system in &facts.file_systems { (pairs("File system", &flat(system))) }
        }
        @if !facts.program.is_empty() { (listing(&facts.program, timed_lines)) }
    }
}

/// The program, its timed lines shaded.
fn listing(program: &str, timed_lines: &[usize]) -> Markup {
    let timed: BTreeSet<usize> = timed_lines.iter().copied().collect();
    html! {
        section.card.listing {
            h3 { "The program" }
            ol.program tabindex="0" {
                @for (index, line) in program.lines().enumerate() {
                    li class=[timed.contains(&(index + 1)).then_some("timed")] { (line) }
                }
            }
            p.note { "Timed lines are shaded." }
        }
    }
}

fn pairs(title: &str, pairs: &[(String, String)]) -> Markup {
    const FIRST: usize = 12;
    let list = |pairs: &[(String, String)]| {
        html! { dl.pairs { @for (name, value) in pairs { dt { (name) } dd { (value) } } } }
    };
    let (first, rest) = pairs.split_at(pairs.len().min(FIRST));
    html! {
        @if !pairs.is_empty() {
            section.card {
                h3 { (title) }
                (list(first))
                @if !rest.is_empty() { details { summary { (rest.len()) " more" } (list(rest)) } }
            }
        }
    }
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
