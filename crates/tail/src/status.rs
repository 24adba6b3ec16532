//! Defines the status of a fit and the kinds of interval ends.

use serde::{Deserialize, Serialize};

/// Reliability of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Interior maximum with shape > -1/2: normal theory holds (Smith 1985; Bücher, Segers 2017).
    Ok,
    /// No interior maximum: the likelihood increases up to a bound of the shape, which is returned.
    Boundary,
    /// Interior maximum with -1 < shape <= -1/2: the estimate is valid, standard errors are not.
    Irregular,
    /// Too few or too few distinct values; there is no fit.
    Degenerate,
    /// The optimizer did not reach a maximum. Never expected.
    NotConverged,
}

/// The kind of an interval end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The level was reached here.
    Reached,
    /// A bound of the parameter space was reached first (shape -1 or the largest shape searched).
    Bound,
    /// The likelihood never falls low enough: the interval is open to infinity on this side.
    Infinite,
    /// The search failed, or searches from the peak did not confirm the end, which is NaN.
    NotFound,
}

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end, in the unit of the estimate.
    pub lower: f64,
    /// Upper end, in the unit of the estimate.
    pub upper: f64,
    /// Nominal coverage, for instance 0.95.
    pub level: f64,
    /// Kind of the lower end.
    pub lower_end: End,
    /// Kind of the upper end.
    pub upper_end: End,
}

impl Interval {
    /// An interval whose both ends are reached.
    pub fn new(lower: f64, upper: f64, level: f64) -> Self {
        Interval { lower, upper, level, lower_end: End::Reached, upper_end: End::Reached }
    }

    /// An interval from its lower and upper end, each with its kind.
    pub(crate) fn from_ends([lower, upper]: [(f64, End); 2], level: f64) -> Self {
        Interval { lower: lower.0, upper: upper.0, level, lower_end: lower.1, upper_end: upper.1 }
    }

    /// Whether the value lies inside.
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}
