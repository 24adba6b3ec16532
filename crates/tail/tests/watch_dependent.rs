//! Baselines that resemble their past: accepted, with the rates that are stated.

use tail::Xoshiro;
use tail::alarm::{AlarmOptions, Baseline, BaselineError, Event};

/// A stationary first-order autoregression of normal scores, turned into a GEV.
fn autoregression(phi: f64, n: usize, random: &mut Xoshiro) -> Vec<f64> {
    let law = tail::Gev::new(10.0, 1.0, 0.1).unwrap();
    let mut state = random.normal();
    (0..n)
        .map(|_| {
            state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
            law.upper_quantile(1.0 - tail::special::normal_cdf(state))
        })
        .collect()
}

#[test]
fn baselines_that_resemble_their_past_are_accepted() {
    let options = AlarmOptions { bootstrap: 0, relax: true, ..AlarmOptions::default() };
    let mut random = Xoshiro::new(4);
    let baselines = 100;
    let refused: Vec<String> = (0..baselines)
        .filter_map(|_| match Baseline::new(&autoregression(0.6, 400, &mut random), &options) {
            Err(BaselineError::Refused(why)) => Some(format!("{why:?}")),
            Err(other) => Some(other.to_string()),
            Ok(_) => None,
        })
        .collect();
    // 5 % of 100; 10 or more would happen once in 35.
    assert!(refused.len() <= 9, "{refused:#?}");
}

/// Mean rates of values above the spike threshold and of changes of level, over baselines of 400 values and later ones of
/// the same law, beside those stated.
fn rates(baselines: u64, later: usize, options: &AlarmOptions) -> [f64; 2] {
    let (mut spikes, mut changes) = (0, 0);
    for seed in 0..baselines {
        let mut random = Xoshiro::stream(9, seed);
        let Ok(baseline) = Baseline::new(&autoregression(0.6, 400, &mut random), options) else { continue };
        let threshold = baseline.spike.value;
        let mut watch = baseline.clone().watch();
        for value in autoregression(0.6, later, &mut random) {
            spikes += usize::from(value > threshold);
            let changed = |event: &Event| matches!(event, Event::Slow { .. } | Event::Fast { .. });
            if watch.push(value).iter().any(changed) {
                changes += 1;
                watch = baseline.clone().watch();
            }
        }
    }
    let all = baselines as f64 * later as f64;
    [spikes as f64 / all / options.false_alarms, changes as f64 / all * options.run_length]
}

#[test]
fn alarms_on_values_that_resemble_their_past_are_no_more_often_than_stated() {
    let options = AlarmOptions { bootstrap: 199, relax: true, ..AlarmOptions::default() };
    let [spikes, changes] = rates(20, 20_000, &options);
    // The rate differs from baseline to baseline by as much as itself, its mean of 20 by a fifth of that.
    assert!((0.3..1.6).contains(&spikes) && (0.1..1.5).contains(&changes), "{spikes} {changes}");
}

/// For the night: `cargo test -p lastrank-tail --test watch_dependent -- --ignored`.
#[test]
#[ignore = "two million values"]
fn alarms_are_no_more_often_than_stated_over_two_million_values() {
    let [spikes, changes] = rates(100, 20_000, &AlarmOptions { relax: true, ..AlarmOptions::default() });
    println!("spikes {spikes}, changes of level {changes} of the stated rates");
    // 0.60 and 0.61 here: the law is refitted to as many values as its location is known from, and its tail is known better.
    assert!((0.5..1.25).contains(&spikes) && (0.5..1.25).contains(&changes), "{spikes} {changes}");
}
