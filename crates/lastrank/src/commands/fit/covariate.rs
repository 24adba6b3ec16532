//! Fits distributions whose parameters follow covariates: trend, hour of the day, load, a column.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use intake::Wanted;
use serde::Serialize;
use tail::regression::{Covariate, LevelAt, Part, Regression, RegressionDistribution};
use tail::{Interval, Status, independence};

use super::models::Fitted;
use super::sample::FittedSample;
use crate::cli::FitArgs;
use crate::values::Values;

/// A distribution whose parameters follow covariates, against the one whose do not.
#[derive(Serialize)]
pub struct Regressed {
    pub status: Status,
    pub n: usize,
    pub coefficients: Vec<Coefficient>,
    pub covariance: Option<Vec<Vec<f64>>>,
    /// What was asked for, each tested by leaving it out.
    pub terms: Vec<Term>,
    pub negative_log_likelihood: f64,
    pub aic: f64,
    /// The same without any covariate.
    pub aic_without: f64,
    /// All covariates against none.
    pub statistic: f64,
    pub degrees_of_freedom: usize,
    pub p: f64,
    /// Whether the residuals are independent draws of one distribution, and what speaks against it.
    pub residuals_pass: bool,
    pub residuals: Vec<String>,
    /// Return levels where `--at` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels_at: Option<LevelsAt>,
    /// Without `--at`, those at the means of the covariates; none where one of them is the hour, which has no mean.
    #[serde(skip)]
    pub levels_at_means: Option<LevelsAt>,
}

/// Return levels at given covariates.
#[derive(Serialize)]
pub struct LevelsAt {
    /// The value of each column.
    pub at: BTreeMap<String, f64>,
    pub levels: Vec<LevelAt>,
}

/// A coefficient; `1` is the intercept.
#[derive(Serialize)]
pub struct Coefficient {
    pub part: Part,
    pub name: String,
    pub value: f64,
    pub standard_error: Option<f64>,
    pub interval: Option<Interval>,
}

/// One `--covariate`.
#[derive(Serialize)]
pub struct Term {
    pub name: String,
    pub part: Part,
    pub columns: Vec<String>,
    pub statistic: f64,
    pub degrees_of_freedom: usize,
    pub p: f64,
}

/// What was asked for, with its numbers.
struct RequestedTerm {
    text: String,
    part: Part,
    columns: Vec<(String, Vec<f64>)>,
}

/// Fit with the covariates of the command line; none without any.
pub fn fit(
    args: &FitArgs,
    (values, sample): (&Values, &FittedSample),
    fitted: &Fitted,
    periods: &[f64],
) -> anyhow::Result<Option<Regressed>> {
    if args.covariate.is_empty() {
        return Ok(None);
    }
    let family = match fitted {
        Fitted::Gumbel(..) => RegressionDistribution::Gumbel,
        Fitted::Gpd(found) => RegressionDistribution::Gpd(found.threshold.value),
        _ => RegressionDistribution::Gev,
    };
    let mut terms: Vec<RequestedTerm> = Vec::new();
    for text in &args.covariate {
        let asked = requested_term(text, args, values, sample, family)?;
        if terms.iter().any(|other| other.text == asked.text && other.part == asked.part) {
            bail!("--covariate {text} is given twice");
        }
        terms.push(asked);
    }
    let all: Vec<usize> = (0..terms.len()).collect();
    let regression = |kept: &[usize]| {
        let columns = kept.iter().flat_map(|&at| {
            let term = &terms[at];
            term.columns.iter().map(|(name, values)| Covariate::new(term.part, name.clone(), values.clone()))
        });
        Regression::new(&sample.numbers, family, columns.collect())
    };
    let cannot = "cannot fit with these covariates";
    let whole = regression(&all).context(cannot)?;
    let found = whole.fit().context(cannot)?;
    let without = regression(&[]).and_then(|none| none.fit()).context(cannot)?;
    let (statistic, degrees_of_freedom, p) = found.against(&without);
    let mut tested = Vec::new();
    for (at, term) in terms.iter().enumerate() {
        let others: Vec<usize> = all.iter().copied().filter(|other| *other != at).collect();
        let smaller = regression(&others).and_then(|smaller| smaller.fit()).context(cannot)?;
        let (statistic, degrees_of_freedom, p) = found.against(&smaller);
        tested.push(Term {
            name: term.text.clone(),
            part: term.part,
            columns: term.columns.iter().map(|(name, _)| name.clone()).collect(),
            statistic,
            degrees_of_freedom,
            p,
        });
    }
    let checked = independence::check(&whole.residuals(&found), 0.05)?;
    // Below the threshold a distribution of what exceeds it has no levels: of those that nobody asked for they are left out.
    let least = match fitted {
        Fitted::Gpd(found) if args.period.is_empty() => 1.0 / found.rate,
        Fitted::Gpd(_) | Fitted::Gev(_) | Fitted::Gumbel(..) | Fitted::Maxima(_) => 1.0,
    };
    let periods: Vec<f64> = periods.iter().copied().filter(|period| *period > least).collect();
    let levels_at = levels_at(args, &whole, &terms, &periods)?;
    let levels_at_means = match args.at.is_empty() {
        true => levels_at_means(args, &whole, &terms, &periods),
        false => None,
    };
    Ok(Some(Regressed {
        levels_at,
        levels_at_means,
        status: found.status,
        n: found.n,
        coefficients: found
            .coefficients
            .iter()
            .map(|coefficient| Coefficient {
                part: coefficient.part,
                name: coefficient.name.clone(),
                value: coefficient.value,
                standard_error: coefficient.standard_error,
                interval: match coefficient.name.as_str() {
                    "1" => None,
                    name => whole.profile_slope(coefficient.part, name, args.level).ok(),
                },
            })
            .collect(),
        aic: found.aic(),
        aic_without: without.aic(),
        covariance: found.covariance,
        terms: tested,
        negative_log_likelihood: found.negative_log_likelihood,
        statistic,
        degrees_of_freedom,
        p,
        residuals_pass: checked.passed,
        residuals: report::words::against(&checked),
    }))
}

