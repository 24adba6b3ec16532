//! Plans the number of runs for a required precision.
//!
//! n = (z c / δ)², with c = SE √n in units of the scale, from the expected information of the GEV (Prescott,
//! Walden 1980) by quadrature; multiplied by the variance inflation if runs are autocorrelated.

use serde::{Deserialize, Serialize};

use crate::gev::GevFit;
use crate::independence::long_run;
use crate::return_period::{gumbel_level, return_period_to_probability};
use crate::sandwich::scores;
use crate::special::normal_upper_quantile;
use crate::{Error, Gev, argument, kernel, linalg};

/// A quantity to estimate with a given precision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Location.
    Location,
    /// Scale.
    Scale,
    /// Shape; its precision is absolute.
    Shape,
    /// The level exceeded once in this many runs.
    ReturnLevel(f64),
    /// The quantile of this probability, estimated by the value of its rank, without a distribution.
    Quantile(f64),
    /// The congestion factor between two systems; its precision is the difference from 1 to detect.
    Factor,
}

/// Required half-width of the interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Relative to the quantity: 0.005 is half a percent.
    Relative(f64),
    /// In the unit of the quantity.
    Absolute(f64),
}

/// A goal such as `return-level(100)=0.5%`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PrecisionGoal {
    /// The quantity.
    pub quantity: Quantity,
    /// Its required precision.
    pub precision: Precision,
}

/// A plan; schema `lastrank.plan/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// `lastrank.plan/1`.
    pub schema: String,
    /// The goal; `wish` in JSON.
    #[serde(rename = "wish")]
    pub goal: PrecisionGoal,
    /// Coverage of the interval.
    pub level: f64,
    /// Total number of runs needed; for a factor, on each of the two systems.
    pub runs: f64,
    /// Between which numbers those runs lie, with a confidence of 95%, by what the pilot knows of its distribution; `None` of an assumed distribution,
    /// and where the pilot does not tell.
    #[serde(default)]
    pub runs_interval: Option<[f64; 2]>,
    /// The number of runs if they were independent.
    pub runs_independent: f64,
    /// Variance inflation used.
    pub variance_inflation: f64,
    /// Required half-width, in the unit of the quantity; for a factor ln k.
    pub half_width: f64,
    /// Probability of detecting the factor; `None` for other quantities.
    pub power: Option<f64>,
    /// Value of the quantity under the distribution planned with.
    pub value: f64,
    /// Standard error times √n, in the unit of the quantity.
    pub unit_error: f64,
}

/// Runs needed for a goal, given a distribution (a pilot fit) and the variance inflation of its series (1 when
/// independent).
///
/// # Errors
/// [`Error::Parameter`] for a shape not above -1/2, where no standard errors exist, or values out of range.
pub fn plan(
    distribution: &Gev,
    goal: PrecisionGoal,
    level: f64,
    variance_inflation: f64,
) -> Result<Plan, Error> {
    plan_with(distribution, goal, level, 0.8, variance_inflation)
}

/// As [`plan`] with the probability `power` of detecting a factor, which other goals do not use.
///
/// # Errors
/// As [`plan`], and [`Error::Support`] for a factor under a distribution whose location is not positive.
pub fn plan_with(
    distribution: &Gev,
    goal: PrecisionGoal,
    level: f64,
    power: f64,
    variance_inflation: f64,
) -> Result<Plan, Error> {
    argument::between_0_and_1("power", power)?;
    argument::confidence_level(level)?;
    argument::at_least_1("variance inflation", variance_inflation)?;
    let value = match goal.quantity {
        Quantity::Location => distribution.location,
        Quantity::Scale => distribution.scale,
        Quantity::Shape => distribution.shape,
        Quantity::ReturnLevel(period) => distribution.return_level(period),
        Quantity::Quantile(p) => distribution.quantile(p),
        Quantity::Factor => 1.0,
    };
    let is_factor = goal.quantity == Quantity::Factor;
    let half_width = match goal.precision {
        Precision::Relative(part) if is_factor => part.ln_1p(),
        Precision::Relative(part) => part * value.abs(),
        Precision::Absolute(width) => width,
    };
    if !(half_width > 0.0 && half_width.is_finite()) {
        return Err(Error::Parameter { what: "precision", value: half_width, must: "positive" });
    }
    let unit_error = match goal.quantity {
        Quantity::Factor => factor_error(distribution)?,
        Quantity::Shape => unit_error(distribution.shape, goal.quantity)?,
        // The standard error of an order statistic (David, Nagaraja 2003, 10.2).
        Quantity::Quantile(p) => (p * (1.0 - p)).sqrt() / distribution.ln_pdf(distribution.quantile(p)).exp(),
        _ => unit_error(distribution.shape, goal.quantity)? * distribution.scale,
    };
    let mut z = normal_upper_quantile(0.5 * (1.0 - level));
    if is_factor {
        z += normal_upper_quantile(1.0 - power);
    }
    let runs_independent = (z * unit_error / half_width).powi(2).ceil();
    let runs = (runs_independent * variance_inflation).ceil();
    Ok(Plan {
        schema: "lastrank.plan/1".to_string(),
        goal,
        level,
        runs,
        runs_interval: None,
        runs_independent,
        variance_inflation,
        half_width,
        power: is_factor.then_some(power),
        value,
        unit_error,
    })
}

