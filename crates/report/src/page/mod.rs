//! How does a document become one HTML page that opens without a network?
//!
//! Plotly's JavaScript is embedded once; a content-security policy in the page forbids every request,
//! so that what the page shows is what is in the file.

mod parts;
mod run;

use std::fmt::Write as _;

use samples::{Facts, Warning};
use serde_json::{Value, json};

pub(crate) use run::of_report;

use crate::{Chapter, Figure};

const CSS: &str = include_str!("page.css");
/// Lines, points and bars, which is all we draw: a quarter of the whole library (`plotly/LICENSE`).
const PLOTLY: &str = include_str!("plotly/plotly-basic.min.js");
const SCRIPT: &str = include_str!("page.js");
const MARK: &str = r##"<svg viewBox="0 0 24 24" aria-hidden="true"><g fill="#3b82c4"><rect x="1" y="3" width="10" height="3.4" rx="1.7"/><rect x="1" y="8" width="12" height="3.4" rx="1.7"/><rect x="1" y="18" width="9" height="3.4" rx="1.7"/></g><rect x="1" y="13" width="22" height="3.4" rx="1.7" fill="#e0852b"/></svg>"##;

/// Chapters from which on a page begins with a list of them.
const CONTENTS_FROM: usize = 4;

/// What any page of ours is made of.
pub(crate) struct Document<'a> {
    pub title: &'a str,
    /// A line above the title.
    pub kicker: String,
    /// Lines below it: what, where.
    pub place: Vec<String>,
    pub warnings: &'a [Warning],
    pub verdict: Option<Verdict<'a>>,
    pub tiles: Vec<Tile>,
    pub chapters: &'a [Chapter],
    /// How it was measured; may be left out.
    pub facts: Option<&'a Facts>,
    /// Lines of the program that were timed, from 1.
    pub timed_lines: &'a [usize],
    pub version: Option<&'a str>,
}

/// What it all means.
pub(crate) struct Verdict<'a> {
    /// What the text is: `Verdict`.
    pub label: &'static str,
    pub code: String,
    pub text: String,
    pub advice: &'a [String],
    pub findings: &'a [String],
}

/// A key number.
pub(crate) struct Tile {
    pub name: String,
    pub value: String,
    pub unit: String,
    pub note: String,
}

impl Tile {
    /// A number with its unit behind a blank, split for the page.
    pub fn new(name: &str, quantity: &str, note: &str) -> Tile {
        let (value, unit) = quantity.rsplit_once(' ').unwrap_or((quantity, ""));
        Tile { name: name.into(), value: value.into(), unit: unit.into(), note: note.into() }
    }
}

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

