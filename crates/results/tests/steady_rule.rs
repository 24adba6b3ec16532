//! When a load counts as steady, and what is then left out.

use ppl_free::rule;
use samples::{
    Run, Sample, Site, SiteKind, SteadyFacts, SteadyLimit, SteadyOutcome, SteadyQuantity, SteadyRule,
};

/// Rules without the language that reads them.
mod ppl_free {
    use super::*;

    /// `quantity 5% over WINDOW`, in bins of a tenth of it.
    pub fn rule(quantity: SteadyQuantity, window_s: u64) -> SteadyRule {
        let five = Some(SteadyLimit::Share(0.05));
        let window_ns = window_s * 1_000_000_000;
        SteadyRule {
            text: "a rule".into(),
            quantity,
            deviation: five,
            slope: five,
            window_ns,
            bin_ns: window_ns / 10,
            ..SteadyRule::default()
        }
    }
}

fn site(kind: SiteKind, label: &str, operation: &str) -> Site {
    Site { kind, labels: vec![label.into()], operation: operation.into(), ..Site::default() }
}

/// A load of one rank inside one block: `rate(t)` operations a second at second `t`, one after the other.
fn load(seconds: f64, rate: impl Fn(f64) -> f64) -> Run {
    let mut run = Run {
        sites: vec![site(SiteKind::Time, "load", "time"), site(SiteKind::Operation, "load", "fread")],
        ..Run::default()
    };
    run.facts.ranks = 1;
    run.facts.report.insert("samples".into(), "load / fread".into());
    let mut at = 0.0;
    while at < seconds {
        let length = 1.0 / rate(at);
        run.samples.push(Sample {
            site: 1,
            start_ns: (at * 1e9) as u64 + 1_000,
            duration_ps: (length * 1e12) as u64 - 2_000_000,
            bytes: 4096,
            batch: 1,
            ..Sample::default()
        });
        at += length;
    }
    run.facts.elapsed_s = at;
    run.samples.push(Sample { duration_ps: (at * 1e12) as u64, batch: 1, ..Sample::default() });
    run.samples.sort_by_key(|sample| sample.site);
    run
}

/// The run as its readers get it.
fn measured(mut run: Run, rule: &SteadyRule) -> (Run, SteadyFacts) {
    let found = results::judge_steady(&run, &SteadyFacts::asked(rule.clone()));
    assert_eq!(results::was_steady(&run, rule), found.window.is_some() && found.was_reached());
    run.facts.steady = Some(found.clone());
    run.leave_out_warm_up();
    (run, found)
}

fn rate_of(run: &Run) -> f64 {
    let rows = results::of_run(run);
    rows.iter()
        .find(|row| row.operation == "fread")
        .and_then(|row| row.operations_per_second)
        .expect("a rate")
}

#[test]
fn a_load_that_settles_is_measured_from_then_on() {
    let run = load(40.0, |t| if t < 10.0 { 20.0 + 8.0 * t } else { 100.0 });
    let operations = run.samples.len();
    let (run, found) = measured(run, &rule(SteadyQuantity::Iops, 5));
    assert_eq!(found.outcome, SteadyOutcome::Steady);
    let [begin, end] = found.warm_up_ns.expect("a warm-up");
    // A window may begin a little before the rate has come to rest.
    assert!(begin == 0 && (8_500_000_000..=10_500_000_000).contains(&end), "{end}");
    let window = found.window.expect("a window");
    assert!(window.begin_ns == end && window.deviation <= 0.05 && window.slope.abs() <= 0.05, "{window:?}");
    assert!((rate_of(&run) - 100.0).abs() < 1.0, "{}", rate_of(&run));
    assert_eq!(run.samples.len() as u64 + found.left_out, operations as u64);
    assert!((500..620).contains(&found.left_out), "{}", found.left_out);
    let block = run.samples.iter().find(|sample| sample.site == 0).expect("the block");
    assert_eq!(block.start_ns, end);
}

#[test]
fn a_load_that_never_settles_is_measured_as_a_whole() {
    let run = load(30.0, |t| 20.0 + 10.0 * t);
    let (whole, operations) = (rate_of(&run), run.samples.len());
    let (run, found) = measured(run, &rule(SteadyQuantity::Iops, 5));
    assert_eq!((found.outcome, found.warm_up_ns, found.left_out), (SteadyOutcome::Never, None, 0));
    assert!(found.window.expect("the last window").slope > 0.1);
    assert_eq!((rate_of(&run), run.samples.len()), (whole, operations));
}

