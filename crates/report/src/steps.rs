//! Makes the steps of a subject of its samples.

use std::collections::BTreeMap;

use samples::{Run, Sample};
use serde::Serialize;

/// One step of the analysed site: what every rank took, and who was last.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The n-th sample of the site on each rank, from 0.
    pub iteration: usize,
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
            iteration,
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
    let mut step = |(iteration, sample): (usize, &Sample)| {
        let seconds = waited(sample) + sample.seconds_each();
        let corrected = waited(sample) + sample.corrected_seconds_each();
        is_corrected |= corrected != seconds;
        Step { iteration, start_s: sample.start_ns as f64 * 1e-9, seconds, corrected, last: sample.rank }
    };
    let mut steps = Vec::with_capacity(total);
    let alike = || of_rank.values().flat_map(|samples| samples.iter().copied().enumerate());
    match of_rank.values().next().filter(|samples| samples.len() == total) {
        // Most runs of one rank need no order made of them.
        Some(only) if only.is_sorted_by_key(|sample| sample.start_ns) => {
            steps.extend(alike().filter(|(_, sample)| !sample.failed()).map(&mut step));
        }
        _ => {
            let mut all: Vec<(usize, &Sample)> = alike().collect();
            all.sort_by_key(|(_, sample)| (sample.start_ns, sample.rank));
            steps.extend(all.into_iter().filter(|(_, sample)| !sample.failed()).map(&mut step));
        }
    }
    if is_corrected {
        not_below_the_quickest(&mut steps);
    }
    let failed = total - steps.len();
    FoundSteps { steps, of_rank: Vec::new(), failed, unfinished: 0, from_schedule }
}
