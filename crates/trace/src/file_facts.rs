//! Facts of open files and names over a whole trace, which single calls do not tell.

use std::collections::BTreeSet;

use crate::flags::O_DIRECTORY;
use crate::lanes::Lanes;
use crate::maps::HashMap;
use crate::model::{DEPTH_SHIFT, NONE, Op, Trace, UNKNOWN, Was};

/// What is known of open files over the whole trace.
pub struct FileFacts {
    /// Flags with which a file was opened.
    pub flags: HashMap<u32, u32>,
    /// Files that several strands use: their position is shared, so that offsets are written out.
    pub shared: BTreeSet<u32>,
    /// When the name of an open file was removed.
    pub gone: HashMap<u32, u64>,
    /// The last call of each rank on each file.
    pub last_use: HashMap<(u32, u32), u32>,
    /// How many transfers were in flight at most, of files with such that complete later.
    pub depth: HashMap<u32, u32>,
    /// Names of directories.
    pub directories: BTreeSet<u32>,
}

impl FileFacts {
    /// The facts of a trace.
    pub fn of(trace: &Trace, lanes: &Lanes) -> Self {
        let mut facts = Self {
            flags: HashMap::default(),
            shared: BTreeSet::new(),
            gone: HashMap::default(),
            last_use: HashMap::default(),
            depth: HashMap::default(),
            directories: directories(trace),
        };
        let mut user: HashMap<u32, u32> = HashMap::default();
        let mut open: HashMap<u32, Vec<u32>> = HashMap::default();
        for at in trace.calls.by_start() {
            let call = trace.calls.get(at as usize);
            let strand = lanes.strand_of[at as usize];
            if strand == NONE || call.errno != 0 {
                continue;
            }
            if call.op == Op::Unlink || call.op == Op::Rename {
                let name = if call.op == Op::Unlink { call.path } else { call.other };
                for file in open.remove(&name).unwrap_or_default() {
                    facts.gone.insert(file, call.start);
                }
            }
            if call.file == NONE || call.op.command().is_none() {
                continue;
            }
            if call.op == Op::Open {
                facts.flags.insert(call.file, call.flags);
                open.entry(call.path).or_default().push(call.file);
            }
            if *user.entry(call.file).or_insert(strand) != strand {
                facts.shared.insert(call.file);
            }
            if matches!(call.op, Op::Read | Op::Write) && call.flags >> DEPTH_SHIFT > 0 {
                let depth = facts.depth.entry(call.file).or_default();
                *depth = (*depth).max(call.flags >> DEPTH_SHIFT);
            }
            facts.last_use.insert((lanes.strands[strand as usize].rank, call.file), at);
        }
        facts
    }
}

/// Names that are directories at some time.
fn directories(trace: &Trace) -> BTreeSet<u32> {
    let seen = trace.sightings.iter().filter(|(_, seen)| seen.was == Was::Directory).map(|(name, _)| *name);
    let by_use = trace.calls.iter().filter(|call| match call.op {
        Op::Mkdir | Op::Rmdir | Op::Readdir => call.errno == 0,
        Op::Open => call.errno == 0 && call.flags & O_DIRECTORY != 0,
        Op::Stat => call.offset != UNKNOWN && call.offset & 0o170_000 == 0o040_000,
        _ => false,
    });
    seen.chain(by_use.map(|call| call.path)).collect()
}
