//! The table of a first screen: rates and quantiles of the rows that matter.

use results::{QuantileInterval, Quantiles, ResultRow};
use samples::units;

use super::number::{DOUBT, between, in_doubt, three, unit_of_rates};
use super::paint::cut;
use crate::table::width;

/// Columns that the name of a row takes at most, and at least where others leave no room.
const NAME: (usize, usize) = (44, 14);

/// The head of the column of intervals.
const INTERVAL: &str = "95% CI";

/// A row of the table before it is laid out.
pub(crate) struct Shown {
    /// What it is.
    pub name: String,
    /// Whether the screen is about it.
    pub strong: bool,
    pub per_second: Option<f64>,
    pub bytes_per_second: Option<f64>,
    pub depth: Option<f64>,
    pub quantiles: Option<Quantiles>,
    pub intervals: Vec<QuantileInterval>,
    pub errors: u64,
}

impl Shown {
    /// A row of the result.
    pub fn of(row: &ResultRow, strong: bool) -> Shown {
        let size = match row.bytes_per_operation {
            Some([0, 0]) | None => String::new(),
            Some([least, most]) if least == most => format!(" {}", units::bytes(least)),
            Some([least, most]) => format!(" {}–{}", units::bytes(least), units::bytes(most)),
        };
        let means = match row.operations_per_timing {
            Some(batch) if batch > 1 => format!(", means of {}", units::count(u64::from(batch))),
            _ => String::new(),
        };
        Shown {
            name: format!("{}{size}{means}", row.name()),
            strong,
            per_second: row.operations_per_second,
            bytes_per_second: row.bytes_per_second.filter(|rate| *rate > 0.0),
            depth: row.achieved_depth,
            quantiles: row.headline().cloned(),
            intervals: row.intervals.clone(),
            errors: row.errors,
        }
    }

    /// A quantile; with `?` where its interval has no upper end.
    fn quantile(&self, probability: f64, value: impl Fn(&Quantiles) -> Option<f64>) -> String {
        let Some(value) = self.quantiles.as_ref().and_then(value) else { return "–".into() };
        in_doubt(value, self.interval(probability))
    }

    fn interval(&self, probability: f64) -> Option<&QuantileInterval> {
        self.intervals.iter().find(|one| one.probability == probability)
    }
}

/// A column: its name, how soon it is left out where there is no room (0: never), its cells.
pub(crate) struct Cells {
    name: String,
    spare: u8,
    cells: Vec<String>,
}

impl Cells {
    /// A column with a cell for each row.
    pub fn new(name: &str, spare: u8, cells: Vec<String>) -> Cells {
        Cells { name: name.into(), spare, cells }
    }
}

/// A table as it is drawn.
#[derive(Default)]
pub(crate) struct Drawn {
    /// Its lines, the first its head, with each whether it is strong.
    pub lines: Vec<(bool, String)>,
    /// What the marks in it mean.
    pub legend: Option<String>,
    /// Whether it has the intervals of p99.
    pub has_intervals: bool,
}

/// The table; `columns` wide at most.
pub(crate) fn drawn(rows: &[Shown], columns: usize) -> Drawn {
    let names: Vec<(bool, String)> = rows.iter().map(|row| (row.strong, row.name.clone())).collect();
    let cells = that_fit(&names, all(rows), columns);
    let has_intervals = cells.iter().any(|column| column.name == INTERVAL);
    let has_doubt = cells.iter().any(|column| column.cells.iter().any(|cell| cell.ends_with(DOUBT)));
    let interval = has_intervals.then(|| format!("{INTERVAL}: of p99"));
    let doubt = has_doubt.then(|| format!("{DOUBT} too few to say how much larger it may be"));
    let legend: Vec<String> = interval.into_iter().chain(doubt).collect();
    let legend = (!legend.is_empty()).then(|| format!("  {}", legend.join("; ")));
    Drawn { lines: laid_out(&names, cells, columns), legend, has_intervals }
}

/// The lines of a table whose rows have these names, strong or not; columns go where there is no room for all.
pub(crate) fn laid_out(rows: &[(bool, String)], cells: Vec<Cells>, columns: usize) -> Vec<(bool, String)> {
    let cells = that_fit(rows, cells, columns);
    let wanted = wanted(rows);
    let name_width = wanted.min(room(&cells, columns)).max(4);
    let line = |name: &str, of: &dyn Fn(&Cells) -> String| {
        let mut text = format!("  {}{}", name, " ".repeat(name_width.saturating_sub(width(name))));
        for column in &cells {
            let cell = of(column);
            text += &" ".repeat(2 + width_of(column).saturating_sub(width(&cell)));
            text += &cell;
        }
        text.trim_end().to_owned()
    };
    let head = std::iter::once((false, line("", &|column: &Cells| column.name.clone())));
    let body = rows.iter().enumerate().map(|(at, (strong, name))| {
        (*strong, line(&cut(name, name_width), &|column: &Cells| column.cells[at].clone()))
    });
    head.chain(body).collect()
}

