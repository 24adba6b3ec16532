//! How long would the slowest of m' parts take, when the slowest of m was measured?
//!
//! For independent parts the maximum of r = m'/m times as many has the distribution F^r; dependence replaces r
//! by r^g, with g from several measured sizes (0 all slow together, 1 independent).

mod drift;
mod joint;

pub use drift::ShapeDrift;
pub use joint::{Joint, joint};

use serde::{Deserialize, Serialize};

use crate::{Error, Gev, Interval, Series, Status, assess, gev, kernel};

/// The predicted law at another number of parts; schema `lastrank.scale/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    /// `lastrank.scale/1`.
    pub schema: String,
    /// Parts measured.
    pub from: f64,
    /// Parts asked for.
    pub to: f64,
    /// Effective ratio of independent parts, (to / from)^g.
    pub ratio: f64,
    /// Exponent of dependence used; 1 independent.
    pub exponent: f64,
    /// Predicted law of the slowest.
    pub law: Gev,
    /// Predicted quantiles.
    pub quantiles: Vec<ScaledQuantile>,
    /// How much the prediction can be trusted.
    pub trust: Trust,
    /// Why, and what to do, one sentence each.
    pub warnings: Vec<String>,
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
    /// Profile interval, of the fit alone: not of the assumptions.
    pub interval: Option<Interval>,
}

/// How far the data carry a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Within what the data show.
    Supported,
    /// Beyond it; the warnings say why.
    Warned,
    /// Not to be used: the data contradict the assumptions.
    Refused,
}

/// Predict the slowest of `to` parts from values that are each the slowest of `from` parts, with dependence
/// exponent `exponent` (1 unless measured, see [`joint`]).
///
/// # Errors
/// As [`gev::fit`]; [`Error::Parameter`] for sizes below 1 or an exponent outside [0, 1].
pub fn scale(values: &[f64], from: f64, to: f64, exponent: f64, level: f64) -> Result<Scaled, Error> {
    scale_at(values, from, to, exponent, &[0.5, 0.9, 0.99], level)
}

/// The same for quantiles of any `probabilities` in (0, 1).
///
/// # Errors
/// As [`scale`], and [`Error::Parameter`] for a probability out of range.
pub fn scale_at(
    values: &[f64],
    from: f64,
    to: f64,
    exponent: f64,
    probabilities: &[f64],
    level: f64,
) -> Result<Scaled, Error> {
    check_probabilities(probabilities)?;
    for (what, value) in [("parts measured", from), ("parts asked for", to)] {
        if !(value >= 1.0 && value.is_finite()) {
            return Err(Error::Parameter { what, value, must: "at least 1" });
        }
    }
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
                likelihood.profile(&fit, gev::Target::Quantile(below), level).ok()
            } else {
                None
            };
            ScaledQuantile {
                probability,
                value: fit.center + (fit.location_offset + fit.scale * kernel::box_cox(c, fit.shape).0),
                standard_error: fit
                    .covariance
                    .map(|v| crate::linalg::quadratic(v.as_flattened(), &gradient).max(0.0).sqrt()),
                interval,
            }
        })
        .collect();
    let mut trust = Trust::Supported;
    let mut warnings = Vec::new();
    let mut warn = |level: Trust, text: String| {
        if level == Trust::Refused || trust == Trust::Supported {
            trust = level;
        }
        warnings.push(text);
    };
    if series.len() < FEW {
        warn(Trust::Warned, format!("Only {} runs were measured: at least {FEW} are advised.", series.len()));
    }
    let independence = crate::independence::check_series(&series, 0.05)?;
    if fit.status == Status::Boundary {
        warn(
            Trust::Refused,
            "The fit has no interior maximum: nothing can be predicted from it.".to_string(),
        );
    }
    for test in independence.rejected() {
        warn(Trust::Refused, format!("The runs are not independent draws of one law: {}.", test.text));
    }
    if to / from > 8.0 || from / to > 8.0 {
        warn(
            Trust::Warned,
            format!(
                "From one size to one {:.0} times {}: the law of larger maxima is not the fitted one yet, by \
                 up to several percent. Measure at least three sizes.",
                (to / from).max(from / to),
                if to > from { "as large" } else { "smaller" }
            ),
        );
    }
    if exponent == 1.0 && to != from {
        warn(
            Trust::Supported,
            "The parts are taken as independent; parts that share servers or network make this too pessimistic."
                .to_string(),
        );
    }
    let shortest = series.len() as f64;
    if ratio > shortest {
        warn(
            Trust::Warned,
            format!(
                "The median there is exceeded once in {:.0} runs here: far outside {} runs.",
                1.44 * ratio,
                shortest
            ),
        );
    }
    Ok(Scaled {
        schema: "lastrank.scale/1".to_string(),
        from,
        to,
        ratio,
        exponent,
        law: fit.law().max_of(ratio),
        quantiles,
        trust,
        warnings,
    })
}

/// Below so many runs of a size a prediction is warned of.
const FEW: usize = 30;

fn check_probabilities(probabilities: &[f64]) -> Result<(), Error> {
    match probabilities.iter().find(|p| !(**p > 0.0 && **p < 1.0)) {
        Some(&value) => Err(Error::Parameter { what: "probability", value, must: "between 0 and 1" }),
        None => Ok(()),
    }
}
