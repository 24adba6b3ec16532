//! Timings on the common clock of the ranks, in the order in which they began, and the blocks around them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use samples::{CommonClock, Facts, Site, SiteKind};

use crate::columns::{Stream, Timing};

/// One operation on the common clock, in picoseconds: 64 bits hold 106 days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    start: i64,
    end: i64,
    /// The ranks whose clocks say when it began and ended.
    pub first: u32,
    last: u32,
}

impl Interval {
    /// An operation of a rank.
    pub fn new(start: i64, end: i64, rank: u32) -> Interval {
        Interval { start, end, first: rank, last: rank }
    }

    /// When it began.
    pub fn begin(&self) -> i64 {
        self.start
    }

    /// When it ended.
    pub fn end(&self) -> i64 {
        self.end
    }

    /// How long it is.
    pub fn length(&self) -> i64 {
        self.end - self.start
    }

    /// From the first begin to the last end.
    pub fn joined(self, other: Interval) -> Interval {
        let (begins, ends) = (other.start < self.start, other.end > self.end);
        Interval {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            first: if begins { other.first } else { self.first },
            last: if ends { other.last } else { self.last },
        }
    }
}

/// Joins intervals that overlap or touch.
fn union(mut all: Vec<Interval>) -> Vec<Interval> {
    all.sort_unstable_by_key(|interval| interval.start);
    let mut out: Vec<Interval> = Vec::new();
    for interval in all {
        match out.last_mut() {
            Some(last) if interval.start <= last.end => *last = last.joined(interval),
            _ => out.push(interval),
        }
    }
    out
}

/// The length of the union of some intervals, in picoseconds.
pub(crate) fn covered(all: Vec<Interval>) -> i64 {
    union(all).iter().map(Interval::length).sum()
}

/// The length of the union of intervals that come in the order in which they begin.
#[derive(Default)]
pub(crate) struct Covered {
    length: i64,
    until: Option<i64>,
}

impl Covered {
    pub fn add(&mut self, at: Interval) {
        let from = self.until.map_or(at.start, |until| until.max(at.start));
        self.length += (at.end - from).max(0);
        self.until = Some(self.until.map_or(at.end, |until| until.max(at.end)));
    }

    /// In picoseconds.
    pub fn length(&self) -> i64 {
        self.length
    }
}

/// One pass of a block on a rank, by the rank's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pass {
    pub begin_ns: u64,
    /// `None` of a `ctime` block, whose duration is a sum of times and no interval.
    pub length_ps: Option<u64>,
    /// Whether it was due at a moment: it lies in the body of a `rate`.
    pub is_due: bool,
}

/// Finds the pass in which operations began, which come in time order.
pub(crate) struct PassFinder<'a> {
    passes: &'a [Pass],
    at: usize,
    /// When the passes that have begun are over; never, where one has no end.
    over_ns: u64,
}

impl<'a> PassFinder<'a> {
    /// Of a rank with these passes, ascending.
    pub fn new(passes: &'a [Pass]) -> PassFinder<'a> {
        PassFinder { passes, at: 0, over_ns: 0 }
    }

    /// The number of the pass in which an operation began, from 1; 0 before the first. What begins after the end of all of
    /// them lies in one more: a pass that was cut short has no sample of its own.
    pub fn find(&mut self, start_ns: u64) -> usize {
        while let Some(pass) = self.passes.get(self.at).filter(|pass| pass.begin_ns <= start_ns) {
            let over = pass.length_ps.map_or(u64::MAX, |ps| pass.begin_ns.saturating_add(ps.div_ceil(1_000)));
            self.over_ns = self.over_ns.max(over);
            self.at += 1;
        }
        self.at + usize::from(self.at > 0 && self.at == self.passes.len() && start_ns > self.over_ns)
    }
}

/// The common clock, and the passes of each block on each rank.
pub(crate) struct Timeline<'a> {
    clock: CommonClock,
    /// By labels, then by rank; ascending.
    passes: HashMap<&'a [String], BTreeMap<u32, Vec<Pass>>>,
}

