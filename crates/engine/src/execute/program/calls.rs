//! The call of each command, and what it gives to the program.

use ppl::commands::{Command, CommandByClass, FileCommand, KernelCommand};
use ppl::interpret::{Arguments, Reply};
use ppl::plan::SiteId;

use super::answer::Answer;
use super::rank::Rank;
use crate::driver::AttributeChange;
use crate::execute::call::Call;
use crate::execute::session::Stop;
use crate::flags::{allocation_mode, open_flags};

/// The flags of so many open modes are kept.
const MOST_MODES: usize = 8;

impl Rank<'_, '_> {
    /// Every command but the two most frequent.
    #[inline(never)]
    pub(super) fn other(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        match command.by_class() {
            CommandByClass::File(file) => self.file(file, command, site, arguments),
            CommandByClass::Collective(collective) => self.collective(collective, command, site, arguments),
            CommandByClass::Message(message) => self.message(message, command, site, arguments),
            CommandByClass::Kernel(kernel) => self.kernel(kernel, command, site, arguments),
            // The interpreter carries them out itself.
            CommandByClass::Language(_) => Reply::failed(libc::EINVAL),
        }
    }

    /// The commands that are kernels: a loop of one operation.
    #[inline(never)]
    fn kernel(
        &mut self,
        kernel: KernelCommand,
        command: Command,
        site: SiteId,
        arguments: &Arguments,
    ) -> Reply {
        let Some((request, count)) = super::kernels::request(kernel, arguments, self.plan.seed) else {
            return Reply::failed(libc::EINVAL);
        };
        if let Some(address) = request.connects_to()
            && !crate::run::addresses(self.plan).any(|known| known == address)
        {
            let line = self.plan.site(site).line;
            self.stop(Stop::Program(format!(
                "line {line}: a program may connect only to an address that is given as a parameter, and {address} is \
                 not: give it with --set"
            )));
            return Reply::failed(libc::EACCES);
        }
        match self.session.kernel(site.index(), request, count) {
            Ok(outcome) => Answer::of(command).reply(outcome),
            Err(stop) => {
                self.stop(stop);
                Reply::failed(libc::ECANCELED)
            }
        }
    }

