//! Measures one row: counts, wall time, rates, depth, quantiles, ranks, passes and series.

use samples::{Counted, SiteKind};

use crate::choice::WRITES;
use crate::columns::{Stream, Timing, Totals};
use crate::iterations::Iterations;
use crate::of_ranks;
use crate::passes::{OfRank, Passes};
use crate::quantiles::Quantiles;
use crate::rate::Paced;
use crate::row::ResultRow;
use crate::safe::Syncs;
use crate::series::{Filling, Series, Work};
use crate::steady::Steadiness;
use crate::steps::Steps;
use crate::summary::quantiles;
use crate::timeline::{Covered, Timeline};
use crate::together::Together;
use crate::wall::AtWall;

/// Fills a row of a run that counts.
pub(crate) fn count(row: &mut ResultRow, counted: &Counted) {
    row.timings = counted.histogram.count();
    row.errors = counted.failed;
    row.errors_by_errno = counted.failed_by_errno.clone();
    row.bytes = counted.bytes;
    row.mean_seconds = (row.timings > 0).then(|| counted.mean_s());
    row.quantiles_seconds = Quantiles::of_counted(counted);
    row.response_quantiles_seconds = Quantiles::of_responses(counted);
}

/// What rows need of the whole run.
pub(crate) struct Whole<'a> {
    pub timeline: &'a Timeline<'a>,
    pub syncs: &'a Syncs<'a>,
    /// What the program declares as its gate; empty where it declares none.
    pub gate: &'a str,
}

/// Fills a row with what its samples came to.
pub(crate) fn measure(row: &mut ResultRow, mut streams: Vec<Stream>, whole: &Whole) {
    let timeline = whole.timeline;
    // Stable: those of a rank stay in the order in which the program names them.
    streams.sort_by_key(|stream| stream.rank);
    let ranks = streams.chunk_by(|a, b| a.rank == b.rank).count();
    row.ranks = Some(ranks);
    let totals = amounts(row, &streams);
    // The duration of a `ctime` block is a sum of times, not an interval.
    let lies_in_time = row.timings > 0 && row.kind != SiteKind::CommandTime;
    let is_late = row.operations_per_timing.is_some() && streams.iter().any(Stream::is_late);
    let schedules_of = |rank| timeline.passes_of_schedule(&row.labels, rank);
    let paced = if is_late { Paced::of(&streams, schedules_of) } else { Paced::default() };
    row.rate = paced.rate;
    let passes =
        if lies_in_time { over_ranks(row, &streams, &totals, timeline, &paced) } else { Passes::default() };
    let mut filling = passes.around().filter(|_| row.kind == SiteKind::Operation).and_then(|around| {
        let ranks = streams.iter().map(|stream| stream.rank);
        Series::for_work(
            row.timings + row.errors + row.failed_as_expected,
            around,
            timeline.uncertainty_ps(ranks),
        )
    });
    drop(passes);
    if row.is_block() || row.is_called(whole.gate) {
        row.steps = Steps::of(&streams);
    }
    if row.kind == SiteKind::Operation && WRITES.contains(&row.operation.as_str()) {
        row.safe = whole.syncs.safe(&row.labels, &streams);
    }
    let wanted = if row.operations_per_timing.is_some() { row.timings as usize } else { 0 };
    let mut durations = Vec::with_capacity(wanted);
    let mut responses = Vec::with_capacity(if is_late { wanted } else { 0 });
    let mut takers = Vec::new();
    let mut busy = Covered::default();
    timeline.each_in_order(&streams, |timing, at| {
        if wanted > 0 && !timing.failed {
            durations.push(timing.duration_ps);
            if ranks > 1 {
                takers.push(at.first);
            }
            if is_late {
                let each_ps = (timing.duration_ps + timing.batch / 2) / timing.batch;
                responses.push(timing.late_ns.saturating_mul(1_000).saturating_add(each_ps));
            }
        }
        busy.add(at);
        if let Some(filling) = &mut filling {
            let &Timing { batch: operations, bytes, failed, .. } = timing;
            filling.add(&Work { at, operations, bytes, failed });
        }
    });
    drop(streams);
    if lies_in_time {
        row.busy_seconds = Some(seconds(busy.length()));
        row.series = filling.map(Filling::finish);
        row.steady = row.series.as_ref().and_then(Steadiness::of);
    }
    let each = 1e-12 / row.operations_per_timing.map_or(1.0, f64::from);
    row.sd_seconds = deviation(&durations).map(|ps| ps * each);
    (row.quantiles_seconds, row.intervals) = quantiles(durations, &takers, |ps| ps as f64 * each);
    if is_late {
        let sum: f64 = responses.iter().map(|ps| *ps as f64).sum();
        row.response_mean_seconds = (!responses.is_empty()).then(|| sum * 1e-12 / responses.len() as f64);
        let (found, intervals) = quantiles(responses, &takers, |ps| ps as f64 * 1e-12);
        (row.response_quantiles_seconds, row.intervals) = (found, intervals);
    }
}

