//! Alarms: the rate of false alarms, the delay of true alarms, one alarm per event.

use tail::alarm::{AlarmOptions, Baseline, BaselineError, Event, Level, Refusal};
use tail::{Gev, Xoshiro};

fn distribution() -> Gev {
    Gev::new(11.1679, 0.2120, -0.00105).unwrap()
}

fn quiet(n: usize, random: &mut Xoshiro) -> Vec<f64> {
    (0..n).map(|_| distribution().sample(random)).collect()
}

#[test]
fn over_many_baselines_spikes_keep_the_stated_rate() {
    let (alpha, runs) = (0.01, 120);
    let options = AlarmOptions { false_alarms: alpha, bootstrap: 199, ..AlarmOptions::default() };
    let (mut calibrated, mut plain, mut used) = (0.0, 0.0, 0.0);
    let baselines = (0..).filter_map(|index| {
        let mut random = Xoshiro::stream(31, index);
        let baseline = Baseline::new(&quiet(100, &mut random), &options).unwrap();
        // Of one in sixty the distribution is refused by chance.
        baseline.counted.is_none().then_some(baseline)
    });
    for baseline in baselines.take(runs) {
        let average = baseline.distribution.upper_quantile(baseline.spike.nominal);
        calibrated += distribution().survival(average) / runs as f64;
        used += distribution().survival(baseline.spike.value) / runs as f64;
        plain += distribution().survival(baseline.spike.plug_in) / runs as f64;
        assert!(baseline.spike.guaranteed >= baseline.spike.value);
    }
    assert!((calibrated / alpha - 1.0).abs() < 0.25, "{calibrated}");
    assert!(plain > calibrated);
    // With this few runs the guaranteed threshold is used.
    assert!(used < 0.75 * alpha, "{used}");
}

/// Of the tail of the quiet runs one estimate is told: a spike is never less rare than the threshold that it is above.
#[test]
fn a_spike_is_as_rare_as_its_threshold_or_rarer() {
    for (runs, seed) in [(100, 1), (400, 2), (400, 3), (400, 4)] {
        let mut random = Xoshiro::stream(37, seed);
        let values: Vec<f64> = (0..runs).map(|_| 24.0 * (0.2 * random.normal()).exp()).collect();
        let options = AlarmOptions { false_alarms: 1e-3, relax: true, ..AlarmOptions::default() };
        let Ok(baseline) = Baseline::new(&values, &options) else { continue };
        let at = baseline.chance(baseline.spike.value);
        assert!(at <= 1.000_001e-3, "{runs} {seed}: {at}");
        if !baseline.guaranteed && baseline.counted.is_none() {
            assert!((at / 1e-3 - 1.0).abs() < 1e-6, "{runs} {seed}: {at}");
        }
        assert!(baseline.chance(1.1 * baseline.spike.value) < at);
    }
}

#[test]
fn a_sustained_slow_down_is_found_soon_and_reported_once() {
    let mut random = Xoshiro::new(2);
    let mut watch = Baseline::new(&quiet(400, &mut random), &AlarmOptions::default()).unwrap().watch();
    let mut events = Vec::new();
    for i in 0..200 {
        let k = if i >= 100 { 1.05 } else { 1.0 };
        events.extend(watch.push(k * distribution().sample(&mut random)));
    }
    let slow: Vec<&Event> = events.iter().filter(|e| matches!(e, Event::Slow { .. })).collect();
    assert_eq!(slow.len(), 1, "{events:?}");
    let Event::Slow { run, since, factor, .. } = slow[0] else { unreachable!() };
    assert!((101..=115).contains(run), "{run}");
    assert!(since.abs_diff(101) <= 5 && (factor - 1.05).abs() < 0.04);
    assert!(watch.alarmed());
}

