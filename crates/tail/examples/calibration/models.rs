//! Simulates the coverage of each model's intervals, and how often their limits are found.

use rayon::prelude::*;
use tail::extremes::Model;
use tail::gev::GevTarget;
use tail::gpd::{GpdLikelihood, GpdTarget};
use tail::gumbel::{self, GumbelTarget};
use tail::interval::{self, Rounding};
use tail::regression::{Covariate, Part, Regression, RegressionDistribution};
use tail::{End, Gev, Gpd, Interval, Likelihood, Series, Status, Xoshiro, latency};

use crate::studies::{COVERAGE, Cell, distribution, draw, share};

/// Runs a case for every sample: an interval and the true value, or `None` where the model printed no
/// interval.
fn covered(
    study: &'static str,
    what: String,
    samples: usize,
    case: impl Fn(u64) -> Option<(Interval, f64)> + Send + Sync,
) -> Cell {
    let found: Vec<Option<(Interval, f64)>> = (0..samples as u64).into_par_iter().map(case).collect();
    let missing = |end: End| end == End::NotFound;
    let printed: Vec<&(Interval, f64)> = found
        .iter()
        .flatten()
        .filter(|(interval, _)| !missing(interval.lower_end) && !missing(interval.upper_end))
        .collect();
    let hits: Vec<bool> = printed.iter().map(|(interval, truth)| interval.contains(*truth)).collect();
    let mut cell = share(study, what, 95.0, COVERAGE, &hits);
    let without = found.len() - printed.len();
    if without > 0 {
        cell.note = format!("{:.1}% without an interval", 100.0 * without as f64 / found.len() as f64);
    }
    cell
}

/// Share of the interval limits of an assessment's levels that are found.
pub fn ends(samples: usize, sizes: &[usize], shapes: &[f64]) -> Vec<Cell> {
    const STUDY: &str = "Found limits of return levels, %";
    let mut cells = Vec::new();
    for &n in sizes {
        for &shape in shapes {
            let found: Vec<bool> = (0..samples as u64)
                .into_par_iter()
                .flat_map_iter(|index| {
                    let series = Series::clean(&draw(distribution(shape), n, 20_000 + n as u64, index));
                    let mut ends = Vec::new();
                    if let Ok(likelihood) = Likelihood::new(&series) {
                        let fit = likelihood.fit();
                        for period in [10.0, 1000.0, 10_000.0] {
                            let target = GevTarget::ReturnLevel(period);
                            if let Ok(interval) = likelihood.profile_corrected(&fit, target, 0.95) {
                                ends.extend(
                                    [interval.lower_end, interval.upper_end].map(|e| e == End::Reached),
                                );
                            }
                        }
                    }
                    ends
                })
                .collect();
            let what = format!("levels of 10, 1000 and 10,000, n = {n}, shape {shape}");
            cells.push(share(STUDY, what, 100.0, (99.5, 100.0), &found));
        }
    }
    cells
}

/// Levels of the models other than the GEV of exact values.
pub fn models(samples: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    cells.extend(gumbel_levels(samples));
    cells.extend(pareto_levels(samples));
    cells.extend(maxima_levels(samples));
    cells.extend(ticked_levels(samples));
    cells.extend(regressions(samples));
    cells
}

const STUDY: &str = "Other models, 95%";

fn gumbel_levels(samples: usize) -> Vec<Cell> {
    let truth = distribution(0.0).return_level(1000.0);
    let case = |n: usize| {
        covered(STUDY, format!("Gumbel, level of 1000, n = {n}"), samples, |index| {
            let series = Series::clean(&draw(distribution(0.0), n, 21_000 + n as u64, index));
            let fit = gumbel::fit(&series).ok()?;
            let target = GumbelTarget::ReturnLevel(1000.0);
            Some((gumbel::profile(&series, &fit, target, 0.95).ok()?, truth))
        })
    };
    [20, 100].map(case).into()
}

fn pareto_levels(samples: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (n, shape) in [(30, 0.0), (50, -0.4), (50, 0.2), (200, -0.2), (200, 0.2), (200, 0.5)] {
        let tail = Gpd { threshold: 1.0, scale: 0.5, shape };
        for period in [1e3, 1e5] {
            let truth = tail.upper_quantile(1.0 / period);
            let what = format!("exceedances, level of {period}, {n} of them, shape {shape}");
            cells.push(covered(STUDY, what, samples, |index| {
                let mut random = Xoshiro::stream(22_000 + n as u64, index);
                let values: Vec<f64> = (0..n).map(|_| tail.sample(&mut random)).collect();
                let likelihood = GpdLikelihood::new(&Series::clean(&values), 1.0).ok()?;
                let target = GpdTarget::ReturnLevel(period, 1.0);
                Some((likelihood.profile(&likelihood.fit(), target, 0.95).ok()?, truth))
            }));
        }
    }
    // As printed: includes the error of the rate and the search for clusters.
    let tail = Gpd { threshold: 1.0, scale: 0.5, shape: 0.2 };
    let truth = tail.upper_quantile(1e-5 / 0.1);
    cells.push(covered(STUDY, "latencies above a share, level of 10⁵, n = 1000".into(), samples, |index| {
        let mut random = Xoshiro::stream(22_500, index);
        let value = |u: f64| if u < 0.9 { u / 0.9 } else { tail.upper_quantile((1.0 - u) / 0.1) };
        let values: Vec<f64> = (0..1000).map(|_| value(random.uniform())).collect();
        let found = latency::above(&values, 1.0, &[1e5], 0.95, index).ok()?;
        Some((found.levels.first()?.quantile_interval?, truth))
    }));
    cells
}