    /// The commands of a driver: one call each.
    #[inline(always)]
    fn file(
        &mut self,
        file_command: FileCommand,
        command: Command,
        site: SiteId,
        arguments: &Arguments,
    ) -> Reply {
        let path = arguments.c_str(0);
        let given = |index: usize| arguments.given_size(index);
        let mode = |index: usize, otherwise: u64| arguments.size(index, otherwise) as u32;
        let file = arguments.file(0).unwrap_or(u32::MAX);
        let call = match file_command {
            FileCommand::Stat => stat(arguments),
            FileCommand::Lookup => Call::Lookup { path },
            FileCommand::Fopen => return self.open(site, arguments),
            FileCommand::Fcreat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                Call::Open { path, flags, mode: 0o644 }
            }
            FileCommand::Fclose => Call::Close { file },
            FileCommand::Fcopy => {
                let to = arguments.file(1).unwrap_or(u32::MAX);
                Call::Copy { from: file, to, length: arguments.size(2, 0), offsets: (given(3), given(4)) }
            }
            FileCommand::Fsync => Call::Sync { file, data_only: false },
            FileCommand::Fdatasync => Call::Sync { file, data_only: true },
            FileCommand::Fseek => {
                let Some(whence) = whence(arguments) else { return Reply::failed(libc::EINVAL) };
                Call::Seek { file, offset: arguments.int(1).unwrap_or(0), whence }
            }
            FileCommand::Ftruncate => Call::Truncate { file, length: arguments.size(1, 0) },
            FileCommand::Fallocate => {
                let (length, offset) = (arguments.size(1, 0), arguments.size(2, 0));
                let Some(mode) = self.of_text(site, allocation_mode(arguments.text(3))) else {
                    return Reply::failed(libc::EINVAL);
                };
                Call::Allocate { file, offset, length, mode }
            }
            FileCommand::Fadvise => {
                let advice = advice(arguments.text(1));
                let (length, offset) = (arguments.size(2, 0), arguments.size(3, 0));
                Call::Advise { file, offset, length, advice }
            }
            FileCommand::Cachestat => Call::Cached { file },
            FileCommand::Odirect => Call::DirectAlignment { file },
            FileCommand::Write | FileCommand::Append | FileCommand::Dwrite => {
                self.write_file(file_command, arguments)
            }
            FileCommand::Read => {
                let (length, offset) = (given(1), arguments.size(2, 0));
                Call::ReadFile { path, length, offset, flags: 0 }
            }
            FileCommand::Dread => {
                let flags = libc::O_DIRECT;
                Call::ReadFile { path, length: None, offset: 0, flags }
            }
            FileCommand::Mmap => Call::MapFile { path, length: given(1), offset: arguments.size(2, 0) },
            FileCommand::Create => Call::Create { path },
            FileCommand::Delete => Call::Delete { path },
            FileCommand::Unlink => Call::Unlink { path },
            FileCommand::Rename => Call::Rename { from: path, to: arguments.c_str(1) },
            FileCommand::Link => Call::Link { from: path, to: arguments.c_str(1) },
            FileCommand::Symlink => Call::SymbolicLink { target: path, path: arguments.c_str(1) },
            FileCommand::Mkdir => Call::MakeDirectory { path, mode: mode(1, 0o755) },
            FileCommand::Rmdir => Call::RemoveDirectory { path },
            FileCommand::Readdir => Call::ReadDirectory { path },
            FileCommand::Chmod => changed(arguments, AttributeChange::Mode(mode(1, 0o644))),
            FileCommand::Chown => changed(arguments, AttributeChange::Owner),
            FileCommand::Utimes => changed(arguments, AttributeChange::Times),
            FileCommand::Setxattr | FileCommand::Removexattr | FileCommand::Getxattr => {
                let Some(call) = self.attribute(site, file_command, arguments) else {
                    return Reply::failed(libc::EPERM);
                };
                call
            }
            FileCommand::Sync => Call::SyncAll,
            FileCommand::DropCaches => Call::DropCaches,
            FileCommand::Alloc => {
                let filled = match arguments.text(1) {
                    "" | "filled" => true,
                    "untouched" => false,
                    _ => return Reply::failed(libc::EINVAL),
                };
                Call::TakeMemory { length: arguments.size(0, 0), filled }
            }
            FileCommand::Free => Call::GiveBackMemory { buffer: arguments.buffer(0).unwrap_or(u32::MAX) },
            FileCommand::Stripe => {
                let count = u32::try_from(arguments.size(1, 1)).unwrap_or(u32::MAX);
                Call::Stripe { path, count, size: given(2) }
            }
            // The first argument is not an open file.
            FileCommand::Fread | FileCommand::Fwrite => return Reply::failed(libc::EINVAL),
        };
        self.perform(site, call, Answer::of(command))
    }

    /// Of the commands that open, write and close.
    fn write_file<'a>(&self, command: FileCommand, arguments: &'a Arguments) -> Call<'a> {
        let flags = match command {
            FileCommand::Append => libc::O_APPEND,
            FileCommand::Dwrite => libc::O_DIRECT,
            _ => 0,
        };
        let (length, buffer) = self.bytes(arguments, 1);
        let offset = if command == FileCommand::Write { arguments.size(2, 0) } else { 0 };
        Call::WriteFile { path: arguments.c_str(0), length, offset, flags, buffer }
    }

    /// Of the commands on extended attributes. Those of other name spaces than `user.` give rights: a wrong key ends the program.
    fn attribute<'a>(
        &mut self,
        site: SiteId,
        command: FileCommand,
        arguments: &'a Arguments,
    ) -> Option<Call<'a>> {
        let key = arguments.c_str(1);
        if !key.to_bytes().starts_with(b"user.") {
            let (line, shown) = (self.plan.site(site).line, samples::visible(arguments.text(1)));
            self.stop(Stop::Program(format!(
                "line {line}: a program has extended attributes whose names begin with \"user.\" alone, not \"{shown}\""
            )));
            return None;
        }
        Some(match (command, arguments.file(0)) {
            (FileCommand::Setxattr, _) => {
                changed(arguments, AttributeChange::Set { key, size: arguments.size(2, 0) })
            }
            (FileCommand::Removexattr, _) => changed(arguments, AttributeChange::Remove { key }),
            (_, Some(file)) => Call::AttributeOpen { file, key },
            (_, None) => Call::Attribute { path: arguments.c_str(0), key },
        })
    }

    /// `fopen`.
    #[inline(never)]
    pub(super) fn open(&mut self, site: SiteId, arguments: &Arguments) -> Reply {
        let Some(flags) = self.open_flags(site, arguments.text(1)) else {
            return Reply::failed(libc::EINVAL);
        };
        let mode = arguments.size(2, 0o644) as u32;
        self.perform(site, Call::Open { path: arguments.c_str(0), flags, mode }, Answer::File)
    }

    /// The flags of an open mode; one that is wrong ends the program.
    #[inline]
    fn open_flags(&mut self, site: SiteId, mode: &str) -> Option<i32> {
        match self.opened_as.iter().find(|(known, _)| known == mode) {
            Some((_, flags)) => Some(*flags),
            None => self.other_open_flags(site, mode),
        }
    }

    #[inline(never)]
    fn other_open_flags(&mut self, site: SiteId, mode: &str) -> Option<i32> {
        let flags = self.of_text(site, open_flags(mode))?;
        // Programs that compute modes are rare.
        if self.opened_as.len() < MOST_MODES {
            self.opened_as.push((mode.to_owned(), flags));
        }
        Some(flags)
    }

    /// What a text means; one that is wrong ends the program.
    fn of_text(&mut self, site: SiteId, meant: Result<i32, String>) -> Option<i32> {
        meant
            .map_err(|why| {
                let line = self.plan.site(site).line;
                self.stop(Stop::Program(format!("line {line}: {why}")));
            })
            .ok()
    }
}

