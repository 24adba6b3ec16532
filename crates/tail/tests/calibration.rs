//! The calibration studies with fewer samples than the full table. Seeded; a cell fails where it lies outside
//! its range by more than the error of the simulation.

// The table prints columns that the tests do not read.
#[allow(dead_code)]
#[path = "../examples/calibration/counted.rs"]
mod counted;
#[allow(dead_code)]
#[path = "../examples/calibration/models.rs"]
mod models;
#[allow(dead_code)]
#[path = "../examples/calibration/page.rs"]
mod page;
#[allow(dead_code)]
#[path = "../examples/calibration/studies.rs"]
mod studies;
#[allow(dead_code)]
#[path = "../examples/calibration/verdicts.rs"]
mod verdicts;

use studies::{AlarmCase, Cell};
use verdicts::Fault;

/// Standard errors that a cell exceeds by chance less than once in a thousand, were the seeds not fixed.
const ERRORS: f64 = 3.3;

fn check(cells: &[Cell]) {
    assert!(!cells.is_empty());
    let page = include_str!("../../../docs/statistics-calibration.md");
    for cell in cells {
        // The command of the page writes the table below this heading.
        assert!(page.contains(&format!("### {}\n", cell.study)), "{cell:?}");
        // With too few samples the check would accept any value: the error must be well below the nominal
        // value.
        assert!(cell.error < 0.5 * cell.nominal, "{cell:?}");
        assert!(cell.holds(ERRORS), "{cell:?}");
    }
}

#[test]
fn profile_intervals_cover() {
    check(&studies::intervals(600, &[20, 100], &[-0.2, 0.2]));
}

#[test]
fn intervals_of_the_other_models_cover() {
    check(&models::models(25));
}

#[test]
fn the_tests_of_stage_one_keep_their_size() {
    check(&verdicts::stage_one(400, &[100]));
    // Of 50 values one sample in thousands is worth so few that no change of level is looked for.
    check(&verdicts::stage_one(6_000, &[50]));
}

#[test]
fn the_tests_of_fit_keep_their_size() {
    check(&studies::fit_tests(300, &[(0.0, 50)]));
}

#[test]
fn likelihood_ratios_keep_their_size() {
    check(&studies::likelihood_ratios(600, &[100]));
}

#[test]
fn true_gev_samples_rarely_get_a_verdict_against_the_gev() {
    check(&verdicts::verdicts(150, &[(0.0, 120)]));
}

#[test]
fn an_autoregression_of_four_tenths_in_a_hundred_values_is_found() {
    check(&verdicts::power(120, &[(Fault::Autoregression(0.4), 100, 90.0)]));
}

#[test]
fn a_small_cluster_and_a_periodic_flush_are_found() {
    check(&verdicts::power(60, &[(Fault::Cluster(0.05), 400, 80.0), (Fault::Flush(50), 1_000, 90.0)]));
}

#[test]
fn comparisons_cover_and_keep_their_size() {
    check(&studies::comparisons(200, &[60]));
}

#[test]
fn counted_alarms_keep_their_rate_whatever_the_distribution() {
    check(&counted::counted_alarms(20, 4_000));
}

#[test]
fn alarms_keep_their_rate() {
    let case = AlarmCase { n: 100, false_alarms: 0.01, run_length: 200.0, factor: 1.05 };
    check(&studies::alarms(40, 2_000, &[case]));
}

#[test]
fn extremal_indices_are_found() {
    check(&studies::extremal_index(20, 20_000));
}

#[test]
fn far_latencies_are_covered() {
    check(&studies::latencies(300, 20, 5_000));
}

#[test]
fn a_cell_outside_its_range_fails() {
    let cells = studies::likelihood_ratios(600, &[100]);
    let wrong = Cell { value: cells[0].value + 10.0, ..cells[0].clone() };
    assert!(!wrong.holds(ERRORS));
}

/// The command that makes the page's tables writes each below its heading and leaves the rest of the page.
#[test]
fn a_table_is_written_below_its_heading_of_the_page() {
    let old = include_str!("../../../docs/statistics-calibration.md");
    let cells = studies::likelihood_ratios(20, &[30]);
    let [table] = &page::tables(&cells)[..] else { panic!("{cells:?}") };
    let new = page::with(old, table).unwrap();
    let row = table.1.lines().last().unwrap();
    assert!(new.contains(row) && !old.contains(row), "{row}");
    // Once more changes nothing, and the table as it was gives the page as it was.
    assert_eq!(page::with(&new, table).unwrap(), new);
    let begin = old.find(&format!("### {}", table.0)).unwrap();
    let begin = begin + old[begin..].find("| quantity |").unwrap();
    let before: String =
        old[begin..].split_inclusive('\n').take_while(|line| line.starts_with('|')).collect();
    assert!(page::with(&new, &(table.0, before)).unwrap() == old);
    assert!(page::with(old, &("No such study", String::new())).is_err());
}
