//! The passes of the labelled block around a row: how long each was over ranks, and what was done in it.

use crate::columns::Timing;
use crate::timeline::{Interval, Pass, PassFinder, Timeline, covered};

/// What one pass came to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Amount {
    pub operations: u64,
    pub bytes: u64,
    pub ranks: u32,
}

/// The passes of a row over all ranks; the n-th of a rank belongs to the n-th of the others.
#[derive(Default)]
pub(crate) struct Passes {
    /// From the first begin to the last end, of the block where it has one; index 0 is what lies in no pass.
    around: Vec<Option<Interval>>,
    /// When the first rank was through.
    first_end: Vec<i64>,
    /// How long each takes at least, at the rate that its operations reached; 0 without one.
    least: Vec<i64>,
    amounts: Vec<Amount>,
}

/// The passes of one rank, whose timings come in time order.
pub(crate) struct OfRank<'a> {
    passes: &'a [Pass],
    /// A pass in which the row did nothing counts with its time: the rate is by the time of the block.
    found: Vec<Option<(Interval, Amount)>>,
}

impl<'a> OfRank<'a> {
    /// Of a rank with these passes, ascending.
    pub fn new(timeline: &Timeline, passes: &'a [Pass], rank: u32) -> OfRank<'a> {
        let mut found = vec![None];
        found
            .extend(passes.iter().map(|pass| Some((timeline.place_of_pass(rank, pass)?, Amount::default()))));
        OfRank { passes, found }
    }

    /// Takes the timings of a stream of the rank.
    pub fn add(&mut self, timings: impl Iterator<Item = (Timing, Interval)>) {
        let mut finder = PassFinder::new(self.passes);
        for (timing, place) in timings {
            let pass = finder.find(timing.start_ns);
            let operations = if timing.failed { 0 } else { timing.batch };
            if self.found.len() <= pass {
                self.found.resize(pass + 1, None);
            }
            let (around, amount) = self.found[pass].get_or_insert((place, Amount::default()));
            *around = around.joined(place);
            amount.operations += operations;
            amount.bytes += if timing.failed { 0 } else { timing.bytes };
            amount.ranks = 1;
        }
    }

    /// Wall time of the rank alone, in picoseconds.
    pub fn wall(&self) -> i64 {
        covered(self.found.iter().flatten().map(|(around, _)| *around).collect())
    }
}

impl Passes {
    /// Adds those of a further rank.
    pub fn add(&mut self, of_rank: OfRank<'_>) {
        if self.around.len() < of_rank.found.len() {
            self.around.resize(of_rank.found.len(), None);
            self.amounts.resize(of_rank.found.len(), Amount::default());
            self.first_end.resize(of_rank.found.len(), i64::MAX);
            self.least.resize(of_rank.found.len(), 0);
        }
        for (pass, found) in of_rank.found.into_iter().enumerate() {
            let Some((around, amount)) = found else { continue };
            let known = &mut self.around[pass];
            *known = Some(known.map_or(around, |known| known.joined(around)));
            self.first_end[pass] = self.first_end[pass].min(around.end());
            let sum = &mut self.amounts[pass];
            sum.operations += amount.operations;
            sum.bytes += amount.bytes;
            sum.ranks += amount.ranks;
        }
    }

    /// Says how long each pass takes at least on a rank.
    pub fn take_at_least(&mut self, by_pass: &[i64]) {
        self.least.iter_mut().zip(by_pass).for_each(|(least, own)| *least = (*least).max(*own));
    }

    /// How many operations of a rank a pass has on average, of passes that have any.
    pub fn operations_of_a_rank(&self) -> f64 {
        let (operations, ranks) = self
            .amounts
            .iter()
            .fold((0, 0), |sum, one| (sum.0 + one.operations, sum.1 + u64::from(one.ranks)));
        operations as f64 / ranks.max(1) as f64
    }

    /// From the first begin to the last end of each, and of what lies in none.
    pub fn intervals(&self) -> impl Iterator<Item = Interval> + '_ {
        self.around.iter().copied().flatten()
    }

    /// From the first begin to the last end of all.
    pub fn around(&self) -> Option<Interval> {
        self.intervals().reduce(Interval::joined)
    }

    /// Of each pass that so many ranks took part in, what lies in none as one: when it began, and when the first rank was
    /// through.
    pub fn walls(&self, ranks: usize) -> Vec<Option<(i64, i64)>> {
        let all = self.around.iter().zip(&self.first_end).zip(&self.amounts);
        all.map(|((around, first_end), amount)| {
            around.filter(|_| amount.ranks as usize == ranks).map(|around| (around.begin(), *first_end))
        })
        .collect()
    }

    /// How many there are in which something was done, with what lies in none as one.
    pub fn count(&self) -> usize {
        self.amounts.iter().filter(|amount| amount.ranks > 0).count()
    }

    /// The numbered ones in which something was done: from when to when, how long, and what.
    pub fn numbered(&self) -> impl Iterator<Item = (Interval, i64, &Amount)> {
        self.around
            .iter()
            .zip(&self.least)
            .zip(&self.amounts)
            .skip(1)
            .filter_map(|((around, least), amount)| {
                let around = (*around)?;
                Some((around, around.length().max(*least), amount))
            })
            .filter(|(.., amount)| amount.ranks > 0)
    }
}
