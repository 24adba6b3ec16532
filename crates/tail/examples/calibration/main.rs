//! Do the intervals, tests and alarms keep what they promise? The table of docs/statistics-calibration.md.
//!
//! `cargo run --release -p tail --example calibration [SECTION …]`: sections are intervals, stage-one, fit-tests,
//! likelihood-ratios, verdicts, comparisons, alarms, extremal-index and latencies; all without one. Seeded: every
//! run prints the same table. About 20 minutes of one core; RAYON_NUM_THREADS=1 keeps it to one.

mod studies;

use std::time::Instant;

use studies::{AlarmCase, Cell};

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    type Study = (&'static str, fn() -> Vec<Cell>);
    let all: [Study; 9] = [
        ("intervals", || {
            let mut cells = studies::intervals(20_000, &[20, 50, 100], &[-0.2, 0.0, 0.2]);
            cells.extend(studies::intervals(10_000, &[400], &[-0.2, 0.0, 0.2]));
            cells
        }),
        ("stage-one", || {
            let mut cells = studies::stage_one(10_000, &[50]);
            cells.extend(studies::stage_one(5_000, &[100]));
            cells.extend(studies::stage_one(3_000, &[400]));
            cells
        }),
        ("fit-tests", || {
            let mut cells = studies::fit_tests(6_000, &[(0.0, 50), (-0.2, 100), (0.0, 100), (0.2, 100)]);
            cells.extend(studies::fit_tests(3_000, &[(0.0, 400)]));
            cells
        }),
        ("likelihood-ratios", || studies::likelihood_ratios(20_000, &[30, 100, 400])),
        ("verdicts", || studies::verdicts(1_500, 400, &[-0.1, 0.0, 0.1])),
        ("comparisons", || {
            let mut cells = studies::comparisons(4_000, &[50, 100]);
            cells.extend(studies::comparisons(1_500, &[400]));
            cells
        }),
        ("alarms", || {
            let case = |n, false_alarms, factor| AlarmCase { n, false_alarms, run_length: 1000.0, factor };
            studies::alarms(
                800,
                4_000,
                &[case(400, 1e-2, 1.05), case(400, 1e-3, 1.02), case(100, 1e-2, 1.05)],
            )
        }),
        ("extremal-index", || studies::extremal_index(400, 100_000)),
        ("latencies", || studies::latencies(4_000, 200, 20_000)),
    ];
    for (name, study) in all {
        if !wanted.is_empty() && !wanted.iter().any(|w| w == name) {
            continue;
        }
        let start = Instant::now();
        let cells = study();
        print(&cells);
        eprintln!("{name}: {:.0} s", start.elapsed().as_secs_f64());
    }
}

fn print(cells: &[Cell]) {
    let mut study = "";
    for cell in cells {
        if cell.study != study {
            study = cell.study;
            println!("\n### {study}\n");
            println!("| what | should be | accepted | is | standard error | samples | |");
            println!("|---|--:|--:|--:|--:|--:|---|");
        }
        // Shares in per cent take one digit, ratios two.
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
            "| {} | {} | {} to {} | {:.digits$} | {:.more$} | {} | {} |",
            cell.what,
            cell.nominal,
            cell.accepted.0,
            cell.accepted.1,
            cell.value,
            cell.error,
            cell.samples,
            said.join("; "),
            more = digits + 1,
        );
    }
}
