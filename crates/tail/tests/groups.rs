//! What is said of ranks and groups, on distributions that are known: how often it is false, and how often a slow one is found.

use tail::groups::{GroupFinding, compare_groups};
use tail::targets::{self, TargetFinding, Targets};
use tail::{Gev, Xoshiro};

/// What durations are drawn from.
#[derive(Clone, Copy, Debug)]
enum DrawnFrom {
    /// Log-normal with this deviation of the logarithm.
    LogNormal(f64),
    /// GEV of location 10, scale 0.3 and this shape.
    Gev(f64),
    /// Log-normal of deviation 0.1 in multiples of 2.
    Ticks,
}

/// Ranks whose durations are autoregressive with `memory` each, and in what all of a step share with `common`.
#[derive(Clone, Copy, Debug)]
struct Known {
    distribution: DrawnFrom,
    ranks: usize,
    steps: usize,
    memory: f64,
    common: f64,
}

const PLAIN: Known =
    Known { distribution: DrawnFrom::LogNormal(0.1), ranks: 8, steps: 400, memory: 0.0, common: 0.0 };

impl Known {
    fn draw(&self, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Xoshiro::new(seed);
        let series = |random: &mut Xoshiro| -> Vec<f64> {
            let mut state = random.normal();
            let fresh = (1.0 - self.memory * self.memory).sqrt();
            (0..self.steps)
                .map(|_| {
                    state = self.memory * state + fresh * random.normal();
                    state
                })
                .collect()
        };
        let shared = series(&mut random);
        (0..self.ranks)
            .map(|_| {
                let own = series(&mut random);
                own.iter()
                    .zip(&shared)
                    .map(|(own, shared)| self.value(*own) * (self.common * shared).exp())
                    .collect()
            })
            .collect()
    }

    fn value(&self, normal: f64) -> f64 {
        match self.distribution {
            DrawnFrom::LogNormal(deviation) => 10.0 * (deviation * normal).exp(),
            DrawnFrom::Gev(shape) => {
                let share = tail::special::normal_cdf(normal).clamp(1e-15, 1.0 - 1e-15);
                Gev::new(10.0, 0.3, shape).unwrap().quantile(share)
            }
            DrawnFrom::Ticks => (5.0 * (0.1 * normal).exp()).round() * 2.0,
        }
    }
}

/// Whether anything is said of a rank.
fn told(found: &Targets) -> bool {
    found.findings.iter().any(|one| match one {
        TargetFinding::Slow { .. } | TargetFinding::LastWhenSlow | TargetFinding::LastUnequally { .. } => {
            true
        }
        TargetFinding::NoneSlow
        | TargetFinding::LastEqually
        | TargetFinding::Variation
        | TargetFinding::EffectiveTargets => false,
    })
}

fn told_of_groups(all: &[Vec<f64>]) -> Vec<(String, GroupFinding)> {
    let names: Vec<String> =
        all.iter().enumerate().flat_map(|(i, of)| vec![format!("{i}"); of.len()]).collect();
    let found = compare_groups(&all.concat(), &names, 0.95).unwrap();
    let said = |finding| matches!(finding, GroupFinding::Slow | GroupFinding::Fast);
    found.groups.into_iter().filter(|one| said(one.finding)).map(|one| (one.name, one.finding)).collect()
}

/// How many of the draws say something false, in the screen's words or by groups.
fn false_words(known: Known, draws: u64) -> [usize; 2] {
    let mut wrong = [0; 2];
    for seed in 0..draws {
        let all = known.draw(1_000 * known.steps as u64 + seed);
        wrong[0] += usize::from(told(&targets::analyse(&all, 0.95).unwrap()));
        wrong[1] += usize::from(!told_of_groups(&all).is_empty());
    }
    wrong
}

#[test]
fn of_equal_ranks_something_is_said_as_rarely_as_promised() {
    // Three tests of 0.5% each, and one of 0.5%. Of 60 draws 0.9 are expected; more than 5 has a probability of 0.0003.
    let cells = [
        PLAIN,
        Known { distribution: DrawnFrom::LogNormal(1.0), common: 0.3, ..PLAIN },
        Known { distribution: DrawnFrom::Gev(0.3), ranks: 2, ..PLAIN },
        Known { distribution: DrawnFrom::LogNormal(1.0), ranks: 64, steps: 20, ..PLAIN },
        Known { distribution: DrawnFrom::LogNormal(1.0), memory: 0.6, common: 0.3, ..PLAIN },
        Known { distribution: DrawnFrom::Gev(0.3), memory: 0.6, steps: 100, ..PLAIN },
        Known { distribution: DrawnFrom::Ticks, steps: 100, ..PLAIN },
    ];
    for known in cells {
        let wrong = false_words(known, 60);
        assert!(wrong[0] <= 5 && wrong[1] <= 5, "{known:?}: {wrong:?}");
    }
}

