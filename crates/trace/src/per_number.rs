//! A number for each open file, or anything else that is counted: what a trace numbers without gaps takes few bytes each.

use crate::maps::HashMap;
use crate::packed::NumberTable;

/// Numbers by the number of a file, 0 of those without one.
#[derive(Clone, Debug, Default)]
pub struct PerNumber {
    near: NumberTable,
    /// Those of numbers that a damaged trace, or one that numbers with gaps, has.
    far: HashMap<u32, u64>,
    limit: u32,
}

impl PerNumber {
    /// For a trace of so many calls.
    pub fn of_calls(calls: usize) -> Self {
        let limit = u32::try_from(calls).unwrap_or(u32::MAX).saturating_add(1024);
        Self { limit, ..Self::default() }
    }

    /// The number of a file.
    pub fn get(&self, file: u32) -> u64 {
        match file < self.limit {
            true => self.near.get(file as usize),
            false => self.far.get(&file).copied().unwrap_or(0),
        }
    }

    /// Sets the number of a file.
    pub fn set(&mut self, file: u32, value: u64) {
        match file < self.limit {
            true => self.near.set(file as usize, value),
            false => drop(self.far.insert(file, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_has_one() {
        let mut all = PerNumber::of_calls(10);
        for (file, value) in [(3, 7), (1033, u64::MAX), (u32::MAX - 1, 9), (3, 8)] {
            all.set(file, value);
            assert_eq!(all.get(file), value);
        }
        assert_eq!((all.get(2), all.get(5000), all.get(3)), (0, 0, 8));
    }
}
