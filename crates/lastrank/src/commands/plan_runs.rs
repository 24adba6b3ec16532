//! `lastrank plan-runs`: computes how many runs a precision needs.

use anyhow::{Context, anyhow, bail};
use report::{Table, Unit, significant, words};
use samples::units::count;
use serde_json::json;
use tail::planning::{Plan, PrecisionGoal, Quantity, parse, plan_with};
use tail::{Gev, Likelihood, Series, Status as Fitted, independence};

use crate::cli::{PlanArgs, TimeUnit};
use crate::exit::Status;
use crate::output;
use crate::values::{Values, read};

/// What the plan is made with.
struct Basis {
    law: Gev,
    inflation: f64,
    /// Runs that exist already.
    have: usize,
    name: String,
    unit: Unit,
    seconds: bool,
    warnings: Vec<String>,
}

/// Plan for each wish, from a pilot or from an assumed law.
pub fn run(args: &PlanArgs) -> anyhow::Result<Status> {
    let basis = match &args.pilot {
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
    for text in &args.precision {
        let wish = wish(text, basis.seconds)?;
        plans.push(
            plan_with(&basis.law, wish, args.level, args.power, inflation)
                .with_context(|| format!("cannot plan for `{text}`"))?,
        );
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
        output::print(&text(args, &basis, inflation, &plans))?;
    }
    Ok(Status::Ok)
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
    let mut text = report::sentence("", &words::planning::answer(plans, basis.have));
    text += &format!(
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
