//! Any split, order and tree; against the samples; bytes of anybody.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::histogram::RELATIVE_ERROR;
use crate::{ClockOffset, Facts, gates, quantile_rank};

/// A piece of a run, as a rank has it: a site, the number of its first sample there, its samples.
type Piece = (usize, u64, Vec<Sample>);

fn sites() -> Vec<Site> {
    let kinds = [SiteKind::Operation, SiteKind::Time, SiteKind::Phase];
    let site = |(line, kind)| Site {
        line,
        kind,
        labels: vec!["write".into()],
        operation: "fwrite".into(),
        expects: (line == 1).then_some(2),
        ..Site::default()
    };
    (1..).zip(kinds).map(site).collect()
}

fn clock() -> CommonClock {
    let offset = |offset_ns| ClockOffset { offset_ns, uncertainty_ns: 1, at_ns: 0 };
    let clock_offsets = vec![[0, 1_000_000, -77, 5].map(offset).to_vec()];
    CommonClock::of(&Facts { clock_offsets, ..Facts::default() })
}

fn sample() -> impl Strategy<Value = Sample> {
    let duration = (any::<u64>(), 16u32..64).prop_map(|(value, shift)| value >> shift);
    // Some fail, with more errnos than are kept.
    let errno = prop_oneof![6 => Just(0), 1 => 1..40i32];
    (duration, errno, 0u64..9000, any::<u64>(), any::<u16>(), 1u32..5).prop_map(
        |(duration_ps, errno, bytes, start, cpu, batch)| Sample {
            start_ns: start >> 20,
            duration_ps,
            bytes,
            errno,
            batch,
            cpu,
            late_ns: start >> 40,
            queue_ns: start >> 33,
            blocked_ns: cpu.into(),
            causes: cpu & 0xfff,
            ..Sample::default()
        },
    )
}

/// Samples of each of four ranks at each of three sites, in time order.
fn run() -> impl Strategy<Value = Vec<Vec<Sample>>> {
    vec(vec(sample(), 0..90), 12).prop_map(|mut lists| {
        for (at, list) in lists.iter_mut().enumerate() {
            list.sort_by_key(|sample| sample.start_ns);
            for sample in list {
                (sample.rank, sample.site) = ((at / 3) as u32, (at % 3) as u32);
            }
        }
        lists
    })
}

/// The run cut to pieces of at most so many samples.
fn pieces(lists: &[Vec<Sample>], most: usize) -> Vec<Piece> {
    let cut = |(at, list): (usize, &Vec<Sample>)| {
        let numbered = list.chunks(most).enumerate();
        numbered.map(|(n, samples)| (at % 3, (n * most) as u64, samples.to_vec())).collect::<Vec<_>>()
    };
    lists.iter().enumerate().flat_map(cut).collect()
}

fn of_piece((site, first, samples): &Piece) -> Reduced {
    let mut found = Reduced::default();
    found.add(&sites()[*site], *first, samples, &clock());
    found
}

