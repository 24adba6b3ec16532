//! Counts the fit statuses of random samples, and simulates the coverage of intervals and the size of tests.
//!
//! `cargo run --release -p lastrank-tail --example tail_census [SAMPLES [SECTION]]` (2000 samples by default): `statuses`
//! over 5 shapes and 5 sizes, `coverage` of profile and Wald intervals, `sizes` of the goodness-of-fit tests;
//! all three without a section. Seeded: every run prints the same numbers.

use rayon::prelude::*;
use tail::gev::GevTarget;
use tail::{Gev, Likelihood, Series, Status, Xoshiro, gof};

const SIZES: [usize; 5] = [10, 20, 50, 100, 400];
const SHAPES: [f64; 5] = [-0.4, -0.2, 0.0, 0.2, 0.4];

fn sample(shape: f64, n: usize, index: u64) -> Series {
    let distribution = Gev { location: 11.1679, scale: 0.212, shape };
    let mut random = Xoshiro::stream((shape * 1000.0).to_bits() ^ n as u64, index);
    Series::clean(&(0..n).map(|_| distribution.sample(&mut random)).collect::<Vec<_>>())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let samples: u64 = std::env::args().nth(1).map_or(Ok(2000), |a| a.parse())?;
    let section = std::env::args().nth(2);
    let wanted = |name: &str| section.as_deref().is_none_or(|s| s == name);
    if wanted("statuses") {
        statuses(samples);
    }
    if wanted("coverage") {
        interval_coverage(samples);
    }
    if wanted("sizes") {
        sizes(samples);
    }
    Ok(())
}

fn statuses(samples: u64) {
    println!("statuses of {samples} samples: ok / irregular / boundary / not converged");
    println!("shape {}", SIZES.map(|n| format!("{:>26}", format!("n = {n}"))).concat());
    for shape in SHAPES {
        print!("{shape:5.1} ");
        for n in SIZES {
            let statuses: Vec<Status> = (0..samples)
                .into_par_iter()
                .filter_map(|i| Some(Likelihood::new(&sample(shape, n, i)).ok()?.fit().status))
                .collect();
            let count = |s: Status| statuses.iter().filter(|x| **x == s).count();
            let failed = samples as usize - statuses.len() + count(Status::NotConverged);
            let (ok, irregular) = (count(Status::Ok), count(Status::Irregular));
            print!("{:>26}", format!("{ok} / {irregular} / {} / {failed}", count(Status::Boundary)));
        }
        println!();
    }
}

fn interval_coverage(samples: u64) {
    println!(
        "\ncoverage of 95% intervals, %: shape profile (Wald), level exceeded once in 100 profile (Wald)"
    );
    for shape in [-0.2, 0.0, 0.2] {
        for n in [20, 50, 100, 400] {
            let truth = Gev { location: 11.1679, scale: 0.212, shape }.return_level(100.0);
            let hits: Vec<[Option<bool>; 4]> = (0..samples)
                .into_par_iter()
                .filter_map(|i| {
                    let series = sample(shape, n, i);
                    let likelihood = Likelihood::new(&series).ok()?;
                    let fit = likelihood.fit();
                    let level = fit.return_level(100.0).ok()?;
                    let profile = |target, value| {
                        likelihood.profile(&fit, target, 0.95).ok().map(|interval| interval.contains(value))
                    };
                    Some([
                        profile(GevTarget::Shape, shape),
                        fit.standard_errors.map(|e| (fit.shape - shape).abs() < 1.959_964 * e.shape),
                        profile(GevTarget::ReturnLevel(100.0), truth),
                        level.interval(0.95).map(|interval| interval.contains(truth)),
                    ])
                })
                .collect();
            let percent = |k: usize| {
                let known: Vec<bool> = hits.iter().filter_map(|h| h[k]).collect();
                100.0 * known.iter().filter(|hit| **hit).count() as f64 / known.len() as f64
            };
            let [a, b, c, d] = [0, 1, 2, 3].map(percent);
            println!("shape {shape:4.1}  n {n:4}   {a:5.1} ({b:5.1})   {c:5.1} ({d:5.1})");
        }
    }
}

fn sizes(tested: u64) {
    println!(
        "\nrejections at 5% by tests with 199 refits, of {tested} true GEV samples, %: D W2 A2 AU2 smaller"
    );
    for (shape, n) in [(0.0, 50), (-0.2, 100), (0.0, 100), (0.2, 100), (0.0, 400)] {
        let p: Vec<gof::PValues> = (0..tested)
            .into_par_iter()
            .filter_map(|i| {
                let series = sample(shape, n, i);
                let fit = Likelihood::new(&series).ok()?.fit();
                Some(gof::test(&series, &fit, 199, i).ok()?.p)
            })
            .collect();
        let percent = |f: fn(&gof::PValues) -> f64| {
            100.0 * p.iter().filter(|p| f(p) <= 0.05).count() as f64 / p.len() as f64
        };
        println!(
            "shape {shape:4.1}  n {n:4}   {:4.1} {:4.1} {:4.1} {:4.1} {:4.1}",
            percent(|p| p.sqrt_n_d),
            percent(|p| p.w2),
            percent(|p| p.a2),
            percent(|p| p.au2),
            percent(|p| p.smaller)
        );
    }
}
