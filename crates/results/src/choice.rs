//! Chooses the row that a run is about.

use samples::SiteKind;
use serde::Serialize;

use crate::row::ResultRow;

/// The label of what fills files before they are measured, in programs that this project makes.
pub(crate) const LAYING_OUT: &str = "lay out";

/// Fewest timings of a row that can be what a run is about.
const FEWEST: u64 = 30;

/// Fewest passes of a block whose slowest rank is looked at.
const FEWEST_PASSES: u64 = 20;

/// The share of the time that a row must have for the run to be about it alone.
const MOST_OF_IT: f64 = 0.5;

/// Operations that prepare or tidy up.
const SET_UP: [&str; 13] = [
    "open",
    "close",
    "fopen",
    "fclose",
    "create",
    "delete",
    "mkdir",
    "rmdir",
    "alloc",
    "free",
    "fadvise",
    "cachestat",
    "odirect",
];

/// Operations that read a file, and those that write one.
pub(crate) const READS: [&str; 5] = ["fread", "read", "dread", "pfread", "pread"];
pub(crate) const WRITES: [&str; 6] = ["fwrite", "write", "append", "dwrite", "pfwrite", "pwrite"];

/// Operations that wait because the program says so.
const PAUSES: [&str; 2] = ["sleep", "think"];

/// Whether an operation prepares or tidies up, or waits because the program says so.
pub(crate) fn is_set_up(operation: &str) -> bool {
    SET_UP.contains(&operation) || is_pause(operation)
}

/// Whether an operation waits because the program says so.
pub(crate) fn is_pause(operation: &str) -> bool {
    PAUSES.contains(&operation)
}

/// Whether opening, closing and other set-up took a tenth of the time in which operations were under way, or more: shares of the
/// time that leave it out say so.
pub fn has_much_set_up(rows: &[ResultRow]) -> bool {
    /// The share that is worth a word.
    const MUCH: f64 = 0.1;
    let operations =
        || rows.iter().filter(|row| row.kind == SiteKind::Operation && !is_pause(&row.operation));
    let all: f64 = operations().map(ResultRow::time_at_work).sum();
    let set_up: f64 = operations().filter(|row| is_set_up(&row.operation)).map(ResultRow::time_at_work).sum();
    set_up >= MUCH * all && set_up < all
}

/// The row that a run is about, chosen without a hint by the program or its user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Its index among the rows: that of an operation, or of the labelled block around it.
    pub row: usize,
    /// The index of the operation that was chosen: the same, or what the block holds.
    pub operation: usize,
    /// Its share of the time in which operations were under way: of set-up only where that was chosen, of pauses never.
    pub share: f64,
    /// Of the others the operation with the largest share, and that: a larger one where it has too few timings to be chosen.
    pub runner_up: Option<(usize, f64)>,
    /// Whether ranks meet at the block, so that its slowest rank counts.
    pub gate: bool,
}

impl Choice {
    /// Whether the run is about this row alone; otherwise the table of all rows is the answer.
    pub fn dominates(&self) -> bool {
        self.share >= MOST_OF_IT
    }
}

/// Chooses by the time in which at least one operation was under way: sums of durations would count those in flight
/// together several times. Set-up, pauses and rows of few timings are chosen only where there is nothing else; a block
/// only in place of the operations inside. `None` of a run without an operation that succeeded.
pub fn choose(rows: &[ResultRow]) -> Option<Choice> {
    let timed = |row: &ResultRow| row.timings > 0 && row.time_at_work() > 0.0;
    let every: Vec<usize> =
        (0..rows.len()).filter(|&at| rows[at].kind == SiteKind::Operation && timed(&rows[at])).collect();
    // Files that were made for the load are no part of it.
    let asked: Vec<usize> = every
        .iter()
        .copied()
        .filter(|at| rows[*at].labels.first().is_none_or(|one| one != LAYING_OUT))
        .collect();
    let operations = if asked.is_empty() { every } else { asked };
    let is = |list: &[&str], at: usize| list.contains(&rows[at].operation.as_str());
    let waits = |at: usize| is(&PAUSES, at);
    let works = |at: usize| !waits(at) && !is(&SET_UP, at);
    let wishes: [&dyn Fn(usize) -> bool; 5] = [
        &|at| works(at) && rows[at].timings >= FEWEST,
        &|at| !waits(at) && rows[at].timings >= FEWEST,
        &works,
        &|at| !waits(at),
        &|_| true,
    ];
    let eligible = wishes.iter().find_map(|wish| {
        let found: Vec<usize> = operations.iter().copied().filter(|at| wish(*at)).collect();
        (!found.is_empty()).then_some(found)
    })?;
    let busy = |at: usize| rows[at].time_at_work();
    let mut order = eligible;
    // Stable: of equal ones the first in the program.
    order.sort_by(|a, b| busy(*b).total_cmp(&busy(*a)));
    let operation = order[0];
    // A share is of the time of all that are like it, also of those with few timings.
    let all: Vec<usize> = operations
        .iter()
        .copied()
        .filter(|at| if works(operation) { works(*at) } else { !waits(*at) || waits(operation) })
        .collect();
    let total: f64 = all.iter().map(|at| busy(*at)).sum();
    let others = all.iter().copied().filter(|at| *at != operation);
    // Of equal ones the first in the program.
    let next = others.rev().max_by(|a, b| busy(*a).total_cmp(&busy(*b)));
    let block = gate_of(rows, operation);
    Some(Choice {
        row: block.unwrap_or(operation),
        operation,
        share: busy(operation) / total,
        runner_up: next.map(|at| (at, busy(at) / total)),
        gate: block.is_some(),
    })
}

