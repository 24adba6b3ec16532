//! How does a process sleep until a word in shared memory changes?

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` holds `expected`; returns when woken, when it already differs, on a signal,
/// or after `limit`. The caller looks again.
pub(super) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    let spec = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: limit.subsec_nanos() as _,
    });
    let spec = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the address is that of a live aligned 32-bit atomic, the time is null or points to a
    // timespec that outlives the call; FUTEX_WAIT (not private, since processes share it) only
    // reads both.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, spec) };
}

/// Wakes everyone who sleeps on `word`.
pub(super) fn wake_all(word: &AtomicU32) {
    // SAFETY: FUTEX_WAKE uses the address of a live atomic as a name and touches no memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
