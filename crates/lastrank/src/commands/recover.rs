//! `lastrank recover`: makes run files of the samples that killed runs left, and recordings of what killed recorders left.

mod origin;
mod recordings;
mod rests;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use engine::run::live::{LeftRun, LeftRuns, left};
use samples::units;

use super::explain::things;
use super::way_on;
use crate::cli::RecoverArgs;
use crate::exit::{Misplaced, Status};
use crate::output;
use origin::{LeftOrigin, word};
use rests::OpenFiles;

/// A run that has a file now.
struct Recovered {
    path: PathBuf,
    origin: LeftOrigin,
    samples: u64,
    ranks: u32,
    /// What the run had made that was removed, in words; empty for nothing.
    removed: String,
    /// Those that could not be, and why.
    stuck: Vec<(PathBuf, String)>,
}

/// Of which folder.
#[derive(Clone, Copy)]
struct AskedFolder<'a> {
    folder: &'a Path,
    /// Did the user name it?
    is_named: bool,
    /// Of all folders; what is written goes into this one.
    all: bool,
}

/// Looks for what killed runs left, writes their run files into the folder, and removes the files that they had made.
pub fn run(args: &RecoverArgs) -> anyhow::Result<Status> {
    let folder = args.directory.as_deref().unwrap_or(Path::new("."));
    if !folder.exists() {
        bail!(
            "there is no directory {}: name that where the run began, or none for this one",
            folder.display()
        );
    }
    let asked = AskedFolder { folder, is_named: args.directory.is_some(), all: args.all };
    let found = left(folder, args.all)
        .with_context(|| format!("cannot look for what runs left in {}", folder.display()))?;
    let (mut recovered, mut strange, mut failed) = (Vec::new(), 0_usize, Ok(()));
    let (mut elsewhere, open) = (Vec::new(), OpenFiles::now());
    for one in found {
        match one {
            LeftRuns::Left(run) => match recover(*run, folder) {
                Ok(run) => recovered.push(run),
                Err(error) => failed = failed.and(Err(error)),
            },
            LeftRuns::UnderWay(place, manifest) => {
                let what = LeftOrigin::of_run(&manifest).clause();
                output::print(&format!("under way: {what} ({})\n", word(&place)))?;
            }
            LeftRuns::Elsewhere(place, manifest) if !open.any_in(&place) => {
                elsewhere.push(LeftOrigin::of_run(&manifest));
            }
            LeftRuns::Elsewhere(..) => {}
            LeftRuns::Strange(folder, why) => {
                eprintln!("warning: {} is left alone: {why}", word(&folder));
                strange += 1;
            }
        }
    }
    record::claim::Claim::remove_all_left(folder);
    let mut recordings = recordings::recover(asked, &open)?;
    strange += recordings.strange;
    elsewhere.append(&mut recordings.elsewhere);
    failed = failed.and(recordings.failed);
    output::print(&text(&recovered))?;
    output::print(&recordings.text)?;
    let is_any_here = !recovered.is_empty() || !recordings.text.is_empty() || failed.is_err();
    output::print(&origin::elsewhere(&elsewhere, is_any_here))?;
    if !is_any_here && elsewhere.is_empty() {
        output::print("Nothing to recover.\n")?;
    }
    for (path, why) in recovered.iter().flat_map(|run| &run.stuck) {
        eprintln!("warning: {} could not be removed: {why}", word(path));
    }
    failed?;
    Ok(if strange > 0 { Status::Incomplete } else { Status::Ok })
}

