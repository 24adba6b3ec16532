//! Compares the groups that a column of a table gives: `--by node`.

use std::path::Path;

use anyhow::{Context, bail};
use intake::Wanted;
use tail::groups::{Groups, compare_groups};

use crate::cli::FitArgs;
use crate::values::Values;

/// The groups of the values by `--by`; none without it.
pub fn of(args: &FitArgs, values: &Values) -> anyhow::Result<Option<Groups>> {
    let Some(by) = &args.by else { return Ok(None) };
    let names = names(args, by, values)?;
    if names.len() != values.numbers.len() {
        bail!(
            "--by {by}: {} names for {} values of {}; one for each is needed",
            names.len(),
            values.numbers.len(),
            values.name
        );
    }
    let found = compare_groups(&values.numbers, &names, args.level);
    found.map(Some).with_context(|| format!("cannot compare the groups by {by}"))
}

/// The texts of another column, for the rows whose values are taken.
pub fn beside(args: &FitArgs, column: &str) -> Result<Vec<String>, intake::Error> {
    let wanted = Wanted { beside: Some(column.into()), ..args.choice.wanted() };
    intake::read(&args.file, &wanted).map(|taken| taken.beside)
}

fn names(args: &FitArgs, by: &str, values: &Values) -> anyhow::Result<Vec<String>> {
    if let Some(subject) = &values.subject {
        if by != "rank" {
            bail!("--by {by}: of a run values are grouped by rank; columns are those of a CSV file");
        }
        if subject.gate && subject.ranks.len() > 1 {
            bail!(
                "--by rank: a step is the slowest of all ranks; leave --gate out, or name an operation with --of"
            );
        }
        return Ok(subject.steps.iter().map(|step| format!("rank {}", step.last)).collect());
    }
    if args.file == Path::new("-") {
        bail!("--by {by}: standard input is read once, for the numbers; name a file");
    }
    beside(args, by).with_context(|| format!("--by {by}"))
}