/// Draws of 20 in which exactly these ranks are called slow, of a gate and by groups.
fn found(known: Known, slow: &[usize], factor: f64) -> [usize; 2] {
    let mut right = [0; 2];
    for seed in 0..20 {
        let mut all = known.draw(seed);
        slow.iter().for_each(|rank| all[*rank].iter_mut().for_each(|value| *value *= factor));
        let of_gate = targets::analyse(&all, 0.95).unwrap();
        let named: Vec<usize> = of_gate.targets.iter().filter(|one| one.slow).map(|one| one.target).collect();
        let fast = of_gate.targets.iter().any(|one| one.finding == GroupFinding::Fast);
        let covered = slow.iter().all(|rank| of_gate.targets[*rank].interval.contains(factor));
        right[0] += usize::from(named == slow && !fast && covered);
        let mut of_groups = told_of_groups(&all);
        of_groups.sort();
        let mut wanted: Vec<(String, GroupFinding)> =
            slow.iter().map(|rank| (rank.to_string(), GroupFinding::Slow)).collect();
        wanted.sort();
        right[1] += usize::from(of_groups == wanted);
    }
    right
}

#[test]
fn slow_ranks_are_found_and_healthy_ones_are_not_called_fast() {
    // Intervals are joint, so that they cover a rank's factor in far more than 95%.
    for (known, slow, factor) in [
        (PLAIN, vec![3], 1.1),
        (Known { memory: 0.6, ..PLAIN }, vec![3], 1.1),
        (Known { distribution: DrawnFrom::LogNormal(0.3), steps: 100, ..PLAIN }, vec![3], 1.3),
        (PLAIN, vec![1, 6], 1.1),
        (PLAIN, vec![0, 1, 2], 1.3),
        (Known { ranks: 64, steps: 50, ..PLAIN }, vec![5, 40], 1.3),
        (Known { common: 0.5, ..PLAIN }, vec![3], 1.1),
    ] {
        let right = found(known, &slow, factor);
        // Where steps have much in common, operations of ranks that are taken alone do not show 10%.
        assert!(right[0] >= 18 && (known.common > 0.0 || right[1] >= 18), "{known:?} {slow:?}: {right:?}");
    }
}

#[test]
fn one_fast_rank_is_called_so_and_the_others_are_not_slow() {
    for seed in 0..20 {
        let mut all = PLAIN.draw(seed);
        all[5].iter_mut().for_each(|value| *value *= 0.8);
        let found = targets::analyse(&all, 0.95).unwrap();
        let fast = |one: &&tail::targets::Target| one.finding == GroupFinding::Fast;
        assert_eq!(found.targets.iter().filter(fast).map(|one| one.target).collect::<Vec<_>>(), [5]);
        assert!(found.targets.iter().all(|one| !one.slow));
        assert_eq!(told_of_groups(&all), [("5".to_owned(), GroupFinding::Fast)]);
    }
}

#[test]
fn a_rank_that_is_late_now_and_then_is_named_though_it_is_usually_quick() {
    for seed in 0..20 {
        let mut all = Known { distribution: DrawnFrom::Gev(0.0), ..PLAIN }.draw(seed);
        let mut random = Xoshiro::new(seed);
        all[3].iter_mut().for_each(|value| *value += if random.uniform() < 0.15 { 7.0 } else { -1.0 });
        let found = targets::analyse(&all, 0.95).unwrap();
        let when = found.last_when_slow.unwrap();
        assert!(found.findings.contains(&TargetFinding::LastWhenSlow), "{:?}", found.findings);
        assert_eq!((when.target, when.steps, when.last), (3, 40, 40));
        assert!((when.later - 7.0).abs() < 0.3, "{when:?}");
        assert!(found.targets.iter().all(|one| !one.slow), "{:?}", found.targets);
    }
}

#[test]
fn a_difference_that_nobody_would_notice_is_not_told() {
    let mut all = Known { distribution: DrawnFrom::LogNormal(0.05), steps: 4_000, ..PLAIN }.draw(1);
    all[2].iter_mut().for_each(|value| *value *= 1.01);
    let found = targets::analyse(&all, 0.95).unwrap();
    assert!(found.targets[2].p < 0.005 && !found.targets[2].slow, "{:?}", found.targets[2]);
    assert!(told_of_groups(&all).is_empty());
}

#[test]
fn few_values_and_values_that_do_not_vary_say_nothing() {
    for (ranks, steps) in [(2, 10), (100_000, 10), (8, 11)] {
        let equal = vec![vec![1.0; steps]; ranks];
        assert!(!told(&targets::analyse(&equal, 0.95).unwrap()), "{ranks} {steps}");
    }
    let mut few = Known { steps: 9, ..PLAIN }.draw(1);
    few[0].iter_mut().for_each(|value| *value *= 3.0);
    assert!(targets::analyse(&few, 0.95).is_err() && told_of_groups(&few).is_empty());
}

#[test]
fn a_drift_that_all_groups_share_hides_none_of_them() {
    let mut random = Xoshiro::new(5);
    let names: Vec<String> = (0..400).map(|n| format!("node{}", n % 8)).collect();
    let values: Vec<f64> = (0..400)
        .map(|n| {
            (if n % 8 == 5 { 1.3 } else { 1.0 }) * (10.0 + 0.02 * f64::from(n / 10)) + 0.2 * random.normal()
        })
        .collect();
    let found = compare_groups(&values, &names, 0.95).unwrap();
    let slow = &found.groups[0];
    assert_eq!((slow.name.as_str(), slow.finding), ("node5", GroupFinding::Slow));
    assert!((slow.factor.unwrap() - 1.3).abs() < 0.01, "{slow:?}");
    assert!(found.groups[1..].iter().all(|one| one.finding == GroupFinding::AsOthers), "{found:?}");
}
