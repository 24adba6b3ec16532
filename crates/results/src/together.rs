//! Rates of the time in which all ranks work: what one rank does before the others have begun, or after the first is
//! through, is no part of what they do together.

use serde::Serialize;

use crate::columns::Stream;
use crate::timeline::{Pass, PassFinder, Timeline};

/// What was done while all ranks were at work: in each pass from the last of their first begins to the first of their last
/// ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Together {
    /// How long that was, over all passes.
    pub seconds: f64,
    /// Bytes of successful operations in it; of an operation that lies partly in it, the share of its time.
    pub bytes: f64,
    /// Successful operations in it, counted in the same way.
    pub operations: f64,
    /// Bytes by the time.
    pub bytes_per_second: f64,
    /// Operations by the time.
    pub operations_per_second: f64,
}

/// When the operations of one rank began and ended in one pass.
#[derive(Clone, Copy)]
struct AtWork {
    begin: i64,
    end: i64,
}

impl Together {
    /// Of streams sorted by rank, in passes that every rank took part in; `None` of fewer than two ranks and where there is
    /// no such time. `passes_of` gives the passes of a rank; paced operations
    /// of no rank took less than `paced` picoseconds.
    pub(crate) fn of<'a>(
        streams: &[Stream],
        timeline: &Timeline,
        passes_of: impl Fn(u32) -> &'a [Pass],
        paced: i64,
    ) -> Option<Together> {
        let ranks = streams.chunk_by(|a, b| a.rank == b.rank).count();
        if ranks < 2 {
            return None;
        }
        let windows = windows(streams, timeline, &passes_of);
        let time: i64 = windows.iter().flatten().map(|window| window.end - window.begin).sum();
        if time <= 0 {
            return None;
        }
        let (mut operations, mut bytes) = (0.0, 0.0);
        for stream in streams {
            let mut finder = PassFinder::new(passes_of(stream.rank));
            for timing in stream.timings() {
                let Some(window) = windows.get(finder.find(timing.start_ns)).copied().flatten() else {
                    continue;
                };
                let place = timeline.place(stream.rank, &timing);
                let within = place.end().min(window.end) - place.begin().max(window.begin);
                let share = within.max(0) as f64 / place.length().max(1) as f64;
                if !timing.failed {
                    operations += share * timing.batch as f64;
                    bytes += share * timing.bytes as f64;
                }
            }
        }
        let seconds = time.max(paced) as f64 * 1e-12;
        Some(Together {
            seconds,
            bytes,
            operations,
            bytes_per_second: bytes / seconds,
            operations_per_second: operations / seconds,
        })
    }
}

/// By the number of the pass, the time in which all ranks were at work; nothing where a rank took no part, or was through
/// before another began.
fn windows<'a>(
    streams: &[Stream],
    timeline: &Timeline,
    passes_of: &impl Fn(u32) -> &'a [Pass],
) -> Vec<Option<AtWork>> {
    let mut all: Option<Vec<Option<AtWork>>> = None;
    for of_rank in streams.chunk_by(|a, b| a.rank == b.rank) {
        let mut own: Vec<Option<AtWork>> = Vec::new();
        for stream in of_rank {
            let mut finder = PassFinder::new(passes_of(stream.rank));
            for timing in stream.timings() {
                let pass = finder.find(timing.start_ns);
                if own.len() <= pass {
                    own.resize(pass + 1, None);
                }
                let place = timeline.place(stream.rank, &timing);
                let known = own[pass].get_or_insert(AtWork { begin: place.begin(), end: place.end() });
                known.begin = known.begin.min(place.begin());
                known.end = known.end.max(place.end());
            }
        }
        all = Some(match all {
            None => own,
            Some(known) => known.into_iter().zip(own).map(|(a, b)| both(a?, b?)).collect(),
        });
    }
    all.unwrap_or_default()
}

/// The time in which both were at work.
fn both(a: AtWork, b: AtWork) -> Option<AtWork> {
    let both = AtWork { begin: a.begin.max(b.begin), end: a.end.min(b.end) };
    (both.begin < both.end).then_some(both)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use samples::{Facts, Run, Sample, Site, SiteKind};

    use crate::row::ResultRow;
    use crate::rows::of_run;

    fn pass(rank: u32, start_ns: u64, ns: u64, bytes: u64) -> Sample {
        Sample { rank, start_ns, duration_ps: ns * 1_000, bytes, batch: 1, ..Sample::default() }
    }

    fn row(samples: Vec<Sample>) -> ResultRow {
        let sites = vec![Site { operation: "stream".into(), kind: SiteKind::Operation, ..Site::default() }];
        of_run(&Run { facts: Facts::default(), sites, samples }).swap_remove(0)
    }

    /// Passes of a rank, one behind the other, each so long.
    fn of_rank(rank: u32, start_ns: u64, ns: u64, count: u64) -> impl Iterator<Item = Sample> {
        (0..count).map(move |n| pass(rank, start_ns + n * ns, ns, 32_768))
    }

    #[test]
    fn ranks_that_start_apart_count_only_while_both_work() {
        // Twenty passes of 1 µs by each, 10 µs apart: by the wall 30 µs, together 10.
        let found = row(of_rank(0, 0, 1_000, 20).chain(of_rank(1, 10_000, 1_000, 20)).collect());
        let together = found.together.expect("10 µs");
        assert!((together.seconds - 10e-6).abs() < 1e-15 && (together.bytes - 20.0 * 32_768.0).abs() < 1e-6);
        assert!((together.bytes_per_second / (2.0 * 32_768.0 / 1e-6) - 1.0).abs() < 1e-9);
        assert!(found.bytes_per_second.expect("a rate") < 0.7 * together.bytes_per_second);
        // 600 µs apart, they never work at the same time: there is no sum.
        let found = row(of_rank(0, 0, 1_000, 20).chain(of_rank(1, 600_000, 1_000, 20)).collect());
        assert_eq!(found.together, None);
        assert_eq!(row(of_rank(0, 0, 1_000, 20).collect()).together, None);
    }

    proptest! {
        /// Each rank repeats passes of its own length without a pause: whatever the start offsets, the rate is the sum of
        /// the rates of the ranks.
        #[test]
        fn the_rate_of_steady_ranks_is_the_sum_of_theirs(
            ranks in prop::collection::vec((0_u64..600_000, 500_u64..50_000), 2..6)
        ) {
            const LEAST: u64 = 2_000_000;
            let samples = ranks.iter().zip(0..).flat_map(|((start, each), rank)| {
                of_rank(rank, *start, *each, LEAST.div_ceil(*each))
            });
            let found = row(samples.collect()).together.expect("more than a millisecond");
            let wanted: f64 = ranks.iter().map(|(_, each)| 32_768.0 / (*each as f64 * 1e-9)).sum();
            prop_assert!((found.bytes_per_second / wanted - 1.0).abs() < 1e-6);
            prop_assert!(found.seconds >= (LEAST - 600_000) as f64 * 1e-9);
        }
    }
}
