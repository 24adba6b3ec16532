//! Finds the quietest processor: spins on each and sums the time that other work took.

use std::time::{Duration, Instant};

use clock::Clock;
use machine::affinity::{allowed, pin};
use samples::Noise;

/// Spins on the allowed processors in turn, for `all` in total, and returns the noise of each, the quietest
/// first. At most 64 evenly spaced processors are tried.
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
    fn every_allowed_processor_is_scanned_and_the_quietest_comes_first() {
        let found = noise(Clock::monotonic(), Duration::from_millis(20));
        assert_eq!(found.len(), allowed().len().min(64));
        assert!(found.windows(2).all(|pair| pair[0].lost <= pair[1].lost), "{found:?}");
        assert!(found.iter().all(|noise| (0.0..=1.0).contains(&noise.lost)), "{found:?}");
    }
}
