//! The text of the screens that the commands print, from the code that they call.

use report::words::interleaved::{ArmSummary, Interleaving, answer};
use report::{CompareAnswer, FitAnswer, ReportOptions, ScreenOptions, WrittenFiles, words};
use samples::{FACTS_SCHEMA, Facts, Run, Sample, Site, SiteKind};
use tail::alarm::{AlarmOptions, Baseline, BaselineError, Event};
use tail::assess::{AssessOptions, assess};
use tail::congestion::CompareOptions;
use tail::independence::Question;
use tail::interleaved::{BlockOrder, Decision, LOOKS, look};
use tail::planning::{Pilot, Precision, PrecisionGoal, Quantity, plan_with};
use tail::scale::{ScaleOptions, scale_at};
use tail::{Likelihood, Series};

use crate::claims::others::TIMES;
use crate::{Base, Distribution};

/// So wide that no sentence is broken or cut.
const WIDE: ScreenOptions = ScreenOptions { width: 4000, colour: false };

/// What `lastrank fit FILE` prints of numbers in seconds; the refusal where there is one.
pub fn fit(values: &[f64], options: &AssessOptions) -> Result<String, String> {
    let found = assess(values, options).map_err(|error| error.to_string())?;
    let answer = FitAnswer {
        name: "the values",
        what: "value",
        single: true,
        seconds: true,
        subject: None,
        values,
        takers: &[],
        again: &[],
        found: &found,
        options,
        is_sound: true,
    };
    Ok(answer.screen(WIDE))
}

/// What `lastrank run` prints of a program of one kind of operation: its ranks each do one value after the other, or
/// meet before each, which `meet` says.
pub fn run(of_rank: &[Vec<f64>], meet: bool, options: &AssessOptions) -> String {
    // As `run` without a page.
    let options =
        ReportOptions { fit: options.clone(), distribution_figures: false, ..ReportOptions::default() };
    let report = report::build(&made_of(of_rank, meet), &options);
    report.first_screen(WrittenFiles { run: Some("run.parquet"), page: None }, WIDE)
}

/// What `lastrank compare` prints of two files of seconds.
pub fn compare([quiet, new]: &[Vec<f64>; 2]) -> Result<String, String> {
    let found = tail::congestion::compare(quiet, new, &CompareOptions::default())
        .map_err(|error| error.to_string())?;
    let answer = CompareAnswer {
        names: ["one", "other"],
        seconds: true,
        found: &found,
        rows: None,
        tripped: false,
        unlike: &[],
        unsound: &[],
        warnings: &[],
        verbose: false,
    };
    Ok(answer.screen(WIDE))
}

/// What `lastrank ab` prints of arms whose runs take as long as `measure` says of B or A: its first line.
pub fn ab(seed: u64, mut measure: impl FnMut(bool) -> f64) -> Result<String, String> {
    const MARGIN: f64 = 0.01;
    let (mut differences, mut last) = (Vec::new(), None);
    while differences.len() < LOOKS[LOOKS.len() - 1] {
        let order = BlockOrder::toss(seed, differences.len() as u64);
        differences.push(order.difference(order.is_b().map(&mut measure)));
        if LOOKS.contains(&differences.len()) {
            let found = look(&differences, MARGIN).map_err(|error| error.to_string())?;
            last = Some(found);
            if found.decision != Decision::Open {
                break;
            }
        }
    }
    let arm = || ArmSummary { what: "an arm".into(), seconds: Vec::new() };
    let blocks = differences.len();
    Ok(answer(&Interleaving {
        value: "wall time".into(),
        arms: [arm(), arm()],
        margin: MARGIN,
        look: last,
        blocks,
        elapsed: 1.0,
        out_of_time: false,
    }))
}

/// Whether `lastrank watch` takes these runs for a baseline, and how often later ones of the same distribution, which `later` draws,
/// set it off beside what it states; why not where it does not.
pub fn watch(values: &[f64], later: impl FnOnce(usize) -> Vec<f64>) -> Result<String, String> {
    /// Later runs: two million of 200 baselines.
    const LATER: usize = 10_000;
    let options =
        AlarmOptions { false_alarms: 1e-3, run_length: 1000.0, relax: true, ..AlarmOptions::default() };
    let baseline = match Baseline::new(values, &options) {
        Ok(baseline) => baseline,
        Err(BaselineError::Refused(why)) => return Ok(report::words::alarm::refusal(&why)),
        Err(other) => return Err(other.to_string()),
    };
    let (spike, stated) = (baseline.spike, 1.0 / options.run_length);
    let (mut spikes, mut changes) = (0u64, 0u64);
    let values = later(LATER);
    spikes += values.iter().filter(|value| **value > spike.value).count() as u64;
    let mut watch = baseline.clone().watch();
    for value in &values {
        let events = watch.push(*value);
        let alarms =
            events.iter().filter(|event| matches!(event, Event::Slow { .. } | Event::Fast { .. })).count();
        if alarms > 0 {
            changes += 1;
            watch = baseline.clone().watch();
        }
    }
    let beside = |count: u64, rate: f64| count as f64 / LATER as f64 / rate;
    Ok(format!(
        "Accepted\nfalse spikes beside those stated: {:.4}\nfalse changes of level beside those stated: {:.4}\n",
        beside(spikes, spike.false_alarms),
        beside(changes, stated)
    ))
}

