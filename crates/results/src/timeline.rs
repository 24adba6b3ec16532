//! Samples on the common clock of the ranks, and the passes of the blocks around them.

use std::collections::{BTreeMap, HashMap};

use samples::{CommonClock, Run, Sample, SiteKind};

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
    /// rank, or none.
    pub fn place(
        &self,
        labels: &[String],
        kind: SiteKind,
        samples: &[&Sample],
    ) -> (Vec<Interval>, Vec<Option<usize>>) {
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
                .and_then(|begins| begins.partition_point(|begin| *begin <= sample.start_ns).checked_sub(1));
            (Interval { start, end, first: sample.rank, last: sample.rank }, pass)
        };
        samples.iter().map(place).unzip()
    }

    /// The wall time of a row in picoseconds, and how far it is uncertain in nanoseconds: passes of the block around
    /// it last from the first begin to the last end over ranks, and pauses between them do not count.
    pub fn wall(&self, intervals: &[Interval], passes: &[Option<usize>]) -> (i64, u64) {
        let mut of_pass: BTreeMap<Option<usize>, Interval> = BTreeMap::new();
        for (interval, pass) in intervals.iter().zip(passes) {
            of_pass.entry(*pass).and_modify(|known| *known = known.joined(*interval)).or_insert(*interval);
        }
        let pieces = union(of_pass.into_values().collect());
        let uncertain = |piece: &Interval| {
            let of = |rank| self.clock.uncertainty_ns(rank);
            if piece.first == piece.last { 0 } else { of(piece.first) + of(piece.last) }
        };
        (pieces.iter().map(Interval::length).sum(), pieces.iter().map(uncertain).sum())
    }
}
