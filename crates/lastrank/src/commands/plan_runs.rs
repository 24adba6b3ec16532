//! `lastrank plan-runs`: computes how many runs a precision needs.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use report::{AnswerSign, Table, Unit, answer_line, significant, words};
use results::QuantileInterval;
use samples::units::count;
use serde_json::json;
use tail::planning::{Plan, Precision, PrecisionGoal, Quantity, parse, plan_with};
use tail::{Gev, Likelihood, Series, Status as Fitted, independence};

use crate::cli::{PlanArgs, TimeUnit};
use crate::exit::Status;
use crate::output;
use crate::values::{Values, read};

/// Two-sided 95 % of a normal law.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// What the plan is made with.
struct Basis {
    law: Gev,
    inflation: f64,
    /// Runs that exist already.
    have: usize,
    /// Quantiles of these with their intervals.
    intervals: Vec<QuantileInterval>,
    name: String,
    unit: Unit,
    seconds: bool,
    warnings: Vec<String>,
}

/// Plan for each wish, from a pilot or from an assumed law.
pub fn run(args: &PlanArgs) -> anyhow::Result<Status> {
    let (pilot, goals) = pilot_and_goals(args)?;
    let basis = match pilot {
        Some(file) => of_pilot(read(file, &args.choice)?)?,
        None => assumed(args)?,
    };
    let inflation = args.inflation.unwrap_or(basis.inflation);
    if !(inflation >= 1.0 && inflation.is_finite()) {
        bail!("--inflation {inflation}: at least 1, which is independence");
    }
    if !(args.power > 0.0 && args.power < 1.0) {
        bail!("--power {}: a chance between 0 and 1, for example 0.8", args.power);
    }
    if !(args.level > 0.0 && args.level < 1.0) {
        bail!("--level {}: between 0 and 1, for example 0.95", args.level);
    }
    let mut plans = Vec::new();
    for text in goals {
        let wish = wish(text, basis.seconds)?;
        let by_law = plan_with(&basis.law, wish, args.level, args.power, inflation)
            .with_context(|| format!("cannot plan for `{text}`"))?;
        let asked_for = args.inflation.is_some();
        plans.push(without_law(&by_law, &basis, args.level).filter(|_| !asked_for).unwrap_or(by_law));
    }
    if args.json {
        output::json(&json!({
            "schema": "lastrank.plan/1",
            "basis": {
                "name": basis.name,
                "law": basis.law,
                "n": basis.have,
                "seconds": basis.seconds,
                "variance_inflation": inflation,
                "warnings": basis.warnings,
            },
            "level": args.level,
            "plans": words::json(&plans)?,
        }))?;
    } else {
        let sign = match basis.warnings.is_empty() {
            true => AnswerSign::Good,
            false => AnswerSign::Caution,
        };
        let answer = words::planning::answer(&plans, basis.have);
        let head = answer_line(sign, &answer, output::screen_options());
        output::print_below(&head, &text(args, &basis, inflation, &plans))?;
    }
    Ok(Status::Ok)
}

/// The pilot and the goals, of which the first stands in its place where there is none.
fn pilot_and_goals(args: &PlanArgs) -> anyhow::Result<(Option<&Path>, Vec<&str>)> {
    let law = [args.location, args.scale, args.shape].iter().any(Option::is_some);
    let mut goals: Vec<&str> = args.goals.iter().chain(&args.precision).map(String::as_str).collect();
    let mut pilot = args.pilot.as_deref();
    if let Some(text) =
        pilot.and_then(Path::to_str).filter(|text| text.contains('=') && !Path::new(text).exists())
    {
        goals.insert(0, text);
        pilot = None;
    }
    if goals.is_empty() {
        bail!("say what is wanted how precisely, for example p99=5% or `return-level(100)=0.5%`");
    }
    match (pilot, law) {
        (Some(_), true) => bail!("a pilot says the law: leave --location, --scale and --shape out"),
        (None, false) => bail!("name a pilot, or a law with --location and --scale"),
        (pilot, _) => Ok((pilot, goals)),
    }
}

/// The plan for a quantile by its interval in the pilot, which needs no law and allows for values that come together;
/// none of other goals, and where the pilot does not reach the quantile.
fn without_law(plan: &Plan, basis: &Basis, level: f64) -> Option<Plan> {
    let Quantity::Quantile(p) = plan.goal.quantity else { return None };
    let found = basis.intervals.iter().find(|one| one.probability == p && level == 0.95)?;
    let half_width = match plan.goal.precision {
        Precision::Relative(share) => share * found.seconds,
        Precision::Absolute(width) => width,
    };
    let runs = found.values_for(basis.have, half_width / found.seconds)?;
    let worth = found.effective_n / basis.have as f64;
    Some(Plan {
        runs: runs.ceil(),
        runs_independent: (runs * worth).ceil(),
        variance_inflation: 1.0 / worth,
        half_width,
        value: found.seconds,
        unit_error: found.half_width() * found.seconds / NORMAL_95 * (basis.have as f64).sqrt(),
        ..plan.clone()
    })
}