impl Document<'_> {
    pub(crate) fn html(&self) -> String {
        let title = escaped(self.title);
        let figures = self.chapters.iter().flat_map(|chapter| &chapter.figures);
        let figures: Vec<Value> =
            figures.map(|figure| json!({"id": figure.id, "plot": figure.plot})).collect();
        let mut body = self.opening();
        body.push_str("<div id=\"chapters\">\n");
        self.chapters.iter().for_each(|chapter| body.push_str(&of_chapter(chapter)));
        body.push_str("</div>\n<noscript><p class=\"note\">The figures need JavaScript; the tables do not.</p></noscript>\n");
        if let Some(facts) = self.facts {
            body.push_str(&parts::facts(facts, self.timed_lines));
        }
        let version = self.version.map(|version| format!(" {}", escaped(version)));
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
<a class="skip" href="#chapters">Skip to the figures</a>
<header class="top"><span class="brand">{MARK}lastrank</span><button id="theme" type="button" hidden>Light or dark</button></header>
<main>
{body}</main>
<footer>Written by lastrank{}. This page holds all it needs and asks nothing of a network.</footer>
<script type="application/json" id="figure-data">{}</script>
<script type="text/javascript">{PLOTLY}</script>
<script>
{SCRIPT}</script>
</body>
</html>
"##,
            version.unwrap_or_default(),
            script_json(&Value::Array(figures)),
        )
    }

    /// Title, warnings, verdict, key numbers, list of chapters.
    fn opening(&self) -> String {
        let place: String = self.place.iter().map(|line| format!("<span>{}</span>", escaped(line))).collect();
        let mut out = format!(
            "<p class=\"kicker\">{}</p>\n<h1>{}</h1>\n<p class=\"where\">{place}</p>\n",
            escaped(&self.kicker),
            escaped(self.title)
        );
        if !self.warnings.is_empty() {
            out.push_str("<section class=\"warnings\"><h2>Before you trust this</h2><ul>");
            for warning in self.warnings {
                let _ = write!(out, "<li>{}", prose(&warning.text));
                if !warning.advice.is_empty() {
                    let _ = write!(out, " <span class=\"advice\">→ {}</span>", prose(&warning.advice));
                }
                out.push_str("</li>");
            }
            out.push_str("</ul></section>\n");
        }
        if let Some(verdict) = &self.verdict {
            let long = if verdict.text.chars().count() > 240 { " class=\"long\"" } else { "" };
            let _ = write!(
                out,
                "<section class=\"verdict card\" data-code=\"{}\"><p class=\"label\">{}</p><p{long}>{}</p>",
                escaped(&verdict.code),
                verdict.label,
                prose(&verdict.text)
            );
            for advice in verdict.advice {
                let _ = write!(out, "<p class=\"more\">→ {}</p>", prose(advice));
            }
            if !verdict.findings.is_empty() {
                out.push_str("<details><summary>What this rests on</summary><ul>");
                for finding in verdict.findings {
                    let _ = write!(out, "<li>{}</li>", prose(finding));
                }
                out.push_str("</ul></details>");
            }
            out.push_str("</section>\n");
        }
        if !self.tiles.is_empty() {
            out.push_str("<dl class=\"tiles\">");
            for tile in &self.tiles {
                let _ = write!(
                    out,
                    "<div class=\"card\"><dt>{}</dt><dd><span class=\"value\">{}<span class=\"unit\">{}</span></span><div class=\"note\">{}</div></dd></div>",
                    escaped(&tile.name),
                    escaped(&tile.value),
                    escaped(&tile.unit),
                    escaped(&tile.note)
                );
            }
            out.push_str("</dl>\n");
        }
        if self.chapters.len() >= CONTENTS_FROM {
            out.push_str("<nav class=\"contents\" aria-label=\"Contents\"><ol>");
            for chapter in self.chapters.iter().filter(|chapter| !chapter.is_part) {
                let _ = write!(out, "<li><a href=\"#{}\">{}</a></li>", chapter.id, escaped(&chapter.title));
            }
            if self.facts.is_some() {
                out.push_str("<li><a href=\"#facts\">How it was measured</a></li>");
            }
            out.push_str("</ol></nav>\n");
        }
        out
    }
}

fn of_chapter(chapter: &Chapter) -> String {
    let lead = if chapter.lead.is_empty() {
        String::new()
    } else {
        format!("<p class=\"lead\">{}</p>", prose(&chapter.lead))
    };
    let title = escaped(&chapter.title);
    let inside = format!("{}{}", figures(&chapter.figures), parts::tables(&chapter.tables));
    if chapter.folded {
        format!(
            "<details class=\"chapter card\" id=\"{}\"><summary><h2>{title}</h2></summary>{lead}{inside}</details>\n",
            chapter.id
        )
    } else {
        format!("<section id=\"{}\"><h2>{title}</h2>{lead}{inside}</section>\n", chapter.id)
    }
}

fn figures(figures: &[Figure]) -> String {
    if figures.is_empty() {
        return String::new();
    }
    let mut out = String::from("<div class=\"figures\">\n");
    let mut half = 0;
    for (index, figure) in figures.iter().enumerate() {
        // A figure that would stand alone in a row of two takes the whole row.
        let alone = index + 1 == figures.len() || figures[index + 1].wide;
        let wide = figure.wide || (alone && half % 2 == 0);
        half = if wide { 0 } else { half + 1 };
        let height = figure.plot["layout"]["height"].as_u64();
        let style = height.map_or(String::new(), |pixels| format!(" style=\"height:{pixels}px\""));
        let _ = writeln!(
            out,
            "<figure class=\"card{}\"><h3>{}</h3><div class=\"plot\"{style} id=\"plot-{}\" role=\"img\" aria-label=\"{}\"></div><figcaption>{}</figcaption></figure>",
            if wide { " wide" } else { "" },
            escaped(&figure.title),
            figure.id,
            escaped(&figure.alternative),
            prose(&figure.caption)
        );
    }
    out.push_str("</div>\n");
    out
}
