//! Writes a document as one HTML page that opens without a network.
//!
//! Plotly's JavaScript is embedded once; a content-security policy in the page forbids every request,
//! so that what the page shows is what is in the file.

use std::sync::LazyLock;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use maud::{Markup, PreEscaped, html};
use samples::{Facts, Warning};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::light::{self, ShownChapter, is_supporting};
use super::{parts, points};
use crate::{Chapter, Figure};

const CSS: &str = include_str!("page.css");
/// Lines, points and bars, which is all we draw: a quarter of the whole library (`plotly/LICENSE`).
const PLOTLY: &str = include_str!("plotly/plotly-basic.min.js");
const SCRIPT: &str = include_str!("page.js");
const MARK: &str = r##"<svg viewBox="0 0 24 24" aria-hidden="true"><g fill="#3b82c4"><rect x="1" y="3" width="10" height="3.4" rx="1.7"/><rect x="1" y="8" width="12" height="3.4" rx="1.7"/><rect x="1" y="18" width="9" height="3.4" rx="1.7"/></g><rect x="1" y="13" width="22" height="3.4" rx="1.7" fill="#e0852b"/></svg>"##;

/// What a browser may run and load: the two scripts of this page, known by their hashes, and nothing else. Styles may
/// stand anywhere, since the figures set them.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |script: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(script)));
    format!(
        "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; \
         form-action 'none'",
        hash(PLOTLY),
        hash(SCRIPT)
    )
});

/// Chapters from which on a page begins with a list of them.
const CONTENTS_FROM: usize = 4;

/// What any page of ours is made of.
pub(crate) struct Document<'a> {
    pub title: &'a str,
    /// A line above the title.
    pub kicker: String,
    /// Lines below it: what, where.
    pub place: Vec<String>,
    /// The answer in a few sentences: throughput, typical and slow. What stands in further lines says more of the first.
    pub answer: Option<String>,
    pub warnings: &'a [Warning],
    pub verdict: Option<VerdictCard>,
    pub tiles: Vec<Tile>,
    pub chapters: &'a [Chapter],
    /// How it was measured; may be left out.
    pub facts: Option<&'a Facts>,
    /// Whether it has all there is: the kernel's command line and the figures of every operation too.
    pub details: bool,
    /// Lines of the program that were timed, from 1.
    pub timed_lines: &'a [usize],
    pub version: Option<&'a str>,
}

/// What it all means.
#[derive(Default)]
pub(crate) struct VerdictCard {
    /// What the text is: `Verdict`.
    pub label: &'static str,
    pub code: String,
    pub text: String,
    pub advice: Vec<String>,
    pub findings: Vec<String>,
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

/// Text with `code` between backticks.
fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    // An unpaired backtick is literal.
    let is_code = |index: usize| index % 2 == 1 && !parts.len().is_multiple_of(2);
    html! {
        @if parts.len().is_multiple_of(2) {
            (text)
        } @else {
            @for (index, part) in parts.iter().enumerate() {
                @if is_code(index) { code { (part) } } @else { (part) }
            }
        }
    }
}

/// JSON that can stand inside a script element.
fn script_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Replaces the characters that HTML forbids in every spelling.
fn without_forbidden_characters(page: &str) -> String {
    let forbidden = |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}');
    page.replace(forbidden, "\u{fffd}")
}

/// HTML ends cells and rows where the next begins; tables of many operations have thousands of them.
fn without_ends_of_cells(page: String) -> String {
    ["</td>", "</th>", "</tr>"].into_iter().fold(page, |page, end| page.replace(end, ""))
}

