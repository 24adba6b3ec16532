//! What becomes of each call of an application that reads, changes, makes or moves what files hold or how they are called: a
//! program repeats it exactly, nearly, or not at all.
//!
//! One fold over the calls of a trace; recorder, import and comparison show the same one.

use std::collections::BTreeMap;

use crate::flags::{EXECUTABLE, O_DIRECTORY};
use crate::import::DoneCalls;
use crate::maps::HashSet;
use crate::model::{CUT_CALLS, Call, DEPTH_SHIFT, NEAREST, NO_CALLS, NONE, Op, Trace};
use crate::recording::About;
use crate::select::{Choice, repeatable};

/// Below this share of the reads and writes that Linux counted a recording is not whole. Loaders and the C library make some
/// that a preloaded library does not see.
pub const ENOUGH: f64 = 0.95;

/// What becomes of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// A program does the same.
    Exactly,
    /// A program does nearly the same.
    Nearly,
    /// No program does it.
    NotRepeated,
}

/// What is missing where a call is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// Nothing that files hold: a question, a failure, an attribute.
    Nothing,
    /// Bytes that were read.
    Reads,
    /// Files are others, or hold something else.
    Changes,
}

/// Calls of which the same becomes for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLine {
    /// What becomes of them.
    pub fate: Fate,
    /// What is missing.
    pub missing: Missing,
    /// What they are, and why not more becomes of them.
    pub what: String,
    /// How many.
    pub calls: u64,
    /// Bytes that they moved, or were to change, where known.
    pub bytes: u64,
}

/// What becomes of the calls on the files that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Those that are not repeated first, and of these what is missed most.
    pub lines: Vec<LedgerLine>,
    /// All that the trace has.
    pub calls: u64,
    /// Calls on files that do not count.
    pub elsewhere: u64,
    /// Calls that work on no file: they only say in which order threads did the others.
    pub order: u64,
    /// Reads and writes that were recorded, and those that Linux counted, where it did.
    pub counted: Option<(u64, u64)>,
    /// How many names of the directory were compared before and after, where they were.
    pub tree: Option<u64>,
}

impl Ledger {
    /// Of the calls on the files that `choice` takes. `done`: the calls that the program does; without it each that a program
    /// can do counts as done.
    pub fn of(trace: &Trace, about: &About, choice: &Choice, done: Option<&DoneCalls>) -> Self {
        let wanted: Vec<bool> = trace.names.iter().map(|name| choice.wanted(name).is_ok()).collect();
        let mut maker = LedgerMaker {
            trace,
            wanted,
            directories: HashSet::default(),
            done: done.map(Marks::of),
            sums: BTreeMap::new(),
            calls: 0,
            elsewhere: 0,
            order: 0,
        };
        for (at, call) in trace.calls.iter().enumerate() {
            maker.take(at, &call);
        }
        let counted = (about.counted > 0).then_some((about.recorded, about.counted));
        if let Some((recorded, counted)) = counted
            && recorded < counted
        {
            let missing =
                if (recorded as f64) < ENOUGH * counted as f64 { Missing::Changes } else { Missing::Nothing };
            let what = "reads or writes that Linux counted and the recorder did not see";
            maker.add((Fate::NotRepeated, missing, what.to_owned()), counted - recorded, 0);
        }
        for what in [CUT_CALLS, NO_CALLS] {
            if let Some(lines) = trace.left_out.get(what) {
                maker.add((Fate::NotRepeated, Missing::Nothing, what.to_owned()), *lines, 0);
            }
        }
        let line = |((fate, missing, what), (calls, bytes))| LedgerLine { fate, missing, what, calls, bytes };
        let mut lines: Vec<LedgerLine> = maker.sums.into_iter().map(line).collect();
        lines.sort_by_key(|line| std::cmp::Reverse((line.fate, line.missing, line.calls)));
        Self {
            lines,
            calls: maker.calls,
            elsewhere: maker.elsewhere,
            order: maker.order,
            counted,
            tree: about.tree,
        }
    }

    /// Calls and bytes of a fate.
    pub fn sum(&self, fate: Fate) -> (u64, u64) {
        let of = |sum: (u64, u64), line: &LedgerLine| (sum.0 + line.calls, sum.1.saturating_add(line.bytes));
        self.lines.iter().filter(|line| line.fate == fate).fold((0, 0), of)
    }

    /// The lines of a fate.
    pub fn of_fate(&self, fate: Fate) -> impl Iterator<Item = &LedgerLine> {
        self.lines.iter().filter(move |line| line.fate == fate)
    }

    /// What is missing at most.
    pub fn missing(&self) -> Missing {
        self.of_fate(Fate::NotRepeated).map(|line| line.missing).max().unwrap_or(Missing::Nothing)
    }
}

/// A bit for each call.
struct Marks(Vec<u64>);

impl Marks {
    fn of(done: &DoneCalls) -> Self {
        let mut bits = Vec::new();
        for (at, _) in done.iter() {
            let word = at as usize / 64;
            if bits.len() <= word {
                bits.resize(word + 1, 0);
            }
            bits[word] |= 1 << (at % 64);
        }
        Self(bits)
    }

    fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

struct LedgerMaker<'a> {
    trace: &'a Trace,
    /// By name.
    wanted: Vec<bool>,
    /// Directories that are open: reading one is one command.
    directories: HashSet<u32>,
    done: Option<Marks>,
    sums: BTreeMap<(Fate, Missing, String), (u64, u64)>,
    calls: u64,
    elsewhere: u64,
    order: u64,
}

impl LedgerMaker<'_> {
    fn add(&mut self, what: (Fate, Missing, String), calls: u64, bytes: u64) {
        let sum = self.sums.entry(what).or_default();
        *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(bytes));
    }

    /// Whether a call is about a file that counts; of one whose file is not known, that cannot be excluded.
    fn counts(&self, call: &Call) -> bool {
        let names = [call.path, call.second()];
        let mut known = names.into_iter().filter(|name| *name != NONE).peekable();
        known.peek().is_none() || known.any(|name| self.wanted.get(name as usize).copied().unwrap_or(false))
    }

    fn take(&mut self, at: usize, call: &Call) {
        let number = match call.op {
            Op::Unrepeated => call.offset,
            _ => u64::from(!call.is_further()),
        };
        self.calls = self.calls.saturating_add(number);
        let is_told = call.op == Op::Unrepeated || call.op == Op::Map || call.op == Op::Readlink;
        if call.op.command().is_none() && !is_told {
            self.order += 1;
            return;
        }
        if !self.counts(call) {
            self.elsewhere = self.elsewhere.saturating_add(number);
            return;
        }
        if call.op == Op::Open && call.errno == 0 && call.flags & O_DIRECTORY != 0 || call.op == Op::Readdir {
            self.directories.insert(call.file);
        }
        let bytes = match call.op {
            Op::Read if call.is_copy(Op::Read) => 0,
            Op::Unrepeated | Op::Read | Op::Write | Op::Map => call.bytes,
            _ => 0,
        };
        let what = self.fate(at, call);
        self.add(what, number, bytes);
    }

    fn fate(&self, at: usize, call: &Call) -> (Fate, Missing, String) {
        let not = |missing, what: &str| (Fate::NotRepeated, missing, what.to_owned());
        let is_failed = call.errno != 0;
        match call.op {
            Op::Unrepeated => {
                let known = self.trace.unrepeated.get(call.flags as usize);
                let missing = match known {
                    _ if is_failed => Missing::Nothing,
                    Some(known) if !known.changes && known.reads => Missing::Reads,
                    Some(known) if !known.changes => Missing::Nothing,
                    Some(_) | None => Missing::Changes,
                };
                return not(missing, known.map_or("a call", |known| known.what.as_str()));
            }
            Op::Map if is_failed => return not(Missing::Nothing, "mmap that failed"),
            Op::Map if call.flags & 1 != 0 => {
                return not(
                    Missing::Changes,
                    "shared writable mapping, through which memory is stored without calls",
                );
            }
            Op::Map => {
                return not(Missing::Reads, "mapping of a file, which memory is read from without calls");
            }
            Op::Readlink => return not(Missing::Nothing, "readlink"),
            _ => {}
        }
        if let Err(why) = repeatable(call) {
            return not(Missing::Nothing, why);
        }
        let of_directory = self.directories.contains(&call.file)
            && matches!(call.op, Op::Open | Op::Close | Op::Readdir | Op::Seek);
        // The write of a copy is done by the command of its read.
        let further = matches!(call.op, Op::Seek | Op::Close) || call.is_copy(Op::Write);
        if self.done.as_ref().is_some_and(|done| !done.has(at)) && !of_directory && !further {
            let moved = matches!(call.op, Op::Read | Op::Write) && call.bytes == 0;
            let missing = match call.op {
                _ if is_failed || moved => Missing::Nothing,
                Op::Read => Missing::Reads,
                Op::Stat | Op::Lookup | Op::Chmod | Op::Chown | Op::Utimes | Op::Readdir => Missing::Nothing,
                Op::Sync | Op::DataSync | Op::Open => Missing::Nothing,
                _ => Missing::Changes,
            };
            return not(missing, &format!("{} that the program does not do", call.op.word()));
        }
        match self.nearly(call) {
            Some(how) => (Fate::Nearly, Missing::Nothing, how.to_owned()),
            None => (Fate::Exactly, Missing::Nothing, String::new()),
        }
    }

    /// What a program does otherwise.
    fn nearly(&self, call: &Call) -> Option<&'static str> {
        Some(match call.op {
            Op::Read | Op::Write if call.flags >> DEPTH_SHIFT > 0 => {
                "transfer in flight with others, whose order is not kept"
            }
            Op::Read | Op::Write if call.flags & NEAREST != 0 => {
                "transfer with flags that a program cannot give"
            }
            Op::Rename if call.flags & NEAREST != 0 => "exchange of two names, which becomes three renames",
            Op::Open if call.flags & NEAREST != 0 => {
                "open of a file without a name, which has one while it is open, or with flags that a program cannot give"
            }
            Op::Chown => "change of the owner, which becomes who runs the program",
            Op::Utimes => "change of times, which become those of the replay",
            Op::Chmod if call.offset & u64::from(EXECUTABLE) != 0 => {
                "change of permissions, without those to execute a file"
            }
            _ => return None,
        })
    }
}
