//! What ended a run that was to go on until something.

use samples::{EndedBy, UntilFacts, units};

/// It, as an appendix to a sentence.
pub(crate) fn ended_by(until: &UntilFacts) -> String {
    let condition = &until.condition;
    match (until.ended_by.unwrap_or_default(), until.reached) {
        (EndedBy::Time, false) => {
            let limit = until.limit_seconds.map_or("its time".into(), units::duration);
            format!("; {condition} was not reached in {limit}")
        }
        (EndedBy::Samples, false) => format!("; too many samples to go on until {condition}"),
        (EndedBy::Program, _) if until.is_of_time() => String::new(),
        (EndedBy::Program | EndedBy::Condition, false) => {
            format!("; its program ended before {condition} was seen")
        }
        (EndedBy::Program, true) => format!("; {condition} holds"),
        (_, true) => format!("; ended by {condition}"),
    }
}