/// Columns that the longest name wants.
fn wanted(rows: &[(bool, String)]) -> usize {
    rows.iter().map(|(_, name)| width(name)).max().unwrap_or(0).min(NAME.0)
}

/// Columns that the cells leave for names.
fn room(cells: &[Cells], columns: usize) -> usize {
    let taken: usize = cells.iter().map(|column| width_of(column) + 2).sum();
    columns.saturating_sub(taken + 2)
}

/// The columns for which there is room.
fn that_fit(rows: &[(bool, String)], mut cells: Vec<Cells>, columns: usize) -> Vec<Cells> {
    let wanted = wanted(rows);
    let room = |cells: &[Cells]| room(cells, columns);
    while room(&cells) < wanted {
        let least = cells.iter().filter(|column| column.spare > 0).map(|column| column.spare).min();
        // A name is cut before a figure that everybody looks for is left out.
        let Some(least) = least.filter(|spare| *spare < 5 || room(&cells) < NAME.1) else { break };
        cells.retain(|column| column.spare != least);
    }
    cells
}

fn width_of(column: &Cells) -> usize {
    column.cells.iter().map(|cell| width(cell)).max().unwrap_or(0).max(width(&column.name))
}

/// A rate of bytes in the unit of its column; with a unit of its own where it would not read well.
pub(crate) fn rate_in(bytes_per_second: f64, (unit, factor): (&str, f64)) -> String {
    let own = unit_of_rates(bytes_per_second);
    let value = bytes_per_second / factor;
    if own.0 == unit || (0.1..100_000.0).contains(&value) {
        return three(value);
    }
    format!("{} {}", three(bytes_per_second / own.1), own.0.trim_end_matches("/s"))
}

fn all(rows: &[Shown]) -> Vec<Cells> {
    let mut found: Vec<Cells> = Vec::new();
    let mut push = |name: &str, spare: u8, cells: Vec<String>| {
        if cells.iter().any(|cell| cell != "–" && !cell.is_empty()) {
            found.push(Cells { name: name.into(), spare, cells });
        }
    };
    let optional = |value: Option<f64>, shown: &dyn Fn(f64) -> String| value.map_or("–".into(), shown);
    push("ops/s", 0, rows.iter().map(|row| optional(row.per_second, &three)).collect());
    // The unit suits what the screen is about; a rate that does not read well in it has its own.
    let of_row = |row: &Shown| row.bytes_per_second;
    let main = rows.iter().filter(|row| row.strong).find_map(of_row);
    let largest = rows.iter().filter_map(of_row).fold(0.0, f64::max);
    let (unit, factor) = unit_of_rates(main.unwrap_or(largest));
    let rate = |rate: f64| rate_in(rate, (unit, factor));
    push(unit, 7, rows.iter().map(|row| optional(row.bytes_per_second, &rate)).collect());
    if rows.iter().any(|row| row.depth.is_some_and(|depth| depth > 1.05)) {
        push("depth", 3, rows.iter().map(|row| optional(row.depth, &three)).collect());
    }
    push("median", 0, rows.iter().map(|row| row.quantile(0.5, |found| Some(found.p50))).collect());
    push("p99", 0, rows.iter().map(|row| row.quantile(0.99, |found| found.p99)).collect());
    let ends = |row: &Shown| match (row.interval(0.99), &row.quantiles) {
        (Some(found), Some(_)) => between(found.seconds, found.lower_seconds, found.upper_seconds),
        _ => "–".into(),
    };
    push(INTERVAL, 1, rows.iter().map(ends).collect());
    push("p99.9", 5, rows.iter().map(|row| row.quantile(0.999, |found| found.p999)).collect());
    push("p99.99", 2, rows.iter().map(|row| row.quantile(0.9999, |found| found.p9999)).collect());
    push("max", 6, rows.iter().map(|row| row.quantile(1.0, |found| Some(found.max))).collect());
    if rows.iter().any(|row| row.errors > 0) {
        let errors = |row: &Shown| if row.errors > 0 { units::count(row.errors) } else { "none".into() };
        push("errors", 8, rows.iter().map(errors).collect());
    }
    found
}
