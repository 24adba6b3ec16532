//! Measures how fast a processor computes now, where nothing tells its frequency.

use rustix::time::{ClockId, clock_gettime};

/// Additions that wait for each other, sixteen a round: each takes one cycle on every processor of the
/// last twenty years.
const ROUNDS: u64 = 12_500;
const ADDITIONS: u64 = ROUNDS * 16;

/// Cycles in a nanosecond: the best of some attempts of about 0.1 ms each, in which nothing interrupted.
/// The first ones wake a processor that had slowed down. None where it is not known how to count cycles.
pub fn gigahertz() -> Option<f64> {
    let mut best = u64::MAX;
    for _ in 0..20 {
        let begin = monotonic_raw_ns();
        add()?;
        best = best.min(monotonic_raw_ns().saturating_sub(begin).max(1));
    }
    Some(ADDITIONS as f64 / best as f64)
}

/// Not slewed by NTP.
fn monotonic_raw_ns() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
fn add() -> Option<()> {
    // SAFETY: counts in two registers that the compiler gave away, and touches no memory.
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
    // SAFETY: counts in two registers that the compiler gave away, and touches no memory.
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
    fn a_processor_makes_between_a_tenth_and_ten_billion_steps_a_second() {
        if let Some(speed) = super::gigahertz() {
            assert!((0.1..10.0).contains(&speed), "{speed}");
        }
    }
}
