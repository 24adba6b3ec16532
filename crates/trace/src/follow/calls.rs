//! Calls on open files and on names.

use super::state::{Follower, Kind, Living, call};
use super::unrepeated::BELOW_UNKNOWN;
use crate::event::{Asked, AttributeChange, Attributes, Event};
use crate::flags::{O_APPEND, O_CREAT, O_EXCL, O_WRONLY};
use crate::model::{AGAIN, BY_FILE, Call, DEPTH_SHIFT, EXPLICIT, NEAREST, NO_FOLLOW, NONE, Op, UNKNOWN};

impl Follower {
    /// A copy is a read and a write of one time; where both are of files they are marked as parts of one call.
    pub(super) fn copy(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Copy { from, to, offsets } = event.asked else { return };
        let first = self.trace.calls.len();
        self.transfer(living, event, from, (offsets.0, false));
        self.transfer(living, event, to, (offsets.1, true));
        if event.result >= 0 {
            self.trace.calls.join(first);
        }
    }

    /// A clone is a copy: `copy_file_range` clones too where a file system can.
    pub(super) fn cloned(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Clone { from, to, offsets, length } = event.asked else { return };
        if event.errno != 0 {
            return;
        }
        let told = self.slot(living, from).and_then(|at| self.descriptions[at].told);
        let Some(length) = length.or_else(|| told.map(|size| size.saturating_sub(offsets.0))) else {
            return self.missed(living, event, "clones of files whose size is not told");
        };
        if length == 0 {
            return;
        }
        let asked = Asked::Copy { from, to, offsets: (Some(offsets.0), Some(offsets.1)) };
        let result = i64::try_from(length).unwrap_or(i64::MAX);
        self.copy(living, &Event { result, asked, ..event.clone() });
    }

    pub(super) fn transfer(
        &mut self,
        living: Living,
        event: &Event<'_>,
        descriptor: i32,
        how: (Option<u64>, bool),
    ) {
        let (offset, writes) = how;
        let Some(at) = self.description(living, event, descriptor) else {
            return self.unknown_transfer(living, event, descriptor);
        };
        let bytes = u64::try_from(event.result).unwrap_or(0);
        let description = &mut self.descriptions[at];
        let path = description.path;
        let op = match (description.kind, writes) {
            (Kind::File, false) => Op::Read,
            (Kind::File, true) => Op::Write,
            (Kind::PipeEnd(_), false) => Op::PipeRead,
            (Kind::PipeEnd(_), true) => Op::PipeWrite,
            (Kind::Socket, false) => Op::Receive,
            (Kind::Socket, true) => Op::Send,
            (Kind::Directory, _) => return,
        };
        if let Kind::PipeEnd(pipe) = description.kind {
            if event.result > 0 || (!writes && event.result == 0) {
                self.push(Call { file: pipe, bytes, ..call(op, living, event) });
            }
            return;
        }
        let place = match offset {
            Some(offset) => offset,
            None if writes && description.flags & O_APPEND != 0 => UNKNOWN,
            None => {
                let here = description.position;
                description.position = here.saturating_add(bytes);
                here
            }
        };
        let less = matches!(event.asked, Asked::Read { less: true, .. } | Asked::Write { less: true, .. });
        let flags = if offset.is_some() { EXPLICIT } else { 0 } | if less { NEAREST } else { 0 };
        self.push(Call { file: at, path, bytes, flags, offset: place, ..call(op, living, event) });
    }

    /// A transfer that completes later counts as complete.
    pub(super) fn submitted(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Submit { descriptor, writes, offset, depth } = event.asked else { return };
        let Some(at) = self.description(living, event, descriptor) else {
            return self.unknown_transfer(living, event, descriptor);
        };
        if self.descriptions[at].kind != Kind::File {
            return;
        }
        let path = self.descriptions[at].path;
        let op = if writes { Op::Write } else { Op::Read };
        let bytes = u64::try_from(event.result).unwrap_or(0);
        let flags = EXPLICIT | depth.min(0xffff) << DEPTH_SHIFT;
        self.push(Call { file: at, path, bytes, flags, offset, ..call(op, living, event) });
    }

    /// A file that is opened, and closed at once: a program's way to say what a call did by name.
    fn open_and_close(&mut self, living: Living, event: &Event<'_>, path: u32, flags: u32, cut: Option<u64>) {
        let file = self.descriptions.number();
        let opened = Call { path, flags, bytes: UNKNOWN, offset: 0o644, ..call(Op::Open, living, event) };
        if event.result < 0 {
            return self.push(Call { file: NONE, ..opened });
        }
        self.push(Call { file, ..opened });
        if let Some(bytes) = cut {
            self.push(Call { file, path, bytes, ..call(Op::Truncate, living, event) });
        }
        self.push(Call { file, path, ..call(Op::Close, living, event) });
    }

    pub(super) fn truncate_by_name(&mut self, living: Living, event: &Event<'_>) {
        let Asked::TruncateName { path: given, length } = event.asked else { return };
        match self.resolved(living, given) {
            Some(path) => self.open_and_close(living, event, path, O_WRONLY, Some(length)),
            None => self.missed(living, event, BELOW_UNKNOWN),
        }
    }

    /// The name of a socket is that of a file in the program.
    pub(super) fn bound(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Bind { path: given } = event.asked else { return };
        if event.result < 0 {
            return;
        }
        if let Some(path) = self.resolved(living, given) {
            self.open_and_close(living, event, path, O_WRONLY | O_CREAT | O_EXCL, None);
        }
    }

