//! A distribution that `fit` refuses is used by nothing else that looks at the same values.

use tail::alarm::{AlarmOptions, Baseline, BaselineError};
use tail::assess::{AssessOptions, assess};
use tail::congestion::{CompareOptions, ComparisonCode, compare};
use tail::{Gev, Xoshiro};

/// Independent values of a GEV, of a log-normal distribution, of a uniform one, and with two modes.
fn draw(distribution: usize, n: usize, random: &mut Xoshiro) -> Vec<f64> {
    let gev = Gev::new(10.0, 0.5, 0.1).unwrap();
    (0..n)
        .map(|_| match distribution {
            0 => gev.sample(random),
            1 => (1.2 * random.normal()).exp(),
            2 => 1.0 + random.uniform(),
            _ if random.uniform() < 0.3 => 2.0 * gev.sample(random),
            _ => gev.sample(random),
        })
        .collect()
}

fn is_shown(values: &[f64]) -> bool {
    assess(values, &AssessOptions::default()).unwrap().verdict.is_distribution_shown()
}

#[test]
fn compare_uses_no_distribution_that_fit_refuses() {
    let options = CompareOptions { bootstrap: 19, ..CompareOptions::default() };
    let mut random = Xoshiro::new(31);
    let (mut used, mut refused) = (0, 0);
    for round in 0..24 {
        let pair = [(); 2].map(|()| draw(round % 4, 400, &mut random));
        let shown = pair.iter().all(|values| is_shown(values));
        let by_distribution = compare(&pair[0], &pair[1], &options).unwrap().headline().by_distribution;
        assert!(shown || !by_distribution, "distribution {} in round {round}", round % 4);
        used += usize::from(by_distribution);
        refused += usize::from(!shown);
    }
    assert!(used >= 3 && refused >= 8, "{used} {refused}");
}

#[test]
fn watch_uses_no_distribution_that_fit_refuses() {
    let options = AlarmOptions { bootstrap: 0, relax: true, false_alarms: 0.01, ..AlarmOptions::default() };
    let mut random = Xoshiro::new(32);
    let (mut used, mut refused) = (0, 0);
    for round in 0..24 {
        let values = draw(round % 4, 400, &mut random);
        let by_distribution = match Baseline::new(&values, &options) {
            // An autoregression is taken out first: that is no distribution of the values as they are.
            Ok(baseline) => baseline.counted.is_none() && baseline.ar1 == 0.0,
            Err(BaselineError::Refused(_)) => false,
            Err(other) => panic!("{other}"),
        };
        let shown = is_shown(&values);
        assert!(shown || !by_distribution, "distribution {} in round {round}", round % 4);
        used += usize::from(by_distribution);
        refused += usize::from(!shown);
    }
    assert!(used >= 3 && refused >= 8, "{used} {refused}");
}

/// Values that are slower by three deviations in bursts of ten, a tenth of the time; from half on all are slower by `step`.
fn bursts(n: usize, step: f64, random: &mut Xoshiro) -> Vec<f64> {
    let distribution = Gev::new(10.0, 0.5, 0.1).unwrap();
    let mut slow = random.uniform() < 0.1;
    (0..n)
        .map(|at| {
            let value = distribution.sample(random) + if slow { 2.1 } else { 0.0 };
            slow = if slow { random.uniform() >= 0.1 } else { random.uniform() < 0.1 / 9.0 };
            value + if 2 * at >= n { 0.7 * step } else { 0.0 }
        })
        .collect()
}

#[test]
fn the_longest_burst_of_a_pair_is_no_change_of_level_more_often_than_stated() {
    let options = CompareOptions { bootstrap: 19, ..CompareOptions::default() };
    let found = |step: f64, pairs: u64| {
        let told = (0..pairs).filter(|seed| {
            let mut random = Xoshiro::stream(5, *seed);
            let (quiet, new) = (bursts(400, 0.0, &mut random), bursts(400, step, &mut random));
            let found = compare(&quiet, &new, &options).unwrap();
            found.code != ComparisonCode::NoDifference || found.level_moves()
        });
        told.count()
    };
    // 8% of 200 are 16. A step among bursts is seen less often than one alone.
    let (alike, moved) = (found(0.0, 200), found(1.5, 40));
    assert!(alike <= 16 && moved >= 28, "{alike} of 200, {moved} of 40");
}
