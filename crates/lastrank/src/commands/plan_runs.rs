//! `lastrank plan-runs`: computes how many runs a precision needs.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use ppl::condition::{Bound, Compared, Condition, Estimate, Relation};
use report::words::unsound::Unsound;
use report::{AnswerSign, Table, Unit, answer_line, significant, words};
use results::QuantileInterval;
use samples::units::count;
use serde_json::json;
use tail::planning::{Pilot, Plan, Precision, PrecisionGoal, Quantity as Planned, plan_with};
use tail::{Gev, Likelihood, Status as Fitted, independence};

use crate::cli::{PlanArgs, TimeUnit};
use crate::exit::Status;
use crate::output;
use crate::soundness;
use crate::values::{Values, read};

/// Two-sided 95% of a normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// What can be planned.
const WHAT: &str = "plan-runs takes the whole width of an interval, `width(p99) < 5%` (p50, p90, p99, p99.9, p99.99, \
                    location, scale, shape, return-level(N)), or `factor > 1.01`; `p99=5%` is half the width";

/// What the plan is made with.
struct Basis {
    distribution: Gev,
    /// What dependence costs a mean.
    inflation: f64,
    /// The runs that exist, with their fit.
    pilot: Option<Pilot>,
    /// Values that exist already.
    have: usize,
    /// What one value is called: `step`, `sample` or `value`.
    noun: &'static str,
    /// Quantiles of these with their intervals.
    intervals: Vec<QuantileInterval>,
    name: String,
    unit: Unit,
    seconds: bool,
    /// Whether the pilot's values changed, cluster or mix kinds, so that more of them settle nothing.
    changed: bool,
    warnings: Vec<String>,
    /// The pilot, where its times are not those of the work that it was to do.
    unsound: Vec<Unsound>,
}

/// Plan for each wish, from a pilot or from an assumed distribution.
pub fn run(args: &PlanArgs) -> anyhow::Result<Status> {
    let (pilot, goals) = pilot_and_goals(args)?;
    let basis = match pilot {
        Some(file) => {
            let values = read(file, &args.choice)?;
            let unsound = values.unsound.clone();
            of_pilot(values, args.json).map_err(|why| soundness::blamed_on(&unsound, why))?
        }
        None => assumed(args)?,
    };
    let of_mean = args.inflation.unwrap_or(basis.inflation);
    if !(of_mean >= 1.0 && of_mean.is_finite()) {
        bail!("--inflation {of_mean}: at least 1, which is independence");
    }
    if !(args.power > 0.0 && args.power < 1.0) {
        bail!("--power {}: a chance between 0 and 1, for example 0.8", args.power);
    }
    if !(args.level > 0.0 && args.level < 1.0) {
        bail!("--level {}: between 0 and 1, for example 0.95", args.level);
    }
    let mut plans = Vec::new();
    for text in &goals {
        let wish = goal(text, basis.seconds)?;
        let inflation = args.inflation.unwrap_or_else(|| basis.inflation_of(wish.quantity));
        let mut by_distribution = plan_with(&basis.distribution, wish, args.level, args.power, inflation)
            .with_context(|| format!("cannot plan for `{text}`"))?;
        by_distribution.runs_interval =
            basis.pilot.as_ref().and_then(|pilot| pilot.runs_interval(&by_distribution));
        let asked_for = args.inflation.is_some();
        plans.push(
            without_distribution(&by_distribution, &basis, args.level)
                .filter(|_| !asked_for)
                .unwrap_or(by_distribution),
        );
    }
    if args.json {
        let mut object = json!({
            "schema": "lastrank.plan/1",
            "basis": {
                "name": basis.name,
                "law": basis.distribution,
                "n": basis.have,
                "seconds": basis.seconds,
                "variance_inflation": of_mean,
                "warnings": basis.warnings,
            },
            "level": args.level,
            "plans": words::json(&plans)?,
        });
        soundness::add_unsound(&mut object, &basis.unsound);
        output::json(&object)?;
    } else {
        // A mark of success is for what is enough; an assumed distribution has no runs yet.
        let enough = plans.iter().all(|plan| plan.runs <= basis.have as f64);
        let sign = match (basis.warnings.is_empty(), enough) {
            _ if !basis.unsound.is_empty() => AnswerSign::Bad,
            (false, _) => AnswerSign::Caution,
            (true, true) => AnswerSign::Good,
            (true, false) => AnswerSign::ToDo,
        };
        let mut answer = words::planning::answer(&plans, basis.have, basis.noun);
        if basis.changed {
            answer = format!("Only if the pilot were steady: {answer}");
        }
        if let Some(wrong) = words::unsound::headline(&basis.unsound) {
            answer = format!("{wrong} Planned all the same: {answer}");
        }
        let head = answer_line(sign, &answer, output::screen_options());
        output::print_below(&head, &(text(args, &basis, &plans) + &said_again(&goals)))?;
    }
    Ok(Status::Ok.unless(&basis.unsound))
}

