//! The congestion factor against reference values, and the verdict where a common factor does not fit.

mod common;

use common::{data, json, number};
use tail::congestion::{CompareOptions, ComparisonCode, compare, single_run};
use tail::{Gev, Xoshiro};

fn reference_matches(quiet: &[f64], new: &[f64], key: &str) {
    let found = compare(quiet, new, &CompareOptions { bootstrap: 199, ..CompareOptions::default() }).unwrap();
    let wanted = &json("extras.json")["two_sample_k"][key];
    let near = |found: f64, keys: &[&str], tolerance: f64| {
        let wanted = number(wanted, keys);
        assert!((found - wanted).abs() < tolerance, "{keys:?}: {found} against {wanted}");
    };
    near(found.factor.value, &["k_mle"], 1e-7);
    near(found.factor.interval.lower, &["k_profile_ci95", "0"], 1e-6);
    near(found.factor.interval.upper, &["k_profile_ci95", "1"], 1e-6);
    near(found.factor.law.location, &["common", "mu"], 1e-5);
    near(found.factor.law.scale, &["common", "sigma"], 1e-5);
    near(found.factor.law.shape, &["common", "xi"], 1e-5);
    near(found.factor.negative_log_likelihood, &["nllh_scale_model"], 1e-7);
    near(found.negative_log_likelihood_separate, &["nllh_separate"], 1e-7);
    near(found.factor.statistic, &["LRT_scale_family_df2"], 1e-6);
    near(found.factor.p, &["p"], 1e-6);
    near(found.robust.median_ratio.value, &["median_ratio"], 1e-9);
    near(found.robust.median_ratio.interval.lower, &["median_ratio_boot_ci95", "0"], 2e-3);
    near(found.robust.median_ratio.interval.upper, &["median_ratio_boot_ci95", "1"], 2e-3);
    near(found.robust.hodges_lehmann.value, &["hodges_lehmann_ratio"], 1e-6);
    assert_eq!(found.code, ComparisonCode::Slower);
    assert!(found.agrees);
}

#[test]
fn the_factor_of_a_congested_run_matches_the_reference() {
    reference_matches(&data("s01_paper400"), &data("s27_congested400"), "s01_vs_s27_true_k_1_25");
}

#[test]
fn the_factor_between_two_halves_matches_the_reference() {
    let values = data("s18_changepoint400");
    reference_matches(&values[..250], &values[250..], "s18_first250_vs_last150_true_1_05");
}

#[test]
fn the_factor_does_not_depend_on_the_unit() {
    let (quiet, new) = (data("s01_paper400"), data("s27_congested400"));
    let options = CompareOptions { bootstrap: 19, ..CompareOptions::default() };
    let seconds = compare(&quiet, &new, &options).unwrap().factor;
    let scaled = |v: &[f64]| v.iter().map(|x| x * 1e9).collect::<Vec<_>>();
    let nanoseconds = compare(&scaled(&quiet), &scaled(&new), &options).unwrap().factor;
    assert!((seconds.value - nanoseconds.value).abs() < 1e-8);
    assert!((seconds.interval.upper - nanoseconds.interval.upper).abs() < 1e-8);
}

fn draw(law: Gev, n: usize, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro::new(seed);
    (0..n).map(|_| law.sample(&mut random)).collect()
}

#[test]
fn the_same_law_shows_no_difference() {
    let law = Gev::new(10.0, 0.5, 0.1).unwrap();
    let found = compare(&draw(law, 200, 1), &draw(law, 200, 2), &CompareOptions::default()).unwrap();
    assert_eq!(found.code, ComparisonCode::NoDifference);
    assert!(found.factor.interval.contains(1.0));
}

#[test]
fn a_change_of_spread_alone_is_not_reported_as_a_factor() {
    let quiet = draw(Gev::new(10.0, 0.2, 0.0).unwrap(), 300, 3);
    let new = draw(Gev::new(10.3, 0.9, 0.0).unwrap(), 300, 4);
    let found = compare(&quiet, &new, &CompareOptions::default()).unwrap();
    assert_eq!(found.code, ComparisonCode::OtherDifference);
    assert!(found.factor.p < 1e-6);
}

#[test]
fn one_run_gives_a_wide_interval_of_the_factor() {
    // The paper's fit: 4.6 % to either side.
    let law = Gev::new(11.1679, 0.2120, -0.00105).unwrap();
    let found = single_run(&law, 11.4, 0.95).unwrap();
    assert!((found.lower - 11.4 / 11.95).abs() < 2e-3 && (found.upper - 11.4 / 10.89).abs() < 2e-3);
}

#[test]
fn durations_must_be_positive() {
    let values: Vec<f64> = (0..20).map(|i| f64::from(i) - 3.0).collect();
    assert!(compare(&values, &values, &CompareOptions::default()).is_err());
}

/// Number of pairs of samples of the same distribution whose result is not "no difference".
fn wrong_answers(pairs: u64, n: usize, of: impl Fn(&mut Xoshiro) -> f64) -> usize {
    let options = CompareOptions { bootstrap: 19, ..CompareOptions::default() };
    (0..pairs)
        .filter(|&seed| {
            let mut random = Xoshiro::new(7000 + seed);
            let mut draw = || (0..n).map(|_| of(&mut random)).collect::<Vec<f64>>();
            let (quiet, new) = (draw(), draw());
            compare(&quiet, &new, &options).unwrap().code != ComparisonCode::NoDifference
        })
        .count()
}

#[test]
fn the_complete_result_is_wrong_for_at_most_five_percent_of_equal_pairs() {
    let law = Gev::new(10.0, 0.5, 0.1).unwrap();
    // 10 expected of 200, a standard deviation of 3.1; 11.6 % would be 23.
    let gev = wrong_answers(200, 60, |random| law.sample(random));
    assert!(gev <= 18, "{gev} of 200 pairs of a GEV");
    // Not a GEV: one value in ten comes from another mode.
    let mixed = wrong_answers(200, 60, |random| {
        let far = if random.uniform() < 0.1 { 4.0 } else { 0.0 };
        10.0 + far + 0.3 * random.normal()
    });
    assert!(mixed <= 18, "{mixed} of 200 pairs of two modes");
}

#[test]
fn the_quoted_factor_is_never_one_that_the_verdict_rejects() {
    let quiet = draw(Gev::new(10.0, 0.2, 0.0).unwrap(), 300, 3);
    let spread = draw(Gev::new(10.3, 0.9, 0.0).unwrap(), 300, 4);
    let drifting: Vec<f64> = quiet.iter().enumerate().map(|(i, x)| x * (1.0 + i as f64 / 1000.0)).collect();
    let options = CompareOptions { bootstrap: 99, ..CompareOptions::default() };
    for (new, code) in [(spread, ComparisonCode::OtherDifference), (drifting, ComparisonCode::NotIndependent)]
    {
        let found = compare(&quiet, &new, &options).unwrap();
        assert_eq!(found.code, code);
        let quoted = found.headline();
        assert!(!quoted.by_law && quoted.value == found.robust.hodges_lehmann.value);
    }
    let slower: Vec<f64> = quiet.iter().map(|x| 1.05 * x).collect();
    let found = compare(&quiet, &slower, &options).unwrap();
    assert!(found.code == ComparisonCode::Slower && found.headline().by_law && found.p_equal < 1e-6);
}
