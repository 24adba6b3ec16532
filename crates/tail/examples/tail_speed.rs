//! Measures the time of the fits on one core; prints medians as tab-separated `task seconds`.
//!
//! `cargo run --release -p lastrank-tail --example tail_speed [FILE]`: FILE holds 400 values, one per line
//! after a header; without FILE a Gumbel sample is drawn. benches/tail_peers times other programs on the same
//! file.

use std::hint::black_box;
use std::time::Instant;

use tail::{Gev, Likelihood, Series, Xoshiro, bootstrap, gev, gof, lmoments};

fn median(times: usize, mut run: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..times)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[times / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let distribution = Gev::new(11.1679, 0.212, -0.00105)?;
    let mut random = Xoshiro::new(1);
    let values: Vec<f64> = match std::env::args().nth(1) {
        Some(path) => std::fs::read_to_string(path)?.lines().skip(1).filter_map(|l| l.parse().ok()).collect(),
        None => (0..400).map(|_| distribution.sample(&mut random)).collect(),
    };
    let million: Vec<f64> = (0..1_000_000).map(|_| distribution.sample(&mut random)).collect();
    // One core: a pool of one thread.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;

    let fit = gev::fit(&values)?;
    let series = Series::clean(&values);
    let likelihood = Likelihood::new(&series)?;
    let show = |task: &str, seconds: f64| println!("{task}\t{seconds:.9}");
    show("fit", median(301, || drop(black_box(gev::fit(black_box(&values))))));
    show(
        "lmoments",
        median(301, || {
            drop(black_box(
                lmoments::moments(&Series::clean(black_box(&values))).and_then(|m| lmoments::gev(&m)),
            ))
        }),
    );
    show("bootstrap1000", median(5, || drop(black_box(bootstrap::parametric(&fit, 1000, 1)))));
    show(
        "profile_shape",
        median(51, || drop(black_box(likelihood.profile(&fit, gev::GevTarget::Shape, 0.95)))),
    );
    let target = gev::GevTarget::ReturnLevel(100.0);
    show("profile_level100", median(51, || drop(black_box(likelihood.profile(&fit, target, 0.95)))));
    show("goodness_of_fit999", median(3, || drop(black_box(gof::test(&series, &fit, 999, 1)))));
    let options = tail::assess::AssessOptions::default();
    show("full_verdict", median(3, || drop(black_box(tail::assess::assess(black_box(&values), &options)))));
    let verdict = || drop(black_box(tail::assess::assess(black_box(&million), &options)));
    show("full_verdict_million", median(3, verdict));
    show("fit_million", median(3, || drop(black_box(gev::fit(black_box(&million))))));
    Ok(())
}
