//! The call of each command, and what it gives to the program.

use ppl::commands::Command;
use ppl::interpret::{Arguments, Reply};
use ppl::plan::{GroupId, SiteId};
use ppl::value::Value;

use super::Rank;
use crate::execute::call::{Call, Collective, Target};
use crate::execute::session::Stop;
use crate::flags::open_flags;
use ranks::layout::{Direction, Layout, ParallelMode, ViewKind};
use samples::Outcome;

/// What a successful command gives to the program.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    Nothing,
    Bytes,
    Integer,
    File,
    Buffer,
}

impl Answer {
    #[inline(always)]
    pub(super) fn reply(self, outcome: Outcome) -> Reply {
        let errno = outcome.errno;
        if errno != 0 {
            let bytes = if matches!(self, Answer::Bytes) { outcome.value } else { 0 };
            return Reply { value: Value::Unset, errno, bytes, started: false };
        }
        match self {
            Answer::Nothing => Reply::done(),
            Answer::Bytes => Reply::moved(outcome.value),
            Answer::Integer => Reply::value(Value::Int(outcome.value as i64)),
            Answer::File => Reply::value(Value::File(outcome.value as u32)),
            Answer::Buffer => Reply::value(Value::Buffer(outcome.value as u32)),
        }
    }
}

impl Rank<'_, '_> {
    /// The commands that a group's ranks do together.
    #[inline(never)]
    pub(super) fn collective(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        let path = arguments.c_str(0);
        let pattern = match command {
            Command::Pfread | Command::Pfwrite | Command::Pread | Command::Pwrite => {
                arguments.int(1).and_then(|number| self.plan.patterns.get(usize::try_from(number).ok()?))
            }
            _ => None,
        };
        // The group that opened the file goes before one named in the call, that before the pattern's
        // own, and that before the one around.
        let named = match command {
            Command::Pread | Command::Pwrite | Command::Pfopen => {
                arguments.int(2).and_then(|number| u32::try_from(number).ok()).map(GroupId)
            }
            _ => None,
        };
        let around = self.plan.site(site).group;
        let opened = arguments.file(0).and_then(|file| self.opened_by.get(&file).copied());
        let group = opened.or(named).or(pattern.and_then(|pattern| pattern.group)).unwrap_or(around);
        let Some(members) = self.plan.groups.get(group.index()) else { return Reply::failed(libc::EINVAL) };
        let line = self.plan.site(site).line;
        if members.place(self.session.rank()).is_none() {
            let why = format!("this rank does not belong to the group \"{}\"", members.name);
            self.stop(Stop::Program(format!("line {line}: {}: {why}", command.name())));
            return Reply::failed(libc::EINVAL);
        }
        let comm = self.groups.get(group.index()).and_then(Option::as_deref);
        let layout = pattern.map(|pattern| Layout {
            kind: if pattern.kind == 1 { ViewKind::Row } else { ViewKind::Table },
            blocks: pattern.iterations,
            element: pattern.element,
            level: pattern.level,
        });
        let direction = match command {
            Command::Pwrite | Command::Pfwrite => Direction::Write,
            _ => Direction::Read,
        };
        let (what, answer) = match (command, layout, arguments.file(0)) {
            (Command::Pwrite | Command::Pread, Some(layout), _) => {
                (Collective::Transfer(Target::Path(path), direction, layout), Answer::Bytes)
            }
            (Command::Pfwrite | Command::Pfread, Some(layout), Some(file)) => {
                (Collective::Transfer(Target::File(file), direction, layout), Answer::Bytes)
            }
            (Command::Pfopen, ..) => match ParallelMode::parse(arguments.text(1)) {
                Some(mode) => (Collective::Open(path, mode), Answer::File),
                None => {
                    let why = format!("unknown mode \"{}\": any of c r w", arguments.text(1));
                    self.stop(Stop::Program(format!("line {line}: pfopen: {why}")));
                    return Reply::failed(libc::EINVAL);
                }
            },
            (Command::Pfclose, _, Some(file)) => (Collective::Close(file), Answer::Nothing),
            (Command::Pdelete, ..) => (Collective::Delete(path), Answer::Nothing),
            _ => return Reply::failed(libc::EINVAL),
        };
        let done = self.session.together(site.index(), what, comm);
        match done {
            Ok(outcome) => {
                if command == Command::Pfopen && outcome.ok() {
                    self.opened_by.insert(outcome.value as u32, group);
                }
                let reply = answer.reply(outcome);
                match command {
                    Command::Pread | Command::Pfread => self.verified(reply),
                    _ => reply,
                }
            }
            Err(stop) => {
                self.stop(stop);
                Reply::failed(libc::ECANCELED)
            }
        }
    }

    /// The commands that are kernels: a loop of one operation.
    #[inline(never)]
    fn kernel(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        let Some((request, count)) = super::kernels::request(command, arguments, self.plan.seed) else {
            return Reply::failed(libc::EINVAL);
        };
        let answer = match command {
            Command::Stream => Answer::Bytes,
            Command::Spawn => Answer::Integer,
            _ => Answer::Nothing,
        };
        match self.session.kernel(site.index(), request, count) {
            Ok(outcome) => answer.reply(outcome),
            Err(stop) => {
                self.stop(stop);
                Reply::failed(libc::ECANCELED)
            }
        }
    }

