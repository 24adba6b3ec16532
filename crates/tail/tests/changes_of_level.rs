//! Jumps and trends are told of series that have them, and not of stationary series that resemble themselves.

use tail::Xoshiro;
use tail::independence::{self, Independence, LevelModel, Question};

/// Autoregressions with standard deviation 1, plus `level`.
fn check(n: usize, phi: f64, level: impl Fn(f64) -> f64, seed: u64) -> Independence {
    let mut random = Xoshiro::stream(77, seed);
    let mut state = random.normal();
    let values: Vec<f64> = (0..n)
        .map(|at| {
            state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
            20.0 + state + level(at as f64 / n as f64)
        })
        .collect();
    independence::check(&values, 0.05).unwrap()
}

fn rejected(found: &Independence, question: Question) -> bool {
    found.test(question).is_some_and(|test| test.rejected)
}

#[test]
fn stationary_series_seldom_jump_or_drift() {
    // At most so many of 60. The joint level of 5% gives each of both about 0.65%.
    for (n, phi, most) in [(50, 0.6, 6), (100, 0.6, 4), (400, 0.6, 3), (400, 0.9, 5)] {
        let told = (0..60).filter(|seed| check(n, phi, |_| 0.0, *seed).level.is_some()).count();
        assert!(told <= most, "{n} {phi}: {told}");
    }
}

#[test]
fn a_step_is_found_and_called_a_step_a_ramp_a_ramp() {
    for (n, phi, from, to, height) in [
        (400, 0.3, 0.5, 1.0, 1.0),
        (400, 0.3, 0.25, 1.0, 1.0),
        (400, 0.0, 0.4, 0.7, 4.0),
        (100, 0.0, 0.5, 1.0, 1.3),
    ] {
        let step = |at: f64| if (from..to).contains(&at) { height } else { 0.0 };
        let all: Vec<Independence> = (0..40).map(|seed| check(n, phi, step, seed)).collect();
        let found = all.iter().filter(|one| rejected(one, Question::Jump)).count();
        assert!(found >= 35, "{n} {phi} {from} {to}: {found}");
        let named = all.iter().filter(|one| one.level == Some(LevelModel::Jump)).count();
        assert!(named >= 32, "{n} {phi} {from} {to}: {named} are called jumps");
        if to == 1.0 {
            let one = all.iter().filter(|one| one.segments.len() == 2).count();
            assert!(one >= 30, "{n} {phi} {from} {to}: {one} have two segments");
        }
    }
    for (n, phi, height) in [(400, 0.0, 1.5), (400, 0.3, 2.0)] {
        let all: Vec<Independence> = (0..40).map(|seed| check(n, phi, |at| height * at, seed)).collect();
        let named = all.iter().filter(|one| one.level == Some(LevelModel::Trend)).count();
        assert!(named >= 32, "{n} {phi}: {named} are called trends");
    }
}

#[test]
fn a_high_ramp_is_found_though_its_fast_values_are_all_at_one_end() {
    for (n, phi, height) in [(400, 0.0, 6.0), (400, 0.0, 15.0), (100, 0.0, 15.0), (400, 0.6, 6.0)] {
        let moves = |seed: &u64| check(n, phi, |at| height * at, *seed).level.is_some();
        let found = (0..40).filter(moves).count();
        assert!(found >= 39, "{n} {phi} {height}: {found}");
    }
}

#[test]
fn what_is_too_small_to_matter_refuses_nothing() {
    // Tau is about -0.02.
    let found = check(60_000, 0.0, |at| -0.1 * at, 1);
    let trend = found.test(Question::Trend).unwrap();
    assert!(trend.negligible && !trend.rejected && trend.p < 1e-6, "{trend:?}");
    assert_eq!((found.level, found.segments.len()), (None, 1));
}
