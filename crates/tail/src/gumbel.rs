//! Fits the Gumbel distribution (shape 0) and tests it against a GEV.

use serde::{Deserialize, Serialize};

use crate::gev::{self, Likelihood, quantile_start};
use crate::interval_end::{RootDeviance, unbounded_end};
use crate::newton::{Newton, brent_minimum};
use crate::return_period::{gumbel_level, return_period_to_probability};
use crate::surface::{Fixed, HeldFixed, Surface, grow_scale};
use crate::{Error, Gev, Interval, Series, argument, linalg, special};

/// A fitted Gumbel distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GumbelFit {
    /// Values used.
    pub n: usize,
    /// Location.
    pub location: f64,
    /// Location minus the median of the data.
    pub location_offset: f64,
    /// Scale.
    pub scale: f64,
    /// Standard errors of location and scale.
    pub standard_errors: [f64; 2],
    /// Their covariance.
    pub covariance: [[f64; 2]; 2],
    /// Negative log-likelihood, in the unit of the data.
    pub negative_log_likelihood: f64,
}

impl GumbelFit {
    /// The fitted distribution.
    pub fn distribution(&self) -> Gev {
        Gev { location: self.location, scale: self.scale, shape: 0.0 }
    }

    /// Akaike's criterion.
    pub fn aic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + 4.0
    }

    /// Schwarz's criterion.
    pub fn bic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + 2.0 * (self.n as f64).ln()
    }

    /// Likelihood-ratio test of shape 0 against a GEV fit of the same values, with Hosking's factor
    /// 1 - 2.8 / n (Hosking 1984): statistic and p-value.
    pub fn against(&self, gev: &gev::GevFit) -> (f64, f64) {
        let ratio = 2.0 * (self.negative_log_likelihood - gev.negative_log_likelihood).max(0.0);
        let adjusted = ratio * (1.0 - 2.8 / self.n as f64);
        (adjusted, special::chi_square_survival(adjusted, 1.0))
    }
}

/// Fit a Gumbel distribution by maximum likelihood.
///
/// # Errors
/// As [`gev::fit`], and [`Error::NotConverged`], which is not expected: the likelihood has one maximum.
pub fn fit(series: &Series) -> Result<GumbelFit, Error> {
    fit_of(&Likelihood::new(series)?)
}

/// [`fit`] of a sample that is standardised already.
pub(crate) fn fit_of(likelihood: &Likelihood) -> Result<GumbelFit, Error> {
    let maxima = likelihood.maxima();
    let n = maxima.len();
    let fixed = Fixed { surface: &maxima, what: HeldFixed::Shape, value: 0.0 };
    let mut newton = Newton::new(2);
    let mut start = quantile_start();
    let quick = likelihood.quick();
    // From near the maximum of groups, one step leads to that of all.
    let near = !quick.weights.is_empty() && {
        let groups = Fixed { surface: &quick, what: HeldFixed::Shape, value: 0.0 };
        let outcome = newton.minimize(&groups, &start, 1e-8, 0);
        if outcome.converged {
            start = [newton.at[0], newton.at[1]];
        }
        outcome.converged
    };
    let (tolerance, polish) = if near { (gev::fit::NEAR, 0) } else { (1e-12 * n as f64, 2) };
    // With a far outlier exp(-z) underflows on one side: widen the scale until the start is finite.
    let wide = [start[0], grow_scale(maxima.ends(), start[0], start[1], -0.02)];
    let mut outcome = newton.minimize(&fixed, &start, tolerance, polish);
    if !outcome.converged {
        outcome = newton.minimize(&fixed, &wide, tolerance, polish);
    }
    let inverse = linalg::inverse(&newton.hessian, 2);
    let (Some(v), true) = (inverse, outcome.converged) else {
        return Err(Error::NotConverged { model: "Gumbel" });
    };
    let (mut at, mut value) = ([newton.at[0], newton.at[1]], outcome.value);
    if near {
        at.iter_mut().zip(newton.beyond()).for_each(|(at, beyond)| *at = beyond);
        value -= 0.5 * outcome.decrement;
    }
    let (center, spread) = (likelihood.center, likelihood.spread);
    let scale = spread * at[1].exp();
    let covariance =
        [[v[0] * spread * spread, v[1] * spread * scale], [v[2] * spread * scale, v[3] * scale * scale]];
    Ok(GumbelFit {
        n,
        location: center + spread * at[0],
        location_offset: spread * at[0],
        scale,
        standard_errors: [covariance[0][0].sqrt(), covariance[1][1].sqrt()],
        covariance,
        negative_log_likelihood: value + n as f64 * spread.ln(),
    })
}

