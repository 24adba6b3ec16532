//! Options of an assessment.

use serde::{Deserialize, Serialize};

use crate::return_period::return_period_to_probability;
use crate::{Error, argument};

/// Treatment of values that are not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonFinite {
    /// Refuse them: the measurement or the file is faulty.
    #[default]
    Refuse,
    /// Leave them out and report their number.
    Drop,
}

/// Options of [`super::assess`]. The default suits `lastrank fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AssessOptions {
    /// Coverage of all intervals.
    pub level: f64,
    /// Return periods (> 1) of the levels to compute, in numbers of values.
    pub periods: Vec<f64>,
    /// Error of the whole verdict for independent draws of a GEV, shared by its stages.
    pub significance: f64,
    /// Bootstrap refits for the p-values of the fit; 0 omits them.
    pub bootstrap: usize,
    /// Seed of every random draw.
    pub seed: u64,
    /// Treatment of NaN and infinite values.
    pub non_finite: NonFinite,
}

impl Default for AssessOptions {
    fn default() -> Self {
        AssessOptions {
            level: 0.95,
            periods: vec![10.0, 100.0, 1000.0],
            significance: 0.05,
            bootstrap: 999,
            seed: 1,
            non_finite: NonFinite::Refuse,
        }
    }
}

impl AssessOptions {
    pub(super) fn check(&self) -> Result<(), Error> {
        argument::confidence_level(self.level)?;
        argument::between_0_and_1("significance", self.significance)?;
        self.periods.iter().try_for_each(|period| return_period_to_probability(*period).map(drop))
    }
}
