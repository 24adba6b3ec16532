//! From a system call by the table of operations to what it asks for: the recorders and the parser of strace share it.

use std::borrow::Cow;

use operations::{AT_FDCWD, Entry, Operation, Processor, UNKNOWN};

use crate::event::{Asked, AttributeChange, Attributes, Concerns, From, Given};

/// What is known of a call beside its registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    /// Its names, in the order of [`Entry::names`]; empty where there is none.
    pub names: [&'a [u8]; 2],
    /// What `stat` found.
    pub found: Option<Attributes>,
    /// The ends of a pipe, or two sockets.
    pub pair: Option<(i32, i32)>,
    /// Offsets at addresses, as they were before the call.
    pub pointed: [Option<u64>; 2],
    /// What `readlink` gave.
    pub target: Option<&'a [u8]>,
    /// What the call gave.
    pub result: i64,
}

const NO_FOLLOW: u32 = 0x100;

/// What a call asks for; `None` of what means nothing to files, or is told otherwise.
pub fn asked<'a>(
    entry: &'static Entry,
    registers: &[u64; 6],
    processor: Processor,
    told: &Told<'a>,
) -> Option<Asked<'a>> {
    let flat = entry.asked(registers, processor);
    let given = |at: usize| Given { from: from(flat.from[at]), name: told.names[at] };
    let (path, to, descriptor) = (given(0), given(1), flat.files[0]);
    let length = flat.length;
    if flat.beyond != 0
        && let Some(place) = place_of_strange(&flat, path, to)
    {
        let bytes = bytes_of_strange(&flat, told.result);
        let what = with_flags(entry, flat.beyond);
        return Some(Asked::Unrepeated { what, place, changes: true, count: 1, bytes });
    }
    if let Some(changed) = changed(&flat, path) {
        return Some(changed);
    }
    if let Some(extended) = extended(&flat, path, told) {
        return Some(extended);
    }
    if let Some(named) = named(&flat, (path, to), told) {
        return Some(named);
    }
    let unrepeated = |place, count, bytes| {
        let row = flat.operation.row();
        let changes = row.touches.changes();
        Some(Asked::Unrepeated { what: Cow::Borrowed(row.words), place, changes, count, bytes })
    };
    let less = flat.less != 0;
    Some(match flat.operation {
        Operation::Open => Asked::Open {
            path,
            flags: flat.flags,
            permissions: flat.mode,
            less: flat.less | flat.beyond != 0,
        },
        Operation::OpenHandle => return unrepeated(Concerns::Unknown, 1, 0),
        Operation::Close => Asked::Close { descriptor },
        Operation::CloseRange | Operation::CloseRangeOnExec => Asked::CloseRange {
            first: length as u32,
            last: flat.offset.map_or(u32::MAX, |last| u32::try_from(last).unwrap_or(u32::MAX)),
            on_exec: flat.operation == Operation::CloseRangeOnExec,
            unshares: flat.flags & 2 != 0,
        },
        Operation::Read => Asked::Read { descriptor, offset: flat.offset, less },
        Operation::Write => Asked::Write { descriptor, offset: flat.offset, less },
        Operation::Copy => {
            Asked::Copy { from: descriptor, to: flat.files[1], offsets: (told.pointed[0], told.pointed[1]) }
        }
        Operation::Seek => Asked::Seek { descriptor },
        Operation::Sync | Operation::DataSync => {
            Asked::Sync { descriptor, data_only: flat.operation == Operation::DataSync }
        }
        Operation::Truncate => Asked::Truncate { descriptor, length },
        Operation::TruncateName => Asked::TruncateName { path, length },
        Operation::Allocate
        | Operation::Reserve
        | Operation::Punch
        | Operation::Collapse
        | Operation::Zero
        | Operation::Insert
        | Operation::Unshare => {
            let offset = flat.offset.unwrap_or(0);
            Asked::Allocate { descriptor, offset, length, mode: flat.flags }
        }
        Operation::SyncRange => return unrepeated(Concerns::File(descriptor), 1, length),
        Operation::SyncAll => return unrepeated(Concerns::Unknown, 1, 0),
        Operation::Duplicate => Asked::Duplicate { descriptor, close_on_exec: false },
        Operation::DuplicateOnExec => Asked::Duplicate { descriptor, close_on_exec: true },
        Operation::Descriptor => return of_descriptor(descriptor, flat.mode, length),
        Operation::MakeNode | Operation::GetAttribute => return unrepeated(Concerns::Name(path), 1, 0),
        Operation::GetAttributeOpen => return unrepeated(Concerns::File(descriptor), 1, 0),
        Operation::Map if descriptor >= 0 => {
            Asked::Map { descriptor, length, shared_write: registers[3] & 1 != 0 && registers[2] & 2 != 0 }
        }
        Operation::Chdir => Asked::Chdir { path },
        Operation::ChdirOpen => Asked::ChdirOpen { descriptor },
        Operation::WorkingDirectory => Asked::WorkingDirectory { path: path.name },
        Operation::Exec => Asked::Exec { path: path.name },
        Operation::Wait => Asked::Wait,
        Operation::Pipe => told.pair.map(|(read, write)| Asked::Pipe { read, write })?,
        Operation::SocketPair => told.pair.map(|(one, other)| Asked::SocketPair { one, other })?,
        Operation::Socket => Asked::Socket,
        Operation::Bind if !path.name.is_empty() => Asked::Bind { path },
        // What they submit is not known here. One that waits alone submits nothing.
        Operation::RingEnter | Operation::Submit => match u64::try_from(told.result) {
            Ok(count) if length > 0 && count > 0 => return unrepeated(Concerns::Unknown, count, 0),
            _ => return None,
        },
        Operation::RingSetup => Asked::Socket,
        // These are told otherwise, or mean nothing.
        _ => return None,
    })
}

