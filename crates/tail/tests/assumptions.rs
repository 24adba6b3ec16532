//! The assumptions of a step: that true ones are seldom told to fail, and that false ones are found.

use tail::Xoshiro;
use tail::independence::check;
use tail::targets::{Assumptions, Standing, analyse, judge};

const RANKS: usize = 8;
const LEVEL: f64 = 0.95;
const RUNS: usize = 240;

/// How durations of one rank come about.
#[derive(Clone, Copy, Debug)]
enum EqualRanks {
    Exponential,
    LogNormal,
    /// A rank resembles itself in the step before.
    Remembers,
}

/// Eight equal ranks that know nothing of each other.
fn equal(distribution: EqualRanks, steps: usize, random: &mut Xoshiro) -> Vec<Vec<f64>> {
    (0..RANKS)
        .map(|_| {
            let mut state = random.normal();
            (0..steps)
                .map(|_| match distribution {
                    EqualRanks::Exponential => 1.0 + random.exponential(),
                    EqualRanks::LogNormal => (0.3 * random.normal()).exp(),
                    EqualRanks::Remembers => {
                        state = 0.5 * state + 0.75_f64.sqrt() * random.normal();
                        (0.2 * state).exp()
                    }
                })
                .collect()
        })
        .collect()
}

fn judged(durations: &[Vec<f64>]) -> Assumptions {
    let found = analyse(durations, LEVEL).unwrap();
    let slowest: Vec<f64> =
        (0..durations[0].len()).map(|t| durations.iter().map(|of| of[t]).fold(0.0, f64::max)).collect();
    judge(&found, Some(&check(&slowest, 1.0 - LEVEL).unwrap()), LEVEL)
}

#[test]
fn equal_independent_ranks_are_told_to_be_other_in_at_most_5_of_100_runs() {
    let mut random = Xoshiro::new(31);
    let distributions = [EqualRanks::Exponential, EqualRanks::LogNormal, EqualRanks::Remembers];
    let (mut wrong, mut met) = (Vec::new(), [0; 3]);
    for at in 0..RUNS {
        let distribution = distributions[at % distributions.len()];
        let found = judged(&equal(distribution, 200, &mut random));
        let all = [found.independent, found.alike, found.constant];
        if all.contains(&Standing::NotMet) {
            wrong.push((distribution, found));
        }
        met.iter_mut().zip(all).for_each(|(met, one)| *met += usize::from(one == Standing::Met));
    }
    // 5% of 240 are 12; three standard deviations of that number above.
    assert!(wrong.len() <= 12 + 10, "{} of {RUNS}: {wrong:?}", wrong.len());
    // 200 steps show that ranks are independent and k constant; that ranks are alike they show of two distributions of the three.
    assert!(met[0] > RUNS * 9 / 10 && met[1] > RUNS / 3 && met[2] > RUNS * 9 / 10, "{met:?} of {RUNS}");
}

#[test]
fn what_ranks_share_in_a_step_is_not_independent() {
    let mut random = Xoshiro::new(7);
    let mut shared = equal(EqualRanks::LogNormal, 200, &mut random);
    for t in 0..200 {
        let congestion = (0.15 * random.normal()).exp();
        shared.iter_mut().for_each(|of| of[t] *= congestion);
    }
    let found = judged(&shared);
    // The shared factor may be k.
    let all = [found.independent, found.alike, found.constant];
    assert_eq!(all, [Standing::NotMet, Standing::Met, Standing::NotKnown], "{found:?}");
}

#[test]
fn a_pause_that_stops_all_ranks_now_and_then_shows_in_the_extremal_coefficient() {
    let mut random = Xoshiro::new(9);
    let mut paused = equal(EqualRanks::LogNormal, 400, &mut random);
    for t in (5..400).step_by(50) {
        paused.iter_mut().for_each(|of| of[t] += 20.0);
    }
    let targets = analyse(&paused, LEVEL).unwrap();
    let one = targets.dependence.unwrap();
    assert!(one.p < 0.015 && targets.extremal.unwrap().effective < 7.0, "{one:?}");
    assert_eq!(judged(&paused).independent, Standing::NotMet);
}

#[test]
fn a_rank_that_differs_is_not_alike_and_nothing_else_is_said_of_it() {
    let mut random = Xoshiro::new(11);
    let mut slow = equal(EqualRanks::LogNormal, 400, &mut random);
    slow[3].iter_mut().for_each(|one| *one *= 1.3);
    let found = judged(&slow);
    let all = [found.independent, found.alike, found.constant];
    assert_eq!(all, [Standing::Met, Standing::NotMet, Standing::Met], "{found:?}");
}

#[test]
fn a_level_that_changes_is_no_constant_k() {
    let mut random = Xoshiro::new(13);
    let mut jumps = equal(EqualRanks::LogNormal, 400, &mut random);
    jumps.iter_mut().for_each(|of| of[200..].iter_mut().for_each(|one| *one *= 1.5));
    assert_eq!(judged(&jumps).constant, Standing::NotMet);
}

#[test]
fn few_steps_leave_unknown_what_they_cannot_show() {
    let mut random = Xoshiro::new(17);
    let few = equal(EqualRanks::Exponential, 15, &mut random);
    let found = judge(&analyse(&few, LEVEL).unwrap(), None, LEVEL);
    assert_eq!([found.independent, found.alike, found.constant], [Standing::NotKnown; 3], "{found:?}");
}
