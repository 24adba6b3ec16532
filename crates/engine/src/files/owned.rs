//! What a run made: objects, not names.
//!
//! A name says little of what lies there: a directory can be moved away and a link put in its place. So a run remembers the
//! objects that calls of its own made, by device, inode and birth time, in memory that all of its ranks share.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::earlier_runs::EarlierRuns;
use super::moment::Moment;
use super::object::Object;

/// Slots that are looked at for one object in each level.
const WINDOW: usize = 16;
/// Slots of each level: the next one is used where a window is full. Memory is taken as it is touched.
const LEVELS: [usize; 4] = [1 << 12, 1 << 16, 1 << 20, 1 << 25];

/// The objects that the ranks of a run made.
struct Table {
    /// A word for each slot: 0, or the number of an object.
    slots: NonNull<AtomicU64>,
    bytes: usize,
    levels: usize,
    /// Of this run: nobody can find objects that share a number with a file of the user.
    key: u64,
}

// SAFETY: slots are atomic words in memory that lives as long as the table.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// In memory that children share. With less room where there is little.
    fn new() -> Option<Self> {
        let key = ranks::random_number().ok()?;
        (1..=LEVELS.len()).rev().find_map(|levels| {
            let slots: usize = LEVELS[..levels].iter().sum();
            // The word in front of them: the deepest level in use.
            let bytes = (slots + WINDOW) * size_of::<AtomicU64>();
            let how = MapFlags::SHARED | MapFlags::NORESERVE;
            // SAFETY: a new mapping, of which nobody else knows.
            let mapped = unsafe {
                mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, how)
            };
            let slots = NonNull::new(mapped.ok()?.cast::<AtomicU64>())?;
            let table = Self { slots, bytes, levels, key };
            // The first level is there before the first measured call.
            (0..WINDOW + LEVELS[0])
                .step_by(256)
                .for_each(|slot| table.slot(slot).store(0, Ordering::Relaxed));
            Some(table)
        })
    }

    fn slot(&self, number: usize) -> &AtomicU64 {
        debug_assert!((number + 1) * size_of::<AtomicU64>() <= self.bytes);
        // SAFETY: within the mapping, zeroed, aligned.
        unsafe { self.slots.add(number).as_ref() }
    }

    fn deepest(&self) -> &AtomicU32 {
        // SAFETY: the first word of the mapping is used for this alone.
        unsafe { self.slots.cast::<AtomicU32>().as_ref() }
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
        let begin = WINDOW + before + (number as usize & (LEVELS[level] / WINDOW - 1)) * WINDOW;
        begin..begin + WINDOW
    }

    fn insert(&self, object: &Object) {
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

    fn find(&self, object: &Object) -> Option<&AtomicU64> {
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
        // SAFETY: mapped by `new`, and nobody has a reference into it any more. Children have mappings of their own.
        let _ = unsafe { munmap(self.slots.as_ptr().cast(), self.bytes) };
    }
}

/// What belongs to a run: what its ranks made, and what earlier runs of the same user left.
///
/// A clone, also in a forked rank or a worker, is the same.
#[derive(Clone, Default)]
pub struct Ownership {
    made: Option<Arc<Table>>,
    earlier: EarlierRuns,
    /// Ranks that share no memory with this one made what was born since.
    others_since: Option<Moment>,
}

impl Ownership {
    /// Of a run that begins: nothing is its own but what earlier runs left. Taken before ranks are forked.
    pub fn new() -> Self {
        Self { made: Table::new().map(Arc::new), earlier: EarlierRuns::read(), others_since: None }
    }

    /// There are ranks that share no memory with this process (those of an MPI launcher): what was born since `begun` is
    /// taken for theirs where it is not this one's.
    #[must_use]
    pub fn with_others_since(self, begun: Moment) -> Self {
        Self { others_since: Some(begun), ..self }
    }

    /// A call of this run made it.
    pub fn made(&self, object: &Object) {
        if let Some(made) = &self.made {
            made.insert(object);
        }
    }

    /// It is gone: its number may be another's from now on.
    pub fn gone(&self, object: &Object) {
        if let Some(slot) = self.made.as_ref().and_then(|made| made.find(object)) {
            slot.store(0, Ordering::Release);
        }
    }

    /// Did this run make it?
    pub fn is_made(&self, object: &Object) -> bool {
        self.made.as_ref().is_some_and(|made| made.find(object).is_some())
            || self.others_since.is_some_and(|begun| {
                object.born_ns > 0 && Moment { ns: object.born_ns }.is_within((begun, Moment::MAX))
            })
    }

    /// Did this run, or an earlier one of the same user, make it?
    pub fn is_ours(&self, object: &Object) -> bool {
        self.is_made(object) || self.earlier.know(object)
    }
}

impl std::fmt::Debug for Ownership {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.debug_struct("Ownership").field("others_since", &self.others_since).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(inode: u64) -> Object {
        Object { device: (8, 1), inode, born_ns: 1_700_000_000_000_000_000, changed_ns: 0 }
    }

    #[test]
    fn an_object_is_made_until_it_is_gone_and_no_other_is() {
        let own = Ownership { made: Table::new().map(Arc::new), ..Ownership::default() };
        // More than the first level has room for.
        for inode in 0..20_000 {
            own.made(&object(inode));
        }
        assert!((0..20_000).all(|inode| own.is_made(&object(inode))));
        assert!((20_000..60_000).all(|inode| !own.is_made(&object(inode))));
        let other = Object { born_ns: 1, ..object(7) };
        assert!(!own.is_made(&other) && !own.is_made(&Object { device: (8, 2), ..object(7) }));
        (0..20_000).for_each(|inode| own.gone(&object(inode)));
        assert!((0..20_000).all(|inode| !own.is_made(&object(inode))));
    }

    #[test]
    fn making_and_removing_for_ever_takes_no_more_room() {
        let own = Ownership { made: Table::new().map(Arc::new), ..Ownership::default() };
        for inode in 0..1_000_000 {
            own.made(&object(inode));
            own.gone(&object(inode));
        }
        let table = own.made.expect("memory");
        assert_eq!(table.deepest().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn threads_that_make_at_the_same_time_lose_nothing() {
        let own = Ownership { made: Table::new().map(Arc::new), ..Ownership::default() };
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let own = own.clone();
                scope.spawn(move || (0..5_000).for_each(|n| own.made(&object(worker * 5_000 + n))));
            }
        });
        assert!((0..20_000).all(|inode| own.is_made(&object(inode))));
    }
}
