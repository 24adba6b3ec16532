//! Pins threads to processors and restores their affinity.

use std::io;
use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A pinned thread. Dropping this restores its earlier affinity.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

/// The affinity of this process before [`Pinned::keep`].
static FREE: OnceLock<CpuSet> = OnceLock::new();

impl Pinned {
    /// Leaves the thread pinned. Threads and processes that it starts inherit this unless they call
    /// [`unpin`].
    pub fn keep(self) {
        let _ = FREE.set(self.before);
        std::mem::forget(self);
    }
}

/// Restores for the calling thread the affinity that its process had before [`Pinned::keep`]; does nothing if
/// that was never called.
pub fn unpin() {
    if let Some(free) = FREE.get() {
        // The kernel returned this set earlier. If it refuses it now, the thread stays pinned.
        let _ = sched_setaffinity(None, free);
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The processors this thread may use, ascending; empty if the kernel does not report them.
pub fn allowed() -> Vec<u16> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU as u16).filter(|cpu| set.is_set(usize::from(*cpu))).collect()
}

/// How many processors the machine has online, whatever this thread may use; `None` where the kernel does not say so.
pub fn online() -> Option<usize> {
    let ranges = std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    ranges.trim().split(',').map(count).sum()
}

/// Pins this thread to one processor.
///
/// # Errors
/// If the kernel refuses: the processor is not allowed, or its number is above 1023.
pub fn pin(cpu: u16) -> io::Result<Pinned> {
    let before = sched_getaffinity(None)?;
    if usize::from(cpu) >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut one = CpuSet::new();
    one.set(usize::from(cpu));
    sched_setaffinity(None, &one)?;
    Ok(Pinned { before })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_stays_until_the_pin_is_dropped() {
        let before = allowed();
        let last = *before.last().expect("a processor");
        let pinned = pin(last).expect("an allowed processor");
        assert_eq!(allowed(), [last]);
        drop(pinned);
        assert_eq!(allowed(), before);
        assert!(pin(u16::MAX).is_err());
    }
}
