//! Tests that each number of docs/statistics-calibration.md has the error of its simulation.

/// The cells of the rows of all tables of the page.
fn rows() -> Vec<Vec<&'static str>> {
    let page = include_str!("../../../docs/statistics-calibration.md");
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| quantity"));
    rows.map(|row| row.trim_matches('|').split(" |").map(str::trim).collect()).collect()
}

#[test]
fn each_number_of_the_calibration_page_has_the_error_of_its_simulation() {
    let rows = rows();
    assert!(rows.len() > 300, "{}", rows.len());
    for row in rows {
        let [_, nominal, _, simulated, error, samples, note] = row[..] else { panic!("{row:?}") };
        let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("{row:?}"));
        let (nominal, simulated, error, samples) =
            (number(nominal), number(simulated), number(error), number(samples));
        assert!(error > 0.0 && samples >= 20.0, "{row:?}");
        assert!(!note.contains("**outside**"), "{row:?}");
        // Rates of one outcome a sample; the smallest ones have an error although none was seen.
        if nominal > 2.0 && (1.0..=99.0).contains(&simulated) {
            let binomial = (simulated * (100.0 - simulated) / samples).sqrt();
            assert!((0.9..1.2).contains(&(error / binomial)), "{row:?}: {binomial}");
        }
    }
}

/// Its prose fits on four screens of 50 lines of 100 columns: who wants to know reads it.
#[test]
fn the_prose_of_the_calibration_page_fits_on_four_screens() {
    let page = include_str!("../../../docs/statistics-calibration.md");
    let is_prose = |line: &&str| !line.trim().is_empty() && !line.starts_with(['|', '<']);
    let lines: usize = page.lines().filter(is_prose).map(|line| line.chars().count().div_ceil(100)).sum();
    assert!(lines <= 4 * 50, "{lines} lines of prose");
}
