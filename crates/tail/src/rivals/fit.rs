//! Fits the rival families by maximum likelihood.
//!
//! A shifted family is its unshifted one at each trial distance `d` of the shift below the smallest value;
//! the distance is then found by a scan for the best interior minimum and Brent's method. (The likelihood of
//! the shifted families is unbounded as d goes to 0, so the interior maximum is the estimate; Hill 1963, Smith
//! 1985.) Everything is computed from `u = x - min` and `ln(1 + u / d)`, which is accurate even if the best
//! shift diverges to the family's limit.

use serde::{Deserialize, Serialize};

use crate::grouped::Grouped;
use crate::newton::{Newton, Objective, brent_minimum};
use crate::rivals::{Distribution, Family, sums};
use crate::special::{LN_SQRT_2PI, ln_minus_digamma, stirling_error, trigamma};
use crate::{Error, Series, Status, gev, lagged};

/// A fitted rival.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RivalFit {
    /// The fitted distribution.
    #[serde(rename = "law")]
    pub distribution: Distribution,
    /// Values used.
    pub n: usize,
    /// Negative log-likelihood, in the unit of the data.
    pub negative_log_likelihood: f64,
    /// Ok, or boundary if the best shift is a limit of the family (normal, exponential, ...).
    pub status: Status,
}

impl RivalFit {
    /// Akaike's criterion.
    pub fn aic(&self) -> f64 {
        2.0 * (self.negative_log_likelihood + self.distribution.family.size() as f64)
    }

    /// Schwarz's criterion.
    pub fn bic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + self.distribution.family.size() as f64 * (self.n as f64).ln()
    }
}

/// Fits every family whose support contains the data.
///
/// # Errors
/// As [`fit`] if no family can be fitted: too few, too few distinct values.
pub fn fit_all(series: &Series) -> Result<Vec<RivalFit>, Error> {
    series.require(5, 4)?;
    let prepared = Prepared::of(series);
    Ok(Family::ALL.into_iter().filter_map(|family| prepared.fit(family).ok()).collect())
}

/// Fits one family by maximum likelihood.
///
/// # Errors
/// As [`crate::gev::fit`], and [`Error::Support`] if the data are outside of the family's support.
pub fn fit(series: &Series, family: Family) -> Result<RivalFit, Error> {
    series.require(5, 4)?;
    Prepared::of(series).fit(family)
}

/// A series of at least four different values as every family is fitted to it.
pub(crate) struct Prepared<'a> {
    sorted: &'a [f64],
    spread: f64,
    sample: Sample,
}

impl<'a> Prepared<'a> {
    /// Groups very many values.
    pub fn of(series: &'a Series) -> Self {
        let (center, spread) = gev::standardisation(series.sorted());
        Self::in_groups(series, spread, Grouped::of(series.sorted(), center, spread).as_ref())
    }

    /// With the groups of the values and their interquartile range.
    pub fn in_groups(series: &'a Series, spread: f64, groups: Option<&Grouped>) -> Self {
        let sorted = series.sorted();
        Self { sorted, spread, sample: Sample::of(sorted, groups, spread) }
    }

    /// Fits one family, as [`fit`].
    pub fn fit(&self, family: Family) -> Result<RivalFit, Error> {
        let Prepared { sorted, spread, ref sample } = *self;
        let n = sorted.len();
        let least = sorted[0];
        if family == Family::Normal {
            let mean = lagged::mean(sorted);
            let sd = (lagged::products(sorted, mean, 0, 1)[0] / n as f64).sqrt();
            let distribution = Distribution { family, shift: 0.0, a: mean, b: sd };
            let nll = n as f64 * (sd.ln() + 0.5 + LN_SQRT_2PI);
            return Ok(RivalFit { distribution, n, negative_log_likelihood: nll, status: Status::Ok });
        }
        let (d, inner, status) = if family.shifted() {
            shifted(family, sample)
        } else {
            if least <= 0.0 {
                return Err(Error::Support { model: family.name(), needs: "positive values" });
            }
            let d = least / spread;
            (d, at_distance(family, sample, d), Status::Ok)
        };
        if !inner.nll.is_finite() {
            return Err(Error::NotConverged { model: family.name() });
        }
        let shift = if family.shifted() { least - spread * d } else { 0.0 };
        let (a, b) = match family {
            Family::LogNormal | Family::LogNormal3 => (inner.a + spread.ln(), inner.b),
            _ => (inner.a, inner.b * spread),
        };
        let negative_log_likelihood = inner.nll + n as f64 * spread.ln();
        Ok(RivalFit {
            distribution: Distribution { family, shift, a, b },
            n,
            negative_log_likelihood,
            status,
        })
    }
}

