//! The shared memory of one rank's samples, laid out so that the death of the rank loses none.
//!
//! A memory file (`memfd`), or a file with a name (see [`crate::live`]), mapped `MAP_SHARED`. The parent creates it
//! before it forks, so parent and rank see the same pages; what a rank has published is still there after SIGKILL,
//! and in a file with a name also when the parent was killed. Under MPI every process creates its own.
//!
//! ```text
//! | header 4 KiB | journal (sparse) | registry of created files (sparse) | tallies (sparse) | samples (sparse) |
//! ```
//!
//! The file is as long as its limits from the start, but sparse: memory is taken only for the pages
//! that were populated.

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{Advice, madvise};
use samples::{Sample, VerifiedFacts};

use crate::counts::{STRIDE, SiteTally};
use crate::publish::PublishedCount;

/// Bytes of the header.
const HEADER: usize = 4096;
/// The most a journal can hold: sites, messages.
const JOURNAL_LIMIT: usize = 256 << 20;
/// The most the registry of created files can hold.
const REGISTRY_LIMIT: usize = 1 << 30;
/// Sites times workers that can be counted in histograms.
const TALLY_LIMIT: usize = 1 << 12;
/// The limits are halved at most so often where the system refuses so much address space: the journal then
/// has 4 MiB.
const HALVINGS: u32 = 6;
/// Bytes of address space that a region which was made smaller leaves.
const LEFT_TO_OTHERS: usize = 64 << 20;
const MAGIC: u64 = u64::from_le_bytes(*b"lastrank");
const VERSION: u32 = 2;

/// How far a rank came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum RecordState {
    /// It never began.
    #[default]
    New,
    /// It began and did not say that it ended: killed, or still at work.
    Running,
    /// It reached the end of the program.
    Finished,
    /// It ended early and said why in its journal.
    Stopped,
}

/// The first page of a region.
#[repr(C)]
pub(super) struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    rank: AtomicU32,
    /// Samples published, those in the spill file included.
    pub(super) samples: PublishedCount,
    /// The first of them lie in the spill file.
    pub(super) spilled: PublishedCount,
    /// Bytes of the journal that are valid.
    pub(super) journal: PublishedCount,
    /// Bytes of the registry that are in use.
    pub(super) registry: AtomicU64,
    /// Failed operations.
    pub(super) failed: AtomicU64,
    /// The site of the operation under way; `u32::MAX` before the first.
    pub(super) site: AtomicU32,
    state: AtomicU32,
    /// Tallies in use.
    pub(super) tallies: PublishedCount,
    /// Bytes of the journal and of the registry, tallies and samples that there is room for.
    limits: [AtomicU64; 4],
    /// What verified reads came to: as in [`VerifiedFacts`].
    verified: [AtomicU64; 3],
}

/// The shared memory of one rank.
pub struct SampleRegion {
    mapping: MmapRaw,
    journal_limit: usize,
    registry_limit: usize,
    tally_limit: usize,
    sample_limit: usize,
    spill: File,
    // Kept open so that /proc shows what the memory is.
    _memory: File,
}

impl SampleRegion {
    /// A region for `rank` that holds at most `sample_limit` samples in memory; further ones go to an
    /// unnamed file in `spill_directory`.
    ///
    /// Where address space or the size of files is limited (`ulimit -v`, `ulimit -f`), it is made smaller.
    ///
    /// # Errors
    /// As memfd_create(2), mmap(2) and open(2).
    pub fn new(rank: u32, sample_limit: usize, spill_directory: &Path) -> io::Result<Self> {
        let mut halvings = 0;
        loop {
            match Self::try_new(rank, sample_limit, halvings, spill_directory) {
                Err(error)
                    if halvings < HALVINGS
                        && matches!(error.raw_os_error(), Some(libc::ENOMEM | libc::EFBIG)) =>
                {
                    halvings += 1;
                }
                result => return result,
            }
        }
    }

    fn try_new(rank: u32, sample_limit: usize, halvings: u32, spill_directory: &Path) -> io::Result<Self> {
        let memory = File::from(memfd_create(format!("lastrank-{rank}"), MemfdFlags::CLOEXEC)?);
        Self::laid_out((rank, sample_limit, halvings), memory, unnamed_file(spill_directory)?)
    }

    /// As [`SampleRegion::new`], in these two empty files.
    ///
    /// # Errors
    /// As mmap(2) and ftruncate(2).
    pub(super) fn in_files(rank: u32, sample_limit: usize, memory: File, spill: File) -> io::Result<Self> {
        let mut halvings = 0;
        loop {
            let (memory, spill) = (memory.try_clone()?, spill.try_clone()?);
            match Self::laid_out((rank, sample_limit, halvings), memory, spill) {
                Err(error)
                    if halvings < HALVINGS
                        && matches!(error.raw_os_error(), Some(libc::ENOMEM | libc::EFBIG)) =>
                {
                    halvings += 1;
                }
                result => return result,
            }
        }
    }

