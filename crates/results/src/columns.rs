//! Collects samples by site and rank in the columns that results need: 16 bytes a sample where sizes and errors are alike.

use std::collections::HashMap;

use samples::Sample;

/// Samples of a run, taken as they come: the whole of a run, or row groups of its file one after the other.
///
/// It keeps when each began and how long it took, and of late starts, bytes and batches only what is not the same for
/// all samples of a site on a rank.
pub struct Columns {
    streams: Vec<Stream>,
    known: HashMap<(u32, u32), u32>,
    /// The streams looked up last, by the low bits of their site: site, rank, index.
    recent: [Option<(u32, u32, u32)>; Columns::RECENT],
}

impl Default for Columns {
    fn default() -> Columns {
        Columns { streams: Vec::new(), known: HashMap::new(), recent: [None; Columns::RECENT] }
    }
}

impl Columns {
    const RECENT: usize = 64;

    /// Takes samples; those of a site on a rank best in time order.
    pub fn push(&mut self, samples: &[Sample]) {
        for sample in samples {
            let at = self.stream_of(sample.site, sample.rank);
            self.streams[at].push(sample);
        }
    }

    fn stream_of(&mut self, site: u32, rank: u32) -> usize {
        let slot = site as usize % Self::RECENT;
        if let Some((known_site, known_rank, at)) = self.recent[slot]
            && (known_site, known_rank) == (site, rank)
        {
            return at as usize;
        }
        let at = *self.known.entry((site, rank)).or_insert_with(|| {
            self.streams.push(Stream::new(site, rank));
            self.streams.len() as u32 - 1
        });
        self.recent[slot] = Some((site, rank, at));
        at as usize
    }

    /// The streams, each in time order.
    pub(crate) fn into_streams(self) -> Vec<Stream> {
        let mut streams = self.streams;
        streams.iter_mut().for_each(Stream::bring_in_order);
        streams
    }
}

/// A column whose values are mostly one and the same.
enum Column {
    /// So many times this.
    Same(u64),
    Each(Vec<u64>),
}

impl Column {
    /// Adds a value behind `length` others.
    fn push(&mut self, value: u64, length: usize) {
        match self {
            Column::Same(known) if *known == value => {}
            Column::Same(known) if length == 0 => *known = value,
            Column::Same(known) => {
                let mut all = vec![*known; length];
                add(&mut all, value);
                *self = Column::Each(all);
            }
            Column::Each(all) => add(all, value),
        }
    }

    #[inline]
    fn at(&self, at: usize) -> u64 {
        match self {
            Column::Same(value) => *value,
            Column::Each(all) => all[at],
        }
    }

    fn reorder(&mut self, order: &[u32]) {
        if let Column::Each(all) = self {
            *all = reordered(all, order);
        }
    }
}

/// Appends; grows by a quarter, where a vector alone would double.
fn add(all: &mut Vec<u64>, value: u64) {
    if all.len() == all.capacity() {
        all.reserve_exact((all.len() / 4).max(64));
    }
    all.push(value);
}

fn reordered(all: &[u64], order: &[u32]) -> Vec<u64> {
    order.iter().map(|at| all[*at as usize]).collect()
}

/// All samples of one site on one rank.
pub(crate) struct Stream {
    pub site: u32,
    pub rank: u32,
    starts: Vec<u64>,
    durations: Vec<u64>,
    late: Column,
    bytes: Column,
    batches: Column,
    /// Which failed, and with what errno; ascending.
    failures: Vec<(u32, i32)>,
    /// The errno with which the program expects them to fail.
    expects: Option<i32>,
    is_ordered: bool,
}

/// One timing of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    pub start_ns: u64,
    pub duration_ps: u64,
    pub late_ns: u64,
    pub bytes: u64,
    pub batch: u64,
    pub failed: bool,
}

impl Stream {
    fn new(site: u32, rank: u32) -> Stream {
        let [late, bytes, batches] = [0, 0, 1].map(Column::Same);
        let (starts, durations) = (Vec::new(), Vec::new());
        Stream {
            site,
            rank,
            starts,
            durations,
            late,
            bytes,
            batches,
            failures: Vec::new(),
            expects: None,
            is_ordered: true,
        }
    }