/// Standardised distances from the minimum, ascending, and the number of values each represents.
struct Sample {
    u: Vec<f64>,
    weights: Vec<f64>,
    /// Total number of values.
    n: f64,
}

impl Sample {
    /// Of the groups, where there are some, which does not change the maximum.
    fn of(sorted: &[f64], groups: Option<&Grouped>, spread: f64) -> Sample {
        let n = sorted.len() as f64;
        let standard = |x: &f64| (x - sorted[0]) / spread;
        match groups {
            Some(groups) => {
                let u = groups.points.iter().map(standard).collect();
                Sample { u, weights: groups.weights.clone(), n }
            }
            None => Sample { u: sorted.iter().map(standard).collect(), weights: vec![1.0; sorted.len()], n },
        }
    }

    /// Of many values fewer, whose likelihood has about the same minima: the least ones, which tell the shift, and of the others
    /// one for each of so many.
    fn thinned(&self) -> Option<Sample> {
        const MANY: usize = 20_000;
        const LEAST: usize = 500;
        const OTHERS: usize = 2000;
        if self.u.len() <= MANY {
            return None;
        }
        let (mut u, mut weights) = (self.u[..LEAST].to_vec(), self.weights[..LEAST].to_vec());
        let stride = (self.u.len() - LEAST).div_ceil(OTHERS);
        let others = self.u[LEAST..].chunks(stride).zip(self.weights[LEAST..].chunks(stride));
        for (block, of_block) in others {
            u.push(block[block.len() / 2]);
            weights.push(of_block.iter().sum());
        }
        Some(Sample { u, weights, n: self.n })
    }

    fn sum(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.u.iter().zip(&self.weights).map(|(u, w)| w * of(*u)).sum()
    }
}

/// The two inner parameters and the likelihood at a fixed shift, in standardised units.
#[derive(Debug, Clone, Copy)]
struct Inner {
    a: f64,
    b: f64,
    nll: f64,
}

/// The best distance of the shift below the minimum.
fn shifted(family: Family, sample: &Sample) -> (f64, Inner, Status) {
    match sample.thinned() {
        Some(thinned) => shifted_near(family, sample, &thinned),
        None => shifted_near(family, sample, sample),
    }
}

/// The same, where the likelihood of `scanned` tells which minimum is the best one.
fn shifted_near(family: Family, sample: &Sample, scanned: &Sample) -> (f64, Inner, Status) {
    let farthest: f64 = if family == Family::LogNormal3 { 1e8 } else { 1e6 };
    let (low, high) = (1e-4f64.ln(), farthest.ln());
    let steps = 60;
    let step = (high - low) / f64::from(steps);
    let grid: Vec<f64> = (0..=steps).map(|i| low + step * f64::from(i)).collect();
    let values: Vec<f64> = grid.iter().map(|t| at_distance(family, scanned, t.exp()).nll).collect();
    let dip = (1..grid.len() - 1)
        .filter(|&i| values[i] <= values[i - 1] && values[i] <= values[i + 1] && values[i].is_finite())
        .min_by(|&i, &j| values[i].total_cmp(&values[j]));
    let far = at_distance(family, sample, farthest);
    if let Some(i) = dip {
        let wide = if scanned.u.len() < sample.u.len() { 2.0 * step } else { step };
        let f = |t: f64| at_distance(family, sample, t.exp()).nll;
        let (t, _) = brent_minimum(f, grid[i] - wide, grid[i] + wide, 1e-8);
        let inner = at_distance(family, sample, t.exp());
        if inner.nll <= far.nll {
            return (t.exp(), inner, Status::Ok);
        }
    }
    // No minimum: the family's limit at a large distance, or for shapes below 1 the exponential from the
    // minimum on.
    if matches!(family, Family::Gamma3 | Family::Weibull3) {
        let mean = sample.sum(|u| u) / sample.n;
        let nll = sample.n * (1.0 + mean.ln());
        if nll < far.nll {
            return (0.0, Inner { a: 1.0, b: mean, nll }, Status::Boundary);
        }
    }
    (farthest, far, Status::Boundary)
}

