//! Why a baseline is refused, or why its thresholds are counted.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::independence::TestFinding;

/// Why no law describes the quiet runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoLaw {
    /// The likelihood of the GEV has no interior maximum.
    NoMaximum,
    /// The GEV does not fit.
    Misfit {
        /// p-value of A² and AU² together.
        p: f64,
    },
    /// The runs have several modes.
    SeveralModes {
        /// What was found.
        finding: TestFinding,
    },
}

/// Why a baseline carries no rate of false alarms.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Its level moves: a later run is not one of the same draws.
    LevelMoved {
        /// What was found.
        finding: TestFinding,
    },
    /// Its runs depend on each other, and no autoregression explains it, or no law describes them beside.
    Dependent {
        /// What was found.
        finding: TestFinding,
    },
    /// No law describes it, and it is too short for thresholds that are counted.
    TooFewToCount {
        /// Why no law describes it.
        why: NoLaw,
        /// Quiet runs there are.
        runs: usize,
        /// The rate that was asked for.
        rate: f64,
        /// Quiet runs that the rate needs.
        needed: f64,
    },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::LevelMoved { .. } => write!(to, "its level moves"),
            Refusal::Dependent { .. } => write!(to, "its runs depend on each other"),
            Refusal::TooFewToCount { runs, needed, .. } => {
                write!(to, "no law describes it, and {runs} runs are too few to count: {needed} are needed")
            }
        }
    }
}

/// Why there is no baseline.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BaselineError {
    /// The quiet runs carry no rate of false alarms.
    #[error("{0}")]
    Refused(Refusal),
    /// They cannot be fitted, or an option is out of range.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<Refusal> for BaselineError {
    fn from(refusal: Refusal) -> BaselineError {
        BaselineError::Refused(refusal)
    }
}
