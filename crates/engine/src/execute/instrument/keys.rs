//! The order of jobs that work on the same file or name.

use std::ffi::CStr;

use crate::execute::call::Call;

/// What two jobs can have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// An open file, and whether the job must wait for its transfers, and they for it.
    File { number: u32, waits: bool, holds: bool },
    /// A name (its hash), and whether the job changes what it stands for.
    Name { hash: u64, changes: bool },
}

impl Key {
    fn name(path: &CStr, changes: bool) -> Self {
        // FNV-1a (Fowler, Noll and Vo 1991): two names that collide wait for each other, no more.
        let hash = path.to_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self::Name { hash, changes }
    }

    /// Must a job with this key wait for one under way with the key `taken`? What is to be on the disk must have been
    /// written, and where an earlier call makes room a later one may need it.
    pub(super) fn waits_for(&self, taken: &Key) -> bool {
        match (self, taken) {
            (Key::File { number, waits, .. }, Key::File { number: theirs, holds, .. }) => {
                number == theirs && (*waits || *holds)
            }
            (Key::Name { hash, changes }, Key::Name { hash: theirs, changes: changed }) => {
                hash == theirs && (*changes || *changed)
            }
            _ => false,
        }
    }

    /// Can it have to wait for a job that is under way, or one that follows for it? Two jobs of which neither does go
    /// beside each other.
    pub(super) fn orders(&self) -> bool {
        match self {
            Key::File { waits, holds, .. } => *waits || *holds,
            Key::Name { changes, .. } => *changes,
        }
    }

    /// Of a call that can be submitted.
    pub(super) fn of(call: &Call<'_>) -> Option<Self> {
        let file = |number: u32, waits, holds| Some(Self::File { number, waits, holds });
        match call {
            Call::Write { file: number, .. } | Call::Read { file: number, length: Some(_), .. } => {
                file(*number, false, false)
            }
            Call::Sync { file: number, .. } => file(*number, true, false),
            Call::Allocate { file: number, .. } => file(*number, true, true),
            Call::ReadFile { path, .. } | Call::Stat { path } => Some(Self::name(path, false)),
            Call::WriteFile { path, .. }
            | Call::Create { path }
            | Call::Delete { path }
            | Call::Unlink { path }
            | Call::RemoveDirectory { path }
            | Call::MakeDirectory { path, .. } => Some(Self::name(path, true)),
            Call::Read { length: None, .. }
            | Call::Open { .. }
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
        }
    }
}