/// A file as a word of a shell.
fn word(file: &str) -> String {
    report::shell::quoted(&report::file_argument(file))
}

/// The pilot and the goals, of which the first stands in its place where there is none.
fn pilot_and_goals(args: &PlanArgs) -> anyhow::Result<(Option<&Path>, Vec<&str>)> {
    let distribution = [args.location, args.scale, args.shape].iter().any(Option::is_some);
    let mut goals: Vec<&str> = args.goals.iter().chain(&args.precision).map(String::as_str).collect();
    let mut pilot = args.pilot.as_deref();
    if let Some(text) = pilot
        .and_then(Path::to_str)
        .filter(|text| text.contains(['=', '<', '>']) && !Path::new(text).exists())
    {
        goals.insert(0, text);
        pilot = None;
    }
    if goals.is_empty() {
        let pilot = pilot.map_or("RUN.parquet".into(), |pilot| word(&pilot.to_string_lossy()));
        bail!("say what is wanted how precisely: `lastrank plan-runs {pilot} p99=5%`\n{WHAT}");
    }
    match (pilot, distribution) {
        (Some(_), true) => bail!("a pilot gives the distribution: leave --location, --scale and --shape out"),
        (None, false) => bail!("name a pilot, or a distribution with --location and --scale"),
        (pilot, _) => Ok((pilot, goals)),
    }
}

impl Basis {
    /// What dependence costs the estimate of a quantity.
    fn inflation_of(&self, quantity: Planned) -> f64 {
        let own = self.pilot.as_ref().and_then(|pilot| pilot.inflation(quantity));
        own.unwrap_or(self.inflation)
    }
}

/// The plan for a quantile by its interval in the pilot, which needs no distribution and allows for values that come together;
/// none of other goals, and where the pilot does not reach the quantile.
fn without_distribution(plan: &Plan, basis: &Basis, level: f64) -> Option<Plan> {
    let Planned::Quantile(p) = plan.goal.quantity else { return None };
    let found = basis.intervals.iter().find(|one| one.probability == p && level == 0.95)?;
    let half_width = match plan.goal.precision {
        Precision::Relative(share) => share * found.seconds,
        Precision::Absolute(width) => width,
    };
    let runs = found.values_for(basis.have, half_width / found.seconds)?;
    let worth = found.effective_n / basis.have as f64;
    Some(Plan {
        runs: runs.ceil(),
        runs_interval: None,
        runs_independent: (runs * worth).ceil(),
        variance_inflation: 1.0 / worth,
        half_width,
        value: found.seconds,
        unit_error: found.half_width() * found.seconds / NORMAL_95 * (basis.have as f64).sqrt(),
        ..plan.clone()
    })
}

