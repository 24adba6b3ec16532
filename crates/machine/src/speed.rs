//! Measures the current frequency of a processor, for machines that do not report it.

use rustix::time::{ClockId, clock_gettime};

/// Rounds of sixteen dependent additions. Each addition takes one cycle on every processor of the last twenty
/// years.
const ROUNDS: u64 = 12_500;
const ADDITIONS: u64 = ROUNDS * 16;

/// Cycles in a nanosecond: the maximum of several attempts of about 0.1 ms, since interrupts only lower it.
/// The first attempts also let a slowed-down processor speed up. `None` on architectures without a counting
/// loop.
pub fn gigahertz() -> Option<f64> {
    let mut best = u64::MAX;
    for _ in 0..20 {
        let begin = monotonic_raw_ns();
        add()?;
        best = best.min(monotonic_raw_ns().saturating_sub(begin).max(1));
    }
    Some(ADDITIONS as f64 / best as f64)
}

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`, which NTP does not slew.
fn monotonic_raw_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
fn add() -> Option<()> {
    // SAFETY: uses two registers that the compiler assigned and accesses no memory.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            "add {sum}, {step}",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            sum = inout(reg) 0u64 => _,
            step = in(reg) 1u64,
            rounds = inout(reg) ROUNDS => _,
            options(nomem, nostack),
        );
    }
    Some(())
}

#[cfg(target_arch = "aarch64")]
fn add() -> Option<()> {
    // SAFETY: uses two registers that the compiler assigned and accesses no memory.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            "add {sum}, {sum}, {step}",
            ".endr",
            "subs {rounds}, {rounds}, #1",
            "b.ne 2b",
            sum = inout(reg) 0u64 => _,
            step = in(reg) 1u64,
            rounds = inout(reg) ROUNDS => _,
            options(nomem, nostack),
        );
    }
    Some(())
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn add() -> Option<()> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_measured_frequency_is_between_a_tenth_and_ten_gigahertz() {
        if let Some(speed) = super::gigahertz() {
            assert!((0.1..10.0).contains(&speed), "{speed}");
        }
    }
}
