//! The phases of a run, and those of several runs beside each other: quantity, average, minimum, maximum and rate of each
//! operation, with its share of the calls and of the time (the tables and figures of the paper of 2010).

use std::collections::BTreeMap;

use samples::SiteKind;
use serde::Serialize;

use crate::row::ResultRow;

/// One label with what was done under it.
pub struct Phase<'a> {
    /// The label; empty where the program has none at all.
    pub label: &'a str,
    /// Its operations in the order of the program.
    pub operations: Vec<&'a ResultRow>,
    /// Time in which any rank was inside, in seconds; 0 where it was not timed.
    pub wall_seconds: f64,
}

impl Phase<'_> {
    /// Bytes of its operations that succeeded.
    pub fn bytes(&self) -> u64 {
        self.operations.iter().map(|row| row.good_bytes()).sum()
    }

    /// Number of its operations.
    pub fn count(&self) -> u64 {
        self.operations.iter().map(|row| quantity(row)).sum()
    }
}

/// Operations of a row; of one that was timed in batches of unknown size, its timings.
pub fn quantity(row: &ResultRow) -> u64 {
    row.operations.unwrap_or(row.timings)
}

/// The labelled phases in the order of the program.
pub fn phases(rows: &[ResultRow]) -> Vec<Phase<'_>> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        let Some(label) = row.label.as_deref().filter(|label| !label.is_empty()) else { continue };
        let at = *known.entry(label).or_insert_with(|| {
            phases.push(Phase { label, operations: Vec::new(), wall_seconds: 0.0 });
            phases.len() - 1
        });
        match row.kind {
            SiteKind::Operation => phases[at].operations.push(row),
            SiteKind::Time | SiteKind::Phase => phases[at].wall_seconds = row.busy_seconds.unwrap_or(0.0),
            SiteKind::Barrier | SiteKind::CommandTime => {}
        }
    }
    phases.retain(|phase| !phase.operations.is_empty());
    phases
}

/// The labelled phases, or all operations as one where no label stands in the program.
fn phases_or_all(rows: &[ResultRow]) -> Vec<Phase<'_>> {
    let found = phases(rows);
    if !found.is_empty() {
        return found;
    }
    let operations: Vec<&ResultRow> = rows.iter().filter(|row| row.kind == SiteKind::Operation).collect();
    match operations.is_empty() {
        true => Vec::new(),
        false => vec![Phase { label: "", operations, wall_seconds: 0.0 }],
    }
}

/// A phase that one or more of the runs have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseOfRuns {
    /// Its label; empty where no run has one.
    pub phase: String,
    /// Its operations.
    pub operations: Vec<OperationOfRuns>,
    /// The whole of it in each run; `None` of a run without it, or where it was not timed.
    pub runs: Vec<Option<Moved>>,
}

/// An operation of a phase in each of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationOfRuns {
    /// `write`.
    pub operation: String,
    /// What it came to in each run; `None` of a run without it.
    pub runs: Vec<Option<OperationOfRun>>,
}

/// What an operation came to in a phase of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationOfRun {
    /// Number of operations.
    pub quantity: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// Mean time, in seconds; of those that did not fail, as the two below.
    pub avg_seconds: Option<f64>,
    /// Smallest time, in seconds.
    pub min_seconds: Option<f64>,
    /// Largest time, in seconds.
    pub max_seconds: Option<f64>,
    /// Bytes of those that succeeded by the time in which one was under way on any rank; `None` where it moves none.
    pub bytes_per_second: Option<f64>,
    /// Its share of all operations of all phases of the run, 0 to 1.
    pub share_of_calls: f64,
    /// Its share of the summed time of all operations of all phases of the run, 0 to 1.
    pub share_of_time: f64,
}

/// What was done in a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// Number of operations.
    pub quantity: u64,
    /// Time in which any rank was inside, in seconds.
    pub seconds: f64,
    /// Bytes of those that succeeded by that time; `None` where none was moved.
    pub bytes_per_second: Option<f64>,
}

impl Moved {
    fn of(quantity: u64, bytes: u64, seconds: f64) -> Option<Moved> {
        let rate = (bytes > 0).then(|| bytes as f64 / seconds);
        (seconds > 0.0).then_some(Moved { quantity, seconds, bytes_per_second: rate })
    }
}

/// Several runs, phase by phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PhasesOfRuns {
    /// The phases in the order of the first run that has them.
    pub phases: Vec<PhaseOfRuns>,
    /// All timed phases of each run together; `None` where none is timed.
    pub complete: Vec<Option<Moved>>,
}