/// Standard error of ln k times √n, with n values of each of two systems: √(2 / vᵀ I v) with I the information
/// of one value and v = (location / scale, 1, 0), the direction in which a factor changes the distribution.
///
/// # Errors
/// As [`unit_error`], and [`Error::Support`] where the location is not positive.
pub fn factor_error(distribution: &Gev) -> Result<f64, Error> {
    if !(distribution.shape > -0.5 && distribution.shape < 5.0) {
        return Err(Error::Parameter {
            what: "shape",
            value: distribution.shape,
            must: "above -1/2 (and below 5)",
        });
    }
    if distribution.location <= 0.0 {
        return Err(Error::Support { model: "a ratio", needs: "positive durations" });
    }
    let direction = [distribution.location / distribution.scale, 1.0, 0.0];
    Ok((2.0 / linalg::quadratic(&information(distribution.shape), &direction)).sqrt())
}

/// Standard error times √n for a distribution of scale 1.
///
/// # Errors
/// [`Error::Parameter`] for a shape not above -1/2 or a period not above 1.
pub fn unit_error(shape: f64, quantity: Quantity) -> Result<f64, Error> {
    if !(shape > -0.5 && shape < 5.0) {
        return Err(Error::Parameter { what: "shape", value: shape, must: "above -1/2 (and below 5)" });
    }
    let information = information(shape);
    let Some(v) = linalg::inverse(&information, 3) else {
        return Err(Error::NotConverged { model: "expected information" });
    };
    let gradient = gradient(shape, quantity)?;
    Ok(linalg::quadratic(&v, &gradient).max(0.0).sqrt())
}

/// How a quantity changes with (location, scale, shape) of a distribution of scale 1.
fn gradient(shape: f64, quantity: Quantity) -> Result<[f64; 3], Error> {
    Ok(match quantity {
        Quantity::Location => [1.0, 0.0, 0.0],
        Quantity::Scale => [0.0, 1.0, 0.0],
        Quantity::Shape => [0.0, 0.0, 1.0],
        Quantity::ReturnLevel(period) => {
            let c = gumbel_level(return_period_to_probability(period)?);
            let (b, b1, _) = kernel::box_cox(c, shape);
            [1.0, b, b1]
        }
        Quantity::Quantile(p) => {
            return Err(Error::Parameter { what: "probability", value: p, must: "asked of plan" });
        }
        Quantity::Factor => {
            return Err(Error::Parameter { what: "k", value: f64::NAN, must: "asked of factor_error" });
        }
    })
}

/// A pilot: its values in time order, their fit, and whether neighbours are correlated.
#[derive(Debug, Clone)]
pub struct Pilot {
    /// The values.
    pub values: Vec<f64>,
    /// Their fit.
    pub fit: GevFit,
    /// What each value does to the parameters of the fit; `None` where no test shows dependence.
    influences: Option<Vec<[f64; 3]>>,
}

/// The share of the normal distribution within the interval of the runs.
const Z: f64 = 1.96;

/// The variance of the logarithm of an estimated long-run factor of such influences, which is most of what a pilot leaves open,
/// with its covariance with the error of the distribution; times the number of values over the factor. By simulation of
/// autoregressions of 0.3 to 0.8 with 400 values.
const OF_FACTOR: f64 = 45.0;

impl Pilot {
    /// Of values and their fit; `dependent` is whether a test shows that neighbours are correlated.
    pub fn new(values: Vec<f64>, fit: GevFit, dependent: bool) -> Pilot {
        let influences = fit.curvature.filter(|_| dependent).map(|curvature| {
            let units = [fit.scale, fit.scale, 1.0];
            let of = |score: [f64; 3]| {
                curvature.map(|row| (0..3).map(|at| row[at] * score[at] / units[at]).sum::<f64>())
            };
            scores(&values, &fit).into_iter().map(of).collect()
        });
        Pilot { values, fit, influences }
    }

