//! Defines the result of an assessment, which `fit --json` prints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SampleSummary;
use crate::gev::{Influence, Parameters};
use crate::rivals::{Distribution, Family};
use crate::verdict::{Alternative, Diagnostics, Verdict};
use crate::{Dropped, Interval, Status};

/// The assessment of one series, schema `lastrank.fit/1`. Every number is in the unit of the data unless
/// its documentation says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// `lastrank.fit/1`.
    pub schema: String,
    /// Reliability of the fit.
    pub status: Status,
    /// Finite values used.
    pub n: usize,
    /// Values left out because they are not finite.
    pub dropped: Dropped,
    /// Distinct values.
    pub distinct: usize,
    /// The clock's tick, where ties show one.
    pub tick: Option<f64>,
    /// Number of independent values to which the n are equivalent for their mean.
    pub n_eff: f64,
    /// Coverage of all intervals.
    pub level: f64,
    /// The values themselves: minimum to maximum, with model-free intervals.
    pub summary: SampleSummary,
    /// The fitted GEV.
    pub gev: GevResult,
    /// Its rivals, best AIC first.
    pub alternatives: Vec<Alternative>,
    /// Levels exceeded once in so many values on average.
    pub return_levels: Vec<ReturnLevel>,
    /// Tests of the assumptions and of the fit.
    pub diagnostics: Diagnostics,
    /// The conclusion.
    pub verdict: Verdict,
}

/// The fitted GEV with its errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GevResult {
    /// Location.
    pub location: f64,
    /// Scale.
    pub scale: f64,
    /// Shape, without unit; positive is heavy-tailed.
    pub shape: f64,
    /// Standard errors; none unless the status is ok.
    pub standard_errors: Option<Parameters>,
    /// Covariance of (location, scale, shape); none unless the status is ok.
    pub covariance: Option<[[f64; 3]; 3]>,
    /// Negative log-likelihood.
    pub negative_log_likelihood: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// Schwarz's criterion.
    pub bic: f64,
    /// Share of the GEV among all fitted models by AIC, 0 to 1.
    pub aic_weight: f64,
    /// The weight by BIC.
    pub bic_weight: f64,
    /// Profile-likelihood intervals; none where there is no interior maximum.
    pub intervals: Option<ParameterIntervals>,
    /// The most influential value.
    pub influence: Option<Influence>,
    /// Newton iterations used.
    pub iterations: usize,
}

/// Profile-likelihood intervals of the three parameters, with the critical value that allows for the size of
/// the sample ([`crate::gev::bartlett_factor`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ParameterIntervals {
    /// Interval of the location.
    pub location: Option<Interval>,
    /// Interval of the scale.
    pub scale: Option<Interval>,
    /// Interval of the shape.
    pub shape: Option<Interval>,
}

/// A level exceeded once in `period` values on average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReturnLevel {
    /// The period, in values.
    pub period: f64,
    /// The level.
    pub level: f64,
    /// Standard error by the delta method; the interval is better.
    pub standard_error: Option<f64>,
    /// Lower end of the profile interval; NaN (null in JSON) where there is none.
    #[serde(with = "crate::nullable")]
    pub lower: f64,
    /// Upper end of the profile interval.
    #[serde(with = "crate::nullable")]
    pub upper: f64,
    /// The interval with what its ends are.
    pub interval: Option<Interval>,
    /// Whether the period lies within the number of values; beyond, the level is extrapolated.
    pub observed: bool,
}

impl ReturnLevel {
    /// Adds to both ends of the interval by how much the distribution itself may be off.
    pub(super) fn widen(&mut self, by: f64) {
        let by = by.abs();
        (self.lower, self.upper) = (self.lower - by, self.upper + by);
        if let Some(ends) = &mut self.interval {
            (ends.lower, ends.upper) = (ends.lower - by, ends.upper + by);
        }
    }
}

/// The parameters of a rival under the names its field uses.
pub(super) fn parameters(distribution: &Distribution) -> BTreeMap<String, f64> {
    let mut named = match distribution.family {
        Family::Normal => vec![("mean", distribution.a), ("sd", distribution.b)],
        Family::LogNormal | Family::LogNormal3 => {
            vec![("mean_ln", distribution.a), ("sd_ln", distribution.b)]
        }
        _ => vec![("shape", distribution.a), ("scale", distribution.b)],
    };
    if distribution.family.shifted() {
        named.insert(0, ("shift", distribution.shift));
    }
    named.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
