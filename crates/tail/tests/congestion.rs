//! The congestion factor against reference values, and the verdict where a common factor does not fit.

mod common;

use common::{data, json, number};
use tail::congestion::{Basis, CompareOptions, ComparisonCode, compare, single_run, single_run_of};
use tail::independence::check_share;
use tail::verdict::{Levels, VerdictCode};
use tail::{Gev, Series, Xoshiro};

fn reference_matches(baseline: &[f64], new: &[f64], key: &str) {
    let found =
        compare(baseline, new, &CompareOptions { bootstrap: 199, ..CompareOptions::default() }).unwrap();
    let distribution = found.distribution.as_ref().unwrap();
    let wanted = &json("extras.json")["two_sample_k"][key];
    let near = |found: f64, keys: &[&str], tolerance: f64| {
        let wanted = number(wanted, keys);
        assert!((found - wanted).abs() < tolerance, "{keys:?}: {found} against {wanted}");
    };
    near(distribution.factor.value, &["k_mle"], 1e-7);
    near(distribution.factor.interval.lower, &["k_profile_ci95", "0"], 1e-6);
    near(distribution.factor.interval.upper, &["k_profile_ci95", "1"], 1e-6);
    near(distribution.factor.distribution.location, &["common", "mu"], 1e-5);
    near(distribution.factor.distribution.scale, &["common", "sigma"], 1e-5);
    near(distribution.factor.distribution.shape, &["common", "xi"], 1e-5);
    near(distribution.factor.negative_log_likelihood, &["nllh_scale_model"], 1e-7);
    near(distribution.negative_log_likelihood_separate, &["nllh_separate"], 1e-7);
    near(distribution.factor.statistic, &["LRT_scale_family_df2"], 1e-6);
    near(distribution.factor.p, &["p"], 1e-6);
    // The reference has the mean of the middle two, and a bootstrap.
    near(found.robust.median_ratio.value, &["median_ratio"], 1e-3);
    near(found.robust.median_ratio.interval.lower, &["median_ratio_boot_ci95", "0"], 5e-3);
    near(found.robust.median_ratio.interval.upper, &["median_ratio_boot_ci95", "1"], 5e-3);
    near(found.robust.hodges_lehmann.value, &["hodges_lehmann_ratio"], 1e-6);
    assert_eq!(found.code, ComparisonCode::Slower);
    assert!(distribution.agrees);
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
    let (baseline, new) = (data("s01_paper400"), data("s27_congested400"));
    let options = CompareOptions { bootstrap: 19, ..CompareOptions::default() };
    let seconds = compare(&baseline, &new, &options).unwrap().distribution.unwrap().factor;
    let scaled = |v: &[f64]| v.iter().map(|x| x * 1e9).collect::<Vec<_>>();
    let nanoseconds =
        compare(&scaled(&baseline), &scaled(&new), &options).unwrap().distribution.unwrap().factor;
    assert!((seconds.value - nanoseconds.value).abs() < 1e-8);
    assert!((seconds.interval.upper - nanoseconds.interval.upper).abs() < 1e-8);
}

fn draw(distribution: Gev, n: usize, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro::new(seed);
    (0..n).map(|_| distribution.sample(&mut random)).collect()
}

#[test]
fn the_same_distribution_shows_no_difference() {
    let distribution = Gev::new(10.0, 0.5, 0.1).unwrap();
    let found = compare(&draw(distribution, 200, 1), &draw(distribution, 200, 2), &CompareOptions::default())
        .unwrap();
    assert_eq!(found.code, ComparisonCode::NoDifference);
    assert!(found.distribution.unwrap().factor.interval.contains(1.0));
}

