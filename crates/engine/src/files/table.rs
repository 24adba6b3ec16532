//! A set of objects in memory that the processes of a run share.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use super::moment::Moment;
use super::object::Object;
use super::taken::Taken;

/// Slots that are looked at for one object in each level.
const WINDOW: usize = 16;
/// Words of the head, whole windows.
const HEAD: usize = 2 * WINDOW;
/// Slots of each level: the next one is used where a window is full. Memory is taken as it is touched.
const LEVELS: [usize; 4] = [1 << 12, 1 << 16, 1 << 20, 1 << 25];
/// The word of the head by which a table is known to be the one that was meant.
const KEY: usize = 1;
/// The word that says when the run began.
const BEGUN: usize = 2;
/// The first of the words that say what the processes take of file systems, and of how many.
const TAKEN: usize = 3;
const FILE_SYSTEMS: usize = 4;
/// Levels that a file keeps, which others read when the run was killed. What is in further ones they do not know, and leave.
const KEPT: usize = 3;

/// Of which size a table with so many levels is.
fn bytes_of(levels: usize) -> usize {
    (LEVELS[..levels].iter().sum::<usize>() + HEAD) * size_of::<AtomicU64>()
}

/// Of which length a file is that keeps a table: whole pages.
fn kept_bytes() -> usize {
    bytes_of(KEPT).next_multiple_of(rustix::param::page_size())
}

/// Words of one of them.
const WORDS: usize = size_of::<Taken>() / size_of::<AtomicU64>();
const _: () = assert!(TAKEN + FILE_SYSTEMS * WORDS <= HEAD && align_of::<Taken>() == align_of::<AtomicU64>());

/// The objects that the ranks of a run made.
pub(super) struct Table {
    /// A head, whose first word is the deepest level in use; then a word for each slot: 0, or the number of an object.
    slots: NonNull<AtomicU64>,
    bytes: usize,
    levels: usize,
    /// Of this run: nobody can find objects that share a number with a file of the user.
    key: u64,
    /// By which other processes map it.
    file: Option<File>,
}

