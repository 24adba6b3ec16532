//! Simulates the tests of stage one, their power, and the complete verdict.

use rayon::prelude::*;
use tail::assess::{AssessOptions, assess};
use tail::independence::{self, Independence, Question};
use tail::verdict::{Levels, VerdictCode};
use tail::{Series, Xoshiro};

use crate::studies::{Cell, SIZE, distribution, draw, share};

/// Size of the tests of stage one on independent values, each and all together.
pub fn stage_one(samples: usize, sizes: &[usize]) -> Vec<Cell> {
    const STUDY: &str = "Stage one, tests at 5%";
    let mut cells = Vec::new();
    for &n in sizes {
        let found: Vec<Independence> = (0..samples as u64)
            .into_par_iter()
            .filter_map(|index| {
                independence::check(&draw(distribution(0.0), n, 2_000 + n as u64, index), 0.05).ok()
            })
            .collect();
        // Of few correlated values some questions are not asked: then nothing is rejected.
        let most = found.iter().max_by_key(|f| f.tests.len()).map_or(&[][..], |f| &f.tests[..]);
        for (question, name) in most.iter().map(|test| (test.question, &test.name)) {
            let p = |f: &Independence| f.test(question).map_or(1.0, |test| test.p);
            let hits: Vec<bool> = found.iter().map(|f| p(f) < 0.05).collect();
            let mut cell = share(STUDY, format!("{name}, n = {n}"), 5.0, SIZE, &hits);
            match question {
                Question::Autocorrelation => {}
                Question::Trend | Question::Jump => {
                    cell.accepted = (0.0, 6.0);
                    cell.note = "allows for correlated neighbours: conservative where there are none".into();
                }
                Question::Modes => {
                    cell.accepted = (0.0, 6.0);
                    cell.note =
                        "a bound for every unimodal distribution: conservative where it has a peak".into();
                }
                Question::SlowValues => {
                    cell.accepted = (0.0, 6.0);
                    cell.note = "a bound over all distances: conservative".into();
                }
            }
            cells.push(cell);
        }
        let hits: Vec<bool> = found.iter().map(|f| !f.passed).collect();
        let mut all = share(STUDY, format!("all together, n = {n}"), 5.0, (0.0, 6.0), &hits);
        all.note = "Holm's adjustment is an upper bound".to_string();
        cells.push(all);
        let hits: Vec<bool> = found.iter().map(|f| f.segments.len() > 1).collect();
        cells.push(share(STUDY, format!("PELT finds a change, n = {n}"), 5.0, (0.0, 6.0), &hits));
    }
    cells
}

/// A fault that stage one should find.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// Neighbouring values are correlated: a normal autoregression.
    Autoregression(f64),
    /// The location rises by this number of scales over the run.
    Drift(f64),
    /// The second half is slower by this number of scales.
    Step(f64),
    /// This share of normal values, at random positions, is ten standard deviations higher.
    Cluster(f64),
    /// One value in this many is slower by ten scales.
    Flush(usize),
}

impl Fault {
    fn values(self, n: usize, seed: u64, index: u64) -> Vec<f64> {
        let mut random = Xoshiro::stream(seed, index);
        let distribution = distribution(0.0);
        let mut state = random.normal();
        (0..n)
            .map(|i| {
                let value = distribution.sample(&mut random);
                let scales = match self {
                    Fault::Autoregression(phi) => {
                        state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
                        return distribution.location + distribution.scale * state;
                    }
                    Fault::Drift(scales) => scales * i as f64 / n as f64,
                    Fault::Step(scales) if 2 * i >= n => scales,
                    Fault::Cluster(share) => {
                        let far = if random.uniform() < share { 10.0 } else { 0.0 };
                        return distribution.location + distribution.scale * (random.normal() + far);
                    }
                    Fault::Flush(period) if i % period == period - 1 => 10.0,
                    Fault::Step(_) | Fault::Flush(_) => 0.0,
                };
                value + scales * distribution.scale
            })
            .collect()
    }

    fn name(self) -> String {
        match self {
            Fault::Autoregression(phi) => format!("autoregression of {phi}"),
            Fault::Drift(scales) => format!("drift by {scales} scales"),
            Fault::Step(scales) => format!("step by {scales} scale"),
            Fault::Cluster(share) => format!("{}% of normal values ten deviations higher", 100.0 * share),
            Fault::Flush(period) => format!("each {period}th value ten scales higher"),
        }
    }
}

/// Power of stage one at its part of the verdict's 5%, in per cent; the power in `cases` is the accepted
/// minimum.
pub fn power(samples: usize, cases: &[(Fault, usize, f64)]) -> Vec<Cell> {
    const STUDY: &str = "Power of stage one within the verdict at 5%";
    let mut cells = Vec::new();
    for &(fault, n, least) in cases {
        let found: Vec<[bool; 2]> = (0..samples as u64)
            .into_par_iter()
            .filter_map(|index| {
                let series = Series::clean(&fault.values(n, 13_000 + n as u64, index));
                let found = independence::check_share(&series, 0.05, Levels::INDEPENDENCE).ok()?;
                // Alone, stage one has the whole error of 5%.
                let alone = found.tests.iter().any(|test| test.p_adjusted * Levels::INDEPENDENCE < 0.05);
                Some([!found.passed, alone])
            })
            .collect();
        let hits: Vec<bool> = found.iter().map(|f| f[0]).collect();
        let what = format!("{}, n = {n}", fault.name());
        let mut cell = share(STUDY, what, 100.0, (least, 100.0), &hits);
        let alone = found.iter().filter(|f| f[1]).count() as f64 / found.len() as f64;
        cell.note = format!("{:.1} with 5% for stage one alone", 100.0 * alone);
        cells.push(cell);
    }
    cells
}

/// Rate of wrong verdicts on independent draws of a GEV.
pub fn verdicts(samples: usize, cases: &[(f64, usize)]) -> Vec<Cell> {
    const STUDY: &str = "Complete verdict at 5% on true GEV samples";
    let options = AssessOptions { bootstrap: 199, periods: vec![], ..AssessOptions::default() };
    let mut cells = Vec::new();
    for &(shape, n) in cases {
        let seed = 5_000 + n as u64 * 100 + (shape * 10.0).round().rem_euclid(100.0) as u64;
        let codes: Vec<VerdictCode> = (0..samples as u64)
            .into_par_iter()
            .filter_map(|index| {
                let values = draw(distribution(shape), n, seed, index);
                Some(assess(&values, &AssessOptions { seed: index, ..options.clone() }).ok()?.verdict.code)
            })
            .collect();
        let against = [
            ("not independent", VerdictCode::NotIndependent),
            ("no maximum", VerdictCode::NoMaximum),
            ("rejected", VerdictCode::GevRejected),
            ("another distribution preferred", VerdictCode::RivalPreferred),
        ];
        let hits: Vec<bool> =
            codes.iter().map(|code| against.iter().any(|(_, against)| code == against)).collect();
        let what = format!("a verdict against the GEV, n = {n}, shape {shape}");
        let mut cell = share(STUDY, what, 5.0, (0.0, 5.0), &hits);
        let parts: Vec<String> = against
            .iter()
            .map(|(name, against)| {
                let count = codes.iter().filter(|code| *code == against).count() as f64;
                format!("{name} {:.1}", 100.0 * count / codes.len() as f64)
            })
            .collect();
        cell.note = parts.join(", ");
        cells.push(cell);
    }
    cells
}
