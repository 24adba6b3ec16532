//! The passes of the labelled block around a row: how long each was over ranks, and what was done in it.

use crate::columns::Timing;
use crate::timeline::{Interval, covered};

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
    /// From the first begin to the last end; index 0 is what lies in no pass.
    around: Vec<Option<Interval>>,
    /// When the first rank was through.
    first_end: Vec<i64>,
    amounts: Vec<Amount>,
}

/// The passes of one rank, whose timings come in time order.
pub(crate) struct OfRank<'a> {
    begins: &'a [u64],
    found: Vec<Option<(Interval, Amount)>>,
}

impl<'a> OfRank<'a> {
    /// Of a rank that began passes at these moments, ascending.
    pub fn new(begins: &'a [u64]) -> OfRank<'a> {
        OfRank { begins, found: Vec::new() }
    }

    /// Takes the timings of a stream of the rank.
    pub fn add(&mut self, timings: impl Iterator<Item = (Timing, Interval)>) {
        let mut pass = 0;
        for (timing, place) in timings {
            while self.begins.get(pass).is_some_and(|begin| *begin <= timing.start_ns) {
                pass += 1;
            }
            let operations = if timing.failed { 0 } else { timing.batch };
            let done = Amount { operations, bytes: timing.bytes, ranks: 1 };
            if self.found.len() <= pass {
                self.found.resize(pass + 1, None);
            }
            match &mut self.found[pass] {
                Some((around, amount)) => {
                    *around = around.joined(place);
                    amount.operations += done.operations;
                    amount.bytes += done.bytes;
                }
                none => *none = Some((place, done)),
            }
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

    /// How many there are, with what lies in none as one.
    pub fn count(&self) -> usize {
        self.intervals().count()
    }

    /// The numbered ones: how long, and what was done.
    pub fn numbered(&self) -> impl Iterator<Item = (Interval, &Amount)> {
        self.around
            .iter()
            .zip(&self.amounts)
            .skip(1)
            .filter_map(|(around, amount)| Some(((*around)?, amount)))
    }
}
