//! Defines why a baseline is refused, or why its thresholds are counted.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::independence::TestFinding;
use crate::rivals::Family;

/// Reason why no distribution describes the quiet runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoDistribution {
    /// The likelihood of the GEV has no interior maximum.
    NoMaximum,
    /// The GEV does not fit.
    Misfit {
        /// p-value of A² and AU² together.
        p: f64,
    },
    /// Another distribution describes the quiet runs better.
    #[serde(rename = "other_law")]
    OtherDistribution {
        /// That distribution.
        model: Family,
    },
    /// The quiet runs are so few different values that the rounding is told from no distribution.
    Rounded,
    /// The runs have several modes.
    SeveralModes {
        /// The finding.
        finding: TestFinding,
    },
}

/// Reason why a baseline supports no false-alarm rate.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Its runs are sorted, so that nobody can see whether its level changes.
    Sorted,
    /// Its level changes, so that later runs are not draws of the same distribution.
    LevelMoved {
        /// The finding.
        finding: TestFinding,
    },
    /// Its runs depend on each other, and an autoregression does not explain it.
    Dependent {
        /// The finding.
        finding: TestFinding,
    },
    /// Its runs depend on each other, and no distribution describes them, so that thresholds can be neither fitted nor
    /// counted.
    DependentWithoutDistribution {
        /// The finding.
        finding: TestFinding,
        /// Reason why no distribution describes it.
        why: Box<NoDistribution>,
    },
    /// No distribution describes it, and it is too short for counted thresholds.
    TooFewToCount {
        /// Reason why no distribution describes it.
        why: NoDistribution,
        /// Number of quiet runs.
        runs: usize,
        /// The requested rate.
        rate: f64,
        /// Number of quiet runs that the rate needs.
        needed: f64,
    },
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Sorted => write!(to, "its runs are sorted"),
            Refusal::LevelMoved { .. } => write!(to, "its level moves"),
            Refusal::Dependent { .. } => write!(to, "its runs depend on each other"),
            Refusal::DependentWithoutDistribution { .. } => {
                write!(to, "its runs depend on each other, and no distribution describes them")
            }
            Refusal::TooFewToCount { runs, needed, .. } => {
                write!(
                    to,
                    "no distribution describes it, and {runs} runs are too few to count: {needed} are needed"
                )
            }
        }
    }
}

/// Reason why there is no baseline.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BaselineError {
    /// The quiet runs support no false-alarm rate.
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
