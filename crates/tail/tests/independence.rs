//! Stage one against reference values of statsmodels and scipy, and its size on independent values.

mod common;

use common::{data, json, number};
use tail::independence::{self, Question, Spacing, TestFinding};
use tail::{Gev, Xoshiro};

const SETS: [&str; 5] =
    ["s01_paper400", "s13_normal400", "s17_drift400", "s18_changepoint400", "s15_bimodal400"];

#[test]
fn statistics_match_the_reference() {
    let reference = &json("extras.json")["iid_diagnostics"];
    for set in SETS {
        let values = data(set);
        let wanted = &reference[set];
        let near = |found: f64, keys: &[&str], tolerance: f64| {
            let wanted = number(wanted, keys);
            assert!(
                (found - wanted).abs() <= tolerance * wanted.abs().max(1e-290),
                "{set} {keys:?}: {found} against {wanted}"
            );
        };
        near(independence::autocorrelations(&values, 1)[0], &["acf1_denominator_n"], 1e-10);
        for lags in [10, 20] {
            let (statistic, p) = independence::ljung_box(&values, lags);
            near(statistic, &["ljung_box", &lags.to_string(), "stat"], 1e-9);
            if p > 1e-300 {
                near(p, &["ljung_box", &lags.to_string(), "p"], 1e-8);
            }
        }
        let trend = independence::mann_kendall(&values);
        near(trend.tau, &["mann_kendall_tau"], 1e-10);
        near(trend.p_independent, &["mann_kendall_p"], 1e-2);
        let jump = independence::pettitt(&values);
        near(jump.statistic, &["pettitt_K"], 0.0);
        near(jump.last_before as f64, &["pettitt_at_zero_based"], 0.0);
        near(jump.p, &["pettitt_p_approx"], 1e-9);
    }
}

#[test]
fn the_dip_matches_the_reference() {
    // Values of the diptest package 0.12.
    for (set, wanted) in [
        ("s01_paper400", 0.00941988884675263),
        ("s15_bimodal400", 0.08113299189196668),
        ("s13_normal400", 0.015394944111985711),
    ] {
        let mut values = data(set);
        values.sort_by(f64::total_cmp);
        let found = independence::dip_test(&values, 99);
        assert!((found.dip / wanted - 1.0).abs() < 1e-12, "{set}: {} against {wanted}", found.dip);
    }
}

#[test]
fn independent_draws_pass() {
    for set in ["s01_paper400", "s13_normal400", "s02_heavy400", "s26_max32_gamma400"] {
        let found = independence::check(&data(set), 0.05).unwrap();
        assert!(found.passed, "{set}: {:?}", found.rejected().collect::<Vec<_>>());
        assert_eq!(found.segments.len(), 1, "{set}");
    }
}

#[test]
fn each_fault_is_found_by_the_test_for_it() {
    for (set, question) in [
        ("s17_drift400", Question::Trend),
        ("s18_changepoint400", Question::Jump),
        ("s15_bimodal400", Question::Modes),
    ] {
        let found = independence::check(&data(set), 0.05).unwrap();
        assert!(found.test(question).unwrap().rejected, "{set}");
    }
    let jump = independence::check(&data("s18_changepoint400"), 0.05).unwrap();
    assert_eq!(jump.segments.len(), 2);
    assert!(jump.segments[1].start.abs_diff(250) < 5);
}

#[test]
fn a_coarse_clock_is_not_taken_for_modes() {
    let found = independence::check(&data("s09_ties_q1us_s2us"), 0.05).unwrap();
    assert!(!found.test(Question::Modes).unwrap().rejected);
}

#[test]
fn autocorrelation_is_found_and_reduces_the_effective_sample_size() {
    // A Gumbel-scale AR(1) of 0.6.
    let mut random = Xoshiro::new(11);
    let mut state = 0.0;
    let values: Vec<f64> = (0..400)
        .map(|_| {
            state = 0.6 * state + 0.8 * random.normal();
            10.0 + state
        })
        .collect();
    let found = independence::check(&values, 0.05).unwrap();
    assert!(found.test(Question::Autocorrelation).unwrap().rejected);
    assert!((found.ar1 - 0.6).abs() < 0.1);
    assert!(found.effective_size < 200.0);
}

