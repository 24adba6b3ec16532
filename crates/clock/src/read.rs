//! Reads a hardware counter between fences, so that no timed instruction moves out of the bracket.
//!
//! A counter read is not ordered with respect to the loads around it. With a fence on one side only, a load
//! that is shorter than the read overlaps with it and measures as zero, so each read of [`counter`] has a fence on both
//! sides (Paoloni 2010, "How to benchmark code execution times on Intel IA-32 and IA-64"; AMD APM vol. 2,
//! "LFENCE dispatch serialising").

/// Nanoseconds of `CLOCK_MONOTONIC`, through the vDSO: the same on every process of this machine.
#[inline(always)]
pub fn monotonic_ns() -> u64 {
    gettime_ns(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`: not slewed by NTP; the reference of calibrations.
#[inline(always)]
pub fn monotonic_raw_ns() -> u64 {
    gettime_ns(libc::CLOCK_MONOTONIC_RAW)
}

#[inline(always)]
fn gettime_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes. Both clocks exist since Linux 2.6.28; if one did not, `time` would
    // stay zero.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time-stamp counter between two `lfence`s.
///
/// Correct where `lfence` waits for all earlier instructions: Intel, and AMD with CPUID 80000021 EAX
/// bit 2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn counter() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: SSE2 and `rdtsc` are part of the x86-64 baseline; neither accesses memory.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// The time-stamp counter after one `lfence`: what stands behind it may begin before the counter is read.
///
/// For either end of a system call. The fence keeps what precedes it out of the bracket (before the call) or in it
/// (after the call); a system call does not overtake a counter read by more than a few cycles.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn counter_at_call() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: as in `counter`.
    unsafe {
        _mm_lfence();
        _rdtsc()
    }
}

/// The same after one `mfence`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn counter_at_call_mfence() -> u64 {
    use std::arch::x86_64::{_mm_mfence, _rdtsc};
    // SAFETY: as in `counter`.
    unsafe {
        _mm_mfence();
        _rdtsc()
    }
}

/// The same as [`counter`] where a second fence costs little.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn counter_at_call() -> u64 {
    counter()
}

/// The same as [`counter_at_call`].
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn counter_at_call_mfence() -> u64 {
    counter_at_call()
}

/// The time-stamp counter between two `mfence`s, for AMD processors whose `lfence` does not wait.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn counter_mfence() -> u64 {
    use std::arch::x86_64::{_mm_mfence, _rdtsc};
    // SAFETY: as in `counter`.
    unsafe {
        _mm_mfence();
        let ticks = _rdtsc();
        _mm_mfence();
        ticks
    }
}

/// The virtual counter of the generic timer between two `isb`s.
///
/// The architecture keeps `CNTVCT_EL0` equal on all cores, and Linux lets user space read it.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: reads one system register that Linux exposes to EL0 (its own vDSO relies on it). No
    // `nomem` option, so that the compiler does not move memory accesses across the read.
    unsafe {
        std::arch::asm!("isb", "mrs {ticks}, cntvct_el0", "isb", ticks = out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}

/// The same as [`counter`]: this architecture has only one kind of fence.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn counter_mfence() -> u64 {
    counter()
}

/// No counter is known on this architecture: nanoseconds of the monotonic clock.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub fn counter() -> u64 {
    monotonic_ns()
}

/// No counter is known on this architecture: nanoseconds of the monotonic clock.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
pub fn counter_mfence() -> u64 {
    monotonic_ns()
}
