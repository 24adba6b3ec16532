//! Compares two samples without a parametric model.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::dependence::inflation;
use super::large::Large;
use super::quantile_ratio::QuantileRatio;
use super::sorted::{Sorted, hodges_lehmann};
use crate::series::sorted_quantile;
use crate::{Interval, Series, Xoshiro};

/// An estimate with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its interval: percentiles of a bootstrap, or without resampling for large samples.
    pub interval: Interval,
}

impl Estimate {
    /// Of a ratio of quantiles; an end that is open is 0 or infinite.
    pub(super) fn of_ratio(ratio: &QuantileRatio, level: f64) -> Estimate {
        let (lower, upper) = (ratio.lower.unwrap_or(0.0), ratio.upper.unwrap_or(f64::INFINITY));
        Estimate { value: ratio.value, interval: Interval::new(lower, upper, level) }
    }
}

fn by_bootstrap() -> bool {
    true
}

/// Estimates without a distribution: ratios, and the spread of a factor that varies from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Robust {
    /// Ratio of medians.
    pub median_ratio: Estimate,
    /// exp of the median of all differences of logarithms (Hodges, Lehmann 1963).
    pub hodges_lehmann: Estimate,
    /// Mean of ln k if k varies from run to run.
    pub mean_ln_k: Estimate,
    /// Var ln k = Var ln T(new) - Var ln T(baseline); negative where the new runs vary less.
    pub variance_ln_k: Estimate,
    /// How many values count as one in the intervals, in the baseline and in the new sample.
    pub blocks: [usize; 2],
    /// Whether intervals come from a bootstrap. From 10,000 values they come from order statistics and
    /// moments.
    #[serde(default = "by_bootstrap")]
    pub bootstrap: bool,
}

/// Total number of values from which intervals are computed without resampling.
const LARGE: usize = 10_000;

/// Model-free comparison of two positive series. A bootstrap draws as many values of each as count as independent. From
/// 10,000 values, intervals come from order statistics and moments with these numbers.
pub fn robust(baseline: &Series, new: &Series, level: f64, replicates: usize, seed: u64) -> Robust {
    let logs = |series: &Series| -> Vec<f64> { series.values().iter().map(|x| x.ln()).collect() };
    let ((x, one), (y, other)) =
        rayon::join(|| (logs(baseline), inflation_of(baseline)), || (logs(new), inflation_of(new)));
    let effective = [x.len() as f64 / one, y.len() as f64 / other];
    let by_formula = x.len() + y.len() >= LARGE;
    let [median, hodges, mean, variance] = if by_formula {
        formulas(&x, &y, effective, level)
    } else {
        bootstrapped(&x, &y, effective, level, (replicates, seed))
    };
    Robust {
        median_ratio: exponential(median),
        hodges_lehmann: exponential(hodges),
        mean_ln_k: mean,
        variance_ln_k: variance,
        blocks: [one, other].map(|factor| factor.round() as usize),
        bootstrap: !by_formula,
    }
}

/// How many values of the series tell as much of its level as one independent value.
pub(super) fn inflation_of(series: &Series) -> f64 {
    inflation(&crate::independence::ranks(series.values()), series.takers())
}

/// All four with percentile intervals of as many draws as count as independent (Bickel, Götze, van Zwet 1997). A replicate
/// does not depend on the number of threads.
fn bootstrapped(
    x: &[f64],
    y: &[f64],
    effective: [f64; 2],
    level: f64,
    (replicates, seed): (usize, u64),
) -> [Estimate; 4] {
    let here = statistics(&Sorted::of(x), &Sorted::of(y));
    let draws = effective.map(|size| (size.round() as usize).max(2));
    let drawn: Vec<[f64; 4]> = (0..replicates as u64)
        .into_par_iter()
        .map(|replicate| {
            let mut random = Xoshiro::stream(seed, replicate);
            let mut of = |from: &[f64], size: usize| -> Vec<f64> {
                (0..size).map(|_| from[random.below(from.len())]).collect()
            };
            let (x, y) = (of(x, draws[0]), of(y, draws[1]));
            statistics(&Sorted::of(&x), &Sorted::of(&y))
        })
        .collect();
    let tail = 0.5 * (1.0 - level);
    std::array::from_fn(|i| {
        let mut draws: Vec<f64> = drawn.iter().map(|one| one[i]).collect();
        draws.sort_unstable_by(f64::total_cmp);
        let (lower, upper) = (sorted_quantile(&draws, tail), sorted_quantile(&draws, 1.0 - tail));
        Estimate { value: here[i], interval: Interval::new(lower, upper, level) }
    })
}

/// All four with intervals without resampling.
fn formulas(x: &[f64], y: &[f64], effective: [f64; 2], level: f64) -> [Estimate; 4] {
    let (x, y) = rayon::join(|| Sorted::of(x), || Sorted::of(y));
    let [median, hodges, mean, variance] = statistics(&x, &y);
    let large = Large { x: &x, y: &y, effective, level };
    let estimate = |value, interval| Estimate { value, interval };
    [
        estimate(median, large.medians()),
        estimate(hodges, large.hodges_lehmann(hodges)),
        estimate(mean, large.means()),
        estimate(variance, large.variances()),
    ]
}

fn exponential(e: Estimate) -> Estimate {
    let interval = Interval::new(e.interval.lower.exp(), e.interval.upper.exp(), e.interval.level);
    Estimate { value: e.value.exp(), interval }
}

/// Statistics of logarithms: difference of medians, Hodges-Lehmann, difference of means, difference of
/// variances.
fn statistics(x: &Sorted, y: &Sorted) -> [f64; 4] {
    let (mx, my) = (x.moments(), y.moments());
    // The logarithm of the ratio of medians of the values themselves.
    let median = middle(&y.0).ln() - middle(&x.0).ln();
    [median, hodges_lehmann(&x.0, &y.0), my.mean - mx.mean, my.variance - mx.variance]
}

/// Median of the values whose ascending logarithms are given.
fn middle(logs: &[f64]) -> f64 {
    let n = logs.len();
    if n % 2 == 1 { logs[n / 2].exp() } else { 0.5 * (logs[n / 2 - 1].exp() + logs[n / 2].exp()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_and_bootstrap_agree() {
        let mut random = Xoshiro::new(3);
        let mut draw = |n, spread: f64, shift: f64| -> Vec<f64> {
            (0..n).map(|_| shift + spread * (random.normal() + 0.3 * random.exponential())).collect()
        };
        let (x, y) = (draw(1_500, 0.5, 0.0), draw(1_200, 0.8, 0.2));
        let drawn = bootstrapped(&x, &y, [1_500.0, 1_200.0], 0.95, (999, 1));
        let found = formulas(&x, &y, [1_500.0, 1_200.0], 0.95);
        for (one, other) in drawn.iter().zip(&found) {
            assert_eq!(one.value, other.value);
            let width = one.interval.upper - one.interval.lower;
            let apart =
                [one.interval.lower - other.interval.lower, one.interval.upper - other.interval.upper];
            assert!(apart.iter().all(|end| end.abs() < 0.15 * width), "{one:?} {other:?}");
        }
    }
}
