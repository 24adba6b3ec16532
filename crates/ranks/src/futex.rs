//! Sleeps until a word in shared memory changes, and wakes those who sleep. The kernel looks at 32 bits: of a word of 64
//! at the lower half.

#[cfg(not(loom))]
pub(crate) use kernel::{lower_half, wait, wake_all};
#[cfg(loom)]
pub(crate) use model::{lower_half, wait, wake_all};

#[cfg(not(loom))]
mod kernel {
    use std::sync::atomic::{AtomicU32, AtomicU64};
    use std::time::Duration;

    use rustix::thread::futex::{self, Flags, Timespec};

    /// The half at which the kernel is to look.
    pub(crate) fn lower_half(word: &AtomicU64) -> &AtomicU32 {
        let at = if cfg!(target_endian = "big") { 1 } else { 0 };
        // SAFETY: one of the two halves of the word, aligned, for as long as the word is borrowed; this process reads and
        // writes the whole word only, the address goes to the kernel.
        unsafe { &*word.as_ptr().cast::<AtomicU32>().add(at) }
    }

    /// Sleeps while `word` holds `expected`; returns when woken, when it already differs, on a signal,
    /// or after `limit`. The caller looks again, so the reason is not told. The futex is not private, since
    /// processes share the word.
    pub(crate) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let _ = futex::wait(word, Flags::empty(), expected, limit.as_ref());
    }

    /// Wakes everyone who sleeps on `word`.
    pub(crate) fn wake_all(word: &AtomicU32) {
        let _ = futex::wake(word, Flags::empty(), i32::MAX as u32);
    }
}

/// What the kernel promises, in terms that loom explores: the comparison and the beginning of the sleep are
/// one step, under a lock that waking takes as well.
#[cfg(loom)]
mod model {
    use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use loom::sync::{Condvar, Mutex};

    loom::lazy_static! {
        static ref BUCKET: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
    }

    pub(crate) fn lower_half(word: &AtomicU64) -> &AtomicU64 {
        word
    }

    pub(crate) fn wait(word: &AtomicU64, expected: u32, _limit: Option<std::time::Duration>) {
        let bucket = BUCKET.0.lock().expect("no thread panics with it");
        if word.load(Relaxed) as u32 == expected {
            drop(BUCKET.1.wait(bucket));
        }
    }

    pub(crate) fn wake_all(_word: &AtomicU64) {
        drop(BUCKET.0.lock());
        BUCKET.1.notify_all();
    }
}
