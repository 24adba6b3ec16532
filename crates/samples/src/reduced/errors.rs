//! Failures by errno, of which the smallest numbers are kept.

use std::collections::BTreeMap;

/// Numbers that are kept apart.
pub(super) const MOST_ERRNOS: usize = 16;

/// How many operations failed, by errno: the sixteen smallest numbers, and all others together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// By errno.
    pub(super) known: BTreeMap<i32, u64>,
    /// Failures with other numbers.
    pub(super) others: u64,
}

impl ErrorCounts {
    /// Errnos that are kept apart, ascending, with the number of failures.
    pub fn known(&self) -> impl Iterator<Item = (i32, u64)> {
        self.known.iter().map(|(errno, count)| (*errno, *count))
    }

    /// Failures with other errnos: "and n more".
    pub fn others(&self) -> u64 {
        self.others
    }

    /// All failures.
    pub fn count(&self) -> u64 {
        self.known.values().fold(self.others, |sum, count| sum.saturating_add(*count))
    }

    pub(super) fn add(&mut self, errno: i32, count: u64) {
        let known = self.known.entry(errno).or_default();
        *known = known.saturating_add(count);
        while self.known.len() > MOST_ERRNOS {
            let Some((_, count)) = self.known.pop_last() else { break };
            self.others = self.others.saturating_add(count);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other.known.iter().for_each(|(errno, count)| self.add(*errno, *count));
        self.others = self.others.saturating_add(other.others);
    }
}