#[test]
fn a_change_of_spread_alone_is_not_reported_as_a_factor() {
    let baseline = draw(Gev::new(10.0, 0.2, 0.0).unwrap(), 300, 3);
    let new = draw(Gev::new(10.3, 0.9, 0.0).unwrap(), 300, 4);
    let found = compare(&baseline, &new, &CompareOptions::default()).unwrap();
    assert_eq!(found.code, ComparisonCode::OtherDifference);
    assert!(found.distribution.unwrap().factor.p < 1e-6);
}

#[test]
fn one_run_gives_a_wide_interval_of_the_factor() {
    // The paper's fit: 4.6% to either side.
    let distribution = Gev::new(11.1679, 0.2120, -0.00105).unwrap();
    let found = single_run(&distribution, 11.4, 0.95).unwrap();
    assert!((found.lower - 11.4 / 11.95).abs() < 2e-3 && (found.upper - 11.4 / 10.89).abs() < 2e-3);
}

#[test]
fn one_run_beside_few_is_called_slower_or_faster_as_rarely_as_is_stated() {
    // Of the fit alone 31 to 43% beside 6 values, 12% beside 12 and 10% beside 20 were.
    for n in [6, 12, 20, 100] {
        let mut wrong = 0;
        for seed in 0..500 {
            let mut random = Xoshiro::new(seed);
            let mut draw = || (0.3 * random.normal()).exp();
            let baseline: Vec<f64> = (0..n).map(|_| draw()).collect();
            let fit = tail::Likelihood::new(&tail::Series::clean(&baseline)).unwrap().fit();
            let found = single_run_of((&baseline, &fit.distribution()), draw(), 0.95).unwrap();
            wrong += usize::from(!found.contains(1.0));
        }
        // 5% of 500 are 25.
        assert!(wrong <= 40, "{n}: {wrong} of 500");
    }
}

#[test]
fn durations_must_be_positive() {
    let values: Vec<f64> = (0..20).map(|i| f64::from(i) - 3.0).collect();
    assert!(compare(&values, &values, &CompareOptions::default()).is_err());
}

/// Of pairs of samples of the same distribution: how many results are not "no difference", and how many trip
/// `--fail-if 'k>1'`, which looks at the factor that the new runs surely have.
fn wrong_answers(pairs: u64, n: usize, of: impl Fn(&mut Xoshiro) -> f64) -> [usize; 2] {
    let options = CompareOptions { bootstrap: 19, ..CompareOptions::default() };
    let mut wrong = [0; 2];
    for seed in 0..pairs {
        let mut random = Xoshiro::new(7000 + seed);
        let mut draw = || (0..n).map(|_| of(&mut random)).collect::<Vec<f64>>();
        let (baseline, new) = (draw(), draw());
        let found = compare(&baseline, &new, &options).unwrap();
        wrong[0] += usize::from(found.code != ComparisonCode::NoDifference);
        wrong[1] += usize::from(found.sure_factor() > 1.0);
    }
    wrong
}

#[test]
fn the_complete_result_is_wrong_for_at_most_five_percent_of_equal_pairs() {
    let distribution = Gev::new(10.0, 0.5, 0.1).unwrap();
    // 10 expected of 200, a standard deviation of 3.1; 11.6% would be 23. Half of them are slower, and 11 of these happen
    // once in 100.
    let gev = wrong_answers(200, 60, |random| distribution.sample(random));
    assert!(gev[0] <= 18 && gev[1] <= 10, "{gev:?} of 200 pairs of a GEV");
    // Not a GEV: one value in ten comes from another mode.
    let mixed = wrong_answers(200, 60, |random| {
        let far = if random.uniform() < 0.1 { 4.0 } else { 0.0 };
        10.0 + far + 0.3 * random.normal()
    });
    assert!(mixed[0] <= 18 && mixed[1] <= 10, "{mixed:?} of 200 pairs of two modes");
}

