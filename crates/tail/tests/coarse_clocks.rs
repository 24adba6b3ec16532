//! What is shown of values from a coarse clock is the fit to intervals, and its intervals hold what they say.

use tail::assess::{AssessOptions, assess};
use tail::verdict::{Usability, VerdictCode};
use tail::{Error, Gev, Xoshiro};

fn options() -> AssessOptions {
    AssessOptions { bootstrap: 0, periods: vec![100.0], ..AssessOptions::default() }
}

fn ticked(distribution: &Gev, tick: f64, n: usize, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro::stream(404, seed);
    (0..n).map(|_| (distribution.sample(&mut random) / tick).round() * tick).collect()
}

#[test]
fn intervals_hold_the_truth_at_each_tick() {
    const SAMPLES: u64 = 40;
    let distribution = Gev::new(24.0, 0.5, 0.0).unwrap();
    for ticks_per_scale in [0.2, 0.5, 1.0, 2.0, 4.0] {
        let tick = ticks_per_scale * distribution.scale;
        let (mut held, mut fitted) = ([0; 3], 0);
        for seed in 0..SAMPLES {
            let found = match assess(&ticked(&distribution, tick, 400, seed), &options()) {
                Ok(found) => found,
                Err(Error::TooFewDistinct { .. }) if ticks_per_scale >= 4.0 => continue,
                Err(why) => panic!("{why}"),
            };
            fitted += 1;
            let intervals = found.gev.intervals.unwrap();
            let all = [
                (intervals.scale, distribution.scale),
                (intervals.shape, distribution.shape),
                (found.return_levels[0].interval, distribution.return_level(100.0)),
            ];
            for (held, (interval, truth)) in held.iter_mut().zip(all) {
                *held += u64::from(interval.is_some_and(|i| i.lower <= truth && truth <= i.upper));
            }
        }
        // Of 40 at 95% fewer than 33 hold once in 1,000.
        let least = fitted * 33 / SAMPLES;
        assert!(held.iter().all(|held| *held >= least), "{ticks_per_scale}: {held:?} of {fitted}");
    }
}

#[test]
fn a_coarse_clock_prefers_no_other_distribution() {
    let distribution = Gev::new(24.0, 0.5, 0.1).unwrap();
    for seed in 0..20 {
        let found = assess(&ticked(&distribution, 0.5, 400, seed), &options()).unwrap();
        assert!(found.diagnostics.rounded.is_some());
        assert_ne!(found.verdict.code, VerdictCode::RivalPreferred, "{seed}");
    }
}

#[test]
fn fewer_than_six_distinct_values_have_no_verdict() {
    let distribution = Gev::new(24.0, 0.5, 0.0).unwrap();
    let found = assess(&ticked(&distribution, 1.0, 400, 3), &options()).unwrap();
    assert!(found.distinct < 6, "{}", found.distinct);
    assert_eq!((found.verdict.code, found.verdict.usability), (VerdictCode::Rounded, Usability::NotUsable));
    let finer = assess(&ticked(&distribution, 0.25, 400, 3), &options()).unwrap();
    assert_ne!(finer.verdict.code, VerdictCode::Rounded);
}
