//! What to do next: one command that can be pasted.

use results::ResultRow;
use samples::SiteKind;

use super::answer;
use crate::Report;
use crate::shell::file_argument;

/// The command: all that is known of what failed, or the distribution of what takes the most time. Never the run again: it would fail
/// again, and may write over its file.
pub(super) fn command(report: &Report, file: &str) -> Vec<String> {
    let file = file_argument(file);
    let words = |words: &[&str]| -> Vec<String> {
        std::iter::once(&"lastrank").chain(words).map(|word| (*word).to_owned()).collect()
    };
    if let Some(folder) = crate::words::judgement::left_in(&report.judgements) {
        return words(&["recover", folder]);
    }
    if report.judgements.status() != 0 || !report.facts.complete {
        return words(&["report", &file, "-v"]);
    }
    if !report.facts.counted.is_empty() {
        // A fit needs every sample; the page has the distributions.
        return words(&["report", &file, "-v"]);
    }
    match answer::subject(report) {
        Some(main) if main.subject.values().len() < tail::verdict::FEWEST_FOR_VERDICT => {
            words(&["report", &file, "-v"])
        }
        Some(_) => words(&["fit", &file]),
        // The row that took the most time need not be one that the program shows.
        None if report.answer.is_some() => words(&["report", &file, "-v"]),
        None => match busiest(report) {
            Some(name) if name.starts_with('-') => words(&["fit", &file, &format!("--of={name}")]),
            Some(name) => words(&["fit", &file, "--of", &name]),
            None => words(&["report", &file]),
        },
    }
}

/// The operation that took the most time of those that succeeded often enough for a distribution, as `--of` calls it.
fn busiest(report: &Report) -> Option<String> {
    /// Fewest samples that are assessed.
    const FEWEST: u64 = tail::assess::FEWEST as u64;
    let rows = report.results.iter().filter(|row| row.kind == SiteKind::Operation && row.timings >= FEWEST);
    let busy = |row: &ResultRow| row.busy_seconds.unwrap_or(0.0);
    let row = rows.max_by(|a, b| busy(a).total_cmp(&busy(b)))?;
    Some(match row.label.as_deref().filter(|label| !label.is_empty()) {
        Some(label) => format!("{label}/{}", row.operation),
        None => row.operation.clone(),
    })
}