fn of_pilot(values: Values, json: bool) -> anyhow::Result<Basis> {
    let cannot = || format!("{} cannot be a pilot", values.name);
    let series = values.series();
    let noun = values.subject.as_ref().map_or("value", |subject| subject.value_name());
    series.require(tail::assess::FEWEST, 4).with_context(cannot)?;
    let fit = Likelihood::new(&series).with_context(cannot)?.fit();
    if fit.status == Fitted::Boundary {
        bail!("{} cannot be a pilot: its likelihood has no maximum; measure more", values.name);
    }
    let checked = independence::check_series(&series, 0.05).with_context(cannot)?;
    // On a screen the headline says what is wrong with the run.
    let mut warnings = if json { values.warnings() } else { values.cautions() };
    let before = warnings.len();
    warnings.extend(
        checked
            .reasons()
            .into_iter()
            .filter(|test| test.question != independence::Question::Autocorrelation)
            .map(|test| {
                format!(
                    "The pilot is not steady ({}): more of the same do not mend that. Measure again on an idle machine.",
                    words::finding(&test.finding)
                )
            }),
    );
    let changed = warnings.len() > before;
    if series.len() < 50 {
        warnings
            .push(format!("{} {noun}s are few for a pilot: plan again when there are more.", series.len()));
    }
    let distribution = fit.distribution();
    let resembles = checked.test(independence::Question::Autocorrelation).is_some_and(|test| test.rejected);
    Ok(Basis {
        distribution,
        inflation: checked.variance_inflation,
        pilot: Some(Pilot::new(series.values().to_vec(), fit, resembles)),
        have: series.len(),
        noun,
        intervals: results::of_values_taken_by(&values.numbers, &values.takers).1,
        unit: values.unit(distribution.quantile(0.5)),
        seconds: values.seconds,
        name: values.name,
        changed,
        warnings,
        unsound: values.unsound,
    })
}

fn assumed(args: &PlanArgs) -> anyhow::Result<Basis> {
    let factor = args.choice.unit.map_or(1.0, TimeUnit::seconds);
    let (Some(location), Some(scale)) = (args.location, args.scale) else {
        bail!("name a pilot, or a distribution with --location and --scale");
    };
    let distribution = Gev::new(location * factor, scale * factor, args.shape.unwrap_or(0.0))
        .context("no distribution of maxima has these parameters")?;
    let seconds = args.choice.unit.is_some();
    Ok(Basis {
        distribution,
        inflation: 1.0,
        pilot: None,
        have: 0,
        noun: "value",
        intervals: Vec::new(),
        name: "an assumed distribution".into(),
        unit: if seconds { Unit::of_duration(distribution.quantile(0.5)) } else { Unit::NONE },
        seconds,
        changed: false,
        warnings: Vec::new(),
        unsound: Vec::new(),
    })
}

/// A goal: `width(p99) < 5%`, `factor > 1.01`, or as earlier versions wrote it, `p99=2.5%` for half the width.
///
/// In the form of earlier versions `k=1%` is `factor > 1.01`.
fn goal(text: &str, seconds: bool) -> anyhow::Result<PrecisionGoal> {
    // The shape may be 0, so that it has no share of itself.
    let precise = if text == "shape" { "width(shape) < 0.1".to_owned() } else { format!("{text}=5%") };
    if !text.contains(['=', '<', '>']) && Condition::parse(&precise).is_ok() {
        bail!("{text}: this says no precision: write `{precise}`\n{WHAT}");
    }
    let found = Condition::parse(text).map_err(|why| anyhow!("{text}: {why}\n{WHAT}"))?;
    let (estimate, half) = match (found.quantity, found.relation) {
        (Compared::Width(estimate), Relation::Below | Relation::Equal) => (estimate, 0.5),
        (Compared::Value(Estimate::Factor), Relation::Above | Relation::Equal) => (Estimate::Factor, 1.0),
        (Compared::Value(estimate), Relation::Equal) => (estimate, 1.0),
        (Compared::Value(estimate), _) => bail!(
            "{text}: this says what `{estimate}` is to be, not how well it is to be known: `width({estimate}) < 5%`; a \
             run is judged by `assert {text};` in its program\n{WHAT}"
        ),
        _ => bail!("{text}: this is no precision\n{WHAT}"),
    };
    if found.of.is_some() {
        bail!("{text}: `--label` and `--op` say of which operations; leave `of` out");
    }
    let quantity =
        quantity(estimate).ok_or_else(|| anyhow!("{text}: no plan is made for `{estimate}`\n{WHAT}"))?;
    let precision = match (quantity, found.bound) {
        (Planned::Shape, Bound::Share(_)) => {
            bail!(
                "{text}: the shape may be 0, so its precision is absolute: write for instance `width(shape) < 0.1`"
            )
        }
        (Planned::Shape | Planned::Factor, Bound::Seconds(_)) => {
            bail!("{text}: `{estimate}` has no unit of time")
        }
        (Planned::Factor, Bound::Share(share)) if found.relation == Relation::Equal => {
            Precision::Relative(share)
        }
        (Planned::Factor, Bound::Number(factor)) if factor > 1.0 && half == 1.0 => {
            Precision::Relative(factor - 1.0)
        }
        (Planned::Factor, _) => bail!("{text}: this is no slow-down: write for instance `factor > 1.01`"),
        (_, Bound::Share(share)) => Precision::Relative(half * share),
        (_, Bound::Seconds(_)) if !seconds => {
            bail!("{text}: the unit of the values is not known; --unit says it")
        }
        (Planned::Shape, Bound::Number(number)) => Precision::Absolute(half * number),
        (_, Bound::Number(number)) if seconds && found.relation != Relation::Equal => {
            bail!(
                "{text}: the values are times; write a share, `width({estimate}) < {number}%`, or a time, \
                 `width({estimate}) < {number}us`"
            )
        }
        (_, Bound::Change(_)) => {
            bail!("{text}: how well it is to be known has no sign: write `width({estimate}) < 5%`")
        }
        (_, bound) => Precision::Absolute(half * bound.value()),
    };
    Ok(PrecisionGoal { quantity, precision })
}

