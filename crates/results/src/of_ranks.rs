//! Each rank of a row alone.

use serde::Serialize;

use crate::columns::Stream;
use crate::quantiles::Quantiles;

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

/// What the streams of one rank came to in so many picoseconds of wall time.
pub(crate) fn of(streams: &[Stream], wall_ps: i64) -> RankResult {
    let all = || streams.iter().flat_map(Stream::timings);
    let good = || all().filter(|timing| !timing.failed);
    let wall = wall_ps as f64 * 1e-12;
    let by_wall = |amount: f64| if wall > 0.0 { amount / wall } else { 0.0 };
    let operations: u64 = good().map(|timing| timing.batch).sum();
    let bytes: u64 = all().map(|timing| timing.bytes).sum();
    let time: u128 = all().map(|timing| u128::from(timing.duration_ps)).sum();
    let first = good().next().map_or(1, |timing| timing.batch);
    let alike = good().all(|timing| timing.batch == first);
    let mut sorted: Vec<u64> = good().filter(|_| alike).map(|timing| timing.duration_ps).collect();
    sorted.sort_unstable();
    RankResult {
        rank: streams.first().map_or(0, |stream| stream.rank),
        operations,
        errors: streams.iter().map(|stream| stream.failures().len() as u64).sum(),
        bytes,
        wall_seconds: wall,
        operations_per_second: by_wall(operations as f64),
        bytes_per_second: by_wall(bytes as f64),
        achieved_depth: by_wall(time as f64 * 1e-12),
        quantiles_seconds: Quantiles::of_sorted(&sorted, |ps| ps as f64 * 1e-12 / first as f64),
    }
}
