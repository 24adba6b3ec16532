//! Fits each model of `--model`, and makes its part of the JSON.

use anyhow::{Context, bail};
use report::words;
use serde::Serialize;
use serde_json::{Value, json};
use tail::assess::{Assessment, ReturnLevel, summarise};
use tail::extremes::Model as Extremes;
use tail::gev::{self, Parameters};
use tail::{Interval, Series, Status, gpd, gumbel, independence, latency};

use super::sample::FittedSample;
use super::threshold::Threshold;
use crate::cli::FitArgs;

/// A fitted model.
pub enum Fitted {
    Gev(Box<Assessment>),
    Gumbel(Box<Assessment>, Gumbel),
    Gpd(Pareto),
    Maxima(Maxima),
}

/// A Gumbel distribution.
#[derive(Serialize)]
pub struct Gumbel {
    pub location: f64,
    pub scale: f64,
    pub standard_errors: [f64; 2],
    pub covariance: [[f64; 2]; 2],
    pub negative_log_likelihood: f64,
    pub aic: f64,
    pub bic: f64,
    pub intervals: [Option<Interval>; 2],
    #[serde(skip)]
    pub return_levels: Vec<ReturnLevel>,
}

/// A generalised Pareto distribution above a threshold.
#[derive(Serialize)]
pub struct Pareto {
    pub status: Status,
    pub threshold: Threshold,
    pub exceedances: usize,
    pub rate: f64,
    pub extremal_index: f64,
    pub effective_exceedances: f64,
    /// Whether that is too few for intervals.
    #[serde(skip)]
    pub is_worth_few: bool,
    pub scale: f64,
    pub shape: f64,
    pub standard_errors: Option<[f64; 2]>,
    pub covariance: Option<[[f64; 2]; 2]>,
    pub negative_log_likelihood: f64,
    pub aic: f64,
    pub intervals: [Option<Interval>; 2],
    pub goodness_of_fit: Option<AndersonDarling>,
    pub clusters: Option<latency::Clusters>,
    #[serde(skip)]
    pub return_levels: Vec<ReturnLevel>,
}

/// The test whether a Pareto distribution fits above the threshold.
#[derive(Clone, Copy, Serialize)]
pub struct AndersonDarling {
    pub a2: f64,
    pub p: f64,
}

/// The distribution of block maxima from more than the maxima.
#[derive(Serialize)]
pub struct Maxima {
    /// `r_largest` or `point_process`.
    #[serde(skip)]
    pub code: &'static str,
    pub status: Status,
    /// Largest values of each block.
    pub r: Option<usize>,
    pub threshold: Option<Threshold>,
    /// Blocks, and values that the likelihood has.
    pub blocks: f64,
    pub values: usize,
    pub location: f64,
    pub scale: f64,
    pub shape: f64,
    pub standard_errors: Option<Parameters>,
    pub covariance: Option<[[f64; 3]; 3]>,
    pub negative_log_likelihood: f64,
    pub intervals: [Option<Interval>; 3],
    /// The same for r = 1, 2, …: constant where the model holds.
    pub by_r: Vec<ByR>,
    #[serde(skip)]
    pub return_levels: Vec<ReturnLevel>,
}

/// The fit from the r largest.
#[derive(Serialize)]
pub struct ByR {
    pub r: usize,
    pub location: f64,
    pub scale: f64,
    pub shape: f64,
    pub shape_error: Option<f64>,
}

/// Fit a Gumbel distribution.
pub fn gumbel(values: &[f64], periods: &[f64], level: f64) -> Result<Gumbel, tail::Error> {
    let series = Series::clean(values);
    let fit = gumbel::fit(&series)?;
    let profile = |target| gumbel::profile(&series, &fit, target, level).ok();
    let return_levels = periods
        .iter()
        .map(|&period| {
            let c = tail::gumbel_level(1.0 / period);
            let v = fit.covariance;
            let variance = v[0][0] + 2.0 * c * v[0][1] + c * c * v[1][1];
            let interval = profile(gumbel::GumbelTarget::ReturnLevel(period));
            return_level(
                period,
                fit.distribution().return_level(period),
                Some(variance.sqrt()),
                interval,
                values.len() as f64,
            )
        })
        .collect();
    Ok(Gumbel {
        location: fit.location,
        scale: fit.scale,
        standard_errors: fit.standard_errors,
        covariance: fit.covariance,
        negative_log_likelihood: fit.negative_log_likelihood,
        aic: fit.aic(),
        bic: fit.bic(),
        intervals: [profile(gumbel::GumbelTarget::Location), profile(gumbel::GumbelTarget::Scale)],
        return_levels,
    })
}

