//! Chooses the calls that a program is to do, and counts what is left out.

use std::collections::BTreeMap;

use crate::flags::O_DIRECTORY;
use crate::maps::HashMap;
use crate::model::column::{ERRNO, FILE, FLAGS, OP, OTHER, PATH};
use crate::model::{AGAIN, Call, CallReader, NONE, Op, Trace};
use crate::names::{escape, is_below, unescape};
use crate::packed::Packed;
use crate::per_number::PerNumber;

/// Directories of virtual file systems, whose files are always left out.
const VIRTUAL: [&[u8]; 3] = [b"/proc", b"/sys", b"/dev"];

/// Directories of the system, whose files are left out unless the user wants all.
const SYSTEM: [&[u8]; 10] =
    [b"/run", b"/etc", b"/usr", b"/lib", b"/lib64", b"/bin", b"/sbin", b"/opt", b"/nix", b"/snap"];

/// Begins the lines at the head of a program that tell which calls were chosen for it.
const MADE_WITH: &str = "Made with ";

/// Which files a program is to touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// The choice of which the head of a program tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldChoice {
    /// What it tells.
    pub choice: Choice,
    /// It was made with directories that it does not name.
    pub is_hidden: bool,
}

impl ToldChoice {
    /// Reads the comments with which a program begins.
    pub fn of(program: &str) -> Self {
        let mut told = Self::default();
        let comments = program.lines().map_while(|line| line.strip_prefix('#'));
        for option in comments.filter_map(|line| line.trim_start().strip_prefix(MADE_WITH)) {
            match option.split_once(' ').unwrap_or((option, "")) {
                ("--only", name) if name.starts_with('/') => told.choice.only.push(unescape(name)),
                ("--only", _) => told.is_hidden = true,
                ("--all", _) => told.choice.all = true,
                ("--read-and-write", _) => told.choice.read_and_write = true,
                _ => {}
            }
        }
        told
    }
}

impl Choice {
    /// What the head of a program tells of it, a line for each option, for [`ToldChoice`] to read. Directories have no name
    /// where names must tell nothing.
    pub fn told(&self, anonymise: bool) -> impl Iterator<Item = String> {
        let name = move |only: &Vec<u8>| if anonymise { "…".to_owned() } else { escape(only) };
        let only = self.only.iter().map(move |only| format!("{MADE_WITH}--only {}", name(only)));
        let flags = [("--all", self.all), ("--read-and-write", self.read_and_write)];
        let flags = flags.into_iter().filter(|(_, is_set)| *is_set);
        only.chain(flags.map(|(flag, _)| format!("{MADE_WITH}{flag}")))
    }

