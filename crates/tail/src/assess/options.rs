//! What can be asked of an assessment?

use serde::{Deserialize, Serialize};

use crate::Error;

/// What to do with values that are not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonFinite {
    /// Refuse them: something is wrong with the measurement or the file.
    #[default]
    Refuse,
    /// Leave them out and say how many.
    Drop,
}

/// Options of [`super::assess`]. The default suits `lastrank fit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Coverage of all intervals.
    pub level: f64,
    /// Return periods (> 1) whose levels are wanted, in numbers of values.
    pub periods: Vec<f64>,
    /// Joint level of the tests of independence, and that of the tests of fit.
    pub significance: f64,
    /// Refits of the bootstrap behind the p-values of the fit; 0 leaves them out.
    pub bootstrap: usize,
    /// Seed of every random draw.
    pub seed: u64,
    /// What to do with NaN and infinite values.
    pub non_finite: NonFinite,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            level: 0.95,
            periods: vec![10.0, 100.0, 1000.0],
            significance: 0.05,
            bootstrap: 999,
            seed: 1,
            non_finite: NonFinite::Refuse,
        }
    }
}

impl Options {
    pub(super) fn check(&self) -> Result<(), Error> {
        for (what, value) in [("level", self.level), ("significance", self.significance)] {
            if !(value > 0.0 && value < 1.0) {
                return Err(Error::Parameter { what, value, must: "between 0 and 1" });
            }
        }
        for &value in &self.periods {
            if !(value > 1.0 && value.is_finite()) {
                return Err(Error::Parameter { what: "return period", value, must: "above 1" });
            }
        }
        Ok(())
    }
}