/// The row of the operation that a run was to be about, where so much of it failed that too few timings are left to choose it
/// by: what prepared and tidied up is no answer in its place. Of several the one with the most failures.
pub fn mostly_failed(rows: &[ResultRow]) -> Option<usize> {
    let works = |row: &ResultRow| row.kind == SiteKind::Operation && !is_set_up(&row.operation);
    if rows.iter().any(|row| works(row) && row.timings >= FEWEST) {
        return None;
    }
    let is_any_left = rows.iter().any(|row| works(row) && row.timings > 0);
    let failed = |at: &usize| {
        let row = &rows[*at];
        works(row) && row.errors > 0 && (!is_any_left || row.errors + row.timings >= FEWEST)
    };
    // Of equal ones the first in the program.
    (0..rows.len()).rev().filter(failed).max_by_key(|at| rows[*at].errors)
}

/// The labelled block of an operation at which several ranks meet often: each is in it equally often.
fn gate_of(rows: &[ResultRow], operation: usize) -> Option<usize> {
    let inside = &rows[operation];
    (0..rows.len()).find(|&at| {
        let row = &rows[at];
        let is_block = match row.kind {
            SiteKind::Time | SiteKind::Phase => true,
            SiteKind::Operation | SiteKind::CommandTime | SiteKind::Barrier => false,
        };
        let of_each: Vec<u64> = row.per_rank.iter().map(|rank| rank.operations).collect();
        is_block
            && !row.labels.is_empty()
            && row.labels == inside.labels
            && of_each.len() > 1
            && of_each.iter().all(|count| *count == of_each[0] && *count >= FEWEST_PASSES)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(operation: &str, timings: u64, busy: f64) -> ResultRow {
        ResultRow { operation: operation.into(), timings, busy_seconds: Some(busy), ..ResultRow::default() }
    }

    #[test]
    fn time_under_way_chooses_and_set_up_pauses_and_single_timings_do_not() {
        let rows = [
            row("fopen", 1_000, 9.0),
            row("think", 1_000, 30.0),
            row("mmap", 20, 8.0),
            row("fread", 5_000, 3.0),
            row("fwrite", 5_000, 2.0),
            ResultRow { kind: SiteKind::Time, ..row("time", 40, 50.0) },
        ];
        let found = choose(&rows).unwrap();
        // The share is of all that works, and what has most of the time is named though it is not chosen.
        assert_eq!((found.row, found.gate, found.runner_up), (3, false, Some((2, 8.0 / 13.0))));
        assert!(!found.dominates() && (found.share - 3.0 / 13.0).abs() < 1e-12);
        let found = choose(&[row("fread", 5_000, 3.0), row("fwrite", 5_000, 2.0), row("fopen", 9, 30.0)]);
        let found = found.unwrap();
        assert_eq!((found.row, found.runner_up), (0, Some((1, 0.4))));
        assert!(found.dominates() && (found.share - 0.6).abs() < 1e-12);
        assert!(!choose(&[row("a", 50, 1.0), row("b", 50, 1.1), row("c", 50, 1.0)]).unwrap().dominates());
    }

    #[test]
    fn files_that_were_made_for_a_load_are_what_it_is_about_only_where_there_is_nothing_else() {
        let laid = ResultRow { labels: vec![LAYING_OUT.into()], ..row("write", 80, 9.0) };
        let found = choose(&[laid.clone(), row("fread", 50, 1.0), row("stat", 50, 0.5)]).unwrap();
        assert_eq!((found.row, found.runner_up), (1, Some((2, 1.0 / 3.0))));
        assert_eq!(choose(&[laid]).map(|found| found.row), Some(0));
    }

    #[test]
    fn where_there_is_nothing_else_set_up_is_what_the_run_is_about() {
        assert_eq!(choose(&[row("fopen", 5, 1.0), row("think", 9, 4.0)]).map(|found| found.row), Some(0));
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn what_failed_throughout_is_what_a_run_is_about_and_not_what_prepared_it() {
        let failed = |operation: &str, errors| ResultRow { errors, ..row(operation, 0, 0.0) };
        let rows = [row("fopen", 50, 1.0), failed("fread", 50), failed("fwrite", 70), failed("stat", 70)];
        assert_eq!(mostly_failed(&rows), Some(2));
        // One read in a hundred was right.
        assert_eq!(
            mostly_failed(&[row("fopen", 50, 1.0), ResultRow { errors: 99, ..row("read", 1, 1.0) }]),
            Some(1)
        );
        assert_eq!(mostly_failed(&[failed("fread", 1)]), Some(0));
        assert_eq!(mostly_failed(&[row("fopen", 50, 1.0), failed("fclose", 50)]), None);
        assert_eq!(mostly_failed(&[row("fwrite", 1, 1.0), failed("fread", 2)]), None);
        assert_eq!(mostly_failed(&[row("fwrite", 30, 1.0), failed("fread", 50)]), None);
        assert_eq!(mostly_failed(&[]), None);
    }

    #[test]
    fn several_ranks_that_meet_often_are_a_gate() {
        let rows = crate::of_run(&samples::example::parallel_write(4, 30, 1));
        let found = choose(&rows).unwrap();
        assert_eq!(
            (rows[found.row].kind, rows[found.operation].operation.as_str()),
            (SiteKind::Time, "fwrite")
        );
        assert!(found.gate && found.share > 0.9);
        let rows = crate::of_run(&samples::example::parallel_write(4, 10, 1));
        assert!(!choose(&rows).unwrap().gate);
    }
}
