//! `lastrank fit`: extreme-value analysis of a file of numbers.
//!
//! [`sample`] makes the fitted sample (all values, or maxima of blocks), [`models`] fits it, [`covariate`] fits distributions
//! whose parameters follow something, [`text`] renders the result.

mod binned;
mod covariate;
mod figure;
mod file;
mod groups;
mod histogram;
mod models;
mod page;
mod pareto;
pub mod part;
mod sample;
mod text;
mod threshold;

use anyhow::{Context, bail};
use report::words::unsound;
use report::{AnswerSign, FitAnswer, answer_line, sentence, words};
use serde_json::{Value, json};
use tail::assess::{AssessOptions, assess_clean};
use tail::groups::Groups;
use tail::latency::Latency;
use tail::targets::Targets;

use crate::cli::{FitArgs, Model};
use crate::exit::Status;
use crate::output;
use crate::soundness::blamed_on;
use crate::values::{Values, read};
use crate::working::Working;
use models::Fitted;
use sample::FittedSample;

/// Periods whose levels are shown where none are asked for.
const PERIODS: [f64; 3] = [10.0, 100.0, 1000.0];

/// Fewest single values whose far tail is looked at.
const FEWEST_FAR: usize = 1000;

/// Everything that was found, before it becomes words or JSON.
pub struct FitResult {
    pub values: Values,
    pub sample: FittedSample,
    pub fitted: Fitted,
    pub covariates: Option<covariate::Regressed>,
    pub targets: Option<Targets>,
    pub latency: Option<Latency>,
    pub groups: Option<Groups>,
}

/// Fit a run, a CSV file or a file with one number a line.
pub fn run(args: &FitArgs) -> anyhow::Result<Status> {
    check(args)?;
    file::check(args)?;
    let _working = Working::at("fitting");
    let values = match read(&args.file, &args.choice) {
        Ok(values) => part::of(args, values)?,
        Err(error) => {
            let (name, found) = histogram::of(error)?;
            return histogram::tell(args, &name, &found);
        }
    };
    let unsound = values.unsound.clone();
    let fitted = FittedSample::of(args, &values).and_then(|sample| fit(args, values, sample));
    let found = fitted.map_err(|why| blamed_on(&unsound, why))?;
    if args.json {
        output::json(&object(args, &found)?)?;
    } else if args.one_line {
        output::print_whole(&format!("{}\n", one_line(args, &found)?))?;
    } else {
        output::print_screen(&told(args, &found))?;
    }
    file::write(args, &found)?;
    Ok(Status::Ok.unless(&found.values.unsound))
}

/// What may be done with the values, or why nothing may: in a line.
fn one_line(args: &FitArgs, found: &FitResult) -> anyhow::Result<String> {
    if let Some(wrong) = unsound::headline(&found.values.unsound) {
        return Ok(format!("{wrong} ✖"));
    }
    let line = match &found.fitted {
        Fitted::Gev(assessed) | Fitted::Gumbel(assessed, _) => {
            report::fit_line(assessed, text::what(found), found.values.seconds)
        }
        Fitted::Gpd(pareto) => {
            let (sign, said) = pareto::answer(pareto, found, text::unit(found), args.level);
            format!("{said} {}", sign.mark())
        }
        Fitted::Maxima(_) => {
            bail!(
                "-q is for distributions that have a verdict, gev, gumbel and gpd; leave it out to see the fit"
            )
        }
    };
    Ok(match &found.values.limit {
        Some(cut) => format!("⚠ {}. Fitted all the same: {line}", words::capital(cut)),
        None => line,
    })
}

/// The answer for a terminal: the first screen of a fit of maxima without covariates, else all tables.
fn told(args: &FitArgs, found: &FitResult) -> String {
    let by = args.by.as_deref().unwrap_or_default();
    let groups = found.groups.as_ref().map_or(String::new(), |groups| {
        format!("{}\n", report::groups_text(groups, by, found.values.seconds, args.verbose))
    });
    let wrong = unsound::headline(&found.values.unsound)
        .map_or(String::new(), |text| answer_line(AnswerSign::Bad, &text, output::screen_options()));
    let took = found.values.took.as_ref().map_or(String::new(), |took| sentence("", took));
    wrong + &samples::visible(&(took + &groups)) + &told_distribution(args, found)
}

