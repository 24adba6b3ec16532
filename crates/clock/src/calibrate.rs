//! Measures a counter: its rate, its steps and the cost of a read.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::kind::Kind;
use crate::read;

/// One instant on two clocks: a counter and `CLOCK_MONOTONIC_RAW`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The counter, in ticks.
    pub ticks: u64,
    /// The same instant on `CLOCK_MONOTONIC_RAW`, in ns.
    pub raw_ns: u64,
}

impl Anchor {
    /// Reads both clocks 64 times and keeps the reading with the narrowest bracket, so that an interrupt
    /// between two reads does not matter.
    pub fn take(kind: Kind) -> Self {
        let mut best = (u64::MAX, Self { ticks: 0, raw_ns: 0 });
        for _ in 0..64 {
            let before = kind.read();
            let raw_ns = read::monotonic_raw_ns();
            let after = kind.read();
            let width = after.saturating_sub(before);
            if width < best.0 {
                best = (width, Self { ticks: before + width / 2, raw_ns });
            }
        }
        best.1
    }

    /// Ticks in a nanosecond between two anchors.
    pub fn rate(self, later: Self) -> f64 {
        let ticks = later.ticks.saturating_sub(self.ticks);
        let ns = later.raw_ns.saturating_sub(self.raw_ns).max(1);
        ticks as f64 / ns as f64
    }
}

/// The counter's rate in ticks per ns over `window`, and the anchor at the start of the window. The window is
/// at least 100 ms: rates over 1 ms were wrong by up to 5%.
pub fn rate(kind: Kind, window: Duration) -> (f64, Anchor) {
    let begin = Anchor::take(kind);
    std::thread::sleep(window.max(Duration::from_millis(100)));
    (begin.rate(Anchor::take(kind)), begin)
}

/// The step in which a clock advances, in ticks, from differences between successive reads; 0 if the clock
/// never advanced.
///
/// A counter that advances in steps of a fixed time shows few distinct differences, all near multiples of the
/// step (rounding scatters them by one tick). A counter that advances tick by tick shows nearly every
/// difference.
pub fn quantum(differences: &[u64]) -> u64 {
    let mut counts = BTreeMap::new();
    for difference in differences.iter().filter(|d| **d > 0) {
        *counts.entry(*difference).or_insert(0usize) += 1;
    }
    let Some((&smallest, _)) = counts.first_key_value() else { return 0 };
    let often = differences.len() / 2000;
    let common: Vec<u64> = counts.iter().filter(|(_, n)| **n > often).map(|(d, _)| *d).collect();
    let divisor = common.iter().fold(0, |a, b| gcd(a, *b));
    if common.len() < 2 {
        return if divisor > 0 { divisor } else { smallest };
    }
    if divisor > 1 {
        return divisor;
    }
    let span = common[common.len() - 1] - common[0] + 1;
    if common.len() as f64 / span as f64 > 0.5 {
        return 1;
    }
    let mut gaps: Vec<u64> = common.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 2).collect();
    gaps.sort_unstable();
    gaps.get(gaps.len() / 2).copied().unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Time limit for measuring a clock's step or cost. A read costs about 20 ns, or a microsecond where it is a
/// system call; slow clocks are therefore read less often.
const TIME_LIMIT: Duration = Duration::from_millis(20);

/// Differences, in ticks, of reads around `0, 1, 2 … 63` dependent additions, so that the second read
/// falls on every phase of the clock's step. Stops at `count`, or after [`TIME_LIMIT`].
pub fn differences(kind: Kind, count: usize) -> Vec<u64> {
    let mut found = Vec::with_capacity(count);
    let since = Instant::now();
    for index in 0..count {
        if index % 256 == 255 && since.elapsed() > TIME_LIMIT {
            break;
        }
        let begin = kind.read();
        let mut work = index as u64;
        for _ in 0..index % 64 {
            work = black_box(work.wrapping_add(1));
        }
        black_box(work);
        found.push(kind.read().saturating_sub(begin));
    }
    found
}

/// Overhead of an empty timed interval: `[mean, p50, p99]` in ticks.
///
/// p50 and p99 are quantiles of single differences, so they are multiples of the clock's step. The mean is
/// the amortised cost of a read in the fastest of several blocks and does not depend on the step.
pub fn overhead(kind: Kind) -> [f64; 3] {
    const READS: usize = 1024;
    const BLOCKS: usize = 64;
    let mut shown = Vec::with_capacity(8 * READS);
    let mut mean = f64::INFINITY;
    let since = Instant::now();
    for block in 0..BLOCKS {
        let begin = kind.read();
        for _ in 1..READS {
            black_box(kind.read());
        }
        mean = mean.min(kind.read().saturating_sub(begin) as f64 / READS as f64);
        if block >= 2 && since.elapsed() > TIME_LIMIT {
            break;
        }
    }
    let since = Instant::now();
    while shown.len() < 8 * READS && (shown.len() < READS || since.elapsed() < TIME_LIMIT) {
        for _ in 0..256 {
            let begin = kind.read();
            shown.push(kind.read().saturating_sub(begin));
        }
    }
    shown.sort_unstable();
    [mean, shown[shown.len() / 2] as f64, shown[shown.len() * 99 / 100] as f64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_in_steps_of_ten_nanoseconds_is_recognised_through_its_rounding() {
        // 2.596 ticks a nanosecond: a step is 25.96 ticks, so differences are 25, 26, 51, 52 …
        let shown: Vec<u64> = (0..20_000u64)
            .map(|i| {
                let at = |step: u64| (step as f64 * 25.96) as u64;
                at(i * 7 + 2 + i % 5) - at(i * 7)
            })
            .collect();
        let found = quantum(&shown);
        assert!((25..=26).contains(&found), "{found}");
    }

    #[test]
    fn a_counter_that_moves_tick_by_tick_has_a_quantum_of_one() {
        let shown: Vec<u64> = (0..20_000).map(|i| 37 + (i * 7) % 50).collect();
        assert_eq!(quantum(&shown), 1);
    }

    #[test]
    fn a_microsecond_clock_has_a_quantum_of_a_microsecond() {
        let shown: Vec<u64> = (0..20_000).map(|i| if i % 20 == 0 { 1000 } else { 0 }).collect();
        assert_eq!(quantum(&shown), 1000);
    }

    #[test]
    fn a_stopped_clock_has_no_quantum() {
        assert_eq!(quantum(&[0, 0, 0]), 0);
    }

    #[test]
    fn the_rate_is_ticks_over_nanoseconds() {
        let begin = Anchor { ticks: 1000, raw_ns: 500 };
        assert_eq!(begin.rate(Anchor { ticks: 3600, raw_ns: 1500 }), 2.6);
    }
}