/// A level that is much higher is dated where it began, though the alarm looks for a small step, and told as large as it is.
#[test]
fn a_large_step_begins_where_it_began() {
    let (mut found, mut far) = (0, 0);
    for seed in 0..60 {
        let mut random = Xoshiro::stream(41, seed);
        // One of twenty baselines is refused.
        let Ok(baseline) = Baseline::new(&quiet(200, &mut random), &AlarmOptions::default()) else {
            continue;
        };
        let (mut watch, mut events) = (baseline.watch(), Vec::new());
        for i in 0..60 {
            let k = if i >= 39 { 1.8 } else { 1.0 };
            events.extend(watch.push(k * distribution().sample(&mut random)));
        }
        // A false alarm before leaves none for the step.
        let slow = events.iter().find_map(|event| match event {
            Event::Slow { run, since, factor, .. } if *run >= 40 => Some((*since, *factor)),
            _ => None,
        });
        let Some((since, factor)) = slow else { continue };
        found += 1;
        far += usize::from(since.abs_diff(40) > 2 || (factor - 1.8).abs() > 0.1);
    }
    assert!(found > 45 && far <= 2, "{far} of {found}");
}

#[test]
fn recovery_is_reported_and_unlatches() {
    let mut random = Xoshiro::new(13);
    let mut watch = Baseline::new(&quiet(400, &mut random), &AlarmOptions::default()).unwrap().watch();
    for _ in 0..60 {
        watch.push(1.05 * distribution().sample(&mut random));
    }
    assert_eq!(watch.level, Level::Slow);
    let events: Vec<Event> = (0..60).flat_map(|_| watch.push(distribution().sample(&mut random))).collect();
    assert!(matches!(events[0], Event::Recovered { .. }), "{events:?}");
    assert_eq!(watch.level, Level::Quiet, "{events:?}");
}

/// How often a stream that stays `by` times as slow for `runs` runs is told to be slow, on average, and for how many of ten baselines it
/// is not at the end.
fn told_of_a_lasting_level(
    (by, runs): (f64, usize),
    of: impl Fn(usize, &mut Xoshiro) -> Vec<f64>,
    options: &AlarmOptions,
) -> (f64, u32) {
    let (mut told, mut slow, mut kept) = (0, 0, 0);
    for seed in 0..10 {
        let mut random = Xoshiro::new(700 + seed);
        // One in a hundred is refused by chance.
        let Ok(mut baseline) = Baseline::new(&of(400, &mut random), options) else { continue };
        kept += 1;
        assert!(baseline.guarantee());
        let mut watch = baseline.watch();
        for value in of(runs, &mut random) {
            let events = watch.push(by * value);
            told += events.iter().filter(|event| matches!(event, Event::Slow { .. })).count() as u32;
        }
        slow += u32::from(watch.level == Level::Slow);
    }
    assert!(kept >= 8);
    (f64::from(told) / f64::from(kept), kept - slow)
}

#[test]
fn a_lasting_level_is_told_once_and_stays_to_the_end() {
    let options = AlarmOptions { bootstrap: 49, ..AlarmOptions::default() };
    let (told, wrong) = told_of_a_lasting_level((1.03, 600), quiet, &options);
    assert!(told <= 1.5 && wrong == 0, "{told} {wrong}");
    // Less than half of what is looked for is told late, and is not forgotten.
    let (told, wrong) = told_of_a_lasting_level((1.02, 4_000), quiet, &options);
    assert!((0.9..=1.3).contains(&told) && wrong == 0, "{told} {wrong}");
    // Counted: most runs of a block are beyond the median, and fewer than 90% of baselines need for an alarm.
    let options = AlarmOptions { false_alarms: 0.02, run_length: 500.0, ..options };
    let (told, wrong) = told_of_a_lasting_level((1.1, 600), two_modes, &options);
    assert!(told <= 1.5 && wrong <= 1, "{told} {wrong}");
}

