//! Recordings of what killed recorders left.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use samples::units;
use store::Replacement;
use trace::recording::{self, About};
use tracer::left::{Found, LeftRecording, recordings};
use tracer::{Manifest, Recorded};

use super::origin::{LeftOrigin, word};
use super::rests::OpenFiles;
use super::{AskedFolder, free_name};
use crate::commands::record::notes;
use crate::commands::way_on;
use crate::exit::Misplaced;
use crate::output;

/// What came of them.
pub struct Recordings {
    /// One line each; empty where there were none.
    pub text: String,
    /// Those of other folders whose recorders are dead.
    pub elsewhere: Vec<LeftOrigin>,
    /// Those that are left alone.
    pub strange: usize,
    /// Why one could not be written.
    pub failed: anyhow::Result<()>,
}

/// Writes those that are asked for into the folder: those that were started in it, or were to lie there, or whose records do,
/// where the user named it.
pub fn recover(asked: AskedFolder<'_>, open: &OpenFiles) -> anyhow::Result<Recordings> {
    let temporary = std::env::temp_dir();
    let all = [temporary.as_path(), Path::new("/dev/shm"), asked.folder];
    let folder = real(asked.folder);
    let is_wanted = |manifest: &Manifest, place: &Path| {
        asked.all
            || real(manifest.directory()) == folder
            || manifest.output().parent().is_some_and(|parent| real(parent) == folder)
            || asked.is_named && real(place) == folder
    };
    let found = recordings(&all[..if asked.is_named { 3 } else { 2 }], &is_wanted);
    let mut came = Recordings { text: String::new(), strange: 0, elsewhere: Vec::new(), failed: Ok(()) };
    let mut first = None;
    for one in found {
        match one {
            Found::Left(left) => {
                let place = left.place().to_owned();
                match left.read() {
                    Ok(found) => match write(left, found, asked.folder) {
                        Ok((path, line)) => {
                            came.text += &line;
                            first.get_or_insert(path);
                        }
                        Err(error) => came.failed = came.failed.and(Err(error)),
                    },
                    // One that cannot be read keeps nobody from the others.
                    Err(error) => {
                        eprintln!("warning: {} is left alone: it cannot be read: {error}", word(&place));
                        came.strange += 1;
                    }
                }
            }
            Found::UnderWay(place, manifest) => {
                let what = LeftOrigin::of_recording(&manifest).clause();
                output::print(&format!(
                    "under way, or its application goes on: {what} ({})\n",
                    word(&place)
                ))?;
            }
            Found::Elsewhere(place, manifest, goes_on) if !goes_on && !open.any_in(&place) => {
                came.elsewhere.push(LeftOrigin::of_recording(&manifest));
            }
            Found::Elsewhere(..) => {}
            Found::Strange(folder, why) => {
                eprintln!("warning: {} is left alone: {why}", word(&folder));
                came.strange += 1;
            }
        }
    }
    if let Some(first) = first {
        let head = "Recovered recordings whose recorder was killed:\n";
        let program = first.with_extension("ppl");
        let import = way_on::text("import", &first.to_string_lossy(), &["-o", &program.to_string_lossy()]);
        came.text = format!("{head}{}{import}", came.text);
    }
    Ok(came)
}

/// The folder itself, links resolved.
fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.into())
}

fn write(left: LeftRecording, found: Recorded, into: &Path) -> anyhow::Result<(PathBuf, String)> {
    let output = left.manifest.output();
    let path = free_name(into, &output);
    let origin = LeftOrigin::of_recording(&left.manifest);
    // The recorder opened its file before it began; nothing that is younger is its.
    let began = UNIX_EPOCH + Duration::from_nanos(left.manifest.began_ns);
    let mut trace = found.trace;
    trace.notes.extend(notes(found.unseen, found.cut));
    trace.notes.push(match left.manifest.is_of_complete_recorder() {
        true => "the recorder was killed, and its application with it; what that did until then is recovered"
            .to_owned(),
        false => "the recorder was killed; what its application did is recovered".to_owned(),
    });
    let about = About {
        command: left.manifest.command.clone(),
        elapsed_ns: found.elapsed_ns,
        recorded: found.seen.recorded,
        counted: found.seen.counted,
        began_ns: left.manifest.began_ns,
        tree: None,
    };
    let written = Replacement::of(&path).map_err(anyhow::Error::from).and_then(|file| {
        recording::write(file.file(), &trace, &about)?;
        Ok(file.commit()?)
    });
    if let Err(error) = written {
        let (path, place) = (word(&path), word(left.place()));
        let further = format!("the records stay where they are ({place}): recover into another folder");
        return Err(Misplaced(format!("cannot write {path}: {error:#}; {further}")).into());
    }
    for folder in left.remove() {
        eprintln!("warning: {} stays: there is more in it than a recorder makes", word(&folder));
    }
    // A manifest may have come from elsewhere: what lies in other folders is left alone.
    if output.parent().is_some_and(|around| real(around) == real(into)) {
        super::rests::remove_partials(&output, began);
    }
    let (calls, threads) = (units::count(trace.calls.len() as u64), trace.threads.len());
    let plural = if threads == 1 { "" } else { "s" };
    let of_calls = if trace.calls.len() == 1 { "call" } else { "calls" };
    let missing = if found.cut > 0 { ", the last calls of some are missing" } else { "" };
    let head = format!("  {}   {calls} {of_calls} of {threads} thread{plural}{missing}\n", word(&path));
    Ok((path, format!("{head}    of {}\n", origin.clause())))
}
