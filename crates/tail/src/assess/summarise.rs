//! Summarises values without a model.

use serde::{Deserialize, Serialize};

use crate::enclosed::InOrder;
use crate::series::{Series, measured_quantile};

/// Minimum to maximum, with intervals that assume no distribution and allow for dependence.
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
    /// Upper end; `None` if too few values lie beyond.
    pub upper: Option<f64>,
}

/// Summarises values in the order in which they came; `level` is the coverage of the quantile intervals.
pub fn summarise(series: &Series, level: f64) -> SampleSummary {
    let sorted = series.sorted();
    let n = sorted.len();
    let size = n as f64;
    let (first, last) = match sorted {
        [] => (f64::NAN, f64::NAN),
        [first, .., last] => (*first, *last),
        [only] => (*only, *only),
    };
    let mean = first + sorted.iter().map(|x| x - first).sum::<f64>() / size;
    let square: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
    let order = InOrder::of(series.values(), series.takers(), sorted);
    let quantiles = [0.5, 0.9, 0.99]
        .into_iter()
        .map(|p| {
            let value = measured_quantile(sorted, p);
            let found = (n > 0).then(|| order.enclosed(n, (p, value), level));
            let end = |at: Option<usize>| at.map(|at| sorted[at]);
            QuantileEstimate {
                probability: p,
                value,
                lower: end(found.and_then(|found| found.lower)),
                upper: end(found.and_then(|found| found.upper)),
            }
        })
        .collect();
    SampleSummary { n, minimum: first, mean, sd: (square / (size - 1.0)).sqrt(), quantiles, maximum: last }
}
