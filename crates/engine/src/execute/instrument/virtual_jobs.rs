//! Operations under way in virtual time: each has its own server, begins at once and takes its draw.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bracket::Bracket;
use super::layer::Layer;
use crate::driver::Driver;
use crate::execute::call::{Call, Completed, Patience, Started, Timed};
use crate::files::Refusal;

/// When each ends, and what comes of it.
#[derive(Default)]
pub(super) struct VirtualJobs {
    /// The next to end on top.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
    results: Vec<Timed>,
}

impl VirtualJobs {
    pub(super) fn begin(&mut self, depth: u32) {
        self.results = vec![Timed::default(); depth as usize];
    }

    pub(super) fn completed(&mut self, bracket: &mut Bracket, patience: Patience) -> Option<Completed> {
        let Reverse((end, number)) = *self.ends.peek()?;
        let now = bracket.now();
        let until = match patience {
            Patience::Look => now,
            Patience::Wait => end,
            Patience::Until(ticks) => ticks,
        };
        if end > until {
            bracket.rewind(now.max(until));
            return None;
        }
        bracket.rewind(now.max(end));
        self.ends.pop();
        Some(Completed { number, timed: self.results[number as usize], wrong: None })
    }
}

impl Layer {
    /// Does the operation now and lets it end later.
    pub(super) fn start_virtually(
        &mut self,
        driver: &mut dyn Driver,
        number: u32,
        call: Call<'_>,
    ) -> Result<Started, Refusal> {
        let begin = self.bracket.now();
        let timed = self.perform(driver, call)?;
        self.bracket.rewind(begin);
        self.virtual_jobs.results[number as usize] = timed;
        self.virtual_jobs.ends.push(Reverse((timed.end, number)));
        Ok(Started::UnderWay { begin })
    }
}