/// The best inner parameters with the shift at distance `d` below the minimum, for `x - shift = d + u`.
fn at_distance(family: Family, sample: &Sample, d: f64) -> Inner {
    let n = sample.n;
    let weights = &sample.weights;
    let v = sums::log_excesses(&sample.u, d);
    let (mean, sd) = sums::mean_sd(&v, weights, n);
    let mean_log = d.ln() + mean;
    match family {
        Family::Normal | Family::LogNormal | Family::LogNormal3 => {
            Inner { a: mean_log, b: sd, nll: n * (sd.ln() + 0.5 + LN_SQRT_2PI + mean_log) }
        }
        Family::Gamma | Family::Gamma3 => {
            let excess = sample.sum(|u| u) / n / d;
            // ln of the mean less the mean of the logarithms.
            let gap = excess.ln_1p() - mean;
            let shape = gamma_shape(gap);
            let per_value = -0.5 * shape.ln() + LN_SQRT_2PI + stirling_error(shape) + shape * gap + mean_log;
            Inner { a: shape, b: d * (1.0 + excess) / shape, nll: n * per_value }
        }
        Family::Weibull | Family::Weibull3 => {
            let top = v[v.len() - 1];
            let (shape, mean_power) = weibull_shape(&v, weights, n, mean, sd);
            let ln_power = shape * top + mean_power.ln();
            let scale = d * (ln_power / shape).exp();
            Inner { a: shape, b: scale, nll: n * (1.0 - shape.ln() + ln_power - shape * mean + mean_log) }
        }
        Family::LogLogistic3 => {
            let z: Vec<f64> = v.iter().map(|v| (v - mean) / sd).collect();
            let mut newton = Newton::new(2);
            let start = [0.0, -(std::f64::consts::PI / 3f64.sqrt()).ln()];
            let outcome = newton.minimize(&Logistic { z: &z, weights }, &start, 1e-12 * n, 1);
            let scale = sd * newton.at[1].exp();
            let nll = outcome.value + n * (sd.ln() + mean_log);
            Inner { a: 1.0 / scale, b: (mean_log + sd * newton.at[0]).exp(), nll }
        }
    }
}

/// The k of ln k - ψ(k) = gap, by Newton in ln k.
fn gamma_shape(gap: f64) -> f64 {
    if gap <= 0.0 || !gap.is_finite() {
        return f64::NAN;
    }
    // Minka 2002.
    let mut k = (3.0 - gap + ((gap - 3.0).powi(2) + 24.0 * gap).sqrt()) / (12.0 * gap);
    for _ in 0..50 {
        let off = ln_minus_digamma(k) - gap;
        // d/d(ln k) of ln k - ψ(k) is 1 - k ψ'(k); for large k its series is -1/(2k).
        let slope = if k > 1e4 { -0.5 / k - 1.0 / (6.0 * k * k) } else { 1.0 - k * trigamma(k) };
        let step = (off / slope).clamp(-2.0, 2.0);
        k *= (-step).exp();
        if step.abs() < 1e-14 {
            break;
        }
    }
    k
}

/// The Weibull shape for logarithms `v` (ascending), and the mean of exp(shape (v - max)).
fn weibull_shape(v: &[f64], weights: &[f64], n: f64, mean: f64, sd: f64) -> (f64, f64) {
    let sums = |k: f64| sums::power_sums(v, weights, k, mean);
    let mut k = 1.2825 / sd;
    for _ in 0..100 {
        let [s0, s1, s2] = sums(k);
        let off = s1 / s0 - 1.0 / k;
        let slope = k * (s2 / s0 - (s1 / s0).powi(2)) + 1.0 / k;
        let step = (off / slope).clamp(-1.0, 1.0);
        k *= (-step).exp();
        if step.abs() < 1e-14 {
            break;
        }
    }
    (k, sums(k)[0] / n)
}

/// Logistic distribution of standardised values, in location and ln scale.
struct Logistic<'a> {
    z: &'a [f64],
    weights: &'a [f64],
}

impl Objective for Logistic<'_> {
    fn size(&self) -> usize {
        2
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [value, g0, g1, h00, h01, h11] = sums::logistic_sums(self.z, self.weights, at[0], at[1]);
        gradient.copy_from_slice(&[g0, g1]);
        hessian.copy_from_slice(&[h00, h01, h01, h11]);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Xoshiro};

    #[test]
    fn of_many_values_fewer_find_the_same_minimum() {
        let mut random = Xoshiro::new(77);
        for (shape, digits) in [(-0.4, 0.0), (-0.1, 0.0), (-0.1, 50.0), (0.35, 0.0)] {
            let distribution = Gev { location: 10.0, scale: 1.0, shape };
            let drawn = (0..20_001).map(|_| distribution.sample(&mut random));
            let values: Vec<f64> =
                drawn.map(|x| if digits > 0.0 { (x * digits).round() / digits } else { x }).collect();
            let series = Series::clean(&values);
            let Prepared { sample, .. } = Prepared::of(&series);
            for family in Family::ALL.into_iter().filter(|family| family.shifted()) {
                let (_, quick, _) = shifted(family, &sample);
                let (_, exact, _) = shifted_near(family, &sample, &sample);
                assert!(
                    (quick.nll - exact.nll).abs() < 0.01,
                    "{shape} {digits} {family:?}: {quick:?} {exact:?}"
                );
            }
        }
    }
}
