//! Writes tables into the calibration page, each below its heading.

use std::fmt::Write;

use super::studies::Cell;

const HEAD: &str = "\
| quantity | nominal | accepted | simulated | standard error | samples | note |
|---|--:|--:|--:|--:|--:|---|
";

/// The tables of these cells: the heading of each, and its rows with their head.
pub fn tables(cells: &[Cell]) -> Vec<(&'static str, String)> {
    let of = |group: &[Cell]| (group[0].study, group.iter().fold(HEAD.to_owned(), row));
    cells.chunk_by(|a, b| a.study == b.study).map(of).collect()
}

fn row(mut table: String, cell: &Cell) -> String {
    // Percentages have one digit, ratios two.
    let digits = if cell.nominal > 2.0 { 1 } else { 2 };
    let outside = if cell.holds(0.0) {
        ""
    } else if cell.holds(2.0) {
        "outside by less than two standard errors"
    } else {
        "**outside**"
    };
    let said: Vec<&str> = [outside, cell.note.as_str()].into_iter().filter(|s| !s.is_empty()).collect();
    writeln!(
        table,
        "| {} | {} | {} to {} | {:.digits$} | {} | {} | {} |",
        cell.what,
        cell.nominal,
        cell.accepted.0,
        cell.accepted.1,
        cell.value,
        error_text(cell.error, digits + 1),
        cell.samples,
        said.join("; "),
    )
    .expect("a text takes all that is written to it");
    table
}

/// A standard error with so many digits, or as many as it takes to show one.
fn error_text(error: f64, digits: usize) -> String {
    let digits = (digits..9).find(|digits| error >= 0.5 * 0.1_f64.powi(*digits as i32)).unwrap_or(digits);
    format!("{error:.digits$}")
}

/// The page with this table below its heading, in place of the one that is there.
///
/// # Errors
/// Where it has no such heading, or no table there.
pub fn with(page: &str, (study, table): &(&str, String)) -> Result<String, String> {
    let heading = format!("\n### {study}\n");
    let found = page.find(&heading).ok_or_else(|| format!("the page has no heading `{}`", heading.trim()))?;
    let below = found + heading.len();
    let next = page[below..].find("\n#").map_or(page.len(), |at| below + at);
    let rows = page[below..next].find("| quantity |").ok_or_else(|| format!("no table below `{study}`"))?;
    let begin = below + rows;
    let is_row = |line: &&str| line.starts_with('|');
    let end = begin + page[begin..].split_inclusive('\n').take_while(is_row).map(str::len).sum::<usize>();
    Ok(format!("{}{table}{}", &page[..begin], &page[end..]))
}
