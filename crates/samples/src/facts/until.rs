//! What ended a run before its program did.

use serde::{Deserialize, Serialize};

/// What a run was to go on until (`--until`, `--time`), and whether that came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UntilFacts {
    /// The condition as it was asked for: `width(p99) < 5%`, `30 s`.
    pub condition: String,
    /// Whether it ended the run; otherwise the program ended first.
    pub reached: bool,
    /// The figure of the condition at the last look: a width as a share of the quantile, a number of values. None where
    /// it was never known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<f64>,
    /// How often it was looked at.
    pub looks: u32,
}
