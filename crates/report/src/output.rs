//! Writes a report for a terminal, as a page and as JSON.

use serde_json::{Value, json};

use crate::report::Report;
use crate::screen::are_shown;
use crate::{bounded, digits, page, text};

/// Stretches that a document tells, the newest: a long run may have hundreds.
const MOST_STRETCHES: usize = 8;

/// What a JSON document has besides the answer; each grows with the run, or is large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct With {
    /// Every value of what is analysed first (`subject.steps`), and every stretch of them.
    pub steps: bool,
    /// The figures of the chapters: their numbers, and the drawing for Plotly.
    pub figures: bool,
    /// Every rank where a rank has an entry, every row of tables, and series in fine bins; without it the slowest ranks.
    pub ranks: bool,
    /// The tables of the page whose numbers have fields of their own too.
    pub tables: bool,
}

impl With {
    /// All there is.
    pub const ALL: With = With { steps: true, figures: true, ranks: true, tables: true };

    /// What it has, by name.
    fn names(self) -> Vec<&'static str> {
        let all = [
            (self.steps, "steps"),
            (self.figures, "figures"),
            (self.ranks, "ranks"),
            (self.tables, "tables"),
        ];
        all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
    }
}

impl Report {
    /// The report for a terminal: what was run on what, tables, verdict. Plain text of at most about
    /// 110 columns, without colours.
    pub fn terminal_text(&self) -> String {
        text::of(self)
    }

    /// The report as one HTML page that needs no network: everything is inside.
    pub fn html(&self) -> String {
        page::of_report(self, false)
    }

    /// As [`Report::html`], with the kernel's command line among the facts.
    pub fn html_with_details(&self) -> String {
        page::of_report(self, true)
    }

    /// The report as JSON, schema `lastrank.report/1`: the answer, of a size that depends neither on the number of
    /// samples nor on that of ranks, and what `with` names. Durations are in seconds, but for the `plot` of a figure, whose axes name
    /// their unit. Numbers that were computed have as many digits as mean something ([`digits`]); `numbers`, facts, steps and figures are
    /// as they are.
    pub fn json(&self, with: With) -> Value {
        let mut value = json!({"schema": "lastrank.report/1", "with": with.names()});
        if let (Some(out), Ok(Value::Object(all))) = (value.as_object_mut(), serde_json::to_value(self)) {
            out.extend(all);
        }
        if !with.steps
            && let Some(stretches) = value.get_mut("stretches").and_then(Value::as_array_mut)
        {
            stretches.truncate(MOST_STRETCHES);
        }
        // Those of its rows stay, as `-v` shows them.
        if self.main.is_some() && !are_shown(&self.judgements) {
            [value["quantiles"], value["summary"], value["intervals"]] =
                [Value::Null, Value::Null, json!([])];
        }
        if !with.tables {
            self.leave_out_tables(&mut value);
        }
        if !with.ranks {
            let answer: Vec<usize> = self.numbers.parts.iter().map(|part| part.row).collect();
            bounded::bound(&mut value, &answer);
        }
        digits::shorten(&mut value);
        if let Some(main) = self.main.as_ref().filter(|_| with.steps) {
            value["subject"]["steps"] = json!(main.subject.steps);
        }
        if with.figures {
            for (chapter, out) in
                self.chapters.iter().zip(value["chapters"].as_array_mut().into_iter().flatten())
            {
                out["figures"] = json!(chapter.figures);
            }
        }
        value
    }

    /// Takes tables out whose numbers have fields of their own.
    fn leave_out_tables(&self, document: &mut Value) {
        let chapters = document.get_mut("chapters").and_then(Value::as_array_mut).into_iter().flatten();
        for (chapter, out) in self.chapters.iter().zip(chapters).filter(|(chapter, _)| chapter.repeats) {
            out["tables"] = json!([]);
            out["tables_left_out"] = chapter.tables.len().into();
        }
    }
}