impl Document<'_> {
    pub(crate) fn html(&self) -> String {
        let shown = light::shown(self.chapters, self.details);
        let figures: Vec<Value> = shown
            .iter()
            .flat_map(|shown| &shown.figures)
            .map(
                |figure| json!({"id": figure.id, "plot": points::fewer(figure.harmless_plot(), figure.wide)}),
            )
            .collect();
        let page = html! {
            (PreEscaped("<!doctype html>\n"))
            html lang="en" data-theme="light" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(*POLICY);
                    meta name="color-scheme" content="light dark";
                    title { (without_forbidden_characters(self.title)) " – lastrank" }
                    style { (PreEscaped(CSS)) }
                }
                body {
                    a.skip href="#chapters" { "Skip to the figures" }
                    header.top {
                        span.brand { (PreEscaped(MARK)) "lastrank" }
                        button #theme type="button" hidden { "Light or dark" }
                    }
                    main { (self.main(&shown)) }
                    footer {
                        "Written by lastrank"
                        @if let Some(version) = self.version { " " (without_forbidden_characters(version)) }
                        ". This page holds all it needs and asks nothing of a network."
                    }
                    script type="application/json" id="figure-data" {
                        (PreEscaped(script_json(&Value::Array(figures))))
                    }
                    script type="text/javascript" { (PreEscaped(PLOTLY)) }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        let mut page = page.into_string();
        page.push('\n');
        page
    }

    fn main(&self, shown: &[ShownChapter]) -> Markup {
        let main = html! {
            (self.opening())
            div #chapters { @for one in shown { (of_chapter(one, has_many(self.chapters))) } }
            noscript { p.note { "The figures need JavaScript; the tables do not." } }
            @if let Some(facts) = self.facts { (parts::facts(facts, self.timed_lines, self.details)) }
        };
        PreEscaped(without_forbidden_characters(&without_ends_of_cells(main.into_string())))
    }

    /// Title, warnings, verdict, key numbers, list of chapters.
    fn opening(&self) -> Markup {
        html! {
            p.kicker { (self.kicker) }
            h1 { (self.title) }
            p.where { @for line in &self.place { span { (line) } } }
            @if let Some(answer) = &self.answer {
                section.answer.card {
                    @for (at, line) in answer.lines().enumerate() { p class=[(at > 0).then_some("more")] { (prose(line)) } }
                }
            }
            @if !self.warnings.is_empty() {
                section.warnings {
                    h2 { "Before you trust this" }
                    ul {
                        @for warning in self.warnings {
                            li {
                                (prose(&warning.text))
                                @if !warning.advice.is_empty() { " " span.advice { "→ " (prose(&warning.advice)) } }
                            }
                        }
                    }
                }
            }
            @if let Some(verdict) = &self.verdict { (verdict.html()) }
            @if !self.tiles.is_empty() { dl.tiles { @for tile in &self.tiles { (tile.html()) } } }
            @if self.chapters.len() >= CONTENTS_FROM { (self.contents()) }
        }
    }

    fn contents(&self) -> Markup {
        html! {
            nav.contents aria-label="Contents" {
                ol {
                    @for chapter in self.chapters.iter().filter(|chapter| !chapter.is_part) {
                        li { a href={ "#" (chapter.id) } { (chapter.title) } }
                    }
                    @if self.facts.is_some() { li { a href="#facts" { "How it was measured" } } }
                }
            }
        }
    }
}

impl VerdictCard {
    fn html(&self) -> Markup {
        let long = (self.text.chars().count() > 240).then_some("long");
        html! {
            section.verdict.card data-code=(self.code) {
                p.label { (self.label) }
                p class=[long] { (prose(&self.text)) }
                @for advice in &self.advice { p.more { "→ " (prose(advice)) } }
                @if !self.findings.is_empty() {
                    details {
                        summary { "What this relies on" }
                        ul { @for finding in &self.findings { li { (prose(finding)) } } }
                    }
                }
            }
        }
    }
}

impl Tile {
    fn html(&self) -> Markup {
        html! {
            div.card {
                dt { (self.name) }
                dd {
                    span.value { (self.value) span.unit { (self.unit) } }
                    div.note { (self.note) }
                }
            }
        }
    }
}

fn of_chapter(shown: &ShownChapter, many: bool) -> Markup {
    let chapter = shown.chapter;
    let inside = html! {
        @if !chapter.lead.is_empty() { p.lead { (prose(&chapter.lead)) } }
        @if chapter.tables_first { (parts::tables(&chapter.tables)) }
        (figures(&shown.figures, many))
        @if !chapter.tables_first { (parts::tables(&chapter.tables)) }
        @if let Some(titles) = titles(&shown.left_out) {
            p.note { (titles) ": " code { "lastrank report RUN --details" } }
        }
    };
    html! {
        @if chapter.folded {
            details.chapter.card id=(chapter.id) { summary { h2 { (chapter.title) } } (inside) }
        } @else {
            section id=(chapter.id) { h2 { (chapter.title) } (inside) }
        }
    }
}

