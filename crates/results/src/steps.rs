//! Steps: what the slowest rank took at each pass of a block where ranks meet.

use serde::Serialize;

use crate::columns::{Stream, Timing};
use crate::interval::QuantileInterval;
use crate::quantiles::Quantiles;
use crate::summary::of_values;

/// The n-th timing of every rank is one step; it takes as long as its slowest rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Steps {
    /// Steps that every rank finished without an error.
    pub count: u64,
    /// Steps left out because a rank failed in them.
    pub failed: u64,
    /// Steps left out because not every rank reached them.
    pub unfinished: u64,
    /// Quantiles of the time of a step, in seconds.
    pub quantiles_seconds: Option<Quantiles>,
    /// Their intervals.
    pub intervals: Vec<QuantileInterval>,
    /// Whether a step counts from the moment at which it was due, since one began late under `rate`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_schedule: bool,
}

impl Steps {
    /// Of streams sorted by rank; `None` of none.
    pub(crate) fn of(streams: &[Stream]) -> Option<Steps> {
        let of_ranks: Vec<Vec<Timing>> = streams
            .chunk_by(|a, b| a.rank == b.rank)
            .map(|of_rank| {
                let mut timings: Vec<Timing> = of_rank.iter().flat_map(Stream::timings).collect();
                if of_rank.len() > 1 {
                    // Stable: of those that began together the first in the program.
                    timings.sort_by_key(|timing| timing.start_ns);
                }
                timings
            })
            .collect();
        let reached = of_ranks.iter().map(Vec::len).min()?;
        let longest = of_ranks.iter().map(Vec::len).max()?;
        let from_schedule = streams.iter().any(Stream::is_late);
        let waited = |timing: &Timing| if from_schedule { timing.late_ns as f64 * 1e-9 } else { 0.0 };
        let each = |timing: &Timing| waited(timing) + timing.duration_ps as f64 * 1e-12 / timing.batch as f64;
        let values: Vec<f64> = (0..reached)
            .filter(|step| of_ranks.iter().all(|timings| !timings[*step].failed))
            .map(|step| of_ranks.iter().map(|timings| each(&timings[step])).fold(0.0, f64::max))
            .collect();
        let (quantiles_seconds, intervals) = of_values(&values);
        Some(Steps {
            count: values.len() as u64,
            failed: (reached - values.len()) as u64,
            unfinished: (longest - reached) as u64,
            quantiles_seconds,
            intervals,
            from_schedule,
        })
    }
}
