//! Which numbers does a file hold: a run's durations, a CSV column, or one number a line?

use std::path::Path;

use anyhow::bail;
use report::Subject;

/// What of a file is wanted.
pub struct Wanted<'a> {
    /// A run file, a CSV file, a file with one number a line, or `-`.
    pub file: &'a Path,
    /// The column of a CSV file.
    pub column: Option<&'a str>,
    /// The label, operation or LABEL/OPERATION of a run.
    pub label: Option<&'a str>,
    /// The maximum over ranks of each iteration.
    pub gate: bool,
}

/// Numbers, what they are called, and whether they are durations in seconds.
pub struct Values {
    /// In time order.
    pub numbers: Vec<f64>,
    /// For titles and errors.
    pub name: String,
    /// From a run, in seconds; otherwise the unit is not known.
    pub seconds: bool,
}

/// Read what is wanted; options that do not fit the kind of file are refused.
pub fn read(wanted: &Wanted<'_>) -> anyhow::Result<Values> {
    let path = wanted.file;
    if path == Path::new("-") {
        reject_run_options(wanted)?;
        let numbers = store::numbers_from(std::io::stdin().lock(), "standard input", wanted.column)?;
        return Ok(Values { numbers, name: "standard input".into(), seconds: false });
    }
    if !store::is_run(path) {
        reject_run_options(wanted)?;
        let numbers = store::numbers(path, wanted.column)?;
        return Ok(Values { numbers, name: path.display().to_string(), seconds: false });
    }
    if let Some(column) = wanted.column {
        bail!("--column {column} is for CSV files; {} is a run: choose samples with --label", path.display());
    }
    let run = store::read(path)?;
    let gate = if wanted.gate { Some(true) } else { wanted.label.map(|_| false) };
    let subject = Subject::choose(&run, wanted.label, gate).map_err(anyhow::Error::msg)?;
    let name = format!("{}, {}", path.display(), subject.describe());
    Ok(Values { numbers: subject.values(), name, seconds: true })
}

fn reject_run_options(wanted: &Wanted<'_>) -> anyhow::Result<()> {
    let what = match (&wanted.label, wanted.gate) {
        (Some(_), _) => "--label",
        (None, true) => "--gate",
        (None, false) => return Ok(()),
    };
    bail!("{what} is for run files; {} holds plain numbers", wanted.file.display())
}

impl Values {
    /// The unit in which they read well.
    pub fn unit(&self, typical: f64) -> report::Unit {
        if self.seconds { report::Unit::of_duration(typical) } else { report::Unit::NONE }
    }
}
