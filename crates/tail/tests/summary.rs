//! A streaming summary is as good for the tail as all the values.

use tail::Xoshiro;
use tail::summary::Summary;

fn values(seed: u64, n: usize) -> Vec<f64> {
    let mut random = Xoshiro::new(seed);
    (0..n).map(|_| (0.5 * random.normal() - 10.0).exp()).collect()
}

#[test]
fn merged_ranks_equal_one_stream() {
    let all = values(1, 20_000);
    let mut whole = Summary::new(500, 100).unwrap();
    all.iter().enumerate().for_each(|(i, &x)| whole.push(x, i as u64));
    let mut merged = Summary::new(500, 100).unwrap();
    for (rank, part) in all.chunks(5000).enumerate() {
        let mut one = Summary::new(500, 100).unwrap();
        part.iter().enumerate().for_each(|(i, &x)| one.push(x, (rank * 5000 + i) as u64));
        merged.merge(&one).unwrap();
    }
    assert_eq!(merged.largest(), whole.largest());
    assert_eq!(merged.block_maxima(), whole.block_maxima());
    assert_eq!(merged.histogram(), whole.histogram());
    assert_eq!(merged.count(), 20_000);
}

#[test]
fn the_fit_beyond_a_threshold_is_that_of_all_values() {
    let all = values(2, 50_000);
    let mut summary = Summary::new(2000, 100).unwrap();
    all.iter().enumerate().for_each(|(i, &x)| summary.push(x, i as u64));
    let threshold = summary.largest()[1500].value;
    let full = tail::gpd::fit(&all, threshold).unwrap();
    let kept = tail::gpd::fit(&summary.exceedances(threshold).unwrap(), threshold).unwrap();
    assert_eq!(full.exceedances, kept.exceedances);
    assert!((full.shape - kept.shape).abs() < 1e-9 && (full.scale / kept.scale - 1.0).abs() < 1e-9);
    assert!(summary.exceedances(1e-9).is_err());
}

#[test]
fn quantiles_are_exact_in_the_tail_and_close_elsewhere() {
    let mut all = values(3, 10_000);
    let mut summary = Summary::new(300, 100).unwrap();
    all.iter().enumerate().for_each(|(i, &x)| summary.push(x, i as u64));
    all.sort_by(f64::total_cmp);
    let far = summary.quantile(0.99, 0.95).unwrap();
    assert!(far.exact && far.value == all[9899]);
    assert!(far.lower.unwrap() < far.value && far.value < far.upper.unwrap());
    let median = summary.quantile(0.5, 0.95).unwrap();
    assert!(!median.exact && (median.value / all[4999] - 1.0).abs() < 0.016);
}

#[test]
fn a_stored_summary_goes_on() {
    let all = values(4, 2000);
    let mut whole = Summary::new(50, 100).unwrap();
    let mut stored = whole.clone();
    for (i, &x) in all.iter().enumerate() {
        whole.push(x, i as u64);
        stored.push(x, i as u64);
        if i == 999 {
            stored.settle();
            stored = serde_json::from_str(&serde_json::to_string(&stored).unwrap()).unwrap();
        }
    }
    for (a, b) in stored.largest().iter().zip(whole.largest()) {
        // JSON may lose the last bit.
        assert!(a.time == b.time && (a.value / b.value - 1.0).abs() < 1e-15);
    }
}

#[test]
fn what_is_not_finite_is_counted() {
    let mut summary = Summary::new(5, 2).unwrap();
    for x in [1.0, f64::NAN, f64::INFINITY, 2.0] {
        summary.push(x, 0);
    }
    assert_eq!((summary.count(), summary.dropped().total()), (2, 2));
}
