//! Facts of open files and names over a whole trace, which single calls do not tell.

use std::collections::BTreeSet;

use crate::flags::O_DIRECTORY;
use crate::lanes::Lanes;
use crate::maps::HashMap;
use crate::model::column::{ERRNO, FILE, FLAGS, OP, OTHER, PATH, START};
use crate::model::{CallReader, DEPTH_SHIFT, NONE, Op, Trace, UNKNOWN, Was};
use crate::per_number::PerNumber;

/// What is known of open files over the whole trace.
pub struct FileFacts {
    /// Flags with which a file was opened, and 1.
    flags: PerNumber,
    /// Files that several strands use: their position is shared, so that offsets are written out.
    pub shared: BTreeSet<u32>,
    /// When the name of an open file was removed.
    pub gone: HashMap<u32, u64>,
    /// The first strand that uses each file, and 1.
    user: PerNumber,
    /// The last call of the rank of that strand on each file, and 1.
    last_use: PerNumber,
    /// The last call of each other rank on each file.
    last_of_others: HashMap<(u32, u32), u32>,
    /// The last call of each strand on each file that several strands use.
    last_of_strands: HashMap<(u32, u32), u32>,
    /// The close of each such file.
    closes: HashMap<u32, u32>,
    /// How many transfers were in flight at most, of files with such that complete later.
    pub depth: HashMap<u32, u32>,
    /// Names of directories.
    pub directories: BTreeSet<u32>,
    /// Names of symbolic links.
    pub links: BTreeSet<u32>,
}

impl FileFacts {
    /// The facts of a trace.
    pub fn of(trace: &Trace, lanes: &Lanes) -> Self {
        let calls = trace.calls.len();
        let mut facts = Self {
            flags: PerNumber::of_calls(calls),
            shared: BTreeSet::new(),
            gone: HashMap::default(),
            user: PerNumber::of_calls(calls),
            last_use: PerNumber::of_calls(calls),
            last_of_others: HashMap::default(),
            last_of_strands: HashMap::default(),
            closes: HashMap::default(),
            depth: HashMap::default(),
            directories: directories(trace),
            links: links(trace),
        };
        // Open files by name, of names that are removed at some time.
        let mut open: HashMap<u32, Vec<u32>> = removed(trace);
        let rank_of = |strand: u32| lanes.strands[strand as usize].rank;
        let mut reader = CallReader::of(&[START, OP, ERRNO, FLAGS, FILE, PATH, OTHER]);
        for at in trace.calls.by_start() {
            let call = reader.get(&trace.calls, at);
            let strand = lanes.strand_of(at);
            if strand == NONE || call.errno != 0 {
                continue;
            }
            if call.op == Op::Unlink || call.op == Op::Rename {
                let name = if call.op == Op::Unlink { call.path } else { call.other };
                for file in open.get_mut(&name).map(std::mem::take).unwrap_or_default() {
                    facts.gone.insert(file, call.start);
                }
            }
            if call.file == NONE || call.op.command().is_none() {
                continue;
            }
            if call.op == Op::Open {
                facts.flags.set(call.file, u64::from(call.flags) + 1);
                if let Some(open) = open.get_mut(&call.path) {
                    open.push(call.file);
                }
            }
            let first = match facts.user.get(call.file) {
                0 => {
                    facts.user.set(call.file, u64::from(strand) + 1);
                    strand
                }
                first => (first - 1) as u32,
            };
            if first != strand {
                facts.shared.insert(call.file);
            }
            if matches!(call.op, Op::Read | Op::Write) && call.flags >> DEPTH_SHIFT > 0 {
                let depth = facts.depth.entry(call.file).or_default();
                *depth = (*depth).max(call.flags >> DEPTH_SHIFT);
            }
            match rank_of(strand) {
                rank if rank == rank_of(first) => facts.last_use.set(call.file, u64::from(at) + 1),
                rank => drop(facts.last_of_others.insert((rank, call.file), at)),
            }
        }
        facts.of_shared(trace, lanes);
        facts
    }

