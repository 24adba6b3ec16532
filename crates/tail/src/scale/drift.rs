//! Fits a shape that drifts with the number of parts.
//!
//! Maxima of m parts come close to their limiting distribution slowly, with a shape that drifts on the way (penultimate
//! approximation: Cohen 1982; Smith 1987): ξ(m) = a + b / ln m. Scale and location follow from it by
//! max-stability with the shape of each size: d ln σ / d ln m = g ξ, d μ / d ln m = g σ. With b = 0 this is
//! F_0^((m / m0)^g).

use serde::{Deserialize, Serialize};

use crate::kernel::{self, At};
use crate::newton::{Newton, Objective};
use crate::{Gev, gev, linalg, special};

/// The fit with a drifting shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeDrift {
    /// Shape in the limit of many parts, a.
    pub limit: f64,
    /// Its standard error.
    pub limit_error: Option<f64>,
    /// The difference of the shape from the limit, times ln m: b.
    pub slope: f64,
    /// Its standard error.
    pub slope_error: Option<f64>,
    /// Exponent of dependence g, estimated with the drift.
    pub exponent: f64,
    /// Distribution at the smallest size.
    #[serde(rename = "law")]
    pub distribution: Gev,
    /// The smallest size.
    pub smallest: f64,
    /// p-value of b = 0 (likelihood ratio, one degree of freedom).
    pub p: f64,
    /// p-value of this model against separate fits of each size.
    pub p_model: f64,
    /// (size, shape by the model) at the sizes measured.
    pub shapes: Vec<(f64, f64)>,
    /// Covariance of (location, ln scale, a, b, g); `None` if the maximum is not interior.
    pub covariance: Option<[[f64; 5]; 5]>,
}

impl ShapeDrift {
    /// Whether the drift is significant, so that predictions use it: p below 5%.
    pub fn is_clear(&self) -> bool {
        self.p < 0.05
    }

    /// The distribution of the slowest of `m` parts (at least 2).
    pub fn distribution_at(&self, m: f64) -> Gev {
        self.distribution_of(&self.parameters(), m)
    }

    /// The quantile of the slowest of `m` parts, with its standard error by the delta method.
    pub fn quantile(&self, m: f64, probability: f64) -> (f64, Option<f64>) {
        let at = self.parameters();
        let value = self.distribution_of(&at, m).quantile(probability);
        let gradient: [f64; 5] = std::array::from_fn(|k| {
            let step = if k == 0 { 1e-5 * self.distribution.scale } else { 1e-5 };
            let (mut up, mut down) = (at, at);
            up[k] += step;
            down[k] -= step;
            let [high, low] = [up, down].map(|at| self.distribution_of(&at, m).quantile(probability));
            (high - low) / (2.0 * step)
        });
        let variance = self.covariance.map(|v| linalg::quadratic(v.as_flattened(), &gradient));
        (value, variance.filter(|v| *v >= 0.0).map(f64::sqrt))
    }

    fn parameters(&self) -> [f64; 5] {
        [self.distribution.location, self.distribution.scale.ln(), self.limit, self.slope, self.exponent]
    }

    fn distribution_of(&self, at: &[f64; 5], m: f64) -> Gev {
        let [mu, phi, shape] = path(at, self.smallest.ln(), m.max(1.5).ln());
        Gev { location: mu, scale: phi.exp(), shape }
    }
}

/// (location, ln scale, shape) at ln m = `to` of the parameters (location and ln scale at ln m = `from`, a, b, g).
fn path([mu, phi, a, b, g]: &[f64; 5], from: f64, to: f64) -> [f64; 3] {
    let ln_scale = |l: f64| phi + g * (a * (l - from) + b * (l / from).ln());
    // μ by Simpson's rule; the scale is smooth in ln m.
    const PANELS: usize = 32;
    let step = (to - from) / PANELS as f64;
    let sum: f64 = (0..=PANELS)
        .map(|i| {
            let weight = match i {
                0 | PANELS => 1.0,
                i if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * ln_scale(from + step * i as f64).exp()
        })
        .sum();
    [mu + g * sum * step / 3.0, ln_scale(to), a + b / to]
}

/// Samples at several sizes, standardised: (ln m, values), smallest first.
struct Drifting<'a> {
    rows: &'a [(f64, Vec<f64>)],
}

impl Objective for Drifting<'_> {
    fn size(&self) -> usize {
        5
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let Some((value, first)) = self.gradient(at) else { return f64::INFINITY };
        gradient.copy_from_slice(&first);
        // Second derivatives by differences of the analytic gradient.
        const STEP: f64 = 1e-5;
        let mut matrix = [[0.0; 5]; 5];
        for (k, row) in matrix.iter_mut().enumerate() {
            let (mut up, mut down) = (at.to_vec(), at.to_vec());
            up[k] += STEP;
            down[k] -= STEP;
            let (Some((_, high)), Some((_, low))) = (self.gradient(&up), self.gradient(&down)) else {
                return f64::INFINITY;
            };
            for (slot, (h, l)) in row.iter_mut().zip(high.iter().zip(&low)) {
                *slot = (h - l) / (2.0 * STEP);
            }
        }
        for i in 0..5 {
            for j in 0..5 {
                hessian[5 * i + j] = 0.5 * (matrix[i][j] + matrix[j][i]);
            }
        }
        value
    }
}