    fn push(&mut self, sample: &Sample) {
        let length = self.starts.len();
        self.is_ordered &= self.starts.last().is_none_or(|last| *last <= sample.start_ns);
        add(&mut self.starts, sample.start_ns);
        add(&mut self.durations, sample.duration_ps);
        self.late.push(sample.late_ns, length);
        self.bytes.push(sample.bytes, length);
        self.batches.push(u64::from(sample.batch.max(1)), length);
        if sample.failed() {
            self.failures.push((length as u32, sample.errno));
        }
    }

    fn bring_in_order(&mut self) {
        if self.is_ordered {
            return;
        }
        let mut order: Vec<u32> = (0..self.starts.len() as u32).collect();
        // Stable: of those that began together the first recorded.
        order.sort_by_key(|at| self.starts[*at as usize]);
        self.starts = reordered(&self.starts, &order);
        self.durations = reordered(&self.durations, &order);
        self.late.reorder(&order);
        self.bytes.reorder(&order);
        self.batches.reorder(&order);
        if !self.failures.is_empty() {
            let errno: HashMap<u32, i32> = self.failures.drain(..).collect();
            let failed = |(at, was): (u32, &u32)| Some((at, *errno.get(was)?));
            self.failures = (0..).zip(&order).filter_map(failed).collect();
        }
        self.is_ordered = true;
    }

    /// When each began, by the clock of its rank, in nanoseconds; ascending.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Says with which errno the program expects its operations to fail.
    pub(crate) fn expect(&mut self, errno: Option<i32>) {
        self.expects = errno;
    }

    /// Whether a failure with this errno is what the program expects.
    pub(crate) fn expects(&self, errno: i32) -> bool {
        self.expects == Some(errno)
    }

    /// Which failed with which errno.
    pub fn failures(&self) -> &[(u32, i32)] {
        &self.failures
    }

    /// All timings in time order.
    pub fn timings(&self) -> Timings<'_> {
        Timings { stream: self, at: 0, failures: &self.failures }
    }

    /// Whether an operation that succeeded began later than it was meant to.
    pub fn is_late(&self) -> bool {
        match self.late {
            Column::Same(late) => late > 0 && self.failures.len() < self.starts.len(),
            Column::Each(_) => self.timings().any(|one| one.late_ns > 0 && !one.failed),
        }
    }

    /// What all timings come to, which needs no order.
    pub fn totals(&self) -> Totals {
        let time_ps = self.durations.iter().map(|ps| u128::from(*ps)).sum();
        let (all, good) = (self.starts.len() as u64, (self.starts.len() - self.failures.len()) as u64);
        if let (Column::Same(bytes), Column::Same(batch)) = (&self.bytes, &self.batches) {
            let once = |value: u64| (good > 0).then_some([value; 2]);
            return Totals {
                timings: good,
                operations: good * batch,
                bytes: all * bytes,
                good_bytes: good * bytes,
                time_ps,
                good_time_ps: time_ps - self.failed_time(),
                batches: once(*batch),
                sizes: once(bytes / batch),
            };
        }
        let mut found = Totals { time_ps, ..Totals::default() };
        for timing in self.timings() {
            found.bytes += timing.bytes;
            if !timing.failed {
                found.timings += 1;
                found.operations += timing.batch;
                found.good_bytes += timing.bytes;
                found.good_time_ps += u128::from(timing.duration_ps);
                found.batches = widened(found.batches, [timing.batch; 2]);
                let size = if timing.batch == 1 { timing.bytes } else { timing.bytes / timing.batch };
                found.sizes = widened(found.sizes, [size; 2]);
            }
        }
        found
    }

    fn failed_time(&self) -> u128 {
        self.failures.iter().map(|(at, _)| u128::from(self.durations[*at as usize])).sum()
    }
}

/// What some timings come to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Those that succeeded.
    pub timings: u64,
    /// Operations in them.
    pub operations: u64,
    /// Bytes of all timings.
    pub bytes: u64,
    /// Bytes of those that succeeded.
    pub good_bytes: u64,
    /// Time of all timings.
    pub time_ps: u128,
    /// Time of those that succeeded.
    pub good_time_ps: u128,
    /// Fewest and most operations of one that succeeded.
    pub batches: Option<[u64; 2]>,
    /// Fewest and most bytes of an operation that succeeded.
    pub sizes: Option<[u64; 2]>,
}

