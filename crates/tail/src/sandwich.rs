//! Computes standard errors under dependence: V = H⁻¹ J H⁻¹ with J a long-run variance.

use serde::{Deserialize, Serialize};

use crate::gev::{GevFit, Parameters};
use crate::kernel;
use crate::{Error, linalg};

/// Covariance under dependence, and its inflation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sandwich {
    /// Covariance of (location, scale, shape).
    pub covariance: [[f64; 3]; 3],
    /// Standard errors.
    pub standard_errors: Parameters,
    /// Lags used by the Bartlett weights.
    pub bandwidth: usize,
    /// Variance here over variance as if independent, for location, scale, shape.
    pub inflation: Parameters,
}

/// Derivatives of the log-likelihood of each value by (location / scale, ln scale, shape), in the order of
/// the values. Values outside the fitted support give zeros.
pub fn scores(values: &[f64], fit: &GevFit) -> Vec<[f64; 3]> {
    let rate = 1.0 / fit.scale;
    let at = kernel::At::standard(fit.shape);
    values
        .iter()
        .map(|x| {
            let z = ((x - fit.center) - fit.location_offset) * rate;
            kernel::row(z, &at, 1.0, 1.0).map_or([0.0; 3], |t| t.gradient.map(|g| -g))
        })
        .collect()
}

/// Sandwich covariance with Bartlett weights (Newey, West 1987); the bandwidth by Andrews' AR(1) rule (1991)
/// unless given. `values` in time order, as they were fitted.
///
/// # Errors
/// [`Error::NotConverged`] when the fit has no interior maximum, [`Error::Lengths`] when the values are not
/// those of the fit.
pub fn sandwich(values: &[f64], fit: &GevFit, bandwidth: Option<usize>) -> Result<Sandwich, Error> {
    let finite: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
    if finite.len() != fit.n {
        return Err(Error::Lengths { what: "values and fit", left: finite.len(), right: fit.n });
    }
    let Some(curvature) = fit.curvature else {
        return Err(Error::NotConverged { model: "sandwich" });
    };
    // In units of the scale.
    let units = [fit.scale, fit.scale, 1.0];
    let inverse: Vec<f64> =
        (0..9).map(|at| curvature[at / 3][at % 3] / (units[at / 3] * units[at % 3])).collect();
    let scores = scores(&finite, fit);
    let bandwidth = bandwidth.unwrap_or_else(|| andrews(&scores)).min(fit.n.saturating_sub(1));
    let meat = long_run(&scores, bandwidth);
    let standard = linalg::congruence(&inverse, &meat, 3);
    let covariance: [[f64; 3]; 3] =
        std::array::from_fn(|i| std::array::from_fn(|j| standard[3 * i + j] * units[i] * units[j]));
    let part = |f: &dyn Fn(usize) -> f64| Parameters { location: f(0), scale: f(1), shape: f(2) };
    Ok(Sandwich {
        covariance,
        standard_errors: part(&|i| covariance[i][i].max(0.0).sqrt()),
        bandwidth,
        inflation: part(&|i| covariance[i][i] / curvature[i][i]),
    })
}

/// Σ over lags of the Bartlett-weighted cross products of scores.
fn long_run(scores: &[[f64; 3]], bandwidth: usize) -> Vec<f64> {
    let mut sum = vec![0.0; 9];
    for lag in 0..=bandwidth {
        let weight = 1.0 - lag as f64 / (bandwidth as f64 + 1.0);
        for (a, b) in scores[lag..].iter().zip(scores) {
            for i in 0..3 {
                for j in 0..3 {
                    let product = weight * a[i] * b[j];
                    sum[3 * i + j] += product;
                    if lag > 0 {
                        sum[3 * j + i] += product;
                    }
                }
            }
        }
    }
    sum
}

/// Andrews' bandwidth for Bartlett weights: 1.1447 (α n)^(1/3), α from an AR(1) in each standardised score.
fn andrews(scores: &[[f64; 3]]) -> usize {
    let n = scores.len() as f64;
    let (mut above, mut below) = (0.0, 0.0);
    for i in 0..3 {
        let variance: f64 = scores.iter().map(|s| s[i] * s[i]).sum();
        let cross: f64 = scores.windows(2).map(|w| w[0][i] * w[1][i]).sum();
        if variance > 0.0 {
            let rho = (cross / variance).clamp(-0.97, 0.97);
            // Innovation variances are equal after standardising each score by its own variance.
            let innovation = (1.0 - rho * rho).powi(2);
            above += 4.0 * rho * rho * innovation / ((1.0 - rho).powi(6) * (1.0 + rho).powi(2));
            below += innovation / (1.0 - rho).powi(4);
        }
    }
    let alpha = if below > 0.0 { above / below } else { 0.0 };
    (1.1447 * (alpha * n).cbrt()).floor() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Xoshiro, gev, special};

    /// GEV values whose normal scores follow an AR(1).
    fn dependent(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let distribution = Gev::new(11.0, 0.2, 0.0).unwrap();
        let mut random = Xoshiro::new(seed);
        let mut state = random.normal();
        (0..n)
            .map(|_| {
                state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
                distribution.quantile(special::normal_cdf(state))
            })
            .collect()
    }

    #[test]
    fn errors_grow_by_the_known_factor_under_autocorrelation() {
        let values = dependent(40_000, 0.4, 1);
        let fit = gev::fit(&values).unwrap();
        let sandwich = sandwich(&values, &fit, None).unwrap();
        // The true standard deviation is 1.41 times the naive error at phi = 0.4.
        assert!((sandwich.inflation.location.sqrt() - 1.41).abs() < 0.1, "{sandwich:?}");
    }

    #[test]
    fn independent_values_keep_their_errors_and_size() {
        let values = dependent(20_000, 0.0, 2);
        let fit = gev::fit(&values).unwrap();
        let sandwich = sandwich(&values, &fit, None).unwrap();
        for inflation in [sandwich.inflation.location, sandwich.inflation.scale, sandwich.inflation.shape] {
            assert!((inflation - 1.0).abs() < 0.12, "{sandwich:?}");
        }
    }

    #[test]
    fn other_values_than_the_fitted_are_refused() {
        let values = dependent(50, 0.0, 4);
        let fit = gev::fit(&values).unwrap();
        assert!(sandwich(&values[1..], &fit, None).is_err());
    }
}