impl Drifting<'_> {
    /// Value and gradient: that of each size by its own location, scale and shape, through the path.
    fn gradient(&self, at: &[f64]) -> Option<(f64, [f64; 5])> {
        let at: [f64; 5] = at.try_into().ok()?;
        let from = self.rows[0].0;
        let mut value = 0.0;
        let mut total = [0.0; 5];
        for (ln_size, values) in self.rows {
            let own = path(&at, from, *ln_size);
            if own[2] <= -1.0 || own[2] >= gev::SHAPE_MAX || !own[0].is_finite() {
                return None;
            }
            let terms = kernel::sum(values, &At::new(own[0], own[1], own[2]), 1.0, 1.0)?;
            value += terms.value;
            for (k, slot) in total.iter_mut().enumerate() {
                let (mut up, mut down) = (at, at);
                let step = 1e-6;
                up[k] += step;
                down[k] -= step;
                let (high, low) = (path(&up, from, *ln_size), path(&down, from, *ln_size));
                for part in 0..3 {
                    *slot += terms.gradient[part] * (high[part] - low[part]) / (2.0 * step);
                }
            }
        }
        value.is_finite().then_some((value, total))
    }
}

/// The fit without drift, all standardised.
pub(super) struct WithoutDrift {
    /// Location, ln scale, shape, exponent.
    pub at: [f64; 4],
    /// Its negative log-likelihood.
    pub value: f64,
    /// The negative log-likelihood of separate fits of each size.
    pub separate: f64,
}

/// Fit the drift to standardised samples of at least three sizes, all above one part.
pub(super) fn fit(
    sizes: &[f64],
    samples: &[Vec<f64>],
    (center, spread): (f64, f64),
    without: &WithoutDrift,
) -> Option<ShapeDrift> {
    let &WithoutDrift { at: start, value: constant, separate } = without;
    let smallest = *sizes.first()?;
    if sizes.len() < 3 || smallest < 2.0 {
        return None;
    }
    let rows: Vec<(f64, Vec<f64>)> =
        sizes.iter().zip(samples).map(|(m, values)| (m.ln(), values.clone())).collect();
    let count: usize = samples.iter().map(Vec::len).sum();
    let objective = Drifting { rows: &rows };
    let mut newton = Newton::new(5);
    let [m, phi, shape, exponent] = start;
    // The gradient is accurate to about 1e-9 of its terms, so the tolerance is larger than that of the
    // analytic fits.
    let outcome = newton.minimize(&objective, &[m, phi, shape, 0.0, exponent], 1e-8 * count as f64, 0);
    if !outcome.value.is_finite() || outcome.value > constant + 1e-6 * count as f64 {
        return None;
    }
    let at: [f64; 5] = newton.at.clone().try_into().ok()?;
    let inverse = linalg::inverse(&newton.hessian, 5);
    let units = [spread, 1.0, 1.0, 1.0, 1.0];
    let covariance = inverse
        .map(|v| -> [[f64; 5]; 5] {
            std::array::from_fn(|i| std::array::from_fn(|j| v[5 * i + j] * units[i] * units[j]))
        })
        .filter(|v| (0..5).all(|k| v[k][k] > 0.0));
    let error = |k: usize| covariance.map(|v| v[k][k].sqrt());
    let test = |ratio: f64, freedom: f64| special::chi_square_survival((2.0 * ratio).max(0.0), freedom);
    let first = path(&at, smallest.ln(), smallest.ln());
    Some(ShapeDrift {
        limit: at[2],
        limit_error: error(2),
        slope: at[3],
        slope_error: error(3),
        exponent: at[4],
        distribution: Gev {
            location: center + spread * first[0],
            scale: spread * first[1].exp(),
            shape: first[2],
        },
        smallest,
        p: test(constant - outcome.value, 1.0),
        p_model: test(outcome.value - separate, 3.0 * sizes.len() as f64 - 5.0),
        shapes: sizes.iter().map(|&m| (m, at[2] + at[3] / m.ln())).collect(),
        covariance,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_drift_the_path_is_that_of_powers() {
        let distribution = Gev { location: 10.0, scale: 0.5, shape: 0.1 };
        let at = [distribution.location, distribution.scale.ln(), distribution.shape, 0.0, 0.7];
        let [mu, phi, shape] = path(&at, 4f64.ln(), 256f64.ln());
        let power = distribution.max_of(64f64.powf(0.7));
        assert!((mu - power.location).abs() < 1e-7 && (phi.exp() - power.scale).abs() < 1e-12);
        assert_eq!(shape, 0.1);
    }
}
