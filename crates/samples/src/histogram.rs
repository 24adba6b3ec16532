//! Counts durations in a logarithmic histogram: constant memory and a bounded relative error.
//!
//! Each doubling is divided into 128 equal buckets (the layout of Tene's HdrHistogram), so the width of a
//! bucket is at most 1/128 of its lower edge. A value from a histogram is the middle of a bucket and has a
//! relative error of at most [`RELATIVE_ERROR`]. All histograms have the same buckets, so those of ranks and
//! runs are merged without loss.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Sample;

/// Each doubling has 2^PRECISION buckets.
pub const PRECISION: u32 = 7;

/// Buckets that hold every duration from 0 to `u64::MAX`.
pub const BUCKETS: usize = ((64 - PRECISION as usize) + 1) << PRECISION;

/// The largest relative error of the middle of a bucket.
pub const RELATIVE_ERROR: f64 = 1.0 / (2u32 << PRECISION) as f64;

/// The bucket of a value; below [`BUCKETS`].
#[inline(always)]
pub fn bucket(value: u64) -> usize {
    let shift = 63 - PRECISION - (value | 1 << PRECISION).leading_zeros();
    ((shift as usize) << PRECISION) + (value >> shift) as usize
}

/// The smallest and the largest value of a bucket.
pub fn edges(bucket: usize) -> (u64, u64) {
    let shift = (bucket >> PRECISION).saturating_sub(1).min(63 - PRECISION as usize);
    let mantissa = (bucket - (shift << PRECISION)) as u64;
    let low = mantissa << shift;
    (low, low + ((1 << shift) - 1))
}

/// The value that represents a bucket: its middle.
pub fn middle(bucket: usize) -> u64 {
    let (low, high) = edges(bucket);
    low + (high - low) / 2
}

/// Durations counted in buckets, in picoseconds. Empty buckets take no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// `[bucket, count]`, by ascending bucket.
    buckets: Vec<(u32, u64)>,
}

impl Histogram {
    /// From a count for each bucket.
    pub fn of_counts(counts: impl IntoIterator<Item = u64>) -> Self {
        let buckets = (0u32..).zip(counts).filter(|(_, count)| *count > 0).collect();
        Self { buckets }
    }

    /// Of values, in any order.
    pub fn of_values(values: impl ExactSizeIterator<Item = u64>) -> Self {
        /// So many are sorted sooner than all buckets are looked at.
        const FEW: usize = 512;
        if values.len() > FEW {
            let mut counts = vec![0; BUCKETS];
            values.for_each(|value| counts[bucket(value)] += 1);
            return Self::of_counts(counts);
        }
        let mut buckets: Vec<(u32, u64)> = values.map(|value| (bucket(value) as u32, 1)).collect();
        in_order(&mut buckets);
        Self { buckets }
    }

    /// Of buckets that ascend, with their counts; `None` where they do not, or one is empty or none.
    pub(crate) fn of_buckets(buckets: Vec<(u32, u64)>) -> Option<Self> {
        let is_one = |(at, count): &(u32, u64)| (*at as usize) < BUCKETS && *count > 0;
        let is_sound = ascend(&buckets) && buckets.iter().all(is_one);
        is_sound.then_some(Self { buckets })
    }

    /// Non-empty buckets, ascending, with their counts.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        self.buckets.iter().map(|(bucket, count)| (*bucket as usize, *count)).filter(|(at, _)| *at < BUCKETS)
    }

    /// The total count.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Adds the counts of another histogram: one walk along two lists.
    pub fn merge(&mut self, other: &Self) {
        if other.buckets.is_empty() {
            return;
        }
        // A file may say anything.
        if !ascend(&self.buckets) {
            in_order(&mut self.buckets);
        }
        if !ascend(&other.buckets) {
            let mut other = other.clone();
            in_order(&mut other.buckets);
            return self.merge(&other);
        }
        self.buckets = zipped(&self.buckets, &other.buckets);
    }

    /// The `q`-quantile in ps, the value of rank `ceil(q n)`, within [`RELATIVE_ERROR`]; `None` if the
    /// histogram is empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let wanted = crate::quantile_rank(self.count() as usize, q)? as u64 + 1;
        let mut below = 0;
        for (bucket, count) in &self.buckets {
            below = count.saturating_add(below);
            if below >= wanted {
                return Some(middle(*bucket as usize));
            }
        }
        self.buckets.last().map(|(bucket, _)| middle(*bucket as usize))
    }

    /// The smallest bucket edge at or above which there are at most `most` values.
    pub fn threshold(&self, most: u64) -> u64 {
        let mut above = 0;
        for (bucket, count) in self.buckets.iter().rev() {
            above = count.saturating_add(above);
            if above > most {
                return edges(*bucket as usize).1.saturating_add(1);
            }
        }
        0
    }
}

/// Whether each bucket is above the one before.
fn ascend(buckets: &[(u32, u64)]) -> bool {
    buckets.is_sorted_by(|a, b| a.0 < b.0)
}