    /// By how much dependence inflates the variance of the estimate of a quantity, at least 1: the long-run variance of what
    /// each value of the pilot does to it, over the plain one. An autoregression of 0.6 makes a location four times as
    /// uncertain, and a level that is exceeded once in 100 runs twice. `None` of what no parameters make, and where no test
    /// shows dependence.
    pub fn inflation(&self, quantity: Quantity) -> Option<f64> {
        let by = gradient(self.fit.shape, quantity).ok()?;
        let by = if quantity == Quantity::Shape { by } else { [by[0], by[1], by[2] * self.fit.scale] };
        self.cost(by)
    }

    /// The factor of the variance of what changes with the parameters by these slopes.
    fn cost(&self, slopes: [f64; 3]) -> Option<f64> {
        let along = |one: &[f64; 3]| (0..3).map(|at| slopes[at] * one[at]).sum::<f64>();
        let moves: Vec<f64> = self.influences.as_ref()?.iter().map(along).collect();
        let mean = moves.iter().sum::<f64>() / moves.len() as f64;
        let residuals: Vec<f64> = moves.iter().map(|one| one - mean).collect();
        Some(long_run::factor(&residuals, None))
    }

    /// Between which numbers the runs of a plan lie, by the error of the pilot's parameters and of what dependence costs: the
    /// delta method on the logarithm of the runs.
    pub fn runs_interval(&self, plan: &Plan) -> Option<[f64; 2]> {
        let covariance = self.fit.covariance?;
        let distribution = self.fit.distribution();
        let ln_runs = |distribution: &Gev| {
            let at = plan_with(distribution, plan.goal, plan.level, plan.power.unwrap_or(0.8), 1.0).ok()?;
            Some(2.0 * (at.unit_error / at.half_width).ln())
        };
        let mut slopes = [0.0; 3];
        for (of, slope) in slopes.iter_mut().enumerate() {
            // As wide as the error, so that what is bent is told as it is within that.
            let step = covariance[of][of].sqrt();
            let moved = |by: f64| {
                let mut distribution = distribution;
                *[&mut distribution.location, &mut distribution.scale, &mut distribution.shape][of] += by;
                (distribution.scale > 0.0).then(|| ln_runs(&distribution)).flatten()
            };
            let here = ln_runs(&distribution)?;
            // Below a shape of -1/2 no plan is made.
            let (up, down) = (moved(step)?, moved(-step));
            *slope = down.map_or((up - here) / step, |down| (up - down) / (2.0 * step));
        }
        let cost = self.cost(slopes);
        let of_distribution = linalg::quadratic(covariance.as_flattened(), &slopes) * cost.unwrap_or(1.0);
        let of_cost = cost.map_or(0.0, |_| OF_FACTOR * plan.variance_inflation / self.values.len() as f64);
        let factor = (Z * (of_distribution + of_cost).sqrt()).exp();
        factor.is_finite().then(|| [(plan.runs / factor).floor(), (plan.runs * factor).ceil()])
    }
}

/// Expected information of one value by (location, scale, shape) at scale 1: E[score scoreᵀ] by
/// double-exponential quadrature over p in (0, 1), which keeps the integrable ends for shape > -1/2.
fn information(shape: f64) -> [f64; 9] {
    let distribution = Gev { location: 0.0, scale: 1.0, shape };
    let at = kernel::At::standard(shape);
    let mut out = [0.0; 9];
    let step = 1.0 / 64.0;
    for i in -460..=460i32 {
        // p = 1 / (1 + exp(-π sinh t)): weights and both ends accurate.
        let t = f64::from(i) * step;
        let s = 0.5 * std::f64::consts::PI * t.sinh();
        let weight = 0.25 * std::f64::consts::PI * t.cosh() / s.cosh().powi(2) * step;
        if weight <= 0.0 || !weight.is_finite() {
            continue;
        }
        // Exponential variate -ln p, accurate at both ends.
        let intensity = if s > 0.0 { (-2.0 * s).exp().ln_1p() } else { -2.0 * s + (2.0 * s).exp().ln_1p() };
        if !(intensity > 0.0 && intensity.is_finite()) {
            continue;
        }
        let z = distribution.at_gumbel_level(-intensity.ln());
        let Some(terms) = kernel::row(z, &at, 1.0, 1.0) else { continue };
        for a in 0..3 {
            for b in 0..3 {
                let product = terms.gradient[a] * terms.gradient[b] * weight;
                if product.is_finite() {
                    out[3 * a + b] += product;
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quadrature_weights_sum_to_one() {
        // The information of the location of a Gumbel distribution is exactly 1.
        assert!((information(0.0)[0] - 1.0).abs() < 1e-10, "{}", information(0.0)[0]);
    }
}
