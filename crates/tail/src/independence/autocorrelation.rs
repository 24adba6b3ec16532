//! Autocorrelation and the Ljung-Box test.

use crate::special::chi_square_survival;
use crate::{lagged, ordered};

/// Autocorrelations at lags 1 ..= `lags`, about the common mean, divided by the sum of squares (divisor n).
/// Empty for constant values.
pub fn autocorrelations(values: &[f64], lags: usize) -> Vec<f64> {
    let n = values.len();
    if n < 2 {
        return Vec::new();
    }
    let products = lagged::products(values, lagged::mean(values), 0, lags.min(n - 1) + 1);
    let square = products[0];
    if square <= 0.0 || square.is_nan() {
        return Vec::new();
    }
    products[1..].iter().map(|product| product / square).collect()
}

/// Ljung-Box statistic Q = n (n + 2) Σ r_k² / (n - k) and its p-value, chi-square with as many degrees of
/// freedom as lags (Ljung, Box 1978).
pub fn ljung_box(values: &[f64], lags: usize) -> (f64, f64) {
    let correlations = autocorrelations(values, lags);
    if correlations.is_empty() {
        return (0.0, 1.0);
    }
    let statistic = ljung_box_of(&correlations, values.len() as f64);
    (statistic, chi_square_survival(statistic, correlations.len() as f64))
}

/// The statistic of [`ljung_box`] from the autocorrelations of `n` values.
pub(super) fn ljung_box_of(correlations: &[f64], n: f64) -> f64 {
    let sum: f64 = correlations.iter().enumerate().map(|(k, r)| r * r / (n - 1.0 - k as f64)).sum();
    n * (n + 2.0) * sum
}

/// Ranks from 1, ties sharing their mean rank.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let (sorted, places) = ordered::with_places(values);
    ranks_of_sorted(&sorted, &places)
}

/// [`ranks`] of values of which the ascending ones and their places are known.
pub(crate) fn ranks_of_sorted(sorted: &[f64], places: &[u32]) -> Vec<f64> {
    let mut out = vec![0.0; sorted.len()];
    let mut from = 0;
    while from < sorted.len() {
        let mut to = from + 1;
        while to < sorted.len() && sorted[to] == sorted[from] {
            to += 1;
        }
        let mean = 0.5 * (from + 1 + to) as f64;
        for &at in &places[from..to] {
            out[at as usize] = mean;
        }
        from = to;
    }
    out
}

/// Fewer values than this have their own ranks in [`near_ranks`].
const MANY: usize = 50_000;
/// The largest share of the variance of ranks that [`near_ranks`] leave out.
const LOST: f64 = 1e-6;

/// Ranks that are good enough for autocorrelations: very many values that hardly differ count as tied. An autocorrelation
/// is smaller by a millionth of itself at most, and moves by about a thousandth of its standard error.
pub(super) fn near_ranks(mut values: Vec<f64>) -> Vec<f64> {
    if values.len() >= MANY && ordered::rank_by_cells(&mut values, LOST) { values } else { ranks(&values) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Xoshiro};

    #[test]
    fn near_ranks_have_the_autocorrelations_of_ranks_whatever_the_distribution() {
        let mut random = Xoshiro::new(23);
        for n in [MANY - 1, MANY, 200_000] {
            for (shape, memory, digits) in
                [(-0.8, 0.0, 0.0), (0.0, 0.6, 0.0), (0.9, 0.1, 0.0), (3.0, 0.0, 0.0), (0.1, 0.2, 20.0)]
            {
                let distribution = Gev { location: 10.0, scale: 1.0, shape };
                let mut before = 0.0;
                let next = |_| {
                    before = memory * before + distribution.sample(&mut random);
                    if digits > 0.0 { (before * digits).round() / digits } else { before }
                };
                let values: Vec<f64> = (0..n).map(next).collect();
                let (exact, near) = (ranks(&values), near_ranks(values));
                let distinct = |ranks: &[f64]| {
                    let mut ascending = ordered::ascending(ranks);
                    ascending.dedup();
                    ascending.len()
                };
                // The values of a coarse clock and of a distribution as heavy as this are too near together.
                let quick = n >= MANY && digits == 0.0 && shape < 1.0;
                assert_eq!(distinct(&near) < distinct(&exact), quick, "{n} {shape}");
                let noise = 1.0 / (n as f64).sqrt();
                for (a, b) in autocorrelations(&exact, 20).iter().zip(autocorrelations(&near, 20)) {
                    assert!((a - b).abs() < 5e-3 * noise + 1e-6 * a.abs(), "{n} {shape}: {a} {b}");
                }
            }
        }
    }

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
