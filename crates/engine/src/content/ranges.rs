//! Which parts of a file this rank wrote.

use std::collections::BTreeMap;

/// More parts are not kept: then nothing is known any more, and nothing claimed.
const MOST: usize = 1 << 16;

/// Parts of a file; neighbours are one part.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// End by begin.
    parts: BTreeMap<u64, u64>,
    overflown: bool,
}

impl Ranges {
    /// Adds the bytes from `begin` to `end`.
    pub fn add(&mut self, mut begin: u64, mut end: u64) {
        if begin >= end || self.overflown {
            return;
        }
        while let Some((&from, &to)) = self.parts.range(..=end).next_back().filter(|(_, to)| **to >= begin) {
            (begin, end) = (begin.min(from), end.max(to));
            self.parts.remove(&from);
        }
        self.parts.insert(begin, end);
        if self.parts.len() > MOST {
            self.overflown = true;
            self.parts.clear();
        }
    }

    /// Takes the bytes from `begin` to `end` out.
    pub fn remove(&mut self, begin: u64, end: u64) {
        if begin >= end {
            return;
        }
        while let Some((&from, &to)) = self.parts.range(..end).next_back().filter(|(_, to)| **to > begin) {
            self.parts.remove(&from);
            if from < begin {
                self.parts.insert(from, begin);
            }
            if to > end {
                self.parts.insert(end, to);
            }
        }
    }

    /// What lies between `begin` and `end` in none of the parts, each with its end; nothing where too many were added.
    pub fn gaps(&self, begin: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        if self.overflown {
            return gaps;
        }
        let mut at = begin;
        let before = self.parts.range(..begin).next_back();
        for (&from, &to) in before.into_iter().chain(self.parts.range(begin..)) {
            if from >= end {
                break;
            }
            if from > at {
                gaps.push((at, from));
            }
            at = at.max(to);
        }
        if at < end {
            gaps.push((at, end));
        }
        gaps
    }

    /// What lies between `begin` and `end` in the parts, each with its end.
    pub fn within(&self, begin: u64, end: u64) -> Vec<(u64, u64)> {
        let before = self.parts.range(..begin).next_back();
        let parts = before.into_iter().chain(self.parts.range(begin..)).take_while(|(from, _)| **from < end);
        parts.map(|(from, to)| (begin.max(*from), end.min(*to))).filter(|(from, to)| from < to).collect()
    }

    /// Is this byte in one of the parts?
    pub fn has(&self, at: u64) -> bool {
        self.parts.range(..=at).next_back().is_some_and(|(_, end)| at < *end)
    }

    /// Forgets all parts.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_join_and_gaps_stay() {
        let mut ranges = Ranges::default();
        for (begin, end) in [(10, 20), (30, 40), (20, 25), (5, 6), (24, 31), (7, 7)] {
            ranges.add(begin, end);
        }
        let inside: Vec<u64> = (0..50).filter(|at| ranges.has(*at)).collect();
        assert_eq!(inside, (5..6).chain(10..40).collect::<Vec<_>>());
        assert_eq!(ranges.parts.len(), 2);
    }

    #[test]
    fn what_lies_within_is_what_is_no_gap() {
        let mut ranges = Ranges::default();
        [(10, 20), (30, 40), (50, 60)].into_iter().for_each(|(begin, end)| ranges.add(begin, end));
        assert_eq!(ranges.within(0, 100), [(10, 20), (30, 40), (50, 60)]);
        assert_eq!(ranges.within(15, 35), [(15, 20), (30, 35)]);
        assert_eq!(ranges.within(20, 30), []);
        assert_eq!(ranges.within(12, 13), [(12, 13)]);
    }

    #[test]
    fn what_is_taken_out_is_a_gap() {
        let mut ranges = Ranges::default();
        ranges.add(10, 40);
        ranges.add(50, 60);
        for (begin, end) in [(15, 20), (30, 52), (0, 11), (59, 70), (25, 25)] {
            ranges.remove(begin, end);
        }
        let inside: Vec<u64> = (0..80).filter(|at| ranges.has(*at)).collect();
        assert_eq!(inside, (11..15).chain(20..30).chain(52..59).collect::<Vec<_>>());
        assert_eq!(ranges.gaps(0, 80), [(0, 11), (15, 20), (30, 52), (59, 80)]);
        assert_eq!(ranges.gaps(12, 25), [(15, 20)]);
        assert_eq!(ranges.gaps(21, 30), []);
        assert_eq!(Ranges::default().gaps(5, 9), [(5, 9)]);
        let many = 2 * u64::try_from(MOST).unwrap_or(0);
        (0..many).for_each(|at| ranges.add(at * 3, at * 3 + 1));
        assert_eq!(ranges.gaps(0, 80), []);
    }
}
