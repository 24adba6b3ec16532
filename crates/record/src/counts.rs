//! Counts samples that are too many to keep.
//!
//! One *tally* per site and worker: buckets of a [`samples::Histogram`] and a few sums, in the rank's
//! shared memory, written by one thread with plain stores. Beside them the slowest samples are kept whole:
//! all of them at first, then those from a threshold on that rises as more come, so that about
//! [`KEPT`] times the number of doublings are kept of any number.

use std::io;
use std::ptr::NonNull;

use samples::histogram::{BUCKETS, bucket};
use samples::{Counted, CountedResponses, Histogram, Sample};

/// The threshold rises so that at most so many of the samples before lie above it.
pub(super) const KEPT: u64 = 1 << 14;

/// Failed operations of a tally that are kept as samples.
const KEPT_FAILED: u64 = 1000;

/// Errnos that are told apart at a site; failures with further ones count in the sum of all.
const ERRNOS: usize = 16;

/// Bytes between two tallies: whole pages.
pub(super) const STRIDE: usize = size_of::<SiteTally>().next_multiple_of(4096);

/// The first bytes of a tally, whole pages: all that is used until an operation begins late.
pub(super) const OF_SERVICE: usize =
    std::mem::offset_of!(SiteTally, longest_response_ps).next_multiple_of(4096);

/// What one thread counted at one site. All zero: nothing yet.
#[repr(C)]
pub(super) struct SiteTally {
    /// The rank's own number of the site.
    site: u64,
    sum_ps: u64,
    least_ps: u64,
    most_ps: u64,
    bytes: u64,
    failed: u64,
    /// Samples at or above are kept.
    threshold: u64,
    /// Kept since the threshold last rose, or in all while it is 0.
    above: u64,
    /// 1 once an operation began later than it was due: `responses` has memory, and counts.
    is_late: u64,
    /// Failures by errno; 0 of both: none further.
    failed_by: [(u64, u64); ERRNOS],
    counts: [u64; BUCKETS],
    longest_response_ps: u64,
    /// From the moment at which each was due; those before the first late one as in `counts`.
    responses: [u64; BUCKETS],
}

impl SiteTally {
    /// Counts a sample. Is it to be kept as well?
    #[inline(always)]
    pub(super) fn count(&mut self, sample: &Sample) -> bool {
        let ps = sample.duration_ps;
        if sample.errno != 0 {
            return self.count_failed(sample);
        }
        self.counts[bucket(ps)] += 1;
        self.sum_ps = self.sum_ps.wrapping_add(ps);
        self.bytes = self.bytes.wrapping_add(sample.bytes);
        self.most_ps = self.most_ps.max(ps);
        // Stored plus one, so that 0 means none.
        self.least_ps = self.least_ps.wrapping_sub(1).min(ps).wrapping_add(1);
        if sample.late_ns > 0 || self.is_late > 0 {
            self.count_response(sample);
        }
        if ps < self.threshold { false } else { self.keep() }
    }

    /// Does this sample need the part of the tally that has no memory yet?
    #[inline(always)]
    pub(super) fn becomes_late(&self, sample: &Sample) -> bool {
        sample.late_ns > 0 && self.is_late == 0
    }

    /// Response times are counted from now on: those so far were service times. The memory for them is there.
    pub(super) fn begin_responses(&mut self) {
        self.responses = self.counts;
        self.longest_response_ps = self.most_ps;
        self.is_late = 1;
    }

    #[inline(never)]
    fn count_response(&mut self, sample: &Sample) {
        let ps = sample.duration_ps.saturating_add(sample.late_ns.saturating_mul(1_000));
        self.responses[bucket(ps)] += 1;
        self.longest_response_ps = self.longest_response_ps.max(ps);
    }

    #[cold]
    fn count_failed(&mut self, sample: &Sample) -> bool {
        let errno = u64::from(sample.errno.unsigned_abs());
        self.bytes = self.bytes.wrapping_add(sample.bytes);
        let known = self.failed_by.iter_mut().find(|(known, count)| *known == errno || *count == 0);
        if let Some(known) = known {
            *known = (errno, known.1 + 1);
        }
        self.failed += 1;
        self.failed <= KEPT_FAILED
    }

    /// One more is kept; when they have become too many, the threshold rises for those to come.
    #[inline(never)]
    fn keep(&mut self) -> bool {
        self.above += 1;
        if self.above >= 2 * KEPT {
            let histogram = Histogram::of_counts(self.counts.iter().copied());
            let raised = histogram.threshold(KEPT);
            self.above = if raised > self.threshold { KEPT } else { 0 };
            self.threshold = raised.max(self.threshold);
        }
        true
    }

    fn failures(&self) -> impl Iterator<Item = (i32, u64)> {
        self.failed_by.iter().filter(|(_, count)| *count > 0).map(|(errno, count)| (*errno as i32, *count))
    }

    /// What was counted, for the parent.
    pub(super) fn counted(&self) -> Counted {
        let histogram = Histogram::of_counts(self.counts.iter().copied());
        Counted {
            site: u32::try_from(self.site).unwrap_or(u32::MAX),
            total_s: self.sum_ps as f64 * 1e-12,
            least_ps: self.least_ps.saturating_sub(1),
            most_ps: self.most_ps,
            bytes: self.bytes,
            failed: self.failed,
            failed_by_errno: self.failures().collect(),
            kept_from_ps: self.threshold,
            responses: (self.is_late > 0).then(|| CountedResponses {
                histogram: Histogram::of_counts(self.responses.iter().copied()),
                most_ps: self.longest_response_ps,
            }),
            histogram,
        }
    }
}

