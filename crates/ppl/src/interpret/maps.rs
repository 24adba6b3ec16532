//! Blocks that are used once each: fio's random map, for accesses of several sizes.

use std::collections::HashMap;

use super::random::RandomSequence;

/// The most blocks of a map: a bit for each is kept.
const MOST: i64 = 1 << 33;

/// The maps of a rank, by the integer that a program names them by.
#[derive(Debug, Default)]
pub(super) struct BlockMaps(HashMap<i64, BlockMap>);

impl BlockMaps {
    /// A free block of the map: one that is drawn, or where that is used the next one. A map that is full begins again.
    ///
    /// # Errors
    /// No number of blocks that a map can have.
    pub(super) fn free(&mut self, key: i64, blocks: i64, random: &mut RandomSequence) -> Result<i64, String> {
        let map = self.of(key, blocks)?;
        if map.free == 0 {
            *map = BlockMap::new(map.blocks);
        }
        let drawn = random.below(map.blocks);
        Ok(map.next_free(drawn) as i64)
    }

    /// Uses blocks from `first` on, up to `count` of them, and ends at one that is used; how many those are.
    ///
    /// # Errors
    /// As [`BlockMaps::free`]; a block that the map does not have.
    pub(super) fn take(&mut self, key: i64, blocks: i64, (first, count): (i64, i64)) -> Result<i64, String> {
        let map = self.of(key, blocks)?;
        match u64::try_from(first) {
            Ok(first) if first < map.blocks => Ok(map.take(first, count.max(0) as u64) as i64),
            _ => Err(format!("a map of {blocks} blocks has no block {first}")),
        }
    }

    fn of(&mut self, key: i64, blocks: i64) -> Result<&mut BlockMap, String> {
        if !(1..=MOST).contains(&blocks) {
            return Err(format!("a map has 1 to 2^33 blocks, not {blocks}"));
        }
        let blocks = blocks as u64;
        let map = self.0.entry(key).or_insert_with(|| BlockMap::new(blocks));
        if map.blocks != blocks {
            *map = BlockMap::new(blocks);
        }
        Ok(map)
    }
}

/// Which blocks are used.
#[derive(Debug)]
struct BlockMap {
    blocks: u64,
    free: u64,
    /// A bit for each block.
    used: Vec<u64>,
    /// A bit for each word of `used` that has no free block.
    full: Vec<u64>,
}

impl BlockMap {
    fn new(blocks: u64) -> Self {
        let words = blocks.div_ceil(64) as usize;
        let mut map = Self { blocks, free: blocks, used: vec![0; words], full: vec![0; words.div_ceil(64)] };
        // What lies beyond the last block is never free.
        if !blocks.is_multiple_of(64) {
            map.used[words - 1] = u64::MAX << (blocks % 64);
        }
        if !words.is_multiple_of(64) {
            let last = map.full.len() - 1;
            map.full[last] = u64::MAX << (words % 64);
        }
        map
    }

    /// The first free block from `at` on, or from the beginning; there is one.
    fn next_free(&self, at: u64) -> u64 {
        let (word, bit) = ((at / 64) as usize, at % 64);
        let rest = !self.used[word] & (u64::MAX << bit);
        if rest != 0 {
            return word as u64 * 64 + u64::from(rest.trailing_zeros());
        }
        let word = self.word_with_free(word + 1).or_else(|| self.word_with_free(0)).unwrap_or(0);
        word as u64 * 64 + u64::from((!self.used[word]).trailing_zeros())
    }

    /// The first word from `at` on that has a free block.
    fn word_with_free(&self, at: usize) -> Option<usize> {
        let first = at / 64;
        let words = self.full.get(first..)?.iter().enumerate();
        let mut open = words.map(|(offset, full)| {
            let masked = if offset == 0 { !full & (u64::MAX << (at % 64)) } else { !full };
            (first + offset, masked)
        });
        open.find(|(_, open)| *open != 0).map(|(group, open)| group * 64 + open.trailing_zeros() as usize)
    }

    fn take(&mut self, first: u64, count: u64) -> u64 {
        let end = first.saturating_add(count).min(self.blocks);
        let mut at = first;
        while at < end {
            let (word, bit) = ((at / 64) as usize, 1_u64 << (at % 64));
            if self.used[word] & bit != 0 {
                break;
            }
            self.used[word] |= bit;
            if self.used[word] == u64::MAX {
                self.full[word / 64] |= 1 << (word % 64);
            }
            at += 1;
        }
        self.free -= at - first;
        at - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_used_once_a_pass() {
        for blocks in [1, 2, 63, 64, 65, 100, 4096, 4097, 5000, 64 * 64 * 2 + 1] {
            let mut maps = BlockMaps::default();
            let mut random = RandomSequence::new(blocks as u64, 0);
            for pass in 1..=2 {
                let mut seen = vec![0; blocks as usize];
                while seen.contains(&0) {
                    let first = maps.free(7, blocks, &mut random).expect("a free block");
                    let wanted = 1 + random.below(5) as i64;
                    let taken = maps.take(7, blocks, (first, wanted)).expect("blocks");
                    assert!(taken >= 1 && taken <= wanted, "{blocks}");
                    let end = first + taken;
                    assert!(taken == wanted || end == blocks || seen[end as usize] == 1, "{blocks}: {first}");
                    (first..end).for_each(|block| seen[block as usize] += 1);
                }
                assert!(seen.iter().all(|times| *times == 1), "{blocks} {pass}");
            }
        }
    }

    #[test]
    fn a_map_has_a_number_of_blocks() {
        let mut maps = BlockMaps::default();
        let mut random = RandomSequence::new(1, 0);
        assert!(maps.free(1, 0, &mut random).is_err() && maps.free(1, MOST + 1, &mut random).is_err());
        assert!(maps.take(1, 4, (4, 1)).is_err() && maps.take(1, 4, (-1, 1)).is_err());
        // Another number of blocks is another map.
        assert_eq!(maps.take(1, 4, (0, 4)), Ok(4));
        assert_eq!(maps.take(1, 5, (0, 9)), Ok(5));
        assert_eq!(maps.take(1, 5, (0, 1)), Ok(0));
    }
}