fn told_distribution(args: &FitArgs, found: &FitResult) -> String {
    let (Fitted::Gev(assessed), None, false) = (&found.fitted, &found.covariates, args.verbose) else {
        let tables = samples::visible(&text::of(args, found)).into_owned();
        return match &found.fitted {
            // Times that are not those of the work get no good sign.
            Fitted::Gpd(pareto) if is_sound(found) => {
                let (sign, said) = pareto::answer(pareto, found, text::unit(found), args.level);
                answer_line(sign, &said, output::screen_options()) + &tables
            }
            _ => tables,
        };
    };
    let answer = FitAnswer {
        name: &found.values.name,
        what: text::what(found),
        single: found.sample.blocks.is_none() && found.values.parts().is_none(),
        seconds: found.values.seconds,
        subject: found.values.subject.as_ref(),
        values: &found.sample.numbers,
        takers: &found.sample.takers,
        again: &part::again(args),
        found: assessed,
        options: &options(args),
        is_sound: is_sound(found),
    };
    let warnings = found.values.cautions();
    let warnings: String = warnings.iter().map(|warning| sentence("warning: ", warning)).collect();
    samples::visible(&warnings).into_owned() + &answer.screen(output::screen_options())
}

/// Whether the values are those of the work that was to be done, all of it.
fn is_sound(found: &FitResult) -> bool {
    found.values.unsound.is_empty() && found.values.limit.is_none()
}

fn options(args: &FitArgs) -> AssessOptions {
    let periods = if args.period.is_empty() { PERIODS.to_vec() } else { args.period.clone() };
    AssessOptions { level: args.level, seed: args.seed, periods, ..AssessOptions::default() }
}

/// Options that do not go together, before anything is read.
fn check(args: &FitArgs) -> anyhow::Result<()> {
    if !(args.level > 0.0 && args.level < 1.0) {
        bail!("--level {}: between 0 and 1, for example 0.95", args.level);
    }
    if let Some(period) = args.period.iter().find(|period| !(**period > 1.0 && period.is_finite())) {
        bail!("--period {period}: a number of values above 1");
    }
    let beyond = matches!(args.model, Model::Gpd | Model::PointProcess);
    if args.threshold.is_some() && !beyond {
        bail!("--threshold is for --model gpd and point-process");
    }
    if args.r.is_some() && args.model != Model::RLargest {
        bail!("--r is for --model r-largest");
    }
    if args.block.is_some() && args.model == Model::Gpd {
        bail!("--block is for maxima; --model gpd looks at every value above its threshold");
    }
    if args.block.is_none() && args.model == Model::PointProcess {
        bail!("--model point-process is about maxima of blocks: say with --block how long one is");
    }
    if !args.at.is_empty() && args.covariate.is_empty() {
        bail!("--at is for --covariate: it says where the levels are wanted");
    }
    if !args.covariate.is_empty() && matches!(args.model, Model::RLargest | Model::PointProcess) {
        bail!("--covariate is for --model gev, gumbel and gpd");
    }
    Ok(())
}

fn fit(args: &FitArgs, values: Values, sample: FittedSample) -> anyhow::Result<FitResult> {
    let options = options(args);
    let periods = options.periods.clone();
    let cannot = || format!("cannot fit {}", values.name);
    let latency = latency(args, &values).transpose().with_context(cannot)?;
    let fitted = match args.model {
        Model::Gev => {
            let assessed = assess_clean(&sample.series(), &sample.numbers, &options);
            Fitted::Gev(Box::new(assessed.with_context(cannot)?))
        }
        Model::Gumbel => {
            let assessed = assess_clean(&sample.series(), &sample.numbers, &options).with_context(cannot)?;
            let gumbel = models::gumbel(&sample.numbers, &periods, args.level).with_context(cannot)?;
            Fitted::Gumbel(Box::new(assessed), gumbel)
        }
        Model::Gpd => {
            let threshold = threshold::of(args, &values, latency.as_ref())?;
            let found = models::gpd(&values.numbers, threshold, &periods, args.level, args.seed);
            Fitted::Gpd(found.with_context(cannot)?)
        }
        Model::RLargest => Fitted::Maxima(models::r_largest(args, &sample, &periods).with_context(cannot)?),
        Model::PointProcess => {
            let threshold = threshold::of(args, &values, latency.as_ref())?;
            Fitted::Maxima(
                models::point_process(&values.numbers, threshold, &sample, &periods, args.level)
                    .with_context(cannot)?,
            )
        }
    };
    let covariates = covariate::fit(args, (&values, &sample), &fitted, &periods)?;
    let targets = match &values.subject {
        Some(subject) if subject.gate && subject.ranks.len() > 1 => {
            tail::targets::analyse(&subject.of_rank, args.level)
                .ok()
                .map(|found| found.of_ranks(&subject.ranks))
        }
        _ => None,
    };
    let groups = groups::of(args, &values)?;
    Ok(FitResult { values, sample, fitted, covariates, targets, latency, groups })
}

