//! Chooses the calls that a program is to do, and counts what is left out.

use crate::flags::O_DIRECTORY;
use crate::maps::{HashMap, HashSet};
use crate::model::{AGAIN, Call, NONE, Op, Trace};
use crate::names::is_below;

/// Directories of virtual file systems, whose files are always left out.
const VIRTUAL: [&[u8]; 3] = [b"/proc", b"/sys", b"/dev"];

/// Directories of the system, whose files are left out unless the user wants all.
const SYSTEM: [&[u8]; 10] =
    [b"/run", b"/etc", b"/usr", b"/lib", b"/lib64", b"/bin", b"/sbin", b"/opt", b"/nix", b"/snap"];

/// Which files a program is to touch.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only those below these directories, where there is any.
    pub only: Vec<Vec<u8>>,
    /// Files of the system too.
    pub all: bool,
    /// What the system copied from file to file by one call is a read and a write.
    pub read_and_write: bool,
}

/// Failures that a program can repeat, because it makes the same tree: ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY.
const REPEATABLE: [u16; 5] = [2, 17, 20, 21, 39];

impl Choice {
    /// Whether the program is to touch `name`, and otherwise why not.
    fn wanted(&self, name: &[u8]) -> Result<(), &'static str> {
        let below = |directories: &[&[u8]]| directories.iter().any(|directory| is_below(name, directory));
        if !self.only.is_empty() {
            let wanted = self.only.iter().any(|only| is_below(name, only));
            return if wanted { Ok(()) } else { Err("calls on files elsewhere (--only)") };
        }
        if name.is_empty() || below(&VIRTUAL) {
            return Err("calls on /proc, /sys and /dev");
        }
        if !self.all && (below(&SYSTEM) || name == b"/") {
            return Err("calls on files of the system (--all takes them)");
        }
        Ok(())
    }
}

/// Open directories that are not synced: reading one is a command that opens and closes it itself.
fn directories(trace: &Trace) -> HashSet<u32> {
    let (mut open, mut synced) = (HashSet::default(), HashSet::default());
    for call in trace.calls.iter().filter(|call| call.errno == 0 && call.file != NONE) {
        match call.op {
            Op::Open if call.flags & O_DIRECTORY != 0 => drop(open.insert(call.file)),
            Op::Readdir => drop(open.insert(call.file)),
            Op::Sync | Op::DataSync => drop(synced.insert(call.file)),
            _ => {}
        }
    }
    open.retain(|file| !synced.contains(file));
    open
}

/// Which calls stay, in the order of their beginning; what is left out is counted in the trace.
pub fn select(trace: &mut Trace, choice: &Choice) -> Vec<u32> {
    let verdicts: Vec<Result<(), &'static str>> =
        trace.names.iter().map(|name| choice.wanted(name)).collect();
    let of = |name: u32| if name == NONE { Ok(()) } else { verdicts[name as usize] };
    let mut files: HashMap<u32, bool> = HashMap::default();
    let mut counts: HashMap<&'static str, u64> = HashMap::default();
    let mut kept = Vec::new();
    let directories = directories(trace);
    let mut mapped = 0_u64;
    for at in trace.calls.by_start() {
        let call = trace.calls.get(at as usize);
        if call.op.command().is_none() {
            mapped += u64::from(call.op == Op::Map && of(call.path).is_ok());
            continue;
        }
        if matches!(call.op, Op::Open | Op::Close) && directories.contains(&call.file) {
            files.insert(call.file, of(call.path).is_ok());
            continue;
        }
        if call.op == Op::Readdir && call.flags & AGAIN != 0 {
            continue;
        }
        // Another name of a symbolic link is a text, not a file.
        let second = if call.op == Op::Symlink { Ok(()) } else { of(call.other) };
        let by_name = of(call.path).and(second);
        let verdict = match call.op {
            Op::Open if call.errno == 0 => {
                files.insert(call.file, by_name.is_ok());
                by_name
            }
            _ if call.file == NONE => by_name,
            _ if *files.entry(call.file).or_insert(by_name.is_ok()) => Ok(()),
            _ => Err(by_name.err().unwrap_or("calls on files elsewhere (--only)")),
        };
        match verdict.and(repeatable(&call)) {
            Ok(()) => kept.push(at),
            Err(why) => *counts.entry(why).or_default() += 1,
        }
    }
    if mapped > 0 {
        counts.insert("mappings of files, whose reads and writes of memory are in no trace", mapped);
    }
    for (why, count) in counts {
        *trace.left_out.entry(why.to_owned()).or_default() += count;
    }
    part_copies(trace, &kept, choice);
    kept
}

/// Takes copies apart of which only the read or only the write stays, or all where the choice says so.
fn part_copies(trace: &mut Trace, kept: &[u32], choice: &Choice) {
    let mut left = kept;
    while let Some((&at, rest)) = left.split_first() {
        left = rest;
        let call = trace.calls.get(at as usize);
        let write =
            rest.first().filter(|write| **write == at + 1).map(|write| trace.calls.get(*write as usize));
        let whole = |write: Call| {
            write.is_copy(Op::Write) && (write.start, write.thread) == (call.start, call.thread)
        };
        if call.is_copy(Op::Read) && !choice.read_and_write && write.is_some_and(whole) {
            left = &rest[1..];
        } else {
            trace.calls.part(at as usize);
        }
    }
}

fn repeatable(call: &Call) -> Result<(), &'static str> {
    let on_open_file = call.file != NONE && call.op != Op::Open;
    match call.errno {
        0 => Ok(()),
        errno if REPEATABLE.contains(&errno) && !on_open_file => Ok(()),
        _ => Err("calls that failed for a reason that is not in the names"),
    }
}
