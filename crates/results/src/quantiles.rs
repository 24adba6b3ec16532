//! Quantiles of durations, of values or of a histogram.

use samples::Counted;
use serde::{Deserialize, Serialize};

/// Quantiles: that of probability p is the value of rank ⌈p·n⌉; `None` where there are fewer than 1/(1-p) values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The smallest.
    pub min: f64,
    /// 50%.
    pub p50: f64,
    /// 90%.
    pub p90: Option<f64>,
    /// 99%.
    pub p99: Option<f64>,
    /// 99.9%.
    pub p999: Option<f64>,
    /// 99.99%.
    pub p9999: Option<f64>,
    /// The largest.
    pub max: f64,
}

impl Quantiles {
    /// Of ascending values, each shown by `value`; `None` of none.
    pub(crate) fn of_sorted(sorted: &[u64], value: impl Fn(u64) -> f64) -> Option<Quantiles> {
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let n = sorted.len();
        let at = |p: f64| samples::quantile_rank(n, p).map(|rank| value(sorted[rank]));
        let beyond = |one_in: usize| at(1.0 - 1.0 / one_in as f64).filter(|_| n >= one_in);
        Some(Quantiles {
            min: value(min),
            p50: at(0.5)?,
            p90: beyond(10),
            p99: beyond(100),
            p999: beyond(1_000),
            p9999: beyond(10_000),
            max: value(max),
        })
    }

    /// Of a histogram, within its error.
    pub(crate) fn of_counted(counted: &Counted) -> Option<Quantiles> {
        let n = counted.histogram.count();
        let beyond = |one_in: u64| (n >= one_in).then(|| counted.quantile_s(1.0 - 1.0 / one_in as f64));
        (n > 0).then(|| Quantiles {
            min: counted.least_ps as f64 * 1e-12,
            p50: counted.quantile_s(0.5),
            p90: beyond(10),
            p99: beyond(100),
            p999: beyond(1_000),
            p9999: beyond(10_000),
            max: counted.most_ps as f64 * 1e-12,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_that_the_values_cannot_carry_is_none() {
        let values: Vec<u64> = (1..=100).collect();
        let found = Quantiles::of_sorted(&values, |value| value as f64).unwrap();
        assert_eq!((found.p50, found.p90, found.p99, found.p999), (50.0, Some(90.0), Some(99.0), None));
        assert_eq!(Quantiles::of_sorted(&[], |value| value as f64), None);
    }
}