    /// Every command but the two most frequent.
    #[inline(never)]
    pub(super) fn other(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        let path = arguments.c_str(0);
        let given = |index: usize| arguments.is_given(index).then(|| arguments.size(index, 0));
        let mode = |index: usize, otherwise: u64| arguments.size(index, otherwise) as u32;
        let file = arguments.file(0).unwrap_or(u32::MAX);
        let value = Answer::Nothing;
        let (call, answer) = match command {
            Command::Stat => (Call::Stat { path }, Answer::Integer),
            Command::Lookup => (Call::Lookup { path }, value),
            Command::Fopen => match open_flags(arguments.text(1)) {
                Ok(flags) => (Call::Open { path, flags, mode: mode(2, 0o644) }, Answer::File),
                Err(why) => {
                    let line = self.plan.site(site).line;
                    self.stop(Stop::Program(format!("line {line}: {why}")));
                    return Reply::failed(libc::EINVAL);
                }
            },
            Command::Fcreat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                (Call::Open { path, flags, mode: 0o644 }, Answer::File)
            }
            Command::Fclose => (Call::Close { file }, value),
            Command::Fsync => (Call::Sync { file, data_only: false }, value),
            Command::Fdatasync => (Call::Sync { file, data_only: true }, value),
            Command::Fseek => {
                let whence = match arguments.text(2) {
                    "SEEK_CUR" => libc::SEEK_CUR,
                    "SEEK_END" => libc::SEEK_END,
                    _ => arguments.int(2).map_or(libc::SEEK_SET, |whence| whence as i32),
                };
                (Call::Seek { file, offset: arguments.int(1).unwrap_or(0), whence }, Answer::Integer)
            }
            Command::Ftruncate => (Call::Truncate { file, length: arguments.size(1, 0) }, value),
            Command::Fallocate => {
                let (length, offset) = (arguments.size(1, 0), arguments.size(2, 0));
                (Call::Allocate { file, offset, length, mode: 0 }, value)
            }
            Command::Fadvise => {
                let advice = match arguments.text(1) {
                    "normal" => libc::POSIX_FADV_NORMAL,
                    "sequential" => libc::POSIX_FADV_SEQUENTIAL,
                    "random" => libc::POSIX_FADV_RANDOM,
                    "willneed" => libc::POSIX_FADV_WILLNEED,
                    "dontneed" => libc::POSIX_FADV_DONTNEED,
                    "noreuse" => libc::POSIX_FADV_NOREUSE,
                    // The system answers EINVAL.
                    _ => -1,
                };
                let (length, offset) = (arguments.size(2, 0), arguments.size(3, 0));
                (Call::Advise { file, offset, length, advice }, value)
            }
            Command::Cachestat => (Call::Cached { file }, Answer::Integer),
            Command::Odirect => (Call::DirectAlignment { file }, Answer::Integer),
            Command::Write | Command::Append | Command::Dwrite => {
                let flags = match command {
                    Command::Append => libc::O_APPEND,
                    Command::Dwrite => libc::O_DIRECT,
                    _ => 0,
                };
                let (length, buffer) = self.bytes(arguments, 1);
                let offset = if command == Command::Write { arguments.size(2, 0) } else { 0 };
                (Call::WriteFile { path, length, offset, flags, buffer }, Answer::Bytes)
            }
            Command::Read => {
                let (length, offset) = (given(1), arguments.size(2, 0));
                return self.read(site, Call::ReadFile { path, length, offset, flags: 0 });
            }
            Command::Dread => {
                let flags = libc::O_DIRECT;
                return self.read(site, Call::ReadFile { path, length: None, offset: 0, flags });
            }
            Command::Mmap => {
                (Call::MapFile { path, length: given(1), offset: arguments.size(2, 0) }, Answer::Bytes)
            }
            Command::Create => (Call::Create { path }, value),
            Command::Delete => (Call::Delete { path }, value),
            Command::Unlink => (Call::Unlink { path }, value),
            Command::Rename => (Call::Rename { from: path, to: arguments.c_str(1) }, value),
            Command::Link => (Call::Link { from: path, to: arguments.c_str(1) }, value),
            Command::Symlink => (Call::SymbolicLink { target: path, path: arguments.c_str(1) }, value),
            Command::Mkdir => (Call::MakeDirectory { path, mode: mode(1, 0o755) }, value),
            Command::Rmdir => (Call::RemoveDirectory { path }, value),
            Command::Readdir => (Call::ReadDirectory { path }, Answer::Integer),
            Command::Chmod => (Call::ChangeMode { path, mode: mode(1, 0o644) }, value),
            Command::Sync => (Call::SyncAll, value),
            Command::DropCaches => (Call::DropCaches, value),
            Command::Alloc => (Call::TakeMemory { length: arguments.size(0, 0) }, Answer::Buffer),
            Command::Free => {
                (Call::GiveBackMemory { buffer: arguments.buffer(0).unwrap_or(u32::MAX) }, value)
            }
            Command::Stripe => {
                let count = u32::try_from(arguments.size(1, 1)).unwrap_or(u32::MAX);
                (Call::Stripe { path, count, size: given(2) }, value)
            }
            Command::Pfopen
            | Command::Pfclose
            | Command::Pfread
            | Command::Pfwrite
            | Command::Pread
            | Command::Pwrite
            | Command::Pdelete => return self.collective(command, site, arguments),
            Command::Chase
            | Command::Poke
            | Command::Stream
            | Command::Touch
            | Command::Empty
            | Command::Getpid
            | Command::Getppid
            | Command::ReadNull
            | Command::WriteNull
            | Command::Fstat
            | Command::OpenClose
            | Command::FopenFclose
            | Command::CreateDelete
            | Command::MmapMunmap
            | Command::Fork
            | Command::Spawn
            | Command::Thread
            | Command::Malloc
            | Command::PipePingpong
            | Command::ContextSwitch => return self.kernel(command, site, arguments),
            // Of a file that is none; the interpreter does the others itself.
            Command::Fread | Command::Fwrite | Command::Print | Command::Sleep | Command::Glob => {
                return Reply::failed(libc::EINVAL);
            }
        };
        self.perform(site, call, answer)
    }
}
