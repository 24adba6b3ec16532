//! Checks that intervals, tests and alarms keep their nominal rates, and prints the tables of docs/statistics-calibration.md.
//!
//! `cargo run --release -p lastrank-tail --example calibration -- [--write PAGE] [SHARE] [SECTION …]`: with PAGE each table is
//! written below its heading there; SHARE of the full numbers of samples, 1 without it; sections are intervals, ends, models,
//! stage-one, power, fit-tests, likelihood-ratios, verdicts, comparisons, whole-comparisons, other-sizes, alarms,
//! counted-alarms, extremal-index and latencies, all without one. Seeded: every run prints the same numbers. In full about
//! half an hour of one core; RAYON_NUM_THREADS=1 keeps it to one.

mod answers;
mod counted;
mod models;
mod page;
mod studies;
mod verdicts;

use std::time::Instant;

use studies::{AlarmCase, Cell};
use verdicts::Fault;

/// What stage one should find: the fault, the number of values, and the minimum power in per cent.
const POWER: [(Fault, usize, f64); 9] = [
    (Fault::Autoregression(0.4), 100, 90.0),
    (Fault::Autoregression(0.2), 400, 90.0),
    (Fault::Autoregression(-0.4), 100, 70.0),
    (Fault::Drift(2.0), 100, 70.0),
    (Fault::Drift(1.0), 400, 70.0),
    (Fault::Step(1.0), 100, 50.0),
    (Fault::Step(0.5), 400, 50.0),
    (Fault::Cluster(0.05), 400, 80.0),
    (Fault::Flush(50), 1_000, 90.0),
];

/// Shapes and numbers of values of the complete verdict.
const VERDICTS: [(f64, usize); 6] =
    [(0.0, 100), (-0.2, 400), (0.0, 400), (0.2, 400), (0.4, 400), (0.0, 1_000)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let page = wanted.iter().position(|word| word == "--write").map(|at| {
        wanted.remove(at);
        if at < wanted.len() { wanted.remove(at) } else { String::new() }
    });
    let share: f64 = match wanted.first().and_then(|first| first.parse().ok()) {
        Some(share) => {
            wanted.remove(0);
            share
        }
        None => 1.0,
    };
    if !(share > 0.0 && share <= 10.0) {
        return Err("the share of the samples must be above 0".into());
    }
    let of = |samples: usize| ((samples as f64 * share).ceil() as usize).max(20);
    let alarm = |n, false_alarms, factor| AlarmCase { n, false_alarms, run_length: 1000.0, factor };
    let alarm_cases = [alarm(400, 1e-2, 1.05), alarm(400, 1e-3, 1.02), alarm(100, 1e-2, 1.05)];
    let shapes = [-0.4, -0.2, 0.0, 0.2, 0.5, 1.0];
    type Study<'a> = (&'static str, Box<dyn Fn() -> Vec<Cell> + 'a>);
    let all: [Study; 15] = [
        (
            "intervals",
            Box::new(|| {
                let mut cells = studies::intervals(of(1_800), &[20, 50, 100], &shapes);
                cells.extend(studies::intervals(of(600), &[400], &shapes));
                cells
            }),
        ),
        ("ends", Box::new(|| models::ends(of(100), &[20, 50, 100], &shapes))),
        ("models", Box::new(|| models::models(of(600)))),
        (
            "stage-one",
            Box::new(|| {
                let mut cells = verdicts::stage_one(of(6_000), &[50]);
                cells.extend(verdicts::stage_one(of(4_000), &[100]));
                cells.extend(verdicts::stage_one(of(1_500), &[400]));
                cells
            }),
        ),
        ("power", Box::new(|| verdicts::power(of(1_000), &POWER))),
        (
            "fit-tests",
            Box::new(|| {
                let cases = [(0.0, 50), (-0.2, 100), (0.0, 100), (0.2, 100)];
                let mut cells = studies::fit_tests(of(2_000), &cases);
                cells.extend(studies::fit_tests(of(750), &[(0.0, 400)]));
                cells
            }),
        ),
        ("likelihood-ratios", Box::new(|| studies::likelihood_ratios(of(10_000), &[30, 100, 400]))),
        ("verdicts", Box::new(|| verdicts::verdicts(of(500), &VERDICTS))),
        (
            "comparisons",
            Box::new(|| {
                let mut cells = studies::comparisons(of(3_000), &[50, 100]);
                cells.extend(studies::comparisons(of(1_000), &[400]));
                cells
            }),
        ),
        (
            "whole-comparisons",
            Box::new(|| {
                let mut cells = answers::whole_comparisons(of(500), &[20, 50, 100]);
                cells.extend(answers::whole_comparisons(of(100), &[400]));
                cells
            }),
        ),
        (
            "other-sizes",
            Box::new(|| {
                let mut cells = answers::max_stable(of(4_000));
                cells.extend(answers::other_sizes(of(400), 100));
                cells
            }),
        ),
        ("alarms", Box::new(|| studies::alarms(of(300), 4_000, &alarm_cases))),
        ("counted-alarms", Box::new(|| counted::counted_alarms(of(300), 4_000))),
        ("extremal-index", Box::new(|| studies::extremal_index(of(200), 50_000))),
        ("latencies", Box::new(|| studies::latencies(of(3_000), of(120), 20_000))),
    ];
    let begun = Instant::now();
    for (name, study) in all {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let start = Instant::now();
        for table in page::tables(&study()) {
            match &page {
                Some(file) => std::fs::write(file, page::with(&std::fs::read_to_string(file)?, &table)?)?,
                None => println!("### {}\n\n{}", table.0, table.1),
            }
        }
        eprintln!("{name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    eprintln!("all: {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}
