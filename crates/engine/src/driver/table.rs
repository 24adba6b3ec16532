//! The table of calls that a back end fills ([`Driver`]).

use std::ffi::CStr;
use std::fmt::Debug;
use std::time::Duration;

use ppl::commands::Command;
use samples::{Outcome, Warning};

use super::attribute::AttributeChange;
use super::stripes::{Striping, not_of_this_back_end};
use super::submission::{Handle, Submission};

/// What a driver can do, and what the layer around it must therefore do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Names are those of this machine: the program is confined, what it creates is registered and removed, and
    /// MPI-IO opens the same files.
    pub local_files: bool,
    /// Time is virtual: [`Driver::duration_ps`] says how long each operation takes.
    pub virtual_time: bool,
    /// Transfers move bytes. Otherwise files are names and sizes, and each rank has its own.
    pub content: bool,
}

/// Of a call that a driver does not have.
#[inline(always)]
fn unsupported() -> Outcome {
    Outcome::error(libc::EOPNOTSUPP)
}

/// The calls of a back end. Each stands between two clock reads: it makes the call and gives back the value, the
/// errno and what happened on the way. A driver overrides what it has; the rest fails with EOPNOTSUPP.
#[allow(unused_variables)] // the defaults use none of their arguments
pub trait Driver: Send {
    /// What it can do. The same at any time.
    fn capabilities(&self) -> Capabilities;

    /// In virtual time: how long `count` operations of a command take together, in picoseconds. Asked once for each
    /// operation, before its calls.
    fn duration_ps(&mut self, command: Option<Command>, count: u32) -> u64 {
        0
    }

    /// Called before each operation, outside of its timing: memory for one more open file.
    #[inline(always)]
    fn make_room(&mut self) {}

    /// Opens a file (`O_*` flags, as `open(2)`); the value is its handle.
    fn open(&mut self, path: &CStr, flags: i32, mode: u32) -> Outcome {
        unsupported()
    }

    /// As [`Driver::open`]; ELOOP where a link is on the way or at the end, if names of the driver can be links.
    fn open_straight(&mut self, path: &CStr, flags: i32, mode: u32) -> Outcome {
        self.open(path, flags, mode)
    }

    /// Closes a file; the handle is free afterwards, whatever the errno.
    fn close(&mut self, file: Handle) -> Outcome {
        unsupported()
    }

    /// Writes `length` bytes at the file's position, which moves; completes short transfers.
    ///
    /// # Safety
    /// `from` is readable for `length` bytes, unless the driver moves no content.
    unsafe fn write(&mut self, file: Handle, from: *const u8, length: usize) -> Outcome {
        unsupported()
    }

    /// Writes `length` bytes at `offset`.
    ///
    /// # Safety
    /// As [`Driver::write`].
    unsafe fn pwrite(&mut self, file: Handle, from: *const u8, length: usize, offset: u64) -> Outcome {
        unsupported()
    }

    /// Reads `length` bytes from the file's position, which moves; fewer at the end of the file.
    ///
    /// # Safety
    /// `into` is writable for `length` bytes, unless the driver moves no content.
    unsafe fn read(&mut self, file: Handle, into: *mut u8, length: usize) -> Outcome {
        unsupported()
    }

    /// Reads `length` bytes from `offset`; fewer at the end of the file.
    ///
    /// # Safety
    /// As [`Driver::read`].
    unsafe fn pread(&mut self, file: Handle, into: *mut u8, length: usize, offset: u64) -> Outcome {
        unsupported()
    }

    /// Copies up to `length` bytes from one open file into another by one call, without a buffer of ours; fewer at the end
    /// of the first. Each offset is one of `offsets`, the first that of `from`, or the file's position, which then moves.
    fn copy(
        &mut self,
        from: Handle,
        to: Handle,
        length: usize,
        offsets: (Option<u64>, Option<u64>),
    ) -> Outcome {
        unsupported()
    }

    /// Waits until what was written is on the device.
    fn sync(&mut self, file: Handle, data_only: bool) -> Outcome {
        unsupported()
    }

    /// Sets the file's position; the value is the new one.
    fn seek(&mut self, file: Handle, offset: i64, whence: i32) -> Outcome {
        unsupported()
    }

    /// The size of an open file; 0 where it is not known.
    fn size(&mut self, file: Handle) -> Outcome {
        unsupported()
    }

    /// Sets the length of an open file.
    fn truncate(&mut self, file: Handle, length: u64) -> Outcome {
        unsupported()
    }

    /// Reserves room for an open file, as `fallocate(2)`.
    fn allocate(&mut self, file: Handle, offset: u64, length: u64, mode: i32) -> Outcome {
        unsupported()
    }

    /// Advice about future reads, as `posix_fadvise(2)`.
    fn advise(&mut self, file: Handle, offset: u64, length: u64, advice: i32) -> Outcome {
        unsupported()
    }

    /// Bytes of the file in the page cache.
    fn cached(&mut self, file: Handle) -> Outcome {
        unsupported()
    }

    /// What `O_DIRECT` asks sizes and offsets to be multiples of; 0 where it is not possible.
    fn direct_alignment(&mut self, file: Handle) -> Outcome {
        unsupported()
    }

    /// Maps the file, touches a byte of each page, unmaps it; the value is the number of bytes. The file reaches
    /// as far.
    fn map(&mut self, file: Handle, length: usize, offset: u64) -> Outcome {
        unsupported()
    }

    /// Asks for metadata; the value is the size.
    fn stat(&mut self, path: &CStr) -> Outcome {
        unsupported()
    }

    /// Is there anything of that name?
    fn lookup(&mut self, path: &CStr) -> Outcome {
        unsupported()
    }

