//! One operation of an `async` block as calls of the kernel, one after another.

use std::ffi::CStr;

use io_uring::types::{Fd, FsyncFlags, OpenHow};
use io_uring::{opcode, squeue};
use samples::{Cause, Outcome};

use crate::driver::submission::{Handle, Submission};

/// The most that one call moves (`MAX_RW_COUNT`).
const MOST: u64 = 0x7fff_f000;

fn fd(file: Handle) -> i32 {
    file.0 as i32
}

/// What a job does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Work {
    #[default]
    Read,
    Write,
    Sync {
        data_only: bool,
    },
    Allocate {
        offset: u64,
        length: u64,
        mode: i32,
    },
    ReadFile,
    WriteFile,
    Create,
    Stat,
    /// `either`: a directory if it turns out to be one.
    Remove {
        directory: bool,
        either: bool,
    },
    MakeDirectory,
}

/// Where a job of several calls stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    First,
    Transfer,
    Close,
}

/// What follows a call that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// [`CallChain::entry`] is to be submitted.
    Call,
    /// The job is done.
    Done,
}

/// One operation. Used again and again: the memory for its path stays.
#[derive(Default)]
pub(super) struct CallChain {
    work: Work,
    stage: Stage,
    pub(super) tag: u64,
    pub(super) under_way: bool,
    pub(super) outcome: Outcome,
    fd: i32,
    flags: i32,
    mode: u32,
    /// Bytes to be moved, and where they lie in memory and in the file.
    length: u64,
    offset: u64,
    at: usize,
    /// Fewer bytes than these are a short read.
    expected: u64,
    /// NUL-terminated.
    path: Vec<u8>,
    found: Option<Box<libc::statx>>,
    /// Nothing is opened by a link, on the way or at the end.
    straight: bool,
    /// What the ring reads of that, when the call is handed over.
    how: Option<Box<OpenHow>>,
}

impl CallChain {
    /// Makes it this operation.
    pub(super) fn set(&mut self, submission: Submission<'_>) {
        let (mut path, found) = (std::mem::take(&mut self.path), self.found.take());
        let how = self.how.take();
        path.clear();
        *self = Self { path, found, how, mode: 0o666, ..Self::default() };
        match submission {
            Submission::Write { file, from, length, offset } => {
                (self.work, self.fd) = (Work::Write, fd(file));
                self.transfer(from as usize, offset, length);
            }
            Submission::Read { file, into, length, offset } => {
                (self.work, self.fd) = (Work::Read, fd(file));
                self.transfer(into as usize, offset, length);
            }
            Submission::Sync { file, data_only } => {
                (self.work, self.fd) = (Work::Sync { data_only }, fd(file));
            }
            Submission::Allocate { file, offset, length, mode } => {
                (self.work, self.fd) = (Work::Allocate { offset, length, mode }, fd(file));
            }
            Submission::WriteFile { path, flags, from, length, offset } => {
                self.open(Work::WriteFile, path, flags);
                self.transfer(from as usize, offset, length);
            }
            Submission::ReadFile { path, flags, straight, into, length, offset, expected } => {
                self.open(Work::ReadFile, path, flags);
                self.straight = straight;
                self.transfer(into as usize, offset, length);
                self.expected = expected;
            }
            Submission::Create { path, flags } => self.open(Work::Create, path, flags),
            Submission::Stat { path } => self.open(Work::Stat, path, 0),
            Submission::Delete { path } => {
                self.open(Work::Remove { directory: false, either: true }, path, 0);
            }
            Submission::Unlink { path } => {
                self.open(Work::Remove { directory: false, either: false }, path, 0);
            }
            Submission::RemoveDirectory { path } => {
                self.open(Work::Remove { directory: true, either: false }, path, 0);
            }
            Submission::MakeDirectory { path, mode } => {
                self.open(Work::MakeDirectory, path, 0);
                self.mode = mode;
            }
        }
    }

    fn open(&mut self, work: Work, path: &CStr, flags: i32) {
        self.work = work;
        self.fd = -1;
        self.flags = flags | libc::O_CLOEXEC;
        self.path.extend_from_slice(path.to_bytes_with_nul());
    }

    fn transfer(&mut self, memory: usize, offset: u64, length: u64) {
        self.at = memory;
        self.offset = offset;
        self.length = length;
        self.expected = length;
    }

    /// The operation of the kernel that it begins with.
    pub(super) fn code(&self) -> u8 {
        match self.work {
            Work::Write => opcode::Write::CODE,
            Work::Read => opcode::Read::CODE,
            Work::Sync { .. } => opcode::Fsync::CODE,
            Work::Allocate { .. } => opcode::Fallocate::CODE,
            Work::ReadFile if self.straight => opcode::OpenAt2::CODE,
            Work::WriteFile | Work::ReadFile | Work::Create => opcode::OpenAt::CODE,
            Work::Stat => opcode::Statx::CODE,
            Work::Remove { .. } => opcode::UnlinkAt::CODE,
            Work::MakeDirectory => opcode::MkDirAt::CODE,
        }
    }

