//! The state of a traced application.

use crate::event::Event;
use crate::maps::HashMap;
use crate::model::{Call, Op, Trace};

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
    pub(super) descriptions: Vec<OpenDescription>,
    pub(super) pipes: HashMap<Vec<u8>, u32>,
    pub(super) pipe_count: u32,
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
