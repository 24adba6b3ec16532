//! What a session keeps besides its recorder: places, and operations under way.

use ppl::commands::Command;
use record::StaticSite;
use samples::SiteKind;

use super::open_blocks::WorkDone;
use crate::execute::call::Call;

/// What each operation needs to know of its place, found once.
#[derive(Clone, Copy, Debug)]
pub(in crate::execute) struct Spot {
    pub(super) line: u32,
    /// `None` of a block, a barrier, or an operation that is none of the language.
    pub(super) command: Option<Command>,
    pub(super) kind: SiteKind,
}

impl Spot {
    pub(super) fn of(place: &StaticSite) -> Self {
        Self { line: place.line, command: Command::find(&place.operation), kind: place.kind }
    }
}

/// By what a result that comes later is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgedBy {
    /// It is to fail with this errno.
    pub expected: Option<i32>,
    /// A failure ends the program.
    pub stop_on_error: bool,
    /// What is read is compared with what was written.
    pub verify: bool,
}

/// One operation under way.
#[derive(Default)]
pub(super) struct StartedOperation {
    pub(super) place: usize,
    pub(super) site: u32,
    pub(super) late_ns: u64,
    /// The block in which it was started.
    pub(super) block: Option<u32>,
    pub(super) judgement: JudgedBy,
    /// What it works on, for a message.
    pub(super) file: Option<u32>,
    pub(super) names: Vec<u8>,
}

/// All operations under way.
#[derive(Default)]
pub(in crate::execute) struct InFlight {
    /// 0 outside of `async` blocks.
    pub(super) depth: u32,
    /// Depths of the blocks around this one.
    pub(super) outer: Vec<u32>,
    pub(super) all: Vec<StartedOperation>,
    pub(super) free: Vec<u32>,
    pub(super) under_way: u32,
    /// The block is under way one by one.
    pub(super) in_order: bool,
    /// The journal says that samples stand in no order.
    pub(super) unordered: bool,
    /// What operations that were started have done so far; they count for the blocks in which they were started.
    pub(super) done: WorkDone,
}

impl StartedOperation {
    #[inline]
    pub(super) fn note(&mut self, call: &Call<'_>) {
        self.names.clear();
        self.file = match call {
            Call::Write { file, .. }
            | Call::Read { file, .. }
            | Call::Sync { file, .. }
            | Call::Allocate { file, .. } => Some(*file),
            Call::WriteFile { path, .. }
            | Call::ReadFile { path, .. }
            | Call::Create { path }
            | Call::Stat { path }
            | Call::Delete { path }
            | Call::Unlink { path }
            | Call::RemoveDirectory { path }
            | Call::MakeDirectory { path, .. } => {
                self.names.extend_from_slice(path.to_bytes());
                None
            }
            Call::Open { .. }
            | Call::Close { .. }
            | Call::Copy { .. }
            | Call::Seek { .. }
            | Call::MapFile { .. }
            | Call::Rename { .. }
            | Call::Link { .. }
            | Call::SymbolicLink { .. }
            | Call::Lookup { .. }
            | Call::Change { .. }
            | Call::ChangeOpen { .. }
            | Call::Attribute { .. }
            | Call::AttributeOpen { .. }
            | Call::Truncate { .. }
            | Call::Advise { .. }
            | Call::StatOpen { .. }
            | Call::Cached { .. }
            | Call::DirectAlignment { .. }
            | Call::ReadDirectory { .. }
            | Call::SyncAll
            | Call::DropCaches
            | Call::TakeMemory { .. }
            | Call::GiveBackMemory { .. }
            | Call::Stripe { .. } => None,
        };
    }
}
