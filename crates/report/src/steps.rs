//! Makes the steps of a subject of its samples.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};

use samples::{Run, Sample};
use serde::Serialize;

/// One step of the analysed site: what every rank took, and who was last. There may be as many as samples: 32 bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The n-th sample of the site on each rank, from 0.
    pub iteration: u32,
    /// When the first rank began it, in seconds since the run's epoch.
    pub start_s: f64,
    /// T: of a gate the longest duration over ranks, otherwise the duration; of a batch the mean of its operations.
    /// Seconds.
    pub seconds: f64,
    /// The same without the wait on the run queue that was read. Seconds.
    pub corrected: f64,
    /// The rank that was last.
    pub last: u32,
}

/// The steps of some samples.
pub(crate) struct FoundSteps {
    pub steps: Vec<Step>,
    /// For each rank its durations at them; empty of samples one by one.
    pub of_rank: Vec<Vec<f64>>,
    pub failed: usize,
    pub unfinished: usize,
    pub from_schedule: bool,
}

/// The samples of each rank, in time order where they come from several sites.
pub(crate) fn by_rank<'a>(run: &'a Run, sites: &[u32]) -> BTreeMap<u32, Vec<&'a Sample>> {
    let mut of_rank: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
    let places = run.samples.chunk_by(|a, b| (a.site, a.rank) == (b.site, b.rank));
    for alike in places.filter(|alike| sites.binary_search(&alike[0].site).is_ok()) {
        of_rank.entry(alike[0].rank).or_default().extend(alike);
    }
    if sites.len() > 1 {
        of_rank.values_mut().for_each(|samples| samples.sort_by_key(|sample| sample.start_ns));
    }
    of_rank
}

/// The fewest and the most operations in one sample.
pub(crate) fn batches(of_rank: &BTreeMap<u32, Vec<&Sample>>) -> (u32, u32) {
    let mut all = of_rank.values().flatten().map(|sample| sample.batch.max(1));
    let first = all.next().unwrap_or(1);
    all.fold((first, first), |(least, most), batch| (least.min(batch), most.max(batch)))
}

/// Whether an operation that succeeded began later than it was due.
fn begins_late<'a>(mut samples: impl Iterator<Item = &'a Sample>) -> bool {
    samples.any(|sample| sample.late_ns > 0 && !sample.failed())
}

pub(crate) fn gated(of_rank: &BTreeMap<u32, Vec<&Sample>>) -> FoundSteps {
    let reached = of_rank.values().map(Vec::len).min().unwrap_or(0);
    let longest = of_rank.values().map(Vec::len).max().unwrap_or(0);
    let from_schedule = begins_late(of_rank.values().flatten().copied());
    let waited = |sample: &Sample| if from_schedule { sample.late_ns as f64 * 1e-9 } else { 0.0 };
    let each = |sample: &Sample| waited(sample) + sample.seconds_each();
    let mut durations = vec![Vec::with_capacity(reached); of_rank.len()];
    let mut steps = Vec::with_capacity(reached);
    for iteration in 0..reached {
        let row: Vec<&Sample> = of_rank.values().map(|samples| samples[iteration]).collect();
        if row.iter().any(|sample| sample.failed()) {
            continue;
        }
        let last = row.iter().fold(row[0], |best, next| if each(next) > each(best) { next } else { best });
        steps.push(Step {
            iteration: iteration as u32,
            start_s: row.iter().map(|sample| sample.start_ns).min().unwrap_or(0) as f64 * 1e-9,
            seconds: each(last),
            corrected: row
                .iter()
                .map(|sample| waited(sample) + sample.corrected_seconds_each())
                .fold(0.0, f64::max),
            last: last.rank,
        });
        durations.iter_mut().zip(&row).for_each(|(of_rank, sample)| of_rank.push(each(sample)));
    }
    let failed = reached - steps.len();
    not_below_the_quickest(&mut steps);
    FoundSteps { steps, of_rank: durations, failed, unfinished: longest - reached, from_schedule }
}

/// The kernel's clock of waits may tell a wait as longer than it was, so that next to nothing is left of a short operation.
/// Without its wait none takes less than the quickest of all with it.
fn not_below_the_quickest(steps: &mut [Step]) {
    let quickest = steps.iter().map(|step| step.seconds).fold(f64::INFINITY, f64::min);
    steps.iter_mut().for_each(|step| step.corrected = step.corrected.max(quickest));
}

