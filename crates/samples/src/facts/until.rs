//! What ended a run before its program did.

use serde::{Deserialize, Serialize};

use crate::units;

/// What ended a run that was to go on until something (`--until`, `--time`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndedBy {
    /// The program was through first.
    #[default]
    Program,
    /// The condition holds.
    Condition,
    /// The time is over.
    Time,
    /// There are more samples than a condition is watched on.
    Samples,
}

/// What a run was to go on until (`--until`, `--time`), and whether that came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UntilFacts {
    /// The condition as it was asked for: `width(p99) < 5%`; the time where only that was: `30 s`.
    pub condition: String,
    /// Whether it came about.
    pub reached: bool,
    /// What ended the run. A run of an earlier version says only whether it was `reached`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    /// The longest time that was allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_seconds: Option<f64>,
    /// The figure of the condition at the last look: a width as a share of the quantile, a number of values. None where
    /// it was never known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<f64>,
    /// How often it was looked at.
    pub looks: u32,
}

impl UntilFacts {
    /// Was nothing asked for but a time?
    pub fn is_of_time(&self) -> bool {
        self.limit_seconds.is_some_and(|limit| units::duration(limit) == self.condition)
    }
}
