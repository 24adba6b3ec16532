//! What the records of the preloaded library ask for.

use operations::{Entry, Processor};
use trace::asked::Told;
use trace::event::{Asked, AttributeChange, Attributes, Concerns, Given};

use super::{NEW, Reader, Record, RecordKind};

/// The names of an event whose meaning before the call is not that of after it.
pub(super) fn names<'a>(asked: &Asked<'a>) -> Vec<Given<'a>> {
    match asked {
        Asked::Mkdir { path, .. } | Asked::Symlink { path, .. } => vec![*path],
        Asked::Link { to, .. } | Asked::Rename { to, .. } => vec![*to],
        // The library does not look at what these tell.
        Asked::Stat { path, .. } => vec![*path],
        Asked::Open { path, flags, .. } if *flags as i32 & NEW == NEW => vec![*path],
        _ => Vec::new(),
    }
}

/// What a record asks for; `None` of what means nothing to files.
pub(super) fn asked<'a>(record: &Record<'a>) -> Option<Asked<'a>> {
    let [a, b, c, d] = record.numbers;
    let descriptor = a as i32;
    let path = Reader::given(a, record.one);
    let found = |mode: i64, size: i64| {
        (mode >= 0).then_some(Attributes { mode: mode as u32, size: u64::try_from(size).unwrap_or(0) })
    };
    let offset = u64::try_from(b).ok();
    Some(match record.kind {
        RecordKind::Open => {
            Asked::Open { path, flags: open_flags(b as u32), permissions: c as u32, less: false }
        }
        RecordKind::Close => Asked::Close { descriptor },
        RecordKind::CloseRange => {
            Asked::CloseRange { first: a as u32, last: b as u32, on_exec: c & 4 != 0, unshares: c & 2 != 0 }
        }
        RecordKind::Read => return by_table(record, "preadv2", [a, 0, 0, b, 0, c]),
        RecordKind::Write => return by_table(record, "pwritev2", [a, 0, 0, b, 0, c]),
        RecordKind::Copy => {
            let offsets = (u64::try_from(c).ok(), u64::try_from(d).ok());
            Asked::Copy { from: descriptor, to: b as i32, offsets }
        }
        RecordKind::Clone => Asked::Clone {
            from: descriptor,
            to: b as i32,
            offsets: (u64::try_from(c).ok()?, u64::try_from(d).ok()?),
            length: u64::try_from(record.result).ok(),
        },
        RecordKind::Seek => Asked::Seek { descriptor },
        RecordKind::Sync => Asked::Sync { descriptor, data_only: b != 0 },
        RecordKind::Truncate => Asked::Truncate { descriptor, length: offset? },
        RecordKind::TruncateName => Asked::TruncateName { path, length: offset? },
        RecordKind::Allocate => return by_table(record, "fallocate", [a, d, b, c, 0, 0]),
        RecordKind::Duplicate => Asked::Duplicate { descriptor, close_on_exec: b != 0 },
        RecordKind::CloseOnExec => Asked::CloseOnExec { descriptor, on: b != 0 },
        RecordKind::Stat => Asked::Stat { path, follow: b != 0, found: found(c, d) },
        RecordKind::StatOpen => Asked::StatOpen { descriptor, found: found(c, d) },
        RecordKind::Lookup => Asked::Lookup { path },
        RecordKind::Unlink => Asked::Unlink { path },
        RecordKind::Rmdir => Asked::Rmdir { path },
        RecordKind::Mkdir => Asked::Mkdir { path, permissions: b as u32 },
        RecordKind::Readdir => Asked::Readdir { descriptor },
        RecordKind::Rename => return by_table(record, "renameat2", [a, 0, b, 0, c, 0]),
        RecordKind::Link => return by_table(record, "linkat", [a, 0, b, 0, c, 0]),
        RecordKind::Symlink => Asked::Symlink { target: record.two, path },
        RecordKind::Readlink => Asked::Readlink { path, target: (record.result >= 0).then_some(record.two) },
        RecordKind::Chmod => {
            Asked::Change { path, follow: c == 0, change: AttributeChange::Permissions(b as u32) }
        }
        RecordKind::ChmodOpen => {
            Asked::ChangeOpen { descriptor, change: AttributeChange::Permissions(b as u32) }
        }
        RecordKind::Chown => Asked::Change { path, follow: c == 0, change: AttributeChange::Owner },
        RecordKind::ChownOpen => Asked::ChangeOpen { descriptor, change: AttributeChange::Owner },
        RecordKind::Utimes => Asked::Change { path, follow: c == 0, change: AttributeChange::Times },
        RecordKind::UtimesOpen => Asked::ChangeOpen { descriptor, change: AttributeChange::Times },
        RecordKind::Map if descriptor >= 0 => {
            Asked::Map { descriptor, length: u64::try_from(b).unwrap_or(0), shared_write: c != 0 }
        }
        RecordKind::Chdir => Asked::Chdir { path },
        RecordKind::ChdirOpen => Asked::ChdirOpen { descriptor },
        RecordKind::Wait => Asked::Wait,
        RecordKind::Pipe => Asked::Pipe { read: descriptor, write: b as i32 },
        RecordKind::Socket => Asked::Socket,
        RecordKind::SocketPair => Asked::SocketPair { one: descriptor, other: b as i32 },
        RecordKind::Bind if record.one.is_empty() => return None,
        RecordKind::Bind => Asked::Bind { path },
        RecordKind::Spawn => {
            Asked::Spawn { shares_memory: false, shares_descriptors: false, shares_directory: false }
        }
        RecordKind::Submitted => {
            let what = match b {
                0 => "submissions to io_uring, or more, which --quiet counts and does not see",
                _ => "submissions of AIO, which --quiet counts and does not see",
            };
            let count = u64::try_from(a).ok().filter(|count| *count > 0)?;
            Asked::Unrepeated { what: what.into(), place: Concerns::Unknown, changes: true, count, bytes: 0 }
        }
        RecordKind::Entry => {
            let number = u64::try_from(a).ok()?;
            return by_entry(record, operations::by_number(number)?, [b, 0, c, d, 0, 0]);
        }
        RecordKind::Map
        | RecordKind::Begin
        | RecordKind::Forked
        | RecordKind::Thread
        | RecordKind::ThreadEnd
        | RecordKind::End
        | RecordKind::Executes
        | RecordKind::Inherit
        | RecordKind::Sight
        | RecordKind::Calibration
        | RecordKind::Own => return None,
    })
}

/// What a system call asks for, by the table of operations.
fn by_table<'a>(record: &Record<'a>, name: &str, registers: [i64; 6]) -> Option<Asked<'a>> {
    by_entry(record, operations::by_name(name.as_bytes())?, registers)
}

fn by_entry<'a>(record: &Record<'a>, entry: &'static Entry, registers: [i64; 6]) -> Option<Asked<'a>> {
    let told = Told { names: [record.one, record.two], result: record.result, ..Told::default() };
    trace::asked::asked(entry, &registers.map(i64::cast_unsigned), Processor::HERE, &told)
}

/// Flags of `open` on this processor as those of x86-64.
fn open_flags(flags: u32) -> u32 {
    let set = operations::by_name(b"openat").and_then(operations::Entry::flags);
    set.map_or(flags, |(_, set)| {
        set.of_processor(flags, Processor::HERE) & set.bits(|of| of == operations::Of::Repeated)
    })
}
