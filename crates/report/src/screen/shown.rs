//! Chooses the rows of the table of a first screen: those that were asked for, as many as there is room for.

use results::{AnswerPart, AnswerValue, ResultRow};
use samples::units;

use super::rows::{self, Drawn, Shown};
use crate::Report;

/// Timings from which on a row is shown before those of fewer.
const MANY: u64 = 30;

/// Rows that take less of the time than this are left to the tables where a screen is about one operation.
const LEAST_SHARE: f64 = 0.02;

/// The table, in at most so many lines, that of its marks included.
pub(super) fn table(report: &Report, columns: usize, most: usize) -> Drawn {
    let drawn = table_alone(report, columns, most);
    match drawn.legend.is_some() && drawn.lines.len() + 1 > most {
        true => table_alone(report, columns, most.saturating_sub(1)),
        false => drawn,
    }
}

fn table_alone(report: &Report, columns: usize, most: usize) -> Drawn {
    if let Some(answer) = &report.answer {
        let lines = answer.lines(columns, most).into_iter().map(|line| (false, line)).collect();
        return Drawn { lines, ..Drawn::default() };
    }
    let numbers = &report.numbers;
    // Rows of what failed as it was to have no number.
    if numbers.all_failed() && numbers.errors == 0 {
        return Drawn::default();
    }
    let part_of = |at: usize| numbers.parts.iter().find(|part| part.row == at);
    let busy = |at: usize| report.results[at].time_at_work();
    let total: f64 = numbers.shown.iter().map(|at| busy(*at)).sum();
    let mut kept = numbers.shown.clone();
    if numbers.only().is_some() {
        let failed = |at: usize| report.results[at].errors > 0;
        kept.retain(|at| part_of(*at).is_some() || busy(*at) >= LEAST_SHARE * total || failed(*at));
    }
    // What a program fills before it measures was not asked for.
    let asked_for = |at: &usize| {
        let row = &report.results[*at];
        row.label.as_deref() != Some("lay out") || row.errors > 0 || part_of(*at).is_some()
    };
    if kept.iter().any(asked_for) {
        kept.retain(asked_for);
    }
    let before: Vec<Shown> = numbers.parts.iter().filter_map(whole).collect();
    // Blank line, head, what stands before the rows, what is left out.
    let room = most.saturating_sub(3 + before.len());
    if kept.len() > room {
        // What the run is about, what failed, rows of many timings before those of a few, then by time.
        let weight = |at: usize| {
            let row = &report.results[at];
            (part_of(at).is_some(), row.errors > 0, row.timings >= MANY)
        };
        let mut order = kept.clone();
        order.sort_by(|a, b| weight(*b).cmp(&weight(*a)).then(busy(*b).total_cmp(&busy(*a))));
        order.truncate(room);
        kept.retain(|at| order.contains(at));
    }
    let strong = |row: &ResultRow, at: usize| {
        let is_it = part_of(at).is_some_and(|part| whole(part).is_none());
        Shown::of(row, is_it && numbers.only().is_some())
    };
    let mut shown = before;
    shown.extend(kept.iter().map(|at| strong(&report.results[*at], *at)));
    if shown.is_empty() {
        return Drawn::default();
    }
    let mut drawn = rows::drawn(&shown, columns);
    drawn.lines.insert(0, (false, String::new()));
    drawn.lines.extend(the_others(report, &kept).map(|line| (false, line)));
    drawn
}

/// `  and 4 more rows with 25 600 operations`: what the head counts and the table does not show.
fn the_others(report: &Report, kept: &[usize]) -> Option<String> {
    let others =
        || report.numbers.counted.iter().filter(|at| !kept.contains(at)).map(|at| &report.results[*at]);
    let operations: u64 =
        others().map(|row| row.operations.unwrap_or(row.timings) + row.errors + row.failed_as_expected).sum();
    let rows = others().count();
    let plural = |n: u64| if n == 1 { "" } else { "s" };
    (operations > 0).then(|| {
        format!(
            "  and {rows} more row{} with {} operation{}: -v",
            plural(rows as u64),
            units::count(operations),
            plural(operations)
        )
    })
}

/// The line of a part whose values are not those of one row: steps, writes until they are safe.
fn whole(part: &AnswerPart) -> Option<Shown> {
    let (name, per_second, bytes_per_second) = match part.value {
        AnswerValue::Step => {
            let over = part.ranks.filter(|ranks| *ranks > 1);
            let over = over.map_or(" (step)".into(), |ranks| format!(" (slowest of {ranks})"));
            (format!("{}{over}", part.name), None, None)
        }
        AnswerValue::Safe => (part.told(), part.operations_per_second, part.bytes_per_second),
        AnswerValue::Operation | AnswerValue::Response => return None,
    };
    Some(Shown {
        name,
        strong: true,
        per_second,
        bytes_per_second,
        depth: None,
        quantiles: part.quantiles_seconds.clone(),
        intervals: part.intervals.clone(),
        errors: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_that_has_no_room_left_for_a_table_is_no_error() {
        let run = samples::example::parallel_write(4, 100, 7);
        let report = crate::build(&run, &crate::ReportOptions::default());
        let marked = (0..40).any(|most| table(&report, 60, most).legend.is_some());
        assert!(marked, "no row is marked, and the test shows nothing");
    }
}
