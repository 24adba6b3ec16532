//! Samples on the common clock of the ranks, and the passes of the blocks around them.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;

use samples::{CommonClock, Run, Sample, SiteKind};

/// The n-th pass of the block around a sample on its rank, from 1; none where no labelled block is around it.
pub(crate) type Pass = Option<NonZeroU32>;

/// One operation on the common clock, in picoseconds: 64 bits hold 106 days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    start: i64,
    end: i64,
    /// The ranks whose clocks say when it began and ended.
    first: u32,
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
    pub fn around(all: &[Interval]) -> Option<Interval> {
        all.iter().copied().reduce(Interval::joined)
    }

    fn joined(self, other: Interval) -> Interval {
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

/// When each rank began each pass of each block, by its own clock.
pub(crate) struct Timeline<'a> {
    clock: CommonClock,
    /// By labels, then by rank, ascending.
    begins: HashMap<&'a [String], BTreeMap<u32, Vec<u64>>>,
}

impl<'a> Timeline<'a> {
    pub fn of(run: &'a Run) -> Self {
        let mut begins: HashMap<&[String], BTreeMap<u32, Vec<u64>>> = HashMap::new();
        for sample in &run.samples {
            let Some(site) = run.sites.get(sample.site as usize) else { continue };
            match site.kind {
                SiteKind::Operation | SiteKind::Barrier => {}
                SiteKind::Time | SiteKind::CommandTime | SiteKind::Phase => {
                    let of_rank = begins.entry(site.labels.as_slice()).or_default();
                    of_rank.entry(sample.rank).or_default().push(sample.start_ns);
                }
            }
        }
        begins.values_mut().flat_map(BTreeMap::values_mut).for_each(|begins| begins.sort_unstable());
        Timeline { clock: CommonClock::of(&run.facts), begins }
    }

    /// Where samples of one row lie, and in which pass of the innermost labelled block around them: the n-th of their
    /// rank, from 1, or none.
    pub fn place(
        &self,
        labels: &[String],
        kind: SiteKind,
        samples: &[&Sample],
    ) -> (Vec<Interval>, Vec<Pass>) {
        let around = match kind {
            SiteKind::Operation | SiteKind::Barrier => labels,
            // The last label of a block is its own.
            SiteKind::Time | SiteKind::CommandTime | SiteKind::Phase => {
                labels.split_last().map_or(labels, |(_, outer)| outer)
            }
        };
        let begins = if around.is_empty() { None } else { self.begins.get(around) };
        let place = |sample: &&Sample| {
            let start = self.clock.common_ns(sample.rank, sample.start_ns).saturating_mul(1_000);
            let end = start.saturating_add_unsigned(sample.duration_ps);
            let pass = begins
                .and_then(|begins| begins.get(&sample.rank))
                .map(|begins| begins.partition_point(|begin| *begin <= sample.start_ns));
            (Interval::new(start, end, sample.rank), NonZeroU32::new(pass.unwrap_or(0) as u32))
        };
        samples.iter().map(place).unzip()
    }

    /// When a sample began on the common clock, in nanoseconds.
    pub fn begin_ns(&self, sample: &Sample) -> i64 {
        self.clock.common_ns(sample.rank, sample.start_ns)
    }

    /// How far the moments of some ranks are uncertain at most, in picoseconds.
    pub fn uncertainty_ps(&self, ranks: &[u32]) -> i64 {
        let most = ranks.iter().map(|rank| self.clock.uncertainty_ns(*rank)).max().unwrap_or(0);
        i64::try_from(most).unwrap_or(i64::MAX).saturating_mul(1_000)
    }

    /// The passes of a row in their order, each from the first begin to the last end over ranks.
    pub fn passes(intervals: &[Interval], passes: &[Pass]) -> BTreeMap<Pass, Interval> {
        let mut found: BTreeMap<Pass, Interval> = BTreeMap::new();
        for (interval, pass) in intervals.iter().zip(passes) {
            found.entry(*pass).and_modify(|known| *known = known.joined(*interval)).or_insert(*interval);
        }
        found
    }

    /// The wall time of a row in picoseconds, and how far it is uncertain in nanoseconds: passes of the block around
    /// it last from the first begin to the last end over ranks, and pauses between them do not count.
    pub fn wall(&self, passes: impl IntoIterator<Item = Interval>) -> (i64, u64) {
        let pieces = union(passes.into_iter().collect());
        let uncertain = |piece: &Interval| {
            let of = |rank| self.clock.uncertainty_ns(rank);
            if piece.first == piece.last { 0 } else { of(piece.first) + of(piece.last) }
        };
        (pieces.iter().map(Interval::length).sum(), pieces.iter().map(uncertain).sum())
    }
}