fn whole(lists: &[Vec<Sample>]) -> Reduced {
    let mut all = Reduced::default();
    pieces(lists, usize::MAX).iter().for_each(|(site, first, samples)| {
        all.add(&sites()[*site], *first, samples, &clock());
    });
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_split_in_any_order_and_any_tree_gives_the_same_bytes(
        lists in run(), most in 1usize..60, order in any::<u64>(), tree in vec(any::<(u16, u16)>(), 0..2000),
    ) {
        let mut parts: Vec<Reduced> = pieces(&lists, most).iter().map(of_piece).collect();
        let mut random = crate::random::Random::new(order);
        for at in (1..parts.len()).rev() {
            parts.swap(at, random.below(at as u64 + 1) as usize);
        }
        // Any two of those that are left become one, until there is one.
        let mut joins = tree.into_iter().chain(std::iter::repeat((0, 0)));
        while parts.len() > 1 {
            let (one, other) = joins.next().unwrap_or_default();
            let taken = parts.swap_remove(usize::from(one) % parts.len());
            let at = usize::from(other) % parts.len();
            // Some pass their messages on as bytes.
            let taken = if one % 2 == 0 { taken } else { Reduced::decode(&taken.encode()).expect("ours") };
            parts[at].merge(&taken);
        }
        let merged = parts.pop().unwrap_or_default();
        prop_assert_eq!(merged.encode(), whole(&lists).encode());
        prop_assert_eq!(merged, whole(&lists));
    }

    #[test]
    fn sums_are_those_of_the_samples(lists in run()) {
        let all = whole(&lists);
        for (number, site) in sites().iter().enumerate() {
            let samples: Vec<&Sample> = lists.iter().skip(number).step_by(3).flatten().collect();
            let good: Vec<&Sample> = samples.iter().copied().filter(|one| one.errno == 0).collect();
            let Some(found) = all.site(site) else {
                prop_assert!(samples.is_empty());
                continue;
            };
            prop_assert_eq!(found.timings, good.len() as u64);
            prop_assert_eq!(found.operations, good.iter().map(|one| u128::from(one.batch)).sum::<u128>());
            prop_assert_eq!(found.bytes, samples.iter().map(|one| u128::from(one.bytes)).sum::<u128>());
            prop_assert_eq!(found.total_ps, good.iter().map(|one| u128::from(one.duration_ps)).sum::<u128>());
            prop_assert_eq!(found.queue_ns, good.iter().map(|one| u128::from(one.queue_ns)).sum::<u128>());
            prop_assert_eq!(found.most_ps, good.iter().map(|one| one.duration_ps).max().unwrap_or(0));
            prop_assert_eq!(found.least_ps, good.iter().map(|one| one.duration_ps).min().unwrap_or(u64::MAX));
            let begins = samples.iter().map(|one| clock().common_ns(one.rank, one.start_ns));
            prop_assert_eq!(Some(found.begin_ns), begins.min());
            check_errors(site, &samples, found)?;
            check_order(&good, found)?;
            prop_assert_eq!(found.gates(), Some(gates(samples.iter().copied())));
            let by_clock = crate::gates_by_clock(samples.iter().copied(), &clock());
            let steps = found.steps().unwrap_or_default();
            for (gate, step) in by_clock.iter().zip(steps) {
                prop_assert_eq!(gate.seconds, (step.end_ns - step.begin_ns) as f64 * 1e-9);
            }
        }
    }

    #[test]
    fn bytes_of_anybody_are_read_or_refused(bytes in vec(any::<u8>(), 0..400), lists in run(), at: prop::sample::Index) {
        let sealed = |body: &[u8]| {
            let mut all = [b"LRsu".as_slice(), body].concat();
            all.extend_from_slice(&crc32fast::hash(&all).to_le_bytes());
            all
        };
        for body in [bytes.clone(), [&[1, 0, 0, 0], bytes.as_slice()].concat()] {
            if let Ok(found) = Reduced::decode(&sealed(&body)) {
                prop_assert_eq!(found.encode(), sealed(&body));
            }
        }
        // A changed byte is damage, with and without a checksum that fits.
        let good = whole(&lists).encode();
        let mut bad = good.clone();
        let at = at.index(bad.len());
        bad[at] ^= 0x41;
        prop_assert!(Reduced::decode(&bad).is_err());
        prop_assert!(Reduced::decode(&good[..at]).is_err());
        let length = bad.len() - 4;
        if let (true, Ok(mut found)) = (at > 3, Reduced::decode(&sealed(&bad[4..length]))) {
            let other = found.clone();
            found.merge(&other);
            for (_, site) in found.sites() {
                prop_assert!(site.gates().is_none_or(|gates| gates.len() <= MOST_STEPS));
                prop_assert_eq!(site.quantile_s(0.5).is_some(), site.histogram.count() > 0);
            }
        }
    }
}

fn check_errors(site: &Site, samples: &[&Sample], found: &ReducedSite) -> Result<(), TestCaseError> {
    let expected = |one: &&&Sample| site.expects == Some(one.errno);
    let failed: Vec<i32> = samples
        .iter()
        .filter(|one| one.errno != 0)
        .filter(|one| !expected(one))
        .map(|one| one.errno)
        .collect();
    prop_assert_eq!(found.errors.count(), failed.len() as u64);
    prop_assert_eq!(found.failed_as_expected, samples.iter().filter(expected).count() as u64);
    let mut smallest: Vec<i32> = failed.clone();
    smallest.sort_unstable();
    smallest.dedup();
    smallest.truncate(16);
    let counts =
        smallest.iter().map(|errno| (*errno, failed.iter().filter(|one| *one == errno).count() as u64));
    prop_assert_eq!(found.errors.known().collect::<Vec<_>>(), counts.collect::<Vec<_>>());
    Ok(())
}

