//! Operations under way in virtual time: each has its own server, begins at once and takes its draw.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bracket::Bracket;
use crate::execute::call::{Completed, Patience, Timed};

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

    pub(super) fn started(&mut self, number: u32, timed: Timed) {
        self.results[number as usize] = timed;
        self.ends.push(Reverse((timed.end, number)));
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
