//! `lastrank record`: runs an application and records every call on files that it and its children make.

mod told;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use ranks::launcher::this_launcher;
use store::Replacement;
use trace::ledger::Ledger;
use trace::recording::{self, About};
use trace::select::Choice;
use tracer::Recorded;

use super::ledger;
use crate::cli::RecordArgs;
use crate::exit::Status;
pub use told::notes;
use told::{Came, exit_status};

/// Runs the application, writes the recording and says how much of it was seen.
pub fn run(args: &RecordArgs) -> anyhow::Result<Status> {
    let path = of_this_rank(args.output.clone().unwrap_or_else(|| beside(&args.command[0])))?;
    if path.is_dir() {
        bail!("{} is a directory; -o names the file of the recording", path.display());
    }
    // A place that cannot be written must not show after an hour of work.
    let file = Replacement::of(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let began_ns = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    let recorded =
        if args.quiet { tracer::record_quietly(&args.command, &path)? } else { completely(args, &path)? };
    let Recorded { mut trace, seen, unseen, cut, cost_ns, elapsed_ns, status, tree, kept } = recorded;
    trace.notes.extend(notes(unseen, cut));
    let command = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (recorded, counted) = (seen.recorded, seen.counted);
    let about = About { command, elapsed_ns, recorded, counted, began_ns, tree };
    let written = recording::write(file.file(), &trace, &about)
        .map_err(anyhow::Error::from)
        .and_then(|()| file.commit().map_err(anyhow::Error::from));
    if let Err(error) = written {
        let further = if kept.leave() { "; `lastrank recover` can write it elsewhere" } else { "" };
        return Err(error.context(format!("cannot write {}{further}", path.display())));
    }
    drop(kept);
    let ledger = Ledger::of(&trace, &about, &Choice::default(), None);
    told::tell(
        args,
        &Came { path: &path, trace: &trace, ledger: &ledger, unseen, cut, cost_ns, elapsed_ns, status },
    );
    let is_whole = ledger::status(&ledger) == Status::Ok && cut == 0 && unseen == 0;
    match shell_status(status) {
        0 => Ok(if is_whole { Status::Ok } else { Status::Incomplete }),
        // Scripts around the application look at its status: it is that of the recorder.
        own => std::process::exit(own),
    }
}

/// With `-v` it says before what a kill of the recorder does: without it Linux refuses every call that the filter stops at.
fn completely(args: &RecordArgs, path: &Path) -> anyhow::Result<Recorded> {
    if args.verbose {
        eprintln!(
            "note: SIGKILL of this recorder ends the application; `lastrank recover` makes the recording of what it did \
             until then. With --quiet it goes on"
        );
    }
    Ok(tracer::record(&args.command, path, |told| eprintln!("note: {}", samples::visible(told)))?)
}

/// The status of an ended process as shells have it: 128 and the signal that ended it.
fn shell_status(status: i32) -> i32 {
    exit_status(status).unwrap_or(128 + (status & 0x7f))
}

/// The file of this rank: `%r` stands for its number, so that ranks that a launcher started do not share one.
fn of_this_rank(path: PathBuf) -> anyhow::Result<PathBuf> {
    let launcher = this_launcher();
    let text = path.to_string_lossy().into_owned();
    match (launcher.as_ref().and_then(|found| found.rank), text.contains("%r")) {
        (Some(rank), true) => Ok(text.replace("%r", &rank.to_string()).into()),
        (None, true) => bail!("-o {text}: %r is the rank, and no MPI launcher started this process"),
        (_, false) => match launcher.filter(|found| found.ranks.is_some_and(|ranks| ranks > 1)) {
            Some(found) => bail!(
                "this is one of several ranks ({}), which cannot share {text}: -o run-%r.parquet gives each a file of its \
                 own, and `lastrank import run-%r.parquet` joins them",
                found.evidence
            ),
            None => Ok(path),
        },
    }
}

fn beside(command: &std::ffi::OsStr) -> PathBuf {
    let name = Path::new(command).file_name().unwrap_or(command);
    PathBuf::from(name).with_extension("parquet")
}