/// Sorts buckets and makes those that are the same one.
fn in_order(buckets: &mut Vec<(u32, u64)>) {
    buckets.sort_unstable_by_key(|(at, _)| *at);
    buckets.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
}

/// Two ascending lists as one.
fn zipped(one: &[(u32, u64)], other: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let mut all = Vec::with_capacity(one.len().max(other.len()) + 16);
    let (mut i, mut k) = (0, 0);
    while let (Some(&(a, n)), Some(&(b, m))) = (one.get(i), other.get(k)) {
        all.push((
            a.min(b),
            if a == b {
                n.saturating_add(m)
            } else if a < b {
                n
            } else {
                m
            },
        ));
        i += usize::from(a <= b);
        k += usize::from(b <= a);
    }
    all.extend_from_slice(&one[i..]);
    all.extend_from_slice(&other[k..]);
    all
}

/// The data of one site in a counting run: a histogram of all durations, and the duration from which its
/// samples are in [`crate::Run::samples`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Index into [`crate::Run::sites`].
    pub site: u32,
    /// Durations of the successful operations.
    pub histogram: Histogram,
    /// Sum of the same durations in seconds, for the exact mean.
    pub total_s: f64,
    /// The shortest, in ps.
    pub least_ps: u64,
    /// The longest, in ps.
    pub most_ps: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Failed operations. They are not in the histogram; the first thousand of each rank are kept as samples.
    pub failed: u64,
    /// Those of them whose errno was told apart: the first sixteen of each rank.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_by_errno: BTreeMap<i32, u64>,
    /// Every sample of this duration and longer is kept, in ps; 0 if all are kept.
    pub kept_from_ps: u64,
    /// The same operations from the moments at which they were due; none where none began late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<CountedResponses>,
}

/// Response times of a counted site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CountedResponses {
    /// From the moment at which each successful operation was due to its end.
    pub histogram: Histogram,
    /// The longest, in ps.
    pub most_ps: u64,
}

impl Counted {
    /// Adds what another rank counted at the same site. The samples kept are those above both thresholds.
    pub fn merge(&mut self, other: &Self) {
        if self.responses.is_some() || other.responses.is_some() {
            let mut both = self.all_responses();
            let more = other.all_responses();
            both.histogram.merge(&more.histogram);
            both.most_ps = both.most_ps.max(more.most_ps);
            self.responses = Some(both);
        }
        match (self.histogram.count(), other.histogram.count()) {
            (_, 0) => {}
            (0, _) => (self.least_ps, self.most_ps) = (other.least_ps, other.most_ps),
            _ => {
                self.least_ps = self.least_ps.min(other.least_ps);
                self.most_ps = self.most_ps.max(other.most_ps);
            }
        }
        self.histogram.merge(&other.histogram);
        self.total_s += other.total_s;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.failed = self.failed.saturating_add(other.failed);
        for (errno, count) in &other.failed_by_errno {
            let known = self.failed_by_errno.entry(*errno).or_default();
            *known = known.saturating_add(*count);
        }
        self.kept_from_ps = self.kept_from_ps.max(other.kept_from_ps);
    }

    /// Response times; where nothing began late these are the durations.
    fn all_responses(&self) -> CountedResponses {
        let durations = || CountedResponses { histogram: self.histogram.clone(), most_ps: self.most_ps };
        self.responses.clone().unwrap_or_else(durations)
    }

    /// The mean in seconds; 0 if there are no durations.
    pub fn mean_s(&self) -> f64 {
        self.total_s / (self.histogram.count().max(1)) as f64
    }

    /// The `q`-quantile in seconds, within [`RELATIVE_ERROR`] and within the observed range.
    pub fn quantile_s(&self, q: f64) -> f64 {
        let ps = self.histogram.quantile(q).unwrap_or(0);
        ps.clamp(self.least_ps, self.most_ps.max(self.least_ps)) as f64 * 1e-12
    }
}

/// Merges what another rank counted into a list with one entry for each site, by ascending number of the site.
pub fn join(all: &mut Vec<Counted>, mut more: Vec<Counted>) {
    more.sort_by_key(|one| one.site);
    all.sort_by_key(|one| one.site);
    let mut joined: Vec<Counted> = Vec::with_capacity(all.len().max(more.len()));
    let (mut own, mut new) = (std::mem::take(all).into_iter().peekable(), more.into_iter().peekable());
    loop {
        let is_own = match (own.peek(), new.peek()) {
            (Some(own), Some(new)) => own.site <= new.site,
            (own, _) => own.is_some(),
        };
        let Some(next) = (if is_own { own.next() } else { new.next() }) else { break };
        match joined.last_mut().filter(|last| last.site == next.site) {
            Some(last) => last.merge(&next),
            None => joined.push(next),
        }
    }
    *all = joined;
}

