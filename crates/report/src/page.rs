//! How does a report become one HTML page that opens without a network?
//!
//! Plotly's JavaScript is embedded once; a content-security policy in the page forbids every request,
//! so that what the page shows is what is in the file.

use std::fmt::Write as _;

use samples::units;
use serde_json::{Value, json};

use crate::figures::Section;
use crate::text::{heading, plain, surroundings};
use crate::unit::{Unit, duration, significant};
use crate::{Report, Table};

const CSS: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const MARK: &str = r##"<svg viewBox="0 0 24 24" aria-hidden="true"><g fill="#3b82c4"><rect x="1" y="3" width="10" height="3.4" rx="1.7"/><rect x="1" y="8" width="12" height="3.4" rx="1.7"/><rect x="1" y="18" width="9" height="3.4" rx="1.7"/></g><rect x="1" y="13" width="22" height="3.4" rx="1.7" fill="#e0852b"/></svg>"##;

/// Text as HTML shows it.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Characters that HTML forbids, whatever way they are written.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// Text with `code` between backticks as HTML shows it.
fn prose(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(escaped).collect();
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let mark =
        |(index, part): (usize, String)| if index % 2 == 1 { format!("<code>{part}</code>") } else { part };
    parts.into_iter().enumerate().map(mark).collect()
}

/// JSON that can stand inside a script element.
fn script_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The script element that holds Plotly, without the formula library that comes with it in the crate.
fn plotly_script() -> String {
    let both = plotly::Plot::offline_js_sources();
    match both.split_once("</script>") {
        Some((plotly, _)) => format!("{plotly}</script>"),
        None => both,
    }
}

pub(crate) fn of(report: &Report) -> String {
    let title = escaped(&report.title);
    let figures: Vec<Value> =
        report.figures.iter().map(|figure| json!({"id": figure.id, "plot": figure.plot})).collect();
    let mut body = String::new();
    body.push_str(&opening(report));
    body.push_str(&sections(report));
    body.push_str(&tables(report));
    body.push_str(&facts(report));
    let version = report.facts.versions.get("lastrank").map(|version| format!(" {}", escaped(version)));
    format!(
        r##"<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<meta name="color-scheme" content="light dark">
<title>{title} – lastrank</title>
<style>
{CSS}</style>
</head>
<body>
<a class="skip" href="#figures">Skip to the figures</a>
<header class="top"><span class="brand">{MARK}lastrank</span><button id="theme" type="button" hidden>Light or dark</button></header>
<main>
{body}</main>
<footer>Written by lastrank{}. This page holds all it needs and asks nothing of a network. Durations include the cost of reading the clock.</footer>
<script type="application/json" id="figure-data">{}</script>
{}
<script>
{SCRIPT}</script>
</body>
</html>
"##,
        version.unwrap_or_default(),
        script_json(&Value::Array(figures)),
        plotly_script(),
    )
}

/// Title, warnings, verdict, key numbers.
fn opening(report: &Report) -> String {
    let mut out = String::new();
    let started = escaped(report.facts.started.trim_end_matches('Z')).replacen('T', " ", 1);
    let kicker = if started.is_empty() {
        "Report of a run".into()
    } else {
        format!("Report of the run of {started} UTC")
    };
    let heading = heading(report);
    let summary = heading.strip_prefix(&report.title).unwrap_or(&heading).trim_start_matches(": ");
    let mut place = format!("<span>{}</span>", escaped(summary));
    for line in surroundings(report) {
        let _ = write!(place, "<span>{}</span>", escaped(&line));
    }
    let _ = write!(
        out,
        "<p class=\"kicker\">{kicker}</p>\n<h1>{}</h1>\n<p class=\"where\">{place}</p>\n",
        escaped(&report.title)
    );
    if !report.warnings.is_empty() {
        out.push_str("<section class=\"warnings\"><h2>Before you trust this</h2><ul>");
        for warning in &report.warnings {
            let _ = write!(out, "<li>{}", prose(&warning.text));
            if !warning.advice.is_empty() {
                let _ = write!(out, " <span class=\"advice\">→ {}</span>", prose(&warning.advice));
            }
            out.push_str("</li>");
        }
        out.push_str("</ul></section>\n");
    }
    if let Some(tail) = &report.tail {
        let _ = write!(
            out,
            "<section class=\"verdict card\" data-code=\"{}\"><p class=\"label\">Verdict</p><p{}>{}</p>",
            escaped(&tail.code()),
            if tail.text().chars().count() > 240 { " class=\"long\"" } else { "" },
            prose(&tail.text())
        );
        for advice in tail.advice() {
            let _ = write!(out, "<p class=\"more\">→ {}</p>", prose(advice));
        }
        if let Some(found) = &tail.assessment {
            out.push_str("<details><summary>What this rests on</summary><ul>");
            for finding in &found.verdict.findings {
                let _ = write!(out, "<li>{}</li>", prose(finding));
            }
            out.push_str("</ul></details>");
        }
        out.push_str("</section>\n");
    }
    out.push_str(&tiles(report));
    out
}