#[test]
fn the_quoted_factor_is_never_one_that_the_verdict_rejects() {
    let baseline = draw(Gev::new(10.0, 0.2, 0.0).unwrap(), 300, 3);
    let spread = draw(Gev::new(10.3, 0.9, 0.0).unwrap(), 300, 4);
    let drifting: Vec<f64> =
        baseline.iter().enumerate().map(|(i, x)| x * (1.0 + i as f64 / 1000.0)).collect();
    let options = CompareOptions { bootstrap: 99, ..CompareOptions::default() };
    let found = compare(&baseline, &spread, &options).unwrap();
    assert_eq!(found.code, ComparisonCode::OtherDifference);
    let quoted = found.headline();
    assert!(quoted.by == Basis::Medians && quoted.value == found.robust.median_ratio.value);
    // A level that moves by as much as it differs is no factor, and the interval says how little is known.
    let found = compare(&baseline, &drifting, &options).unwrap();
    assert!(found.level_moves() && !found.headline().by_distribution, "{found:?}");
    assert!(!matches!(found.code, ComparisonCode::Slower | ComparisonCode::Faster), "{:?}", found.code);
    let interval = found.headline().interval;
    assert!(interval.upper - interval.lower > 0.05, "{interval:?}");
    let slower: Vec<f64> = baseline.iter().map(|x| 1.05 * x).collect();
    let found = compare(&baseline, &slower, &options).unwrap();
    assert!(found.code == ComparisonCode::Slower && found.headline().by_distribution && found.p_equal < 1e-6);
}

#[test]
fn what_is_said_against_either_sample_has_half_of_the_error_each() {
    let options = CompareOptions { bootstrap: 19, ..CompareOptions::default() };
    let mut random = Xoshiro::new(17);
    let (mut by_fit, mut said) = (0, 0);
    for _ in 0..60 {
        let pair = [(); 2].map(|()| autoregression(0.2, 200, &mut random));
        let found = compare(&pair[0], &pair[1], &options).unwrap();
        for (arm, values) in [(&found.baseline, &pair[0]), (&found.new, &pair[1])] {
            let refused = |share: f64| {
                let share = share * Levels::INDEPENDENCE;
                let checked = check_share(&Series::clean(values), 0.05, share).unwrap();
                checked.rejected().any(|test| test.question.is_about_order())
            };
            assert!(arm.independent != refused(0.5) && arm.independent == arm.against.is_empty(), "{arm:?}");
            by_fit += usize::from(refused(1.0));
            said += usize::from(!arm.independent);
            // What `fit` refuses gives no distribution, said or not.
            assert!(!refused(1.0) || arm.verdict == Some(VerdictCode::NotIndependent), "{arm:?}");
        }
    }
    assert!(said >= 20 && by_fit >= said + 5, "{said} said, {by_fit} by fit");
}

/// Reads that a cache serves, one in twenty of them from the disk, in whole nanoseconds; and the same from the disk alone.
fn cached_and_direct(n: usize) -> [Vec<f64>; 2] {
    let mut random = Xoshiro::new(12);
    let disk = Gev::new(50e3, 9e3, 0.1).unwrap();
    let baseline = (0..n).map(|_| match random.uniform() < 0.05 {
        true => disk.sample(&mut random).round(),
        false => (1_100.0 + 30.0 * random.normal()).round(),
    });
    let baseline = baseline.collect();
    [baseline, (0..n).map(|_| disk.sample(&mut random).round()).collect()]
}

#[test]
fn ties_of_a_fine_clock_are_not_few_different_values() {
    let [baseline, new] = cached_and_direct(20_000);
    let found = compare(&baseline, &new, &CompareOptions::default()).unwrap();
    assert!(!found.is_coarse(), "{:?}", found.baseline);
}

