//! Quantiles of durations, of values or of a histogram.

use samples::{Counted, CountedResponses, Histogram};
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

/// The fewest values with which a quantile has one: 100 for p99; the median is of any number.
pub fn values_for(probability: f64) -> u64 {
    if probability <= 0.5 { 1 } else { (1.0 / (1.0 - probability)).round() as u64 }
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

    /// Of a site that was counted, within the error of its histogram.
    pub(crate) fn of_counted(counted: &Counted) -> Option<Quantiles> {
        Self::of_histogram(&counted.histogram, counted.least_ps, counted.most_ps)
    }

    /// The same from the moments at which its operations were due; `None` where none began late.
    pub(crate) fn of_responses(counted: &Counted) -> Option<Quantiles> {
        let CountedResponses { histogram, most_ps } = counted.responses.as_ref()?;
        Self::of_histogram(histogram, histogram.quantile(0.0)?.max(counted.least_ps), *most_ps)
    }

    fn of_histogram(histogram: &Histogram, least_ps: u64, most_ps: u64) -> Option<Quantiles> {
        let n = histogram.count();
        let at = |q: f64| {
            let ps = histogram.quantile(q).unwrap_or(0);
            ps.clamp(least_ps, most_ps.max(least_ps)) as f64 * 1e-12
        };
        let beyond = |one_in: u64| (n >= one_in).then(|| at(1.0 - 1.0 / one_in as f64));
        (n > 0).then(|| Quantiles {
            min: least_ps as f64 * 1e-12,
            p50: at(0.5),
            p90: beyond(10),
            p99: beyond(100),
            p999: beyond(1_000),
            p9999: beyond(10_000),
            max: most_ps as f64 * 1e-12,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_needs_so_many_values() {
        assert_eq!([0.5, 0.9, 0.99, 0.999, 0.9999].map(values_for), [1, 10, 100, 1_000, 10_000]);
        for (at, p) in [0.9, 0.99, 0.999].into_iter().enumerate() {
            let of =
                |n: u64| Quantiles::of_sorted(&(0..n).collect::<Vec<_>>(), |value| value as f64).unwrap();
            let found = |n: u64| [of(n).p90, of(n).p99, of(n).p999][at];
            assert!(found(values_for(p)).is_some() && found(values_for(p) - 1).is_none(), "{p}");
        }
    }

    #[test]
    fn a_quantile_that_the_values_cannot_carry_is_none() {
        let values: Vec<u64> = (1..=100).collect();
        let found = Quantiles::of_sorted(&values, |value| value as f64).unwrap();
        assert_eq!((found.p50, found.p90, found.p99, found.p999), (50.0, Some(90.0), Some(99.0), None));
        assert_eq!(Quantiles::of_sorted(&[], |value| value as f64), None);
    }
}