/// Fit a generalised Pareto distribution to what exceeds `threshold`.
pub fn gpd(
    values: &[f64],
    threshold: Threshold,
    periods: &[f64],
    level: f64,
    seed: u64,
) -> Result<Pareto, tail::Error> {
    let found = latency::above(values, threshold.value, periods, level, seed)?;
    let fit = &found.fit;
    let series = Series::clean(values);
    let likelihood = gpd::GpdLikelihood::new(&series, threshold.value)?;
    let few = found.is_worth_few();
    let profile = |target, at: usize| {
        likelihood.profile_inflated(fit, target, level, found.inflation[at]).ok().filter(|_| !few)
    };
    let errors = |errors: [f64; 2]| [0, 1].map(|at| errors[at] * found.inflation[at].sqrt());
    let return_levels = found
        .levels
        .iter()
        .map(|level| {
            let (error, n) = (found.standard_error(level), values.len() as f64);
            return_level(level.operations, level.quantile, error, level.quantile_interval, n)
        })
        .collect();
    Ok(Pareto {
        status: fit.status,
        threshold,
        exceedances: fit.exceedances,
        rate: fit.rate,
        extremal_index: found.extremal_index[1],
        scale: fit.scale,
        shape: fit.shape,
        effective_exceedances: found.effective_exceedances,
        is_worth_few: few,
        standard_errors: fit.standard_errors.map(errors),
        covariance: fit.covariance,
        negative_log_likelihood: fit.negative_log_likelihood,
        aic: fit.aic(),
        intervals: [profile(gpd::GpdTarget::Scale, 0), profile(gpd::GpdTarget::Shape, 1)],
        goodness_of_fit: found
            .candidate
            .map(|candidate| AndersonDarling { a2: candidate.a2, p: candidate.p }),
        clusters: found.clusters,
        return_levels,
    })
}

/// Fit the distribution of block maxima to the r largest of each block.
pub fn r_largest(args: &FitArgs, sample: &FittedSample, periods: &[f64]) -> anyhow::Result<Maxima> {
    let smallest = sample.members.iter().map(Vec::len).min().unwrap_or(0);
    let r = args.r.unwrap_or_else(|| smallest.clamp(1, 5));
    if r == 0 || r > smallest {
        bail!("--r {r}: between 1 and {smallest}, the size of the smallest block");
    }
    let mut by_r = Vec::new();
    for r in 1..=r {
        let fit = Extremes::largest(&sample.members, r)?.fit();
        by_r.push(ByR {
            r,
            location: fit.location,
            scale: fit.scale,
            shape: fit.shape,
            shape_error: fit.standard_errors.map(|errors| errors.shape),
        });
    }
    let model = Extremes::largest(&sample.members, r)?;
    let found = maxima("r_largest", &model, sample.members.len() as f64, periods, args.level)?;
    Ok(Maxima { r: Some(r), values: r * sample.members.len(), by_r, ..found })
}

/// Fit the distribution of block maxima to all values above a threshold.
pub fn point_process(
    values: &[f64],
    threshold: Threshold,
    sample: &FittedSample,
    periods: &[f64],
    level: f64,
) -> anyhow::Result<Maxima> {
    let blocks = sample.blocks.as_ref().context("--block is missing")?;
    // Values that fill no whole block are watched too.
    let inside = (values.len() - blocks.left_over) as f64;
    let count = blocks.count as f64 * values.len() as f64 / inside;
    let model = Extremes::point_process(values, threshold.value, count)?;
    let found = maxima("point_process", &model, count, periods, level)?;
    Ok(Maxima {
        threshold: Some(threshold),
        values: values.iter().filter(|x| **x > threshold.value).count(),
        ..found
    })
}

fn maxima(
    code: &'static str,
    model: &Extremes,
    blocks: f64,
    periods: &[f64],
    level: f64,
) -> Result<Maxima, tail::Error> {
    let fit = model.fit();
    let profile = |target| model.profile(&fit, target, level).ok();
    let return_levels = periods
        .iter()
        .map(|&period| {
            let found = fit.return_level(period)?;
            let interval = profile(gev::GevTarget::ReturnLevel(period));
            Ok(return_level(period, found.level, found.standard_error, interval, blocks))
        })
        .collect::<Result<_, tail::Error>>()?;
    Ok(Maxima {
        code,
        status: fit.status,
        r: None,
        threshold: None,
        blocks,
        values: 0,
        location: fit.location,
        scale: fit.scale,
        shape: fit.shape,
        standard_errors: fit.standard_errors,
        covariance: fit.covariance,
        negative_log_likelihood: fit.negative_log_likelihood,
        intervals: [
            profile(gev::GevTarget::Location),
            profile(gev::GevTarget::Scale),
            profile(gev::GevTarget::Shape),
        ],
        by_r: Vec::new(),
        return_levels,
    })
}

