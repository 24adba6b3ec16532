//! The state of a traced application.

use std::ops::{Index, IndexMut};

use crate::event::Event;
use crate::maps::HashMap;
use crate::model::{Call, NONE, Op, Trace};

/// What an open file description is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    PipeEnd(u32),
    Socket,
}

/// What descriptors share after `dup` and `fork`.
#[derive(Debug)]
pub(super) struct OpenDescription {
    pub(super) kind: Kind,
    pub(super) path: u32,
    pub(super) flags: u32,
    pub(super) position: u64,
    pub(super) references: u32,
    /// Bytes that a read of its directory gave.
    pub(super) listed: bool,
    /// The size that `fstat` told last.
    pub(super) told: Option<u64>,
    /// It has no name in the application, and one in the program as long as it is open.
    pub(super) unnamed: bool,
}

/// The descriptions that a descriptor has, by number. Each has as many references as there are slots with its number, or more.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    open: HashMap<u32, OpenDescription>,
    /// How many there were.
    count: u32,
}

impl Descriptions {
    /// The number of a description that no descriptor has.
    pub(super) fn number(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    /// Keeps one that a descriptor has; its number.
    pub(super) fn add(&mut self, description: OpenDescription) -> u32 {
        let number = self.number();
        self.open.insert(number, description);
        number
    }

    /// Takes a reference off; what it is, and whether it was the last one.
    pub(super) fn release(&mut self, number: u32) -> (Kind, u32, bool) {
        let Some(one) = self.open.get_mut(&number) else { return (Kind::Socket, NONE, false) };
        one.references = one.references.saturating_sub(1);
        let (kind, path, last) = (one.kind, one.path, one.references == 0);
        if last {
            self.open.remove(&number);
        }
        (kind, path, last)
    }

    /// Whether it is a file without a name.
    pub(super) fn is_unnamed(&self, number: u32) -> bool {
        self.open.get(&number).is_some_and(|one| one.unnamed)
    }

    /// All of them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut OpenDescription> {
        self.open.values_mut()
    }
}

impl Index<u32> for Descriptions {
    type Output = OpenDescription;

    fn index(&self, number: u32) -> &OpenDescription {
        &self.open[&number]
    }
}

impl IndexMut<u32> for Descriptions {
    fn index_mut(&mut self, number: u32) -> &mut OpenDescription {
        match self.open.get_mut(&number) {
            Some(one) => one,
            None => panic!("no descriptor has description {number}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) description: u32,
    pub(super) close_on_exec: bool,
}

/// One thread that is alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Living {
    pub(super) thread: u32,
    pub(super) table: u32,
    pub(super) directory: u32,
}

/// Follows a traced application.
#[derive(Debug)]
pub struct Follower {
    /// The trace so far.
    pub trace: Trace,
    /// For how long the recorder had stopped the thread of the calls that are taken now: [`Call::held`].
    pub held: u64,
    /// By how much the recorder made the calls that are taken now longer, in nanoseconds: it is taken off their durations.
    pub longer: u64,
    pub(super) living: HashMap<u32, Living>,
    pub(super) tables: Vec<HashMap<i32, Slot>>,
    /// How many threads use each table.
    pub(super) users: Vec<u32>,
    pub(super) directories: Vec<Vec<u8>>,
    pub(super) descriptions: Descriptions,
    pub(super) pipes: HashMap<Vec<u8>, u32>,
    pub(super) pipe_count: u32,
    /// How many files without a name there were, and exchanges of two names.
    pub(super) unnamed: u32,
    pub(super) exchanges: u32,
    /// The working directory of a thread whose start is not in the trace.
    pub(super) start_directory: Vec<u8>,
    pub(super) told: Option<Vec<u8>>,
    /// By thread number: how many threads have had it, since numbers are reused.
    pub(super) last_thread: HashMap<u32, u32>,
}

/// The model's call of an event.
pub(super) fn call(op: Op, living: Living, event: &Event<'_>) -> Call {
    Call { errno: event.errno, ..Call::new(op, living.thread, event.start, event.duration) }
}
