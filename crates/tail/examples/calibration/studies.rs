//! Simulates coverage of intervals, sizes of tests and rates of alarms. Each study has its own seed and
//! returns cells of the table; `tests/calibration.rs` runs the same studies with fewer samples.

use rayon::prelude::*;
use tail::alarm::{AlarmOptions, Baseline, Event};
use tail::gev::{GevTarget, bartlett_factor};
use tail::regression::{Covariate, Part, Regression, RegressionDistribution};
use tail::{Gev, Gpd, Likelihood, Series, Status, Xoshiro, congestion, gof, gumbel, latency};

/// One number of the table.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Section of the table.
    pub study: &'static str,
    /// What was simulated.
    pub what: String,
    /// Nominal value.
    pub nominal: f64,
    /// Accepted range.
    pub accepted: (f64, f64),
    /// Simulated value.
    pub value: f64,
    /// Standard error of `value`, from the spread of the simulated samples.
    pub error: f64,
    /// Number of simulated samples.
    pub samples: usize,
    /// Note in the last column.
    pub note: String,
}

impl Cell {
    /// Whether the value lies in the accepted range, extended by `errors` standard errors.
    pub fn holds(&self, errors: f64) -> bool {
        self.value >= self.accepted.0 - errors * self.error
            && self.value <= self.accepted.1 + errors * self.error
    }
}

/// Cell of the share of hits, in per cent.
pub fn share(study: &'static str, what: String, nominal: f64, accepted: (f64, f64), hits: &[bool]) -> Cell {
    let samples = hits.len();
    let p = hits.iter().filter(|h| **h).count() as f64 / samples.max(1) as f64;
    // At least the error of a share near 0 or 1, where all hits are equal.
    let spread = (p * (1.0 - p)).max(0.25 / samples.max(1) as f64);
    let error = 100.0 * (spread / samples.max(1) as f64).sqrt();
    Cell { study, what, nominal, accepted, value: 100.0 * p, error, samples, note: String::new() }
}

/// A mean.
pub fn mean(study: &'static str, what: String, nominal: f64, accepted: (f64, f64), values: &[f64]) -> Cell {
    let samples = values.len();
    let mean = values.iter().sum::<f64>() / samples as f64;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (samples as f64 - 1.0);
    let error = (square / samples as f64).sqrt();
    Cell { study, what, nominal, accepted, value: mean, error, samples, note: String::new() }
}

/// Accepted coverage of intervals of 95%.
pub const COVERAGE: (f64, f64) = (93.0, 96.0);
/// Accepted sizes of tests at 5%.
pub const SIZE: (f64, f64) = (4.0, 6.0);

/// The distribution of all samples, by its shape.
pub fn distribution(shape: f64) -> Gev {
    Gev { location: 11.1679, scale: 0.212, shape }
}

/// A sample of the distribution.
pub fn draw(distribution: Gev, n: usize, seed: u64, index: u64) -> Vec<f64> {
    let mut random = Xoshiro::stream(seed, index);
    (0..n).map(|_| distribution.sample(&mut random)).collect()
}

/// Profile intervals of location, scale, shape and the levels exceeded once in 10 to 10,000; plain ones in the note.
pub fn intervals(samples: usize, sizes: &[usize], shapes: &[f64]) -> Vec<Cell> {
    const STUDY: &str = "Profile intervals, 95%";
    const CRITICAL: f64 = 3.841_458_820_694_124;
    let mut cells = Vec::new();
    for &n in sizes {
        for &shape in shapes {
            let distribution = distribution(shape);
            let targets = [
                ("location", GevTarget::Location, distribution.location),
                ("scale", GevTarget::Scale, distribution.scale),
                ("shape", GevTarget::Shape, distribution.shape),
                ("level of 10", GevTarget::ReturnLevel(10.0), distribution.return_level(10.0)),
                ("level of 100", GevTarget::ReturnLevel(100.0), distribution.return_level(100.0)),
                ("level of 1000", GevTarget::ReturnLevel(1000.0), distribution.return_level(1000.0)),
                ("level of 10,000", GevTarget::ReturnLevel(10_000.0), distribution.return_level(10_000.0)),
            ];
            let seed = 1_000 + n as u64 * 10 + (shape * 10.0).round().rem_euclid(10.0) as u64;
            let found: Vec<[(bool, bool); 7]> = (0..samples as u64)
                .into_par_iter()
                .filter_map(|index| {
                    let series = Series::clean(&draw(distribution, n, seed, index));
                    let likelihood = Likelihood::new(&series).ok()?;
                    let fit = likelihood.fit();
                    (fit.status != Status::Boundary).then(|| {
                        targets.map(|(_, target, truth)| {
                            let deviance = likelihood.deviance(&fit, target, truth).unwrap_or(f64::INFINITY);
                            let factor = bartlett_factor(n, target, fit.shape);
                            (deviance <= CRITICAL * factor, deviance <= CRITICAL)
                        })
                    })
                })
                .collect();
            for (at, (name, ..)) in targets.iter().enumerate() {
                let hits: Vec<bool> = found.iter().map(|f| f[at].0).collect();
                let plain = found.iter().filter(|f| f[at].1).count() as f64 / found.len() as f64;
                let what = format!("{name}, n = {n}, shape {shape}");
                let mut cell = share(STUDY, what, 95.0, COVERAGE, &hits);
                cell.note = format!("{:.1} with the chi-square value", 100.0 * plain);
                if found.len() < samples {
                    let none = 100.0 * (1.0 - found.len() as f64 / samples as f64);
                    cell.note.push_str(&format!("; {none:.1}% of samples have no interior maximum"));
                }
                cells.push(cell);
            }
        }
    }
    cells
}

