//! Whether two runs were set alike.

use results::{RowRatios, ask_other_depths};

use crate::values::Values;

/// In which settings two runs differ, each side in its own words; empty where they do not.
pub(super) fn settings(baseline: &Values, new: &Values) -> Vec<String> {
    let Some((old, new)) = baseline.facts.as_ref().zip(new.facts.as_ref()) else { return Vec::new() };
    let found = results::differing_settings(&[old, new]);
    let words = |one: &Vec<String>| match one.is_empty() {
        true => "as the program has it".to_owned(),
        false => one.join(", "),
    };
    if found.iter().all(Vec::is_empty) { Vec::new() } else { found.iter().map(words).collect() }
}

/// The rows of two runs beside each other, by what was asked of them; `None` where one is no run.
pub(super) fn rows(baseline: &Values, new: &Values) -> Option<RowRatios> {
    let (old, other) = baseline.rows.as_ref().zip(new.rows.as_ref())?;
    let subject = baseline.subject.as_ref().map(|subject| subject.name.clone());
    let rows = RowRatios { subject, ..results::compare_rows(old, other) };
    let asked = baseline.facts.as_ref().zip(new.facts.as_ref());
    Some(if asked.is_some_and(|(old, new)| ask_other_depths(old, new)) {
        rows.of_other_depths()
    } else {
        rows
    })
}
