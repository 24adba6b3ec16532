//! What `lastrank record` says of a recording: the answer, what limits it, and the way on.

use std::path::{Path, PathBuf};

use samples::units::count;
use trace::Trace;
use trace::ledger::Ledger;

use crate::cli::RecordArgs;
use crate::commands::{ledger, way_on};

/// From this share of the time on that stops took, the quiet recorder is named.
const DISTURBED: f64 = 0.1;

/// What came of a recording.
pub(super) struct Came<'a> {
    /// Where it is.
    pub path: &'a Path,
    pub trace: &'a Trace,
    pub ledger: &'a Ledger,
    /// Programs that the preloaded library did not enter.
    pub unseen: u64,
    /// Threads whose last records had no room.
    pub cut: u64,
    /// What a call cost more.
    pub cost_ns: u64,
    pub elapsed_ns: u64,
    /// Of the application, as `wait` has it.
    pub status: i32,
}

/// On standard error: standard output is the application's.
pub(super) fn tell(args: &RecordArgs, came: &Came<'_>) {
    eprintln!("{}", came.answer());
    came.tell_trouble(args);
    came.tell_cost(args);
    for exception in ledger::exceptions(came.ledger) {
        eprintln!("{exception}");
    }
    if args.verbose {
        ledger::tell(came.ledger);
        for (why, calls) in &came.trace.left_out {
            eprintln!("not recorded: {} {why}", count(*calls));
        }
        eprintln!("Calls that have nothing to do with files ran freely.");
    }
    way_on::tell("import", &import_of(args, came.path), &["-o", &program_of(args, came.path)]);
}

impl Came<'_> {
    /// How much was recorded, and whether that is all.
    fn answer(&self) -> String {
        let (calls, threads) = (self.ledger.calls, self.trace.threads.len() as u64);
        let witness = match self.ledger.counted {
            None => ".".to_owned(),
            Some((recorded, counted)) if recorded == counted => {
                format!(": all {} reads and writes.", count(counted))
            }
            Some((recorded, counted)) if recorded < counted => {
                format!(
                    ": {} of the {} reads and writes that Linux counted.",
                    count(recorded),
                    count(counted)
                )
            }
            Some((recorded, counted)) => {
                format!(": {} reads and writes, of which Linux counted {}.", count(recorded), count(counted))
            }
        };
        let (calls, threads) = (counted(calls, "call"), counted(threads, "thread"));
        format!("Recorded {calls} of {threads} in {}{witness}", self.path.display())
    }

    fn tell_trouble(&self, args: &RecordArgs) {
        if exit_status(self.status) != Some(0) {
            eprintln!("⚠ The application {}.", ended(self.status));
        }
        let mut own = Vec::new();
        if let Some(note) = note_of_cut(self.cut) {
            eprintln!("✖ Calls are missing: {note}. Fix: set TMPDIR to a directory with more room");
            own.push(note);
        }
        if let Some(note) = note_of_unseen(self.unseen) {
            eprintln!("✖ Calls are missing: {note}. Fix: record without --quiet");
            own.push(note);
        }
        if let Some(warning) = ledger::warning(self.ledger) {
            let fix = if args.quiet {
                " --quiet does not see calls that bypass the C library; without --quiet they are recorded."
            } else {
                ""
            };
            eprintln!("{warning}{fix}");
        }
        for note in self.trace.notes.iter().filter(|note| !own.contains(note)) {
            eprintln!("note: {note}");
        }
    }

    /// What the recorder cost, with the remedy where that was much.
    fn tell_cost(&self, args: &RecordArgs) {
        let a_call = samples::units::duration(self.cost_ns as f64 / 1e9);
        let stops = self.trace.calls.len() as f64 * self.cost_ns as f64;
        if !args.quiet && stops > DISTURBED * self.elapsed_ns as f64 {
            eprintln!("⚠ The recorder slowed the application: {a_call} per call. For timing use --quiet.");
        } else {
            eprintln!("The recorder added {a_call} per call.");
        }
    }
}

/// What a recording says of programs and calls that are missing.
pub fn notes(unseen: u64, cut: u64) -> Vec<String> {
    note_of_unseen(unseen).into_iter().chain(note_of_cut(cut)).collect()
}

fn note_of_unseen(unseen: u64) -> Option<String> {
    let were = if unseen == 1 { "program was" } else { "programs were" };
    (unseen > 0).then(|| format!("{} {were} started that the preloaded library did not enter", count(unseen)))
}

fn note_of_cut(cut: u64) -> Option<String> {
    (cut > 0).then(|| {
        format!("no room for the last records of {}, in TMPDIR and /dev/shm", counted(cut, "thread"))
    })
}

fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

/// The exit status of a process that ended by itself.
pub(super) fn exit_status(status: i32) -> Option<i32> {
    (status & 0x7f == 0).then_some((status >> 8) & 0xff)
}

fn ended(status: i32) -> String {
    match exit_status(status) {
        Some(code) => format!("ended with status {code}"),
        None => format!("was ended by signal {}", status & 0x7f),
    }
}

/// What `import` is to read: recordings of all ranks together, where this is one of them.
fn import_of(args: &RecordArgs, path: &Path) -> String {
    let given = args.output.as_ref().filter(|given| given.to_string_lossy().contains("%r"));
    given.map_or(path, PathBuf::as_path).to_string_lossy().into_owned()
}

/// The program beside it.
fn program_of(args: &RecordArgs, path: &Path) -> String {
    let of_ranks = import_of(args, path).replace("-%r", "").replace("%r", "");
    Path::new(&of_ranks).with_extension("ppl").to_string_lossy().into_owned()
}