/// Size of the bootstrap goodness-of-fit tests.
pub fn fit_tests(samples: usize, cases: &[(f64, usize)]) -> Vec<Cell> {
    const STUDY: &str = "Tests of fit at 5%, 199 refits";
    let mut cells = Vec::new();
    for &(shape, n) in cases {
        let found: Vec<gof::PValues> = (0..samples as u64)
            .into_par_iter()
            .filter_map(|index| {
                let series = Series::clean(&draw(distribution(shape), n, 3_000 + n as u64, index));
                let fit = Likelihood::new(&series).ok()?.fit();
                let tested = fit.status != Status::Boundary;
                tested.then(|| gof::test(&series, &fit, 199, index).ok()).flatten().map(|t| t.p)
            })
            .collect();
        type Test = (&'static str, fn(&gof::PValues) -> f64);
        let tests: [Test; 3] = [("A²", |p| p.a2), ("AU²", |p| p.au2), ("A² and AU² combined", |p| p.smaller)];
        for (name, p) in tests {
            let hits: Vec<bool> = found.iter().map(|f| p(f) <= 0.05).collect();
            cells.push(share(STUDY, format!("{name}, n = {n}, shape {shape}"), 5.0, SIZE, &hits));
        }
    }
    cells
}

/// Size of the likelihood-ratio tests for the Gumbel distribution and for a linear trend.
pub fn likelihood_ratios(samples: usize, sizes: &[usize]) -> Vec<Cell> {
    const STUDY: &str = "Likelihood-ratio tests at 5%";
    let mut cells = Vec::new();
    for &n in sizes {
        let time: Vec<f64> = (0..n).map(|i| i as f64 / n as f64).collect();
        let found: Vec<(bool, bool)> = (0..samples as u64)
            .into_par_iter()
            .filter_map(|index| {
                let values = draw(distribution(0.0), n, 4_000 + n as u64, index);
                let series = Series::clean(&values);
                let fit = Likelihood::new(&series).ok()?.fit();
                let (_, gumbel_p) = gumbel::fit(&series).ok()?.against(&fit);
                let column = Covariate::new(Part::Location, "time", time.clone());
                let line =
                    Regression::new(&values, RegressionDistribution::Gev, vec![column]).ok()?.fit().ok()?;
                let flat = Regression::new(&values, RegressionDistribution::Gev, vec![]).ok()?.fit().ok()?;
                Some((gumbel_p < 0.05, line.against_corrected(&flat).2 < 0.05))
            })
            .collect();
        let (gumbel, line): (Vec<bool>, Vec<bool>) = found.into_iter().unzip();
        cells.push(share(STUDY, format!("shape 0 (Hosking), n = {n}"), 5.0, SIZE, &gumbel));
        cells.push(share(STUDY, format!("linear trend, n = {n}"), 5.0, SIZE, &line));
    }
    cells
}

/// Coverage and test sizes of the factor and of the shift between two samples.
pub fn comparisons(samples: usize, sizes: &[usize]) -> Vec<Cell> {
    const STUDY: &str = "Comparison of two samples";
    const K: f64 = 1.05;
    let options = congestion::CompareOptions { bootstrap: 0, ..congestion::CompareOptions::default() };
    let quiet = distribution(0.0);
    let scaled = Gev { location: K * quiet.location, scale: K * quiet.scale, shape: quiet.shape };
    let shifted = Gev { location: quiet.location + 0.5, ..quiet };
    let mut cells = Vec::new();
    for &n in sizes {
        let compare = |new: Gev, seed: u64| -> Vec<congestion::Comparison> {
            (0..samples as u64)
                .into_par_iter()
                .filter_map(|index| {
                    let (x, y) = (draw(quiet, n, seed, index), draw(new, n, seed + 500, index));
                    congestion::compare(&x, &y, &options).ok()
                })
                .collect()
        };
        let found = compare(scaled, 6_000 + n as u64);
        let all = |hit: &dyn Fn(&congestion::ByDistribution) -> bool| -> Vec<bool> {
            found.iter().filter_map(|one| one.distribution.as_ref()).map(hit).collect()
        };
        let what = format!("interval of k, n = {n} each");
        cells.push(share(STUDY, what, 95.0, COVERAGE, &all(&|c| c.factor.interval.contains(K))));
        let what = format!("one factor against separate distributions, n = {n} each");
        cells.push(share(STUDY, what, 5.0, SIZE, &all(&|c| c.factor.p < 0.05)));
        let found = compare(shifted, 7_000 + n as u64);
        let all = |hit: &dyn Fn(&congestion::ByDistribution) -> bool| -> Vec<bool> {
            found.iter().filter_map(|one| one.distribution.as_ref()).map(hit).collect()
        };
        let what = format!("interval of the shift, n = {n} each");
        cells.push(share(STUDY, what, 95.0, COVERAGE, &all(&|c| c.shift.interval.contains(0.5))));
        let what = format!("one shift against separate distributions, n = {n} each");
        cells.push(share(STUDY, what, 5.0, SIZE, &all(&|c| c.shift.p < 0.05)));
        let found = compare(quiet, 8_000 + n as u64);
        let hits: Vec<bool> = found
            .iter()
            .filter_map(|c| c.distribution.as_ref())
            .map(|distribution| distribution.p_no_difference < 0.05)
            .collect();
        cells.push(share(STUDY, format!("k = 1, n = {n} each"), 5.0, SIZE, &hits));
    }
    cells
}

/// A case of the study of alarms.
#[derive(Debug, Clone, Copy)]
pub struct AlarmCase {
    /// Number of runs of the baseline.
    pub n: usize,
    /// Nominal rate of spikes.
    pub false_alarms: f64,
    /// Nominal run length.
    pub run_length: f64,
    /// Slow-down for which the CUSUM is tuned.
    pub factor: f64,
}

/// Rate of spikes divided by the nominal one, and rate of CUSUM alarms times the nominal run length, over
/// baselines.
pub fn alarms(baselines: usize, stream: usize, cases: &[AlarmCase]) -> Vec<Cell> {
    const STUDY: &str = "Alarms, rate divided by the nominal rate";
    const WITHIN: (f64, f64) = (0.9, 1.1);
    let truth = distribution(-0.001_05);
    let mut cells = Vec::new();
    for case in cases {
        let options = AlarmOptions {
            false_alarms: case.false_alarms,
            run_length: case.run_length,
            factor: case.factor,
            ..AlarmOptions::default()
        };
        let found: Vec<[f64; 4]> = (0..baselines as u64)
            .into_par_iter()
            .filter_map(|index| {
                let quiet = draw(truth, case.n, 9_000 + case.n as u64, index);
                let baseline = Baseline::new(&quiet, &AlarmOptions { seed: index, ..options }).ok()?;
                let spike = truth.survival(baseline.spike.value) / case.false_alarms;
                let sure = truth.survival(baseline.spike.guaranteed) <= case.false_alarms;
                let plug_in = truth.survival(baseline.spike.plug_in) / case.false_alarms;
                let fresh = baseline.watch();
                let mut watch = fresh.clone();
                let mut random = Xoshiro::stream(9_500 + case.n as u64, index);
                let mut told = 0.0;
                for _ in 0..stream {
                    let events = watch.push(truth.sample(&mut random));
                    if events.iter().any(|e| matches!(e, Event::Slow { .. } | Event::Fast { .. })) {
                        told += 1.0;
                        watch = fresh.clone();
                    }
                }
                Some([spike, told * case.run_length / stream as f64, f64::from(u8::from(sure)), plug_in])
            })
            .collect();
        let column = |at: usize| -> Vec<f64> { found.iter().map(|f| f[at]).collect() };
        let alpha = case.false_alarms;
        // Below 200 runs the guaranteed thresholds are in use: the mean rate must stay below the nominal one.
        let short = case.n < 200;
        let within = if short { (0.0, WITHIN.1) } else { WITHIN };
        let what = format!("spike at {alpha}, baseline of {}", case.n);
        let mut cell = mean(STUDY, what, 1.0, within, &column(0));
        let plain = column(3).iter().sum::<f64>() / found.len() as f64;
        cell.note = format!("{plain:.2} with the plain quantile");
        let guarded = "the guaranteed threshold, used below 200 runs";
        if short {
            cell.note = format!("{guarded}; {}", cell.note);
        }
        cells.push(cell);
        let hits: Vec<bool> = found.iter().map(|f| f[2] > 0.5).collect();
        let what = format!("guaranteed spike at {alpha}, baseline of {}: baselines that keep it, %", case.n);
        cells.push(share(STUDY, what, 90.0, (87.0, 93.0), &hits));
        let what = format!("CUSUM at {} runs, k = {}, baseline of {}", case.run_length, case.factor, case.n);
        let mut cell = mean(STUDY, what, 1.0, within, &column(1));
        if short {
            cell.note = guarded.to_string();
        }
        cells.push(cell);
    }
    cells
}

/// Estimates of the extremal index.
pub fn extremal_index(samples: usize, n: usize) -> Vec<Cell> {
    const STUDY: &str = "Extremal index";
    let estimates = |theta: f64| -> Vec<[f64; 2]> {
        (0..samples as u64)
            .into_par_iter()
            .map(|index| {
                let mut random = Xoshiro::stream(10_000 + (theta * 10.0) as u64, index);
                let mut state = 1.0f64;
                let values: Vec<f64> = (0..n)
                    .map(|_| {
                        state = ((1.0 - theta) * state).max(theta / random.exponential());
                        state
                    })
                    .collect();
                let threshold = Series::clean(&values).quantile(0.98);
                let times: Vec<usize> = (0..n).filter(|&i| values[i] > threshold).collect();
                [latency::k_gaps(&times, n, 1), latency::intervals_estimate(&times)]
            })
            .collect()
    };
    let mut cells = Vec::new();
    for theta in [0.5, 1.0] {
        let found = estimates(theta);
        for (at, name) in ["K-gaps", "intervals"].into_iter().enumerate() {
            let values: Vec<f64> = found.iter().map(|f| f[at]).collect();
            let what = format!("{name}, truth {theta}, {n} values");
            cells.push(mean(STUDY, what, theta, (theta - 0.03, theta + 0.03), &values));
        }
    }
    cells
}

/// Coverage of the level of 10⁶ operations from a few thousand latencies, with a known and a chosen
/// threshold.
pub fn latencies(known: usize, chosen: usize, n: usize) -> Vec<Cell> {
    const STUDY: &str = "Latency, 95% interval of the level of 10⁶";
    let tail = Gpd { threshold: 1.0, scale: 0.5, shape: 0.2 };
    // Below 1 a body that is not Pareto; a tenth of the values exceeds 1.
    let sample = |seed: u64, index: u64| -> Vec<f64> {
        let mut random = Xoshiro::stream(seed, index);
        (0..n)
            .map(|_| {
                let u = random.uniform();
                if u < 0.9 { (u / 0.9).powf(0.3) } else { tail.upper_quantile((1.0 - u) / 0.1) }
            })
            .collect()
    };
    let truth = tail.upper_quantile(1e-6 / 0.1);
    let found: Vec<bool> = (0..known as u64)
        .into_par_iter()
        .filter_map(|index| {
            let series = Series::clean(&sample(11_000, index));
            let likelihood = tail::gpd::GpdLikelihood::new(&series, 1.0).ok()?;
            let fit = likelihood.fit();
            let level = tail::gpd::GpdTarget::ReturnLevel(1e6, 1.0);
            Some(likelihood.profile(&fit, level, 0.95).ok()?.contains(truth))
        })
        .collect();
    let mut cells = vec![share(STUDY, format!("threshold known, {n} values"), 95.0, COVERAGE, &found)];
    let found: Vec<bool> = (0..chosen as u64)
        .into_par_iter()
        .filter_map(|index| {
            let found = latency::analyse(&sample(12_000, index), &[1e6], 0.95, index).ok()?;
            Some(found.levels.first()?.quantile_interval?.contains(truth))
        })
        .collect();
    let mut cell = share(STUDY, format!("threshold chosen, {n} values"), 95.0, COVERAGE, &found);
    cell.note = format!("{} of {chosen} samples gave a threshold", found.len());
    cells.push(cell);
    cells
}