/// The levels at the covariates of `--at`; none without it.
fn levels_at(
    args: &FitArgs,
    whole: &Regression,
    terms: &[RequestedTerm],
    periods: &[f64],
) -> anyhow::Result<Option<LevelsAt>> {
    if args.at.is_empty() {
        return Ok(None);
    }
    let known: BTreeSet<&str> =
        terms.iter().flat_map(|term| term.columns.iter().map(|(name, _)| name.as_str())).collect();
    let mut at = BTreeMap::new();
    for text in &args.at {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| anyhow!("--at {text}: write NAME=VALUE, for example load=0.5"))?;
        let value: f64 = value
            .trim()
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite())
            .ok_or_else(|| anyhow!("--at {text}: `{value}` is not a number"))?;
        let given = match name.trim() {
            "hour" if known.contains("hour_cos") => day_at(3600.0 * value).into(),
            name => vec![(name.to_owned(), value)],
        };
        for (name, value) in given {
            if !known.contains(name.as_str()) {
                let known: Vec<&str> = known.iter().copied().collect();
                bail!("--at {text}: the covariates are {}", known.join(", "));
            }
            if at.insert(name, value).is_some() {
                bail!("--at {text}: given twice");
            }
        }
    }
    if let Some(missing) = known.iter().find(|name| !at.contains_key(**name)) {
        let name = if missing.starts_with("hour_") { "hour" } else { missing };
        bail!("--at: the levels depend on {name} too: add --at {name}=VALUE");
    }
    let given: Vec<(&str, f64)> = at.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let levels = periods
        .iter()
        .map(|period| whole.return_level(&given, *period, args.level))
        .collect::<Result<_, _>>()
        .context("cannot give the return levels at these covariates")?;
    Ok(Some(LevelsAt { at, levels }))
}

fn levels_at_means(
    args: &FitArgs,
    whole: &Regression,
    terms: &[RequestedTerm],
    periods: &[f64],
) -> Option<LevelsAt> {
    let columns = || terms.iter().flat_map(|term| &term.columns);
    if columns().any(|(name, _)| name.starts_with("hour_")) {
        return None;
    }
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let at: BTreeMap<String, f64> = columns().map(|(name, numbers)| (name.clone(), mean(numbers))).collect();
    let given: Vec<(&str, f64)> = at.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let level = |period: &f64| whole.return_level(&given, *period, args.level).ok();
    let levels = periods.iter().map(level).collect::<Option<_>>()?;
    Some(LevelsAt { at, levels })
}

fn requested_term(
    text: &str,
    args: &FitArgs,
    values: &Values,
    sample: &FittedSample,
    family: RegressionDistribution,
) -> anyhow::Result<RequestedTerm> {
    let usual =
        if matches!(family, RegressionDistribution::Gpd(_)) { Part::LogScale } else { Part::Location };
    let (part, name) = match text.split_once(':') {
        Some(("location", name)) => (Part::Location, name),
        Some(("scale", name)) => (Part::LogScale, name),
        Some(("shape", name)) => (Part::Shape, name),
        _ => (usual, text),
    };
    match (part, family) {
        (Part::Location, RegressionDistribution::Gpd(_)) => {
            bail!("--covariate {text}: above a threshold there is no location; use scale:{name}")
        }
        (Part::Shape, RegressionDistribution::Gumbel) => {
            bail!("--covariate {text}: the shape of a Gumbel distribution is 0; use --model gev")
        }
        _ => {}
    }
    let columns = columns(name, args, values).with_context(|| format!("--covariate {text}"))?;
    for (column, numbers) in &columns {
        if numbers.len() != values.numbers.len() {
            bail!(
                "--covariate {text}: {} numbers in {column} for {} values of {}; one for each is needed",
                numbers.len(),
                values.numbers.len(),
                values.name
            );
        }
    }
    let of_sample = |numbers: Vec<f64>| match sample.index.as_slice() {
        [] => numbers,
        index => index.iter().map(|at| numbers[*at]).collect(),
    };
    let picked = columns.into_iter().map(|(column, numbers)| (column, of_sample(numbers)));
    Ok(RequestedTerm { text: name.into(), part, columns: picked.collect() })
}

