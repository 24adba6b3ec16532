//! What must something be able to do to run a program's operations?

use std::ffi::CStr;

use crate::files::Refusal;
use crate::ops::collective::{Direction, Layout, Mode};
use perf::Observed;
use probes::Request;
use ranks::{Comm, CommError};
use samples::HintsOfFile;
use samples::Outcome;

/// One operation with its arguments evaluated: nothing but the call itself is left to do.
///
/// Files and buffers are numbers in tables of the back end; lengths and offsets are bytes. An offset
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
    Read { file: u32, length: Option<u64>, offset: Option<u64>, buffer: Option<u32> },
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
    /// `access(F_OK)`.
    Lookup { path: &'a CStr },
    /// `chmod`.
    ChangeMode { path: &'a CStr, mode: u32 },
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
    /// Memory, every page touched; the value is the buffer's number.
    TakeMemory { length: u64 },
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
    Open(&'a CStr, Mode),
    /// Close.
    Close(u32),
    /// Remove: one rank does it, all go on.
    Delete(&'a CStr),
    /// Write or read by a pattern.
    Transfer(Target<'a>, Direction, Layout),
}

/// A call with the two readings of the clock around it, in ticks of the back end.
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
    /// Where in the file verified data was wrong.
    pub wrong: Option<u64>,
}

/// The real thing or the simulation.
pub trait Backend: Sized {
    /// What a worker's back end is made of.
    type Seed: Send;

    /// The making of a back end for a worker of this rank, on a thread of its own. `None`: workers take
    /// turns on this one, in virtual time.
    fn seed(&mut self) -> Option<Self::Seed>;

    /// A worker's back end, made on the thread that will use it.
    fn grow(seed: Self::Seed) -> Self;

    /// Virtual time goes back: the next worker begins when the first did.
    fn turn_back(&mut self, ticks: u64);

    /// All workers are gone.
    fn joined(&mut self);

    /// `posix`, `simulate`.
    fn name(&self) -> &'static str;

    /// The clock, in ticks.
    fn now(&self) -> u64;

    /// Nanoseconds since the run's epoch.
    fn since_epoch_ns(&self, ticks: u64) -> u64;

    /// Picoseconds between two readings.
    fn picoseconds(&self, begin: u64, end: u64) -> u64;

    /// Ticks that make up so many nanoseconds.
    fn ticks(&self, ns: u64) -> u64;

    /// Lets time pass until `ticks`, or until `comm` says stop.
    fn wait_until(&mut self, ticks: u64, comm: &dyn Comm);

    /// Meets the others; the readings before and after.
    fn barrier(&mut self, comm: &dyn Comm) -> Result<(u64, u64), CommError>;

    /// As [`Backend::barrier`], and gives the largest `value` that a rank brought.
    fn agree(&mut self, comm: &dyn Comm, value: u64) -> Result<u64, CommError> {
        comm.barrier(value)
    }

    /// Does one operation. `operation` is its name in the language.
    ///
    /// # Errors
    /// Only where the program may not do this at all; a failed call is an outcome with an errno.
    fn perform(&mut self, operation: &str, call: Call<'_>) -> Result<Timed, Refusal>;

    /// Does something together with the other ranks of `comm`. Where it fails on one rank it fails on
    /// all; ECANCELED where one is lost.
    ///
    /// # Errors
    /// Where the program may not touch the file.
    fn together(&mut self, operation: &str, what: Collective<'_>, comm: &dyn Comm) -> Result<Timed, Refusal>;

    /// Runs `count` operations of a kernel in one timing.
    ///
    /// # Errors
    /// Where it cannot be run at all.
    fn kernel(&mut self, operation: &str, request: Request, count: u32) -> Result<Timed, NoKernel>;

    /// From now on up to `depth` operations may be under way. A warning where they will be done one after
    /// the other all the same.
    fn begin_async(&mut self, depth: u32) -> Option<samples::Warning>;

    /// Starts an operation without waiting for it. `number`, below the depth, is that of none under
    /// way. With `verify` what it reads is compared with what our own writes put there.
    ///
    /// # Errors
    /// Where the program may not do this at all.
    fn start(
        &mut self,
        number: u32,
        operation: &str,
        call: Call<'_>,
        verify: bool,
    ) -> Result<Started, Refusal>;

    /// An operation that is done, in the order in which they end.
    fn completed(&mut self, patience: Patience) -> Option<Completed>;

    /// Nothing is under way any more: operations in the ordinary way may follow.
    fn all_completed(&mut self);

    /// The `async` block is over.
    fn end_async(&mut self);

    /// What can be seen of the causes of slow operations; `None` where nobody looks.
    fn sight(&self) -> Option<samples::Coverage>;

    /// Compares what was read last with what our own writes put there; the offset in the file of the
    /// first wrong byte. Reads into buffers of the program are not compared.
    fn verify(&mut self) -> Option<u64>;

    /// What MPI-IO is to be told when it opens a file.
    fn set_hints(&mut self, hints: &[(String, String)]) {
        let _ = hints;
    }

    /// What MPI-IO made of the hints, for files opened since the last call.
    fn take_hints(&mut self) -> Vec<HintsOfFile> {
        Vec::new()
    }

    /// The program verifies reads somewhere: appended data must then be what belongs at its offset.
    fn set_verifying(&mut self);

    /// Bytes of a buffer of the program; 0 where there is none.
    fn buffer_length(&self, buffer: u32) -> u64;

    /// The name under which a file was opened.
    fn path_of(&self, file: u32) -> Option<&CStr>;

    /// Notes for the reader that came up since the last call.
    fn take_notes(&mut self) -> Vec<samples::Warning>;

    /// The processor the rank is on; `u16::MAX` where that has no meaning.
    fn processor(&self) -> u16;
}