/// The far tail of many single values, not of maxima.
fn latency(args: &FitArgs, values: &Values) -> Option<Result<Latency, tail::Error>> {
    let wanted = values.parts().is_none()
        && (matches!(args.model, Model::Gpd | Model::PointProcess) || args.block.is_none());
    let n = values.numbers.len();
    if !wanted || n < FEWEST_FAR {
        return None;
    }
    let reach = 100.0 * n as f64;
    let mut operations: Vec<f64> =
        [1e2, 1e3, 1e4, 1e5, 1e6, 1e7].into_iter().filter(|period| *period <= reach).collect();
    operations.extend(
        args.period.iter().filter(|period| !operations.contains(period)).copied().collect::<Vec<_>>(),
    );
    operations.sort_by(f64::total_cmp);
    match tail::latency::analyse_series(&values.series(), &operations, args.level, args.seed) {
        // Values that are mostly equal have no tail to look at, but may have a distribution.
        Err(tail::Error::TooFewDistinct { .. } | tail::Error::TooFew { .. }) => None,
        found => Some(found),
    }
}

/// The JSON of it all, schema `lastrank.fit/1`.
fn object(args: &FitArgs, found: &FitResult) -> anyhow::Result<Value> {
    let values = &found.values;
    let subject = values.subject.as_ref();
    let mut object = found.fitted.object(&found.sample, args.level)?;
    let mut add = |key: &str, value: Value| {
        if let Some(object) = object.as_object_mut() {
            object.insert(key.into(), value);
        }
    };
    add("schema", tail::assess::SCHEMA.into());
    add("model", found.fitted.code().into());
    add("level", args.level.into());
    add("seed", args.seed.into());
    add(
        "source",
        json!({
            "name": values.name,
            "unit": values.seconds.then_some("s"),
            "values": values.numbers.len(),
            "site": subject.map(|subject| &subject.name),
            "gate": subject.map(|subject| subject.gate),
            "ranks": subject.map(|subject| subject.ranks.len()),
            "took": values.took,
            "started": values.facts.as_ref().and_then(|facts| facts.began()),
        }),
    );
    add("warnings", json!(values.warnings()));
    add("unsound", json!(values.unsound));
    if let Some(blocks) = &found.sample.blocks {
        add("block", serde_json::to_value(blocks)?);
    }
    if let Some(covariates) = &found.covariates {
        add("covariates", serde_json::to_value(covariates)?);
    }
    if let Some(targets) = &found.targets {
        add("targets", words::json(targets)?);
    }
    if let Some(groups) = &found.groups {
        add("groups", serde_json::to_value(groups)?);
    }
    if let Some(latency) = &found.latency {
        add("latency", words::json(latency)?);
    }
    if args.figures {
        let options = options(args);
        add("figures", serde_json::to_value(file::page(args, found, &options).figures())?);
    }
    if let (Some(wrong), Some(verdict)) = (unsound::headline(&values.unsound), object.get_mut("verdict")) {
        verdict["usability"] = json!(tail::verdict::Usability::NotUsable);
        let text = verdict["text"].as_str().unwrap_or_default();
        verdict["text"] = format!("{wrong} Fitted all the same: {text}").into();
    }
    Ok(object)
}
