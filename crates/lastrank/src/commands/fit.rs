//! `lastrank fit`: what does extreme-value theory say of these numbers?

use anyhow::Context;
use tail::assess::{Options, assess};

use crate::cli::FitArgs;
use crate::exit::Status;
use crate::output;
use crate::values::read;

/// Fit a run, a CSV file or a file with one number a line.
pub fn run(args: &FitArgs) -> anyhow::Result<Status> {
    let values = read(&args.file, &args.choice)?;
    let options = Options { level: args.level, seed: args.seed, ..Options::default() };
    let found = assess(&values.numbers, &options).with_context(|| format!("cannot fit {}", values.name))?;
    if args.json {
        output::json(&found)?;
    } else {
        let unit = values.unit(found.summary.quantile(0.5).unwrap_or(found.summary.mean));
        output::print(&format!("{}\n\n{}", values.name, report::fit_text(&found, unit)))?;
    }
    Ok(Status::Ok)
}
