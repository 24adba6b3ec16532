//! The operations of an `async` block that are under way, and what follows each.

use std::ffi::CStr;

use super::guard::Makes;
use super::keys::Key;
use crate::buffers::Buffer;
use crate::content::{Destined, FileName};
use crate::execute::call::{Completed, Meaning};
use crate::files::{FoundFile, Moment, ParentFacts};

/// What else is to be done when a job is done.
#[derive(Clone, Copy, Default)]
pub(super) enum After {
    #[default]
    Nothing,
    /// Something may have been made, since this moment.
    Settle(ParentFacts, Makes, Moment),
    /// Something was removed.
    Forget,
}

/// Done again in the ordinary way where a link stood at the end of the path.
#[derive(Clone, Copy)]
pub(super) enum Again {
    Create,
    ReadFile { length: Option<u64>, offset: u64, flags: i32 },
    WriteFile { length: u64, offset: u64, flags: i32, buffer: Option<u32> },
}

/// A read that is compared when it is done.
#[derive(Clone, Copy)]
pub(super) struct ToVerify {
    pub(super) file: FileName,
    pub(super) offset: u64,
    /// It reads up to the end of the file, however long that is.
    pub(super) all: bool,
    /// How long the file was at least when it began.
    pub(super) least: u64,
}

/// One operation under way. Used again and again: its memory stays.
#[derive(Default)]
pub(super) struct AsyncJob {
    pub(super) key: Option<Key>,
    pub(super) under_way: bool,
    pub(super) begin: u64,
    /// Bytes that it writes.
    pub(super) bytes: u64,
    pub(super) meaning: Meaning,
    pub(super) after: After,
    pub(super) again: Option<Again>,
    /// Compare what was read.
    pub(super) verify: Option<ToVerify>,
    /// What is written, and from which buffer of the program.
    pub(super) writes: Option<(Destined, Option<u32>)>,
    /// Memory of this job alone.
    pub(super) memory: Option<Buffer>,
    /// What is to be removed.
    pub(super) found: Option<FoundFile>,
    /// NUL-terminated.
    pub(super) path: Vec<u8>,
}

impl AsyncJob {
    /// Forgets everything but the memory.
    pub(super) fn reset(&mut self) {
        let (memory, mut path) = (self.memory.take(), std::mem::take(&mut self.path));
        path.clear();
        *self = Self { memory, path, ..Self::default() };
    }

    pub(super) fn path(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.path).unwrap_or(c"")
    }

    /// Memory of this job, filled.
    pub(super) fn filled(&mut self, length: usize, fill: impl FnOnce(&mut [u8])) -> Result<*const u8, i32> {
        self.own_memory(length)?;
        let memory = self.memory.as_mut().ok_or(libc::ENOMEM)?;
        fill(&mut memory.bytes_mut()[..length]);
        Ok(memory.pointer().cast_const())
    }

    /// Memory of this job for `length` bytes, which no other job uses.
    pub(super) fn own_memory(&mut self, length: usize) -> Result<*mut u8, i32> {
        if self.memory.as_ref().is_none_or(|memory| memory.length() < length) {
            self.memory = Some(Buffer::take(length.next_multiple_of(4096).max(4096))?);
        }
        self.memory.as_ref().map(Buffer::pointer).ok_or(libc::ENOMEM)
    }
}

/// What is under way.
pub(super) struct Jobs {
    pub(super) depth: u32,
    /// By number; the one that is being started or ended is taken out, which moves a pointer.
    pub(super) jobs: Vec<Option<Box<AsyncJob>>>,
    /// How many are under way, and how many of those others may have to wait for.
    pub(super) active: u32,
    /// Bytes that they write.
    pub(super) bytes: u64,
    holding: u32,
    /// Jobs so far, and those of them that were done when their submission returned.
    pub(super) total: u64,
    pub(super) at_once: u64,
    /// The job submitted last.
    pub(super) fresh: u32,
    /// A job that the driver did not take.
    pub(super) failed: Option<Completed>,
    pub(super) broken: bool,
}

impl Jobs {
    pub(super) fn new(depth: u32) -> Self {
        Self {
            depth,
            jobs: (0..depth).map(|_| Some(Box::default())).collect(),
            active: 0,
            bytes: 0,
            holding: 0,
            total: 0,
            at_once: 0,
            fresh: u32::MAX,
            failed: None,
            broken: false,
        }
    }

    /// A job was handed over.
    pub(super) fn started(&mut self, job: &mut AsyncJob) {
        job.under_way = true;
        self.active += 1;
        self.bytes = self.bytes.saturating_add(job.bytes);
        self.holding += u32::from(job.key.is_some_and(|key| key.orders()));
    }

    /// A job is done.
    pub(super) fn ended(&mut self, number: u32) {
        let Some(job) = &mut self.jobs[number as usize] else { return };
        if std::mem::take(&mut job.under_way) {
            self.active -= 1;
            self.bytes = self.bytes.saturating_sub(job.bytes);
            self.holding -= u32::from(job.key.is_some_and(|key| key.orders()));
        }
    }

    /// Must a job with this key wait for one that is under way? Where neither it nor any of those orders others, as in a
    /// block of reads and writes, nobody is asked.
    pub(super) fn conflict(&self, key: &Key) -> bool {
        if self.holding == 0 && !key.orders() {
            return false;
        }
        let taken = self.jobs.iter().flatten().filter(|job| job.under_way).filter_map(|job| job.key.as_ref());
        taken.into_iter().any(|taken| key.waits_for(taken))
    }
}