/// What of an estimate can be planned; `None` of others.
fn quantity(estimate: Estimate) -> Option<Planned> {
    Some(match estimate {
        Estimate::Quantile(p) if [0.5, 0.9, 0.99, 0.999, 0.9999].contains(&p) => Planned::Quantile(p),
        Estimate::Location => Planned::Location,
        Estimate::Scale => Planned::Scale,
        Estimate::Shape => Planned::Shape,
        Estimate::ReturnLevel(runs) => Planned::ReturnLevel(runs),
        Estimate::Factor => Planned::Factor,
        _ => return None,
    })
}

/// Says of goals in the form of earlier versions what they mean in the present one.
fn said_again(goals: &[&str]) -> String {
    let mut text = String::new();
    for goal in goals {
        let Ok(found) = Condition::parse(goal) else { continue };
        let (Compared::Value(estimate), Relation::Equal) = (found.quantity, found.relation) else { continue };
        let new = match (estimate, found.bound) {
            (Estimate::Factor, Bound::Share(share)) => format!("factor > {}", round(1.0 + share)),
            (Estimate::Factor, bound) => format!("factor > {}", round(bound.value())),
            (_, Bound::Share(share)) => format!("width({estimate}) < {}%", round(200.0 * share)),
            (_, Bound::Number(half)) => format!("width({estimate}) < {}", round(2.0 * half)),
            (_, Bound::Seconds(half)) => format!("width({estimate}) < {}", with_unit(2.0 * half)),
            // No plan is made for it.
            (_, Bound::Change(_)) => continue,
        };
        let half = if estimate == Estimate::Factor { "" } else { "half the width; " };
        text += &report::sentence("", &format!("`{goal}`: {half}as a condition `{new}`."));
    }
    text
}

/// A time as a condition has it: `100us`.
fn with_unit(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| seconds >= *factor).unwrap_or((1e-9, "ns"));
    format!("{}{unit}", round(seconds / factor))
}

/// Without the digits that a sum of binary fractions has behind those of decimal ones.
fn round(number: f64) -> f64 {
    format!("{number:.12e}").parse().unwrap_or(number)
}

