//! Baselines that resemble their past: accepted, with the rates that are stated.

use tail::Xoshiro;
use tail::alarm::{AlarmOptions, Baseline, BaselineError, Event};
use tail::special::normal_cdf;

/// A distribution of single runs.
#[derive(Clone, Copy, Debug)]
enum Parent {
    Gev(f64),
    LogNormal(f64),
    Gamma(i32),
}

impl Parent {
    /// The value with this normal score.
    fn value(self, score: f64) -> f64 {
        let above = normal_cdf(-score);
        match self {
            Parent::Gev(shape) => tail::Gev::new(10.0, 1.0, shape).unwrap().upper_quantile(above),
            Parent::LogNormal(deviation) => 10.0 * (deviation * score).exp(),
            Parent::Gamma(shape) => tail::special::gamma_quantile(f64::from(shape), 1.0 - above),
        }
    }
}

const GEV: Parent = Parent::Gev(0.1);

/// A stationary first-order autoregression of normal scores, turned into a distribution.
fn autoregression(parent: Parent, phi: f64, n: usize, random: &mut Xoshiro) -> Vec<f64> {
    let mut state = random.normal();
    (0..n)
        .map(|_| {
            state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
            parent.value(state)
        })
        .collect()
}

#[test]
fn baselines_that_resemble_their_past_are_accepted() {
    let options = AlarmOptions { bootstrap: 0, relax: true, ..AlarmOptions::default() };
    let mut random = Xoshiro::new(4);
    let baselines = 100;
    let refused: Vec<String> = (0..baselines)
        .filter_map(|_| match Baseline::new(&autoregression(GEV, 0.6, 400, &mut random), &options) {
            Err(BaselineError::Refused(why)) => Some(format!("{why:?}")),
            Err(other) => Some(other.to_string()),
            Ok(_) => None,
        })
        .collect();
    // 5% of 100; 10 or more would happen once in 35.
    assert!(refused.len() <= 9, "{refused:#?}");
}

/// Mean rates of values above the spike threshold and of changes of level, over baselines of 400 values and later ones of
/// the same distribution, beside those stated.
fn rates(parent: Parent, phi: f64, [baselines, later]: [usize; 2], options: &AlarmOptions) -> [f64; 2] {
    let (mut spikes, mut changes, mut accepted) = (0, 0, 0);
    for seed in 0..baselines as u64 {
        let mut random = Xoshiro::stream(9, seed);
        let quiet = autoregression(parent, phi, 400, &mut random);
        let Ok(baseline) = Baseline::new(&quiet, options) else { continue };
        accepted += 1;
        let threshold = baseline.spike.value;
        let mut watch = baseline.clone().watch();
        for value in autoregression(parent, phi, later, &mut random) {
            spikes += usize::from(value > threshold);
            let changed = |event: &Event| matches!(event, Event::Slow { .. } | Event::Fast { .. });
            if watch.push(value).iter().any(changed) {
                changes += 1;
                watch = baseline.clone().watch();
            }
        }
    }
    let all = (accepted * later) as f64;
    [spikes as f64 / all / options.false_alarms, changes as f64 / all * options.run_length]
}

#[test]
fn alarms_on_values_that_resemble_their_past_come_as_often_as_stated() {
    let options = AlarmOptions { bootstrap: 199, relax: true, ..AlarmOptions::default() };
    let [spikes, changes] = rates(GEV, 0.6, [20, 20_000], &options);
    // The rate differs from baseline to baseline by as much as itself, its mean of 20 by a fifth of that.
    assert!((0.4..1.8).contains(&spikes) && (0.4..1.8).contains(&changes), "{spikes} {changes}");
}

/// For the night: `cargo test -p lastrank-tail --test watch_dependent -- --ignored --nocapture`.
#[test]
#[ignore = "thirty million values"]
fn alarms_come_as_often_as_stated_over_two_million_values() {
    let mut outside = Vec::new();
    let options = AlarmOptions { relax: true, ..AlarmOptions::default() };
    for parent in [GEV, Parent::Gev(-0.2), Parent::Gev(0.3), Parent::LogNormal(0.2), Parent::Gamma(4)] {
        for phi in [0.0, 0.3, 0.6] {
            let [spikes, changes] = rates(parent, phi, [100, 20_000], &options);
            println!(
                "{parent:?}, {phi}: spikes {spikes:.2}, changes of level {changes:.2} of the stated rates"
            );
            // The tail of values that are nearly normal bends otherwise than that of the distribution which fits them, out of sight
            // of 400.
            let of_spikes = match parent {
                Parent::Gev(_) | Parent::Gamma(_) => 0.75..1.25,
                Parent::LogNormal(_) => 0.75..1.5,
            };
            if !of_spikes.contains(&spikes) || !(0.75..1.25).contains(&changes) {
                outside.push(format!("{parent:?}, {phi}: {spikes} {changes}"));
            }
        }
    }
    assert!(outside.is_empty(), "{outside:#?}");
}
