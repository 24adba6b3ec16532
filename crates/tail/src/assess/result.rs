//! The result of an assessment: what `fit --json` holds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Summary;
use crate::gev::{Influence, Parameters};
use crate::gof::GoodnessOfFit;
use crate::independence::Independence;
use crate::rivals::{Family, Law};
use crate::sandwich::Sandwich;
use crate::verdict::{Verdict, Vuong};
use crate::{Dropped, Interval, Status};

/// All that is said about one series, schema `lastrank.fit/1`. Every number is in the unit of the data unless
/// its documentation says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// `lastrank.fit/1`.
    pub schema: String,
    /// How far the fit can be trusted.
    pub status: Status,
    /// Finite values used.
    pub n: usize,
    /// Values left out because they are not finite.
    pub dropped: Dropped,
    /// Distinct values.
    pub distinct: usize,
    /// The clock's tick, where ties show one.
    pub tick: Option<f64>,
    /// How many independent values the n are worth.
    pub n_eff: f64,
    /// Coverage of all intervals.
    pub level: f64,
    /// The values themselves: minimum to maximum, with model-free intervals.
    pub summary: Summary,
    /// The fitted GEV.
    pub gev: GevResult,
    /// Its rivals, best AIC first.
    pub alternatives: Vec<Alternative>,
    /// Levels exceeded once in so many values on average.
    pub return_levels: Vec<ReturnLevel>,
    /// Tests of the assumptions and of the fit.
    pub diagnostics: Diagnostics,
    /// What it all means.
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
    /// The same by BIC.
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
    /// Of the location.
    pub location: Option<Interval>,
    /// Of the scale.
    pub scale: Option<Interval>,
    /// Of the shape.
    pub shape: Option<Interval>,
}

/// A rival of the GEV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// The family, as a stable code.
    pub model: Family,
    /// Its name in words.
    pub name: String,
    /// Number of parameters.
    pub size: usize,
    /// Its fitted parameters by name.
    pub parameters: BTreeMap<String, f64>,
    /// Negative log-likelihood.
    pub negative_log_likelihood: f64,
    /// Akaike's criterion.
    pub aic: f64,
    /// Schwarz's criterion.
    pub bic: f64,
    /// Share among all fitted models by AIC.
    pub aic_weight: f64,
    /// The same by BIC.
    pub bic_weight: f64,
    /// The GEV against this rival; positive z speaks for the GEV.
    pub vuong: Option<Vuong>,
    /// The fitted law, to draw it.
    pub law: Law,
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
    #[serde(with = "super::result::nullable")]
    pub lower: f64,
    /// Upper end of the profile interval.
    #[serde(with = "super::result::nullable")]
    pub upper: f64,
    /// The interval with what its ends are.
    pub interval: Option<Interval>,
    /// Whether the period lies within the number of values; beyond, the level is extrapolated.
    pub observed: bool,
}

/// Tests of the assumptions and of the fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Stage one: independence and stationarity.
    pub independence: Independence,
    /// Stage two: does the GEV fit at all; none where the options asked for no bootstrap.
    pub goodness_of_fit: Option<GoodnessOfFit>,
    /// A location that follows the time; given when stage one finds the values not independent draws of one
    /// law.
    #[serde(default)]
    pub trend: Option<TrendFit>,
    /// Errors that allow for dependence; given when stage one finds the values not independent.
    pub dependence: Option<Dependence>,
    /// The fit to intervals; given when the clock's tick is more than a fifth of the scale.
    pub rounded: Option<Rounded>,
    /// Whether a Gumbel law, shape 0, would do.
    pub gumbel: Option<GumbelTest>,
}

/// What dependence does to the errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dependence {
    /// Sandwich standard errors of the parameters and by how much the variances grow.
    pub sandwich: Option<Sandwich>,
    /// Length of the blocks of the bootstrap.
    pub block: usize,
    /// Percentile intervals of the return levels by block bootstrap, in the order of the return levels.
    pub return_levels: Vec<Interval>,
}

/// A GEV whose location is a straight line in time, against the one whose location is constant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrendFit {
    /// Location at the first value.
    pub first: f64,
    /// Location at the last value.
    pub last: f64,
    /// By how much it changes over the run, with its profile interval.
    pub change: f64,
    /// The interval of `change`; none where the fit is irregular.
    pub interval: Option<Interval>,
    /// Scale around the line.
    pub scale: f64,
    /// Shape around the line.
    pub shape: f64,
    /// Negative log-likelihood.
    pub negative_log_likelihood: f64,
    /// Likelihood ratio against the constant location, corrected for the size of the sample; chi-square with one
    /// degree of freedom.
    pub statistic: f64,
    /// Its p-value, for values independent around the line.
    pub p: f64,
    /// Whether the residuals pass the tests of stage one: then the line is the whole of the fault.
    pub residuals_pass: bool,
}

/// The fit that knows the clock's tick: the likelihood of intervals instead of points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rounded {
    /// The tick.
    pub tick: f64,
    /// Location.
    pub location: f64,
    /// Scale.
    pub scale: f64,
    /// Shape.
    pub shape: f64,
    /// Standard errors.
    pub standard_errors: Option<Parameters>,
}

/// Is the shape 0?
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GumbelTest {
    /// Likelihood ratio with Hosking's correction (1984), chi-square with one degree of freedom.
    pub statistic: f64,
    /// Its p-value.
    pub p: f64,
    /// Location of the fitted Gumbel law.
    pub location: f64,
    /// Its scale.
    pub scale: f64,
    /// Its negative log-likelihood.
    pub negative_log_likelihood: f64,
    /// Its Akaike criterion.
    pub aic: f64,
}

/// The parameters of a rival under the names its field uses.
pub(super) fn parameters(law: &Law) -> BTreeMap<String, f64> {
    let mut named = match law.family {
        Family::Normal => vec![("mean", law.a), ("sd", law.b)],
        Family::LogNormal | Family::LogNormal3 => vec![("mean_ln", law.a), ("sd_ln", law.b)],
        _ => vec![("shape", law.a), ("scale", law.b)],
    };
    if law.family.shifted() {
        named.insert(0, ("shift", law.shift));
    }
    named.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// NaN and infinities are null in JSON and NaN when read back.
pub(crate) mod nullable {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() { to.serialize_f64(*value) } else { to.serialize_none() }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
    }
}
