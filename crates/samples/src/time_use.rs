//! Splits each rank's wall time into operations, waiting for others, pauses, and the engine.

use serde::{Deserialize, Serialize};

use crate::{Run, Sample, SiteKind};

/// Interval in which one rank ran the program, in ns since the run's epoch on the rank's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSpan {
    /// The rank.
    pub rank: u32,
    /// Begin of its first statement.
    pub begin_ns: u64,
    /// When its last statement ends; 0 if the rank did not reach it.
    pub end_ns: u64,
    /// Pauses that the program requested: `sleep`, `think`, the gaps of `rate`.
    pub paused_ns: u64,
}

/// The wall time of one rank's program, in seconds: the four parts add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeUse {
    /// The rank.
    pub rank: u32,
    /// From the first statement to the end of the last.
    pub wall_s: f64,
    /// Time with at least one command in progress, including the wait for others in a collective transfer.
    pub operations_s: f64,
    /// Time at barriers while no command was in progress.
    pub waiting_s: f64,
    /// Pauses requested by the program.
    pub paused_s: f64,
    /// The rest: the engine's own work between operations, and time off the processor there.
    pub engine_s: f64,
}

/// Accounts for the wall time of every rank that has a [`RankSpan`] in the facts, or samples.
///
/// Operations that overlap (workers of `parallel`, `async`) count once. Starts are whole nanoseconds, so a
/// sample may count up to 1 ns too little. A killed rank is counted until its last sample.
pub fn time_use(run: &Run) -> Vec<TimeUse> {
    let mut chunks: std::collections::BTreeMap<u32, Vec<&[Sample]>> = Default::default();
    for span in &run.facts.spans {
        chunks.entry(span.rank).or_default();
    }
    for chunk in run.samples.chunk_by(|a, b| a.rank == b.rank) {
        chunks.entry(chunk[0].rank).or_default().push(chunk);
    }
    let kinds: Vec<SiteKind> = run.sites.iter().map(|site| site.kind).collect();
    let kind = |sample: &Sample| kinds.get(sample.site as usize).copied().unwrap_or_default();
    chunks
        .into_iter()
        .map(|(rank, chunks)| {
            let span = run.facts.spans.iter().find(|span| span.rank == rank).copied();
            of_rank(rank, span, chunks.into_iter().flatten(), kind)
        })
        .collect()
}

fn of_rank<'a>(
    rank: u32,
    span: Option<RankSpan>,
    samples: impl Iterator<Item = &'a Sample>,
    kind: impl Fn(&Sample) -> SiteKind,
) -> TimeUse {
    let mut intervals: Vec<(u64, u64, bool)> = samples
        .filter_map(|sample| {
            let waits = match kind(sample) {
                SiteKind::Operation => false,
                SiteKind::Barrier => true,
                _ => return None,
            };
            let begin = sample.start_ns.saturating_mul(1000);
            Some((begin, begin.saturating_add(sample.duration_ps), waits))
        })
        .collect();
    // Samples are grouped by site and mostly in order within each, which makes the stable sort fast.
    intervals.sort_by_key(|interval| interval.0);
    let last = intervals.iter().map(|interval| interval.1).max().unwrap_or(0);
    let first = intervals.first().map_or(0, |interval| interval.0);
    let begin = span.map_or(first, |span| span.begin_ns.saturating_mul(1000));
    let end = span.filter(|span| span.end_ns > 0).map_or(last, |span| span.end_ns.saturating_mul(1000));
    let (begin, end) = (begin, end.max(begin));
    let operations = covered(&intervals, begin, end, |waits| !waits);
    let either = covered(&intervals, begin, end, |_| true);
    let wall = end - begin;
    let paused = span.map_or(0, |span| span.paused_ns.saturating_mul(1000)).min(wall - either);
    let seconds = |ps: u64| ps as f64 * 1e-12;
    TimeUse {
        rank,
        wall_s: seconds(wall),
        operations_s: seconds(operations),
        waiting_s: seconds(either - operations),
        paused_s: seconds(paused),
        engine_s: seconds(wall - either - paused),
    }
}

/// Picoseconds of [begin, end) that the wanted intervals, sorted by start, cover.
fn covered(intervals: &[(u64, u64, bool)], begin: u64, end: u64, wanted: impl Fn(bool) -> bool) -> u64 {
    let (mut sum, mut until) = (0, begin);
    for (from, to, _) in intervals.iter().filter(|interval| wanted(interval.2)) {
        let (from, to) = ((*from).max(until), (*to).min(end));
        if to > from {
            sum += to - from;
            until = to;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Facts, Site};

    const OPERATION: u32 = 0;
    const BARRIER: u32 = 1;
    const BLOCK: u32 = 2;

    fn run(spans: Vec<RankSpan>, samples: Vec<Sample>) -> Run {
        let site = |kind| Site { kind, ..Site::default() };
        let sites = vec![site(SiteKind::Operation), site(SiteKind::Barrier), site(SiteKind::Time)];
        Run { facts: Facts { spans, ..Facts::default() }, sites, samples }
    }

    fn sample(rank: u32, site: u32, start_ns: u64, ns: u64) -> Sample {
        Sample { rank, site, start_ns, duration_ps: ns * 1000, batch: 1, ..Sample::default() }
    }

    fn nanoseconds(part: f64) -> u64 {
        (part * 1e9).round() as u64
    }

    #[test]
    fn operations_waiting_pauses_and_the_rest_add_up_to_the_wall_time() {
        let span = RankSpan { rank: 0, begin_ns: 100, end_ns: 1100, paused_ns: 200 };
        let samples =
            vec![sample(0, OPERATION, 150, 300), sample(0, BARRIER, 460, 240), sample(0, BLOCK, 140, 600)];
        let found = time_use(&run(vec![span], samples))[0];
        let parts = [found.operations_s, found.waiting_s, found.paused_s, found.engine_s, found.wall_s];
        assert_eq!(parts.map(nanoseconds), [300, 240, 200, 260, 1000]);
    }

    #[test]
    fn operations_at_the_same_time_count_once() {
        let span = RankSpan { rank: 0, begin_ns: 0, end_ns: 100, paused_ns: 0 };
        let samples =
            vec![sample(0, OPERATION, 10, 50), sample(0, OPERATION, 30, 50), sample(0, BARRIER, 70, 30)];
        let found = time_use(&run(vec![span], samples))[0];
        assert_eq!([found.operations_s, found.waiting_s].map(nanoseconds), [70, 20]);
    }

    #[test]
    fn a_killed_rank_is_accounted_until_its_last_sample() {
        let span = RankSpan { rank: 1, begin_ns: 10, end_ns: 0, paused_ns: 0 };
        let found = time_use(&run(vec![span], vec![sample(1, OPERATION, 20, 30)]))[0];
        assert_eq!((found.rank, nanoseconds(found.wall_s), nanoseconds(found.engine_s)), (1, 40, 10));
    }

    #[test]
    fn ranks_may_be_mixed_and_a_rank_without_samples_has_engine_time_only() {
        let spans = vec![RankSpan { rank: 2, begin_ns: 0, end_ns: 7, paused_ns: 0 }];
        let samples = vec![sample(0, OPERATION, 0, 5), sample(1, OPERATION, 1, 5), sample(0, BARRIER, 5, 5)];
        let found = time_use(&run(spans, samples));
        let parts: Vec<_> = found
            .iter()
            .map(|one| [one.operations_s, one.waiting_s, one.engine_s].map(nanoseconds))
            .collect();
        assert_eq!(parts, [[5, 5, 0], [5, 0, 0], [0, 0, 7]]);
    }
}