    /// Whether the program is to touch `name`, and otherwise why not.
    pub(crate) fn wanted(&self, name: &[u8]) -> Result<(), &'static str> {
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

/// What is known of an open file: whether it is a directory that was opened to be read, whether it was synced, and
/// whether its name is one that the program is to touch.
const DIRECTORY: u64 = 1;
const SYNCED: u64 = 2;
const WANTED: u64 = 4;
const UNWANTED: u64 = 8;

/// Marks directories and files that are synced: reading a directory that is not is a command that opens and closes it
/// itself.
fn directories(trace: &Trace) -> PerNumber {
    let mut files = PerNumber::of_calls(trace.calls.len());
    let is = |op| matches!(op, Op::Open | Op::Readdir | Op::Sync | Op::DataSync);
    for (_, call) in trace.calls.having(is).filter(|(_, call)| call.errno == 0 && call.file != NONE) {
        let mark = match call.op {
            Op::Open if call.flags & O_DIRECTORY != 0 => DIRECTORY,
            Op::Readdir => DIRECTORY,
            Op::Sync | Op::DataSync => SYNCED,
            _ => continue,
        };
        files.set(call.file, files.get(call.file) | mark);
    }
    files
}

/// Which calls stay, in the order of their beginning; what is left out is counted in the trace.
pub fn select(trace: &mut Trace, choice: &Choice) -> Packed {
    let verdicts: Vec<Result<(), &'static str>> =
        trace.names.iter().map(|name| choice.wanted(name)).collect();
    let of = |name: u32| if name == NONE { Ok(()) } else { verdicts[name as usize] };
    let mut counts: HashMap<&'static str, u64> = HashMap::default();
    let mut kept = Packed::default();
    let mut files = directories(trace);
    let (mut mapped, mut copies) = (0_u64, false);
    let mut unrepeated: BTreeMap<u32, u64> = BTreeMap::new();
    let mut reader = CallReader::of(&[OP, ERRNO, FLAGS, FILE, PATH, OTHER]);
    for at in trace.calls.by_start() {
        let call = reader.get(&trace.calls, at);
        if call.op.command().is_none() {
            let number = if call.op == Op::Unrepeated { trace.calls.get(at as usize).offset } else { 1 };
            match (call.op, of(call.path)) {
                (Op::Map, Ok(())) => mapped += 1,
                (Op::Unrepeated, Ok(())) => *unrepeated.entry(call.flags).or_default() += number,
                (Op::Map | Op::Unrepeated | Op::Readlink, Err(why)) => {
                    *counts.entry(why).or_default() += number;
                }
                _ => {}
            }
            continue;
        }
        let known = if call.file == NONE { 0 } else { files.get(call.file) };
        if matches!(call.op, Op::Open | Op::Close) && known & (DIRECTORY | SYNCED) == DIRECTORY {
            want(&mut files, call.file, of(call.path).is_ok());
            of(call.path).unwrap_or_else(|why| *counts.entry(why).or_default() += 1);
            continue;
        }
        if call.op == Op::Readdir && call.flags & AGAIN != 0 {
            of(call.path).unwrap_or_else(|why| *counts.entry(why).or_default() += 1);
            continue;
        }
        let by_name = of(call.path).and(of(call.second()));
        if call.file != NONE && (call.op == Op::Open && call.errno == 0 || known & (WANTED | UNWANTED) == 0) {
            want(&mut files, call.file, by_name.is_ok());
        }
        let verdict = match call.op {
            Op::Open if call.errno == 0 => by_name,
            _ if call.file == NONE => by_name,
            _ if files.get(call.file) & WANTED != 0 => Ok(()),
            _ => Err(by_name.err().unwrap_or("calls on files elsewhere (--only)")),
        };
        match verdict.and(repeatable(&call)) {
            Ok(()) => {
                copies |= call.is_copy(Op::Read) || call.is_copy(Op::Write);
                kept.push(u64::from(at));
            }
            Err(why) => *counts.entry(why).or_default() += u64::from(!call.is_further()),
        }
    }
    for (what, count) in unrepeated {
        let what = trace.unrepeated.get(what as usize).map_or("a call", |one| &one.what);
        let why = format!("{what}, which no program repeats");
        *trace.left_out.entry(why).or_default() += count;
    }
    if mapped > 0 {
        counts.insert("mappings of files, whose reads and writes of memory are in no trace", mapped);
    }
    for (why, count) in counts {
        *trace.left_out.entry(why.to_owned()).or_default() += count;
    }
    if copies {
        part_copies(trace, &kept, choice);
    }
    kept
}

/// Keeps whether the calls on an open file are to be done.
fn want(files: &mut PerNumber, file: u32, wanted: bool) {
    let known = files.get(file) & (DIRECTORY | SYNCED);
    files.set(file, known | if wanted { WANTED } else { UNWANTED });
}

/// Takes copies apart of which only the read or only the write stays, or all where the choice says so.
fn part_copies(trace: &mut Trace, kept: &Packed, choice: &Choice) {
    let mut left = kept.iter().map(|at| at as u32).peekable();
    let mut reader = CallReader::default();
    while let Some(at) = left.next() {
        let call = reader.get(&trace.calls, at);
        let whole = |write: Call| {
            write.is_copy(Op::Write) && (write.start, write.thread) == (call.start, call.thread)
        };
        let mut is_whole = |write: &u32| *write == at + 1 && whole(reader.get(&trace.calls, *write));
        if call.is_copy(Op::Read) && !choice.read_and_write && left.peek().is_some_and(&mut is_whole) {
            left.next();
        } else {
            trace.calls.part(at as usize);
        }
    }
}

/// Whether a program can do what a call did, and otherwise why not.
pub(crate) fn repeatable(call: &Call) -> Result<(), &'static str> {
    let on_open_file = call.file != NONE && call.op != Op::Open;
    match call.errno {
        0 => Ok(()),
        errno if REPEATABLE.contains(&errno) && !on_open_file => Ok(()),
        _ => Err("calls that failed for a reason that is not in the names"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_head_of_a_program_tells_how_it_was_made(
            only in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..3),
            all: bool,
            read_and_write: bool,
        ) {
            let only = only.iter().map(|name| crate::names::resolve(b"/", name)).collect();
            let choice = Choice { only, all, read_and_write };
            let head = |anonymise| {
                let lines: Vec<String> = choice.told(anonymise).map(|line| format!("# {line}\n")).collect();
                format!("# Made by a test.\n{}\n# Made with --all\n", lines.concat())
            };
            let told = ToldChoice::of(&head(false));
            prop_assert_eq!(&told, &ToldChoice { choice: choice.clone(), is_hidden: false });
            let told = ToldChoice::of(&head(true));
            let hidden = Choice { only: Vec::new(), ..choice.clone() };
            prop_assert_eq!(told, ToldChoice { choice: hidden, is_hidden: !choice.only.is_empty() });
        }
    }
}