impl<'a> Timeline<'a> {
    pub fn of(facts: &Facts, sites: &'a [Site], streams: &[Stream]) -> Self {
        let mut passes: HashMap<&[String], BTreeMap<u32, Vec<Pass>>> = HashMap::new();
        for stream in streams {
            let Some(site) = sites.get(stream.site as usize) else { continue };
            let has_length = match site.kind {
                SiteKind::Operation | SiteKind::Barrier => continue,
                SiteKind::Time | SiteKind::Phase => true,
                SiteKind::CommandTime => false,
            };
            let of_rank = passes.entry(site.labels.as_slice()).or_default().entry(stream.rank).or_default();
            of_rank.extend(stream.timings().map(|timing| Pass {
                begin_ns: timing.start_ns,
                length_ps: has_length.then_some(timing.duration_ps),
                is_due: timing.late_ns > 0,
            }));
        }
        for passes in passes.values_mut().flat_map(BTreeMap::values_mut) {
            if !passes.is_sorted() {
                passes.sort_unstable();
            }
        }
        Timeline { clock: CommonClock::of(facts), passes }
    }

    /// The passes of a rank through the innermost labelled block around a row, ascending; none where there is no such
    /// block.
    pub fn passes(&self, labels: &[String], kind: SiteKind, rank: u32) -> &[Pass] {
        let around = match kind {
            SiteKind::Operation | SiteKind::Barrier => labels,
            // The last label of a block is its own.
            SiteKind::Time | SiteKind::CommandTime | SiteKind::Phase => {
                labels.split_last().map_or(labels, |(_, outer)| outer)
            }
        };
        let of_rank = if around.is_empty() { None } else { self.passes.get(around) };
        of_rank.and_then(|of_rank| of_rank.get(&rank)).map_or(&[], Vec::as_slice)
    }

    /// The passes of a rank through the innermost labelled block around the schedule of a row; none where there is no such
    /// block. What lies in the body of a `rate` is itself on a schedule.
    pub fn passes_of_schedule(&self, labels: &[String], rank: u32) -> &[Pass] {
        let around = (1..=labels.len()).rev().filter_map(|n| self.passes.get(&labels[..n])?.get(&rank));
        around.map(Vec::as_slice).find(|passes| passes.iter().all(|pass| !pass.is_due)).unwrap_or(&[])
    }

    /// Where a pass of a rank lies; none of one without a length.
    pub fn place_of_pass(&self, rank: u32, pass: &Pass) -> Option<Interval> {
        let length_ps = pass.length_ps?;
        let start = self.clock.common_ns(rank, pass.begin_ns).saturating_mul(1_000);
        Some(Interval::new(start, start.saturating_add_unsigned(length_ps), rank))
    }

    /// Where a timing of a rank lies.
    pub fn place(&self, rank: u32, timing: &Timing) -> Interval {
        let start = self.clock.common_ns(rank, timing.start_ns).saturating_mul(1_000);
        Interval::new(start, start.saturating_add_unsigned(timing.duration_ps), rank)
    }

    /// How far the moments of some ranks are uncertain at most, in picoseconds.
    pub fn uncertainty_ps(&self, ranks: impl Iterator<Item = u32>) -> i64 {
        let most = ranks.map(|rank| self.clock.uncertainty_ns(rank)).max().unwrap_or(0);
        i64::try_from(most).unwrap_or(i64::MAX).saturating_mul(1_000)
    }

    /// The wall time of a row in picoseconds, and how far it is uncertain in nanoseconds: passes of the block around
    /// it last from the first begin to the last end over ranks, and pauses between them do not count.
    pub fn wall(&self, passes: Vec<Interval>) -> (i64, u64) {
        let pieces = union(passes);
        let uncertain = |piece: &Interval| {
            let of = |rank| self.clock.uncertainty_ns(rank);
            if piece.first == piece.last { 0 } else { of(piece.first) + of(piece.last) }
        };
        (pieces.iter().map(Interval::length).sum(), pieces.iter().map(uncertain).sum())
    }

