//! The rows of several runs beside each other: each against the first run that has it.

use samples::SiteKind;
use serde::Serialize;

use crate::ratio::{OtherWork, QuantileRatio, RowRatio};
use crate::row::ResultRow;

/// A row that one or more of the runs have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowOfRuns {
    /// `write / fwrite`.
    pub name: String,
    /// Operation, block or wait.
    pub kind: SiteKind,
    /// For each run what it came to; `None` of a run without the row, or where all of its operations failed.
    pub runs: Vec<Option<RowOfRun>>,
}

/// What a row came to in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowOfRun {
    /// Operations a second; `None` where it is not known.
    pub operations_per_second: Option<f64>,
    /// Bytes a second; `None` where it is not known.
    pub bytes_per_second: Option<f64>,
    /// Median, in seconds.
    pub p50_seconds: f64,
    /// 99% quantile, in seconds; `None` of fewer than 100 values.
    pub p99_seconds: Option<f64>,
    /// Operations that failed.
    pub errors: u64,
    /// The row in the first run that has it against this; `None` in that run itself.
    pub against_first: Option<AgainstFirst>,
}

/// A run beside the first that has the row: this by that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstFirst {
    /// Ratio of the medians.
    pub p50: QuantileRatio,
    /// Ratio of the 99% quantiles; `None` where one has too few values.
    pub p99: Option<QuantileRatio>,
    /// What makes it other work; empty where it is the same.
    pub other_work: Vec<OtherWork>,
}

/// Puts the rows of several runs beside each other, those that take the most time in any of them first.
pub fn compare_runs(runs: &[&[ResultRow]]) -> Vec<RowOfRuns> {
    let alike =
        |a: &ResultRow, b: &ResultRow| a.labels == b.labels && a.operation == b.operation && a.kind == b.kind;
    let mut kinds: Vec<(&ResultRow, f64)> = Vec::new();
    for row in runs.iter().copied().flatten() {
        let busy = row.busy_seconds.unwrap_or(0.0);
        match kinds.iter_mut().find(|(known, _)| alike(known, row)) {
            Some((_, most)) => *most = most.max(busy),
            None => kinds.push((row, busy)),
        }
    }
    // Stable: of equal ones the first in the program.
    kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
    kinds
        .into_iter()
        .map(|(first, _)| RowOfRuns {
            name: first.name(),
            kind: first.kind,
            runs: runs
                .iter()
                .map(|rows| rows.iter().find(|row| alike(first, row)).and_then(|row| of_run(first, row)))
                .collect(),
        })
        .filter(|row| row.runs.iter().any(Option::is_some))
        .collect()
}

fn of_run(first: &ResultRow, row: &ResultRow) -> Option<RowOfRun> {
    let quantiles = row.headline()?;
    let against = if std::ptr::eq(first, row) { None } else { RowRatio::of(first, row) };
    Some(RowOfRun {
        operations_per_second: row.operations_per_second,
        bytes_per_second: row.bytes_per_second.filter(|rate| *rate > 0.0),
        p50_seconds: quantiles.p50,
        p99_seconds: quantiles.p99,
        errors: row.errors,
        against_first: against.map(|found| AgainstFirst {
            p50: found.p50,
            p99: found.p99,
            other_work: found.other_work,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_stands_against_the_first_that_has_the_row() {
        let of = |seed, factor: u64| {
            let mut run = samples::example::parallel_write(4, 200, seed);
            run.samples.iter_mut().for_each(|sample| sample.duration_ps = sample.duration_ps * factor / 4);
            run
        };
        let (one, two, mut three) = (of(1, 4), of(2, 5), of(3, 3));
        three.samples.retain(|sample| sample.site != 5);
        let runs = [one, two, three].map(|run| crate::of_run(&run));
        let found = compare_runs(&[&runs[0], &runs[1], &runs[2]]);
        let write = found.iter().find(|row| row.name == "write / fwrite").unwrap();
        let ratios: Vec<Option<f64>> =
            write.runs.iter().map(|run| Some(run.as_ref()?.against_first.as_ref()?.p50.value)).collect();
        assert_eq!(ratios[0], None);
        assert!(
            (ratios[1].unwrap() - 1.25).abs() < 0.01 && (ratios[2].unwrap() - 0.75).abs() < 0.01,
            "{ratios:?}"
        );
        let free = found.iter().find(|row| row.name == "free").unwrap();
        assert!(free.runs[1].is_some() && free.runs[2].is_none());
        // Where the first run lacks a row, the next one is what others stand against.
        let found = compare_runs(&[&runs[2], &runs[0], &runs[1]]);
        let free = found.iter().find(|row| row.name == "free").unwrap();
        assert!(free.runs[1].as_ref().unwrap().against_first.is_none());
        assert!(free.runs[2].as_ref().unwrap().against_first.is_some());
    }
}