/// The size is 5% for exact tests; the tests of modes and of slow values are conservative bounds.
#[test]
fn on_independent_values_each_test_rejects_about_five_percent() {
    let distribution = Gev::new(10.0, 1.0, 0.0).unwrap();
    let runs = 500;
    let mut hits = [0; 5];
    let mut any = 0;
    for seed in 0..runs {
        let mut random = Xoshiro::stream(21, seed);
        let values: Vec<f64> = (0..200).map(|_| distribution.sample(&mut random)).collect();
        let found = independence::check(&values, 0.05).unwrap();
        for (hit, test) in hits.iter_mut().zip(&found.tests) {
            *hit += usize::from(test.p < 0.05);
        }
        any += usize::from(!found.passed);
    }
    let share = |count: usize| count as f64 / runs as f64;
    for (i, hit) in hits.into_iter().enumerate() {
        let most = 0.075;
        assert!(share(hit) <= most, "test {i}: {}", share(hit));
        if i < 2 {
            assert!(share(hit) >= 0.03, "test {i}: {}", share(hit));
        }
    }
    assert!(share(any) <= 0.07, "{}", share(any));
}

/// A hundred striped writes on a parallel file system: lag-1 rank correlation +0.40.
#[test]
fn autocorrelated_striped_writes_are_not_independent() {
    let values = data("gluster-striped-100");
    let found = independence::check(&values, 0.05).unwrap();
    let test = found.test(Question::Autocorrelation).unwrap();
    assert!(test.rejected && test.p_adjusted < 0.01, "{test:?}");
    let verdict = tail::assess::assess(&values, &tail::assess::AssessOptions::default()).unwrap().verdict;
    assert_eq!(verdict.code, tail::verdict::VerdictCode::NotIndependent);
}

/// 400 values, one in twenty ten scales away.
#[test]
fn a_small_distant_cluster_is_a_separate_mode() {
    let found = independence::check(&data("mix5"), 0.05).unwrap();
    assert!(found.test(Question::Modes).unwrap().rejected);
    assert_eq!(found.modes.len(), 2, "{:?}", found.modes);
    assert!(found.modes[1].lower > 12.4 && found.modes[1].share < 0.1, "{:?}", found.modes);
}

/// 20,000 values of which every hundredth is slow, as a periodic flush causes.
#[test]
fn a_periodic_flush_is_found_and_its_period_named() {
    let distribution = Gev::new(10.0, 0.3, 0.0).unwrap();
    let mut random = Xoshiro::new(23);
    let values: Vec<f64> = (0..20_000)
        .map(|i| distribution.sample(&mut random) + if i % 100 == 0 { 3.0 } else { 0.0 })
        .collect();
    let found = independence::check(&values, 0.05).unwrap();
    let test = found.test(Question::SlowValues).unwrap();
    assert!(
        matches!(&test.finding, TestFinding::SlowPatterned { slow }
            if slow.spacing == Spacing::Periodic && slow.distance == 100),
        "{test:?}"
    );
    let far = tail::latency::analyse(&values, &[1e5], 0.95, 1).unwrap();
    assert!(far.slow.is_some_and(|slow| slow.distance == 100 && slow.p < 1e-6), "{:?}", far.slow);
}

#[test]
fn sorted_values_are_called_sorted_and_nothing_is_said_of_their_order() {
    let distribution = tail::Gev::new(10.0, 0.5, 0.1).unwrap();
    let mut random = tail::Xoshiro::new(3);
    let mut values: Vec<f64> = (0..200).map(|_| distribution.sample(&mut random)).collect();
    assert!(!independence::check(&values, 0.05).unwrap().sorted);
    for direction in [1.0, -1.0] {
        values.sort_by(|a, b| (direction * a).total_cmp(&(direction * b)));
        let found = independence::check(&values, 0.05).unwrap();
        assert!(found.sorted && found.passed && found.effective_size == 200.0);
        assert!(found.tests.iter().all(|test| !test.question.is_about_order()), "{:?}", found.tests);
        // A step of a coarse clock is no sorted file.
        let step: Vec<f64> = (0..200).map(|at| f64::from(at / 100)).collect();
        assert!(!independence::check(&step, 0.05).unwrap().sorted);
    }
}

#[test]
fn few_values_tell_no_change_of_the_level() {
    // A jump of ten standard deviations is dependence, and of 40 values not told from clusters.
    let mut random = tail::Xoshiro::new(8);
    let values: Vec<f64> =
        (0..60).map(|at| random.normal() + if at % 40 < 20 { 0.0 } else { 10.0 }).collect();
    let few = independence::check(&values[..40], 0.05).unwrap();
    assert!(few.test(Question::Jump).is_none() && few.test(Question::Trend).is_none() && !few.passed);
    // Sixty that go up and down again are, beside one jump, too alike to their neighbours to tell; one jump is told.
    assert!(!independence::check(&values, 0.05).unwrap().tells_changes());
    let once: Vec<f64> = (0..60).map(|at| random.normal() + if at < 30 { 0.0 } else { 10.0 }).collect();
    let enough = independence::check(&once, 0.05).unwrap();
    assert!(enough.tells_changes() && enough.test(Question::Jump).unwrap().rejected);
}
