//! Collects the evidence of a verdict: the fit, its rivals and the tests of all stages.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::levels::Levels;
use super::vuong::Vuong;
use crate::Interval;
use crate::gev::{GevFit, Parameters};
use crate::gof::GoodnessOfFit;
use crate::independence::Independence;
use crate::rivals::{Distribution, Family};
use crate::sandwich::Sandwich;

/// The smallest number of values for a verdict about the distribution; below it there is only a description.
pub const FEWEST_FOR_VERDICT: usize = 100;

/// The smallest number of distinct values for a verdict: of fewer, a clock shows its steps and not a distribution.
pub const FEWEST_DISTINCT: usize = 6;

/// From this shape on a distribution of maxima has no mean.
pub(super) const NO_MEAN: f64 = 1.0;

/// The verdict as a stable code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictCode {
    /// Stage one: the values are not independent draws of one distribution.
    NotIndependent,
    /// The likelihood has no interior maximum: no GEV describes the values.
    NoMaximum,
    /// Stage two: the GEV does not fit.
    GevRejected,
    /// Stage three: another distribution is significantly better.
    RivalPreferred,
    /// The GEV fits, but a rival fits as well or could not be compared.
    GevConsistent,
    /// The GEV fits, and every rival was compared with it and is significantly worse.
    GevPreferred,
    /// The GEV fits with a shape of 1 or more: its mean is infinite, so the next longest may be any number of times as long.
    NoMean,
    /// Too few values for a verdict.
    TooFew,
    /// Too few distinct values for a verdict: the clock, or who wrote the values, rounded them.
    Rounded,
}

/// The evidence of a verdict.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// Number of values.
    pub n: usize,
    /// The fit.
    pub fit: &'a GevFit,
    /// Stages one and two.
    pub diagnostics: &'a Diagnostics,
    /// Stage three.
    pub alternatives: &'a [Alternative],
    /// Error of the whole verdict for independent draws of a GEV.
    pub significance: f64,
}

impl Evidence<'_> {
    /// Whether the test of fit rejects the GEV.
    pub(super) fn is_rejected(&self, levels: &Levels) -> bool {
        self.diagnostics.goodness_of_fit.as_ref().is_some_and(|found| found.p.smaller < levels.fit)
    }

    /// Whether the values are so many, and the quantiles of the fit so near theirs, that what tests find does not matter.
    pub(super) fn is_near(&self) -> bool {
        self.diagnostics.goodness_of_fit.as_ref().is_some_and(|found| found.is_near(self.n))
    }
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
    /// The weight by BIC.
    pub bic_weight: f64,
    /// The GEV against this rival; positive z favours the GEV.
    pub vuong: Option<Vuong>,
    /// The fitted distribution, for figures.
    #[serde(rename = "law")]
    pub distribution: Distribution,
}

/// Tests of the assumptions and of the fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// Stage one: independence and stationarity.
    pub independence: Independence,
    /// Stage two: tests of the fit of the GEV; `None` without a bootstrap.
    pub goodness_of_fit: Option<GoodnessOfFit>,
    /// A location that is linear in time; given when stage one finds the values not independent draws of one
    /// distribution.
    #[serde(default)]
    pub trend: Option<TrendFit>,
    /// Errors that allow for dependence; given when stage one finds the values not independent.
    pub dependence: Option<Dependence>,
    /// The fit to intervals; given when the clock's tick is more than a fifth of the scale.
    pub rounded: Option<Rounded>,
    /// Whether a Gumbel distribution, shape 0, is sufficient.
    pub gumbel: Option<GumbelTest>,
}

/// Errors that allow for dependence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dependence {
    /// Sandwich standard errors of the parameters and the inflation of the variances.
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
    /// Change over the run.
    pub change: f64,
    /// Profile interval of `change`; `None` if the fit is irregular.
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
    /// Whether the residuals pass the tests of stage one: if so, the line explains all of the dependence.
    pub residuals_pass: bool,
}

/// The fit that takes the clock's tick into account: the likelihood of intervals instead of points.
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

/// Test of shape 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GumbelTest {
    /// Likelihood ratio with Hosking's correction (1984), chi-square with one degree of freedom.
    pub statistic: f64,
    /// Its p-value.
    pub p: f64,
    /// Location of the fitted Gumbel distribution.
    pub location: f64,
    /// Its scale.
    pub scale: f64,
    /// Its negative log-likelihood.
    pub negative_log_likelihood: f64,
    /// Its Akaike criterion.
    pub aic: f64,
}
