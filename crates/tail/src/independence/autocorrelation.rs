//! Autocorrelation and the Ljung-Box test.

use rayon::prelude::*;

use crate::special::chi_square_survival;

/// Autocorrelations at lags 1 ..= `lags`, about the common mean, divided by the sum of squares (divisor n).
/// Empty for constant values.
pub fn autocorrelations(values: &[f64], lags: usize) -> Vec<f64> {
    let n = values.len();
    if n < 2 {
        return Vec::new();
    }
    let first = values[0];
    let mean = first + values.iter().map(|x| x - first).sum::<f64>() / n as f64;
    let centred: Vec<f64> = values.iter().map(|x| x - mean).collect();
    let square: f64 = centred.iter().map(|x| x * x).sum();
    if square <= 0.0 || square.is_nan() {
        return Vec::new();
    }
    (1..=lags.min(n - 1))
        .map(|lag| centred[lag..].iter().zip(&centred).map(|(a, b)| a * b).sum::<f64>() / square)
        .collect()
}

/// Ljung-Box statistic Q = n (n + 2) Σ r_k² / (n - k) and its p-value, chi-square with as many degrees of
/// freedom as lags (Ljung, Box 1978).
pub fn ljung_box(values: &[f64], lags: usize) -> (f64, f64) {
    let n = values.len() as f64;
    let correlations = autocorrelations(values, lags);
    if correlations.is_empty() {
        return (0.0, 1.0);
    }
    let sum: f64 = correlations.iter().enumerate().map(|(k, r)| r * r / (n - 1.0 - k as f64)).sum();
    let statistic = n * (n + 2.0) * sum;
    (statistic, chi_square_survival(statistic, correlations.len() as f64))
}

/// Indices in ascending order of the values; equal values in their order. For up to 2³² values.
pub(crate) fn order(values: &[f64]) -> Vec<usize> {
    // The order of bits that is the order of numbers; sorted together with the places, without looking them up.
    let key = |x: f64| {
        let bits = x.to_bits();
        if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
    };
    let mut keyed: Vec<(u64, u32)> = values.iter().zip(0..).map(|(x, at)| (key(*x), at)).collect();
    keyed.par_sort_unstable();
    keyed.into_iter().map(|(_, at)| at as usize).collect()
}

/// Ranks from 1, ties sharing their mean rank.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let order = order(values);
    let mut out = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from + 1;
        while to < order.len() && values[order[to]] == values[order[from]] {
            to += 1;
        }
        let mean = 0.5 * (from + 1 + to) as f64;
        for &at in &order[from..to] {
            out[at] = mean;
        }
        from = to;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tied_values_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn alternating_values_are_anticorrelated() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        let r = autocorrelations(&values, 2);
        assert!(r[0] < -0.98 && r[1] > 0.97);
        assert!(ljung_box(&values, 2).1 < 1e-30);
        assert!(autocorrelations(&[2.0; 9], 3).is_empty());
    }
}
