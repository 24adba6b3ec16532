//! Simulates the complete result of a comparison, and predictions for other numbers of ranks.

use rayon::prelude::*;
use tail::congestion::{CompareOptions, ComparisonCode, compare};
use tail::scale::{Scaled, Trust, joint, scale_at};
use tail::{Gev, Xoshiro, scale};

use crate::studies::{Cell, distribution, draw, share};

/// The result of the complete comparison for pairs of samples of the same distribution, and of a slower one.
pub fn whole_comparisons(samples: usize, sizes: &[usize]) -> Vec<Cell> {
    const STUDY: &str = "Complete comparison";
    // The result also uses the model-free ratio, whose interval comes from the bootstrap.
    let options = CompareOptions { bootstrap: 199, ..CompareOptions::default() };
    type Draw = fn(usize, u64, u64) -> Vec<f64>;
    let gev: Draw = |n, seed, index| draw(distribution(0.0), n, seed, index);
    let log_normal: Draw = |n, seed, index| {
        let mut random = Xoshiro::stream(seed, index);
        (0..n).map(|_| (0.3 * tail::special::normal_quantile(random.uniform())).exp()).collect()
    };
    let mut cells = Vec::new();
    for &n in sizes {
        let codes = |draw: Draw, factor: f64, seed: u64| -> Vec<ComparisonCode> {
            (0..samples as u64)
                .into_par_iter()
                .filter_map(|index| {
                    let quiet = draw(n, seed + n as u64, index);
                    let new: Vec<f64> =
                        draw(n, seed + 500 + n as u64, index).iter().map(|x| factor * x).collect();
                    compare(&quiet, &new, &options).ok().map(|found| found.code)
                })
                .collect()
        };
        for (name, draw, seed) in [("GEV", gev, 30_000), ("log-normal", log_normal, 31_000)] {
            let hits: Vec<bool> =
                codes(draw, 1.0, seed).iter().map(|c| *c != ComparisonCode::NoDifference).collect();
            let what = format!("false differences between equal pairs, {name}, n = {n} each");
            cells.push(share(STUDY, what, 5.0, (0.0, 6.0), &hits));
        }
        for (name, draw, factor) in [("GEV", gev, 1.01), ("log-normal", log_normal, 1.1)] {
            let found = codes(draw, factor, 32_000);
            let hits: Vec<bool> = found.iter().map(|c| *c == ComparisonCode::Slower).collect();
            let what = format!("power: factor {factor} found slower, {name}, n = {n} each");
            let mut cell = share(STUDY, what, 100.0, (0.0, 100.0), &hits);
            let other = found.iter().filter(|c| **c == ComparisonCode::OtherDifference).count();
            let other = 100.0 * other as f64 / found.len().max(1) as f64;
            cell.note = format!("{other:.1} another difference");
            cells.push(cell);
        }
    }
    cells
}