impl Totals {
    /// Of some streams together.
    pub fn of(streams: &[Stream]) -> Totals {
        streams.iter().map(Stream::totals).fold(Totals::default(), |sum, one| Totals {
            timings: sum.timings + one.timings,
            operations: sum.operations + one.operations,
            bytes: sum.bytes + one.bytes,
            good_bytes: sum.good_bytes + one.good_bytes,
            time_ps: sum.time_ps + one.time_ps,
            good_time_ps: sum.good_time_ps + one.good_time_ps,
            batches: one.batches.map_or(sum.batches, |range| widened(sum.batches, range)),
            sizes: one.sizes.map_or(sum.sizes, |range| widened(sum.sizes, range)),
        })
    }

    /// The number of operations of every timing, where it is the same.
    pub fn batch(&self) -> Option<u64> {
        self.batches.filter(|[least, most]| least == most).map(|[batch, _]| batch)
    }
}

/// The smallest range around both.
fn widened(known: Option<[u64; 2]>, [least, most]: [u64; 2]) -> Option<[u64; 2]> {
    Some(known.map_or([least, most], |known| [known[0].min(least), known[1].max(most)]))
}

/// The timings of a stream in time order.
pub(crate) struct Timings<'a> {
    stream: &'a Stream,
    at: usize,
    /// Those that are not passed yet.
    failures: &'a [(u32, i32)],
}

impl Iterator for Timings<'_> {
    type Item = Timing;

    #[inline]
    fn next(&mut self) -> Option<Timing> {
        let (stream, at) = (self.stream, self.at);
        let (start_ns, duration_ps) = (*stream.starts.get(at)?, *stream.durations.get(at)?);
        self.at += 1;
        let failed = self.failures.first().is_some_and(|(failed, _)| *failed as usize == at);
        if failed {
            self.failures = &self.failures[1..];
        }
        let (late, bytes, batches) = (&stream.late, &stream.bytes, &stream.batches);
        Some(Timing {
            start_ns,
            duration_ps,
            late_ns: late.at(at),
            bytes: bytes.at(at),
            batch: batches.at(at),
            failed,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.stream.starts.len() - self.at;
        (left, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn every_sample_comes_back_in_time_order(
            list in proptest::collection::vec((0u32..3, 0u32..2, 0u64..50, 0u64..3, 0u64..2, 1u32..3, 0i32..3), 0..80)
        ) {
            let samples: Vec<Sample> = list
                .iter()
                .enumerate()
                .map(|(n, (site, rank, start_ns, bytes, late_ns, batch, errno))| Sample {
                    site: *site,
                    rank: *rank,
                    start_ns: *start_ns,
                    bytes: *bytes,
                    late_ns: *late_ns,
                    batch: *batch,
                    errno: *errno,
                    duration_ps: n as u64,
                    ..Sample::default()
                })
                .collect();
            let mut columns = Columns::default();
            samples.chunks(7).for_each(|part| columns.push(part));
            let mut count = 0;
            for stream in columns.into_streams() {
                let mut wanted: Vec<&Sample> =
                    samples.iter().filter(|one| (one.site, one.rank) == (stream.site, stream.rank)).collect();
                wanted.sort_by_key(|one| one.start_ns);
                let found: Vec<_> = stream
                    .timings()
                    .map(|one| (one.start_ns, one.duration_ps, one.late_ns, one.bytes, one.batch, one.failed))
                    .collect();
                let wanted: Vec<_> = wanted
                    .iter()
                    .map(|one| (one.start_ns, one.duration_ps, one.late_ns, one.bytes, u64::from(one.batch), one.failed()))
                    .collect();
                prop_assert_eq!(&found, &wanted);
                prop_assert_eq!(stream.failures().len(), wanted.iter().filter(|one| one.5).count());
                count += found.len();
            }
            prop_assert_eq!(count, samples.len());
        }
    }
}
