//! Each rank of a row alone.

use samples::Sample;
use serde::Serialize;

use crate::quantiles::Quantiles;
use crate::timeline::{Interval, Pass, Timeline, covered};
use crate::timing::{batch, sum};

/// What one rank came to, over its own wall time. Ranks do not add up to the row where they do not begin and end
/// together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankResult {
    /// The rank.
    pub rank: u32,
    /// Operations that succeeded.
    pub operations: u64,
    /// Timings that failed.
    pub errors: u64,
    /// Bytes as the calls returned them.
    pub bytes: u64,
    /// Its own wall time.
    pub wall_seconds: f64,
    /// Operations by it; 0 of no time.
    pub operations_per_second: f64,
    /// Bytes by it; 0 of no time.
    pub bytes_per_second: f64,
    /// Operations under way on average.
    pub achieved_depth: f64,
    /// Quantiles of its timings, in seconds; `None` where all failed. Of batches, of one operation each, where they are
    /// equally large.
    pub quantiles_seconds: Option<Quantiles>,
}

/// What each of `ranks` came to; samples, intervals and passes stand beside each other.
pub(crate) fn all(
    ranks: &[u32],
    samples: &[&Sample],
    intervals: &[Interval],
    passes: &[Pass],
) -> Vec<RankResult> {
    let mut of_rank: Vec<Vec<u32>> = vec![Vec::new(); ranks.len()];
    for (at, sample) in samples.iter().enumerate() {
        if let Ok(rank) = ranks.binary_search(&sample.rank) {
            of_rank[rank].push(at as u32);
        }
    }
    let one = |(rank, members): (&u32, Vec<u32>)| {
        let own = || members.iter().map(|at| samples[*at as usize]);
        let good = || own().filter(|sample| !sample.failed());
        let intervals: Vec<Interval> = members.iter().map(|at| intervals[*at as usize]).collect();
        let passes: Vec<Pass> = members.iter().map(|at| passes[*at as usize]).collect();
        let wall = covered(Timeline::passes(&intervals, &passes).into_values().collect()) as f64 * 1e-12;
        let by_wall = |amount: f64| if wall > 0.0 { amount / wall } else { 0.0 };
        let (operations, bytes) =
            (good().map(batch).sum::<u64>(), own().map(|sample| sample.bytes).sum::<u64>());
        let first = good().next().map_or(1, batch);
        let alike = good().all(|sample| batch(sample) == first);
        let mut sorted: Vec<u64> = good().filter(|_| alike).map(|sample| sample.duration_ps).collect();
        sorted.sort_unstable();
        RankResult {
            rank: *rank,
            operations,
            errors: own().filter(|sample| sample.failed()).count() as u64,
            bytes,
            wall_seconds: wall,
            operations_per_second: by_wall(operations as f64),
            bytes_per_second: by_wall(bytes as f64),
            achieved_depth: by_wall(sum(own())),
            quantiles_seconds: Quantiles::of_sorted(&sorted, |ps| ps as f64 * 1e-12 / first as f64),
        }
    };
    ranks.iter().zip(of_rank).map(one).collect()
}
