//! What the processes of a run take of one file system together, in memory that they share.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of the word of the pool that say how many bytes it has; those above them number the looks.
const BYTES: u32 = 48;
const MOST: u64 = (1 << BYTES) - 1;

/// Who looks what is free says first what it is about to write ([`Taken::promise`]), then takes the pool away from all
/// ([`Taken::begin_look`]), then asks what others were promised, and then what is free. So whatever is taken or written meanwhile
/// is left out of neither answer, and a new pool is only of who looked last.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Taken {
    /// Its device; 0: nobody writes to one here.
    device: AtomicU64,
    /// Bytes that were free when one of them looked first; 0: nobody did.
    first: AtomicU64,
    /// Bytes that they are writing, or took from the pool to write them.
    promised: AtomicU64,
    /// Bytes that anyone may take without a further look.
    pool: AtomicU64,
}

impl Taken {
    /// Is it of this device, or may it be from now on?
    pub(super) fn is_of(&self, device: u64) -> bool {
        let known = self.device.load(Ordering::Acquire);
        known == device
            || known == 0
                && match self.device.compare_exchange(0, device, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => true,
                    Err(other) => other == device,
                }
    }

    /// Bytes that were free when the first of all looked, which found `now`.
    pub fn first(&self, now: u64) -> u64 {
        match self.first.compare_exchange(0, now.max(1), Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => now,
            Err(first) => first,
        }
    }

    /// Bytes that all are writing, or may write without asking.
    pub fn promised(&self) -> u64 {
        self.promised.load(Ordering::SeqCst)
    }

    /// Somebody is about to write so many bytes.
    pub fn promise(&self, bytes: u64) {
        let more = |now: u64| Some(now.saturating_add(bytes));
        let _ = self.promised.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
    }

    /// They are written, or will not be.
    pub fn take_back(&self, bytes: u64) {
        // Of a rank that was killed nobody takes back what it was promised; never below what there is.
        let less = |now: u64| Some(now.saturating_sub(bytes));
        let _ = self.promised.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }

    /// Takes so many bytes of the pool, which are promised from then on.
    pub fn take(&self, bytes: u64) -> bool {
        self.promise(bytes);
        let less = |pool: u64| ((pool & MOST) >= bytes).then(|| pool - bytes);
        let is_taken = self.pool.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
        if !is_taken {
            self.take_back(bytes);
        }
        is_taken
    }

    /// Nobody takes anything until this look is over; its number.
    pub fn begin_look(&self) -> u64 {
        let next = |pool: u64| (pool >> BYTES).wrapping_add(1) << BYTES;
        let emptied = self.pool.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |pool| Some(next(pool)));
        next(emptied.unwrap_or_default())
    }

    /// What all may take, if nobody has begun to look since.
    pub fn end_look(&self, look: u64, pool: u64) {
        let filled = look | pool.min(MOST);
        let _ = self.pool.compare_exchange(look, filled, Ordering::SeqCst, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_of_who_looked_last() {
        let taken = Taken::default();
        let (early, late) = (taken.begin_look(), taken.begin_look());
        taken.end_look(early, 100);
        assert!(!taken.take(1), "another one looks");
        taken.end_look(late, 10);
        assert!(taken.take(6) && !taken.take(6) && taken.take(4));
        assert_eq!(taken.promised(), 10);
        // What is taken while one looks is promised before it asks.
        taken.end_look(taken.begin_look(), u64::MAX);
        assert!(taken.take(MOST) && !taken.take(1));
        taken.take_back(u64::MAX);
        assert_eq!(taken.promised(), 0);
    }

    #[test]
    fn what_was_free_first_is_what_the_first_one_found() {
        let taken = Taken::default();
        assert!(taken.is_of(7) && taken.is_of(7) && !taken.is_of(8));
        assert_eq!((taken.first(10), taken.first(3)), (10, 10));
    }
}