/// What came of each run, and what it was; empty where there was none. Why a run is incomplete stands in its file: for this
/// command it is no failure.
fn text(recovered: &[Recovered]) -> String {
    let Some(first) = recovered.first() else { return String::new() };
    let (runs, were, them) =
        if recovered.len() == 1 { ("run", "was", "it") } else { ("runs", "were", "them") };
    let mut text = format!("Recovered {} {runs} that {were} killed:\n", recovered.len());
    for run in recovered {
        let removed = match run.removed.as_str() {
            "" => String::new(),
            what => format!("; removed {what} that it had created"),
        };
        let (samples, ranks) = (units::count(run.samples), run.ranks);
        let of_samples = if run.samples == 1 { "sample" } else { "samples" };
        let of_ranks = if ranks == 1 { "rank" } else { "ranks" };
        text += &format!("  {}   {samples} {of_samples} of {ranks} {of_ranks}{removed}\n", word(&run.path));
        text += &format!("    of {}\n", run.origin.clause());
    }
    let each = if recovered.len() == 1 { "it" } else { "each" };
    text += &format!("Use {them} like any run; {each} is marked incomplete.\n");
    text + &way_on::text("report", &first.path.to_string_lossy(), &[])
}

fn recover(run: LeftRun, into: &Path) -> anyhow::Result<Recovered> {
    let outcome = run.outcome();
    let path = match claimed(into, &run.manifest.run_file) {
        Some(path) if run.is_ours() => path,
        _ => free_name(into, &run.manifest.run_file),
    };
    if let Err(error) = store::write(&path, &outcome.run) {
        return Err(Misplaced(format!(
            "{error}; the samples stay where they are ({}): recover into another folder",
            word(run.place())
        ))
        .into());
    }
    // Only now: whoever kills this command finds the samples in memory or in the file, and what the run made with them.
    let cleaned = run.clean();
    if run.is_ours() {
        // Whoever wrote it was the killed run: nobody else writes to a name that one has claimed.
        rests::remove_partials(&run.manifest.run_file, SystemTime::now());
    }
    let origin = LeftOrigin::of_run(&run.manifest);
    run.remove();
    let (removed, stuck) = cleaned.map_or((String::new(), Vec::new()), |cleaned| {
        let left = cleaned.left.into_iter().map(|(path, why)| (path, why.to_string()));
        (things(cleaned.files as u64, cleaned.directories as u64), left.collect())
    });
    let (samples, ranks) = (outcome.run.samples.len() as u64, outcome.run.facts.ranks);
    Ok(Recovered { path, origin, samples, ranks, removed, stuck })
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

/// The empty file in this folder by which the killed run claimed the name of its run file, if it lies there.
fn claimed(into: &Path, run_file: &Path) -> Option<PathBuf> {
    let name = run_file.file_name()?.to_str().filter(|name| plain(name) == *name)?;
    let path = beside(into, name);
    let is_empty = path.symlink_metadata().is_ok_and(|there| there.is_file() && there.len() == 0);
    is_empty.then_some(path)
}

/// A name in a folder, without the `./` of the current one.
fn beside(into: &Path, name: &str) -> PathBuf {
    if into == Path::new(".") { name.into() } else { into.join(name) }
}

/// The name that the run file was to have, in this folder, with a number where it is taken. The rest of the path that a
/// manifest names is not believed.
fn free_name(into: &Path, run_file: &Path) -> PathBuf {
    let stem = run_file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = if stem.is_empty() { "recovered".into() } else { plain(&stem) };
    let names =
        std::iter::once(format!("{stem}.parquet")).chain((2..).map(|n| format!("{stem}-{n}.parquet")));
    let mut paths = names.map(|name| beside(into, &name));
    let is_free = |path: &PathBuf| path.symlink_metadata().is_err();
    paths.find(is_free).unwrap_or_else(|| into.join("recovered.parquet"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_the_claim_of_a_name_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let name = Path::new("/elsewhere/r.parquet");
        assert_eq!(claimed(folder.path(), name), None);
        let path = folder.path().join("r.parquet");
        std::fs::write(&path, "").unwrap();
        assert_eq!(claimed(folder.path(), name), Some(path.clone()));
        std::fs::write(&path, "kept").unwrap();
        assert_eq!(claimed(folder.path(), name), None);
        assert_eq!(free_name(folder.path(), name), folder.path().join("r-2.parquet"));
    }

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