/// What `lastrank scale` says of the slowest of `TIMES` as many ranks as these are the slowest of.
pub fn scale(values: &[f64], ranks: usize) -> Result<String, String> {
    let from = ranks as f64;
    let options = ScaleOptions { exponent: 1.0, probabilities: &[0.5, 0.99], level: 0.95 };
    let found = scale_at(values, from, TIMES * from, options).map_err(|error| error.to_string())?;
    let mut text = format!("{}\n", words::prediction::answer(&found, None, report::Unit::of_duration(10e-3)));
    for (name, quantile) in ["median", "p99"].iter().zip(&found.quantiles) {
        if let Some(ends) = quantile.interval {
            text += &format!("{name} of the slowest: {:.6} to {:.6}\n", ends.lower, ends.upper);
        }
    }
    for warning in words::prediction::warnings(&found.warnings) {
        text += &format!("{warning}\n");
    }
    Ok(text)
}

/// What `lastrank plan-runs` says of a pilot, and the number of runs beside that which the truth needs.
pub fn plan(values: &[f64], distribution: &Distribution) -> Result<String, String> {
    let text = |error: tail::Error| error.to_string();
    let quantity = Quantity::ReturnLevel(100.0);
    let goal = PrecisionGoal { quantity, precision: Precision::Relative(0.02) };
    let plan_of = |distribution: &tail::Gev, inflation| {
        plan_with(distribution, goal, 0.95, 0.8, inflation).map_err(text)
    };
    let pilot_of = |values: &[f64], is_dependent: bool| -> Result<Pilot, String> {
        let fit = Likelihood::new(&Series::clean(values)).map_err(text)?.fit();
        Ok(Pilot::new(values.to_vec(), fit, is_dependent))
    };
    let tests = tail::independence::check(values, 0.05).map_err(text)?;
    let pilot = pilot_of(values, tests.test(Question::Autocorrelation).is_some_and(|test| test.rejected))?;
    let mut plan = plan_of(&pilot.fit.distribution(), pilot.inflation(quantity).unwrap_or(1.0))?;
    plan.runs_interval = pilot.runs_interval(&plan);
    let Base::Gev(shape) = distribution.base else {
        return Err("a distribution of maxima is planned with".into());
    };
    // What dependence costs is that of very many values of the distribution.
    let cost = match distribution.phi > 0.0 {
        true => pilot_of(&distribution.draw(100_000, &mut tail::Xoshiro::new(1)), true)?.inflation(quantity),
        false => None,
    };
    let truth = plan_of(&tail::Gev::new(10e-3, 1e-3, shape).map_err(text)?, cost.unwrap_or(1.0))?;
    let ends = plan.runs_interval.map_or(String::new(), |ends| {
        let [lower, upper] = ends.map(|end| end / truth.runs);
        format!("runs that are needed beside the truth: {lower:.4} to {upper:.4}\n")
    });
    Ok(format!("{}\n{ends}", words::planning::answer(&[plan], values.len(), "value")))
}

/// A run whose ranks each write one after the other, each write as long as its value; where they meet all begin together.
pub fn made_of(of_rank: &[Vec<f64>], meet: bool) -> Run {
    const BYTES: u64 = 8192;
    let mut samples = Vec::new();
    let mut last = 0;
    let picoseconds = |value: f64| (value * 1e12).max(1.0).round() as u64;
    let slowest = |step: usize| of_rank.iter().map(|values| picoseconds(values[step])).max().unwrap_or(0);
    for (rank, values) in (0..).zip(of_rank) {
        let mut now = 0u64;
        for (step, value) in values.iter().enumerate() {
            let duration_ps = picoseconds(*value);
            let written =
                Sample { start_ns: now, duration_ps, rank, batch: 1, cpu: u16::MAX, ..Sample::default() };
            samples.push(Sample { bytes: BYTES, ..written });
            if meet {
                samples.push(Sample { site: 1, ..written });
            }
            now += if meet { slowest(step) } else { duration_ps }.div_ceil(1000);
        }
        last = last.max(now);
    }
    let site = |operation: &str, kind| Site {
        line: 3,
        column: 5,
        operation: operation.into(),
        labels: if meet { vec!["write".into()] } else { Vec::new() },
        kind,
        ..Site::default()
    };
    let mut sites = vec![site("fwrite", SiteKind::Operation)];
    sites.extend(meet.then(|| site("time", SiteKind::Time)));
    let facts = Facts {
        schema: FACTS_SCHEMA.into(),
        name: "the-run".into(),
        program: "repeat 9 { fwrite($f, 8k); }".into(),
        ranks: of_rank.len() as u32,
        backend: "simulate".into(),
        report: if meet { [("gate".to_owned(), "write".to_owned())].into() } else { Default::default() },
        elapsed_s: last as f64 * 1e-9,
        complete: true,
        ..Facts::default()
    };
    Run { facts, sites, samples }
}