fn of_pilot(values: Values) -> anyhow::Result<Basis> {
    let cannot = || format!("{} cannot be a pilot", values.name);
    let series = Series::clean(&values.numbers);
    series.require(tail::assess::FEWEST, 4).with_context(cannot)?;
    let fit = Likelihood::new(&series).with_context(cannot)?.fit();
    if fit.status == Fitted::Boundary {
        bail!("{} cannot be a pilot: its likelihood has no maximum; measure more runs", values.name);
    }
    let checked = independence::check(&values.numbers, 0.05).with_context(cannot)?;
    let mut warnings = values.warnings();
    warnings.extend(
        checked.rejected().filter(|test| test.question != independence::Question::Autocorrelation).map(
            |test| {
                format!(
                    "The pilot is not repetitions of one experiment ({}): no number of runs mends that.",
                    words::finding(&test.finding)
                )
            },
        ),
    );
    if series.len() < 50 {
        warnings.push(format!(
            "A pilot of {} runs knows the law roughly: plan again when there are more.",
            series.len()
        ));
    }
    let law = fit.law();
    Ok(Basis {
        law,
        inflation: checked.variance_inflation.max(1.0),
        have: series.len(),
        intervals: results::of_values(&values.numbers).1,
        unit: values.unit(law.quantile(0.5)),
        seconds: values.seconds,
        name: values.name,
        warnings,
    })
}

fn assumed(args: &PlanArgs) -> anyhow::Result<Basis> {
    let factor = args.choice.unit.map_or(1.0, TimeUnit::seconds);
    let (Some(location), Some(scale)) = (args.location, args.scale) else {
        bail!("name a pilot, or a law with --location and --scale");
    };
    let law = Gev::new(location * factor, scale * factor, args.shape.unwrap_or(0.0))
        .context("no law of maxima has these parameters")?;
    let seconds = args.choice.unit.is_some();
    Ok(Basis {
        law,
        inflation: 1.0,
        have: 0,
        intervals: Vec::new(),
        name: "an assumed law".into(),
        unit: if seconds { Unit::of_duration(law.quantile(0.5)) } else { Unit::NONE },
        seconds,
        warnings: Vec::new(),
    })
}

/// A wish, whose half-width may have a unit of time: `location=50us`.
fn wish(text: &str, seconds: bool) -> anyhow::Result<PrecisionGoal> {
    let wrong = |why: String| anyhow!("--precision {text}: {why}");
    let (left, right) = text.split_once('=').unwrap_or((text, ""));
    let units = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let found = units.iter().find_map(|(name, factor)| {
        right
            .trim()
            .strip_suffix(name)
            .and_then(|digits| digits.trim().parse::<f64>().ok())
            .map(|n| n * factor)
    });
    let Some(width) = found else { return parse(text).map_err(|why| wrong(why.to_string())) };
    if !seconds {
        return Err(wrong("the unit of the values is not known; --unit says it".into()));
    }
    if ["shape", "k"].contains(&left.trim()) {
        return Err(wrong(format!("`{}` has no unit of time", left.trim())));
    }
    parse(&format!("{left}={width:e}")).map_err(|why| wrong(why.to_string()))
}

fn text(args: &PlanArgs, basis: &Basis, inflation: f64, plans: &[Plan]) -> String {
    let unit = basis.unit;
    let Gev { location, scale, shape } = basis.law;
    let runs = if basis.have > 0 { format!(", {} runs", count(basis.have as u64)) } else { String::new() };
    let mut text = format!(
        "{}{runs}: location {}, scale {}, shape {}\n",
        basis.name,
        unit.show(location),
        unit.show(scale),
        report::fixed(shape, 3)
    );
    for warning in &basis.warnings {
        text += &report::sentence("warning: ", warning);
    }
    text.push('\n');
    let percent = report::confidence(args.level);
    let mut table = Table::new(
        "Runs needed",
        &["<for", "value", "± half-width", "runs if independent", "runs", "further runs"],
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
        text += &report::sentence(&format!("{}: ", name(plan.goal.quantity)), &words::planning::text(plan));
    }
    text += &format!("Intervals are meant at {percent}.");
    text += &match inflation > 1.05 {
        true => {
            format!(" Neighbours resemble each other: {} runs are worth one.\n", significant(inflation, 3))
        }
        false => " Runs count as independent.\n".into(),
    };
    text
}

fn name(quantity: Quantity) -> String {
    match quantity {
        Quantity::Location => "location".into(),
        Quantity::Scale => "scale".into(),
        Quantity::Shape => "shape".into(),
        Quantity::ReturnLevel(period) => format!("return level ({})", count(period.round() as u64)),
        Quantity::Quantile(p) => format!("p{}", (1e6 * p).round() / 1e4),
        Quantity::Factor => "k, on each system".into(),
    }
}

fn shown(plan: &Plan, unit: Unit) -> (String, String) {
    match plan.goal.quantity {
        Quantity::Factor => {
            ("1".into(), format!("{}\u{202f}%", significant(100.0 * plan.half_width.exp_m1(), 3)))
        }
        Quantity::Shape => (report::fixed(plan.value, 3), significant(plan.half_width, 3)),
        _ => {
            let own = if unit.name.is_empty() { unit } else { Unit::of_duration(plan.half_width) };
            (unit.show(plan.value), own.named(&significant(own.scale(plan.half_width), 3)))
        }
    }
}

fn whole(runs: f64) -> String {
    if runs < 1e15 { count(runs as u64) } else { significant(runs, 3) }
}
