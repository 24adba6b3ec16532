//! Divides the error of a verdict among its stages.

use serde::{Deserialize, Serialize};

use super::vuong::{Preference, Vuong};
use crate::rivals::Family;
use crate::special::normal_upper_quantile;

/// At most a share `whole` of samples of independent draws of a GEV gets a verdict against it (not
/// independent, no maximum, rejected, or another distribution preferred). Each stage has a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Levels {
    /// Level of the verdict.
    pub whole: f64,
    /// Level of all tests of independence together.
    pub independence: f64,
    /// Level of the test of fit.
    pub fit: f64,
    /// Level of the comparisons with all rivals together.
    pub rivals: f64,
    /// Vuong's z above which one rival is worse than the GEV: two-sided at `whole`, by itself.
    pub worse: f64,
    /// Vuong's z below which a rival is better than the GEV: `rivals` divided among all rivals, since any of
    /// them can cause a verdict against the GEV.
    pub better: f64,
}

impl Default for Levels {
    fn default() -> Levels {
        Levels::of(0.05)
    }
}

impl Levels {
    /// The part of stage one: dependence is the most frequent violation.
    pub const INDEPENDENCE: f64 = 0.7;
    /// The part of stage two.
    const FIT: f64 = 0.25;
    /// The part of stage three.
    const RIVALS: f64 = 0.05;

    /// The levels of a verdict with this error.
    pub fn of(whole: f64) -> Levels {
        let rivals = Self::RIVALS * whole;
        Levels {
            whole,
            independence: Self::INDEPENDENCE * whole,
            fit: Self::FIT * whole,
            rivals,
            worse: normal_upper_quantile(0.5 * whole),
            better: -normal_upper_quantile(rivals / Family::ALL.len() as f64),
        }
    }

    /// The preferred one of two models; the first is a GEV and the second a rival.
    pub fn preference(&self, vuong: &Vuong) -> Preference {
        if vuong.z > self.worse {
            Preference::Gev
        } else if vuong.z < self.better {
            Preference::Rival
        } else {
            Preference::Neither
        }
    }
}