// SAFETY: slots are atomic words in memory that lives as long as the table.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// In memory that children share; other processes as well, where it is a `file`. With less room where there is little.
    pub(super) fn new(file: bool) -> Option<Self> {
        let key = ranks::random_number().ok()?;
        (1..=LEVELS.len()).rev().find_map(|levels| {
            let memory = match file {
                true => {
                    let memory = File::from(memfd_create("lastrank-made", MemfdFlags::CLOEXEC).ok()?);
                    ftruncate(&memory, bytes_of(levels) as u64).ok()?;
                    Some(memory)
                }
                false => None,
            };
            Some(Self::mapped(memory, levels, key)?.begun())
        })
    }

    /// As one in memory that children share, the first levels of which stand in `file`, where they survive all processes.
    pub(super) fn kept_in(file: &File) -> Option<Self> {
        let bytes = kept_bytes();
        // What has no room is told now: a page that is missing later would kill the run.
        fallocate(file, FallocateFlags::empty(), 0, bytes as u64).ok()?;
        let key = ranks::random_number().ok()?;
        let table = Self::mapped(None, LEVELS.len(), key)?;
        let (how, rights) = (MapFlags::SHARED | MapFlags::FIXED, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: over whole pages of a mapping of our own, to which nobody has a reference yet; the whole is longer.
        unsafe { mmap(table.slots.as_ptr().cast(), bytes, rights, how, file, 0) }.ok()?;
        Some(table.begun())
    }

    /// What [`Table::kept_in`] left in `file`.
    pub(super) fn left(file: File) -> Option<Self> {
        if file.metadata().ok()?.len() != kept_bytes() as u64 {
            return None;
        }
        let mut table = Self::mapped(Some(file), KEPT, 0)?;
        table.key = table.slot(KEY).load(Ordering::Acquire);
        (table.key != 0).then_some(table)
    }

    /// The first level is there before the first measured call.
    fn begun(self) -> Self {
        (HEAD..HEAD + LEVELS[0]).step_by(256).for_each(|slot| self.slot(slot).store(0, Ordering::Relaxed));
        self.slot(BEGUN).store(Moment::now().ns as u64, Ordering::Relaxed);
        self.slot(KEY).store(self.key, Ordering::Release);
        self
    }

    /// Is there more than it knows? Of one that was left, what is in further levels.
    pub(super) fn forgets(&self) -> bool {
        self.deepest().load(Ordering::Relaxed) as usize >= self.levels
    }

    /// When the run began: what was born before is not its own, whatever it did to it.
    pub(super) fn since(&self) -> Moment {
        Moment { ns: self.slot(BEGUN).load(Ordering::Relaxed) as i64 }
    }

    fn mapped(file: Option<File>, levels: usize, key: u64) -> Option<Self> {
        let (bytes, how) = (bytes_of(levels), MapFlags::SHARED | MapFlags::NORESERVE);
        let (nowhere, rights) = (std::ptr::null_mut(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping, of which nobody else knows.
        let mapped = unsafe {
            match &file {
                None => mmap_anonymous(nowhere, bytes, rights, how),
                Some(file) => mmap(nowhere, bytes, rights, how, file, 0),
            }
        };
        Some(Self { slots: NonNull::new(mapped.ok()?.cast::<AtomicU64>())?, bytes, levels, key, file })
    }

    /// That of another process of this user and machine, by its number, its descriptor and the table's key.
    pub(super) fn of_process((process, descriptor, key): (u32, i32, u64)) -> Option<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(format!("/proc/{process}/fd/{descriptor}"))
            .ok()?;
        let bytes = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        let levels = (1..=LEVELS.len()).find(|levels| bytes_of(*levels) as u64 == bytes)?;
        let table = Self::mapped(Some(file), levels, key)?;
        (table.slot(KEY).load(Ordering::Acquire) == key).then_some(table)
    }

    /// What [`Table::of_process`] needs.
    pub(super) fn address(&self) -> Option<(u32, i32, u64)> {
        Some((std::process::id(), self.file.as_ref()?.as_raw_fd(), self.key))
    }

    fn slot(&self, number: usize) -> &AtomicU64 {
        debug_assert!((number + 1) * size_of::<AtomicU64>() <= self.bytes);
        // SAFETY: within the mapping, zeroed, aligned.
        unsafe { self.slots.add(number).as_ref() }
    }

    pub(super) fn deepest(&self) -> &AtomicU32 {
        // SAFETY: the first word of the mapping is used for this alone.
        unsafe { self.slots.cast::<AtomicU32>().as_ref() }
    }

    /// Of the file system with this device; `None` where there are more than the table has room for.
    pub(super) fn taken(&self, device: u64) -> Option<&Taken> {
        (0..FILE_SYSTEMS).map(|number| TAKEN + number * WORDS).find_map(|word| {
            // SAFETY: words of the head, which are used for this alone.
            let taken = unsafe { self.slots.add(word).cast::<Taken>().as_ref() };
            taken.is_of(device).then_some(taken)
        })
    }

    fn number(&self, object: &Object) -> u64 {
        let device = (u64::from(object.device.0) << 32) | u64::from(object.device.1);
        let mixed = [device, object.inode, object.born_ns as u64].into_iter().fold(self.key, |hash, part| {
            // SplitMix64 (Steele, Lea and Flood 2014).
            let mixed = (hash ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        });
        mixed.max(1)
    }

    /// The slots in which `number` may stand in this level.
    fn window(level: usize, number: u64) -> std::ops::Range<usize> {
        let before: usize = LEVELS[..level].iter().sum();
        let begin = HEAD + before + (number as usize & (LEVELS[level] / WINDOW - 1)) * WINDOW;
        begin..begin + WINDOW
    }

    pub(super) fn insert(&self, object: &Object) {
        let number = self.number(object);
        for level in 0..self.levels {
            for slot in Self::window(level, number) {
                let slot = self.slot(slot);
                let there = slot.load(Ordering::Relaxed);
                if there == number
                    || there == 0
                        && slot.compare_exchange(0, number, Ordering::AcqRel, Ordering::Relaxed).is_ok()
                {
                    self.deepest().fetch_max(level as u32, Ordering::AcqRel);
                    return;
                }
            }
        }
        // Full: what is forgotten is not ours, which harms nobody.
    }

    pub(super) fn find(&self, object: &Object) -> Option<&AtomicU64> {
        let number = self.number(object);
        let deepest = self.deepest().load(Ordering::Acquire) as usize;
        (0..=deepest.min(self.levels - 1))
            .flat_map(|level| Self::window(level, number))
            .map(|slot| self.slot(slot))
            .find(|slot| slot.load(Ordering::Acquire) == number)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: mapped by `mapped`, and nobody has a reference into it any more. Children have mappings of their own.
        let _ = unsafe { munmap(self.slots.as_ptr().cast(), self.bytes) };
    }
}
