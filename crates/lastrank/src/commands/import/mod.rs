//! `lastrank import`: a trace of an application becomes a program.

mod fio;
mod strace;
mod write;

use std::collections::BTreeMap;

use anyhow::{Context, bail};

use crate::cli::ImportArgs;
use crate::exit::Status;
use crate::output;

/// What an application did, rank by rank.
#[derive(Debug, Default)]
struct Trace {
    /// Where it comes from, in a word.
    kind: &'static str,
    ranks: Vec<Rank>,
    /// Calls that have no place in the program, by name.
    left_out: BTreeMap<String, u64>,
}

/// What one process did, in the order of time.
#[derive(Debug, Default)]
struct Rank {
    name: String,
    events: Vec<Event>,
}

/// One call: seconds since the trace began.
#[derive(Debug)]
struct Event {
    start: f64,
    end: f64,
    op: Op,
    /// The errno with which it failed, by name.
    failed: Option<String>,
}

/// A call in the words of the language. Files are numbered by rank.
#[derive(Debug)]
enum Op {
    Open {
        file: usize,
        path: String,
        flags: String,
    },
    Close {
        file: usize,
    },
    /// So many bytes came; `at`: where, otherwise at the file's position. 0 bytes: the end of the file.
    Read {
        file: usize,
        bytes: u64,
        at: Option<u64>,
    },
    Write {
        file: usize,
        bytes: u64,
        at: Option<u64>,
    },
    Seek {
        file: usize,
        to: u64,
    },
    Sync {
        file: usize,
        data: bool,
    },
    Truncate {
        file: usize,
        length: u64,
    },
    /// A command on names: `stat`, `unlink`, `mkdir` …
    Name {
        command: &'static str,
        path: String,
        to: Option<String>,
    },
}

/// Read a trace and write the program.
pub fn run(args: &ImportArgs) -> anyhow::Result<Status> {
    let bytes =
        std::fs::read(&args.trace).with_context(|| format!("cannot read {}", args.trace.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let trace = if text.starts_with("fio version") {
        fio::read(&text)?
    } else if text.lines().take(200).any(strace::is_call) {
        strace::read(&text, args)?
    } else {
        bail!(
            "{} is neither a trace of strace (`strace -f -ttt -T -o FILE COMMAND`) nor of fio \
             (`fio --write_iolog=FILE …`)",
            args.trace.display()
        );
    };
    if trace.ranks.is_empty() {
        bail!(
            "no call in {} works on a file; with --all, files of the system count too",
            args.trace.display()
        );
    }
    let program = write::program(&trace, args);
    // What is written can be read, or it is a mistake of ours.
    let mut source = ppl::Source::new("imported.ppl", &program);
    if let Err(found) = ppl::compile(&mut source, &ppl::plan::Settings::default(), false, None) {
        let first = found.iter().find(|one| one.is_error()).map_or("", |one| one.message.as_str());
        bail!("the program that came of it is wrong ({first}); please report this trace");
    }
    match &args.output {
        Some(path) => {
            output::refuse_overwriting(path, "-o", &[&args.trace])?;
            std::fs::write(path, &program).with_context(|| format!("cannot write {}", path.display()))?;
            let calls: usize = trace.ranks.iter().map(|rank| rank.events.len()).sum();
            eprintln!(
                "note: {} of {} calls; `lastrank explain {}` says what it does, `lastrank run {} -c` does it",
                path.display(),
                calls,
                path.display(),
                path.display()
            );
        }
        None => output::print(&program)?,
    }
    Ok(Status::Ok)
}
