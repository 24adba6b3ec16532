//! The driver of this machine's system calls.
//!
//! `calls` makes them one by one, `chains` hands them to io_uring.

mod attributes;
mod calls;
mod chain;
mod chains;
mod ring;

use std::ffi::CStr;
use std::time::Duration;

use samples::{Outcome, Warning};

use super::attribute::AttributeChange;
use super::glob::glob;
use super::stripes::{self, Striping};
use super::submission::{Handle, Submission};
use super::table::{Capabilities, Driver, Listed, Seat};
use chains::CallChains;

/// Operations by system calls of this machine.
pub struct Posix {
    /// What is under way in an `async` block.
    jobs: Option<Box<CallChains>>,
    /// Who runs this process, by user and group.
    user: (u32, u32),
}

impl Default for Posix {
    fn default() -> Self {
        // SAFETY: plain calls.
        Self { jobs: None, user: unsafe { (libc::geteuid(), libc::getegid()) } }
    }
}

/// There is one such back end: nothing is to be chosen about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThisMachine;

#[inline(always)]
fn fd(file: Handle) -> i32 {
    file.0 as i32
}

impl Driver for Posix {
    #[inline(always)]
    fn capabilities(&self) -> Capabilities {
        Self::CAPABILITIES
    }

    #[inline(always)]
    fn open(&mut self, path: &CStr, flags: i32, mode: u32) -> Outcome {
        calls::open(path, flags, mode)
    }

    #[inline(always)]
    fn open_straight(&mut self, path: &CStr, flags: i32, mode: u32) -> Outcome {
        calls::open_straight(path, flags, mode)
    }

    #[inline(always)]
    fn close(&mut self, file: Handle) -> Outcome {
        calls::close(fd(file))
    }