/// The points of a block whose maximum has the distribution `distribution`, largest first.
fn block(distribution: &Gev, random: &mut Xoshiro, more: impl Fn(usize, f64) -> bool) -> Vec<f64> {
    let (mut t, mut points) = (0.0, Vec::new());
    loop {
        t += random.exponential();
        let point = distribution.at_gumbel_level(-f64::ln(t));
        if !more(points.len(), point) {
            return points;
        }
        points.push(point);
    }
}

fn maxima_levels(samples: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    let target = GevTarget::ReturnLevel(1000.0);
    for shape in [-0.2, 0.2, 0.5] {
        let distribution = distribution(shape);
        let truth = distribution.return_level(1000.0);
        for blocks in [30usize, 100] {
            let what = format!("3 largest, level of 1000, {blocks} blocks, shape {shape}");
            cells.push(covered(STUDY, what, samples, |index| {
                let mut random = Xoshiro::stream(23_000 + blocks as u64, index);
                let tops: Vec<Vec<f64>> =
                    (0..blocks).map(|_| block(&distribution, &mut random, |have, _| have < 3)).collect();
                let model = Model::largest(&tops, 3).ok()?;
                Some((model.profile(&model.fit(), target, 0.95).ok()?, truth))
            }));
            // About three points of a block exceed it.
            let threshold = distribution.at_gumbel_level(-f64::ln(3.0));
            let what = format!("point process, level of 1000, {blocks} blocks, shape {shape}");
            cells.push(covered(STUDY, what, samples, |index| {
                let mut random = Xoshiro::stream(23_500 + blocks as u64, index);
                let above: Vec<f64> = (0..blocks)
                    .flat_map(|_| block(&distribution, &mut random, |_, x| x > threshold))
                    .collect();
                let model = Model::point_process(&above, threshold, blocks as f64).ok()?;
                Some((model.profile(&model.fit(), target, 0.95).ok()?, truth))
            }));
        }
    }
    cells
}

fn ticked_levels(samples: usize) -> Vec<Cell> {
    let truth = distribution(0.1).return_level(1000.0);
    let case = |n: usize| {
        let what = format!("clock of half a scale, level of 1000, n = {n}, shape 0.1");
        covered(STUDY, what, samples, |index| {
            let values = draw(distribution(0.1), n, 24_000 + n as u64, index);
            let ticked: Vec<f64> = values.iter().map(|x| (x / 0.106).round() * 0.106).collect();
            let series = Series::clean(&ticked);
            let fit = interval::fit(&series, 0.106, Rounding::Nearest).ok()?;
            let target = GevTarget::ReturnLevel(1000.0);
            Some((interval::profile(&series, Rounding::Nearest, &fit, target, 0.95).ok()?, truth))
        })
    };
    [50, 200].map(case).into()
}

fn regressions(samples: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (n, shape) in [(30, 0.0), (100, 0.0), (100, 0.3)] {
        let load: Vec<f64> = (0..n).map(|i| (i % 10) as f64).collect();
        let regression = |index: u64| {
            let noise = draw(distribution(shape), n, 25_000 + n as u64, index);
            let values: Vec<f64> = noise.iter().zip(&load).map(|(x, load)| x + 0.05 * load).collect();
            let column = Covariate::new(Part::Location, "load", load.clone());
            let regression = Regression::new(&values, RegressionDistribution::Gev, vec![column]).ok()?;
            (regression.fit().ok()?.status != Status::Boundary).then_some(regression)
        };
        let what = format!("slope of a covariate, n = {n}, shape {shape}");
        cells.push(covered(STUDY, what, samples, |index| {
            Some((regression(index)?.profile_slope(Part::Location, "load", 0.95).ok()?, 0.05))
        }));
        let truth = distribution(shape).return_level(100.0) + 0.05 * 8.0;
        let what = format!("level of 100 at a covariate, n = {n}, shape {shape}");
        cells.push(covered(STUDY, what, samples, |index| {
            Some((regression(index)?.return_level(&[("load", 8.0)], 100.0, 0.95).ok()?.interval, truth))
        }));
    }
    cells
}