/// A change of an extended attribute. A program changes those of users alone: others give rights.
fn extended<'a>(flat: &operations::Asked, path: Given<'a>, told: &Told<'a>) -> Option<Asked<'a>> {
    let (is_open, sets) = match flat.operation {
        Operation::SetAttribute => (false, true),
        Operation::SetAttributeOpen => (true, true),
        Operation::RemoveAttribute => (false, false),
        Operation::RemoveAttributeOpen => (true, false),
        _ => return None,
    };
    let (key, descriptor) = (told.names[usize::from(!is_open)], flat.files[0]);
    if !key.starts_with(b"user.") {
        let what = format!("{} of a name that does not begin with user.", flat.operation.row().words);
        let place = if is_open { Concerns::File(descriptor) } else { Concerns::Name(path) };
        return Some(Asked::Unrepeated { what: what.into(), place, changes: false, count: 1, bytes: 0 });
    }
    let size = sets.then_some(flat.length);
    let follow = flat.flags & NO_FOLLOW == 0;
    Some(Asked::Extended { path: (!is_open).then_some(path), descriptor, follow, key, size })
}

/// What asks about names, or changes them.
fn named<'a>(
    flat: &operations::Asked,
    (path, to): (Given<'a>, Given<'a>),
    told: &Told<'a>,
) -> Option<Asked<'a>> {
    let descriptor = flat.files[0];
    Some(match flat.operation {
        // With an empty name the call is about an open file.
        Operation::Stat if path.name.is_empty() && flat.from[0] != AT_FDCWD => {
            Asked::StatOpen { descriptor: flat.from[0], found: told.found }
        }
        Operation::Stat => Asked::Stat { path, follow: flat.flags & NO_FOLLOW == 0, found: told.found },
        Operation::StatOpen => Asked::StatOpen { descriptor, found: told.found },
        Operation::Lookup => Asked::Lookup { path },
        Operation::Unlink => Asked::Unlink { path },
        Operation::Rmdir => Asked::Rmdir { path },
        Operation::Mkdir => Asked::Mkdir { path, permissions: flat.mode },
        Operation::Readdir => Asked::Readdir { descriptor },
        Operation::Rename => Asked::Rename { from: path, to, new: false },
        Operation::RenameNew => Asked::Rename { from: path, to, new: true },
        Operation::Exchange => Asked::Exchange { from: path, to },
        Operation::LinkOpen if path.name.is_empty() => Asked::LinkOpen { descriptor: flat.from[0], to },
        Operation::Link | Operation::LinkOpen => Asked::Link { from: path, to },
        Operation::Symlink => Asked::Symlink { target: told.names[1], path },
        Operation::Readlink => Asked::Readlink { path, target: told.target },
        _ => return None,
    })
}