/// Quantiles and the slowest.
fn check_order(good: &[&Sample], found: &ReducedSite) -> Result<(), TestCaseError> {
    let mut sorted: Vec<u64> = good.iter().map(|one| one.duration_ps).collect();
    sorted.sort_unstable();
    for q in [0.0, 0.5, 0.9, 0.99, 0.9999, 1.0] {
        let truth = quantile_rank(sorted.len(), q).map(|rank| sorted[rank] as f64 * 1e-12);
        let told = found.quantile_s(q);
        let near = truth.zip(told).is_none_or(|(truth, told)| (truth - told).abs() <= RELATIVE_ERROR * truth);
        prop_assert!(near && truth.is_some() == told.is_some(), "{q}: {told:?} for {truth:?}");
    }
    let slowest: Vec<u64> = found.slowest().iter().map(|slow| slow.sample.duration_ps).collect();
    prop_assert_eq!(slowest, sorted.into_iter().rev().take(MOST_SLOW).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn a_site_is_known_by_what_it_is_and_not_by_its_number() {
    let [one, other, _] = <[Site; 3]>::try_from(sites()).expect("three");
    let sample = |site, duration_ps| Sample { site, duration_ps, batch: 1, ..Sample::default() };
    let of = |sites: [&Site; 2]| {
        let samples = vec![sample(0, 10), sample(1, 20)];
        Reduced::of(&Run { sites: sites.map(Clone::clone).to_vec(), samples, ..Run::default() })
    };
    let mut both = of([&one, &other]);
    both.merge(&of([&other, &one]));
    let totals = |site| both.site(site).map(|found| (found.timings, found.least_ps, found.most_ps));
    assert_eq!([totals(&one), totals(&other)], [Some((2, 10, 20)); 2]);
    // Labels that only look alike are others.
    let apart = |labels: &[&str]| {
        key(&Site { labels: labels.iter().map(|one| (*one).into()).collect(), ..one.clone() })
    };
    assert_ne!(apart(&["ab", "c"]), apart(&["a", "bc"]));
}

#[test]
fn what_finds_no_room_is_counted_whatever_came_first() {
    let site = |line| Site { line, ..Site::default() };
    let one = [Sample { duration_ps: 5, bytes: 3, batch: 1, ..Sample::default() }];
    let of = |lines: std::ops::Range<u32>| {
        let mut found = Reduced::default();
        lines.for_each(|line| found.add(&site(line), 0, &one, &clock()));
        found
    };
    let (few, many) = (of(0..900), of(900..5000));
    let (mut a, mut b) = (few.clone(), many.clone());
    a.merge(&many);
    b.merge(&few);
    assert_eq!((a.encode() == b.encode(), a.sites().count()), (true, MOST_SITES));
    assert_eq!((a.further().timings, a.further().bytes), (904, 2712));
    let long = vec![one[0]; MOST_STEPS + 1];
    let mut found = Reduced::default();
    found.add(&site(1), 0, &long, &clock());
    let known = found.site(&site(1)).map(|found| (found.timings, found.steps().is_none()));
    assert_eq!(known, Some((MOST_STEPS as u64 + 1, true)));
    assert_eq!(Reduced::decode(&found.encode()).as_ref(), Ok(&found));
}

#[test]
fn a_warm_up_is_left_out_and_other_versions_are_told_apart() {
    let steady = crate::SteadyFacts { warm_up_ns: Some([0, 100]), ..crate::SteadyFacts::default() };
    let sample = |start_ns| Sample { start_ns, duration_ps: 7000, batch: 1, ..Sample::default() };
    let mut run = Run { sites: sites(), samples: [10, 90, 100, 200].map(sample).to_vec(), ..Run::default() };
    run.facts.steady = Some(steady);
    let found = Reduced::of(&run);
    let site = found.site(&run.sites[0]).expect("there");
    assert_eq!((site.timings, site.begin_ns, site.end_ns), (2, 100, 207));
    assert_eq!(site.slowest()[0].iteration, 0);
    let bytes = found.encode();
    let mut newer = bytes[..bytes.len() - 4].to_vec();
    newer[4] = 2;
    newer.extend_from_slice(&crc32fast::hash(&newer).to_le_bytes());
    assert_eq!(Reduced::decode(&newer), Err(ReducedError::Newer));
    assert_eq!(Reduced::decode(b"PAR1"), Err(ReducedError::Foreign));
}
