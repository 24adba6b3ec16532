//! Operations with their arguments evaluated, and what comes of them.

use std::ffi::CStr;

use crate::content::Wrong;
use crate::driver::AttributeChange;
use crate::files::Refusal;
use perf::Observed;
use ranks::communication::Communication;
use ranks::layout::{Direction, Layout, ParallelMode};
use samples::Outcome;

/// One operation with its arguments evaluated: nothing but the call itself is left to do.
///
/// Files and buffers are numbers in tables of the rank; lengths and offsets are bytes. An offset
/// of `None` is the file's position.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the fields are the arguments of the calls named
pub enum Call<'a> {
    /// `open`; the value is the file's number.
    Open { path: &'a CStr, flags: i32, mode: u32 },
    /// `close`.
    Close { file: u32 },
    /// `fsync`, or `fdatasync`.
    Sync { file: u32, data_only: bool },
    /// `write`, or `pwrite` with an offset, from a buffer of the program or from our own.
    Write { file: u32, length: u64, offset: Option<u64>, buffer: Option<u32> },
    /// `read`, or `pread` with an offset; without a length the whole file from its beginning.
    Read { file: u32, length: Option<u64>, offset: Option<u64> },
    /// `copy_file_range`: what lies in one open file is copied into another. Of the two offsets the first is that in
    /// `from`.
    Copy { from: u32, to: u32, length: u64, offsets: (Option<u64>, Option<u64>) },
    /// `lseek`.
    Seek { file: u32, offset: i64, whence: i32 },
    /// Open (create; truncate unless appending), write, close in one timing. `flags` are added to the
    /// open: `O_APPEND`, `O_DIRECT`.
    WriteFile { path: &'a CStr, length: u64, offset: u64, flags: i32, buffer: Option<u32> },
    /// Open, read, close in one timing; without a length all of the file.
    ReadFile { path: &'a CStr, length: Option<u64>, offset: u64, flags: i32 },
    /// Open, map, touch a byte of each page, unmap, close in one timing.
    MapFile { path: &'a CStr, length: Option<u64>, offset: u64 },
    /// Open to create, close.
    Create { path: &'a CStr },
    /// `unlink`, or `rmdir` of what turns out to be a directory.
    Delete { path: &'a CStr },
    /// `unlink`.
    Unlink { path: &'a CStr },
    /// `rmdir`.
    RemoveDirectory { path: &'a CStr },
    /// `mkdir`.
    MakeDirectory { path: &'a CStr, mode: u32 },
    /// `rename`.
    Rename { from: &'a CStr, to: &'a CStr },
    /// `link`.
    Link { from: &'a CStr, to: &'a CStr },
    /// `symlink`.
    SymbolicLink { target: &'a CStr, path: &'a CStr },
    /// `stat`; the value is the size.
    Stat { path: &'a CStr },
    /// `fstat`; the value is the size.
    StatOpen { file: u32 },
    /// `access(F_OK)`.
    Lookup { path: &'a CStr },
    /// `chmod`, `chown`, `utimensat`, `setxattr` or `removexattr`.
    Change { path: &'a CStr, change: AttributeChange<'a> },
    /// `fchmod`, `fchown`, `futimens`, `fsetxattr` or `fremovexattr`.
    ChangeOpen { file: u32, change: AttributeChange<'a> },
    /// `getxattr`; the value is the size of the attribute.
    Attribute { path: &'a CStr, key: &'a CStr },
    /// `fgetxattr`; the value is the size of the attribute.
    AttributeOpen { file: u32, key: &'a CStr },
    /// `ftruncate`.
    Truncate { file: u32, length: u64 },
    /// `fallocate`.
    Allocate { file: u32, offset: u64, length: u64, mode: i32 },
    /// `posix_fadvise`.
    Advise { file: u32, offset: u64, length: u64, advice: i32 },
    /// `cachestat`: the value is the number of bytes of the file in the page cache.
    Cached { file: u32 },
    /// What `O_DIRECT` asks sizes and offsets to be multiples of; 0 where it is not possible.
    DirectAlignment { file: u32 },
    /// `opendir`, `readdir` to the end, `closedir`; the value is the number of names.
    ReadDirectory { path: &'a CStr },
    /// `sync`.
    SyncAll,
    /// Empties the machine's page cache.
    DropCaches,
    /// Memory, every page touched and filled, or none; the value is the buffer's number.
    TakeMemory { length: u64, filled: bool },
    /// `munmap`.
    GiveBackMemory { buffer: u32 },
    /// Lustre's stripe count for a file or directory.
    Stripe { path: &'a CStr, count: u32, size: Option<u64> },
}

/// What a pattern is applied to.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A file to be opened and closed within the timing, by all ranks of the group.
    Path(&'a CStr),
    /// An open file.
    File(u32),
}

/// What the ranks of a group do together, in one timing.
#[derive(Clone, Copy, Debug)]
pub enum Collective<'a> {
    /// Open; the value is the file's number.
    Open(&'a CStr, ParallelMode),
    /// Close.
    Close(u32),
    /// Remove: one rank does it, all go on.
    Delete(&'a CStr),
    /// Write or read by a pattern.
    Transfer(Target<'a>, Direction, &'a Layout),
    /// Send each other blocks of so many bytes.
    Communicate(Communication, u64),
}

impl Call<'_> {
    /// Bytes by which it may make a file system fuller.
    pub fn bytes_written(&self) -> u64 {
        match self {
            Self::Write { length, .. } | Self::WriteFile { length, .. } | Self::Allocate { length, .. } => {
                *length
            }
            _ => 0,
        }
    }
}

impl Collective<'_> {
    /// Does it read what a file holds?
    pub fn reads(&self) -> bool {
        matches!(self, Self::Transfer(_, Direction::Read, _))
    }
}

/// A call with the two readings of the clock around it, in ticks of the rank's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timed {
    /// Before the call.
    pub begin: u64,
    /// After it.
    pub end: u64,
    /// What came back.
    pub outcome: Outcome,
    /// What `outcome.value` means.
    pub meaning: Meaning,
    /// What was seen to slow it.
    pub seen: Observed,
    /// Operations in this one timing; 0 counts as 1.
    pub batch: u32,
}

/// What the value of a successful call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    /// Bytes moved: `Sample::bytes`.
    Bytes,
    /// The number of a file, a buffer, a count, a size.
    #[default]
    Value,
}

/// Why a kernel was not run.
#[derive(Debug)]
pub enum NoKernel {
    /// The program may not make files there.
    Refused(Refusal),
    /// It cannot be built: memory, a file.
    Failed(probes::Error),
}

impl NoKernel {
    /// The errno of a kernel that could not be built.
    pub fn errno(error: &probes::Error) -> i32 {
        match error {
            probes::Error::NoMemory { .. } => libc::ENOMEM,
            probes::Error::NoNode { .. } | probes::Error::NoPair { .. } => libc::ENODEV,
            probes::Error::Address { .. } => libc::EHOSTUNREACH,
            probes::Error::Path { .. } => libc::EINVAL,
            probes::Error::Open { source, .. } | probes::Error::System { source, .. } => {
                source.raw_os_error().unwrap_or(libc::EIO)
            }
        }
    }
}

/// What became of an operation that was to be started without waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// It is under way since this reading of the clock.
    UnderWay {
        /// In ticks.
        begin: u64,
    },
    /// Something under way must be done first: wait for one, then ask again.
    Conflict,
    /// It cannot be done so: wait for all, then perform it in the ordinary way.
    InOrder,
}

/// How long to look for an operation that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Not at all: take one that is done already.
    Look,
    /// Until one is done, if any is under way.
    Wait,
    /// Until the clock shows so many ticks.
    Until(u64),
}

/// An operation that was started and is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// The number it was started with.
    pub number: u32,
    /// How long it took and what came of it.
    pub timed: Timed,
    /// Where verified data was wrong, and what was there.
    pub wrong: Option<Wrong>,
}
