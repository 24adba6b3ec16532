//! Computes the standard normal distribution.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Error function.
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// Complementary error function, accurate far in the tail.
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// Distribution function of the standard normal.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// Density of the standard normal.
pub fn normal_pdf(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Quantile of the standard normal: a rational start (Acklam 2003) and two Halley steps on erfc.
/// NaN outside [0, 1].
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p == 1.0 {
        return f64::INFINITY;
    }
    if p > 0.5 {
        // 1 - p is exact here, and the lower tail keeps its digits.
        return -lower_normal_quantile(1.0 - p);
    }
    lower_normal_quantile(p)
}

/// Normal quantile of an upper tail probability, exact for tiny ones.
pub fn normal_upper_quantile(p: f64) -> f64 {
    -normal_quantile(p)
}

/// Two-sided tail probability P(|Z| > |z|) of the standard normal.
pub fn normal_two_sided(z: f64) -> f64 {
    erfc(z.abs() * FRAC_1_SQRT_2).min(1.0)
}

fn lower_normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.383_577_518_672_69e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 4] = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];
    let horner = |c: &[f64], x: f64| c.iter().fold(0.0, |s, k| s * x + k);
    let mut x = if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / (horner(&D, q) * q + 1.0)
    } else {
        let q = p - 0.5;
        let r = q * q;
        horner(&A, r) * q / (horner(&B, r) * r + 1.0)
    };
    for _ in 0..2 {
        // Halley in relative error, so that the far tail does not overflow or underflow.
        let cdf = normal_cdf(x);
        if cdf <= 0.0 {
            break;
        }
        let u = (cdf - p) / normal_pdf(x);
        if !u.is_finite() {
            break;
        }
        x -= u / (1.0 + 0.5 * x * u);
    }
    x
}