    /// An extended attribute is set or removed.
    pub(super) fn extended(&mut self, living: Living, event: &Event<'_>) {
        let Asked::Extended { path: given, descriptor, follow, key, size } = event.asked else { return };
        let op = if size.is_some() { Op::SetAttribute } else { Op::RemoveAttribute };
        let (file, path, flags) = match given {
            Some(given) => match self.resolved(living, given) {
                Some(path) => (NONE, path, if follow { 0 } else { NO_FOLLOW }),
                None => return self.missed(living, event, BELOW_UNKNOWN),
            },
            None => match self.description(living, event, descriptor) {
                Some(at) if matches!(self.descriptions[at].kind, Kind::File | Kind::Directory) => {
                    (at, self.descriptions[at].path, BY_FILE)
                }
                Some(_) => return,
                None => {
                    return self.missed(
                        living,
                        event,
                        "attributes of descriptors whose opening was not seen",
                    );
                }
            },
        };
        let other = self.trace.names.intern(key);
        self.push(Call { file, path, other, flags, bytes: size.unwrap_or(0), ..call(op, living, event) });
    }

    pub(super) fn on_open_file(&mut self, living: Living, event: &Event<'_>) {
        let (descriptor, op) = match event.asked {
            Asked::Seek { descriptor } => (descriptor, Op::Seek),
            Asked::Sync { descriptor, data_only } => {
                (descriptor, if data_only { Op::DataSync } else { Op::Sync })
            }
            Asked::Truncate { descriptor, .. } => (descriptor, Op::Truncate),
            Asked::Allocate { descriptor, .. } => (descriptor, Op::Allocate),
            Asked::StatOpen { descriptor, .. } => (descriptor, Op::Stat),
            Asked::ChangeOpen { descriptor, change } => (descriptor, change.op()),
            Asked::Readdir { descriptor } => (descriptor, Op::Readdir),
            Asked::Map { descriptor, .. } => (descriptor, Op::Map),
            _ => return,
        };
        let Some(at) = self.description(living, event, descriptor) else { return };
        let description = &mut self.descriptions[at];
        if !matches!(description.kind, Kind::File | Kind::Directory) {
            return;
        }
        let mut made = Call { file: at, path: description.path, ..call(op, living, event) };
        match event.asked {
            Asked::Seek { .. } => {
                let to = u64::try_from(event.result).unwrap_or(0);
                if event.result >= 0 && description.kind == Kind::File {
                    description.position = to;
                }
                made.offset = to;
                if description.kind == Kind::Directory {
                    return;
                }
            }
            Asked::Truncate { length, .. } => made.bytes = length,
            Asked::Allocate { offset, length, mode, .. } => {
                (made.offset, made.bytes, made.flags) = (offset, length, mode);
            }
            Asked::StatOpen { found, .. } => {
                description.told = found.map_or(description.told, |found| Some(found.size));
                made.flags = BY_FILE;
                attributes(&mut made, found);
            }
            Asked::ChangeOpen { change, .. } => {
                made.flags = BY_FILE;
                permissions(&mut made, change);
            }
            Asked::Map { length, shared_write, .. } => {
                made.bytes = length;
                made.flags = u32::from(shared_write);
            }
            // One reading of a directory takes several calls.
            Asked::Readdir { .. } => {
                description.kind = Kind::Directory;
                if std::mem::replace(&mut description.listed, true) {
                    made.flags = AGAIN;
                }
            }
            _ => {}
        }
        self.push(made);
    }

    pub(super) fn on_name(&mut self, living: Living, event: &Event<'_>) {
        let (given, op) = match event.asked {
            Asked::Stat { path, .. } => (path, Op::Stat),
            Asked::Lookup { path } => (path, Op::Lookup),
            Asked::Unlink { path } => (path, Op::Unlink),
            Asked::Rmdir { path } => (path, Op::Rmdir),
            Asked::Mkdir { path, .. } => (path, Op::Mkdir),
            Asked::Link { from, .. } => (from, Op::Link),
            Asked::Symlink { path, .. } => (path, Op::Symlink),
            Asked::Readlink { path, .. } => (path, Op::Readlink),
            Asked::Change { path, change, .. } => (path, change.op()),
            _ => return,
        };
        let Some(path) = self.resolved(living, given) else {
            return self.missed(living, event, BELOW_UNKNOWN);
        };
        let mut made = Call { path, ..call(op, living, event) };
        match event.asked {
            Asked::Stat { follow, found, .. } => {
                made.flags = if follow { 0 } else { NO_FOLLOW };
                attributes(&mut made, found);
            }
            Asked::Mkdir { permissions, .. } => made.offset = u64::from(permissions & 0o7777),
            Asked::Change { follow, change, .. } => {
                made.flags = if follow { 0 } else { NO_FOLLOW };
                permissions(&mut made, change);
            }
            Asked::Link { to, .. } => {
                let Some(other) = self.resolved(living, to) else { return };
                made.other = other;
            }
            Asked::Symlink { target, .. } => made.other = self.trace.names.intern(target),
            Asked::Readlink { target: Some(target), .. } => made.other = self.trace.names.intern(target),
            _ => {}
        }
        self.push(made);
    }
}

fn permissions(made: &mut Call, change: AttributeChange) {
    if let AttributeChange::Permissions(bits) = change {
        made.offset = u64::from(bits & 0o7777);
    }
}

fn attributes(made: &mut Call, found: Option<Attributes>) {
    match found {
        Some(found) => (made.bytes, made.offset) = (found.size, u64::from(found.mode)),
        None => made.bytes = UNKNOWN,
    }
}
