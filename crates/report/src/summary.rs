//! Summarises durations in nine numbers.

use serde::Serialize;

/// Count, mean, quantiles and extremes of some durations, in their unit (seconds in a run).
///
/// Quantiles are those of `results`: values that were measured, of rank ⌈p·n⌉. With 400 values there is no p99.9.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation (n - 1); 0 of one value.
    pub deviation: f64,
    /// Smallest value.
    pub min: f64,
    /// 50% quantile.
    pub median: f64,
    /// 90% quantile.
    pub p90: f64,
    /// 99% quantile, from 100 values on.
    pub p99: Option<f64>,
    /// 99.9% quantile, from 1000 values on.
    pub p999: Option<f64>,
    /// Largest value.
    pub max: f64,
}

impl Summary {
    /// The summary of `values`, none where there is no value. Values must be finite.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Summary::of_sorted(&sorted)
    }

    /// The same of ascending values.
    pub fn of_sorted(sorted: &[f64]) -> Option<Summary> {
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let n = sorted.len();
        // Around the minimum, so that nearly equal values lose no digits.
        let mean = min + sorted.iter().map(|value| value - min).sum::<f64>() / n as f64;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Summary {
            n,
            mean,
            deviation: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
            min,
            median: quantile(sorted, 0.5),
            p90: quantile(sorted, 0.9),
            p99: (n >= 100).then(|| quantile(sorted, 0.99)),
            p999: (n >= 1000).then(|| quantile(sorted, 0.999)),
            max,
        })
    }
}

/// The `p` quantile of ascending values: that of rank ⌈p·n⌉, as everywhere in the results of a run; NaN of none.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    samples::quantile_rank(sorted.len(), p).map_or(f64::NAN, |at| sorted[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_results() {
        for n in [1_usize, 2, 7, 10, 99, 100, 101, 999, 1_000, 2_345, 10_000] {
            let values: Vec<f64> = (0..n).map(|at| (at as f64).sqrt()).collect();
            let found = Summary::of(&values).unwrap();
            let (wanted, _) = results::of_values(&values);
            let wanted = wanted.unwrap();
            assert_eq!((found.median, found.p99, found.p999), (wanted.p50, wanted.p99, wanted.p999), "{n}");
            assert!(wanted.p90.is_none_or(|p90| p90 == found.p90), "{n}");
        }
    }

    #[test]
    fn a_quantile_that_the_sample_cannot_carry_is_left_out() {
        let values: Vec<f64> = (0..400).map(f64::from).collect();
        let summary = Summary::of(&values).unwrap();
        assert_eq!((summary.n, summary.median, summary.p999), (400, 199.0, None));
        assert!(summary.p99.is_some());
        assert_eq!(Summary::of(&[]), None);
    }
}