fn text(args: &PlanArgs, basis: &Basis, plans: &[Plan]) -> String {
    let unit = basis.unit;
    let Gev { location, scale, shape } = basis.distribution;
    let runs = if basis.have > 0 {
        format!(", {} {}s", count(basis.have as u64), basis.noun)
    } else {
        String::new()
    };
    let mut text = format!(
        "{}{runs}: location {}, scale {}, shape {}\n",
        basis.name,
        unit.show(location),
        unit.show(scale),
        report::fixed(shape, 3)
    );
    for warning in &basis.warnings {
        text += &report::sentence("⚠ ", warning);
    }
    text.push('\n');
    let percent = report::confidence(args.level);
    let mut table = Table::new(
        "How many are needed",
        &["<for", "value", "± half-width", "if independent", "needed", "further"],
    );
    for plan in plans {
        let further = (plan.runs - basis.have as f64).max(0.0);
        let (value, width) = shown(plan, unit);
        table.push(
            true,
            [
                name(plan.goal.quantity),
                value,
                width,
                whole(plan.runs_independent),
                whole(plan.runs),
                if basis.have == 0 || plan.power.is_some() { "–".into() } else { whole(further) },
            ],
        );
    }
    text += &table.text();
    text.push('\n');
    for plan in plans.iter().filter(|plan| plan.power.is_some() || plan.runs < 50.0) {
        text += &report::sentence(
            &format!("{}: ", name(plan.goal.quantity)),
            &words::planning::text(plan, basis.noun),
        );
    }
    text += &format!("Intervals: {percent}.");
    let worth: Vec<String> = plans
        .iter()
        .filter(|plan| plan.variance_inflation > 1.05)
        .map(|plan| format!("{} for {}", significant(plan.variance_inflation, 3), name(plan.goal.quantity)))
        .collect();
    text += &match worth.is_empty() {
        false => {
            format!(" Slow {}s cluster, so more are needed, times {}.\n", basis.noun, worth.join(", "))
        }
        true => format!(" The {}s are taken as independent.\n", basis.noun),
    };
    text
}

fn name(quantity: Planned) -> String {
    match quantity {
        Planned::Location => "location".into(),
        Planned::Scale => "scale".into(),
        Planned::Shape => "shape".into(),
        Planned::ReturnLevel(period) => format!("return level ({})", count(period.round() as u64)),
        Planned::Quantile(p) => format!("p{}", (1e6 * p).round() / 1e4),
        Planned::Factor => "k, on each system".into(),
    }
}

fn shown(plan: &Plan, unit: Unit) -> (String, String) {
    match plan.goal.quantity {
        Planned::Factor => ("1".into(), format!("{}%", significant(100.0 * plan.half_width.exp_m1(), 3))),
        Planned::Shape => (report::fixed(plan.value, 3), significant(plan.half_width, 3)),
        _ => {
            let own = if unit.name.is_empty() { unit } else { Unit::of_duration(plan.half_width) };
            (unit.show(plan.value), own.named(&significant(own.scale(plan.half_width), 3)))
        }
    }
}

fn whole(runs: f64) -> String {
    if runs < 1e15 { count(runs as u64) } else { significant(runs, 3) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_of_the_whole_width_and_the_earlier_form_of_half() {
        for (new, old) in [
            ("width(p99) < 10%", "p99=5%"),
            ("width(location) < 100us", "location=50us"),
            ("width(shape) < 0.1", "shape=0.05"),
            ("width(return-level(100)) < 1%", "return-level(100) = 0.5%"),
            ("factor > 1.5", "k=1.5"),
            ("factor > 1.5", "k=50%"),
        ] {
            assert_eq!(goal(new, true).unwrap(), goal(old, true).unwrap(), "{new}, {old}");
            assert!(said_again(&[old]).contains(new), "{}", said_again(&[old]));
            assert_eq!(said_again(&[new]), "");
        }
        assert_eq!(
            goal("width(p99) < 5%", false).unwrap(),
            PrecisionGoal { quantity: Planned::Quantile(0.99), precision: Precision::Relative(0.025) }
        );
        let wrong = [
            "shape",
            "shape=5%",
            "shape=5ms",
            "return-level(1)=1%",
            "mean=1%",
            "scale=-3",
            "k=0.9",
            "k=0%",
            "p99 < 5%",
            "width(factor) < 5%",
            "n_eff = 9",
            "p98=1%",
            "width(p99 of read) < 5%",
            "width(p99) > 5%",
        ];
        for text in wrong {
            assert!(goal(text, true).is_err(), "{text}");
        }
        assert!(goal("location=5ms", false).unwrap_err().to_string().contains("--unit"));
    }
}