/// The numbers of a covariate, one for each value of the input.
fn columns(name: &str, args: &FitArgs, values: &Values) -> anyhow::Result<Vec<(String, Vec<f64>)>> {
    let n = values.numbers.len();
    let is_table = values.subject.is_none() && args.file != Path::new("-");
    // A column of the table takes precedence over the names that runs have.
    let column = (is_table && name != "trend").then(|| column_of(args, name));
    let of_run = || {
        values.subject.as_ref().with_context(|| format!("{} is no run, and has no such column", values.name))
    };
    match name {
        "hour" if let Some(Ok(hours)) = &column => {
            day(&hours.iter().map(|hour| 3600.0 * hour).collect::<Vec<_>>())
        }
        "load" if let Some(Ok(load)) = &column => Ok(vec![("load".into(), load.clone())]),
        // From 0 at the first value to 1 at the last: the slope is the change over the whole.
        "trend" => {
            let last = (n.max(2) - 1) as f64;
            Ok(vec![("trend".into(), (0..n).map(|i| i as f64 / last).collect())])
        }
        "hour" => {
            let started = values.facts.as_ref().and_then(|facts| facts.began()).unwrap_or_default();
            let subject = of_run()?;
            let first = second_of_day(started)
                .with_context(|| format!("{} does not say when it began", values.name))?;
            day(&subject.steps.iter().map(|step| first + step.start_s).collect::<Vec<_>>())
        }
        // How long the slowest rank was ready to run and had to wait for a processor.
        "load" => {
            let subject = of_run()?;
            if !subject.has_correction() {
                bail!("no CPU wait was read in {}", values.name);
            }
            let wait = subject.steps.iter().map(|step| step.seconds - step.corrected).collect();
            Ok(vec![("load".into(), wait)])
        }
        _ => match column {
            Some(Ok(numbers)) => Ok(vec![(name.into(), numbers)]),
            _ if Path::new(name).is_file() => {
                Ok(vec![(name.into(), intake::read(Path::new(name), &Wanted::default())?.values)])
            }
            Some(Err(Unread::Value(text))) => {
                bail!("--covariate {name}: `{}` is neither a number nor a date", samples::visible(&text))
            }
            _ => Err(anyhow!(
                "`{name}` is none of trend, hour, load, a column of {} or a file with one number a line",
                args.file.display()
            )),
        },
    }
}

/// Why a column is no covariate.
enum Unread {
    /// The table has no such column.
    Absent,
    /// A text in it.
    Value(String),
}

/// A column of the table, for the rows whose values are taken: numbers, or dates as days since the first of them.
fn column_of(args: &FitArgs, name: &str) -> Result<Vec<f64>, Unread> {
    let texts = super::groups::beside(args, name).map_err(|_| Unread::Absent)?;
    let decimal = args.choice.decimal.unwrap_or('.');
    let number = |text: &String| text.replacen(decimal, ".", 1).parse().ok().filter(|n: &f64| n.is_finite());
    if let Some(numbers) = texts.iter().map(number).collect() {
        return Ok(numbers);
    }
    let days: Option<Vec<f64>> = texts.iter().map(|text| intake::days(text)).collect();
    let wrong = || texts.iter().find(|text| number(text).is_none()).cloned().unwrap_or_default();
    let days = days.ok_or_else(|| Unread::Value(wrong()))?;
    let earliest = days.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(days.iter().map(|day| day - earliest).collect())
}

/// Two columns that make any wave of a day, from seconds since midnight.
fn day(seconds: &[f64]) -> anyhow::Result<Vec<(String, Vec<f64>)>> {
    let (low, high) =
        seconds.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), s| (l.min(*s), h.max(*s)));
    let hours = (high - low).max(0.0) / 3600.0;
    if hours < 6.0 {
        bail!(
            "the values span {hours:.1} hours; at least six are needed to tell the hour of the day from a trend"
        );
    }
    let [cos, sin] = [0, 1].map(|part| seconds.iter().map(|seconds| day_at(*seconds)[part].1).collect());
    Ok(vec![("hour_cos".into(), cos), ("hour_sin".into(), sin)])
}

/// Both columns at a second of the day.
fn day_at(seconds: f64) -> [(String, f64); 2] {
    let angle = std::f64::consts::TAU * seconds / 86_400.0;
    [("hour_cos".into(), angle.cos()), ("hour_sin".into(), angle.sin())]
}

/// `2026-03-02T09:30:00Z` as seconds since midnight.
fn second_of_day(text: &str) -> Option<f64> {
    let (_, time) = text.split_once('T')?;
    let mut parts = time.trim_end_matches('Z').split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    Some(3600.0 * hours + 60.0 * minutes + seconds)
}

#[cfg(test)]
mod tests {
    use super::second_of_day;

    #[test]
    fn the_time_of_day_is_read_from_a_moment() {
        assert_eq!(second_of_day("2026-03-02T09:30:10Z"), Some(34_210.0));
        assert_eq!(second_of_day("yesterday"), None);
    }
}
