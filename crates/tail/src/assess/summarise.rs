//! Summarises values without a model.

use serde::{Deserialize, Serialize};

use crate::series::measured_quantile;
use crate::special;

/// Minimum to maximum, with intervals that assume only independence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleSummary {
    /// Number of values.
    pub n: usize,
    /// Smallest value.
    pub minimum: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation (divisor n - 1).
    pub sd: f64,
    /// Median, 90% and 99% quantile.
    pub quantiles: Vec<QuantileEstimate>,
    /// Largest value.
    pub maximum: f64,
}

impl SampleSummary {
    /// The quantile of probability `p`, where it was computed.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        self.quantiles.iter().find(|q| q.probability == p).map(|q| q.value)
    }
}

/// A sample quantile with its distribution-free interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QuantileEstimate {
    /// The probability.
    pub probability: f64,
    /// The sample quantile: the value of rank ⌈p·n⌉.
    pub value: f64,
    /// Lower end; `None` if no order statistic reaches the coverage.
    pub lower: Option<f64>,
    /// Upper end; `None` if no order statistic reaches the coverage (few values, far quantile).
    pub upper: Option<f64>,
}

/// Summarise ascending values; `level` is the coverage of the quantile intervals.
pub fn summarise(sorted: &[f64], level: f64) -> SampleSummary {
    let n = sorted.len();
    let size = n as f64;
    let (first, last) = match sorted {
        [] => (f64::NAN, f64::NAN),
        [first, .., last] => (*first, *last),
        [only] => (*only, *only),
    };
    let mean = first + sorted.iter().map(|x| x - first).sum::<f64>() / size;
    let square: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
    let quantiles = [0.5, 0.9, 0.99]
        .into_iter()
        .map(|p| {
            let (low, high) = quantile_interval(n, p, level);
            QuantileEstimate {
                probability: p,
                value: measured_quantile(sorted, p),
                lower: low.map(|i| sorted[i]),
                upper: high.map(|i| sorted[i]),
            }
        })
        .collect();
    SampleSummary { n, minimum: first, mean, sd: (square / (size - 1.0)).sqrt(), quantiles, maximum: last }
}

/// Indices, from 0, of the order statistics that enclose the `p`-quantile of `n` independent values with at
/// least the coverage `level`, half of the error on each side (binomial; David, Nagaraja 2003, 7.1). `None`
/// if even the extreme value does not reach it.
pub fn quantile_interval(n: usize, p: f64, level: f64) -> (Option<usize>, Option<usize>) {
    let tail = 0.5 * (1.0 - level);
    // P(X_(r) > quantile) = P(Binomial(n, p) < r) = P(B <= r - 1), r from 1.
    let at_most = |k: usize| -> f64 {
        if k >= n { 1.0 } else { special::incomplete_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p).0 }
    };
    // Largest r with P(B <= r - 1) <= tail.
    let lower = if n == 0 || at_most(0) > tail {
        None
    } else {
        let (mut good, mut bad) = (0usize, n);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if at_most(middle) <= tail { good = middle } else { bad = middle }
        }
        Some(good)
    };
    // Smallest s with P(B >= s) <= tail, that is P(B <= s - 1) >= 1 - tail.
    let upper = if n == 0 || at_most(n - 1) < 1.0 - tail {
        None
    } else {
        let (mut good, mut bad) = (n - 1, -1isize);
        while good as isize - bad > 1 {
            let middle = (bad + (good as isize - bad) / 2) as usize;
            if at_most(middle) >= 1.0 - tail { good = middle } else { bad = middle as isize }
        }
        Some(good)
    };
    (lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_ten_lies_between_the_second_and_the_ninth() {
        // Textbook: coverage of (X(2), X(9)) is 0.978.
        assert_eq!(quantile_interval(10, 0.5, 0.95), (Some(1), Some(8)));
    }

    #[test]
    fn a_far_quantile_of_few_values_has_no_upper_end() {
        let (lower, upper) = quantile_interval(50, 0.99, 0.95);
        assert!(lower.is_some() && upper.is_none());
        assert_eq!(quantile_interval(0, 0.5, 0.95), (None, None));
    }
}
