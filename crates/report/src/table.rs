//! What is a table, and which tables does a report have?

use samples::{Run, units};
use serde::Serialize;
use tail::assess::Assessment;
use tail::independence::{Independence, Question};

use crate::subject::Subject;
use crate::summary::Summary;
use crate::tail_of::Tail;
use crate::unit::{Unit, duration, fixed, probability};

/// Rows that a table of sites shows; the rest is counted in its note.
const MOST_SITES: usize = 60;

/// A table: the same cells in a terminal and on a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Names of the columns. Text columns stand left, numbers right.
    pub columns: Vec<Column>,
    /// Cells, as many in a row as there are columns.
    pub rows: Vec<Row>,
    /// What a reader must know of it; may be empty.
    pub note: String,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Does it hold numbers?
    pub number: bool,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its cells.
    pub cells: Vec<String>,
    /// Is it what the report is about?
    pub strong: bool,
}

impl Table {
    /// A table without rows. A column whose name begins with `<` holds text.
    pub(crate) fn new(title: &str, columns: &[&str]) -> Table {
        let columns = columns
            .iter()
            .map(|name| Column { name: name.trim_start_matches('<').into(), number: !name.starts_with('<') })
            .collect();
        Table { title: title.into(), columns, ..Table::default() }
    }

    pub(crate) fn push(&mut self, strong: bool, cells: impl IntoIterator<Item = String>) {
        self.rows.push(Row { cells: cells.into_iter().collect(), strong });
    }

    /// The table as text for a terminal, columns aligned, without colours or lines. Where it would be
    /// wider than about 110 columns, its widest text column wraps.
    pub fn text(&self) -> String {
        const WIDEST: usize = 110;
        let mut widths: Vec<usize> = self.columns.iter().map(|column| column.name.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let total: usize = widths.iter().map(|width| width + 2).sum();
        let wrapping = (0..widths.len()).filter(|&at| !self.columns[at].number).max_by_key(|&at| widths[at]);
        if let Some(at) = wrapping.filter(|_| total > WIDEST) {
            widths[at] = widths[at].saturating_sub(total - WIDEST).max(24);
        }
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            let mut text = String::new();
            for ((cell, width), column) in cells.zip(&widths).zip(&self.columns) {
                let space = " ".repeat(width.saturating_sub(cell.chars().count()));
                text.push_str("  ");
                let (before, after) = if column.number { (space.as_str(), "") } else { ("", space.as_str()) };
                text.push_str(before);
                text.push_str(cell);
                text.push_str(after);
            }
            format!("{}\n", text.trim_end())
        };
        let mut text = format!("{}\n", self.title);
        text.push_str(&line(&mut self.columns.iter().map(|column| &column.name)));
        for row in &self.rows {
            let mut cells = row.cells.clone();
            let mut further = Vec::new();
            if let Some(at) = wrapping {
                let mut pieces = wrapped(&cells[at], widths[at]);
                further = pieces.split_off(1);
                cells[at] = pieces.swap_remove(0);
            }
            text.push_str(&line(&mut cells.iter()));
            for piece in further {
                let alone: Vec<String> = (0..widths.len())
                    .map(|at| if Some(at) == wrapping { piece.clone() } else { String::new() })
                    .collect();
                text.push_str(&line(&mut alone.iter()));
            }
        }
        if !self.note.is_empty() {
            text.push_str(&format!("  {}\n", self.note));
        }
        text
    }
}

/// Lines of at most `width` characters, broken between words; at least one.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width);
        match line {
            Some(line) => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            None => lines.push(word.into()),
        }
    }
    lines
}

/// Every duration with the unit that suits it.
fn quantiles(summary: &Summary) -> [String; 7] {
    let optional = |value: Option<f64>| value.map_or("–".into(), duration);
    [
        units::count(summary.n as u64),
        duration(summary.mean),
        duration(summary.median),
        duration(summary.p90),
        optional(summary.p99),
        optional(summary.p999),
        duration(summary.max),
    ]
}

