//! How long would the slowest of m' parts take, when the slowest of m was measured?
//!
//! For independent parts the maximum of r = m'/m times as many has the distribution F^r; dependence replaces r
//! by r^g, with g from several measured sizes (0 all slow together, 1 independent).

use serde::{Deserialize, Serialize};

use crate::newton::{brent_minimum, brent_root};
use crate::{Error, Gev, Interval, Series, Status, assess, gev, kernel, special};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    let quantiles = [0.5, 0.9, 0.99]
        .into_iter()
        .map(|probability: f64| {
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

/// Several measured sizes fitted together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    /// Law of the slowest of the smallest size.
    pub law: Gev,
    /// The smallest size.
    pub smallest: f64,
    /// Exponent of dependence g.
    pub exponent: f64,
    /// Its profile interval, within 0 to 1.5.
    pub interval: Interval,
    /// p-value of independence, g = 1 (likelihood ratio, one degree of freedom).
    pub p_independent: f64,
    /// p-value of the whole model against a fit of each size on its own.
    pub p_model: f64,
    /// Shape fitted at each size on its own: (size, shape, standard error).
    pub shapes: Vec<(f64, f64, Option<f64>)>,
    /// Effective number of independent parts at the largest size, relative to the smallest: (m / m0)^g.
    pub effective_ratio: f64,
}

/// Fit values measured at three or more sizes with one law and one exponent of dependence:
/// F_m = F_0^((m / m0)^g).
///
/// # Errors
/// [`Error::TooFew`] below three sizes, else as [`gev::fit`].
pub fn joint(sizes: &[(f64, Vec<f64>)], level: f64) -> Result<Joint, Error> {
    if sizes.len() < 3 {
        return Err(Error::TooFew { found: sizes.len(), needed: 3 });
    }
    let mut order: Vec<&(f64, Vec<f64>)> = sizes.iter().collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let smallest = order[0].0;
    if !(smallest >= 1.0 && order[order.len() - 1].0.is_finite()) {
        return Err(Error::Parameter { what: "parts measured", value: smallest, must: "at least 1" });
    }
    let series: Vec<Series> = order.iter().map(|(_, v)| Series::clean(v)).collect();
    let mut separate = 0.0;
    let mut shapes = Vec::new();
    for (one, (size, _)) in series.iter().zip(order.iter().map(|s| (s.0, ()))) {
        let fit = gev::Likelihood::new(one)?.fit();
        separate += fit.negative_log_likelihood;
        shapes.push((size, fit.shape, fit.standard_errors.map(|e| e.shape)));
    }
    let (center, spread) = gev::standardisation(series[0].sorted());
    let rows: Vec<(f64, Vec<f64>)> = series
        .iter()
        .zip(&order)
        .map(|(s, (m, _))| ((m / smallest).ln(), s.sorted().iter().map(|x| (x - center) / spread).collect()))
        .collect();
    let count: usize = rows.iter().map(|r| r.1.len()).sum();
    let mut newton = crate::newton::Newton::new(3);
    let mut warm = [-0.3665 / 1.5725, -(1.5725f64.ln()), 0.02];
    let tolerance = 1e-11 * count as f64;
    let mut profile = |g: f64| -> f64 {
        let objective = Powers { rows: &rows, exponent: g };
        let mut best = f64::INFINITY;
        for start in [warm, [-0.23, 0.2, 0.02], [-0.23, 1.0, 0.2], [-0.23, 1.0, -0.1]] {
            let outcome = newton.minimize(&objective, &start, tolerance, 0);
            if outcome.converged {
                warm = [newton.at[0], newton.at[1], newton.at[2]];
                best = outcome.value;
                break;
            }
        }
        best
    };
    let (exponent, value) = brent_minimum(&mut profile, 0.0, 1.5, 1e-7);
    if !value.is_finite() {
        return Err(Error::NotConverged { model: "several sizes" });
    }
    let z = special::normal_upper_quantile(0.5 * (1.0 - level));
    let mut excess = |g: f64| {
        let there = profile(g);
        if there.is_finite() { (2.0 * (there - value)).max(0.0).sqrt() - z } else { 1e9 }
    };
    let mut end = |bound: f64| {
        let there = excess(bound);
        if there <= 0.0 { bound } else { brent_root(&mut excess, (exponent, -z), (bound, there), 1e-7) }
    };
    let interval = Interval::new(end(0.0), end(1.5), level);
    let independent = profile(1.0);
    profile(exponent);
    let total = value + count as f64 * spread.ln();
    let freedom = 3.0 * series.len() as f64 - 4.0;
    Ok(Joint {
        law: Gev { location: center + spread * warm[0], scale: spread * warm[1].exp(), shape: warm[2] },
        smallest,
        exponent,
        interval,
        p_independent: special::chi_square_survival((2.0 * (independent - value)).max(0.0), 1.0),
        p_model: special::chi_square_survival((2.0 * (total - separate)).max(0.0), freedom),
        shapes,
        effective_ratio: (order[order.len() - 1].0 / smallest).powf(exponent),
    })
}

/// F_0^(r^g) is a GEV: ln density = ln f_0-row with weight r^g on exp(-h), plus g ln r.
struct Powers<'a> {
    rows: &'a [(f64, Vec<f64>)],
    exponent: f64,
}

impl crate::newton::Objective for Powers<'_> {
    fn size(&self) -> usize {
        3
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        if at[2] <= -1.0 || at[2] >= gev::SHAPE_MAX {
            return f64::INFINITY;
        }
        let mut total = kernel::Terms::default();
        for (ln_ratio, values) in self.rows {
            let power = self.exponent * ln_ratio;
            let Some(part) = kernel::sum(values, at[0], at[1], at[2], 1.0, power.exp()) else {
                return f64::INFINITY;
            };
            total.add(&part);
            total.value -= power * values.len() as f64;
        }
        gradient.copy_from_slice(&total.gradient);
        hessian.copy_from_slice(&total.matrix());
        total.value
    }
}