/// Figures that stand open on a page, at most: of more those that support what others tell are folded.
const MOST_OPEN: usize = 10;

/// Whether these chapters have more figures than a reader looks at.
fn has_many(chapters: &[Chapter]) -> bool {
    chapters.iter().filter(|chapter| !chapter.folded).map(|chapter| chapter.figures.len()).sum::<usize>()
        > MOST_OPEN
}

/// Whether its legend, or what stands at the ends of its curves, is too long for half of a printed page.
fn is_rich(figure: &Figure) -> bool {
    /// Lines of a legend, and letters in it.
    const MOST: (usize, usize) = (6, 90);
    let traces = figure.plot["data"].as_array().map_or(&[][..], Vec::as_slice);
    let names =
        traces.iter().filter(|trace| trace["showlegend"] != false).filter_map(|trace| trace["name"].as_str());
    let (count, letters) =
        names.fold((0, 0), |(count, letters), name| (count + 1, letters + name.chars().count()));
    count > MOST.0 || letters > MOST.1 || figure.id.ends_with("survival")
}

/// Which figures take a whole row: wide ones, and one that would stand alone in a row of two.
fn whole_rows(figures: &[&Figure]) -> Vec<bool> {
    let mut in_row = 0;
    let is_whole = |(index, figure): (usize, &&Figure)| {
        let alone = figures.get(index + 1).is_none_or(|next| next.wide);
        let whole = figure.wide || (alone && in_row % 2 == 0);
        in_row = if whole { 0 } else { in_row + 1 };
        whole
    };
    figures.iter().enumerate().map(is_whole).collect()
}

/// The figures of a chapter, of `many` those that support others behind a fold, which is not printed.
fn figures(figures: &[&Figure], many: bool) -> Markup {
    let (behind, open): (Vec<&Figure>, Vec<&Figure>) =
        figures.iter().partition(|figure| many && is_supporting(figure));
    let names: Vec<&str> = behind.iter().map(|figure| figure.title.as_str()).collect();
    html! {
        (side_by_side(&open))
        @if let Some(titles) = titles(&names) {
            details.more { summary { (titles) } (side_by_side(&behind)) }
        }
    }
}

/// `2 more figures: Quantile plot, Histogram and fitted density`.
fn titles(titles: &[&str]) -> Option<String> {
    let plural = if titles.len() == 1 { "" } else { "s" };
    (!titles.is_empty()).then(|| format!("{} more figure{plural}: {}", titles.len(), titles.join(", ")))
}

fn side_by_side(figures: &[&Figure]) -> Markup {
    let height =
        |figure: &Figure| figure.plot["layout"]["height"].as_u64().map(|pixels| format!("height:{pixels}px"));
    html! {
        @if !figures.is_empty() {
            div.figures {
                @for (figure, whole) in figures.iter().zip(whole_rows(figures)) {
                    figure.card.wide[whole].rich[is_rich(figure)] {
                        h3 { (figure.title) }
                        div.plot style=[height(figure)] id={ "plot-" (figure.id) } role="img"
                            aria-label=(figure.alternative) {}
                        figcaption { (prose(&figure.caption)) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use samples::Run;

    use super::MOST_OPEN;
    use crate::{ReportOptions, build};

    #[test]
    fn a_page_has_ten_open_figures_at_most_and_loses_none() {
        let run: Run = samples::example::parallel_write(8, 400, 1);
        let page = build(&run, &ReportOptions::default()).html();
        let all = page.matches("<figure ").count();
        let folded: usize = page
            .split("<details")
            .skip(1)
            .map(|part| {
                part.split("</details>").next().map_or(0, |inside| inside.matches("<figure ").count())
            })
            .sum();
        assert!(all > MOST_OPEN && all - folded <= MOST_OPEN, "{all} figures, {folded} of them folded");
        assert_eq!(page.matches("id=\"plot-").count(), all);
    }
}