/// The standard deviation of some durations.
fn deviation(durations: &[u64]) -> Option<f64> {
    if durations.len() < 2 {
        return None;
    }
    let count = durations.len() as f64;
    let mean = durations.iter().map(|ps| *ps as f64).sum::<f64>() / count;
    let squares: f64 = durations.iter().map(|ps| (*ps as f64 - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt())
}

fn seconds(ps: i64) -> f64 {
    ps as f64 * 1e-12
}

/// Counts, errors, bytes and means, which need no order.
fn amounts(row: &mut ResultRow, streams: &[Stream]) -> Totals {
    for stream in streams {
        for (_, errno) in stream.failures() {
            if stream.expects(*errno) {
                row.failed_as_expected += 1;
            } else {
                *row.errors_by_errno.entry(*errno).or_default() += 1;
                row.errors += 1;
            }
        }
    }
    let totals = Totals::of(streams);
    row.bytes = totals.bytes;
    row.bytes_of_failed = totals.bytes - totals.good_bytes;
    row.timings = totals.timings;
    row.operations = Some(totals.operations);
    row.mean_seconds =
        (totals.timings > 0).then(|| totals.good_time_ps as f64 * 1e-12 / totals.operations as f64);
    row.bytes_per_operation = totals.sizes;
    row.operations_per_timing = totals.batch().and_then(|batch| u32::try_from(batch).ok());
    totals
}

/// Wall time and what is divided by it: rates, depth, ranks, passes.
/// Paced operations take at least as long as at the rate that they reached: the last of them waits for no next one, and
/// a block around each leaves out the pauses that were asked for.
fn over_ranks(
    row: &mut ResultRow,
    streams: &[Stream],
    totals: &Totals,
    timeline: &Timeline,
    paced: &Paced,
) -> Passes {
    let mut passes = Passes::default();
    let several = row.ranks.is_some_and(|ranks| ranks > 1);
    for of_rank in streams.chunk_by(|a, b| a.rank == b.rank) {
        let rank = of_rank[0].rank;
        let mut own = OfRank::new(timeline, timeline.passes(&row.labels, row.kind, rank), rank);
        for stream in of_rank {
            own.add(stream.timings().map(|timing| (timing, timeline.place(rank, &timing))));
        }
        if several {
            let least = paced.of_rank(rank).map_or(0, |paced| paced.whole);
            row.per_rank.push(of_ranks::of(of_rank, own.wall().max(least)));
        }
        passes.add(own);
        // Where the block lies in the body of a `rate`, a pass is no schedule.
        if let Some(paced) = paced.of_rank(rank)
            && timeline.passes(&row.labels, row.kind, rank) == timeline.passes_of_schedule(&row.labels, rank)
        {
            passes.take_at_least(&paced.by_pass);
        }
    }
    let (wall, uncertainty) = timeline.wall(passes.intervals().collect());
    let wall = wall.max(paced.longest());
    row.wall_seconds = Some(seconds(wall));
    row.wall_uncertainty_seconds = Some(uncertainty as f64 * 1e-9);
    row.span_seconds = passes.around().map(|around| seconds(around.length()));
    if wall > 0 {
        row.operations_per_second = row.operations.map(|operations| operations as f64 / seconds(wall));
        row.bytes_per_second = Some(totals.good_bytes as f64 / seconds(wall));
        row.achieved_depth = Some(totals.time_ps as f64 * 1e-12 / seconds(wall));
    }
    let passes_of = |rank| timeline.passes(&row.labels, row.kind, rank);
    let least = paced.shortest();
    (row.at_wall, row.together) = (
        AtWall::of(streams, &passes, timeline, passes_of, least),
        Together::of(streams, timeline, passes_of, least),
    );
    row.iterations = Iterations::of(&passes, row.ranks.unwrap_or(0));
    passes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use samples::{ClockOffset, Facts, Run, Sample, Site};

    use crate::rows::of_run;

    const MS: u64 = 1_000_000;
    const MIB: u64 = 1 << 20;

    fn site(labels: &[&str], operation: &str, kind: SiteKind) -> Site {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Site { line: 1, labels, operation: operation.into(), kind, ..Site::default() }
    }

    /// An operation of site 0 without labels; times in ms.
    fn sample(rank: u32, start: u64, duration: u64, bytes: u64) -> Sample {
        let (start_ns, duration_ps) = (start * MS, duration * MS * 1_000);
        Sample { rank, start_ns, duration_ps, bytes, batch: 1, ..Sample::default() }
    }

    fn of(samples: Vec<Sample>) -> ResultRow {
        let sites = vec![site(&[], "write", SiteKind::Operation)];
        of_run(&Run { facts: Facts::default(), sites, samples }).swap_remove(0)
    }

    fn near(found: Option<f64>, wanted: f64) {
        let found = found.expect("a number");
        assert!((found - wanted).abs() <= 5e-4 * wanted.abs(), "{found} instead of {wanted}");
    }

    #[test]
    fn the_deviation_is_of_one_operation() {
        let row = of(vec![sample(0, 0, 2, 0), sample(0, 10, 4, 0), sample(0, 20, 9, 0)]);
        near(row.sd_seconds, 13.0_f64.sqrt() * 1e-3);
        let batched: Vec<Sample> =
            [2, 4, 9].map(|ms| Sample { batch: 10, ..sample(0, 10 * ms, ms, 0) }).into();
        near(of(batched).sd_seconds, 13.0_f64.sqrt() * 1e-4);
        assert_eq!(of(vec![sample(0, 0, 2, 0)]).sd_seconds, None);
    }

    #[test]
    fn sixteen_in_flight_are_a_depth_of_sixteen() {
        let samples = (0..160).map(|n| sample(0, n / 16 * 10, 10, 4096)).collect();
        let row = of(samples);
        near(row.wall_seconds, 0.1);
        near(row.busy_seconds, 0.1);
        near(row.operations_per_second, 1_600.0);
        near(row.bytes_per_second, 6.25 * MIB as f64);
        near(row.achieved_depth, 16.0);
    }

    #[test]
    fn ranks_that_begin_late_and_end_late_count_with_all_their_time() {
        let samples = (0..4).flat_map(|rank| {
            let late = if rank == 3 { 60 } else { 20 };
            let start = 5 * u64::from(rank);
            [sample(rank, start, 20, 8 * MIB), sample(rank, start + 20, late, 8 * MIB)]
        });
        let row = of(samples.collect());
        near(row.wall_seconds, 0.095);
        near(row.busy_seconds, 0.095);
        near(row.bytes_per_second, 673.7 * MIB as f64);
        near(row.achieved_depth, 200.0 / 95.0);
        assert_eq!((row.ranks, row.timings, row.operations), (Some(4), 8, Some(8)));
        let alone: Vec<f64> = row.per_rank.iter().map(|rank| rank.bytes_per_second / MIB as f64).collect();
        assert!(
            alone.iter().zip([400.0, 400.0, 400.0, 200.0]).all(|(a, b)| (a - b).abs() < 1e-6),
            "{alone:?}"
        );
    }

    #[test]
    fn ranks_that_are_slower_for_as_much_work_bound_the_rate() {
        let of_rank = |rank, each| (0..10).map(move |n| sample(rank, n * each, each, MIB));
        let row = of(of_rank(0, 10).chain(of_rank(1, 25)).collect());
        near(row.wall_seconds, 0.250);
        near(row.bytes_per_second, 80.0 * MIB as f64);
        near(row.achieved_depth, 1.4);
        let wall = row.at_wall.expect("two ranks");
        near(Some(wall.seconds), 0.1);
        near(Some(wall.bytes_per_second), 140.0 * MIB as f64);
        assert_eq!((wall.operations, wall.bytes, wall.balance), (14, 14 * MIB, 0.4));
    }

    #[test]
    fn a_block_around_each_operation_of_a_rate_hides_no_pause() {
        // One every 20 ms, each of 1 ms in a block of its own.
        let mut run = samples::example::parallel_write(1, 100, 3);
        let write = run.sites.iter().position(|site| site.operation == "fwrite").unwrap() as u32;
        let block = run.sites.iter().position(|site| site.kind == SiteKind::Time).unwrap() as u32;
        run.samples.retain(|sample| [write, block].contains(&sample.site));
        let mut at = [0u64; 2];
        for sample in &mut run.samples {
            let number = &mut at[usize::from(sample.site == block)];
            sample.start_ns = *number * 20_000_000;
            sample.late_ns = 1_000;
            sample.duration_ps = 1_000_000_000;
            *number += 1;
        }
        let rows = crate::of_run(&run);
        let row = rows.iter().find(|row| row.operation == "fwrite").unwrap();
        near(row.rate.map(|rate| rate.achieved_per_second), 50.0);
        near(row.operations_per_second, 50.0);
        // What failed began in turn, too, and is none of the rate.
        let written = run.samples.iter_mut().filter(|sample| sample.site == write);
        written.zip(0..).for_each(|(sample, number)| sample.errno = if number % 4 == 0 { 0 } else { 5 });
        let rows = crate::of_run(&run);
        let row = rows.iter().find(|row| row.operation == "fwrite").unwrap();
        near(row.operations_per_second, 12.5);
    }

    #[test]
    fn under_a_rate_the_response_counts_the_wait_for_a_turn() {
        let starts = [0, 10, 20, 30, 75, 77, 79, 81, 83, 90];
        let samples = (0..10usize).map(|n| Sample {
            late_ns: (starts[n] - 10 * n as u64) * MS,
            ..sample(0, starts[n], if n == 3 { 45 } else { 2 }, 0)
        });
        let row = of(samples.collect());
        // Ten at 100 a second.
        near(row.wall_seconds, 0.1);
        near(row.busy_seconds, 0.063);
        near(row.achieved_depth, 0.63);
        let (service, response) = (row.quantiles_seconds.unwrap(), row.response_quantiles_seconds.unwrap());
        assert_eq!([service.p50, service.p90.unwrap(), service.max], [0.002, 0.002, 0.045]);
        let response = [response.p50, response.p90.unwrap(), response.max];
        assert!(
            response.iter().zip([0.005, 0.037, 0.045]).all(|(a, b)| (a - b).abs() < 1e-12),
            "{response:?}"
        );
        assert_eq!(of(vec![sample(0, 0, 2, 0)]).response_quantiles_seconds, None);
    }

    proptest! {
        #[test]
        fn every_time_of_batches_is_that_of_one_operation(
            batch in 1_u32..5_000, each_ns in prop::collection::vec((1_u64..1_000_000, 0_u64..10_000_000), 1..60)
        ) {
            let samples = |batch: u32| {
                let mut start_ns = 0;
                each_ns.iter().map(|(ns, late_ns)| {
                    start_ns += 20_000_000_000;
                    let duration_ps = ns * 1_000 * u64::from(batch);
                    Sample { start_ns, duration_ps, late_ns: *late_ns, batch, ..Sample::default() }
                }).collect::<Vec<_>>()
            };
            let (one, many) = (of(samples(1)), of(samples(batch)));
            let times = |row: &ResultRow| {
                let of = |found: &Option<Quantiles>| found.as_ref().map(|q| vec![q.p50, q.max]).unwrap_or_default();
                let mean = vec![row.mean_seconds.unwrap_or_default()];
                [mean, of(&row.quantiles_seconds), of(&row.response_quantiles_seconds)].concat()
            };
            let (one, many) = (times(&one), times(&many));
            prop_assert_eq!(one.len(), many.len());
            for (one, many) in one.iter().zip(&many) {
                prop_assert!((one - many).abs() <= 1e-9 * one.abs(), "{} {}", one, many);
            }
        }
    }

    #[test]
    fn a_rate_counts_operations_also_in_batches() {
        let samples = (0..100).map(|n| Sample {
            start_ns: n * 10 * MS + 1,
            late_ns: 1,
            duration_ps: 1_000_000,
            batch: 50,
            ..Sample::default()
        });
        let rate = of(samples.collect()).rate.expect("one");
        assert_eq!((rate.asked_per_second.round(), rate.achieved_per_second.round()), (5_000.0, 5_000.0));
    }

    #[test]
    fn clocks_are_set_right_before_times_of_ranks_are_compared() {
        let offset = |offset_ns, uncertainty_ns| ClockOffset { offset_ns, uncertainty_ns, at_ns: 0 };
        let facts = Facts {
            clock_offsets: vec![vec![offset(0, 0), offset(7 * MS as i64, MS / 2)]],
            ..Facts::default()
        };
        let sites = vec![site(&[], "write", SiteKind::Operation)];
        let samples = vec![sample(0, 0, 10, 4 * MIB), sample(1, 8, 12, 4 * MIB)];
        let row = of_run(&Run { facts, sites, samples }).swap_remove(0);
        near(row.wall_seconds, 0.013);
        near(row.bytes_per_second, 615.4 * MIB as f64);
        near(row.achieved_depth, 1.692);
        near(row.wall_uncertainty_seconds, 0.0005);
    }

    #[test]
    fn batches_are_divided() {
        let batch =
            |start_ns, ns: u64| Sample { start_ns, duration_ps: ns * 1_000, batch: 64, ..Sample::default() };
        let row = of(vec![batch(0, 640), batch(1_000, 704), batch(2_000, 6_400)]);
        assert_eq!((row.timings, row.operations, row.operations_per_timing), (3, Some(192), Some(64)));
        near(row.quantiles_seconds.as_ref().map(|found| found.p50), 11e-9);
        assert_eq!(row.quantiles_seconds.unwrap().p99, None);
        near(row.mean_seconds, 40.33e-9);
        near(row.wall_seconds, 8_400e-9);
        near(row.operations_per_second, 22.86e6);
        near(row.busy_seconds.map(|busy| 192.0 / busy), 24.79e6);
    }

    #[test]
    fn pauses_between_passes_of_a_block_are_outside_and_those_inside_a_pass_inside() {
        let block = |rank, start, duration| Sample { site: 1, ..sample(rank, start, duration, 0) };
        let samples = vec![
            sample(0, 0, 40, 8 * MIB),
            sample(0, 100, 30, 8 * MIB),
            sample(1, 5, 45, 8 * MIB),
            sample(1, 98, 42, 8 * MIB),
            block(0, 0, 41),
            block(0, 100, 31),
            block(1, 5, 46),
            block(1, 98, 43),
        ];
        let sites = vec![site(&["w"], "write", SiteKind::Operation), site(&["w"], "time", SiteKind::Time)];
        let rows = of_run(&Run { facts: Facts::default(), sites, samples });
        near(rows[0].wall_seconds, 0.094);
        near(rows[0].bytes_per_second, 340.4 * MIB as f64);
        near(rows[0].achieved_depth, 1.670);
        near(rows[0].span_seconds, 0.141);
        let passes = rows[0].iterations.as_ref().unwrap();
        assert_eq!((passes.count, passes.incomplete), (2, 0));
        near(Some(passes.seconds.max), 0.051);
        near(Some(passes.bytes_per_second.min), 313.7 * MIB as f64);
        near(Some(passes.bytes_per_second.max), 372.1 * MIB as f64);
        assert_eq!((rows[1].kind, rows[1].timings), (SiteKind::Time, 4));
    }

    #[test]
    fn failures_that_the_program_expects_are_no_errors() {
        let failed = |errno| Sample { errno, ..sample(0, 0, 10, 0) };
        let sites = vec![Site { expects: Some(2), ..site(&[], "stat", SiteKind::Operation) }];
        let samples = vec![failed(2), failed(2), failed(13)];
        let row = of_run(&Run { facts: Facts::default(), sites, samples }).swap_remove(0);
        assert_eq!((row.timings, row.errors, row.failed_as_expected), (0, 1, 2));
        assert_eq!(row.errors_by_errno, [(13, 1)].into());
    }

    #[test]
    fn failures_are_counted_and_have_no_quantiles() {
        let failed = Sample { errno: 28, ..sample(0, 0, 10, 512) };
        let row = of(vec![failed, failed]);
        assert_eq!((row.timings, row.errors, row.bytes), (0, 2, 1024));
        assert_eq!(row.errors_by_errno, [(28, 2)].into());
        assert_eq!((row.operations_per_second, row.quantiles_seconds), (None, None));
        let row = of(vec![sample(0, 20, 5, 512), failed]);
        assert_eq!((row.timings, row.errors, row.operations), (1, 1, Some(1)));
        near(row.wall_seconds, 0.025);
        near(row.operations_per_second, 40.0);
        // Both moved bytes; the rate is of what succeeded.
        assert_eq!((row.bytes, row.bytes_of_failed, row.bytes_per_operation), (1024, 512, Some([512; 2])));
        near(row.bytes_per_busy_second(), 512.0 / 0.015);
        near(row.bytes_per_second, 40.0 * 512.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn busy_wall_and_span_are_ordered_and_depth_is_rate_times_mean(
            list in proptest::collection::vec((0u32..3, 0u64..200, 1u64..50, 0u64..9), 1..60)
        ) {
            let samples: Vec<Sample> =
                list.iter().map(|(rank, start, length, bytes)| sample(*rank, *start, *length, *bytes)).collect();
            let row = of(samples);
            let (busy, wall, span) =
                (row.busy_seconds.unwrap(), row.wall_seconds.unwrap(), row.span_seconds.unwrap());
            prop_assert!(busy <= wall && wall <= span);
            let depth = row.operations_per_second.unwrap() * row.mean_seconds.unwrap();
            prop_assert!((depth - row.achieved_depth.unwrap()).abs() < 1e-9 * depth);
        }
    }
}
