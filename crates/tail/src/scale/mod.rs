//! Predicts the slowest of m' parts from measurements of the slowest of m.
//!
//! For independent parts the maximum of r = m'/m times as many has the distribution F^r; dependence replaces r
//! by r^g, with g from several measured sizes (0 all slow together, 1 independent).

mod drift;
mod joint;

pub use drift::ShapeDrift;
pub use joint::{Joint, joint};

use serde::{Deserialize, Serialize};

use crate::independence::TestFinding;
use crate::{Error, Gev, Interval, Series, Status, argument, assess, gev, kernel};

/// The predicted distribution at another number of parts; schema `lastrank.scale/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    /// `lastrank.scale/1`.
    pub schema: String,
    /// Parts measured.
    pub from: f64,
    /// Parts of the prediction.
    pub to: f64,
    /// Effective ratio of independent parts, (to / from)^g.
    pub ratio: f64,
    /// Exponent of dependence used; 1 independent.
    pub exponent: f64,
    /// Predicted distribution of the slowest.
    #[serde(rename = "law")]
    pub distribution: Gev,
    /// Predicted quantiles.
    pub quantiles: Vec<ScaledQuantile>,
    /// Reliability of the prediction.
    pub trust: Trust,
    /// The reasons, and the remedy.
    pub warnings: Vec<PredictionWarning>,
}

/// A reservation about a prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PredictionWarning {
    /// Fewer runs than the `advised` number.
    FewRuns {
        /// Runs measured.
        runs: usize,
        /// Recommended minimum number of runs.
        advised: usize,
        /// Their size; `None` if there is only one size.
        parts: Option<f64>,
    },
    /// The fit has no interior maximum: nothing can be predicted from it.
    NoInteriorMaximum,
    /// Runs are not independent draws of one distribution.
    NotIndependent {
        /// Their size; `None` if there is only one size.
        parts: Option<f64>,
        /// The evidence against it.
        finding: TestFinding,
    },
    /// The predicted size is many times as large or small as the one measured.
    FarFromOneSize {
        /// The larger over the smaller.
        times: f64,
        /// Whether the predicted size is the larger one.
        larger: bool,
    },
    /// The parts are taken as independent.
    IndependentParts,
    /// The predicted median is exceeded more rarely at the measured size than there are runs.
    BeyondSample {
        /// Runs in which it is exceeded once.
        once_in: f64,
        /// Runs measured.
        runs: usize,
    },
    /// The shape drifts with the size, and predictions include the drift.
    ShapeDrifts {
        /// Shape in the limit of many parts.
        limit: f64,
        /// p-value of no drift.
        p: f64,
    },
    /// One distribution with one exponent does not describe all sizes.
    SizesDisagree {
        /// p-value of the model.
        p: f64,
    },
    /// The exponent is at the upper bound of the search: the slowest grows faster with the size than for
    /// independent parts.
    ExponentAtBound {
        /// The bound.
        bound: f64,
    },
    /// A drift of the shape could not be fitted, so the intervals do not include the error of the model.
    ModelErrorUnknown,
    /// The predicted size is far outside the measured ones.
    FarFromSizes {
        /// Parts of the prediction.
        to: f64,
        /// Smallest size measured.
        smallest: f64,
        /// Largest size measured.
        largest: f64,
    },
}

/// Warnings with the resulting trust.
struct Judgement {
    trust: Trust,
    warnings: Vec<PredictionWarning>,
}

impl Judgement {
    /// No warnings, and a supported prediction.
    fn new() -> Self {
        Judgement { trust: Trust::Supported, warnings: Vec::new() }
    }

    /// Adds a warning and lowers the trust to at most `trust`.
    fn warn(&mut self, trust: Trust, warning: PredictionWarning) {
        self.trust = self.trust.max(trust);
        self.warnings.push(warning);
    }
}

/// A predicted quantile of the slowest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScaledQuantile {
    /// Its probability.
    pub probability: f64,
    /// The duration.
    pub value: f64,
    /// Standard error by the delta method, of the fit alone.
    pub standard_error: Option<f64>,
    /// Its interval. From one size it covers the error of the fit, and of more parts a shape that goes on towards 0; it
    /// does not know whether parts depend on each other. From several, it covers the predictions of models with and without
    /// a drift of the shape.
    pub interval: Option<Interval>,
}

/// Reliability of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Supported by the data.
    Supported,
    /// Beyond the data; see the warnings.
    Warned,
    /// Not to be used: the data contradict the assumptions.
    Refused,
}

/// Predicts the slowest of `to` parts from values that are each the slowest of `from` parts, with dependence
/// exponent `exponent` (1 unless measured, see [`joint`]).
///
/// # Errors
/// As [`gev::fit`]; [`Error::Parameter`] for sizes below 1 or an exponent outside [0, 1].
pub fn scale(values: &[f64], from: f64, to: f64, exponent: f64, level: f64) -> Result<Scaled, Error> {
    scale_at(values, from, to, ScaleOptions { exponent, probabilities: &[0.5, 0.9, 0.99], level })
}

