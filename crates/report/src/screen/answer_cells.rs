//! The cells of an answer in a list of runs.

use results::{AnswerNumbers, AnswerPart, AnswerValue};
use samples::Judgements;

use super::answer::{are_shown, doubted};
use super::number::{bandwidth, three, time};

/// Operations a second, throughput, median and p99 of an answer as cells of a list of runs, with the digits and marks of its
/// screen; none of a run with wrong data.
pub fn answer_cells(numbers: &AnswerNumbers, found: &Judgements) -> [String; 4] {
    /// Parts that a cell names.
    const MOST: usize = 2;
    if !are_shown(found) {
        return std::array::from_fn(|_| "–".into());
    }
    let joined = |cell: &dyn Fn(&AnswerPart) -> String| {
        let mut cells: Vec<String> = numbers.parts.iter().take(MOST).map(cell).collect();
        if numbers.parts.len() > MOST {
            cells.push("…".into());
        }
        if cells.is_empty() { "–".into() } else { cells.join(" + ") }
    };
    let until = |part: &AnswerPart| match part.value {
        AnswerValue::Safe => " until safe",
        AnswerValue::Step => " a step",
        AnswerValue::Operation | AnswerValue::Response => "",
    };
    let p50 = |part: &AnswerPart| {
        part.quantiles_seconds.as_ref().map(|found| format!("{}{}", time(found.p50), until(part)))
    };
    let p99 = |part: &AnswerPart| {
        let p99 = part.quantiles_seconds.as_ref().and_then(|found| found.p99)?;
        // What p50 is of, p99 is of; a write until safe says so again.
        let until = if part.value == AnswerValue::Step { "" } else { until(part) };
        Some(format!("{}{until}", doubted(part, 0.99, p99)))
    };
    let optional = |cell: Option<String>| cell.unwrap_or_else(|| "–".into());
    [
        joined(&|part| optional(part.operations_per_second.map(three))),
        joined(&|part| optional(part.bytes_per_second.map(bandwidth))),
        joined(&|part| optional(p50(part))),
        joined(&|part| optional(p99(part))),
    ]
}
