//! The slowest samples of a site, exactly.

use std::cmp::Reverse;

use crate::Sample;

/// Samples of a site that are kept.
pub const MOST_SLOW: usize = 256;

/// One of the slowest samples of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowSample {
    /// The n-th of its site on its rank, from 0.
    pub iteration: u64,
    /// As it was measured, but for the number of its site, which is 0 here.
    pub sample: Sample,
}

impl SlowSample {
    /// The order of the list: the longest first, then by rank and iteration.
    pub(super) fn order(&self) -> (Reverse<u64>, u32, u64) {
        (Reverse(self.sample.duration_ps), self.sample.rank, self.iteration)
    }
}

/// The slowest of all that were added, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slowest(pub(super) Vec<SlowSample>);

impl Slowest {
    /// Of samples with their iterations.
    pub(super) fn of(samples: impl Iterator<Item = (u64, Sample)>) -> Self {
        let mut found = Self::default();
        let mut least = 0;
        for (iteration, sample) in samples {
            if sample.duration_ps < least {
                continue;
            }
            found.0.push(SlowSample { iteration, sample: Sample { site: 0, ..sample } });
            if found.0.len() >= 8 * MOST_SLOW {
                found.bound();
                least = found.0.last().map_or(0, |slow| slow.sample.duration_ps);
            }
        }
        found.bound();
        found
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
        self.bound();
    }

    fn bound(&mut self) {
        self.0.sort_unstable_by_key(SlowSample::order);
        self.0.truncate(MOST_SLOW);
    }
}