    fn laid_out(
        (rank, sample_limit, halvings): (u32, usize, u32),
        memory: File,
        spill: File,
    ) -> io::Result<Self> {
        let (journal_limit, registry_limit) = (JOURNAL_LIMIT >> halvings, REGISTRY_LIMIT >> halvings);
        let tally_limit = TALLY_LIMIT >> halvings;
        // Samples that do not fit go to a file; tallies that do not fit are lost.
        let sample_limit = (sample_limit >> (2 * halvings)).max(64);
        let tallies = tally_limit * STRIDE;
        let bytes = HEADER + journal_limit + registry_limit + tallies + sample_limit * size_of::<Sample>();
        ftruncate(&memory, bytes as u64)?;
        let mapping = MmapOptions::new().len(bytes).no_reserve_swap().map_raw(&memory)?;
        // Where address space is scarce, the rest of the run needs some of it too.
        if (1..HALVINGS).contains(&halvings) {
            drop(MmapOptions::new().len(LEFT_TO_OTHERS).no_reserve_swap().map_anon()?);
        }
        let region = Self {
            mapping,
            journal_limit,
            registry_limit,
            tally_limit,
            sample_limit,
            spill,
            _memory: memory,
        };
        // The first page must be there: a store into one that is not ends the process where a file system is full.
        region.populate(region.base(), HEADER)?;
        let header = region.header();
        header.version.store(VERSION, Ordering::Relaxed);
        header.rank.store(rank, Ordering::Relaxed);
        header.site.store(u32::MAX, Ordering::Relaxed);
        for (place, limit) in
            header.limits.iter().zip([journal_limit, registry_limit, tally_limit, sample_limit])
        {
            place.store(limit as u64, Ordering::Relaxed);
        }
        header.magic.store(MAGIC, Ordering::Release);
        Ok(region)
    }