/// The distribution of the time of one rank, as the quantile function of the survival probability.
type RankDistribution = (&'static str, fn(f64) -> f64);

const RANKS: [RankDistribution; 5] = [
    ("normal", |s| 10.0 - tail::special::normal_quantile(s)),
    ("log-normal", |s| (-0.5 * tail::special::normal_quantile(s)).exp()),
    ("exponential", |s| 1.0 - s.ln()),
    ("Weibull 0.7", |s| 1.0 + (-s.ln()).powf(1.0 / 0.7)),
    ("Pareto 3", |s| s.powf(-1.0 / 3.0)),
];

/// Survival probability of one rank at the `p` quantile of the slowest of `parts` ranks.
fn survival(p: f64, parts: f64) -> f64 {
    -(p.ln() / parts).exp_m1()
}

/// The slowest of `parts` ranks in each of `runs` runs.
fn slowest(of: fn(f64) -> f64, parts: f64, runs: usize, random: &mut Xoshiro) -> Vec<f64> {
    (0..runs).map(|_| of(survival(random.uniform(), parts))).collect()
}

/// Coverage of predicted quantiles, separately for supported predictions and for predictions with a warning.
fn predicted(what: &str, found: &[Scaled], of: fn(f64) -> f64, to: f64) -> Vec<Cell> {
    const STUDY: &str = "Other numbers of ranks, 95% of predicted quantiles";
    let part = |trust: Trust| {
        let count = found.iter().filter(|f| f.trust == trust).count();
        100.0 * count as f64 / found.len().max(1) as f64
    };
    let mut cells = Vec::new();
    for (name, trust, least) in
        [("supported", Trust::Supported, 93.0), ("with a warning", Trust::Warned, 0.0)]
    {
        for p in [0.5, 0.99] {
            let truth = of(survival(p, to));
            let hits: Vec<bool> = found
                .iter()
                .filter(|f| f.trust == trust)
                .filter_map(|f| f.quantiles.iter().find(|q| q.probability == p)?.interval)
                .map(|interval| interval.contains(truth))
                .collect();
            if hits.is_empty() {
                continue;
            }
            let mut cell = share(STUDY, format!("{what}, quantile {p}, {name}"), 95.0, (least, 100.0), &hits);
            cell.note = format!("{:.0}% {name}, {:.0}% refused", part(trust), part(Trust::Refused));
            cells.push(cell);
        }
    }
    cells
}

/// Predictions from one size and from several, with rank times from five distributions.
pub fn other_sizes(samples: usize, runs: usize) -> Vec<Cell> {
    let probabilities = [0.5, 0.99];
    let mut cells = Vec::new();
    for (at, (name, of)) in RANKS.into_iter().enumerate() {
        let seed = 40_000 + at as u64;
        let several: Vec<[Scaled; 2]> = (0..samples as u64)
            .into_par_iter()
            .filter_map(|index| {
                let mut random = Xoshiro::stream(seed, index);
                let sizes: Vec<(f64, Vec<f64>)> = [4.0, 16.0, 64.0, 256.0]
                    .into_iter()
                    .map(|parts| (parts, slowest(of, parts, runs, &mut random)))
                    .collect();
                let found = joint(&sizes, 0.95).ok()?;
                let predict = |to: f64| found.predict(to, &probabilities, 0.95).ok();
                Some([predict(1024.0)?, predict(16_384.0)?])
            })
            .collect();
        for (which, to) in [1024.0, 16_384.0].into_iter().enumerate() {
            let found: Vec<Scaled> = several.iter().map(|f| f[which].clone()).collect();
            let what = format!("{name}: 4, 16, 64, 256 ranks, {runs} runs each, to {to}");
            cells.extend(predicted(&what, &found, of, to));
        }
        for to in [512.0, 4096.0] {
            let found: Vec<Scaled> = (0..samples as u64)
                .into_par_iter()
                .filter_map(|index| {
                    let mut random = Xoshiro::stream(seed + 100, index);
                    let options =
                        scale::ScaleOptions { exponent: 1.0, probabilities: &probabilities, level: 0.95 };
                    scale_at(&slowest(of, 64.0, 400, &mut random), 64.0, to, options).ok()
                })
                .collect();
            cells.extend(predicted(&format!("{name}: 64 ranks, 400 runs, to {to}"), &found, of, to));
        }
    }
    cells
}

/// Prediction for a max-stable distribution: a GEV with positive quantiles.
pub fn max_stable(samples: usize) -> Vec<Cell> {
    const STUDY: &str = "Other numbers of ranks, max-stable ranks";
    let base = distribution(0.1);
    let truth = Gev { ..base }.max_of(16.0).quantile(0.99);
    let options = scale::ScaleOptions { exponent: 1.0, probabilities: &[0.99], level: 0.95 };
    let hits: Vec<bool> = (0..samples as u64)
        .into_par_iter()
        .filter_map(|index| {
            let found = scale_at(&draw(base, 100, 41_000, index), 16.0, 256.0, options).ok()?;
            Some(found.quantiles.first()?.interval?.contains(truth))
        })
        .collect();
    let mut cell =
        share(STUDY, "16 ranks, 100 runs, to 256, quantile 0.99".into(), 95.0, (93.0, 100.0), &hits);
    cell.note = "the interval has the error of a shape that changes, which this one does not".into();
    vec![cell]
}
