//! Numbers at any place, in one to eight bytes each.

/// Numbers at any place, in as few bytes each as the largest so far needs.
#[derive(Clone, Debug)]
pub enum NumberTable {
    /// Of one byte.
    One(Vec<u8>),
    /// Of two.
    Two(Vec<u16>),
    /// Of four.
    Four(Vec<u32>),
    /// Of eight.
    Eight(Vec<u64>),
}

impl Default for NumberTable {
    fn default() -> Self {
        Self::One(Vec::new())
    }
}

impl NumberTable {
    /// So many zeros.
    pub fn zeros(count: usize) -> Self {
        Self::One(vec![0; count])
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        match self {
            Self::One(all) => all.len(),
            Self::Two(all) => all.len(),
            Self::Four(all) => all.len(),
            Self::Eight(all) => all.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number at `at`, 0 behind the last.
    pub fn get(&self, at: usize) -> u64 {
        match self {
            Self::One(all) => all.get(at).map_or(0, |value| u64::from(*value)),
            Self::Two(all) => all.get(at).map_or(0, |value| u64::from(*value)),
            Self::Four(all) => all.get(at).map_or(0, |value| u64::from(*value)),
            Self::Eight(all) => all.get(at).copied().unwrap_or(0),
        }
    }

    /// The number at `at` becomes another one; numbers up to it that were not there become 0.
    pub fn set(&mut self, at: usize, value: u64) {
        while value > self.most() {
            self.widen();
        }
        if at >= self.len() {
            match self {
                Self::One(all) => all.resize(at + 1, 0),
                Self::Two(all) => all.resize(at + 1, 0),
                Self::Four(all) => all.resize(at + 1, 0),
                Self::Eight(all) => all.resize(at + 1, 0),
            }
        }
        match self {
            Self::One(all) => all[at] = value as u8,
            Self::Two(all) => all[at] = value as u16,
            Self::Four(all) => all[at] = value as u32,
            Self::Eight(all) => all[at] = value,
        }
    }

    fn most(&self) -> u64 {
        match self {
            Self::One(_) => u64::from(u8::MAX),
            Self::Two(_) => u64::from(u16::MAX),
            Self::Four(_) => u64::from(u32::MAX),
            Self::Eight(_) => u64::MAX,
        }
    }

    fn widen(&mut self) {
        *self = match self {
            Self::One(all) => Self::Two(all.iter().map(|value| u16::from(*value)).collect()),
            Self::Two(all) => Self::Four(all.iter().map(|value| u32::from(*value)).collect()),
            Self::Four(all) => Self::Eight(all.iter().map(|value| u64::from(*value)).collect()),
            Self::Eight(all) => Self::Eight(std::mem::take(all)),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_table_holds_what_was_put_there(puts in prop::collection::vec((0_usize..50, 0_u32..64), 0..60)) {
            let mut table = NumberTable::zeros(3);
            let mut expected = vec![0_u64; 50];
            for (at, shift) in puts {
                table.set(at, u64::MAX >> shift);
                expected[at] = u64::MAX >> shift;
            }
            prop_assert!((0..50).all(|at| table.get(at) == expected[at]));
        }
    }
}
