//! Recomputes the numbers of answers from the samples alone, by brute force.

use proptest::prelude::*;
use results::{AnswerNumbers, AnswerValue, Quantiles, Wish, of_run};
use samples::{Facts, Run, Sample, Site, SiteKind};

/// The value of rank ⌈p·n⌉, as a user would look it up in a sorted list.
fn looked_up(values: &mut [f64], per_mille: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[(values.len() * per_mille).div_ceil(1_000) - 1]
}

fn same(found: f64, wanted: f64) -> bool {
    (found - wanted).abs() <= 1e-9 * wanted.abs()
}

fn holds(found: Option<&Quantiles>, values: &mut [f64]) -> bool {
    let Some(found) = found else { return values.is_empty() };
    let tail = |from: usize, per_mille: usize, found: Option<f64>, values: &mut [f64]| match found {
        Some(found) => values.len() >= from && same(found, looked_up(values, per_mille)),
        None => values.len() < from,
    };
    same(found.p50, looked_up(values, 500))
        && tail(100, 990, found.p99, values)
        && tail(1_000, 999, found.p999, values)
        && same(found.max, looked_up(values, 1_000))
}

/// One pass of the block on a rank: the pause before it, the operations with the time before each, what follows the last;
/// in microseconds.
type Plan = (u64, Vec<(bool, u64, u64)>, u64);

/// Reads (site 0) and writes (site 1) in a block (site 2), with fills (site 3) before it.
fn run(ranks: &[Vec<Plan>], report: &str) -> Run {
    let site = |labels: &[&str], operation: &str, kind| Site {
        line: 1,
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        operation: operation.into(),
        kind,
        ..Site::default()
    };
    let mut samples = Vec::new();
    for (rank, plans) in (0..).zip(ranks) {
        let sample = |site: u32, start_us: u64, us: u64, bytes: u64| Sample {
            site,
            rank,
            start_ns: start_us * 1_000,
            duration_ps: us * 1_000_000,
            bytes,
            batch: 1,
            ..Sample::default()
        };
        samples.push(sample(3, 0, 500, 1 << 20));
        let mut now = 1_000;
        for (pause, operations, rest) in plans {
            now += pause;
            let begin = now;
            for (reads, wait, us) in operations {
                now += wait;
                samples.push(sample(u32::from(!reads), now, *us, 4096));
                now += us;
            }
            now += rest;
            samples.push(sample(2, begin, now - begin, 0));
        }
    }
    let sites = vec![
        site(&["work"], "fread", SiteKind::Operation),
        site(&["work"], "fwrite", SiteKind::Operation),
        site(&["work"], "time", SiteKind::Time),
        site(&["lay out"], "fwrite", SiteKind::Operation),
    ];
    let (key, wanted) = report.split_once('=').unwrap_or(("samples", report));
    let facts = Facts { report: [(key.to_owned(), wanted.to_owned())].into(), ..Facts::default() };
    Run { facts, sites, samples }
}

/// Seconds of the n-th passes together: from the first begin to the last end over ranks, what overlaps once.
fn wall(run: &Run, ranks: &[u32]) -> f64 {
    let of_rank = |rank: u32| {
        run.samples.iter().filter(move |one| one.site == 2 && one.rank == rank).map(|one| {
            let begin = one.start_ns * 1_000;
            (begin, begin + one.duration_ps)
        })
    };
    let mut passes: Vec<(u64, u64)> = Vec::new();
    for rank in ranks {
        for (at, (begin, end)) in of_rank(*rank).enumerate() {
            match passes.get_mut(at) {
                Some(known) => *known = (known.0.min(begin), known.1.max(end)),
                None => passes.push((begin, end)),
            }
        }
    }
    passes.sort_unstable();
    let (mut total, mut until) = (0, 0);
    for (begin, end) in passes {
        total += end.max(until) - begin.max(until);
        until = until.max(end);
    }
    total as f64 * 1e-12
}

