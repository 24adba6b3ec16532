//! Comparisons of histograms beside those of the values.

use std::collections::BTreeMap;

use tail::assess::{AssessOptions, assess_clean};
use tail::congestion::{
    Bucket, CompareOptions, Comparison, ComparisonCode, ERROR_OF_RATIO, Ends, KeptArm, SUMMED_LEVEL, Summed,
    compare_series, compare_summed,
};
use tail::enclosed::InOrder;
use tail::{Gev, Series, Xoshiro};

/// 128 buckets a doubling, as run files have them.
fn buckets(values: &[f64]) -> Vec<Bucket> {
    let mut counts: BTreeMap<(i32, u64), u64> = BTreeMap::new();
    for value in values {
        let doubling = value.log2().floor() as i32;
        let place = (128.0 * (value / 2f64.powi(doubling) - 1.0)) as u64;
        *counts.entry((doubling, place)).or_default() += 1;
    }
    let bucket = |((doubling, place), count): ((i32, u64), u64)| {
        let edge = |place: u64| 2f64.powi(doubling) * (1.0 + place as f64 / 128.0);
        Bucket { low: edge(place), high: edge(place + 1), count }
    };
    counts.into_iter().map(bucket).collect()
}

fn ends(series: &Series, p: f64) -> Ends {
    let (sorted, value) = (series.sorted(), series.measured(p));
    let order = InOrder::of(series.values(), series.takers(), sorted);
    let found = order.enclosed(sorted.len(), (p, value), SUMMED_LEVEL);
    Ends { value, lower: found.lower.map(|at| sorted[at]), upper: found.upper.map(|at| sorted[at]) }
}

/// The comparison of values, and that of histograms.
fn both(samples: [&[f64]; 2]) -> (Comparison, Option<Comparison>) {
    let series = samples.map(Series::clean);
    let exact = compare_series([&series[0], &series[1]], &CompareOptions::default()).unwrap();
    let kept = series.each_ref().map(|series| {
        KeptArm::of(series, &assess_clean(series, series.values(), &AssessOptions::default()).unwrap())
    });
    // As a file has it: read from text.
    let kept: [KeptArm; 2] =
        kept.map(|one| serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap());
    let buckets = samples.map(buckets);
    let summed = |at: usize| Summed {
        kept: &kept[at],
        buckets: &buckets[at],
        p50: ends(&series[at], 0.5),
        p99: Some(ends(&series[at], 0.99)),
    };
    let found = compare_summed([&summed(0), &summed(1)], samples[0] == samples[1]).unwrap();
    (exact, found)
}

fn log_normal(n: usize, scale: f64, spread: f64, memory: f64, random: &mut Xoshiro) -> Vec<f64> {
    let mut state = random.normal();
    let mut next = || {
        state = memory * state + (1.0 - memory * memory).sqrt() * random.normal();
        scale * (spread * state).exp()
    };
    (0..n).map(|_| next()).collect()
}

fn two_modes(n: usize, scale: f64, random: &mut Xoshiro) -> Vec<f64> {
    let mut one = || {
        let at = if random.uniform() < 0.3 { 2.0 } else { 1.0 };
        scale * at * (0.2 * random.normal()).exp()
    };
    (0..n).map(|_| one()).collect()
}