    #[inline(always)]
    unsafe fn write(&mut self, file: Handle, from: *const u8, length: usize) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { calls::write(fd(file), from, length) }
    }

    #[inline(always)]
    unsafe fn pwrite(&mut self, file: Handle, from: *const u8, length: usize, offset: u64) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { calls::pwrite(fd(file), from, length, offset) }
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: Handle, into: *mut u8, length: usize) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { calls::read(fd(file), into, length) }
    }

    #[inline(always)]
    unsafe fn pread(&mut self, file: Handle, into: *mut u8, length: usize, offset: u64) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { calls::pread(fd(file), into, length, offset) }
    }

    #[inline(always)]
    fn copy(
        &mut self,
        from: Handle,
        to: Handle,
        length: usize,
        offsets: (Option<u64>, Option<u64>),
    ) -> Outcome {
        calls::copy(fd(from), fd(to), length, offsets)
    }

    #[inline(always)]
    fn sync(&mut self, file: Handle, data_only: bool) -> Outcome {
        if data_only { calls::fdatasync(fd(file)) } else { calls::fsync(fd(file)) }
    }

    #[inline(always)]
    fn seek(&mut self, file: Handle, offset: i64, whence: i32) -> Outcome {
        calls::seek(fd(file), offset, whence)
    }

    #[inline(always)]
    fn size(&mut self, file: Handle) -> Outcome {
        calls::size(fd(file))
    }

    #[inline(always)]
    fn truncate(&mut self, file: Handle, length: u64) -> Outcome {
        calls::ftruncate(fd(file), length)
    }

    #[inline(always)]
    fn allocate(&mut self, file: Handle, offset: u64, length: u64, mode: i32) -> Outcome {
        calls::fallocate(fd(file), mode, offset, length)
    }

    #[inline(always)]
    fn advise(&mut self, file: Handle, offset: u64, length: u64, advice: i32) -> Outcome {
        calls::fadvise(fd(file), offset, length, advice)
    }

    #[inline(always)]
    fn cached(&mut self, file: Handle) -> Outcome {
        calls::cached(fd(file))
    }

    #[inline(always)]
    fn direct_alignment(&mut self, file: Handle) -> Outcome {
        calls::direct_alignment(fd(file))
    }

    #[inline(always)]
    fn map(&mut self, file: Handle, length: usize, offset: u64) -> Outcome {
        calls::map(fd(file), length, offset)
    }

    #[inline(always)]
    fn stat(&mut self, path: &CStr) -> Outcome {
        calls::stat(path)
    }

    #[inline(always)]
    fn lookup(&mut self, path: &CStr) -> Outcome {
        calls::lookup(path)
    }

    #[inline(always)]
    fn unlink(&mut self, path: &CStr) -> Outcome {
        calls::unlink(path)
    }

    #[inline(always)]
    fn rmdir(&mut self, path: &CStr) -> Outcome {
        calls::rmdir(path)
    }

    #[inline(always)]
    fn mkdir(&mut self, path: &CStr, mode: u32) -> Outcome {
        calls::mkdir(path, mode)
    }

    #[inline(always)]
    fn rename(&mut self, from: &CStr, to: &CStr) -> Outcome {
        calls::rename(from, to)
    }

    #[inline(always)]
    fn rename_to_free(&mut self, from: &CStr, to: &CStr) -> Outcome {
        calls::rename_to_free(from, to)
    }

    #[inline(always)]
    fn link(&mut self, from: &CStr, to: &CStr) -> Outcome {
        calls::link(from, to)
    }

    #[inline(always)]
    fn symlink(&mut self, target: &CStr, path: &CStr) -> Outcome {
        calls::symlink(target, path)
    }

    #[inline(always)]
    fn change(&mut self, path: &CStr, change: AttributeChange) -> Outcome {
        match change {
            AttributeChange::Mode(mode) => attributes::chmod(path, mode),
            AttributeChange::Owner => attributes::chown(path, self.user),
            AttributeChange::Times => attributes::utimes(path),
            AttributeChange::Set { key, size } => attributes::set_extended(path, key, Some(size)),
            AttributeChange::Remove { key } => attributes::set_extended(path, key, None),
        }
    }

    #[inline(always)]
    fn change_held(&mut self, held: i32, path: &CStr, change: AttributeChange) -> Outcome {
        let done = match change {
            AttributeChange::Mode(mode) => attributes::fchmodat2(held, mode),
            AttributeChange::Owner => attributes::chown_held(held, self.user),
            AttributeChange::Times => attributes::utimes_held(held),
            AttributeChange::Set { key, size } => {
                return attributes::set_extended_held(held, key, Some(size));
            }
            AttributeChange::Remove { key } => return attributes::set_extended_held(held, key, None),
        };
        match done.errno {
            // Before Linux 6.6, or 5.8, or a filter of a container.
            libc::ENOSYS | libc::EPERM | libc::EINVAL => self.change(path, change),
            _ => done,
        }
    }

    #[inline(always)]
    fn change_open(&mut self, file: Handle, change: AttributeChange) -> Outcome {
        let file = fd(file);
        match change {
            AttributeChange::Mode(mode) => attributes::fchmod(file, mode),
            AttributeChange::Owner => attributes::fchown(file, self.user),
            AttributeChange::Times => attributes::futimes(file),
            AttributeChange::Set { key, size } => attributes::set_extended_open(file, key, Some(size)),
            AttributeChange::Remove { key } => attributes::set_extended_open(file, key, None),
        }
    }

    #[inline(always)]
    fn attribute(&mut self, path: &CStr, key: &CStr) -> Outcome {
        attributes::extended(path, key)
    }

    #[inline(always)]
    fn attribute_open(&mut self, file: Handle, key: &CStr) -> Outcome {
        attributes::extended_open(fd(file), key)
    }

    #[inline(always)]
    fn readdir(&mut self, path: &CStr) -> Outcome {
        calls::readdir(path)
    }

    fn prepare_stripe(&mut self, path: &CStr, count: u32, size: Option<u64>) -> Result<Striping, Warning> {
        stripes::prepare(path, count, size)
    }

    #[inline(always)]
    fn sync_all(&mut self) -> Outcome {
        calls::sync_all()
    }

    #[inline(always)]
    fn drop_caches(&mut self) -> Outcome {
        calls::drop_caches()
    }

    fn glob(&mut self, pattern: &str) -> Vec<String> {
        glob(pattern)
    }

    fn begin_async(&mut self, depth: u32) -> Result<(), String> {
        if self.jobs.as_ref().is_none_or(|jobs| !jobs.serves(depth)) {
            self.jobs = None;
            let jobs =
                CallChains::new(depth).map_err(|error| format!("the kernel refuses io_uring ({error})"))?;
            self.jobs = Some(Box::new(jobs));
        }
        Ok(())
    }

    fn prepare(&mut self, number: u32, submission: Submission<'_>) -> bool {
        self.jobs.as_mut().is_some_and(|jobs| jobs.prepare(number, submission))
    }

    #[inline]
    unsafe fn submit(&mut self, number: u32) -> Result<(), i32> {
        match &mut self.jobs {
            // SAFETY: the caller's promise.
            Some(jobs) => unsafe { jobs.submit(number) },
            None => Err(libc::EINVAL),
        }
    }

    #[inline]
    fn completed(&mut self) -> Option<(u32, Outcome)> {
        self.jobs.as_mut()?.completed()
    }

    fn wait(&mut self, most: Option<Duration>) {
        if let Some(jobs) = &mut self.jobs {
            jobs.wait(most);
        }
    }

    fn drain(&mut self) {
        self.jobs = None;
    }
}

impl Listed for Posix {
    type Choice = ThisMachine;

    const NAME: &'static str = "posix";

    const FORM: &'static str = "`posix`";

    const CAPABILITIES: Capabilities = Capabilities { local_files: true, virtual_time: false, content: true };

    fn choose(words: &str) -> Option<Result<ThisMachine, String>> {
        (words == Self::NAME).then_some(Ok(ThisMachine))
    }

    fn describe(_choice: &ThisMachine) -> String {
        Self::NAME.into()
    }

    fn connect(_choice: &ThisMachine, _seat: Seat) -> Result<Self, String> {
        Ok(Self::default())
    }

    fn for_worker(&self) -> Result<Self, String> {
        Ok(Self::default())
    }

    fn share(&mut self, file: Handle, _path: &CStr, _worker: &mut Self) -> Outcome {
        calls::duplicate(fd(file))
    }
}