/// `stat` of a name or of an open file.
#[inline(always)]
pub(super) fn stat(arguments: &Arguments) -> Call<'_> {
    match arguments.file(0) {
        Some(file) => Call::StatOpen { file },
        None => Call::Stat { path: arguments.c_str(0) },
    }
}

/// A change of attributes, of a name or of an open file.
fn changed<'a>(arguments: &'a Arguments, change: AttributeChange<'a>) -> Call<'a> {
    match arguments.file(0) {
        Some(file) => Call::ChangeOpen { file, change },
        None => Call::Change { path: arguments.c_str(0), change },
    }
}

/// From where an offset counts; `None` where there is no such place.
fn whence(arguments: &Arguments) -> Option<i32> {
    match arguments.text(2) {
        "SEEK_CUR" => Some(libc::SEEK_CUR),
        "SEEK_END" => Some(libc::SEEK_END),
        "" | "SEEK_SET" => Some(libc::SEEK_SET),
        number => number.parse().ok(),
    }
}

fn advice(word: &str) -> i32 {
    match word {
        "normal" => libc::POSIX_FADV_NORMAL,
        "sequential" => libc::POSIX_FADV_SEQUENTIAL,
        "random" => libc::POSIX_FADV_RANDOM,
        "willneed" => libc::POSIX_FADV_WILLNEED,
        "dontneed" => libc::POSIX_FADV_DONTNEED,
        "noreuse" => libc::POSIX_FADV_NOREUSE,
        // The system answers EINVAL.
        _ => -1,
    }
}
