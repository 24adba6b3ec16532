//! Each rank of a row alone.

use serde::Serialize;

use crate::columns::{Stream, Totals};
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
    /// Bytes of those that succeeded by it; 0 of no time.
    pub bytes_per_second: f64,
    /// Operations under way on average.
    pub achieved_depth: f64,
    /// Quantiles of its timings, in seconds; `None` where all failed. Of batches, of one operation each, where they are
    /// equally large.
    pub quantiles_seconds: Option<Quantiles>,
}

/// What the streams of one rank came to in so many picoseconds of wall time.
pub(crate) fn of(streams: &[Stream], wall_ps: i64) -> RankResult {
    let totals = Totals::of(streams);
    let wall = wall_ps as f64 * 1e-12;
    let by_wall = |amount: f64| if wall > 0.0 { amount / wall } else { 0.0 };
    let mut sorted: Vec<u64> = Vec::new();
    if totals.batch().is_some() {
        sorted.reserve_exact(totals.timings as usize);
        let good = streams.iter().flat_map(Stream::timings).filter(|timing| !timing.failed);
        sorted.extend(good.map(|timing| timing.duration_ps));
        radsort::sort(&mut sorted);
    }
    let batch = totals.batch().unwrap_or(1) as f64;
    RankResult {
        rank: streams.first().map_or(0, |stream| stream.rank),
        operations: totals.operations,
        errors: streams.iter().map(|stream| stream.failures().len() as u64).sum(),
        bytes: totals.bytes,
        wall_seconds: wall,
        operations_per_second: by_wall(totals.operations as f64),
        bytes_per_second: by_wall(totals.good_bytes as f64),
        achieved_depth: by_wall(totals.time_ps as f64 * 1e-12),
        quantiles_seconds: Quantiles::of_sorted(&sorted, |ps| ps as f64 * 1e-12 / batch),
    }
}
