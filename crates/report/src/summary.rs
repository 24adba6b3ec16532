//! Summarises durations in nine numbers.

use serde::Serialize;

/// Count, mean, quantiles and extremes of some durations, in their unit (seconds in a run).
///
/// Quantiles interpolate between order statistics (Hyndman, Fan 1996, type 7: the default of R and
/// pandas). One that fewer than ten values lie beyond is none: with 400 values a p99.9 would only
/// repeat the maximum.
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
    /// 50 % quantile.
    pub median: f64,
    /// 90 % quantile.
    pub p90: f64,
    /// 99 % quantile, from 100 values on.
    pub p99: Option<f64>,
    /// 99.9 % quantile, from 1000 values on.
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

/// The `p` quantile of ascending values, type 7; NaN of none.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_pandas() {
        // pandas.Series([1, 2, 4, 8]).quantile([.5, .9])
        assert_eq!(quantile(&[1.0, 2.0, 4.0, 8.0], 0.5), 3.0);
        assert!((quantile(&[1.0, 2.0, 4.0, 8.0], 0.9) - 6.8).abs() < 1e-12);
    }

    #[test]
    fn a_quantile_that_the_sample_cannot_carry_is_left_out() {
        let values: Vec<f64> = (0..400).map(f64::from).collect();
        let summary = Summary::of(&values).unwrap();
        assert_eq!((summary.n, summary.median, summary.p999), (400, 199.5, None));
        assert!(summary.p99.is_some());
        assert_eq!(Summary::of(&[]), None);
    }
}
