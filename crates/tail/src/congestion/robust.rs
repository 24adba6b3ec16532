//! Compares two samples without a model.

use serde::{Deserialize, Serialize};

use crate::series::sorted_quantile;
use crate::{Interval, Series, Xoshiro};

/// An estimate with its bootstrap interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Percentile interval of a block bootstrap.
    pub interval: Interval,
}

/// What needs no law: ratios, and the spread of a factor that varies from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Robust {
    /// Ratio of medians.
    pub median_ratio: Estimate,
    /// exp of the median of all differences of logarithms (Hodges, Lehmann 1963).
    pub hodges_lehmann: Estimate,
    /// Mean of ln k, should k vary from run to run.
    pub mean_ln_k: Estimate,
    /// Var ln k = Var ln T(new) - Var ln T(quiet); negative where the new runs vary less.
    pub variance_ln_k: Estimate,
    /// Length of the bootstrap's blocks in the quiet and in the new sample.
    pub blocks: [usize; 2],
}

/// Model-free comparison of two positive series. Blocks are of length 1 for independent values.
pub fn robust(quiet: &Series, new: &Series, level: f64, replicates: usize, seed: u64) -> Robust {
    let logs = |series: &Series| -> Vec<f64> { series.values().iter().map(|x| x.ln()).collect() };
    let (x, y) = (logs(quiet), logs(new));
    let blocks = [block_of(quiet), block_of(new)];
    let here = statistics(&x, &y);
    let mut draws: [Vec<f64>; 4] = std::array::from_fn(|_| Vec::with_capacity(replicates));
    let (mut bx, mut by) = (Vec::with_capacity(x.len()), Vec::with_capacity(y.len()));
    for replicate in 0..replicates {
        let mut random = Xoshiro::stream(seed, replicate as u64);
        resample(&x, blocks[0], &mut random, &mut bx);
        resample(&y, blocks[1], &mut random, &mut by);
        for (all, one) in draws.iter_mut().zip(statistics(&bx, &by)) {
            all.push(one);
        }
    }
    let tail = 0.5 * (1.0 - level);
    let [median, hodges, mean, variance] = std::array::from_fn(|i| {
        draws[i].sort_unstable_by(f64::total_cmp);
        let (lower, upper) = (sorted_quantile(&draws[i], tail), sorted_quantile(&draws[i], 1.0 - tail));
        Estimate { value: here[i], interval: Interval::new(lower, upper, level) }
    });
    Robust {
        median_ratio: exponential(median),
        hodges_lehmann: exponential(hodges),
        mean_ln_k: mean,
        variance_ln_k: variance,
        blocks,
    }
}

fn exponential(e: Estimate) -> Estimate {
    let interval = Interval::new(e.interval.lower.exp(), e.interval.upper.exp(), e.interval.level);
    Estimate { value: e.value.exp(), interval }
}

/// Of logarithms: difference of medians, Hodges-Lehmann, difference of means, difference of variances.
fn statistics(x: &[f64], y: &[f64]) -> [f64; 4] {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mx, my) = (mean(x), mean(y));
    let variance =
        |v: &[f64], m: f64| v.iter().map(|a| (a - m).powi(2)).sum::<f64>() / (v.len() as f64 - 1.0).max(1.0);
    let sorted = |v: &[f64]| {
        let mut s = v.to_vec();
        s.sort_unstable_by(f64::total_cmp);
        s
    };
    let (sx, sy) = (sorted(x), sorted(y));
    // The logarithm of the ratio of medians of the values themselves.
    let median = middle(&sy).ln() - middle(&sx).ln();
    [median, hodges_lehmann(&sx, &sy), my - mx, variance(y, my) - variance(x, mx)]
}

/// Median of the values whose ascending logarithms are given.
fn middle(logs: &[f64]) -> f64 {
    let n = logs.len();
    if n % 2 == 1 { logs[n / 2].exp() } else { 0.5 * (logs[n / 2 - 1].exp() + logs[n / 2].exp()) }
}

/// Median of all y_j - x_i, by counting pairs in two ascending lists: O((n + m) log(1 / ε)).
pub fn hodges_lehmann(x: &[f64], y: &[f64]) -> f64 {
    let pairs = x.len() as u64 * y.len() as u64;
    if pairs == 0 {
        return f64::NAN;
    }
    // How many differences are at most d.
    let count = |d: f64| -> u64 {
        let mut j = 0;
        let mut total = 0u64;
        for &a in x {
            while j < y.len() && y[j] - a <= d {
                j += 1;
            }
            total += j as u64;
        }
        total
    };
    let order = |k: u64| -> f64 {
        let (mut low, mut high) = (y[0] - x[x.len() - 1], y[y.len() - 1] - x[0]);
        if count(low) >= k {
            return low;
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high || high - low < 1e-13 * (1.0 + high.abs()) {
                break;
            }
            if count(middle) >= k { high = middle } else { low = middle }
        }
        high
    };
    if pairs % 2 == 1 { order(pairs / 2 + 1) } else { 0.5 * (order(pairs / 2) + order(pairs / 2 + 1)) }
}

/// Length of bootstrap blocks: 1 for values that pass as independent.
fn block_of(series: &Series) -> usize {
    let n = series.len();
    let effective = crate::gev::effective_size(&crate::independence::ranks(series.values()));
    if effective > 0.95 * n as f64 { 1 } else { crate::bootstrap::block_length(n, effective) }
}

/// Circular moving-block resample (Künsch 1989; Politis, Romano 1992).
pub fn resample(from: &[f64], block: usize, random: &mut Xoshiro, to: &mut Vec<f64>) {
    to.clear();
    let n = from.len();
    while to.len() < n {
        let start = random.below(n);
        for offset in 0..block.min(n - to.len()) {
            to.push(from[(start + offset) % n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hodges_lehmann_is_the_median_of_all_differences() {
        let x = [0.0, 1.0, 5.0];
        let y = [2.0, 2.5, 9.0, 9.5];
        let mut all: Vec<f64> = y.iter().flat_map(|b| x.iter().map(move |a| b - a)).collect();
        all.sort_by(f64::total_cmp);
        let wanted = 0.5 * (all[5] + all[6]);
        assert!((hodges_lehmann(&x, &y) - wanted).abs() < 1e-9);
    }

    #[test]
    fn a_block_resample_keeps_neighbours_together() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let mut out = Vec::new();
        resample(&values, 10, &mut Xoshiro::new(1), &mut out);
        let steps =
            out.windows(2).filter(|w| (w[1] - w[0] - 1.0).abs() < 1e-9 || w[1] - w[0] < -98.5).count();
        assert_eq!(out.len(), 100);
        assert!(steps >= 90, "{steps}");
    }
}