#[test]
fn a_lasting_level_becomes_the_baseline_when_asked_to() {
    let mut random = Xoshiro::new(4);
    let options = AlarmOptions { rebaseline: 120, bootstrap: 99, ..AlarmOptions::default() };
    let mut watch = Baseline::new(&quiet(400, &mut random), &options).unwrap().watch();
    let events: Vec<Event> =
        (0..200).flat_map(|_| watch.push(1.10 * distribution().sample(&mut random))).collect();
    assert!(events.iter().any(|e| matches!(e, Event::Rebaselined { .. })), "{events:?}");
    assert!((watch.baseline.distribution.location / (1.1 * distribution().location) - 1.0).abs() < 0.01);
}

#[test]
fn a_stored_state_continues_where_it_stopped() {
    let mut random = Xoshiro::new(5);
    let mut watch =
        Baseline::new(&quiet(200, &mut random), &AlarmOptions { bootstrap: 49, ..AlarmOptions::default() })
            .unwrap()
            .watch();
    let stream: Vec<f64> = (0..100).map(|_| 1.02 * distribution().sample(&mut random)).collect();
    stream[..50].iter().for_each(|&x| drop(watch.push(x)));
    let text = serde_json::to_string(&watch).unwrap();
    let mut other: tail::alarm::Watch = serde_json::from_str(&text).unwrap();
    for &x in &stream[50..] {
        assert_eq!(watch.push(x).len(), other.push(x).len());
    }
    assert_eq!(watch.level, other.level);
}

#[test]
fn a_rate_that_the_baseline_cannot_guarantee_is_refused() {
    let mut random = Xoshiro::new(6);
    let options = AlarmOptions { false_alarms: 1e-5, ..AlarmOptions::default() };
    assert!(Baseline::new(&quiet(100, &mut random), &options).is_err());
}