    /// Shows all timings of some streams in the order in which they began on the common clock.
    pub fn each_in_order(&self, streams: &[Stream], mut see: impl FnMut(&Timing, Interval)) {
        if let [only] = streams {
            only.timings().for_each(|timing| see(&timing, self.place(only.rank, &timing)));
            return;
        }
        if streams.len() <= FEW {
            return self.each_of_few(streams, see);
        }
        let mut rest: Vec<_> = streams.iter().map(|stream| (stream.rank, stream.timings())).collect();
        let mut next: Vec<Option<(Timing, Interval)>> = vec![None; streams.len()];
        let mut heap = BinaryHeap::with_capacity(streams.len());
        for (at, (rank, timings)) in rest.iter_mut().enumerate() {
            next[at] = timings.next().map(|timing| (timing, self.place(*rank, &timing)));
            heap.extend(next[at].map(|(_, place)| Reverse((place.start, at))));
        }
        while let Some(mut top) = heap.peek_mut() {
            let at = top.0.1;
            if let Some((timing, place)) = &next[at] {
                see(timing, *place);
            }
            let (rank, timings) = &mut rest[at];
            next[at] = timings.next().map(|timing| (timing, self.place(*rank, &timing)));
            match next[at] {
                Some((_, place)) => *top = Reverse((place.start, at)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(top);
                }
            }
        }
    }
}

/// Streams whose next timings are looked through one by one.
const FEW: usize = 8;

impl Timeline<'_> {
    /// As [`Timeline::each_in_order`], of at most [`FEW`] streams.
    fn each_of_few(&self, streams: &[Stream], mut see: impl FnMut(&Timing, Interval)) {
        let mut rest: Vec<_> = streams.iter().map(|stream| (stream.rank, stream.timings())).collect();
        let mut starts = [i64::MAX; FEW];
        let mut next: [Option<(Timing, Interval)>; FEW] = [None; FEW];
        let mut left = 0;
        for (at, (rank, timings)) in rest.iter_mut().enumerate() {
            next[at] = timings.next().map(|timing| (timing, self.place(*rank, &timing)));
            starts[at] = next[at].map_or(i64::MAX, |(_, place)| place.start);
            left += usize::from(next[at].is_some());
        }
        while left > 0 {
            // Of those that began together the first.
            let mut at = (1..FEW).fold(0, |least, at| if starts[at] < starts[least] { at } else { least });
            while next[at].is_none() {
                at = (at + 1) % FEW; // The last moment of all stands for none as well.
            }
            let (rank, timings) = &mut rest[at];
            let following = timings.next().map(|timing| (timing, self.place(*rank, &timing)));
            starts[at] = following.map_or(i64::MAX, |(_, place)| place.start);
            left -= usize::from(following.is_none());
            if let Some((timing, place)) = std::mem::replace(&mut next[at], following) {
                see(&timing, place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_or_touches_is_covered_once() {
        let mut found = Covered::default();
        let all = [(0, 10), (5, 20), (6, 7), (20, 25), (40, 41)];
        all.iter().for_each(|(start, end)| found.add(Interval::new(*start, *end, 0)));
        assert_eq!(found.length(), 26);
        assert_eq!(covered(all.iter().map(|(start, end)| Interval::new(*start, *end, 0)).collect()), 26);
    }

    proptest::proptest! {
        /// Of few streams and of many, which are merged in different ways.
        #[test]
        fn timings_come_in_the_order_in_which_they_began_those_of_the_first_stream_first(
            begins in proptest::collection::vec(proptest::collection::vec(0u64..40, 0..12), 1..14)
        ) {
            let mut columns = crate::columns::Columns::default();
            for (rank, begins) in begins.iter().enumerate() {
                let of_rank = |begin: &u64| samples::Sample { rank: rank as u32, start_ns: *begin, ..Default::default() };
                columns.push(&begins.iter().map(of_rank).collect::<Vec<_>>());
            }
            let streams = columns.into_streams();
            let timeline = Timeline::of(&Facts::default(), &[], &streams);
            let mut found = Vec::new();
            timeline.each_in_order(&streams, |timing, at| found.push((timing.start_ns, at.first)));
            let mut wanted: Vec<(u64, u32)> =
                begins.iter().zip(0..).flat_map(|(begins, rank)| begins.iter().map(move |at| (*at, rank))).collect();
            wanted.sort();
            proptest::prop_assert_eq!(found, wanted);
        }
    }
}
