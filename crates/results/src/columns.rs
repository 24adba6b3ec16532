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
        Stream { site, rank, starts, durations, late, bytes, batches, failures: Vec::new(), is_ordered: true }
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

    /// How many failed with which errno.
    pub fn failures(&self) -> &[(u32, i32)] {
        &self.failures
    }

    /// All timings in time order.
    pub fn timings(&self) -> impl Iterator<Item = Timing> + '_ {
        let mut failures = self.failures.iter().map(|(at, _)| *at as usize).peekable();
        (0..self.starts.len()).map(move |at| Timing {
            start_ns: self.starts[at],
            duration_ps: self.durations[at],
            late_ns: self.late.at(at),
            bytes: self.bytes.at(at),
            batch: self.batches.at(at),
            failed: failures.next_if_eq(&at).is_some(),
        })
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
