//! On which processor is it quietest, and how does a thread stay there?

use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use clock::Clock;

/// How much of its time a processor did not give to a thread that only reads the clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Its number.
    pub cpu: u16,
    /// The share of the time that went into gaps of a microsecond and more: 0 to 1.
    pub lost: f64,
    /// The longest gap, in ns.
    pub longest_ns: u64,
}

/// A thread that was pinned; it may run where it might before once this is dropped.
#[derive(Debug)]
pub struct Pinned {
    before: libc::cpu_set_t,
}

/// Where this process might run before [`Pinned::keep`].
static FREE: OnceLock<libc::cpu_set_t> = OnceLock::new();

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
        // SAFETY: the set is one the kernel gave; pid 0 is this thread.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), free) };
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the set is one the kernel gave; pid 0 is this thread.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.before) };
    }
}

fn current() -> io::Result<libc::cpu_set_t> {
    // SAFETY: all-zero bytes are an empty set, which is a valid place to write to; pid 0 is this thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) {
            0 => Ok(set),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// The processors this thread may use, ascending; empty where the kernel does not say.
pub fn allowed() -> Vec<u16> {
    let Ok(set) = current() else { return Vec::new() };
    // SAFETY: the numbers are below CPU_SETSIZE.
    (0..libc::CPU_SETSIZE as u16).filter(|cpu| unsafe { libc::CPU_ISSET(usize::from(*cpu), &set) }).collect()
}

/// Pins this thread to one processor.
///
/// # Errors
/// Where the kernel refuses: a processor that is not allowed, or a number beyond 1023.
pub fn pin(cpu: u16) -> io::Result<Pinned> {
    let before = current()?;
    if i32::from(cpu) >= libc::CPU_SETSIZE {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: an empty set of which one bit below CPU_SETSIZE is set; pid 0 is this thread.
    let pinned = unsafe {
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(usize::from(cpu), &mut one);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &one)
    };
    if pinned == 0 { Ok(Pinned { before }) } else { Err(io::Error::last_os_error()) }
}

/// Spins on every allowed processor in turn, `all` together, and tells what each took away: the quietest
/// first. At most 64 are tried, evenly chosen.
pub fn noise(clock: Clock, all: Duration) -> Vec<Noise> {
    let cpus = allowed();
    let step = cpus.len().div_ceil(64).max(1);
    let chosen: Vec<u16> = cpus.into_iter().step_by(step).collect();
    let each = all / u32::try_from(chosen.len().max(1)).unwrap_or(1);
    let mut found: Vec<Noise> =
        chosen.into_iter().filter_map(|cpu| pin(cpu).ok().map(|_pinned| spin(clock, cpu, each))).collect();
    found.sort_by(|a, b| a.lost.total_cmp(&b.lost));
    found
}

fn spin(clock: Clock, cpu: u16, span: Duration) -> Noise {
    const GAP_PS: u64 = 1_000_000;
    let (began, mut last) = (Instant::now(), clock.now());
    let (first, mut lost, mut longest) = (last, 0u64, 0u64);
    loop {
        let now = clock.now();
        let gap = clock.picoseconds(last, now);
        last = now;
        if gap >= GAP_PS {
            lost += gap;
            longest = longest.max(gap);
        }
        if clock.picoseconds(first, now) >= span.as_nanos() as u64 * 1000 || began.elapsed() > 4 * span {
            let whole = clock.picoseconds(first, now).max(1);
            return Noise { cpu, lost: lost as f64 / whole as f64, longest_ns: longest / 1000 };
        }
    }
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

    #[test]
    fn every_allowed_processor_is_scanned_and_the_quietest_comes_first() {
        let found = noise(Clock::monotonic(), Duration::from_millis(20));
        assert_eq!(found.len(), allowed().len().min(64));
        assert!(found.windows(2).all(|pair| pair[0].lost <= pair[1].lost), "{found:?}");
        assert!(found.iter().all(|noise| (0.0..=1.0).contains(&noise.lost)), "{found:?}");
    }
}
