//! Which columns the list of runs has: those that a user names (`--columns`).

use anyhow::bail;

use super::{ListedRun, cells, in_one_line};
use crate::asked::nearest;

/// Columns of every run; the values of all other names are tags or parameters.
const KNOWN: [&str; 16] = [
    "file",
    "started",
    "machine",
    "program",
    "ranks",
    "directory",
    "of",
    "operations",
    "bytes",
    "settings",
    "ops/s",
    "throughput",
    "p50",
    "p99",
    "max",
    "note",
];

/// A column that was asked for.
pub(super) enum Column {
    /// One of [`KNOWN`].
    Known(&'static str),
    /// A tag, or where no run has such a tag a parameter.
    Named(String),
}

/// The columns that `list` names, separated by commas.
///
/// # Errors
/// Where no run has a tag or a parameter of a name that is no column.
pub(super) fn of(list: &str, runs: &[ListedRun]) -> anyhow::Result<Vec<Column>> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let found: Vec<Column> = names
        .map(|name| {
            if let Some(known) = KNOWN.iter().find(|known| **known == name) {
                return Ok(Column::Known(known));
            }
            let has = |run: &ListedRun| run.tags.contains_key(name) || run.parameters.contains_key(name);
            if runs.iter().any(has) {
                return Ok(Column::Named(name.to_owned()));
            }
            let of_runs = runs.iter().flat_map(|run| run.tags.keys().chain(run.parameters.keys()));
            let all = KNOWN.iter().map(|known| (*known).to_owned()).chain(of_runs.cloned());
            let near = nearest(name, all).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            bail!(
                "--columns {name}: no run here has a tag or a parameter of that name, and it is none of {}{near}",
                KNOWN.join(", ")
            )
        })
        .collect::<anyhow::Result<_>>()?;
    if found.is_empty() {
        bail!(
            "--columns names no column: there are {}, and the names of tags and parameters",
            KNOWN.join(", ")
        );
    }
    Ok(found)
}

impl Column {
    /// Its name, as the head of a table has it: `<` for text.
    pub(super) fn head(&self) -> String {
        match self {
            Column::Known(
                name @ ("ranks" | "operations" | "bytes" | "ops/s" | "throughput" | "p50" | "p99" | "max"),
            ) => (*name).to_owned(),
            Column::Known(name) => format!("<{name}"),
            Column::Named(name) => format!("<{}", in_one_line(name)),
        }
    }

    /// What a run has there; empty where it has nothing.
    pub(super) fn cell(&self, run: &ListedRun) -> String {
        let [file, started, machine, program, settings, rate, throughput, p50, p99, note] = cells(run);
        let name = match self {
            Column::Known(name) => *name,
            Column::Named(name) => {
                let value = run.tags.get(name).or_else(|| run.parameters.get(name));
                return value.map_or(String::new(), |value| in_one_line(value));
            }
        };
        match name {
            "file" => file,
            "started" => started,
            "machine" => machine,
            "program" => program,
            "ranks" => run.ranks.to_string(),
            "directory" => in_one_line(&run.directories.join(", ")),
            "of" => run.of.clone().unwrap_or_default(),
            "operations" => samples::units::count(run.operations),
            "bytes" => samples::units::bytes(run.numbers.bytes),
            "settings" => settings,
            "ops/s" => rate,
            "throughput" => throughput,
            "p50" => p50,
            "p99" => p99,
            "max" => {
                let found = run.numbers.only().and_then(|part| part.quantiles_seconds.as_ref());
                let shown = found.filter(|_| report::are_shown(&run.judgements));
                shown.map_or(String::new(), |found| report::duration(found.max))
            }
            _ => note,
        }
    }
}
