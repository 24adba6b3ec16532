//! The columnar model of a trace: what each format gives, at most 64 bytes a call.

use std::collections::BTreeMap;

pub use crate::call::*;
pub use crate::calls::{CallReader, Calls, column};
pub use crate::name_table::NameTable;

/// Why calls are left out: the ends of their lines are missing.
pub const CUT_CALLS: &str = "calls whose line is cut";
/// Why lines are left out: they cannot be read.
pub const NO_CALLS: &str = "lines that are no calls";

/// A thread of the application.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Thread {
    /// Its number in the traced system.
    pub id: u32,
    /// Which process it belongs to: equal for threads that share memory.
    pub process: u32,
    /// The program that it runs, as far as known.
    pub name: String,
    /// The number of its recording, where those of several MPI ranks were joined: its calls are done by other ranks than
    /// those of other recordings.
    #[serde(default)]
    pub part: u32,
}

/// What a name was before the first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Was {
    /// A file of so many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A symbolic link to the name of that number.
    Link(u32),
    /// Nothing had that name.
    Nothing,
}

/// What was seen of a name at its first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sighting {
    /// Its type.
    pub was: Was,
    /// Its permissions, where known.
    pub permissions: Option<u32>,
}

/// What a call is that no program repeats.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unrepeated {
    /// The call, with what makes it one that no program repeats.
    pub what: String,
    /// Whether files are others afterwards, or hold something else.
    pub changes: bool,
    /// Whether it read what a file holds.
    #[serde(default)]
    pub reads: bool,
}

/// A traced application.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The tool that made the trace, in one word.
    pub format: String,
    /// Its calls on files, and those by which its threads depend on each other.
    pub calls: Calls,
    /// Names of files, absolute where the working directory is known.
    pub names: NameTable,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// What the recorder saw of names before their first use, by number.
    pub sightings: BTreeMap<u32, Sighting>,
    /// What the recorder saw of names when the application had ended, by number.
    pub after: BTreeMap<u32, Sighting>,
    /// Calls that are in no program, and change nothing in it: their number by reason.
    pub left_out: BTreeMap<String, u64>,
    /// What the calls are that no program repeats ([`Op::Unrepeated`]), by the numbers in their flags.
    pub unrepeated: Vec<Unrepeated>,
    /// Notes about the trace for the reader of the program.
    pub notes: Vec<String>,
    /// What recording one call cost, in nanoseconds, where the recorder measured it.
    pub cost_ns: Option<u64>,
    /// By how much recording makes the duration of a call longer, in nanoseconds, in recordings of earlier versions: later ones
    /// keep durations without that.
    pub added_ns: Option<u64>,
}

impl Trace {
    /// Counts a call that no program can repeat.
    pub fn leave_out(&mut self, why: &str) {
        match self.left_out.get_mut(why) {
            Some(count) => *count += 1,
            None => drop(self.left_out.insert(why.to_owned(), 1)),
        }
    }

    /// The number of what a call is that no program repeats; `changes`: files are others afterwards.
    pub fn unrepeated(&mut self, what: &str, changes: bool) -> u32 {
        self.unrepeated_kind(what, changes, false)
    }

    /// As well of one that may have read what a file holds.
    pub(crate) fn unrepeated_kind(&mut self, what: &str, changes: bool, reads: bool) -> u32 {
        let is_same =
            |known: &Unrepeated| (&*known.what, known.changes, known.reads) == (what, changes, reads);
        let at = self.unrepeated.iter().position(is_same).unwrap_or_else(|| {
            self.unrepeated.push(Unrepeated { what: what.to_owned(), changes, reads });
            self.unrepeated.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }
}
