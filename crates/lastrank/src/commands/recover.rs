//! `lastrank recover`: makes run files of the samples that killed runs left.

use std::path::{Path, PathBuf};

use engine::run::live::{LeftRun, LeftRuns, left};

use super::run::complain;
use crate::cli::RecoverArgs;
use crate::exit::{Misplaced, Status};
use crate::output;

/// Looks for what killed runs left, writes their run files into the folder, and removes the files that they had made.
pub fn run(args: &RecoverArgs) -> anyhow::Result<Status> {
    let into = args.directory.as_deref().unwrap_or(Path::new("."));
    let found = left(args.directory.as_deref())?;
    let (mut recovered, mut strange) = (0, 0);
    for one in found {
        match one {
            LeftRuns::Left(run) => {
                recover(*run, into)?;
                recovered += 1;
            }
            LeftRuns::UnderWay(folder) => {
                output::print(&format!("{} belongs to a run that is under way\n", folder.display()))?;
            }
            LeftRuns::Strange(folder, why) => {
                eprintln!("warning: {} is left alone: {why}", folder.display());
                strange += 1;
            }
        }
    }
    if recovered == 0 {
        output::print("no run left samples behind\n")?;
    }
    Ok(if strange > 0 { Status::Incomplete } else { Status::Ok })
}

fn recover(run: LeftRun, into: &Path) -> anyhow::Result<()> {
    let outcome = run.outcome();
    let path = free_name(into, &run.manifest.run_file);
    if let Err(error) = store::write(&path, &outcome.run) {
        return Err(Misplaced(format!(
            "{error}; the samples stay where they are: recover into another folder"
        ))
        .into());
    }
    complain(&outcome, true);
    let (count, ranks) = (outcome.run.samples.len(), outcome.run.facts.ranks);
    let name = &run.manifest.facts.name;
    output::print(&format!("{name}: {count} samples of {ranks} ranks\nRun:    {}\n", path.display()))?;
    run.remove();
    Ok(())
}

/// The name that the run file was to have, in this folder, with a number where it is taken. The rest of the path that a
/// manifest names is not believed.
fn free_name(into: &Path, run_file: &Path) -> PathBuf {
    let stem = run_file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = if stem.is_empty() { "recovered".into() } else { stem };
    let names =
        std::iter::once(format!("{stem}.parquet")).chain((2..).map(|n| format!("{stem}-{n}.parquet")));
    let mut paths = names.map(|name| into.join(name));
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    paths.find(is_free).unwrap_or_else(|| into.join("recovered.parquet"))
}
