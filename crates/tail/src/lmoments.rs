//! Estimates distributions by L-moments (Hosking 1990), which are robust: starts for, and a check on, maximum
//! likelihood.

use serde::{Deserialize, Serialize};

use crate::gpd::Gpd;
use crate::{Error, Gev, Series};

const EULER: f64 = 0.577_215_664_901_532_9;

/// Sample L-moments.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LMoments {
    /// Mean.
    pub l1: f64,
    /// L-scale: half the expected difference of two values.
    pub l2: f64,
    /// L-skewness.
    pub t3: f64,
    /// L-kurtosis.
    pub t4: f64,
}

/// Unbiased sample L-moments of ascending values (Hosking, Wallis 1997, 2.59); at least 4 values.
///
/// # Errors
/// [`Error::TooFew`], [`Error::Constant`].
pub fn moments(series: &Series) -> Result<LMoments, Error> {
    series.require(4, 2)?;
    Ok(of_sorted(series.sorted()))
}

fn of_sorted(sorted: &[f64]) -> LMoments {
    let n = sorted.len() as f64;
    // Moments about the median avoid cancellation for a large offset.
    let center = sorted[sorted.len() / 2];
    let mut b = [0.0; 4];
    for (i, x) in sorted.iter().enumerate() {
        let i = i as f64;
        let mut weight = x - center;
        for (r, b) in b.iter_mut().enumerate() {
            *b += weight;
            let r = r as f64;
            weight *= (i - r) / (n - 1.0 - r);
        }
    }
    let b = b.map(|b| b / n);
    let l2 = 2.0 * b[1] - b[0];
    let l3 = 6.0 * b[2] - 6.0 * b[1] + b[0];
    let l4 = 20.0 * b[3] - 30.0 * b[2] + 12.0 * b[1] - b[0];
    LMoments { l1: center + b[0], l2, t3: l3 / l2, t4: l4 / l2 }
}

/// The GEV with these L-moments; the shape solved exactly rather than by Hosking's approximation of 1985.
///
/// # Errors
/// [`Error::NotConverged`] for an L-skewness no GEV of finite mean has.
pub fn gev(moments: &LMoments) -> Result<Gev, Error> {
    // t3 + 3 = 2 (1 - 3^-k) / (1 - 2^-k), decreasing in k = -shape.
    let skewness = |k: f64| {
        if k.abs() < 1e-6 {
            let (l2, l3) = (std::f64::consts::LN_2, 3f64.ln());
            return 2.0 * l3 / l2 * (1.0 - 0.5 * k * (l3 - l2)) - 3.0;
        }
        2.0 * (-k * 3f64.ln()).exp_m1() / (-k * std::f64::consts::LN_2).exp_m1() - 3.0
    };
    let (low, high) = (-1.0 + 1e-9, 30.0);
    let t3 = moments.t3;
    let (at_low, at_high) = (skewness(low) - t3, skewness(high) - t3);
    if !(at_low > 0.0 && at_high < 0.0) {
        return Err(Error::NotConverged { model: "L-moment GEV" });
    }
    let k = crate::newton::brent_root(|k| skewness(k) - t3, (low, at_low), (high, at_high), 1e-15);
    if k.abs() < 1e-9 {
        return Ok(gumbel(moments));
    }
    let gamma = libm::tgamma(1.0 + k);
    let scale = moments.l2 * k / (-(-k * std::f64::consts::LN_2).exp_m1() * gamma);
    Ok(Gev { location: moments.l1 - scale * (1.0 - gamma) / k, scale, shape: -k })
}

/// The Gumbel distribution with these L-moments.
pub fn gumbel(moments: &LMoments) -> Gev {
    let scale = moments.l2 / std::f64::consts::LN_2;
    Gev { location: moments.l1 - EULER * scale, scale, shape: 0.0 }
}

/// The GPD beyond `threshold` with the L-moments of the values above it.
///
/// # Errors
/// As [`moments`] for the exceedances.
pub fn gpd(series: &Series, threshold: f64) -> Result<Gpd, Error> {
    let sorted = series.sorted();
    let above = &sorted[sorted.partition_point(|&x| x <= threshold)..];
    if above.len() < 4 {
        return Err(Error::TooFew { found: above.len(), needed: 4 });
    }
    let m = of_sorted(above);
    if m.l2 <= 0.0 {
        return Err(Error::Constant { count: above.len(), value: above[0] });
    }
    let excess = m.l1 - threshold;
    let k = excess / m.l2 - 2.0;
    Ok(Gpd { threshold, scale: (1.0 + k) * excess, shape: -k })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn l_moments_of_four_numbers_are_the_textbook_ones() {
        let m = of_sorted(&[1.0, 2.0, 4.0, 9.0]);
        // l2: half the mean absolute difference of all pairs.
        assert!((m.l1 - 4.0).abs() < 1e-15 && (m.l2 - 0.5 * 26.0 / 6.0).abs() < 1e-14);
        // l3: mean over triples of (max - 2 mid + min) / 3.
        assert!((m.t3 * m.l2 - (1.0 + 6.0 + 2.0 + 3.0) / 12.0).abs() < 1e-14, "{m:?}");
    }

    #[test]
    fn estimators_find_the_distribution() {
        let mut random = Xoshiro::new(2);
        for shape in [-0.3, 0.0, 0.3] {
            let distribution = Gev::new(10.0, 2.0, shape).unwrap();
            let x: Vec<f64> = (0..50_000).map(|_| distribution.sample(&mut random)).collect();
            let found = gev(&moments(&Series::clean(&x)).unwrap()).unwrap();
            assert!((found.location - 10.0).abs() < 0.05 && (found.shape - shape).abs() < 0.03, "{found:?}");
            let distribution = Gpd { threshold: 1.0, scale: 2.0, shape };
            let x: Vec<f64> = (0..50_000).map(|_| distribution.sample(&mut random)).collect();
            let found = gpd(&Series::clean(&x), 1.0).unwrap();
            assert!((found.scale - 2.0).abs() < 0.06 && (found.shape - shape).abs() < 0.03, "{found:?}");
        }
    }
}