/// Removes, for each counted site, the samples below the greatest threshold of its ranks, so that the
/// remaining samples are complete over all ranks. Ranks with lower thresholds kept more.
pub fn keep_slowest(samples: &mut Vec<Sample>, counted: &[Counted]) {
    let from: std::collections::BTreeMap<u32, u64> =
        counted.iter().map(|counted| (counted.site, counted.kept_from_ps)).collect();
    if !from.is_empty() {
        let is_kept = |sample: &Sample| from.get(&sample.site).is_none_or(|from| sample.duration_ps >= *from);
        samples.retain(|sample| sample.failed() || is_kept(sample));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(values: &[u64]) -> Histogram {
        let mut counts = vec![0; BUCKETS];
        values.iter().for_each(|value| counts[bucket(*value)] += 1);
        Histogram::of_counts(counts)
    }

    /// Durations of all magnitudes: a mantissa and a number of bits.
    fn durations() -> impl Strategy<Value = Vec<u64>> {
        proptest::collection::vec((any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift), 1..400)
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_and_near_its_middle(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let bucket = bucket(value);
            let (low, high) = edges(bucket);
            prop_assert!(bucket < BUCKETS && low <= value && value <= high);
            let wrong = middle(bucket).abs_diff(value) as f64;
            prop_assert!(wrong <= RELATIVE_ERROR * value as f64, "{} for {value}", middle(bucket));
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_values_within_the_stated_error(
            values in durations(), q in 0.0f64..=1.0,
        ) {
            let found = counted(&values).quantile(q).expect("not empty") as f64;
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let truth = sorted[rank - 1] as f64;
            prop_assert!((found - truth).abs() <= RELATIVE_ERROR * truth, "{found} for {truth}");
        }

        #[test]
        fn merged_histograms_are_the_histogram_of_all(one in durations(), other in durations()) {
            let mut merged = counted(&one);
            merged.merge(&counted(&other));
            prop_assert_eq!(merged, counted(&[one, other].concat()));
        }

        #[test]
        fn buckets_of_a_file_in_any_order_are_merged(values in proptest::collection::vec((0u32..40, 1u64..9), 0..60)) {
            let (one, other) = values.split_at(values.len() / 2);
            let of = |buckets: &[(u32, u64)]| Histogram { buckets: buckets.to_vec() };
            let mut merged = of(one);
            merged.merge(&of(other));
            let mut sums = std::collections::BTreeMap::new();
            values.iter().for_each(|(at, count)| *sums.entry(*at as usize).or_insert(0) += count);
            if !other.is_empty() {
                prop_assert_eq!(merged.buckets().collect::<Vec<_>>(), sums.into_iter().collect::<Vec<_>>());
            }
        }

        #[test]
        fn few_and_many_values_are_counted_alike(values in durations(), times in 1usize..4) {
            let values = values.repeat(times);
            prop_assert_eq!(Histogram::of_values(values.iter().copied()), counted(&values));
        }

        #[test]
        fn at_most_the_wanted_number_lies_at_or_above_a_threshold(values in durations(), most in 0u64..400) {
            let threshold = counted(&values).threshold(most);
            let above = values.iter().filter(|value| **value >= threshold).count() as u64;
            prop_assert!(above <= most || threshold == u64::MAX, "{above} above {threshold}");
            prop_assert!(threshold > 0 || values.len() as u64 <= most);
        }
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (low, high) = edges(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last one ends with the largest number");
    }

    #[test]
    fn a_merge_keeps_the_higher_threshold_and_both_extremes() {
        let of = |values: &[u64], kept_from_ps| Counted {
            histogram: counted(values),
            total_s: values.iter().sum::<u64>() as f64 * 1e-12,
            least_ps: values.iter().copied().min().unwrap_or(0),
            most_ps: values.iter().copied().max().unwrap_or(0),
            kept_from_ps,
            ..Counted::default()
        };
        let mut all = of(&[], 0);
        all.merge(&of(&[100, 5_000], 0));
        all.merge(&of(&[30, 900], 800));
        assert_eq!((all.least_ps, all.most_ps, all.kept_from_ps), (30, 5_000, 800));
        assert!((all.mean_s() - 1507.5e-12).abs() < 1e-18);
        assert_eq!(all.quantile_s(1.0), 5_000.0 * 1e-12);
    }

    #[test]
    fn only_samples_above_the_threshold_of_every_rank_remain() {
        let of = |site, kept_from_ps| Counted { site, kept_from_ps, ..Counted::default() };
        let mut counted = Vec::new();
        join(&mut counted, vec![of(3, 0), of(1, 50)]);
        join(&mut counted, vec![of(4, 7), of(3, 20), of(3, 10)]);
        join(&mut counted, Vec::new());
        assert_eq!(
            counted.iter().map(|one| (one.site, one.kept_from_ps)).collect::<Vec<_>>(),
            [(1, 50), (3, 20), (4, 7)]
        );
        let sample = |site, duration_ps, errno| Sample { site, duration_ps, errno, ..Sample::default() };
        let mut samples =
            vec![sample(3, 19, 0), sample(3, 20, 0), sample(1, 30, 5), sample(2, 1, 0), sample(1, 49, 0)];
        keep_slowest(&mut samples, &counted);
        assert_eq!(samples.iter().map(|one| one.duration_ps).collect::<Vec<_>>(), [20, 30, 1]);
    }
}
