//! Alarms: the promised rate of false ones, the delay of true ones, one alarm an event.

use tail::alarm::{AlarmOptions, Baseline, Event, Level};
use tail::{Gev, Xoshiro};

fn law() -> Gev {
    Gev::new(11.1679, 0.2120, -0.00105).unwrap()
}

fn quiet(n: usize, random: &mut Xoshiro) -> Vec<f64> {
    (0..n).map(|_| law().sample(random)).collect()
}

#[test]
fn over_many_baselines_spikes_keep_the_stated_rate() {
    let (alpha, runs) = (0.01, 120);
    let options = AlarmOptions { false_alarms: alpha, bootstrap: 199, ..AlarmOptions::default() };
    let (mut calibrated, mut plain, mut used) = (0.0, 0.0, 0.0);
    for index in 0..runs {
        let mut random = Xoshiro::stream(31, index);
        let baseline = Baseline::new(&quiet(100, &mut random), &options).unwrap();
        let average = baseline.law.upper_quantile(baseline.spike.nominal);
        calibrated += law().survival(average) / runs as f64;
        used += law().survival(baseline.spike.value) / runs as f64;
        plain += law().survival(baseline.spike.plug_in) / runs as f64;
        assert!(baseline.spike.guaranteed >= baseline.spike.value);
    }
    assert!((calibrated / alpha - 1.0).abs() < 0.25, "{calibrated}");
    assert!(plain > calibrated);
    // So few runs take the guaranteed threshold.
    assert!(used < 0.75 * alpha, "{used}");
}

#[test]
fn a_sustained_slow_down_is_found_soon_and_told_once() {
    let mut random = Xoshiro::new(2);
    let mut watch = Baseline::new(&quiet(400, &mut random), &AlarmOptions::default()).unwrap().watch();
    let mut events = Vec::new();
    for i in 0..200 {
        let k = if i >= 100 { 1.05 } else { 1.0 };
        events.extend(watch.push(k * law().sample(&mut random)));
    }
    let slow: Vec<&Event> = events.iter().filter(|e| matches!(e, Event::Slow { .. })).collect();
    assert_eq!(slow.len(), 1, "{events:?}");
    let Event::Slow { run, since, factor, .. } = slow[0] else { unreachable!() };
    assert!((101..=115).contains(run), "{run}");
    assert!(since.abs_diff(101) <= 5 && (factor - 1.05).abs() < 0.04);
    assert!(watch.alarmed());
}

#[test]
fn recovery_is_told_and_unlatches() {
    let mut random = Xoshiro::new(3);
    let mut watch = Baseline::new(&quiet(400, &mut random), &AlarmOptions::default()).unwrap().watch();
    for _ in 0..60 {
        watch.push(1.05 * law().sample(&mut random));
    }
    assert_eq!(watch.level, Level::Slow);
    let events: Vec<Event> = (0..60).flat_map(|_| watch.push(law().sample(&mut random))).collect();
    assert!(matches!(events[0], Event::Recovered { .. }), "{events:?}");
    assert_eq!(watch.level, Level::Quiet);
}

#[test]
fn a_lasting_level_becomes_the_baseline_when_asked_to() {
    let mut random = Xoshiro::new(4);
    let options = AlarmOptions { rebaseline: 120, bootstrap: 99, ..AlarmOptions::default() };
    let mut watch = Baseline::new(&quiet(400, &mut random), &options).unwrap().watch();
    let events: Vec<Event> = (0..200).flat_map(|_| watch.push(1.10 * law().sample(&mut random))).collect();
    assert!(events.iter().any(|e| matches!(e, Event::Rebaselined { .. })), "{events:?}");
    assert!((watch.baseline.law.location / (1.1 * law().location) - 1.0).abs() < 0.01);
}

#[test]
fn a_stored_state_goes_on_where_it_stopped() {
    let mut random = Xoshiro::new(5);
    let mut watch =
        Baseline::new(&quiet(200, &mut random), &AlarmOptions { bootstrap: 49, ..AlarmOptions::default() })
            .unwrap()
            .watch();
    let stream: Vec<f64> = (0..100).map(|_| 1.02 * law().sample(&mut random)).collect();
    stream[..50].iter().for_each(|&x| drop(watch.push(x)));
    let text = serde_json::to_string(&watch).unwrap();
    let mut other: tail::alarm::Watch = serde_json::from_str(&text).unwrap();
    for &x in &stream[50..] {
        assert_eq!(watch.push(x).len(), other.push(x).len());
    }
    assert_eq!(watch.level, other.level);
}

#[test]
fn a_rate_that_the_baseline_cannot_promise_is_refused() {
    let mut random = Xoshiro::new(6);
    let options = AlarmOptions { false_alarms: 1e-5, ..AlarmOptions::default() };
    assert!(Baseline::new(&quiet(100, &mut random), &options).is_err());
}

#[test]
fn a_short_baseline_takes_the_guaranteed_thresholds_by_itself() {
    let mut random = Xoshiro::new(21);
    let of = |n: usize, random: &mut Xoshiro| {
        let options = AlarmOptions { bootstrap: 99, false_alarms: 0.01, ..AlarmOptions::default() };
        Baseline::new(&quiet(n, random), &options).unwrap()
    };
    let short = of(199, &mut random);
    assert!(short.guaranteed && short.spike.value == short.spike.guaranteed);
    assert_eq!([short.cusum, short.cusum_fast], short.cusum_guaranteed);
    let mut long = of(200, &mut random);
    assert!(!long.guaranteed && long.spike.value < long.spike.guaranteed);
    assert!(long.cusum < long.cusum_guaranteed[0]);
    long.guarantee();
    assert!(long.guaranteed && long.spike.value == long.spike.guaranteed);
}