    /// The region in a file that a run left, with its spill file. Nothing that the file says is believed: its parts
    /// must make up exactly its length.
    ///
    /// # Errors
    /// `InvalidData` where it is not such a file of this version; else as mmap(2).
    pub(super) fn found(memory: File, spill: File) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let length = usize::try_from(memory.metadata()?.len()).map_err(|_| wrong("it is too long"))?;
        if length < HEADER {
            return Err(wrong("it is shorter than a page"));
        }
        let mapping = MmapOptions::new().len(length).no_reserve_swap().map_raw(&memory)?;
        let mut region = Self {
            mapping,
            journal_limit: 0,
            registry_limit: 0,
            tally_limit: 0,
            sample_limit: 0,
            spill,
            _memory: memory,
        };
        if !region.intact() {
            return Err(wrong("it does not begin as the samples of a run of this version do"));
        }
        let [journal, registry, tallies, samples] = [0, 1, 2, 3].map(|part: usize| {
            usize::try_from(region.header().limits[part].load(Ordering::Relaxed)).unwrap_or(usize::MAX)
        });
        let parts = [
            Some(HEADER),
            Some(journal),
            Some(registry),
            tallies.checked_mul(STRIDE),
            samples.checked_mul(size_of::<Sample>()),
        ];
        let all = parts.into_iter().try_fold(0_usize, |sum, part| sum.checked_add(part?));
        let pages = [journal, registry].iter().all(|part| part.is_multiple_of(4096));
        if all != Some(length) || !pages {
            return Err(wrong("its parts do not make up its length"));
        }
        (region.journal_limit, region.registry_limit) = (journal, registry);
        (region.tally_limit, region.sample_limit) = (tallies, samples);
        Ok(region)
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: the mapping is page-aligned and longer than the header, it lives as long as
        // `self`, and all its fields are atomic and valid for every bit pattern.
        unsafe { self.base().cast::<Header>().as_ref() }
    }

    fn base(&self) -> NonNull<u8> {
        // SAFETY: a mapping begins nowhere near null.
        unsafe { NonNull::new_unchecked(self.mapping.as_mut_ptr()) }
    }

    /// Is the header one that this version wrote?
    pub(super) fn intact(&self) -> bool {
        let header = self.header();
        header.magic.load(Ordering::Acquire) == MAGIC && header.version.load(Ordering::Relaxed) == VERSION
    }

    /// The rank it belongs to.
    pub fn rank(&self) -> u32 {
        self.header().rank.load(Ordering::Relaxed)
    }

    /// Says whose it is, where the launcher could not say so before.
    pub fn set_rank(&self, rank: u32) {
        self.header().rank.store(rank, Ordering::Relaxed);
    }

    /// How far the rank came.
    pub fn state(&self) -> RecordState {
        match self.header().state.load(Ordering::Acquire) {
            1 => RecordState::Running,
            2 => RecordState::Finished,
            3 => RecordState::Stopped,
            _ => RecordState::New,
        }
    }

    /// Says how far the rank came.
    pub fn set_state(&self, state: RecordState) {
        let number = match state {
            RecordState::New => 0,
            RecordState::Running => 1,
            RecordState::Finished => 2,
            RecordState::Stopped => 3,
        };
        self.header().state.store(number, Ordering::Release);
    }

    /// Samples published so far: what a progress bar shows.
    pub fn progress(&self) -> u64 {
        self.header().samples.seen()
    }

    /// Operations that failed so far.
    pub fn failed(&self) -> u64 {
        self.header().failed.load(Ordering::Relaxed)
    }

    /// What verified reads came to so far.
    pub fn verified(&self) -> VerifiedFacts {
        let [operations, bytes, unknown_bytes] =
            self.header().verified.each_ref().map(|count| count.load(Ordering::Relaxed));
        VerifiedFacts { operations, bytes, unknown_bytes }
    }

    /// Counts verified reads. Here and not in the journal: it survives the death of the rank.
    pub(super) fn count_verified(&self, more: VerifiedFacts) {
        let more = [more.operations, more.bytes, more.unknown_bytes];
        for (count, more) in self.header().verified.iter().zip(more) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// The site (of this rank's own numbering) of the operation under way.
    pub fn current_site(&self) -> Option<u32> {
        match self.header().site.load(Ordering::Relaxed) {
            u32::MAX => None,
            site => Some(site),
        }
    }

    pub(super) fn journal(&self) -> NonNull<u8> {
        // SAFETY: inside the mapping.
        unsafe { self.base().add(HEADER) }
    }

    /// The registry of created files, and the bytes of it that are in use.
    pub fn registry(&self) -> (NonNull<u8>, &AtomicU64) {
        // SAFETY: inside the mapping.
        (unsafe { self.base().add(HEADER + self.journal_limit) }, &self.header().registry)
    }

    /// Bytes that the registry can hold.
    pub fn registry_limit(&self) -> usize {
        self.registry_limit
    }

    /// Bytes that the journal can hold.
    pub(super) fn journal_limit(&self) -> usize {
        self.journal_limit
    }

    pub(super) fn samples(&self) -> NonNull<Sample> {
        // SAFETY: inside the mapping, and page-aligned since all parts before it are whole pages.
        let before = HEADER + self.journal_limit + self.registry_limit + self.tally_limit * STRIDE;
        // SAFETY: as said.
        unsafe { self.base().add(before).cast() }
    }

    /// Tallies that there is room for.
    pub(super) fn tally_limit(&self) -> usize {
        self.tally_limit
    }

    /// The place of a tally below the limit.
    pub(super) fn tally(&self, index: usize) -> NonNull<SiteTally> {
        debug_assert!(index < self.tally_limit);
        // SAFETY: inside the mapping for every index below the limit, and page-aligned.
        unsafe { self.base().add(HEADER + self.journal_limit + self.registry_limit + index * STRIDE).cast() }
    }

    pub(super) fn sample_limit(&self) -> usize {
        self.sample_limit
    }

    pub(super) fn spill(&self) -> &File {
        &self.spill
    }

    /// Puts memory behind `bytes` from `start` on, so that a later store does not fault.
    ///
    /// # Errors
    /// As madvise(2); `InvalidInput` where the range is not inside this region.
    pub fn populate(&self, start: NonNull<u8>, bytes: usize) -> io::Result<()> {
        const PAGE: usize = 4096;
        let (base, first) = (self.base().addr().get(), start.addr().get());
        let end = first.checked_add(bytes).filter(|end| first >= base && *end <= base + self.mapping.len());
        let Some(end) = end else { return Err(io::ErrorKind::InvalidInput.into()) };
        let before = first % PAGE;
        let length = (end - first + before).next_multiple_of(PAGE);
        let page = start.as_ptr().wrapping_sub(before);
        // SAFETY: the pages lie inside the mapping (it begins with a page); populating changes no content.
        match unsafe { madvise(page.cast(), length, Advice::LinuxPopulateWrite) } {
            Err(rustix::io::Errno::INVAL) => {}
            result => return Ok(result?),
        }
        // A kernel before 5.14: touch each page by an addition of nothing, which keeps its content.
        for offset in (0..length).step_by(PAGE) {
            // SAFETY: as above; the address is aligned to a page.
            unsafe { AtomicU64::from_ptr(page.add(offset).cast()) }.fetch_add(0, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// A file without a name: it is gone with its last descriptor.
///
/// # Errors
/// As open(2).
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    tempfile::tempfile_in(directory)
}