#[test]
fn a_short_baseline_uses_the_guaranteed_thresholds_by_default() {
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

/// Durations with two modes: nine tenths around 1.6, one tenth around a hundred times as much.
fn two_modes(n: usize, random: &mut Xoshiro) -> Vec<f64> {
    (0..n)
        .map(|_| {
            let value = 1.6 * (0.1 * random.normal()).exp();
            if random.uniform() < 0.1 { 100.0 * value } else { value }
        })
        .collect()
}

/// Probability that a run of [`two_modes`] exceeds a value of the slow mode.
fn beyond(value: f64) -> f64 {
    0.1 * tail::special::normal_cdf(-(value / 160.0).ln() / 0.1)
}

#[test]
fn a_baseline_whose_level_moves_is_refused() {
    let mut random = Xoshiro::new(41);
    let mut values = quiet(400, &mut random);
    values[200..].iter_mut().for_each(|x| *x += 0.5);
    let found = Baseline::new(&values, &AlarmOptions::default());
    assert!(matches!(found, Err(BaselineError::Refused(Refusal::LevelMoved { .. }))), "{found:?}");
}

#[test]
fn a_baseline_of_a_periodic_flush_is_refused() {
    let mut random = Xoshiro::new(42);
    let mut values = quiet(2000, &mut random);
    values.iter_mut().step_by(50).for_each(|x| *x += 1.0);
    let found = Baseline::new(&values, &AlarmOptions::default());
    assert!(matches!(found, Err(BaselineError::Refused(Refusal::Dependent { .. }))), "{found:?}");
}

/// Scores of a first-order autoregression.
fn autoregression(n: usize, phi: f64, random: &mut Xoshiro) -> Vec<f64> {
    let mut score = random.normal();
    let mut next = |_| {
        score = phi * score + (1.0 - phi * phi).sqrt() * random.normal();
        score
    };
    (0..n).map(&mut next).collect()
}

#[test]
fn correlated_values_need_not_be_those_of_a_gev_but_of_some_distribution() {
    let of = |index: u64, value: fn(f64) -> f64| {
        let scores = autoregression(400, 0.7, &mut Xoshiro::stream(45, index));
        Baseline::new(&scores.into_iter().map(value).collect::<Vec<_>>(), &AlarmOptions::default())
    };
    // Tests for independent values reject a GEV for several of these.
    let refused = (0..24).filter(|&index| of(index, |score| 100.0 + 5.0 * score).is_err()).count();
    assert!(refused <= 3, "{refused} of 24");
    let found = of(1, |score| if score > 0.8 { 200.0 + score } else { 100.0 + score });
    assert!(
        matches!(found, Err(BaselineError::Refused(Refusal::DependentWithoutDistribution { .. }))),
        "{found:?}"
    );
}

#[test]
fn where_no_distribution_fits_empirical_spike_thresholds_keep_their_rate() {
    let options = AlarmOptions { false_alarms: 0.02, ..AlarmOptions::default() };
    let (mut rate, mut kept, baselines) = (0.0, 0, 50);
    for index in 0..baselines {
        let mut random = Xoshiro::stream(43, index);
        let baseline = match Baseline::new(&two_modes(300, &mut random), &options) {
            Ok(baseline) => baseline,
            // A few are refused: by chance the tests reject independence.
            Err(BaselineError::Refused(_)) => continue,
            Err(error) => panic!("{error}"),
        };
        assert!(baseline.counted.is_some());
        // Not extrapolated from a fitted distribution to hundreds of times the median.
        assert!(baseline.spike.value < 260.0, "{}", baseline.spike.value);
        rate += beyond(baseline.spike.value);
        kept += 1;
    }
    let mean = rate / f64::from(kept);
    // 6 / 301, standard error 7%.
    assert!(kept >= 42 && (mean / (6.0 / 301.0) - 1.0).abs() < 0.3, "{mean} {kept}");
}

#[test]
fn empirical_thresholds_rarely_raise_false_alarms_and_find_a_slow_down_and_its_end() {
    let options = AlarmOptions { false_alarms: 0.02, run_length: 500.0, ..AlarmOptions::default() };
    let mut random = Xoshiro::new(44);
    let baseline = Baseline::new(&two_modes(2000, &mut random), &options).unwrap();
    let counted = baseline.counted.clone().unwrap();
    assert!(counted.slow.rate + counted.fast.rate <= 1.0 / 500.0, "{counted:?}");
    let mut watch = baseline.watch();
    let mut false_alarms = 0;
    for value in two_modes(20_000, &mut random) {
        let events = watch.push(value);
        false_alarms +=
            events.iter().filter(|e| matches!(e, Event::Slow { .. } | Event::Fast { .. })).count();
    }
    // At most forty expected.
    assert!(false_alarms <= 55, "{false_alarms}");
    while watch.level != Level::Quiet {
        watch.push(two_modes(1, &mut random)[0]);
    }
    let slow: Vec<Event> = two_modes(80, &mut random).into_iter().flat_map(|x| watch.push(1.3 * x)).collect();
    let told = slow.iter().filter(|e| matches!(e, Event::Slow { .. })).count();
    assert_eq!((told, watch.level), (1, Level::Slow), "{slow:?}");
    let text = serde_json::to_string(&watch).unwrap();
    let mut watch: tail::alarm::Watch = serde_json::from_str(&text).unwrap();
    let after: Vec<Event> = two_modes(80, &mut random).into_iter().flat_map(|x| watch.push(x)).collect();
    assert!(after.iter().any(|e| matches!(e, Event::Recovered { .. })), "{after:?}");
}

#[test]
fn a_rate_beyond_the_empirical_quantiles_is_refused_and_the_default_rate_is_relaxed() {
    let mut random = Xoshiro::new(46);
    let values = two_modes(200, &mut random);
    let found = Baseline::new(&values, &AlarmOptions::default());
    let Err(BaselineError::Refused(Refusal::TooFewToCount { needed, .. })) = found else {
        panic!("{found:?}")
    };
    assert_eq!(needed, 999.0);
    let relaxed = Baseline::new(&values, &AlarmOptions { relax: true, ..AlarmOptions::default() }).unwrap();
    assert_eq!(relaxed.spike.false_alarms, 1.0 / 201.0);
    assert!(!relaxed.clone().guarantee() && relaxed.counted.is_some());
}
