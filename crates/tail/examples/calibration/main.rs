//! Checks that intervals, tests and alarms keep their nominal rates, and prints docs/statistics-calibration.md.
//!
//! `cargo run --release -p lastrank-tail --example calibration -- [SHARE] [SECTION …]`: SHARE of the full numbers of
//! samples, 1 without it; sections are intervals, ends, models, stage-one, power, fit-tests, likelihood-ratios, verdicts,
//! comparisons, whole-comparisons, other-sizes, alarms, counted-alarms, extremal-index and latencies, all without one. Seeded: every
//! run prints the same numbers. In full about an hour of one core; RAYON_NUM_THREADS=1 keeps it to one.

mod answers;
mod counted;
mod models;
mod studies;
mod verdicts;

use std::time::Instant;

use studies::{AlarmCase, Cell};
use verdicts::Fault;

const PAGE: &str = "\
# Calibration

Nominal and simulated coverage of intervals, sizes of tests and rates of alarms, with fixed seeds, printed by
`cargo run --release -p lastrank-tail --example calibration`. The tests run the same code with fewer samples.
Appending `-- 0.2 intervals models` computes some sections with a share of the samples and larger standard errors.

Unless a row says otherwise, all samples come from a GEV with location 11.1679, scale 0.212 and the given shape. The
standard error is that of the simulation. A value outside its accepted range is marked. Each sample has its own
xoshiro256++ stream, chosen by section, size and number; the seeds are in `crates/tail/examples/calibration`.

The column of samples says how many each row rests on; some sections were computed with a share of the full number. For
95 %, the standard error is 0.4 points with 3,000 samples, 0.5 with 1,800, 0.9 with 600 and 1.1 with 389; for 5 %, it is the
same. A share p in a note is one of the same samples, so that its standard error is √(p (100 − p) / samples) points.

Profile intervals of a GEV are computed as in an assessment: the critical value is the chi-square quantile times
1 + b / n (see the methods page); the note gives the coverage with the plain chi-square quantile. Intervals of other
models use the plain quantile. A limit that the likelihood does not confirm is printed as not found; such intervals are
excluded from the coverage, and the note gives their share.";

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
                let mut cells = studies::intervals(of(3_000), &[20, 50, 100], &shapes);
                cells.extend(studies::intervals(of(1_000), &[400], &shapes));
                cells
            }),
        ),
        ("ends", Box::new(|| models::ends(of(500), &[20, 50, 100], &shapes))),
        ("models", Box::new(|| models::models(of(1_000)))),
        (
            "stage-one",
            Box::new(|| {
                let mut cells = verdicts::stage_one(of(6_000), &[50]);
                cells.extend(verdicts::stage_one(of(4_000), &[100]));
                cells.extend(verdicts::stage_one(of(1_500), &[400]));
                cells
            }),
        ),
        ("power", Box::new(|| verdicts::power(of(2_000), &POWER))),
        (
            "fit-tests",
            Box::new(|| {
                let cases = [(0.0, 50), (-0.2, 100), (0.0, 100), (0.2, 100)];
                let mut cells = studies::fit_tests(of(4_000), &cases);
                cells.extend(studies::fit_tests(of(1_500), &[(0.0, 400)]));
                cells
            }),
        ),
        ("likelihood-ratios", Box::new(|| studies::likelihood_ratios(of(10_000), &[30, 100, 400]))),
        ("verdicts", Box::new(|| verdicts::verdicts(of(2_000), &VERDICTS))),
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
                let mut cells = answers::max_stable(of(1_000));
                cells.extend(answers::other_sizes(of(100), 100));
                cells
            }),
        ),
        ("alarms", Box::new(|| studies::alarms(of(500), 4_000, &alarm_cases))),
        ("counted-alarms", Box::new(|| counted::counted_alarms(of(500), 4_000))),
        ("extremal-index", Box::new(|| studies::extremal_index(of(200), 50_000))),
        ("latencies", Box::new(|| studies::latencies(of(3_000), of(120), 20_000))),
    ];
    if wanted.is_empty() {
        println!("{PAGE}");
    }
    let begun = Instant::now();
    for (name, study) in all {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let start = Instant::now();
        print(&study());
        eprintln!("{name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    eprintln!("all: {:.0} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn print(cells: &[Cell]) {
    let mut study = "";
    for cell in cells {
        if cell.study != study {
            study = cell.study;
            println!("\n### {study}\n");
            println!("| quantity | nominal | accepted | simulated | standard error | samples | note |");
            println!("|---|--:|--:|--:|--:|--:|---|");
        }
        // Percentages have one digit, ratios two.
        let digits = if cell.nominal > 2.0 { 1 } else { 2 };
        let outside = if cell.holds(0.0) {
            ""
        } else if cell.holds(2.0) {
            "outside by less than two standard errors"
        } else {
            "**outside**"
        };
        let said = [outside, cell.note.as_str()];
        let said: Vec<&str> = said.into_iter().filter(|s| !s.is_empty()).collect();
        println!(
            "| {} | {} | {} to {} | {:.digits$} | {} | {} | {} |",
            cell.what,
            cell.nominal,
            cell.accepted.0,
            cell.accepted.1,
            cell.value,
            error_text(cell.error, digits + 1),
            cell.samples,
            said.join("; "),
        );
    }
}

/// A standard error with so many digits, or as many as it takes to show one.
fn error_text(error: f64, digits: usize) -> String {
    let digits = (digits..9).find(|digits| error >= 0.5 * 0.1_f64.powi(*digits as i32)).unwrap_or(digits);
    format!("{error:.digits$}")
}
