//! Says how many values a report analyses.

use samples::units;

use crate::{Subject, words};

/// How many values there are, by what they are: `400 steps`, `1 000 reads`; `20 samples` of batches, and of several
/// operations.
pub(crate) fn how_many(subject: &Subject) -> String {
    let n = subject.steps.len() as u64;
    let operation = match subject.keys.as_slice() {
        [one] if one.is_operation() && !subject.gate && subject.batch.1 <= 1 => Some(one.operation()),
        _ => None,
    };
    match operation {
        Some(operation) if n == 1 => format!("1 {}", words::operation::noun(operation)),
        Some(operation) => format!("{} {}", units::count(n), words::operation::plural(operation)),
        None => format!("{} {}{}", units::count(n), subject.value_name(), if n == 1 { "" } else { "s" }),
    }
}
