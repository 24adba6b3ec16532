//! Pins threads to processors, and lets them go again.

use std::io;
use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A thread that was pinned; it may run where it might before once this is dropped.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

/// Where this process might run before [`Pinned::keep`].
static FREE: OnceLock<CpuSet> = OnceLock::new();

impl Pinned {
    /// Leaves the thread pinned, and what it starts from now on too, unless that calls [`unpin`].
    pub fn keep(self) {
        let _ = FREE.set(self.before);
        std::mem::forget(self);
    }
}

/// Lets the calling thread run wherever its process might before it was pinned for good, if it was.
pub fn unpin() {
    if let Some(free) = FREE.get() {
        // The set is one the kernel gave; where it refuses it now, the thread stays where it is.
        let _ = sched_setaffinity(None, free);
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The processors this thread may use, ascending; empty where the kernel does not say.
pub fn allowed() -> Vec<u16> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU as u16).filter(|cpu| set.is_set(usize::from(*cpu))).collect()
}

/// Pins this thread to one processor.
///
/// # Errors
/// Where the kernel refuses: a processor that is not allowed, or a number beyond 1023.
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
    fn a_pinned_thread_stays_and_is_free_again_afterwards() {
        let before = allowed();
        let last = *before.last().expect("a processor");
        let pinned = pin(last).expect("an allowed processor");
        assert_eq!(allowed(), [last]);
        drop(pinned);
        assert_eq!(allowed(), before);
        assert!(pin(u16::MAX).is_err());
    }
}
