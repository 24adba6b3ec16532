//! Arithmetic on single timings.

use samples::Sample;

/// Operations in one timing.
pub(crate) fn batch(sample: &Sample) -> u64 {
    u64::from(sample.batch.max(1))
}

/// The sum of some durations, in seconds.
pub(crate) fn sum<'a>(samples: impl Iterator<Item = &'a Sample>) -> f64 {
    samples.map(|sample| u128::from(sample.duration_ps)).sum::<u128>() as f64 * 1e-12
}