/// The key numbers.
fn tiles(report: &Report) -> String {
    let Some(summary) = &report.summary else { return String::new() };
    let subject = report.subject.as_ref();
    let mut out = String::from("<dl class=\"tiles\">");
    let mut tile = |name: &str, value: &str, unit: &str, note: &str| {
        let _ = write!(
            out,
            "<div class=\"card\"><dt>{}</dt><dd><span class=\"value\">{}<span class=\"unit\">{}</span></span><div class=\"note\">{}</div></dd></div>",
            escaped(name),
            escaped(value),
            escaped(unit),
            escaped(note)
        );
    };
    let split = |seconds: f64| {
        let text = duration(seconds);
        match text.split_once(' ') {
            Some((value, unit)) => (value.to_string(), unit.to_string()),
            None => (text, String::new()),
        }
    };
    let what = subject.map_or("value", crate::Subject::value_name);
    let (value, unit) = split(summary.median);
    tile("Median", &value, &unit, &subject.map(crate::Subject::describe).unwrap_or_default());
    match summary.p99 {
        Some(p99) => {
            let (value, unit) = split(p99);
            let over = 100.0 * (p99 / summary.median - 1.0);
            tile(
                "99 of 100 are faster than",
                &value,
                &unit,
                &format!("{} % above the median", significant(over, 2)),
            );
        }
        None => {
            let (value, unit) = split(summary.p90);
            tile("9 of 10 are faster than", &value, &unit, "");
        }
    }
    let (value, unit) = split(summary.max);
    let note = format!(
        "of {} {what}s, {} times the median",
        units::count(summary.n as u64),
        significant(summary.max / summary.median, 3)
    );
    tile("Slowest", &value, &unit, &note);
    let usable = report.tail.as_ref().filter(|tail| tail.is_usable());
    if usable.is_none() && summary.p99.is_some() {
        // Where the law does not hold, what was measured takes the place of what it foretells.
        let (value, unit) = split(summary.p90);
        tile("9 of 10 are faster than", &value, &unit, "");
    }
    if let Some(found) = usable.and_then(|tail| tail.assessment.as_ref()) {
        let beyond = found.return_levels.iter().find(|level| !level.observed);
        if let Some(level) = beyond.or(found.return_levels.last()) {
            let known = level.lower.is_finite() && level.upper.is_finite();
            let (value, note) = if known {
                let [value, lower, upper] = report.unit.with_interval(level.level, level.lower, level.upper);
                (value, format!("95 % interval {lower} to {}", report.unit.named(&upper)))
            } else {
                (significant(report.unit.scale(level.level), 4), String::new())
            };
            let name = format!("Expected once in {}", units::count(level.period as u64));
            tile(&name, &value, report.unit.name, &note);
        }
        let (value, note) = match found.gev.standard_errors {
            Some(errors) => {
                let (value, error) = Unit::NONE.with_error(found.gev.shape, errors.shape);
                (value, format!("± {error}; above 0 heavy, below 0 it ends"))
            }
            None => (significant(found.gev.shape, 3), "above 0 heavy, below 0 it ends".into()),
        };
        tile("Shape of the tail", &value, "", &note);
    }
    out.push_str("</dl>\n");
    out
}

fn sections(report: &Report) -> String {
    let mut out = String::from("<div id=\"figures\">\n");
    for section in Section::ALL {
        let figures: Vec<_> = report.figures.iter().filter(|figure| figure.section == section).collect();
        if figures.is_empty() {
            continue;
        }
        let (title, lead) = section.words();
        let _ = writeln!(out, "<section><h2>{title}</h2><p class=\"lead\">{lead}</p><div class=\"figures\">");
        let mut half = 0;
        let count = figures.len();
        for (index, figure) in figures.into_iter().enumerate() {
            // A figure that would stand alone in a row of two takes the whole row.
            let wide = figure.wide || (index + 1 == count && half % 2 == 0);
            half += usize::from(!wide);
            let _ = writeln!(
                out,
                "<figure class=\"card{}\"><h3>{}</h3><div class=\"plot\" id=\"plot-{}\" role=\"img\" aria-label=\"{}\"></div><figcaption>{}</figcaption></figure>",
                if wide { " wide" } else { "" },
                escaped(&figure.title),
                figure.id,
                escaped(&figure.alternative),
                prose(&figure.caption)
            );
        }
        out.push_str("</div></section>\n");
    }
    out.push_str("</div>\n<noscript><p class=\"note\">The figures need JavaScript; the tables below do not.</p></noscript>\n");
    out
}

fn tables(report: &Report) -> String {
    let mut out = String::from("<h2>Numbers</h2>\n<div class=\"tables\">\n");
    // Narrow tables stand in pairs; one without a neighbour takes the whole row.
    let mut tables = report.tables.iter().peekable();
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
    let mut out = format!(
        "<section class=\"table card{wide}\"><h3>{}</h3><div class=\"scroll\" tabindex=\"0\"><table><thead><tr>",
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
            let class = match (column.number, cell.chars().count() > 36) {
                (true, _) => "number",
                (false, true) => "text",
                (false, false) => "word",
            };
            let _ = write!(out, "<td class=\"{class}\">{}</td>", escaped(cell));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>");
    if !table.note.is_empty() {
        let _ = write!(out, "<p class=\"note\">{}</p>", escaped(&table.note));
    }
    out.push_str("</section>\n");
    out
}

/// How the run came about: command, parameters, machine, clock, versions, program text.
fn facts(report: &Report) -> String {
    let facts = &report.facts;
    let mut out = String::from("<h2>How it was measured</h2>\n<div class=\"facts\">\n");
    let mut run = Vec::new();
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            run.push((name.to_string(), value));
        }
    };
    add("command", facts.command_line.join(" "));
    add("started", facts.started.clone());
    add("ranks", facts.ranks.to_string());
    add("communicator", facts.communicator.clone());
    add("backend", facts.backend.clone());
    add("seed", facts.seed.to_string());
    add("complete", if facts.complete { "yes".into() } else { "no".into() });
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
        let timed: std::collections::BTreeSet<usize> = report.timed_lines.iter().copied().collect();
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

/// A JSON object as pairs of a path and a value: `memory total`, `16 GiB`.
fn flat(value: &Value) -> Vec<(String, String)> {
    let mut out = Vec::new();
    walk("", value, &mut out);
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
