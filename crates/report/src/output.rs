//! Writes a report for a terminal, as a page and as JSON.

use serde_json::{Value, json};

use crate::report::Report;
use crate::{page, text};

impl Report {
    /// The report for a terminal: what was run on what, tables, verdict. Plain text of at most about
    /// 110 columns, without colours.
    pub fn terminal_text(&self) -> String {
        text::of(self)
    }

    /// The report as one HTML page that needs no network: everything is inside.
    pub fn html(&self) -> String {
        page::of_report(self)
    }

    /// The report as JSON, schema `lastrank.report/1`. Durations are in seconds, but for the `plot` of a
    /// figure, whose axes name their unit.
    pub fn json(&self) -> Value {
        let mut value = json!({"schema": "lastrank.report/1"});
        if let (Some(out), Ok(Value::Object(all))) = (value.as_object_mut(), serde_json::to_value(self)) {
            out.extend(all);
        }
        value
    }
}
