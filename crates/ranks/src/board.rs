//! Signals between ranks and workers: counters by name in shared memory.
//!
//! The parent makes the board before it forks; ranks and their workers find it at the same address. A rank of an MPI job has
//! a board of its own, which is *carried*: its communicator sends the signals that threads of this process gave to all other
//! ranks, and counts theirs here ([`crate::Comm::carry_signals`]).

use std::hash::Hasher;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use crate::futex;

/// Names that a run may have.
const SLOTS: usize = 1 << 14;

/// How long a wait sleeps before it looks whether the run ends.
const LOOK: Duration = Duration::from_millis(50);
/// The same for a rank that receives signals itself while it waits; before that it asks again and again for a while.
const SHORT_LOOK: Duration = Duration::from_micros(100);
const PATIENCE: Duration = Duration::from_micros(200);

#[repr(C)]
struct Slot {
    /// The hash of its name, 0 while it is free.
    name: AtomicU64,
    count: AtomicU32,
    sleepers: AtomicU32,
}

static BOARD: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());
static LONGEST_MS: AtomicU64 = AtomicU64::new(u64::MAX);
/// Whether signals of this process are carried to others.
static CARRIED: AtomicBool = AtomicBool::new(false);
/// Whether there was a signal, or a wait for one.
static IN_USE: AtomicBool = AtomicBool::new(false);
/// The hashes of the names of signals that are still to be carried.
static OUTGOING: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Why a signal cannot be given or awaited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// The ranks share no memory.
    #[error("`signal` and `await` were called before the ranks were prepared for them")]
    NoBoard,
    /// Too many names.
    #[error("a run may have {SLOTS} names of signals")]
    Full,
    /// It did not come.
    #[error("waited {0} s for the signal \"{1}\", which did not come; --timeout says how long is waited")]
    Late(u64, String),
}

/// Makes an empty board for the ranks that are forked after it. A wait lasts `longest` at most; `None`: for ever.
///
/// # Errors
/// As mmap(2).
pub fn prepare(longest: Option<Duration>) -> io::Result<()> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let bytes = SLOTS * size_of::<Slot>();
    // SAFETY: a new mapping, which is never unmapped: threads of an earlier run may still look at theirs.
    let base = unsafe {
        mmap_anonymous(std::ptr::null_mut(), bytes, access, MapFlags::SHARED | MapFlags::NORESERVE)?
    };
    let longest = longest.map_or(u64::MAX, |longest| u64::try_from(longest.as_millis()).unwrap_or(u64::MAX));
    LONGEST_MS.store(longest, Ordering::Relaxed);
    BOARD.store(base.cast(), Ordering::Release);
    Ok(())
}

/// As [`prepare`], for a process whose signals are carried to processes that do not share its memory.
///
/// # Errors
/// As mmap(2).
pub fn prepare_carried(longest: Option<Duration>) -> io::Result<()> {
    CARRIED.store(true, Ordering::Release);
    prepare(longest)
}

/// Whether signals of this process are carried, and there was one, or a wait for one.
pub fn needs_carrying() -> bool {
    CARRIED.load(Ordering::Acquire) && IN_USE.load(Ordering::Relaxed)
}

/// Takes the signals that this process gave since the last call: hashes of their names, for [`count`] of other processes.
pub fn take_outgoing() -> Vec<u64> {
    std::mem::take(&mut *OUTGOING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Counts the signal `name` once more, and wakes who waits for it.
///
/// # Errors
/// Without a board, or where it is full.
pub fn signal(name: &str) -> Result<(), BoardError> {
    let hash = hash_of(name);
    count(hash)?;
    if CARRIED.load(Ordering::Acquire) {
        IN_USE.store(true, Ordering::Relaxed);
        OUTGOING.lock().unwrap_or_else(PoisonError::into_inner).push(hash);
    }
    Ok(())
}

/// Counts a signal once more by the hash of its name, which another process gave.
///
/// # Errors
/// Without a board, or where it is full.
pub fn count(hash: u64) -> Result<(), BoardError> {
    let slot = slot(hash)?;
    slot.count.fetch_add(1, Ordering::SeqCst);
    if slot.sleepers.load(Ordering::SeqCst) > 0 {
        futex::wake_all(&slot.count);
    }
    Ok(())
}

/// Waits until the signal `name` was given `count` times; `stop` says whether to give up, and receives signals where `asks`
/// says so. Whether it was given so often.
///
/// # Errors
/// Without a board, where it is full, or where the signal does not come in time.
pub fn wait(name: &str, count: u64, asks: bool, mut stop: impl FnMut() -> bool) -> Result<bool, BoardError> {
    IN_USE.store(true, Ordering::Relaxed);
    let slot = slot(hash_of(name))?;
    let begun = Instant::now();
    let longest = Duration::from_millis(LONGEST_MS.load(Ordering::Relaxed));
    loop {
        let seen = slot.count.load(Ordering::SeqCst);
        if u64::from(seen) >= count {
            return Ok(true);
        }
        if stop() {
            return Ok(false);
        }
        if begun.elapsed() > longest {
            return Err(BoardError::Late(longest.as_secs(), name.to_owned()));
        }
        if asks && begun.elapsed() < PATIENCE {
            std::thread::yield_now();
            continue;
        }
        slot.sleepers.fetch_add(1, Ordering::SeqCst);
        futex::wait(&slot.count, seen, Some(if asks { SHORT_LOOK } else { LOOK }));
        slot.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The same in every process, unlike that of a seeded map.
fn hash_of(name: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish().max(1)
}

fn slot(hash: u64) -> Result<&'static Slot, BoardError> {
    let base = BOARD.load(Ordering::Acquire);
    if base.is_null() {
        return Err(BoardError::NoBoard);
    }
    // SAFETY: `prepare` mapped so many slots, zeroed, for the life of the process; all their fields are atomic.
    let slots: &'static [Slot] = unsafe { std::slice::from_raw_parts(base, SLOTS) };
    for step in 0..SLOTS {
        let slot = &slots[(hash as usize).wrapping_add(step) % SLOTS];
        let found = slot.name.compare_exchange(0, hash, Ordering::SeqCst, Ordering::SeqCst);
        if found.is_ok_and(|free| free == 0) || found == Err(hash) {
            return Ok(slot);
        }
    }
    Err(BoardError::Full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_signal_has_come_often_enough_or_the_run_stops() {
        prepare(Some(Duration::from_secs(60))).unwrap();
        signal("a").unwrap();
        assert_eq!(wait("a", 1, false, || false), Ok(true));
        assert_eq!(wait("a", 2, true, || true), Ok(false));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| wait("a", 3, false, || false));
            signal("a").unwrap();
            signal("b").unwrap();
            signal("a").unwrap();
            assert_eq!(waits.join().unwrap(), Ok(true));
        });
    }
}