/// The tallies of one recorder, by the rank's own number of the site.
#[derive(Default)]
pub(super) struct Tallies {
    of_site: Vec<Option<NonNull<SiteTally>>>,
}

// SAFETY: each tally is written by the one recorder that took it.
unsafe impl Send for Tallies {}

impl Tallies {
    /// The tally of a site, if it has one.
    #[inline(always)]
    pub(super) fn of(&mut self, site: u32) -> Option<&mut SiteTally> {
        let place = *self.of_site.get(site as usize)?;
        // SAFETY: a place of its own in the region, which outlives the recorder; nobody else writes it, and
        // the parent reads it when the rank is gone.
        place.map(|mut place| unsafe { place.as_mut() })
    }

    /// Gives a site the tally at `place`, whose memory is there and zero.
    pub(super) fn add(&mut self, site: u32, mut place: NonNull<SiteTally>) -> &mut SiteTally {
        if self.of_site.len() <= site as usize {
            self.of_site.resize(site as usize + 1, None);
        }
        self.of_site[site as usize] = Some(place);
        // SAFETY: as in `of`.
        let tally = unsafe { place.as_mut() };
        tally.site = u64::from(site);
        tally
    }

    /// All of them, with their sites.
    pub(super) fn into_idle(self) -> impl Iterator<Item = (u32, IdleTally)> {
        (0..).zip(self.of_site).filter_map(|(site, place)| place.map(|place| (site, IdleTally(place))))
    }
}

/// The place of a tally that nobody writes now.
pub(super) struct IdleTally(pub(super) NonNull<SiteTally>);

// SAFETY: a place in the region, for whoever takes it next.
unsafe impl Send for IdleTally {}

/// Why a further site cannot be counted.
pub(super) fn too_many(limit: usize) -> io::Error {
    io::Error::other(format!(
        "a rank counts at most {limit} sites and workers in histograms; use fewer labels or workers, or keep \
         every sample (--record samples)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tally() -> Box<SiteTally> {
        let layout = std::alloc::Layout::new::<SiteTally>();
        // SAFETY: the layout is that of a tally, which is not empty, and all-zero bytes are one that has counted nothing.
        unsafe { Box::from_raw(std::alloc::alloc_zeroed(layout).cast()) }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn every_sample_from_the_threshold_on_is_kept(seed: u64, count in 1u64..200_000) {
            let (mut tally, mut random) = (tally(), samples::random::Random::new(seed));
            let (mut all, mut kept) = (Vec::new(), Vec::new());
            for _ in 0..count {
                // Heavy-tailed: a power of a uniform number.
                let uniform = (random.next() >> 11) as f64 / (1u64 << 53) as f64;
                let duration_ps = (1e4 * (1.0 - uniform).powf(-0.5)) as u64;
                let sample = Sample { duration_ps, ..Sample::default() };
                all.push(duration_ps);
                if tally.count(&sample) {
                    kept.push(duration_ps);
                }
            }
            let found = tally.counted();
            prop_assert_eq!(found.histogram.count(), count);
            prop_assert_eq!(found.least_ps, *all.iter().min().expect("some"));
            prop_assert_eq!(found.most_ps, *all.iter().max().expect("some"));
            let from = |values: &[u64]| {
                let mut slow: Vec<u64> = values.iter().copied().filter(|ps| *ps >= found.kept_from_ps).collect();
                slow.sort_unstable();
                slow
            };
            prop_assert_eq!(from(&all), from(&kept));
            let doublings = (count as f64 / KEPT as f64).log2().max(0.0) as u64 + 3;
            prop_assert!(kept.len() as u64 <= doublings * KEPT, "{} of {count}", kept.len());
            prop_assert!(from(&all).len() as u64 >= count.min(KEPT / 4), "{}", from(&all).len());
        }
    }

    #[test]
    fn failed_operations_are_counted_apart() {
        let mut tally = tally();
        let kept =
            (0..5000).filter(|_| tally.count(&Sample { errno: 5, bytes: 8, ..Sample::default() })).count();
        let found = tally.counted();
        assert_eq!((kept as u64, found.failed, found.histogram.count()), (KEPT_FAILED, 5000, 0));
        assert_eq!((found.bytes, found.failed_by_errno), (40_000, [(5, 5000)].into()));
    }

    #[test]
    fn response_times_hold_those_before_the_first_late_operation() {
        let mut tally = tally();
        let of = |late_ns| Sample { duration_ps: 2_000_000, late_ns, ..Sample::default() };
        for sample in [of(0), of(0), of(6_000), of(0)] {
            if tally.becomes_late(&sample) {
                tally.begin_responses();
            }
            tally.count(&sample);
        }
        let found = tally.counted();
        let responses = found.responses.expect("one was late");
        assert_eq!((found.histogram.count(), responses.histogram.count()), (4, 4));
        assert_eq!((found.most_ps, responses.most_ps), (2_000_000, 8_000_000));
    }
}
