//! The sums of one site.

use std::collections::BTreeMap;

use super::ErrorCounts;
use super::slowest::{SlowSample, Slowest};
use super::steps::{StepTotals, Steps};
use crate::{CommonClock, Gate, Histogram, Sample, Site};

/// Ranks of a site that are kept apart: those with the smallest numbers.
pub(super) const MOST_RANKS: usize = 1 << 17;

/// What is known of a site on all ranks. All sums stop at the largest number that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReducedSite {
    /// Timings that succeeded.
    pub timings: u64,
    /// Operations inside these.
    pub operations: u128,
    /// What failed, and not as expected.
    pub errors: ErrorCounts,
    /// What failed as the program expects.
    pub failed_as_expected: u64,
    /// Bytes of all timings.
    pub bytes: u128,
    /// The shortest duration that succeeded, in ps.
    pub least_ps: u64,
    /// The longest.
    pub most_ps: u64,
    /// The sum of these durations.
    pub total_ps: u128,
    /// How late they began under `rate`, in ns.
    pub late_ns: u128,
    /// Their waits for a processor.
    pub queue_ns: u128,
    /// Their time blocked.
    pub blocked_ns: u128,
    /// When the first began, on the common clock.
    pub begin_ns: i64,
    /// When the last ended.
    pub end_ns: i64,
    /// Durations that succeeded.
    pub histogram: Histogram,
    pub(super) steps: Steps,
    pub(super) ranks: BTreeMap<u32, RankTotals>,
    pub(super) slowest: Slowest,
}

/// What one rank did at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankTotals {
    /// Timings that succeeded.
    pub timings: u64,
    /// Those that failed, expected or not.
    pub failed: u64,
    /// Bytes moved.
    pub bytes: u128,
    /// The sum of the durations that succeeded, in ps.
    pub total_ps: u128,
    /// The longest.
    pub most_ps: u64,
}

impl RankTotals {
    fn add(&mut self, other: &RankTotals) {
        self.timings = self.timings.saturating_add(other.timings);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.total_ps = self.total_ps.saturating_add(other.total_ps);
        self.most_ps = self.most_ps.max(other.most_ps);
    }
}

impl Default for ReducedSite {
    fn default() -> Self {
        Self {
            timings: 0,
            operations: 0,
            errors: ErrorCounts::default(),
            failed_as_expected: 0,
            bytes: 0,
            least_ps: u64::MAX,
            most_ps: 0,
            total_ps: 0,
            late_ns: 0,
            queue_ns: 0,
            blocked_ns: 0,
            begin_ns: i64::MAX,
            end_ns: i64::MIN,
            histogram: Histogram::default(),
            steps: Steps::default(),
            ranks: BTreeMap::new(),
            slowest: Slowest::default(),
        }
    }
}

impl ReducedSite {
    /// The exact mean in seconds; `None` where nothing succeeded.
    pub fn mean_s(&self) -> Option<f64> {
        (self.timings > 0).then(|| self.total_ps as f64 / self.timings as f64 * 1e-12)
    }

    /// The `q`-quantile in seconds: within [`crate::histogram::RELATIVE_ERROR`], and within what was measured.
    pub fn quantile_s(&self, q: f64) -> Option<f64> {
        let ps = self.histogram.quantile(q)?;
        Some(ps.max(self.least_ps).min(self.most_ps) as f64 * 1e-12)
    }

    /// The gates, as [`crate::gates`] has them of the samples; `None` where the steps are left out.
    pub fn gates(&self) -> Option<Vec<Gate>> {
        self.steps.gates(self.ranks.len() as u64)
    }

    /// The steps by number; `None` where they are left out.
    pub fn steps(&self) -> Option<&[StepTotals]> {
        match &self.steps {
            Steps::All(all) => Some(all),
            Steps::LeftOut => None,
        }
    }