/// Summed time of a row's operations, in seconds.
fn summed(row: &ResultRow) -> f64 {
    row.mean_seconds.unwrap_or(0.0) * quantity(row).saturating_sub(row.errors) as f64
}

/// Puts the phases of several runs, each given by its rows, beside each other.
pub fn phases_of_runs(runs: &[&[ResultRow]]) -> PhasesOfRuns {
    let all: Vec<Vec<Phase>> = runs.iter().map(|rows| phases_or_all(rows)).collect();
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for phase in all.iter().flatten() {
        let at = names.iter().position(|(label, _)| *label == phase.label).unwrap_or_else(|| {
            names.push((phase.label, Vec::new()));
            names.len() - 1
        });
        for row in &phase.operations {
            if !names[at].1.contains(&row.operation.as_str()) {
                names[at].1.push(&row.operation);
            }
        }
    }
    let found = |run: &[Phase], label: &str, operation: &str| {
        let phase = run.iter().find(|phase| phase.label == label)?;
        let row = phase.operations.iter().find(|row| row.operation == operation)?;
        let calls: u64 = run.iter().map(Phase::count).sum();
        let time: f64 = run.iter().flat_map(|phase| &phase.operations).map(|row| summed(row)).sum();
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        Some(OperationOfRun {
            quantity: quantity(row),
            errors: row.errors,
            avg_seconds: row.mean_seconds,
            min_seconds: row.quantiles_seconds.as_ref().map(|found| found.min),
            max_seconds: row.quantiles_seconds.as_ref().map(|found| found.max),
            bytes_per_second: row.bytes_per_busy_second(),
            share_of_calls: share(quantity(row) as f64, calls as f64),
            share_of_time: share(summed(row), time),
        })
    };
    let whole = |run: &Vec<Phase>, label: &str| {
        let phase = run.iter().find(|phase| phase.label == label)?;
        Moved::of(phase.count(), phase.bytes(), phase.wall_seconds)
    };
    let phases = names.iter().map(|(label, operations)| PhaseOfRuns {
        phase: (*label).to_owned(),
        operations: operations
            .iter()
            .map(|operation| OperationOfRuns {
                operation: (*operation).to_owned(),
                runs: all.iter().map(|run| found(run, label, operation)).collect(),
            })
            .collect(),
        runs: all.iter().map(|run| whole(run, label)).collect(),
    });
    let complete = all.iter().map(|run| {
        let timed = || run.iter().filter(|phase| phase.wall_seconds > 0.0);
        let seconds = timed().map(|phase| phase.wall_seconds).sum();
        Moved::of(timed().map(Phase::count).sum(), timed().map(Phase::bytes).sum(), seconds)
    });
    PhasesOfRuns { phases: phases.collect(), complete: complete.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_stand_beside_each_other_by_label_and_operation() {
        let of = |seed| samples::example::parallel_write(4, 200, seed);
        let (one, mut two) = (of(1), of(2));
        two.samples.retain(|sample| sample.site != 5);
        let rows = [one, two].map(|run| crate::of_run(&run));
        let found = phases_of_runs(&[&rows[0], &rows[1]]);
        assert_eq!(found.complete.len(), 2);
        for at in 0..2 {
            let all = || {
                let operations = found.phases.iter().flat_map(|phase| &phase.operations);
                operations.filter_map(move |one| one.runs[at].as_ref())
            };
            let (calls, time) =
                all().fold((0.0, 0.0), |(c, t), one| (c + one.share_of_calls, t + one.share_of_time));
            assert!((calls - 1.0).abs() < 1e-9 && (time - 1.0).abs() < 1e-9, "{calls} {time}");
            for one in all() {
                let [min, avg, max] = [one.min_seconds, one.avg_seconds, one.max_seconds].map(Option::unwrap);
                assert!(min <= avg && avg <= max && one.quantity > 0);
            }
        }
    }

    #[test]
    fn rows_without_a_label_are_one_phase() {
        let run = samples::example::parallel_write(2, 50, 1);
        let mut rows = crate::of_run(&run);
        rows.iter_mut().for_each(|row| {
            row.label = None;
            row.labels.clear();
        });
        let found = phases_of_runs(&[&rows]);
        assert_eq!(found.phases.len(), 1);
        assert_eq!((found.phases[0].phase.as_str(), &found.complete), ("", &vec![None]));
        assert_eq!(phases_of_runs(&[]), PhasesOfRuns::default());
    }
}
