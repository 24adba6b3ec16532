//! The clock of the records.

use core::ffi::c_char;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{clock_gettime, text};

#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// Where looks at the kernel's clock cost as much as calls (User-Mode Linux), the processor's counter is read: at so many ticks
/// it was so many nanoseconds, and 2³² ticks take so many; 0 where the kernel is asked.
static COUNTER: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

/// Keeps what `LASTRANK_COUNTER` says of the counter: three numbers.
///
/// # Safety
/// It ends in NUL where it is not null.
pub unsafe fn keep_counter(said: *const c_char) {
    // SAFETY: the caller's promise.
    let mut numbers = unsafe { text(said) }.split(|byte| *byte == b':').map(|digits| {
        digits.iter().fold(0_u64, |all, digit| all.wrapping_mul(10).wrapping_add(u64::from(digit.wrapping_sub(b'0'))))
    });
    if let (Some(ticks), Some(ns), Some(scale)) = (numbers.next(), numbers.next(), numbers.next()) {
        COUNTER.iter().zip([ticks, ns, scale]).for_each(|(place, number)| place.store(number, Relaxed));
    }
}

/// Nanoseconds of the monotonic clock.
pub fn now() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let scale = COUNTER[2].load(Relaxed);
        if scale != 0 {
            // SAFETY: part of every x86-64 processor; neither accesses memory.
            let ticks = unsafe {
                core::arch::x86_64::_mm_lfence();
                core::arch::x86_64::_rdtsc()
            };
            let since = u128::from(ticks.wrapping_sub(COUNTER[0].load(Relaxed))) * u128::from(scale);
            return COUNTER[1].load(Relaxed).wrapping_add((since >> 32) as u64);
        }
    }
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the argument is a valid timespec.
    unsafe { clock_gettime(1, &mut time) };
    (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
}
