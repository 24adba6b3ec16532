//! Numbers that come in almost any order, packed when all of a block are there.

use super::block::{BLOCK, PackedBlock};

/// Numbers that come in almost any order, each once: a block is packed when all of its numbers are there.
#[derive(Clone, Debug, Default)]
pub struct Scattered {
    blocks: Vec<ScatteredBlock>,
}

#[derive(Clone, Debug)]
enum ScatteredBlock {
    Empty,
    /// Its numbers, and how many are missing.
    Open(Box<[u64]>, usize),
    Full(PackedBlock),
}

impl Scattered {
    /// So many numbers, which are 0 until they come.
    pub fn zeros(count: usize) -> Self {
        Self { blocks: vec![ScatteredBlock::Empty; count.div_ceil(BLOCK)] }
    }

    /// The number at `at`, 0 behind the last.
    pub fn get(&self, at: usize) -> u64 {
        match self.blocks.get(at / BLOCK) {
            Some(ScatteredBlock::Open(values, _)) => values[at % BLOCK],
            Some(ScatteredBlock::Full(block)) => block.get(at % BLOCK),
            Some(ScatteredBlock::Empty) | None => 0,
        }
    }

    /// Puts a number to its place, where none was put before.
    pub fn put(&mut self, at: usize, value: u64) {
        let Some(slot) = self.blocks.get_mut(at / BLOCK) else { return };
        if matches!(slot, ScatteredBlock::Empty) {
            *slot = ScatteredBlock::Open(vec![0; BLOCK].into(), BLOCK);
        }
        if let ScatteredBlock::Open(values, missing) = slot {
            values[at % BLOCK] = value;
            *missing -= 1;
            if *missing == 0 {
                *slot = ScatteredBlock::Full(PackedBlock::of(values));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn scattered_numbers_are_found(count in 0_usize..BLOCK * 3, step in any::<u64>(), shift in 0_u32..64) {
            let mut all = Scattered::zeros(count);
            let place = |at: usize| (at + step as usize % (count + 1)) % count;
            let value = |at: usize| (at as u64).wrapping_mul(step) >> shift;
            for at in 0..count {
                prop_assert_eq!(all.get(place(at)), 0);
                all.put(place(at), value(at));
            }
            prop_assert!((0..count).all(|at| all.get(place(at)) == value(at)));
        }
    }
}
