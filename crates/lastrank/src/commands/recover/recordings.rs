//! Recordings of what killed recorders left.

use std::path::{Path, PathBuf};

use samples::units;
use store::Replacement;
use trace::recording::{self, About};
use tracer::Recorded;
use tracer::left::{Found, LeftRecording, recordings};

use super::{free_name, word};
use crate::commands::record::notes;
use crate::exit::Misplaced;
use crate::output;

/// What came of them.
pub struct Recordings {
    /// One line each; empty where there were none.
    pub text: String,
    /// Those that are left alone.
    pub strange: usize,
    /// Why one could not be written.
    pub failed: anyhow::Result<()>,
}

/// Writes those of `directory`, of every place where recorders keep them where there is none, into the folder.
pub fn recover(directory: Option<&Path>, into: &Path) -> anyhow::Result<Recordings> {
    let temporary = std::env::temp_dir();
    let all = [temporary.as_path(), Path::new("/dev/shm")];
    let found = directory.map_or_else(|| recordings(&all), |directory| recordings(&[directory]));
    let mut came = Recordings { text: String::new(), strange: 0, failed: Ok(()) };
    let mut first = None;
    for one in found {
        match one {
            Found::Left(left) => {
                let place = left.place().to_owned();
                match left.read() {
                    Ok(found) => match write(left, found, into) {
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
            Found::UnderWay(folder) => {
                let what = "belongs to a recording that is under way, or whose application goes on";
                output::print(&format!("{} {what}\n", word(&folder)))?;
            }
            Found::Strange(folder, why) => {
                eprintln!("warning: {} is left alone: {why}", word(&folder));
                came.strange += 1;
            }
        }
    }
    if let Some(first) = first {
        let head = "Recovered recordings whose recorder was killed:\n";
        let import = format!("Next:  lastrank import {} -o app.ppl\n", word(&first));
        came.text = format!("{head}{}{import}", came.text);
    }
    Ok(came)
}

fn write(left: LeftRecording, found: Recorded, into: &Path) -> anyhow::Result<(PathBuf, String)> {
    let path = free_name(into, left.manifest.output());
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
    let (calls, threads) = (units::count(trace.calls.len() as u64), trace.threads.len());
    let plural = if threads == 1 { "" } else { "s" };
    let missing = if found.cut > 0 { ", the last calls of some are missing" } else { "" };
    Ok((path.clone(), format!("  {}   {calls} calls of {threads} thread{plural}{missing}\n", word(&path))))
}
