//! Simulates the rates of alarms whose thresholds are counted among the quiet runs, for distributions that no GEV describes.

use rayon::prelude::*;
use tail::Xoshiro;
use tail::alarm::{AlarmOptions, Baseline, Event};
use tail::special::{normal_cdf, normal_quantile};

use crate::studies::{Cell, mean, share};

/// A distribution: a value of it, and the chance that a value lies above another one.
struct RunDistribution {
    name: &'static str,
    draw: fn(&mut Xoshiro) -> f64,
    above: fn(f64) -> f64,
}

const DISTRIBUTIONS: [RunDistribution; 2] = [
    RunDistribution {
        name: "two clumps",
        draw: |random| {
            let centre = if random.uniform() < 0.1 { 160.0 } else { 2.0 };
            centre * (0.1 * normal_quantile(random.uniform())).exp()
        },
        above: |value| {
            let clump = |centre: f64| normal_cdf(-(value / centre).ln() / 0.1);
            0.9 * clump(2.0) + 0.1 * clump(160.0)
        },
    },
    RunDistribution {
        name: "uniform",
        draw: |random| 10.0 + random.uniform(),
        above: |value| (11.0 - value).clamp(0.0, 1.0),
    },
];

/// Rates of false alarms of spikes and of levels over those that are stated, over baselines of 400 runs.
pub fn counted_alarms(baselines: usize, stream: usize) -> Vec<Cell> {
    const STUDY: &str = "Counted alarms, rate divided by the nominal rate";
    const WITHIN: (f64, f64) = (0.9, 1.1);
    const RUNS: usize = 400;
    let options = AlarmOptions { false_alarms: 0.01, run_length: 1000.0, ..AlarmOptions::default() };
    let mut cells = Vec::new();
    for (seed, distribution) in (43_000..).zip(&DISTRIBUTIONS) {
        let found: Vec<[f64; 3]> = (0..baselines as u64)
            .into_par_iter()
            .filter_map(|index| {
                let mut random = Xoshiro::stream(seed, index);
                let quiet: Vec<f64> = (0..RUNS).map(|_| (distribution.draw)(&mut random)).collect();
                let baseline = Baseline::new(&quiet, &AlarmOptions { seed: index, ..options }).ok()?;
                let counted = baseline.counted.clone()?;
                let spike = (distribution.above)(baseline.spike.value) / baseline.spike.nominal;
                let sure = (distribution.above)(baseline.spike.guaranteed) <= baseline.spike.false_alarms;
                let fresh = baseline.watch();
                let mut watch = fresh.clone();
                let mut told = 0.0;
                for _ in 0..stream / counted.block * counted.block {
                    let events = watch.push((distribution.draw)(&mut random));
                    if events.iter().any(|e| matches!(e, Event::Slow { .. } | Event::Fast { .. })) {
                        told += 1.0;
                        watch = fresh.clone();
                    }
                }
                let expected = (counted.slow.rate + counted.fast.rate) * stream as f64;
                Some([spike, told / expected, f64::from(u8::from(sure))])
            })
            .collect();
        let column = |at: usize| -> Vec<f64> { found.iter().map(|f| f[at]).collect() };
        let name = distribution.name;
        let mut cell = mean(STUDY, format!("spike at 4 in 401, {name}"), 1.0, WITHIN, &column(0));
        cell.note = format!("{} of {baselines} baselines are counted", found.len());
        cells.push(cell);
        let hits: Vec<bool> = found.iter().map(|f| f[2] > 0.5).collect();
        let what = format!("guaranteed spike at 0.01, {name}: kept by, %");
        cells.push(share(STUDY, what, 90.0, (87.0, 100.0), &hits));
        cells.push(mean(STUDY, format!("level, {name}"), 1.0, WITHIN, &column(1)));
    }
    cells
}