#[test]
fn the_answer_is_that_of_the_values_and_the_factor_within_the_stated_error() {
    let n = 60_000;
    let mut random = Xoshiro::new(11);
    let mut answered = BTreeMap::new();
    for k in [1.0, 1.002, 1.005, 1.013, 0.97, 1.3] {
        for (name, old, new) in [
            ("plain", log_normal(n, 1.0, 0.4, 0.0, &mut random), log_normal(n, k, 0.4, 0.0, &mut random)),
            ("wide", log_normal(n, 1.0, 1.2, 0.0, &mut random), log_normal(2 * n, k, 1.2, 0.0, &mut random)),
            ("alike", log_normal(n, 1.0, 0.4, 0.6, &mut random), log_normal(n, k, 0.4, 0.6, &mut random)),
            ("modes", two_modes(n, 1.0, &mut random), two_modes(n, k, &mut random)),
            ("spread", log_normal(n, 1.0, 0.4, 0.0, &mut random), log_normal(n, k, 0.5, 0.0, &mut random)),
        ] {
            let (exact, found) = both([&old, &new]);
            let Some(found) = found else { continue };
            *answered.entry(name).or_insert(0) += 1;
            assert_eq!(found.code, exact.code, "{name} {k}");
            let (one, other) = (found.headline(), exact.headline());
            assert_eq!(one.by, other.by, "{name} {k}");
            let near = |a: f64, b: f64, most: f64| assert!((a / b - 1.0).abs() < most, "{name} {k}: {a} {b}");
            near(one.value, other.value, ERROR_OF_RATIO);
            let (pairs, of_values) = (found.robust.hodges_lehmann, exact.robust.hodges_lehmann);
            // Of smooth values it is well within that.
            near(pairs.value, of_values.value, 0.4 * ERROR_OF_RATIO);
            assert!(pairs.interval.lower < of_values.interval.lower, "{name} {k}");
            assert!(pairs.interval.upper > of_values.interval.upper, "{name} {k}");
            near(pairs.interval.lower, of_values.interval.lower, 2.0 * ERROR_OF_RATIO);
            near(pairs.interval.upper, of_values.interval.upper, 2.0 * ERROR_OF_RATIO);
            assert_eq!((found.p99_ratio, found.median_ratio()), (exact.p99_ratio, exact.median_ratio()));
            let (a, b) = (found.robust.mean_ln_k.value, exact.robust.mean_ln_k.value);
            assert!((a - b).abs() < 0.2 * ERROR_OF_RATIO, "{name} {k}: {a} {b}");
            assert_eq!(found.baseline.inflation, exact.baseline.inflation);
            assert_eq!(found.new.verdict, exact.new.verdict);
        }
    }
    // Where nothing is in doubt, values are asked for seldom.
    let total: i32 = answered.values().sum();
    assert!(answered.len() == 5 && total >= 22, "{answered:?}");
}

#[test]
fn a_level_that_moves_is_told_as_of_values() {
    let mut random = Xoshiro::new(5);
    let old = log_normal(60_000, 1.0, 0.4, 0.0, &mut random);
    let mut new = log_normal(60_000, 1.0, 0.4, 0.0, &mut random);
    new[30_000..].iter_mut().for_each(|value| *value *= 1.2);
    let (exact, found) = both([&old, &new]);
    let found = found.expect("no doubt");
    assert_eq!((found.code, exact.code), (ComparisonCode::NotIndependent, ComparisonCode::NotIndependent));
    assert_eq!(found.new.against, exact.new.against);
}

#[test]
fn values_are_asked_where_a_histogram_does_not_tell() {
    let n = 60_000;
    let mut random = Xoshiro::new(7);
    // Its likelihood is one of values.
    let distribution = Gev { location: 10.0, scale: 1.0, shape: 0.1 };
    let mut drawn = |k: f64| -> Vec<f64> { (0..n).map(|_| k * distribution.sample(&mut random)).collect() };
    let (old, new) = (drawn(1.0), drawn(1.02));
    assert!(both([&old, &new]).1.is_none());
    // Values that lie in few buckets, and those of a coarse clock.
    let narrow = |k: f64, seed| log_normal(n, k, 0.005, 0.0, &mut Xoshiro::new(seed));
    assert!(both([&narrow(1.0, 1), &narrow(1.005, 2)]).1.is_none());
    let ticks = |seed| -> Vec<f64> {
        let values = log_normal(n, 1.0, 0.4, 0.0, &mut Xoshiro::new(seed));
        values.iter().map(|value| (value * 100.0).round().max(1.0) / 100.0).collect()
    };
    assert!(both([&ticks(3), &ticks(4)]).1.is_none());
}

#[test]
fn the_same_values_show_no_difference() {
    let values = log_normal(60_000, 1.0, 0.4, 0.0, &mut Xoshiro::new(9));
    let (exact, found) = both([&values, &values]);
    let found = found.expect("no doubt");
    assert!(exact.identical && found.identical);
    assert_eq!((found.code, found.p_equal), (exact.code, exact.p_equal));
    assert!((found.headline().value - 1.0).abs() < 1e-9);
}