    /// Facts of files that several strands use.
    fn of_shared(&mut self, trace: &Trace, lanes: &Lanes) {
        if self.shared.is_empty() {
            return;
        }
        let mut reader = CallReader::of(&[OP, ERRNO, FILE]);
        for at in trace.calls.by_start() {
            let call = reader.get(&trace.calls, at);
            let strand = lanes.strand_of(at);
            if strand == NONE || call.errno != 0 || !self.shared.contains(&call.file) {
                continue;
            }
            self.last_of_strands.insert((strand, call.file), at);
            if call.op == Op::Close {
                self.closes.insert(call.file, at);
            }
        }
    }

    /// Whether a call is the last one of its strand on a file that several strands use.
    pub fn is_last_of_strand(&self, strand: u32, file: u32, at: u32) -> bool {
        self.last_of_strands.get(&(strand, file)) == Some(&at)
    }

    /// Whether a strand uses a file that several strands use.
    pub fn is_used_by(&self, strand: u32, file: u32) -> bool {
        self.last_of_strands.contains_key(&(strand, file))
    }

    /// The close of a file that several strands use.
    pub fn close_of(&self, file: u32) -> Option<u32> {
        self.closes.get(&file).copied()
    }

    /// The flags with which a file was opened, where the trace tells.
    pub fn flags(&self, file: u32) -> Option<u32> {
        self.flags.get(file).checked_sub(1).map(|flags| flags as u32)
    }

    /// Whether a call is the last one of a rank on a file.
    pub fn is_last_use(&self, rank: u32, file: u32, at: u32, lanes: &Lanes) -> bool {
        let Some(first) = self.user.get(file).checked_sub(1) else { return false };
        match lanes.strands[first as usize].rank == rank {
            true => self.last_use.get(file) == u64::from(at) + 1,
            false => self.last_of_others.get(&(rank, file)) == Some(&at),
        }
    }
}

/// Names that a call removes, or gives to another file.
fn removed(trace: &Trace) -> HashMap<u32, Vec<u32>> {
    let calls = trace.calls.having(|op| matches!(op, Op::Unlink | Op::Rename));
    let names = calls.filter(|(_, call)| call.errno == 0).filter_map(|(_, call)| match call.op {
        Op::Unlink => Some(call.path),
        Op::Rename => Some(call.other),
        _ => None,
    });
    names.map(|name| (name, Vec::new())).collect()
}

/// Names that are directories at some time.
fn directories(trace: &Trace) -> BTreeSet<u32> {
    let seen = trace.sightings.iter().filter(|(_, seen)| seen.was == Was::Directory).map(|(name, _)| *name);
    let is = |op| matches!(op, Op::Mkdir | Op::Rmdir | Op::Readdir | Op::Open | Op::Stat);
    let by_use = trace.calls.having(is).map(|(_, call)| call).filter(|call| match call.op {
        Op::Mkdir | Op::Rmdir | Op::Readdir => call.errno == 0,
        Op::Open => call.errno == 0 && call.flags & O_DIRECTORY != 0,
        Op::Stat => call.offset != UNKNOWN && call.offset & 0o170_000 == 0o040_000,
        _ => false,
    });
    seen.chain(by_use.map(|call| call.path)).collect()
}

/// Names that are symbolic links at some time.
fn links(trace: &Trace) -> BTreeSet<u32> {
    let seen = trace.sightings.iter().filter(|(_, seen)| matches!(seen.was, Was::Link(_)));
    let mut links: BTreeSet<u32> = seen.map(|(name, _)| *name).collect();
    for (_, call) in trace.calls.having(|op| matches!(op, Op::Symlink | Op::Stat | Op::Rename)) {
        match call.op {
            Op::Symlink if call.errno == 0 => drop(links.insert(call.path)),
            Op::Stat if call.offset != UNKNOWN && call.offset & 0o170_000 == 0o120_000 => {
                links.insert(call.path);
            }
            Op::Rename if call.errno == 0 && links.contains(&call.path) => drop(links.insert(call.other)),
            _ => {}
        }
    }
    links
}
