//! `lastrank recover`: makes run files of the samples that killed runs left, and recordings of what killed recorders left.

mod recordings;

use std::path::{Path, PathBuf};

use anyhow::Context;
use engine::run::live::{LeftRun, LeftRuns, left};
use report::shell::{file_argument, quoted};
use samples::units;

use crate::cli::RecoverArgs;
use crate::exit::{Misplaced, Status};
use crate::output;

/// A run that has a file now.
struct Recovered {
    path: PathBuf,
    samples: u64,
    ranks: u32,
    /// Files of the run that were removed.
    removed: usize,
    /// Those that could not be, and why.
    stuck: Vec<(PathBuf, String)>,
}

/// Looks for what killed runs left, writes their run files into the folder, and removes the files that they had made.
pub fn run(args: &RecoverArgs) -> anyhow::Result<Status> {
    let into = args.directory.as_deref().unwrap_or(Path::new("."));
    let place = args.directory.as_deref().unwrap_or(Path::new("memory"));
    let found = left(args.directory.as_deref())
        .with_context(|| format!("cannot look for what runs left in {}", place.display()))?;
    let (mut recovered, mut strange, mut failed) = (Vec::new(), 0_usize, Ok(()));
    for one in found {
        match one {
            LeftRuns::Left(run) => match recover(*run, into) {
                Ok(run) => recovered.push(run),
                Err(error) => failed = failed.and(Err(error)),
            },
            LeftRuns::UnderWay(folder) => {
                output::print(&format!("{} belongs to a run that is under way\n", word(&folder)))?;
            }
            LeftRuns::Strange(folder, why) => {
                eprintln!("warning: {} is left alone: {why}", word(&folder));
                strange += 1;
            }
        }
    }
    let recordings = recordings::recover(args.directory.as_deref(), into)?;
    strange += recordings.strange;
    if !recovered.is_empty() || recordings.text.is_empty() {
        output::print(&text(&recovered))?;
    }
    output::print(&recordings.text)?;
    failed = failed.and(recordings.failed);
    for (path, why) in recovered.iter().flat_map(|run| &run.stuck) {
        eprintln!("warning: {} could not be removed: {why}", word(path));
    }
    failed?;
    Ok(if strange > 0 { Status::Incomplete } else { Status::Ok })
}

/// One line a run. Why a run is incomplete stands in its file: for this command it is no failure.
fn text(recovered: &[Recovered]) -> String {
    let Some(first) = recovered.first() else { return "Nothing to recover.\n".into() };
    let (runs, were, them) =
        if recovered.len() == 1 { ("run", "was", "it") } else { ("runs", "were", "them") };
    let mut text = format!("Recovered {} {runs} that {were} killed:\n", recovered.len());
    for run in recovered {
        let removed = match run.removed {
            0 => String::new(),
            1 => "; its test file was removed".into(),
            n => format!("; its {} test files were removed", units::count(n as u64)),
        };
        let (samples, ranks) = (units::count(run.samples), run.ranks);
        let plural = if ranks == 1 { "" } else { "s" };
        text += &format!("  {}   {samples} samples of {ranks} rank{plural}{removed}\n", word(&run.path));
    }
    text += &format!("Use {them} like any run; each is marked incomplete.\n");
    text + &format!("Next:  lastrank report {}\n", word(&first.path))
}

fn recover(run: LeftRun, into: &Path) -> anyhow::Result<Recovered> {
    let outcome = run.outcome();
    let path = free_name(into, &run.manifest.run_file);
    if let Err(error) = store::write(&path, &outcome.run) {
        return Err(Misplaced(format!(
            "{error}; the samples stay where they are ({}): recover into another folder",
            word(run.place())
        ))
        .into());
    }
    run.remove();
    let (removed, stuck) = outcome.cleaned.map_or((0, Vec::new()), |cleaned| {
        let left = cleaned.left.into_iter().map(|(path, why)| (path, why.to_string()));
        (cleaned.removed, left.collect())
    });
    let (samples, ranks) = (outcome.run.samples.len() as u64, outcome.run.facts.ranks);
    Ok(Recovered { path, samples, ranks, removed, stuck })
}

/// A name as a word of a shell, in which nothing commands a terminal: who reads it may paste it, and others may have chosen it.
fn word(path: &Path) -> String {
    quoted(&file_argument(&path.to_string_lossy()))
}

/// A name that others chose, as one that needs no care: without line feeds and whatever commands a terminal, no option, and short
/// enough for a number behind it.
fn plain(name: &str) -> String {
    const LONGEST: usize = 200;
    let is_odd = |c: char| c.is_control() || samples::commands_a_terminal(c);
    let mut plain: String = name.chars().map(|c| if is_odd(c) { '_' } else { c }).collect();
    if plain.starts_with('-') {
        plain.insert(0, '_');
    }
    let end = (0..=LONGEST).rev().find(|at| plain.is_char_boundary(*at)).unwrap_or(0);
    plain.truncate(end);
    plain
}

/// The name that the run file was to have, in this folder, with a number where it is taken. The rest of the path that a
/// manifest names is not believed.
fn free_name(into: &Path, run_file: &Path) -> PathBuf {
    let stem = run_file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = if stem.is_empty() { "recovered".into() } else { plain(&stem) };
    let names =
        std::iter::once(format!("{stem}.parquet")).chain((2..).map(|n| format!("{stem}-{n}.parquet")));
    let mut paths = names.map(|name| into.join(name));
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    paths.find(is_free).unwrap_or_else(|| into.join("recovered.parquet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_others_chose_are_plain_names_of_files() {
        for (name, is) in [
            ("r", "r"),
            ("-rf", "_-rf"),
            ("a\n;\u{1b}[2Jb", "a_;_[2Jb"),
            ("a\u{202e}b", "a_b"),
            ("my run", "my run"),
        ] {
            assert_eq!(plain(name), is);
        }
        assert_eq!(plain(&"ü".repeat(500)).len(), 200);
        let folder = tempfile::tempdir().unwrap();
        let found = free_name(folder.path(), Path::new("/home/\n/-x;\n.parquet"));
        assert_eq!(found, folder.path().join("_-x;_.parquet"));
        assert_eq!(word(Path::new("_-x;_.parquet")), "'_-x;_.parquet'");
        assert_eq!(word(Path::new("-x\n")), "$'./-x\\012'");
    }
}