fn plans() -> impl Strategy<Value = Vec<Vec<Plan>>> {
    let operations = prop::collection::vec((any::<bool>(), 0_u64..200, 1_u64..900), 1..40);
    let plan = (0_u64..5_000, operations, 0_u64..2_000);
    prop::collection::vec(prop::collection::vec(plan, 1..6), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_mix_is_the_sum_of_its_parts_by_the_time_of_the_block(ranks in plans()) {
        let run = run(&ranks, "work / fread");
        let reads = run.samples.iter().any(|one| one.site == 0);
        let rows = of_run(&run);
        let found = AnswerNumbers::of(&rows, &run.facts, Wish::default());
        prop_assert_eq!(found.parts.is_empty(), !reads);
        for part in &found.parts {
            let site = u32::from(part.operation == "fwrite");
            let of_part = || run.samples.iter().filter(|one| one.site == site);
            let mut took_part: Vec<u32> = of_part().map(|one| one.rank).collect();
            took_part.dedup();
            let (count, wall) = (of_part().count() as f64, wall(&run, &took_part));
            prop_assert!(same(part.operations_per_second.unwrap(), count / wall));
            prop_assert!(same(part.bytes_per_second.unwrap(), 4096.0 * count / wall));
            prop_assert!(same(part.wall_seconds.unwrap(), wall));
            let mut values: Vec<f64> = of_part().map(Sample::seconds).collect();
            prop_assert!(holds(part.quantiles_seconds.as_ref(), &mut values), "{:?}", part);
            prop_assert_eq!((part.count, part.value), (values.len() as u64, AnswerValue::Operation));
        }
        if let [first, second] = found.parts.as_slice() {
            let sum = first.operations_per_second.unwrap() + second.operations_per_second.unwrap();
            prop_assert!(same(found.operations_per_second.unwrap(), sum));
        }
        if reads {
            // Filling a file is no part of it.
            let asked = run.samples.iter().filter(|one| one.site < 2).count() as u64;
            prop_assert_eq!((found.operations, found.bytes), (asked, 4096 * asked));
        }
    }

    #[test]
    fn a_step_is_the_slowest_rank_and_its_rate_that_of_the_operations_in_it(ranks in plans()) {
        let run = run(&ranks, "gate=work");
        let rows = of_run(&run);
        let found = AnswerNumbers::of(&rows, &run.facts, Wish::default());
        let part = found.only().expect("one block");
        let of_rank = |rank: usize| run.samples.iter().filter(move |one| one.site == 2 && one.rank == rank as u32);
        let reached = ranks.iter().map(Vec::len).min().unwrap();
        let mut steps: Vec<f64> = (0..reached)
            .map(|step| {
                let of_step = |rank| of_rank(rank).nth(step).map_or(0.0, Sample::seconds);
                (0..ranks.len()).map(of_step).fold(0.0, f64::max)
            })
            .collect();
        prop_assert_eq!((part.value, part.count), (AnswerValue::Step, reached as u64));
        prop_assert!(holds(part.quantiles_seconds.as_ref(), &mut steps), "{:?}", part);
        let site = u32::from(part.operation == "fwrite");
        let mut took_part: Vec<u32> =
            run.samples.iter().filter(|one| one.site == site).map(|one| one.rank).collect();
        took_part.dedup();
        let count = run.samples.iter().filter(|one| one.site == site).count() as f64;
        prop_assert!(same(part.operations_per_second.unwrap(), count / wall(&run, &took_part)));
    }
}

#[test]
fn one_read_in_two_seconds_is_one_read_in_two_seconds() {
    let run = run(&[vec![(0, vec![(true, 0, 877)], 2_000_000 - 877)]], "work / fread");
    let found = AnswerNumbers::of(&of_run(&run), &run.facts, Wish::default());
    let part = found.only().expect("reads");
    assert!(same(part.operations_per_second.unwrap(), 0.5), "{part:?}");
}

#[test]
fn phases_are_told_each_whatever_their_share() {
    let site = |label: &str, operation: &str, kind| Site {
        line: 1,
        labels: vec![label.into()],
        operation: operation.into(),
        kind,
        ..Site::default()
    };
    let sites = vec![
        site("file creation", "create", SiteKind::Operation),
        site("file creation", "phase", SiteKind::Phase),
        site("file read", "fopen", SiteKind::Operation),
        site("file read", "fclose", SiteKind::Operation),
        site("file read", "phase", SiteKind::Phase),
        site("tree removal", "rmdir", SiteKind::Operation),
        site("tree removal", "phase", SiteKind::Phase),
    ];
    let sample = |site, start_us: u64, us: u64| Sample {
        site,
        start_ns: start_us * 1_000,
        duration_ps: us * 1_000_000,
        batch: 1,
        ..Sample::default()
    };
    let mut samples = vec![sample(1, 0, 50_000), sample(4, 60_000, 400), sample(6, 70_000, 10)];
    samples.extend((0..100).map(|n| sample(0, 500 * n, 400)));
    samples.extend((0..100).flat_map(|n| [sample(2, 60_000 + 4 * n, 1), sample(3, 60_002 + 4 * n, 2)]));
    samples.push(sample(5, 70_000, 9));
    let run = Run { sites, samples, ..Run::default() };
    let found = AnswerNumbers::of(&of_run(&run), &run.facts, Wish::default());
    let told: Vec<(&str, u64)> = found
        .parts
        .iter()
        .map(|part| (part.name.as_str(), part.operations_per_second.unwrap().round() as u64))
        .collect();
    assert_eq!(told, [("file creation / create", 2_000), ("file read / fopen", 250_000)]);
    assert_eq!(found.operations_per_second, None);
}
