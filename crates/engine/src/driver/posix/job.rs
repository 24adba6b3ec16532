//! Which calls of the kernel make up one operation, and which comes next?

use std::ffi::CStr;

use io_uring::types::{Fd, FsyncFlags};
use io_uring::{opcode, squeue};
use samples::Cause;

use crate::execute::backend::{Call, Meaning};
use crate::ops::buffers::Buffer;
use samples::Outcome;

/// The most that one call moves (`MAX_RW_COUNT`).
const MOST: u64 = 0x7fff_f000;

/// What a job does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Work {
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

/// What else is to be done when it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum After {
    #[default]
    Nothing,
    /// Something may have been made.
    Settle { birth_times: bool },
    /// Something was removed.
    Forget,
}

/// What two jobs can have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// An open file.
    File(u32),
    /// A name (its hash), and whether the job changes what it stands for.
    Name { hash: u64, changes: bool },
}

impl Key {
    /// Must a job with this key wait for one with the key `taken`?
    pub(super) fn waits_for(&self, taken: &Key, work: &Work, other: &Work) -> bool {
        match (self, taken) {
            // What is to be on the disk must have been written, and where an earlier call makes room
            // a later one may need it.
            (Key::File(mine), Key::File(theirs)) if mine == theirs => {
                matches!(work, Work::Sync { .. } | Work::Allocate { .. })
                    || matches!(other, Work::Allocate { .. })
            }
            (Key::Name { hash, changes }, Key::Name { hash: theirs, changes: changed }) => {
                hash == theirs && (*changes || *changed)
            }
            _ => false,
        }
    }
}

/// What follows a call that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// [`Job::entry`] is to be submitted.
    Call,
    /// The job is done.
    Done,
}

/// One operation under way. Used again and again: its memory stays.
#[derive(Default)]
pub(super) struct Job {
    pub(super) work: Work,
    stage: Stage,
    pub(super) tag: u64,
    pub(super) begin: u64,
    pub(super) outcome: Outcome,
    pub(super) keys: [Option<Key>; 2],
    pub(super) after: After,
    pub(super) verify: bool,
    pub(super) fd: i32,
    pub(super) flags: i32,
    pub(super) mode: u32,
    /// Bytes to be moved, and where they lie in memory and in the file.
    pub(super) length: u64,
    pub(super) offset: u64,
    at: usize,
    /// Fewer bytes than these are a short read.
    pub(super) expected: u64,
    pub(super) program_buffer: Option<u32>,
    /// Memory for reads, of this job alone.
    pub(super) memory: Option<Buffer>,
    /// NUL-terminated.
    path: Vec<u8>,
    found: Option<Box<libc::statx>>,
}

impl Job {
    /// Forgets everything but the memory.
    pub(super) fn reset(&mut self) {
        let (memory, mut path, found) =
            (self.memory.take(), std::mem::take(&mut self.path), self.found.take());
        path.clear();
        *self = Self { memory, path, found, ..Self::default() };
    }

    pub(super) fn path(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.path).unwrap_or(c"")
    }

    /// The job is about this name.
    pub(super) fn name(&mut self, path: &CStr, changes: bool) {
        self.path.extend_from_slice(path.to_bytes_with_nul());
        // FNV-1a (Fowler, Noll and Vo 1991): two names that collide wait for each other, no more.
        let hash = path.to_bytes().iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        self.keys[0] = Some(Key::Name { hash, changes });
    }

    /// Memory of this job for `length` bytes, which no other job uses.
    pub(super) fn own_memory(&mut self, length: usize) -> Result<*mut u8, i32> {
        if self.memory.as_ref().is_none_or(|memory| memory.length() < length) {
            self.memory = Some(Buffer::take(length.next_multiple_of(4096).max(4096))?);
        }
        self.memory.as_ref().map(Buffer::pointer).ok_or(libc::ENOMEM)
    }

    pub(super) fn transfer(&mut self, fd: i32, memory: *mut u8, offset: u64, length: u64) {
        self.fd = fd;
        self.at = memory as usize;
        self.offset = offset;
        self.length = length;
        self.expected = length;
    }

    pub(super) fn meaning(&self) -> Meaning {
        match self.work {
            Work::Read | Work::Write | Work::ReadFile | Work::WriteFile => Meaning::Bytes,
            _ => Meaning::Value,
        }
    }

    /// The call to be made now.
    pub(super) fn entry(&mut self) -> squeue::Entry {
        let here = Fd(libc::AT_FDCWD);
        let path = self.path.as_ptr().cast();
        let entry = match (self.stage, self.work) {
            (Stage::Close, _) => opcode::Close::new(Fd(self.fd)).build(),
            (Stage::Transfer, _) | (Stage::First, Work::Read | Work::Write) => self.transfer_entry(),
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
        // Appending ignores the place.
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
        // Of what is no directory after all the first answer counts.
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

/// The operation of the kernel that a call begins with; one that no kernel has for other calls.
pub(super) fn code(call: &Call<'_>) -> u8 {
    match call {
        Call::Write { .. } => opcode::Write::CODE,
        Call::Read { .. } => opcode::Read::CODE,
        Call::Sync { .. } => opcode::Fsync::CODE,
        Call::Allocate { .. } => opcode::Fallocate::CODE,
        Call::WriteFile { .. } | Call::ReadFile { .. } | Call::Create { .. } => opcode::OpenAt::CODE,
        Call::Stat { .. } => opcode::Statx::CODE,
        Call::Delete { .. } | Call::Unlink { .. } | Call::RemoveDirectory { .. } => opcode::UnlinkAt::CODE,
        Call::MakeDirectory { .. } => opcode::MkDirAt::CODE,
        _ => u8::MAX,
    }
}
