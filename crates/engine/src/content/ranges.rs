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
}
