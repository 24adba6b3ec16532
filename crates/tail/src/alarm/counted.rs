//! Computes thresholds by counting, without a distribution: their rates are exact for every distribution if runs are
//! exchangeable.
//!
//! Among n + 1 quiet runs, each is the largest with the same probability, so the r-th largest quiet run
//! is exceeded with probability r / (n + 1). Of n quiet runs and b more, the number of the b above the r-th
//! largest quiet one has a negative hypergeometric distribution: a block of b runs is slow if that number is
//! too improbable. Ties only make alarms rarer.

use serde::{Deserialize, Serialize};

use super::options::{AlarmOptions, SpikeThreshold};
use super::refusal::{NoDistribution, Refusal};
use crate::Series;
use crate::special::{beta_quantile, incomplete_beta, ln_gamma};

/// Thresholds that are counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedThresholds {
    /// Reason why no distribution is used.
    pub why: NoDistribution,
    /// Median of the quiet runs.
    pub median: f64,
    /// The quiet runs from the spike threshold up, ascending.
    pub largest: Vec<f64>,
    /// Number of runs of the stream that are judged together for the level.
    pub block: usize,
    /// Condition for a slow block: the number of runs above the limit's value.
    pub slow: BlockLimit,
    /// Condition for a fast block: the number of runs below it.
    pub fast: BlockLimit,
}

/// Condition under which a block of runs shows another level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockLimit {
    /// A run beyond this counts.
    pub value: f64,
    /// Number of runs in a block from which on it is an alarm.
    pub count: usize,
    /// False alarms per run: exact under exchangeability, at most half of 1 / `run_length`.
    pub rate: f64,
    /// The number that keeps the rate in 90% of baselines; `None` if not even a whole block does.
    pub guaranteed: Option<usize>,
}

impl BlockLimit {
    /// A level has recovered if at most this many runs of a block lie beyond: half, as of a quiet block, and what the error of
    /// the median of `quiet` runs makes of it. Nearer to the alarm, a level just beyond it would recover and be told anew, above
    /// all where the alarm is that of 90% of baselines.
    pub(super) fn recovered(&self, block: usize, quiet: usize) -> usize {
        let (runs, quiet) = (block as f64, quiet as f64);
        let error = 0.5 * runs / quiet.sqrt();
        ((0.5 * runs + error) as usize).min(self.count.saturating_sub(1))
    }
}

/// Lengths of blocks that are tried, shortest first.
const BLOCKS: [usize; 6] = [20, 30, 40, 60, 100, 200];
/// Share of baselines in which guaranteed thresholds keep their rate.
const KEPT: f64 = 0.9;

/// Spike threshold and limits of blocks from ascending quiet runs.
///
/// # Errors
/// [`Refusal::TooFewToCount`] if there are too few runs for the rates.
pub(super) fn thresholds(
    series: &Series,
    why: NoDistribution,
    options: &AlarmOptions,
) -> Result<(SpikeThreshold, CountedThresholds), Refusal> {
    let sorted = series.sorted();
    let n = sorted.len();
    let size = n as f64;
    let asked = options.false_alarms;
    let too_few = |rate: f64, needed: f64| {
        let why = why.clone();
        Refusal::TooFewToCount { why, runs: n, rate, needed }
    };
    let mut rank = (asked * (size + 1.0) * (1.0 + 1e-12)).floor() as usize;
    if rank == 0 && !options.relax {
        return Err(too_few(asked, (1.0 / asked).ceil() - 1.0));
    }
    rank = rank.clamp(1, n);
    let rate = rank as f64 / (size + 1.0);
    let stated = asked.max(rate);
    let kept = (1..=rank).rev().find(|&r| incomplete_beta(r as f64, size - r as f64 + 1.0, stated).0 >= KEPT);
    let value = sorted[n - rank];
    let spike = SpikeThreshold {
        value,
        false_alarms: stated,
        nominal: rate,
        rank: Some(value),
        rank_rate: Some(rate),
        guaranteed: kept.map_or(f64::NAN, |r| sorted[n - r]),
        plug_in: value,
    };
    let wanted = 0.5 / options.run_length;
    let half = n.div_ceil(2);
    let limit = |block: usize, value: f64| -> Option<BlockLimit> {
        let most = wanted * block as f64;
        let count = (1..=block).find(|&count| by_chance(n, half, block, count) <= most)?;
        let slowest = beta_quantile(half as f64, size - half as f64 + 1.0, KEPT);
        let binomial = |count: usize| incomplete_beta(count as f64, (block - count) as f64 + 1.0, slowest).0;
        let guaranteed = (count..=block).find(|&count| binomial(count) <= most);
        Some(BlockLimit { value, count, rate: by_chance(n, half, block, count) / block as f64, guaranteed })
    };
    let found = BLOCKS
        .iter()
        .find_map(|&block| Some((block, limit(block, sorted[n - half])?, limit(block, sorted[half - 1])?)));
    let Some((block, slow, fast)) = found else {
        return Err(too_few(wanted, f64::INFINITY));
    };
    let median = series.measured(0.5);
    let largest = sorted[n - rank..].to_vec();
    Ok((spike, CountedThresholds { why, median, largest, block, slow, fast }))
}

/// Probability that of `block` further runs at least `count` lie above the `rank`-th largest of `n` quiet
/// ones.
fn by_chance(n: usize, rank: usize, block: usize, count: usize) -> f64 {
    let choose = |n: usize, k: usize| -> f64 {
        ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0)
    };
    let all = choose(n + block, block);
    (count..=block)
        .map(|k| (choose(k + rank - 1, k) + choose(n - rank + block - k, block - k) - all).exp())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn the_chance_of_a_block_is_that_of_simulated_ones() {
        let (n, rank, block, count) = (60, 30, 20, 15);
        let samples = 20_000;
        let mut random = Xoshiro::new(7);
        let hits = (0..samples)
            .filter(|_| {
                let mut quiet: Vec<f64> = (0..n).map(|_| random.uniform()).collect();
                quiet.sort_by(f64::total_cmp);
                let limit = quiet[n - rank];
                (0..block).filter(|_| random.uniform() > limit).count() >= count
            })
            .count() as f64;
        let chance = by_chance(n, rank, block, count);
        let error = (chance * (1.0 - chance) / f64::from(samples)).sqrt();
        assert!((hits / f64::from(samples) - chance).abs() < 4.0 * error, "{hits} {chance}");
        assert!((by_chance(n, rank, block, 0) - 1.0).abs() < 1e-9);
    }
}