#[test]
fn no_factor_is_quoted_where_the_ratios_of_the_quantiles_differ() {
    for n in [2_000, 20_000] {
        let [baseline, new] = cached_and_direct(n);
        let found = compare(&baseline, &new, &CompareOptions::default()).unwrap();
        let (quoted, p99) = (found.headline(), found.p99_ratio.unwrap());
        assert_eq!((found.code, quoted.by), (ComparisonCode::OtherDifference, Basis::Medians));
        assert!((quoted.value - 48.0).abs() < 3.0 && p99.value < 2.0, "{quoted:?} {p99:?}");
        assert!(quoted.interval.contains(quoted.value) && found.sure_factor() > 40.0, "{quoted:?}");
    }
}

#[test]
fn a_factor_of_dependent_values_stays_one() {
    let options = CompareOptions { bootstrap: 99, ..CompareOptions::default() };
    let mut random = Xoshiro::new(14);
    let excluded = (0..100).filter(|_| {
        let baseline = autoregression(0.5, 400, &mut random);
        let new: Vec<f64> = autoregression(0.5, 400, &mut random).iter().map(|x| 1.1 * x).collect();
        compare(&baseline, &new, &options).unwrap().headline().by == Basis::Medians
    });
    // One in a hundred is expected.
    let excluded = excluded.count();
    assert!(excluded <= 4, "{excluded} of 100");
}

/// A stationary first-order autoregression of normal values around 10, in time order.
fn autoregression(phi: f64, n: usize, random: &mut Xoshiro) -> Vec<f64> {
    let mut state = random.normal();
    (0..n)
        .map(|_| {
            state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
            10.0 + 0.5 * state
        })
        .collect()
}

#[test]
fn runs_of_one_autoregression_differ_as_rarely_as_promised() {
    let options = CompareOptions { bootstrap: 19, ..CompareOptions::default() };
    for (phi, n, pairs) in [(0.6, 400, 120), (0.3, 50, 120), (0.6, 50, 120), (0.9, 400, 120)] {
        let mut random = Xoshiro::new(80 + n as u64);
        let (mut wrong, mut tripped) = (0, 0);
        for _ in 0..pairs {
            let (baseline, new) = (autoregression(phi, n, &mut random), autoregression(phi, n, &mut random));
            let found = compare(&baseline, &new, &options).unwrap();
            wrong += usize::from(found.code != ComparisonCode::NoDifference);
            tripped += usize::from(found.sure_factor() > 1.0);
        }
        // 5% of 120 are 6, and 13 or more happen once in 100; half of them are slower.
        assert!(wrong <= 12 && tripped <= 8, "{wrong}, {tripped} of {pairs} pairs, phi {phi}, n {n}");
    }
}

#[test]
fn the_quoted_interval_covers_what_dependent_samples_differ_by() {
    let options = CompareOptions { bootstrap: 199, ..CompareOptions::default() };
    let mut random = Xoshiro::new(5);
    let covered = (0..200)
        .filter(|_| {
            let baseline = autoregression(0.6, 400, &mut random);
            let new: Vec<f64> = autoregression(0.6, 400, &mut random).iter().map(|x| 1.02 * x).collect();
            compare(&baseline, &new, &options).unwrap().headline().interval.contains(1.02)
        })
        .count();
    // 95% of 200 are 190, and 181 or fewer happen once in 200.
    assert!(covered >= 182, "{covered} of 200");
}

#[test]
fn differences_of_independent_samples_are_found_as_before() {
    let options = CompareOptions { bootstrap: 99, ..CompareOptions::default() };
    let distribution = Gev::new(11.1679, 0.212, 0.0).unwrap();
    for (factor, least) in [(1.05, 60), (1.2, 60)] {
        let found = (0..60)
            .filter(|seed| {
                let baseline = draw(distribution, 400, 100 + seed);
                let new: Vec<f64> = draw(distribution, 400, 900 + seed).iter().map(|x| factor * x).collect();
                compare(&baseline, &new, &options).unwrap().code == ComparisonCode::Slower
            })
            .count();
        assert!(found + 2 >= least, "{found} of 60 at {factor}");
    }
}