/// Count, mean and quantiles of T and of every site.
pub(crate) fn sites(run: &Run, subject: Option<&Subject>) -> Table {
    let mut table = Table::new(
        "Durations",
        &["<what", "<line", "n", "mean", "median", "p90", "p99", "p99.9", "max", "failed"],
    );
    let mut push = |strong: bool, name: String, line: String, values: &[f64], failed: usize| {
        if let Some(summary) = Summary::of(values) {
            let failed = if failed == 0 { String::new() } else { units::count(failed as u64) };
            table.push(strong, [name, line].into_iter().chain(quantiles(&summary)).chain([failed]));
        }
    };
    if let Some(subject) = subject.filter(|subject| subject.gate && subject.ranks.len() > 1) {
        let line = run.sites.get(subject.site as usize).map_or(String::new(), |site| site.line.to_string());
        let name = format!("T = {}", subject.describe());
        push(true, name, line.clone(), &subject.values(), subject.failed);
        if subject.has_correction() {
            let corrected: Vec<f64> = subject.steps.iter().map(|step| step.corrected).collect();
            push(false, "T without run-queue wait".into(), line, &corrected, 0);
        }
    }
    let mut durations: Vec<(u128, Vec<f64>, usize)> = vec![(0, Vec::new(), 0); run.sites.len()];
    for sample in &run.samples {
        if let Some((time, values, failed)) = durations.get_mut(sample.site as usize) {
            *time += u128::from(sample.duration_ps);
            if sample.failed() { *failed += 1 } else { values.push(sample.seconds()) }
        }
    }
    let mut order: Vec<usize> = (0..run.sites.len()).filter(|&site| durations[site].0 > 0).collect();
    let total = order.len();
    order.sort_by_key(|&site| std::cmp::Reverse(durations[site].0));
    order.truncate(MOST_SITES);
    order.sort_by_key(|&site| (run.sites[site].line, run.sites[site].column, site));
    for site in &order {
        let (_, values, failed) = &durations[*site];
        let line = run.sites[*site].line;
        let line = if line == 0 { String::new() } else { line.to_string() };
        let strong = subject.is_some_and(|subject| {
            (!subject.gate || subject.ranks.len() == 1) && subject.site as usize == *site
        });
        push(strong, site_name(run, *site), line, values, *failed);
    }
    if table.rows.iter().all(|row| row.cells.last().is_none_or(String::is_empty)) {
        table.columns.pop();
        table.rows.iter_mut().for_each(|row| {
            row.cells.pop();
        });
    }
    if total > order.len() {
        table.note = format!("{} further sites, with less time, are left out.", total - order.len());
    }
    table
}

/// The name of a site in a table that has a column for its line.
fn site_name(run: &Run, site: usize) -> String {
    let site = &run.sites[site];
    if site.labels.is_empty() { site.operation.clone() } else { site.name() }
}

/// The fitted parameters with their standard errors and profile intervals.
pub(crate) fn parameters(found: &Assessment, unit: Unit) -> Table {
    let law = &found.gev;
    let mut table = Table::new(
        "Extreme-value law (GEV)",
        &["<parameter", "estimate", "standard error", "95 % from", "to", "<meaning"],
    );
    let (errors, intervals) = (law.standard_errors, law.intervals);
    let rows = [
        ("location", unit, law.location, errors.map(|e| e.location), intervals.and_then(|i| i.location)),
        ("scale", unit, law.scale, errors.map(|e| e.scale), intervals.and_then(|i| i.scale)),
        ("shape", Unit::NONE, law.shape, errors.map(|e| e.shape), intervals.and_then(|i| i.shape)),
    ];
    let meanings = ["where most values lie", "how far they spread", "above 0 heavy tail, below 0 it ends"];
    for ((name, unit, value, error, interval), meaning) in rows.into_iter().zip(meanings) {
        let width = interval.map(|interval| (interval.upper - interval.lower) / 4.0);
        let precision = error.or(width).unwrap_or(f64::NAN);
        let show = |value: f64| unit.named(&unit.with_error(value, precision).0);
        let [lower, upper] = match interval {
            Some(interval) => [show(interval.lower), show(interval.upper)],
            None => ["–".into(), "–".into()],
        };
        let error = error.map_or("–".into(), |error| unit.named(&unit.with_error(value, error).1));
        let value = if precision.is_nan() { unit.show(value) } else { show(value) };
        table.push(false, [name.into(), value, error, lower, upper, meaning.into()]);
    }
    table.note = match found.status {
        tail::Status::Ok => String::new(),
        tail::Status::Irregular => {
            "The shape is below -1/2: standard errors do not hold there and are left out.".into()
        }
        tail::Status::Boundary => {
            "The likelihood has no maximum inside its range: the law ends at the largest value.".into()
        }
        tail::Status::Degenerate => "There are too few distinct values for a fit.".into(),
        tail::Status::NotConverged => {
            "No maximum of the likelihood was found: do not use these numbers.".into()
        }
    };
    table
}