    /// What each rank did.
    pub fn ranks(&self) -> impl Iterator<Item = (u32, &RankTotals)> {
        self.ranks.iter().map(|(rank, totals)| (*rank, totals))
    }

    /// The slowest samples that succeeded, the slowest first.
    pub fn slowest(&self) -> &[SlowSample] {
        &self.slowest.0
    }

    pub(super) fn leave_out_steps(&mut self) {
        self.steps = Steps::LeftOut;
    }

    /// As [`super::Reduced::add`]; once for each.
    pub(super) fn add(&mut self, site: &Site, first: u64, samples: &[Sample], clock: &CommonClock) {
        let mut own = RankTotals::default();
        for sample in samples {
            let begin = clock.common_ns(sample.rank, sample.start_ns);
            self.begin_ns = self.begin_ns.min(begin);
            self.end_ns = self.end_ns.max(end_of(begin, sample));
            own.bytes += u128::from(sample.bytes);
            if sample.failed() {
                own.failed += 1;
                match site.expects == Some(sample.errno) {
                    true => self.failed_as_expected += 1,
                    false => self.errors.add(sample.errno, 1),
                }
                continue;
            }
            own.timings += 1;
            own.total_ps += u128::from(sample.duration_ps);
            own.most_ps = own.most_ps.max(sample.duration_ps);
            self.least_ps = self.least_ps.min(sample.duration_ps);
            self.operations += u128::from(sample.batch);
            self.late_ns += u128::from(sample.late_ns);
            self.queue_ns += u128::from(sample.queue_ns);
            self.blocked_ns += u128::from(sample.blocked_ns);
        }
        (self.timings, self.bytes, self.total_ps) = (own.timings, own.bytes, own.total_ps);
        self.most_ps = own.most_ps;
        let durations: Vec<u64> =
            samples.iter().filter(|sample| !sample.failed()).map(|sample| sample.duration_ps).collect();
        self.histogram = Histogram::of_values(durations.iter().copied());
        self.steps.add(first, samples.iter().map(|sample| step_of(sample, clock)));
        self.ranks.insert(samples[0].rank, own);
        let numbered = (first..).zip(samples.iter().copied());
        self.slowest = Slowest::of(numbered.filter(|(_, sample)| !sample.failed()));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.timings = self.timings.saturating_add(other.timings);
        self.operations = self.operations.saturating_add(other.operations);
        self.errors.merge(&other.errors);
        self.failed_as_expected = self.failed_as_expected.saturating_add(other.failed_as_expected);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.least_ps = self.least_ps.min(other.least_ps);
        self.most_ps = self.most_ps.max(other.most_ps);
        self.total_ps = self.total_ps.saturating_add(other.total_ps);
        self.late_ns = self.late_ns.saturating_add(other.late_ns);
        self.queue_ns = self.queue_ns.saturating_add(other.queue_ns);
        self.blocked_ns = self.blocked_ns.saturating_add(other.blocked_ns);
        self.begin_ns = self.begin_ns.min(other.begin_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.histogram.merge(&other.histogram);
        self.steps.merge(&other.steps);
        for (rank, totals) in &other.ranks {
            self.ranks.entry(*rank).or_default().add(totals);
        }
        while self.ranks.len() > MOST_RANKS {
            self.ranks.pop_last();
        }
        self.slowest.merge(&other.slowest);
    }
}

fn end_of(begin: i64, sample: &Sample) -> i64 {
    begin.saturating_add(i64::try_from(sample.duration_ps / 1000).unwrap_or(i64::MAX))
}

fn step_of(sample: &Sample, clock: &CommonClock) -> StepTotals {
    let begin_ns = clock.common_ns(sample.rank, sample.start_ns);
    StepTotals {
        longest_ps: sample.duration_ps,
        last: sample.rank,
        ranks: 1,
        begin_ns,
        end_ns: end_of(begin_ns, sample),
        bytes: u128::from(sample.bytes),
        failed: u64::from(sample.failed()),
    }
}