fn return_level(
    period: f64,
    level: f64,
    standard_error: Option<f64>,
    interval: Option<Interval>,
    n: f64,
) -> ReturnLevel {
    ReturnLevel {
        period,
        level,
        standard_error,
        lower: interval.map_or(f64::NAN, |interval| interval.lower),
        upper: interval.map_or(f64::NAN, |interval| interval.upper),
        interval,
        observed: n >= period,
    }
}

impl Fitted {
    /// As `--model` calls it, with an underscore.
    pub fn code(&self) -> &'static str {
        match self {
            Fitted::Gev(_) => "gev",
            Fitted::Gumbel(..) => "gumbel",
            Fitted::Gpd(_) => "gpd",
            Fitted::Maxima(found) => found.code,
        }
    }

    /// The fields that depend on the model.
    pub fn object(&self, sample: &FittedSample, level: f64) -> anyhow::Result<Value> {
        let named = |intervals: &[Option<Interval>], names: &[&str]| {
            let pairs = names.iter().zip(intervals);
            Value::Object(pairs.map(|(name, interval)| (name.to_string(), json!(interval))).collect())
        };
        Ok(match self {
            Fitted::Gev(found) => {
                let mut object = words::json(found.as_ref())?;
                if sample.blocks.as_ref().is_some_and(|blocks| !blocks.steps) {
                    object["verdict"]["advice"] = words::verdict::advice(found, "block").into();
                }
                object
            }
            Fitted::Gumbel(found, gumbel) => {
                let mut object = words::json(found.as_ref())?;
                object["return_levels"] = serde_json::to_value(&gumbel.return_levels)?;
                let mut distribution = serde_json::to_value(gumbel)?;
                distribution["standard_errors"] =
                    json!({"location": gumbel.standard_errors[0], "scale": gumbel.standard_errors[1]});
                distribution["intervals"] = named(&gumbel.intervals, &["location", "scale"]);
                object["gumbel"] = distribution;
                object
            }
            Fitted::Gpd(found) => {
                let mut distribution = serde_json::to_value(found)?;
                distribution["standard_errors"] = json!(
                    found.standard_errors.map(|errors| json!({"scale": errors[0], "shape": errors[1]}))
                );
                distribution["intervals"] = named(&found.intervals, &["scale", "shape"]);
                let mut object = of_series(&sample.series(), found.status, level)?;
                object["return_levels"] = serde_json::to_value(&found.return_levels)?;
                object["gpd"] = distribution;
                object
            }
            Fitted::Maxima(found) => {
                let mut distribution = serde_json::to_value(found)?;
                distribution["intervals"] = named(&found.intervals, &["location", "scale", "shape"]);
                let absent = match found.code {
                    "r_largest" => vec!["threshold"],
                    _ => vec!["r", "by_r"],
                };
                if let Some(distribution) = distribution.as_object_mut() {
                    distribution.retain(|key, _| !absent.contains(&key.as_str()));
                }
                let mut object = of_series(&sample.series(), found.status, level)?;
                object["return_levels"] = serde_json::to_value(&found.return_levels)?;
                object[found.code] = distribution;
                object
            }
        })
    }
}

/// What is said of any series: its size, its summary, whether its values are independent draws of one distribution.
fn of_series(series: &Series, status: Status, level: f64) -> anyhow::Result<Value> {
    let checked = independence::check_series(series, 0.05)?;
    Ok(json!({
        "status": status,
        "n": series.len(),
        "dropped": series.dropped(),
        "distinct": series.distinct(),
        "tick": series.tick(),
        "n_eff": checked.effective_size,
        "summary": summarise(series, level),
        "diagnostics": {"independence": words::json(&checked)?},
    }))
}

#[cfg(test)]
mod tests {
    use super::super::threshold::Chosen;
    use super::*;

    #[test]
    fn a_period_within_the_sample_is_observed_and_levels_have_standard_errors() {
        let mut random = tail::Xoshiro::new(5);
        let values: Vec<f64> = (0..2000).map(|_| random.exponential()).collect();
        let threshold = Threshold { value: 2.0, chosen: Chosen::Value, share: 0.86 };
        let found = gpd(&values, threshold, &[50.0, 1500.0, 1e5], 0.95, 1).unwrap();
        let said: Vec<(bool, bool)> =
            found.return_levels.iter().map(|l| (l.observed, l.standard_error.is_some())).collect();
        assert_eq!(said, [(true, true), (true, true), (false, true)]);
    }
}