    /// Removes a file. Of a directory: EISDIR or EPERM.
    fn unlink(&mut self, path: &CStr) -> Outcome {
        unsupported()
    }

    /// Removes an empty directory.
    fn rmdir(&mut self, path: &CStr) -> Outcome {
        unsupported()
    }

    /// Makes a directory.
    fn mkdir(&mut self, path: &CStr, mode: u32) -> Outcome {
        unsupported()
    }

    /// Renames, replacing what has the new name.
    fn rename(&mut self, from: &CStr, to: &CStr) -> Outcome {
        unsupported()
    }

    /// Renames; EEXIST where something has the new name, EINVAL where that cannot be asked for.
    fn rename_to_free(&mut self, from: &CStr, to: &CStr) -> Outcome {
        Outcome::error(libc::EINVAL)
    }

    /// A second name for a file.
    fn link(&mut self, from: &CStr, to: &CStr) -> Outcome {
        unsupported()
    }

    /// A symbolic link `path` that leads to `target`.
    fn symlink(&mut self, target: &CStr, path: &CStr) -> Outcome {
        unsupported()
    }

    /// Changes an attribute.
    fn change(&mut self, path: &CStr, change: AttributeChange) -> Outcome {
        unsupported()
    }

    /// As [`Driver::change`], of what is held by a descriptor of this machine that can neither read nor write; `path` leads to
    /// it as well.
    fn change_held(&mut self, held: i32, path: &CStr, change: AttributeChange) -> Outcome {
        self.change(path, change)
    }

    /// As [`Driver::change`], of an open file.
    fn change_open(&mut self, file: Handle, change: AttributeChange) -> Outcome {
        unsupported()
    }

    /// Asks for an extended attribute; the value is its size.
    fn attribute(&mut self, path: &CStr, key: &CStr) -> Outcome {
        unsupported()
    }

    /// As [`Driver::attribute`], of an open file.
    fn attribute_open(&mut self, file: Handle, key: &CStr) -> Outcome {
        unsupported()
    }

    /// Reads a directory; the value is the number of names in it, `.` and `..` left out.
    fn readdir(&mut self, path: &CStr) -> Outcome {
        unsupported()
    }

    /// Makes ready to lay a file or directory over `count` storage targets, in pieces of `size` bytes.
    ///
    /// # Errors
    /// A note: that the file system has no such thing is no failure.
    fn prepare_stripe(&mut self, path: &CStr, count: u32, size: Option<u64>) -> Result<Striping, Warning> {
        Err(not_of_this_back_end())
    }

    /// Writes everything back, of all files (`sync`).
    fn sync_all(&mut self) -> Outcome {
        unsupported()
    }

    /// Empties the page cache.
    fn drop_caches(&mut self) -> Outcome {
        unsupported()
    }

    /// Names that match a shell pattern, sorted.
    fn glob(&mut self, pattern: &str) -> Vec<String> {
        Vec::new()
    }

    /// From now on up to `depth` submissions may be under way.
    ///
    /// # Errors
    /// In words: why none can be. Operations are then done one by one.
    fn begin_async(&mut self, depth: u32) -> Result<(), String> {
        Err("the back end has no asynchronous operations".into())
    }

    /// Makes submission `number`, below the depth and not under way, ready for [`Driver::submit`]; false where it
    /// cannot be submitted. Copies the path.
    fn prepare(&mut self, number: u32, submission: Submission<'_>) -> bool {
        false
    }

    /// Hands over what [`Driver::prepare`] made ready.
    ///
    /// # Safety
    /// The memory of a transfer stays where it is, and nobody reads what is being read into it or changes what is
    /// being written from it, until [`Driver::completed`] gave its number or [`Driver::drain`] returned.
    ///
    /// # Errors
    /// The errno where it was not taken: no further ones will be.
    unsafe fn submit(&mut self, number: u32) -> Result<(), i32> {
        Err(libc::EOPNOTSUPP)
    }

    /// A submission that is done, if there is one.
    fn completed(&mut self) -> Option<(u32, Outcome)> {
        None
    }

    /// Waits until something may be done, or for `most`.
    fn wait(&mut self, most: Option<Duration>) {}

    /// Waits for everything that is under way and forgets it.
    fn drain(&mut self) {}
}

/// How a user chooses a driver, and how a rank and its workers get one.
pub trait Listed: Driver + Sized {
    /// What can be chosen about it.
    type Choice: Clone + Debug + PartialEq;

    /// Its name in one word.
    const NAME: &'static str;

    /// How it is written behind `--backend`.
    const FORM: &'static str;

    /// As [`Driver::capabilities`], before there is a driver.
    const CAPABILITIES: Capabilities;

    /// The choice that `words` make; `None` where they mean another driver.
    fn choose(words: &str) -> Option<Result<Self::Choice, String>>;

    /// The choice as it stands in the facts of a run (`backend`).
    fn describe(choice: &Self::Choice) -> String;

    /// The driver of a rank.
    ///
    /// # Errors
    /// In words.
    fn connect(choice: &Self::Choice, seat: Seat) -> Result<Self, String>;

    /// The driver of a worker of this rank, to be used on another thread.
    ///
    /// # Errors
    /// In words.
    fn for_worker(&self) -> Result<Self, String>;

    /// Opens a file of this driver, known as `path`, for a worker's; the value is the handle there.
    fn share(&mut self, file: Handle, path: &CStr, worker: &mut Self) -> Outcome;
}

/// For whom a driver is made.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// The rank.
    pub rank: u32,
    /// Ranks in the run.
    pub ranks: u32,
    /// Of all random draws.
    pub seed: u64,
}