/// Options of a prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleOptions<'a> {
    /// Dependence exponent, 1 unless measured (see [`joint`]).
    pub exponent: f64,
    /// Probabilities of the predicted quantiles, each in (0, 1).
    pub probabilities: &'a [f64],
    /// Coverage of the intervals.
    pub level: f64,
}

/// As [`scale`], for quantiles of any probabilities in (0, 1).
///
/// # Errors
/// As [`scale`], and [`Error::Parameter`] for a probability out of range.
pub fn scale_at(values: &[f64], from: f64, to: f64, options: ScaleOptions) -> Result<Scaled, Error> {
    let ScaleOptions { exponent, probabilities, level } = options;
    check_probabilities(probabilities)?;
    argument::at_least_1("parts measured", from)?;
    argument::at_least_1("parts asked for", to)?;
    if !(0.0..=1.0).contains(&exponent) {
        return Err(Error::Parameter {
            what: "dependence exponent",
            value: exponent,
            must: "between 0 and 1",
        });
    }
    let series = Series::clean(values);
    series.require(assess::FEWEST, 4)?;
    let likelihood = gev::Likelihood::new(&series)?;
    let fit = likelihood.fit();
    let ratio = (to / from).powf(exponent);
    let quantiles = probabilities
        .iter()
        .map(|&probability| {
            // The p-quantile at m' is the p^(1/r) quantile at m: -ln p / r on the exponential scale.
            let c = -(-probability.ln() / ratio).ln();
            let below = (-(-c).exp()).exp();
            let gradient = fit.level_gradient(c);
            let interval = if below > 0.0 && below < 1.0 {
                likelihood.profile(&fit, gev::GevTarget::Quantile(below), level).ok()
            } else {
                None
            };
            let at =
                |shape: f64| fit.center + (fit.location_offset + fit.scale * kernel::box_cox(c, shape).0);
            let value = at(fit.shape);
            // Of more parts than were measured the shape may go on towards 0.
            let other = if to > from { at(drifted(fit.shape, from, to)) } else { value };
            let interval = interval.map(|ends| Interval {
                lower: ends.lower + (other - value).min(0.0),
                upper: ends.upper + (other - value).max(0.0),
                ..ends
            });
            ScaledQuantile {
                probability,
                value,
                standard_error: fit
                    .covariance
                    .map(|v| crate::linalg::quadratic(v.as_flattened(), &gradient).max(0.0).sqrt()),
                interval,
            }
        })
        .collect();
    let judged = judge(&series, fit.status, to / from, ratio, exponent)?;
    Ok(Scaled {
        schema: "lastrank.scale/1".to_string(),
        from,
        to,
        ratio,
        exponent,
        distribution: fit.distribution().max_of(ratio),
        quantiles,
        trust: judged.trust,
        warnings: judged.warnings,
    })
}

/// The shape of maxima of more parts, on average on the way there, if it goes to 0 with 1 / ln of their number, as that of
/// maxima of normal, log-normal or gamma times does (the penultimate approximation; Cohen 1982).
fn drifted(shape: f64, from: f64, to: f64) -> f64 {
    shape * 0.5 * (1.0 + from.ln() / to.ln())
}

/// Reliability of a prediction from one size to `times` as many parts, equivalent to `ratio` independent
/// ones.
fn judge(series: &Series, status: Status, times: f64, ratio: f64, exponent: f64) -> Result<Judgement, Error> {
    let mut judged = Judgement::new();
    let runs = series.len();
    if runs < FEW {
        judged.warn(Trust::Warned, PredictionWarning::FewRuns { runs, advised: FEW, parts: None });
    }
    if status == Status::Boundary {
        judged.warn(Trust::Refused, PredictionWarning::NoInteriorMaximum);
    }
    for test in crate::independence::check_series(series, 0.05)?.reasons() {
        let finding = test.finding.clone();
        judged.warn(Trust::Refused, PredictionWarning::NotIndependent { parts: None, finding });
    }
    let far = times.max(1.0 / times);
    if far > FAR {
        judged.warn(Trust::Warned, PredictionWarning::FarFromOneSize { times: far, larger: times > 1.0 });
    }
    if exponent == 1.0 && times != 1.0 {
        judged.warn(Trust::Supported, PredictionWarning::IndependentParts);
    }
    if ratio > runs as f64 {
        judged.warn(Trust::Warned, PredictionWarning::BeyondSample { once_in: 1.44 * ratio, runs });
    }
    Ok(judged)
}

/// Predictions beyond this multiple of the largest size (or below this fraction of the smallest) get a
/// warning.
const FAR: f64 = 8.0;

/// Predictions from fewer runs of a size get a warning.
const FEW: usize = 30;

fn check_probabilities(probabilities: &[f64]) -> Result<(), Error> {
    probabilities.iter().try_for_each(|p| argument::between_0_and_1("probability", *p).map(drop))
}