#[test]
fn what_settles_and_goes_on_to_change_is_not_said_to_be_steady() {
    let run = load(40.0, |t| if t < 20.0 { 100.0 } else { 100.0 - 4.0 * (t - 20.0).min(19.0) });
    let (_, found) = measured(run, &rule(SteadyQuantity::Iops, 5));
    assert_eq!((found.outcome, found.warm_up_ns), (SteadyOutcome::NotAtTheEnd, None));
    assert!(found.last.expect("the last window").slope < -0.1 && found.window.is_some());
}

#[test]
fn a_load_without_a_window_or_without_values_is_not_judged() {
    let outcome = |quantity, seconds| measured(load(seconds, |_| 100.0), &rule(quantity, 5)).1.outcome;
    assert_eq!(outcome(SteadyQuantity::Iops, 4.0), SteadyOutcome::TooShort);
    assert_eq!(outcome(SteadyQuantity::Latency, 8.0), SteadyOutcome::Steady);
    assert_eq!(outcome(SteadyQuantity::Bandwidth, 8.0), SteadyOutcome::Steady);
    assert_eq!(outcome(SteadyQuantity::Quantile(0.5), 8.0), SteadyOutcome::Steady);
    assert_eq!(outcome(SteadyQuantity::Quantile(0.99), 8.0), SteadyOutcome::TooFewValues);
    let named = SteadyRule { of: Some("nothing".into()), ..rule(SteadyQuantity::Iops, 5) };
    assert_eq!(measured(load(8.0, |_| 100.0), &named).1.outcome, SteadyOutcome::NothingCounted);
}

#[test]
fn what_may_not_be_looked_at_is_warm_up_and_absolute_bounds_are_in_the_unit() {
    let after = SteadyRule { after_ns: 3_000_000_000, ..rule(SteadyQuantity::Iops, 5) };
    let (_, found) = measured(load(20.0, |_| 100.0), &after);
    assert_eq!(found.warm_up_ns, Some([0, 3_000_000_000]));
    let wave = |t: f64| 100.0 + 10.0 * (t * 6.0).sin();
    let absolute = |most| SteadyRule {
        deviation: Some(SteadyLimit::Absolute(most)),
        slope: None,
        ..rule(SteadyQuantity::Iops, 5)
    };
    assert_eq!(measured(load(20.0, wave), &absolute(30.0)).1.outcome, SteadyOutcome::Steady);
    assert_eq!(measured(load(20.0, wave), &absolute(1.0)).1.outcome, SteadyOutcome::Never);
}

/// Steps of two ranks that meet: as many of each are left out, whichever began first.
#[test]
fn as_many_steps_are_left_out_on_each_rank() {
    let mut run = Run {
        sites: vec![site(SiteKind::Time, "step", "time"), site(SiteKind::Operation, "step", "fwrite")],
        ..Run::default()
    };
    run.facts.ranks = 2;
    run.facts.report.insert("gate".into(), "step".into());
    let mut at = 0_u64;
    let mut steps: [Vec<Sample>; 4] = Default::default();
    for step in 0..300_u64 {
        // The first third is slow; rank 1 begins 3 ms after rank 0.
        let length = if step < 100 { 300_000_000 - step * 2_000_000 } else { 100_000_000 };
        for rank in 0..2_u32 {
            let one = Sample {
                site: 0,
                rank,
                start_ns: at + u64::from(rank) * 3_000_000,
                duration_ps: (length - 5_000_000) * 1000,
                batch: 1,
                ..Sample::default()
            };
            steps[rank as usize].push(one);
            steps[2 + rank as usize].push(Sample {
                site: 1,
                bytes: 1,
                start_ns: one.start_ns + 1_000,
                duration_ps: one.duration_ps - 2_000_000,
                ..one
            });
        }
        at += length;
    }
    run.samples = steps.concat();
    run.facts.elapsed_s = at as f64 * 1e-9;
    let (run, found) = measured(run, &rule(SteadyQuantity::Iops, 5));
    assert_eq!(found.outcome, SteadyOutcome::Steady);
    let left = |site: u32, rank: u32| {
        run.samples.iter().filter(|sample| (sample.site, sample.rank) == (site, rank)).count()
    };
    assert!((180..210).contains(&left(0, 0)), "{}", left(0, 0));
    assert_eq!(left(0, 0), left(0, 1));
    let rows = results::of_run(&run);
    let row = rows.iter().find(|row| row.operation == "time").expect("the block");
    let steps = row.steps.as_ref().expect("steps");
    assert_eq!(steps.count, left(0, 0) as u64);
    assert!(steps.quantiles_seconds.as_ref().is_some_and(|found| found.max < 0.12), "{steps:?}");
}
