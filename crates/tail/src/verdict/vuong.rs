//! Compares two models fitted to the same values (Vuong 1989).

use serde::{Deserialize, Serialize};

use crate::special::normal_two_sided;

/// Vuong's comparison of two fits to the same values (Vuong 1989) with a Newey-West variance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Vuong {
    /// Σ d / (ω √n), d = ln f₁ - ln f₂ value by value: well above 0 the first model is preferred, well below
    /// 0 the second ([`super::Levels`]).
    pub z: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Mean of d.
    pub mean: f64,
    /// ω, the long-run standard deviation of d.
    pub deviation: f64,
}

/// The preferred one of two models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// The GEV.
    Gev,
    /// The rival.
    Rival,
    /// Neither.
    Neither,
}

/// Compare by the log-densities under both fits, in time order. `None` if a density is 0 at some value or the
/// two models are equal everywhere.
pub fn vuong(first: &[f64], second: &[f64]) -> Option<Vuong> {
    let n = first.len().min(second.len());
    if n < 2 {
        return None;
    }
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let size = n as f64;
    let mean = differences.iter().sum::<f64>() / size;
    if !mean.is_finite() {
        return None;
    }
    let variance = long_run_variance(&differences, mean);
    let noise = 1e-20 * (1.0 + mean * mean);
    if variance.is_nan() || variance <= noise {
        return None;
    }
    let deviation = variance.sqrt();
    let z = mean * size.sqrt() / deviation;
    Some(Vuong { z, p: normal_two_sided(z), mean, deviation })
}

/// Newey-West variance with Bartlett weights and bandwidth 4 (n / 100)^(2/9) (Newey, West 1987, 1994); the
/// plain variance where that is larger, so that random negative autocorrelation does not strengthen the
/// evidence.
pub fn long_run_variance(values: &[f64], mean: f64) -> f64 {
    let n = values.len();
    let size = n as f64;
    let centred: Vec<f64> = values.iter().map(|x| x - mean).collect();
    let covariance = |lag: usize| centred[lag..].iter().zip(&centred).map(|(a, b)| a * b).sum::<f64>() / size;
    let plain = covariance(0);
    let bandwidth = ((4.0 * (size / 100.0).powf(2.0 / 9.0)).floor() as usize).min(n.saturating_sub(1));
    let weighted = (1..=bandwidth)
        .map(|lag| 2.0 * (1.0 - lag as f64 / (bandwidth as f64 + 1.0)) * covariance(lag))
        .sum::<f64>();
    plain.max(plain + weighted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_models_cannot_be_compared() {
        assert!(vuong(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]).is_none());
        assert!(vuong(&[1.0, 2.0], &[f64::NEG_INFINITY, 2.0]).is_none());
    }

    #[test]
    fn the_sign_names_the_better_model_and_swaps() {
        let better: Vec<f64> = (0..100).map(|i| f64::from(i % 7)).collect();
        let worse: Vec<f64> = better.iter().enumerate().map(|(i, x)| x - 0.5 - (i % 2) as f64).collect();
        let one = vuong(&better, &worse).unwrap();
        let other = vuong(&worse, &better).unwrap();
        assert!(one.z > 2.0);
        assert!((one.z + other.z).abs() < 1e-12);
    }
}