/// Levels exceeded once in so many values, with intervals.
pub(crate) fn levels(found: &Assessment, unit: Unit, what: &str) -> Table {
    let mut table = Table::new("Return levels", &["<exceeded once in", "level", "95 % from", "to", "<"]);
    for level in &found.return_levels {
        let known = level.lower.is_finite() || level.upper.is_finite();
        let open = |end: f64, open: f64| if end.is_nan() { open } else { end };
        let ends = (open(level.lower, f64::NEG_INFINITY), open(level.upper, f64::INFINITY));
        let [value, lower, upper] = unit.with_interval(level.level, ends.0, ends.1);
        let show = |text: String| if known { unit.named(&text) } else { "–".into() };
        let name = format!("{} {what}s", units::count(level.period as u64));
        let beyond = if level.observed { "" } else { "extrapolated" };
        table.push(false, [name, unit.named(&value), show(lower), show(upper), beyond.into()]);
    }
    table
}

/// The tests of whether the values are independent draws of one law.
pub(crate) fn independence(tail: &Tail) -> Option<Table> {
    tail.independence().map(tests)
}

/// The same from the tests themselves.
pub(crate) fn tests(found: &Independence) -> Table {
    let mut table =
        Table::new("Repetitions of one experiment?", &["<question", "<found", "p, all tests together"]);
    for test in &found.tests {
        let question = match test.question {
            Question::Autocorrelation => "do neighbours resemble each other",
            Question::Trend => "does the level creep",
            Question::Jump => "does it jump",
            Question::Modes => "are there several modes",
        };
        table.push(test.rejected, [question.into(), test.text.clone(), probability(test.p_adjusted)]);
    }
    table
}

/// The GEV and its rivals by AIC.
pub(crate) fn models(found: &Assessment) -> Table {
    let mut table = Table::new(
        "Which law describes the values best",
        &["<law", "parameters", "AIC above the best", "weight", "<against the GEV (Vuong)"],
    );
    let best = found.alternatives.first().map_or(f64::INFINITY, |rival| rival.aic).min(found.gev.aic);
    let mut rows = vec![(true, "GEV".to_string(), 3, found.gev.aic, found.gev.aic_weight, String::new())];
    for rival in &found.alternatives {
        let words = match rival.vuong {
            Some(vuong) if vuong.z > 1.96 => format!("worse (z {})", fixed(vuong.z, 2)),
            Some(vuong) if vuong.z < -1.96 => format!("better (z {})", fixed(vuong.z, 2)),
            Some(vuong) => format!("not told apart (z {})", fixed(vuong.z, 2)),
            None => "–".into(),
        };
        rows.push((false, rival.name.clone(), rival.size, rival.aic, rival.aic_weight, words));
    }
    rows.sort_by(|a, b| a.3.total_cmp(&b.3));
    for (strong, name, size, aic, weight, words) in rows {
        let weight = if weight < 0.0005 { "< 0.001".into() } else { fixed(weight, 3) };
        table.push(strong, [name, size.to_string(), fixed(aic - best, 1), weight, words]);
    }
    if let Some(fit) = found.diagnostics.goodness_of_fit {
        table.note = format!(
            "Does the GEV fit at all? Anderson-Darling A² {:.3} (p {}), upper tail AU² {:.3} (p {}); together p {}.",
            fit.statistics.a2,
            probability(fit.p.a2),
            fit.statistics.au2,
            probability(fit.p.au2),
            probability(fit.p.smaller)
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_left_and_numbers_right() {
        let mut table = Table::new("Title", &["<name", "count"]);
        table.push(false, ["µ".into(), "1".into()]);
        table.push(true, ["longer".into(), "1000000".into()]);
        assert_eq!(table.text(), "Title\n  name      count\n  µ             1\n  longer  1000000\n");
    }

    #[test]
    fn failed_samples_are_counted_and_not_averaged() {
        let mut run = samples::example::parallel_write(2, 10, 1);
        run.samples[0].errno = 12;
        run.samples[0].duration_ps = 1 << 60;
        let table = sites(&run, None);
        let alloc = &table.rows[0].cells;
        assert_eq!((alloc[0].as_str(), alloc[2].as_str(), alloc[9].as_str()), ("alloc", "19", "1"));
        assert!(alloc[8].ends_with("ms"), "{alloc:?}");
    }
}