/// The directory from which a relative name counts.
pub fn from(descriptor: i32) -> From {
    if descriptor == AT_FDCWD { From::Here } else { From::Descriptor(descriptor) }
}

/// What a call is about whose flags are not understood; `None` of one that is repeated without them.
fn place_of_strange<'a>(flat: &operations::Asked, path: Given<'a>, to: Given<'a>) -> Option<Concerns<'a>> {
    match flat.operation {
        Operation::Read | Operation::Write | Operation::Allocate | Operation::Reserve => {
            Some(Concerns::File(flat.files[0]))
        }
        Operation::Punch | Operation::Collapse | Operation::Zero | Operation::Insert | Operation::Unshare => {
            Some(Concerns::File(flat.files[0]))
        }
        Operation::Rename | Operation::RenameNew | Operation::Exchange => Some(Concerns::Names(path, to)),
        Operation::Link | Operation::LinkOpen => Some(Concerns::Names(path, to)),
        Operation::Unlink | Operation::Rmdir => Some(Concerns::Name(path)),
        _ => None,
    }
}

/// The bytes that it moves or changes.
fn bytes_of_strange(flat: &operations::Asked, result: i64) -> u64 {
    match flat.operation {
        Operation::Read | Operation::Write => u64::try_from(result).unwrap_or(0),
        Operation::Allocate
        | Operation::Reserve
        | Operation::Punch
        | Operation::Collapse
        | Operation::Zero
        | Operation::Insert
        | Operation::Unshare => flat.length,
        _ => 0,
    }
}

/// `renameat2 with RENAME_WHITEOUT`, or with the number of what has no word.
fn with_flags(entry: &Entry, beyond: u32) -> Cow<'static, str> {
    let mut words = Vec::new();
    let left = entry.flags().map_or(beyond, |(_, set)| set.words(beyond, |word| words.push(word.to_owned())));
    match left {
        0 => {}
        UNKNOWN => words.push("a flag whose name is not known".to_owned()),
        left => words.push(format!("the flag {left:#x}")),
    }
    Cow::Owned(format!("{} with {}", entry.name, words.join(" and ")))
}

fn of_descriptor<'a>(descriptor: i32, request: u32, argument: u64) -> Option<Asked<'a>> {
    const F_DUPFD: u32 = 0;
    const F_SETFD: u32 = 2;
    const F_DUPFD_CLOEXEC: u32 = 1030;
    match request {
        F_DUPFD => Some(Asked::Duplicate { descriptor, close_on_exec: false }),
        F_DUPFD_CLOEXEC => Some(Asked::Duplicate { descriptor, close_on_exec: true }),
        F_SETFD => Some(Asked::CloseOnExec { descriptor, on: argument & 1 != 0 }),
        _ => None,
    }
}

/// A change of an attribute. Where a directory comes before the name, an empty name, or none, means what is open there.
fn changed<'a>(flat: &operations::Asked, path: Given<'a>) -> Option<Asked<'a>> {
    let change = match flat.operation {
        Operation::Chmod | Operation::ChmodOpen => AttributeChange::Permissions(flat.mode),
        Operation::Chown | Operation::ChownOpen => AttributeChange::Owner,
        Operation::Utimes => AttributeChange::Times,
        _ => return None,
    };
    Some(match flat.operation {
        Operation::ChmodOpen | Operation::ChownOpen => {
            Asked::ChangeOpen { descriptor: flat.files[0], change }
        }
        _ if path.name.is_empty() && flat.from[0] != AT_FDCWD => {
            Asked::ChangeOpen { descriptor: flat.from[0], change }
        }
        _ => Asked::Change { path, follow: flat.flags & NO_FOLLOW == 0, change },
    })
}
