//! `lastrank fit`: what does extreme-value theory say of these numbers?

use std::path::Path;

use anyhow::{Context, bail};
use report::Subject;
use tail::assess::{Assessment, Options, assess};

use crate::cli::FitArgs;
use crate::exit::Status;
use crate::output;

/// The numbers, what they are called, and whether they are durations in seconds.
struct Values {
    numbers: Vec<f64>,
    name: String,
    seconds: bool,
}

/// Fit a run, a CSV file or a file with one number a line.
pub fn run(args: &FitArgs) -> anyhow::Result<Status> {
    let values = read(args)?;
    let options = Options { level: args.level, seed: args.seed, ..Options::default() };
    let found = assess(&values.numbers, &options).with_context(|| format!("cannot fit {}", values.name))?;
    if args.json {
        output::json(&found)?;
    } else {
        output::print(&text(&values, &found))?;
    }
    Ok(Status::Ok)
}

fn read(args: &FitArgs) -> anyhow::Result<Values> {
    let path = &args.file;
    if path == Path::new("-") {
        reject_run_options(args)?;
        let numbers = store::numbers_from(std::io::stdin().lock(), "standard input", args.column.as_deref())?;
        return Ok(Values { numbers, name: "standard input".into(), seconds: false });
    }
    if !store::is_run(path) {
        reject_run_options(args)?;
        let numbers = store::numbers(path, args.column.as_deref())?;
        return Ok(Values { numbers, name: path.display().to_string(), seconds: false });
    }
    if let Some(column) = &args.column {
        bail!("--column {column} is for CSV files; {} is a run: choose samples with --label", path.display());
    }
    let run = store::read(path)?;
    let gate = if args.gate { Some(true) } else { args.label.as_ref().map(|_| false) };
    let subject = Subject::choose(&run, args.label.as_deref(), gate).map_err(anyhow::Error::msg)?;
    let name = format!("{}, {}", path.display(), subject.describe());
    Ok(Values { numbers: subject.values(), name, seconds: true })
}

fn reject_run_options(args: &FitArgs) -> anyhow::Result<()> {
    let what = match (&args.label, args.gate) {
        (Some(_), _) => "--label",
        (None, true) => "--gate",
        (None, false) => return Ok(()),
    };
    bail!("{what} is for run files; {} holds plain numbers", args.file.display())
}

fn text(values: &Values, found: &Assessment) -> String {
    let unit = if values.seconds {
        report::Unit::of_duration(found.summary.quantile(0.5).unwrap_or(found.summary.mean))
    } else {
        report::Unit::NONE
    };
    format!("{}\n\n{}", values.name, report::fit_text(found, unit))
}