#[test]
fn rounded_and_constant_values_get_an_answer_without_a_distribution() {
    let options = CompareOptions { bootstrap: 199, ..CompareOptions::default() };
    // 20 times the same on either side: what benchmarks of few digits print.
    let found = compare(&[115.0; 20], &[78.8; 20], &options).unwrap();
    assert_eq!(found.code, ComparisonCode::Faster);
    assert!(
        found.distribution.is_none()
            && found.p_equal < 1e-8
            && (found.headline().value - 78.8 / 115.0).abs() < 1e-9
    );
    // Whole milliseconds: 12 is the median of both.
    let mut random = Xoshiro::new(2);
    let mut rounded = |shares: [usize; 4]| -> Vec<f64> {
        let mut values: Vec<f64> = (11..)
            .zip(shares)
            .flat_map(|(value, count)| std::iter::repeat_n(f64::from(value), count))
            .collect();
        for at in (1..values.len()).rev() {
            values.swap(at, random.below(at + 1));
        }
        values
    };
    let (baseline, new) = (rounded([2, 234, 60, 4]), rounded([0, 77, 209, 14]));
    let found = compare(&baseline, &new, &options).unwrap();
    assert_eq!(found.code, ComparisonCode::Slower, "{found:?}");
    assert!(found.is_coarse() && found.p_equal < 1e-18, "{}", found.p_equal);
    let ratio = found.headline();
    assert!(
        !ratio.by_distribution && ratio.interval.lower > 1.03 && ratio.interval.upper < 1.07,
        "{ratio:?}"
    );
    let same = compare(&baseline, &rounded([2, 234, 60, 4]), &options).unwrap();
    assert_eq!(same.code, ComparisonCode::NoDifference);
}

#[test]
fn a_sample_does_not_differ_from_itself() {
    let options = CompareOptions { bootstrap: 99, ..CompareOptions::default() };
    let mut random = Xoshiro::new(6);
    let steady = draw(Gev::new(10.0, 0.5, 0.1).unwrap(), 200, 1);
    let jumping: Vec<f64> =
        steady.iter().enumerate().map(|(at, x)| if at < 90 { *x } else { 1.4 * x }).collect();
    let dependent = autoregression(0.8, 300, &mut random);
    for values in [steady, jumping, dependent, vec![3.0; 12]] {
        let found = compare(&values, &values, &options).unwrap();
        assert!(found.code == ComparisonCode::NoDifference && found.identical, "{found:?}");
        let interval = found.headline().interval;
        assert!(interval.contains(1.0), "{interval:?}");
    }
}

#[test]
fn no_answer_contradicts_the_number_that_it_quotes() {
    let options = CompareOptions { bootstrap: 99, ..CompareOptions::default() };
    let mut random = Xoshiro::new(8);
    let mut shown = 0;
    for round in 0..120 {
        let phi = [0.0, 0.3, 0.6, 0.9][round % 4];
        let factor = [1.0, 1.005, 1.02, 0.97, 1.1][round % 5];
        let n = [12, 40, 150][round % 3];
        let baseline = autoregression(phi, n, &mut random);
        let tick = if round % 7 == 0 { 0.5 } else { 1e-9 };
        let rounded =
            |values: Vec<f64>| -> Vec<f64> { values.iter().map(|x| (x / tick).round() * tick).collect() };
        let new = autoregression(phi, n, &mut random).iter().map(|x| factor * x).collect();
        let found = compare(&rounded(baseline), &rounded(new), &options).unwrap();
        let quoted = found.headline();
        match found.code {
            ComparisonCode::Slower => assert!(quoted.interval.lower > 1.0, "{found:?}"),
            ComparisonCode::Faster => assert!(quoted.interval.upper < 1.0, "{found:?}"),
            ComparisonCode::NoDifference => continue,
            ComparisonCode::OtherDifference | ComparisonCode::NotIndependent => {}
        }
        shown += 1;
        assert!(found.is_unequal());
    }
    assert!(shown > 20, "{shown}");
}
