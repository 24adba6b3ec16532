//! The evidence of a claim in words.

use super::{ClaimEvidence, EvidenceOf};
use crate::condition::{Compared, Estimate};
use crate::value::Value;

/// The evidence of the claim in words: `p99("read") is 6.1ms over 4,000 samples`.
pub fn words(evidence: &[ClaimEvidence]) -> String {
    let one = |evidence: &ClaimEvidence| {
        let (number, whose) = match &evidence.of {
            EvidenceOf::Counted => return format!("{} is {}", evidence.words, evidence.value),
            EvidenceOf::Answer { quantity, share, part, values } => {
                return of_answer(evidence, (*quantity, *share), part, *values);
            }
            EvidenceOf::Samples(number) => (*number, ""),
            EvidenceOf::Blocks(number) => (*number, " of the whole block"),
        };
        let samples = samples::units::count(number);
        let shown = |value: &Value| match value {
            Value::Duration(ns) => samples::units::duration(*ns as f64 * 1e-9),
            other => other.to_string(),
        };
        let value = shown(&evidence.value);
        let plural = if number == 1 { "" } else { "s" };
        let service = evidence.service.as_ref().map(shown);
        let how = service
            .map_or(String::new(), |service| format!(" in response times ({service} in service times)"));
        format!("{} is {value}{how} over {samples} sample{plural}{whose}", evidence.words)
    };
    evidence.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `iops is 4 650/s, of write / fwrite`
fn of_answer(
    evidence: &ClaimEvidence,
    (quantity, share): (Compared, bool),
    part: &str,
    values: u64,
) -> String {
    let number = evidence.value.float().unwrap_or(f64::NAN);
    let is_open = matches!(evidence.value, Value::Duration(i64::MAX)) || number.is_infinite();
    let value = match (quantity, &evidence.value) {
        (Compared::Width(_), _) if is_open => "without an end: the values are too few".to_owned(),
        (_, Value::Duration(ns)) => samples::units::duration(*ns as f64 * 1e-9),
        (Compared::Width(_), _) if share => format!("{}%", three(100.0 * number)),
        (Compared::Value(Estimate::Iops), _) => format!("{}/s", three(number)),
        (Compared::Value(Estimate::Bandwidth), _) => {
            format!("{}/s", samples::units::bytes(number.round() as u64))
        }
        (Compared::EffectiveN(_), _) => three(number),
        (_, value) => value.to_string(),
    };
    let of = if part.is_empty() { String::new() } else { format!(", of {part}") };
    let over = match quantity {
        Compared::Value(estimate) if !estimate.is_time() => String::new(),
        _ if values == 1 => " (1 value)".to_owned(),
        _ => format!(" ({} values)", samples::units::count(values)),
    };
    format!("{} is {value}{of}{over}", evidence.words)
}

/// A number with three digits, or all of those before the point.
fn three(number: f64) -> String {
    match number.abs() {
        big if big >= 100.0 => samples::units::count(number.round() as u64),
        middle if middle >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}
