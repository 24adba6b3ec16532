//! Writes a report for a terminal, as a page and as JSON.

use serde_json::{Value, json};

use crate::report::Report;
use crate::{bounded, page, text};

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
}

impl With {
    /// All there is.
    pub const ALL: With = With { steps: true, figures: true, ranks: true };

    /// What it has, by name.
    fn names(self) -> Vec<&'static str> {
        let all = [(self.steps, "steps"), (self.figures, "figures"), (self.ranks, "ranks")];
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
    /// their unit.
    pub fn json(&self, with: With) -> Value {
        let mut value = json!({"schema": "lastrank.report/1", "with": with.names()});
        if let (Some(out), Ok(Value::Object(all))) = (value.as_object_mut(), serde_json::to_value(self)) {
            out.extend(all);
        }
        match &self.main {
            Some(main) if with.steps => value["subject"]["steps"] = json!(main.subject.steps),
            _ => {
                if let Some(stretches) = value.get_mut("stretches").and_then(Value::as_array_mut) {
                    stretches.truncate(MOST_STRETCHES);
                }
            }
        }
        if !with.ranks {
            bounded::bound(&mut value);
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
}