pub(crate) fn alone(batch: (u32, u32), of_rank: &BTreeMap<u32, Vec<&Sample>>) -> FoundSteps {
    let total = of_rank.values().map(Vec::len).sum::<usize>();
    // As in the rows of results, whose headline it is.
    let is_late = begins_late(of_rank.values().flatten().copied());
    let from_schedule = batch.0 == batch.1 && is_late;
    let waited = |sample: &Sample| if from_schedule { sample.late_ns as f64 * 1e-9 } else { 0.0 };
    let mut is_corrected = false;
    let mut steps = Vec::with_capacity(total);
    let mut step = |iteration: usize, sample: &Sample| {
        let seconds = waited(sample) + sample.seconds_each();
        let corrected = waited(sample) + sample.corrected_seconds_each();
        is_corrected |= corrected != seconds;
        steps.push(Step {
            iteration: iteration as u32,
            start_s: sample.start_ns as f64 * 1e-9,
            seconds,
            corrected,
            last: sample.rank,
        });
    };
    let good = |(_, sample): &(usize, &Sample)| !sample.failed();
    in_time_order(of_rank).filter(good).for_each(|(iteration, sample)| step(iteration, sample));
    if is_corrected {
        not_below_the_quickest(&mut steps);
    }
    let failed = total - steps.len();
    FoundSteps { steps, of_rank: Vec::new(), failed, unfinished: 0, from_schedule }
}

/// The samples of all ranks by their begin, of those that began together the lower rank first; of a rank as they stand there.
/// Each rank has its own in order, so that they are merged as they are asked for, and no list of all is made.
fn in_time_order<'a>(
    of_rank: &'a BTreeMap<u32, Vec<&'a Sample>>,
) -> Box<dyn Iterator<Item = (usize, &'a Sample)> + 'a> {
    let each = || of_rank.values().map(|samples| samples.iter().copied().enumerate());
    if !of_rank.values().all(|samples| samples.is_sorted_by_key(|sample| sample.start_ns)) {
        let mut all: Vec<(usize, &Sample)> = each().flatten().collect();
        all.sort_by_key(|(_, sample)| (sample.start_ns, sample.rank));
        return Box::new(all.into_iter());
    }
    let mut rest: Vec<_> = each().collect();
    let mut next = BinaryHeap::new();
    for (at, samples) in rest.iter_mut().enumerate() {
        next.extend(samples.next().map(|(iteration, sample)| Reverse((sample.start_ns, at, iteration))));
    }
    let lists: Vec<&[&Sample]> = of_rank.values().map(Vec::as_slice).collect();
    Box::new(std::iter::from_fn(move || {
        let mut first = next.peek_mut()?;
        let Reverse((_, at, iteration)) = *first;
        match rest[at].next() {
            // The heap is put in order when `first` is dropped.
            Some((following, sample)) => *first = Reverse((sample.start_ns, at, following)),
            None => drop(PeekMut::pop(first)),
        }
        Some((iteration, lists[at][iteration]))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_ranks_are_merged_as_a_stable_sort_has_them() {
        let mut random = tail::Xoshiro::new(4);
        for is_sorted in [true, false] {
            let samples: Vec<Vec<Sample>> = [0, 1, 40, 700, 90]
                .iter()
                .zip(0..)
                .map(|(count, rank)| {
                    let mut starts: Vec<u64> = (0..*count).map(|_| random.below(300) as u64).collect();
                    if is_sorted {
                        starts.sort_unstable();
                    }
                    let of = |(n, start_ns)| Sample { rank, start_ns, duration_ps: n, ..Sample::default() };
                    (0..).zip(starts).map(of).collect()
                })
                .collect();
            let of_rank: BTreeMap<u32, Vec<&Sample>> =
                (0..).zip(samples.iter().map(|samples| samples.iter().collect())).collect();
            let mut wanted: Vec<(usize, &Sample)> =
                of_rank.values().flat_map(|samples| samples.iter().copied().enumerate()).collect();
            wanted.sort_by_key(|(_, sample)| (sample.start_ns, sample.rank));
            assert_eq!(in_time_order(&of_rank).collect::<Vec<_>>(), wanted);
        }
    }
}