    /// The call to be made now.
    pub(super) fn entry(&mut self) -> squeue::Entry {
        let here = Fd(libc::AT_FDCWD);
        let path = self.path.as_ptr().cast();
        let entry = match (self.stage, self.work) {
            (Stage::Close, _) => opcode::Close::new(Fd(self.fd)).build(),
            (Stage::Transfer, _) | (Stage::First, Work::Read | Work::Write) => self.transfer_entry(),
            (Stage::First, Work::ReadFile) if self.straight => {
                let resolve = libc::RESOLVE_NO_SYMLINKS;
                let how = self.how.get_or_insert_default();
                **how = OpenHow::new().flags(self.flags.cast_unsigned().into()).resolve(resolve);
                opcode::OpenAt2::new(here, path, &raw const **how).build()
            }
            (Stage::First, Work::ReadFile | Work::WriteFile | Work::Create) => {
                opcode::OpenAt::new(here, path).flags(self.flags).mode(self.mode).build()
            }
            (Stage::First, Work::Sync { data_only }) => {
                let flags = if data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                opcode::Fsync::new(Fd(self.fd)).flags(flags).build()
            }
            (Stage::First, Work::Allocate { offset, length, mode }) => {
                opcode::Fallocate::new(Fd(self.fd), length).offset(offset).mode(mode).build()
            }
            (Stage::First, Work::Stat) => {
                // SAFETY: all-zero bytes are a valid `statx`.
                let found = self.found.get_or_insert_with(|| Box::new(unsafe { std::mem::zeroed() }));
                let found = std::ptr::from_mut::<libc::statx>(found).cast();
                opcode::Statx::new(here, path, found).mask(libc::STATX_BASIC_STATS).build()
            }
            (Stage::First, Work::Remove { directory, .. }) => {
                let flags = if directory { libc::AT_REMOVEDIR } else { 0 };
                opcode::UnlinkAt::new(here, path).flags(flags).build()
            }
            (Stage::First, Work::MakeDirectory) => opcode::MkDirAt::new(here, path).mode(self.mode).build(),
        };
        entry.user_data(self.tag)
    }

    fn transfer_entry(&self) -> squeue::Entry {
        let done = self.outcome.value;
        let left = (self.length - done).min(MOST) as u32;
        let at = (self.at + done as usize) as *mut u8;
        // Appending ignores the offset.
        let place = self.offset + done;
        match self.work {
            Work::Write | Work::WriteFile => opcode::Write::new(Fd(self.fd), at, left).offset(place).build(),
            _ => opcode::Read::new(Fd(self.fd), at, left).offset(place).build(),
        }
    }

    /// A call came back with `result`: bytes, a descriptor or a negative errno.
    pub(super) fn step(&mut self, result: i32) -> Next {
        // Interrupted, or the kernel had no memory for it: the same call again, but a close, after
        // which the descriptor is gone all the same.
        if matches!(-result, libc::EINTR | libc::EAGAIN) && self.stage != Stage::Close {
            self.outcome.causes = self.outcome.causes.with(Cause::Interrupted);
            return Next::Call;
        }
        match (self.stage, self.work) {
            (Stage::Close, _) => {
                if result < 0 && self.outcome.ok() && result != -libc::EINTR {
                    self.outcome.errno = -result;
                }
                Next::Done
            }
            (Stage::Transfer, _) | (Stage::First, Work::Read | Work::Write) => self.moved(result),
            (Stage::First, _) if result < 0 => self.refused(-result),
            (Stage::First, Work::ReadFile | Work::WriteFile) => {
                self.fd = result;
                self.stage = Stage::Transfer;
                Next::Call
            }
            (Stage::First, Work::Create) => {
                self.fd = result;
                self.stage = Stage::Close;
                Next::Call
            }
            (Stage::First, Work::Stat) => {
                self.outcome.value = self.found.as_ref().map_or(0, |found| found.stx_size);
                Next::Done
            }
            (Stage::First, _) => {
                self.outcome.errno = 0;
                Next::Done
            }
        }
    }

    /// Direct reads ask for whole blocks, past the end of the file if need be.
    fn wanted(&self) -> u64 {
        self.expected.min(self.length)
    }

    fn refused(&mut self, errno: i32) -> Next {
        if let (Work::Remove { directory: false, either: true }, libc::EISDIR | libc::EPERM) =
            (self.work, errno)
        {
            self.work = Work::Remove { directory: true, either: false };
            self.outcome.errno = errno;
            return Next::Call;
        }
        // If it is not a directory after all, the first errno counts.
        if !(errno == libc::ENOTDIR && self.outcome.errno != 0) {
            self.outcome.errno = errno;
        }
        Next::Done
    }

    fn moved(&mut self, result: i32) -> Next {
        let close = self.stage == Stage::Transfer;
        match result {
            ..0 => self.outcome.errno = -result,
            0 => {}
            bytes => {
                self.outcome.value += u64::from(bytes.unsigned_abs());
                if self.outcome.value < self.wanted() {
                    self.outcome.causes = self.outcome.causes.with(Cause::ShortTransfer);
                    return Next::Call;
                }
            }
        }
        let reads = matches!(self.work, Work::Read | Work::ReadFile);
        if reads && self.outcome.ok() && self.outcome.value < self.expected {
            self.outcome.errno = libc::ENODATA;
        }
        if close {
            self.stage = Stage::Close;
            return Next::Call;
        }
        Next::Done
    }
}
