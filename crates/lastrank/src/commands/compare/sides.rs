//! Two directories of run files: the run is the unit of the comparison.

use std::path::Path;

use anyhow::{Context, bail};
use report::words::comparison::Outcome;
use report::{RunsAnswer, words};
use serde_json::json;
use tail::congestion::{SCHEMA, several};

use super::judged;
use crate::cli::CompareArgs;
use crate::commands::watch::{folder, runs_of};
use crate::exit::Status;
use crate::output;
use crate::soundness;
use crate::statistic::Statistic;
use crate::values::{self, why_not_comparable};

/// Whether both sides are directories of several runs. A run in parts is a directory too, and one run.
///
/// # Errors
/// One of each.
pub fn are_folders(args: &CompareArgs) -> anyhow::Result<bool> {
    let is_folder = |path: &Path| path.is_dir() && !store::has_parts(path);
    match (is_folder(&args.quiet), is_folder(&args.new)) {
        (one, other) if one == other => Ok(one),
        (one, _) => {
            let (folder, file) = if one { (&args.quiet, &args.new) } else { (&args.new, &args.quiet) };
            bail!(
                "{} is a directory of runs and {} is one run: name two directories, or two runs",
                folder.display(),
                file.display()
            )
        }
    }
}

/// Compares one number of each run, so that what differs from run to run is in the interval.
pub fn run(args: &CompareArgs, limit: Option<f64>) -> anyhow::Result<Status> {
    if args.output.is_some() || args.verbose {
        bail!("-o and -v compare two runs; directories of runs have one screen and --json");
    }
    let statistic = Statistic::of("--statistic", args.statistic.as_deref().unwrap_or("median"))?;
    for side in [&args.quiet, &args.new] {
        let runs = runs_of(side)?.len();
        if runs < 2 {
            bail!("{} holds {runs} run files; a side needs at least 2", side.display());
        }
    }
    let baseline = folder(&args.quiet, statistic, &args.choice, None)?;
    let new = folder(&args.new, statistic, &args.choice, Some(&baseline))?;
    let found = several(&baseline.numbers, &new.numbers, args.level)
        .with_context(|| format!("cannot compare {} with {}", new.name, baseline.name))
        .map_err(|why| soundness::blamed_on(&values::unsound([&baseline, &new]), why))?;
    let mut warnings: Vec<String> = why_not_comparable(&baseline, &new).into_iter().collect();
    warnings.extend([&baseline, &new].into_iter().filter_map(|side| side.limit.clone()));
    if let [old, other] = super::unlike::settings(&baseline, &new).as_slice() {
        warnings.push(format!(
            "The runs were set unlike: baseline {old}; new {other}. Differences may come from that"
        ));
    }
    let unsound = values::unsound([&baseline, &new]);
    for ((side, folder), all) in [&baseline, &new].into_iter().zip([&args.quiet, &args.new]).zip(found.runs) {
        if !side.unsound.is_empty() {
            let count = side.unsound.len();
            warnings.push(format!(
                "{count} of the {all} runs of {} did not go well, and count{}",
                folder.display(),
                if count == 1 { "s" } else { "" }
            ));
        }
    }
    let lower = match found.code {
        // A difference that is not shown fails no limit.
        tail::congestion::ComparisonCode::NoDifference => found.ratio.interval.lower.min(1.0),
        _ => found.ratio.interval.lower,
    };
    if args.json {
        let headline = json!({
            "value": found.ratio.value,
            "interval": found.ratio.interval,
            "by_law": false,
            "by": "runs",
        });
        let mut object = json!({
            "schema": SCHEMA,
            "source": {"quiet": baseline.name, "new": new.name, "unit": "s"},
            "warnings": warnings,
            "runs": found.runs,
            "means": found.means,
            "between_runs": found.between_runs,
            "p": found.p,
            "factor": headline,
            "headline": headline,
            "negligible": found.is_negligible(),
            "undecided": words::comparison::is_open_of_runs(&found),
            "code": found.code,
            "text": format!("{}.", words::comparison::of_runs(&found).1),
            "advice": [],
        });
        soundness::add_unsound(&mut object, &unsound);
        output::json(&object)?;
    } else if args.one_line {
        let (outcome, answer) = words::comparison::of_runs(&found);
        let sign = if outcome == Outcome::Good && warnings.is_empty() { "✔" } else { "⚠" };
        let line = match words::unsound::headline(&unsound) {
            Some(wrong) => format!("{wrong} ✖"),
            None => format!("{answer}. {sign}"),
        };
        output::print_whole(&format!("{line}\n"))?;
    } else {
        let what = baseline.subject.as_ref().map_or(String::new(), |subject| subject.describe());
        let answer = RunsAnswer {
            names: [&args.quiet.display().to_string(), &args.new.display().to_string()],
            what: &format!("{} of {what}", statistic.name()),
            values: [&baseline.numbers, &new.numbers],
            found: &found,
            tripped: limit.is_some_and(|limit| lower > limit),
            unsound: &unsound,
            warnings: &warnings,
        };
        output::print_screen(&answer.screen(output::screen_options()))?;
    }
    if let (Some(condition), Some(why)) = (&args.fail_if, words::unsound::headline(&unsound)) {
        eprintln!("error: {condition} is not judged: {why}");
        return Ok(Status::Incomplete);
    }
    Ok(judged(args, limit, lower, &super::begins(lower, "what differs from run to run, too"))
        .unless(&unsound))
}