/// The quantity of an interval of a Gumbel fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GumbelTarget {
    /// The location.
    Location,
    /// The scale.
    Scale,
    /// The level exceeded once in this many values.
    ReturnLevel(f64),
}

/// Profile-likelihood interval around a fit of the same values.
///
/// # Errors
/// [`Error::Parameter`] for a level outside (0, 1) or a period not above 1.
pub fn profile(
    series: &Series,
    fit: &GumbelFit,
    target: GumbelTarget,
    level: f64,
) -> Result<Interval, Error> {
    argument::confidence_level(level)?;
    // In units of the fit: location 0, scale 1. A level is location + scale c.
    let y: Vec<f64> = series.sorted().iter().map(|x| (x - fit.location) / fit.scale).collect();
    let n = y.len() as f64;
    let value = |location: f64, ln_scale: f64| {
        let rate = (-ln_scale).exp();
        n * ln_scale + y.iter().map(|y| (y - location) * rate).map(|z| z + (-z).exp()).sum::<f64>()
    };
    let c = match target {
        GumbelTarget::Location | GumbelTarget::Scale => 0.0,
        GumbelTarget::ReturnLevel(period) => gumbel_level(return_period_to_probability(period)?),
    };
    let held = |at: f64| match target {
        GumbelTarget::Scale => {
            let mean = y.iter().map(|v| (-(v - y[0]) * (-at).exp()).exp()).sum::<f64>() / n;
            value(y[0] - at.exp() * mean.ln(), at)
        }
        GumbelTarget::Location | GumbelTarget::ReturnLevel(_) => {
            brent_minimum(|ln_scale| value(at - c * ln_scale.exp(), ln_scale), -3.0, 3.0, 1e-9).1
        }
    };
    let best = if target == GumbelTarget::Scale { 0.0 } else { c };
    let least = value(0.0, 0.0);
    let z = special::normal_upper_quantile(0.5 * (1.0 - level));
    let step = (1.0 + c.abs()) / n.sqrt();
    let mut profile = Convex(|at: f64| (2.0 * (held(at) - least)).max(0.0).sqrt());
    let ends = [-1.0, 1.0].map(|side| unbounded_end(&mut profile, best, side * step, z, 1e-9 * step));
    let units = |at: f64| match target {
        GumbelTarget::Scale => fit.scale * at.exp(),
        _ => fit.location + fit.scale * at,
    };
    Ok(Interval::from_ends(ends.map(|(at, end)| (units(at), end)), level))
}

/// A root deviance with a single maximum: in (1 / scale, location / scale) the negative log-likelihood is
/// convex, and a fixed level is a line.
struct Convex<F>(F);

impl<F: Fn(f64) -> f64> RootDeviance for Convex<F> {
    fn along(&mut self, value: f64) -> Option<f64> {
        Some((self.0)(value))
    }

    fn afresh(&mut self, value: f64) -> Option<f64> {
        self.along(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn profile_intervals_are_near_the_standard_errors_and_hold_the_deviance() {
        let distribution = Gev::new(1e6, 3e4, 0.0).unwrap();
        let mut random = Xoshiro::new(4);
        let values: Vec<f64> = (0..400).map(|_| distribution.sample(&mut random)).collect();
        let series = Series::clean(&values);
        let found = fit(&series).unwrap();
        let expected = [
            (GumbelTarget::Location, found.location, found.standard_errors[0]),
            (GumbelTarget::Scale, found.scale, found.standard_errors[1]),
        ];
        for (target, value, error) in expected {
            let interval = profile(&series, &found, target, 0.95).unwrap();
            let (below, above) = ((value - interval.lower) / error, (interval.upper - value) / error);
            assert!((below - 1.96).abs() < 0.15 && (above - 1.96).abs() < 0.15, "{target:?} {below} {above}");
        }
        // The end of the level's interval: the best distribution through it has a deviance of 3.841.
        let interval = profile(&series, &found, GumbelTarget::ReturnLevel(100.0), 0.95).unwrap();
        let c = -(-(0.99f64).ln()).ln();
        let through = |level: f64| {
            (-4000..4000)
                .map(|i| {
                    let scale = found.scale * (f64::from(i) * 1e-4).exp();
                    let distribution = Gev { location: level - scale * c, scale, shape: 0.0 };
                    -values.iter().map(|x| distribution.ln_pdf(*x)).sum::<f64>()
                })
                .fold(f64::INFINITY, f64::min)
        };
        for end in [interval.lower, interval.upper] {
            let deviance = 2.0 * (through(end) - found.negative_log_likelihood);
            assert!((deviance - 3.8415).abs() < 1e-3, "{deviance}");
        }
    }
}
