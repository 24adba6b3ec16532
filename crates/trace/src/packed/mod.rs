//! Long sequences of whole numbers in few bits: times, sizes, offsets and numbers of calls lie close together, repeat, or grow
//! evenly.
//!
//! Numbers are kept in blocks. A block is a line `base + step * i` with what each number lies above it, in units that all of
//! these share and as few bits as the largest needs; or where only few numbers occur, a list of them and the place of each in
//! it. Numbers that are all the same take no memory.

mod block;
mod scattered;
mod table;

use block::PackedBlock;

pub use block::BLOCK;
pub use scattered::Scattered;
pub use table::NumberTable;

/// A sequence of numbers.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    length: usize,
    /// All numbers, where there is no more.
    same: u64,
    more: Option<Box<More>>,
}

/// The numbers of a sequence whose numbers are not all the same.
#[derive(Clone, Debug, Default)]
struct More {
    blocks: Vec<PackedBlock>,
    /// The numbers behind the last block, fewer than one holds.
    tail: Vec<u64>,
    /// A block that is being changed, by its number.
    open: Option<Box<(usize, Vec<u64>)>>,
}

impl Packed {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The number of which all are one, if there is any.
    pub fn constant(&self) -> Option<u64> {
        match self.length {
            0 => None,
            _ if self.more.is_none() => Some(self.same),
            _ => self.iter().all(|value| value == self.same).then_some(self.same),
        }
    }

    /// Adds a number.
    #[inline]
    pub fn push(&mut self, value: u64) {
        match &mut self.more {
            Some(more) => {
                self.length += 1;
                more.tail.push(value);
                if more.tail.len() == BLOCK {
                    more.pack();
                }
            }
            None if self.length > 0 && value == self.same => self.length += 1,
            None => self.push_some(value, 1),
        }
    }

    /// Adds a number, so many times.
    pub fn push_some(&mut self, value: u64, times: usize) {
        if self.length == 0 {
            self.same = value;
        }
        if times == 0 {
            return;
        }
        let length = self.length;
        self.length += times;
        match &mut self.more {
            None if value == self.same => {}
            None => {
                let mut more = Box::<More>::default();
                more.push(self.same, length);
                more.push(value, times);
                self.more = Some(more);
            }
            Some(more) => more.push(value, times),
        }
    }

    /// Adds the numbers of another sequence.
    pub fn append(&mut self, other: &Self) {
        match &other.more {
            None => self.push_some(other.same, other.length),
            Some(_) => other.iter().for_each(|value| self.push(value)),
        }
    }

    /// The number at `at`, which is below [`Packed::len`].
    pub fn get(&self, at: usize) -> u64 {
        assert!(at < self.length, "number {at} of {}", self.length);
        match &self.more {
            None => self.same,
            Some(more) => more.get(at),
        }
    }

    /// The number at `at` becomes another one. Quick where those beside it were changed before.
    pub fn set(&mut self, at: usize, value: u64) {
        if self.get(at) == value {
            return;
        }
        if self.length == 1 && self.more.is_none() {
            self.same = value;
            return;
        }
        let (same, length) = (self.same, self.length);
        self.more
            .get_or_insert_with(|| {
                let mut more = Box::<More>::default();
                more.push(same, length);
                more
            })
            .set(at, value);
    }

    /// All numbers, in order.
    pub fn iter(&self) -> PackedIter<'_> {
        self.range(0, self.length)
    }

    /// The numbers from place `from` to before `to`.
    pub fn range(&self, from: usize, to: usize) -> PackedIter<'_> {
        let to = to.min(self.length);
        PackedIter { of: self, at: from.min(to), to, block: Vec::new(), of_block: usize::MAX }
    }

    /// Writes the numbers of a block, `number * BLOCK` and following, to `out`.
    pub fn block(&self, number: usize, out: &mut Vec<u64>) {
        out.resize(self.length.saturating_sub(number * BLOCK).min(BLOCK), 0);
        self.each_of_block(number, out.iter_mut(), |out, value| *out = value);
    }

    /// Puts the numbers of a block to as many `places`.
    #[inline]
    pub fn each_of_block<P>(&self, number: usize, mut places: impl Iterator<Item = P>, put: impl Fn(P, u64)) {
        let mut next = |value| {
            if let Some(place) = places.next() {
                put(place, value);
            }
        };
        match &self.more {
            None => places.for_each(|place| put(place, self.same)),
            Some(more) => match (more.open.as_deref(), more.blocks.get(number)) {
                (Some((open, values)), _) if *open == number => values.iter().copied().for_each(next),
                (_, Some(block)) => block.each(next),
                (_, None) => more.tail.iter().copied().for_each(&mut next),
            },
        }
    }

    /// The number of which all of a block are one, where it is known without a look at them.
    pub fn constant_of(&self, number: usize) -> Option<u64> {
        let Some(more) = &self.more else { return Some(self.same) };
        let constant = more.blocks.get(number)?.is_constant()?;
        more.open.as_deref().is_none_or(|(open, _)| *open != number).then_some(constant)
    }

    /// How many numbers at the beginning are as `is` says; those behind them are not.
    pub fn partition_point(&self, is: impl Fn(u64) -> bool) -> usize {
        self.partition_point_behind(0, is)
    }

    /// The same, where those before `from` are so anyway.
    pub fn partition_point_behind(&self, from: usize, is: impl Fn(u64) -> bool) -> usize {
        let (mut low, mut high) = (from, self.length);
        while low < high {
            let middle = low + (high - low) / 2;
            match is(self.get(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// Bytes on the heap, about.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        let Some(more) = &self.more else { return 0 };
        let of = |block: &PackedBlock| size_of::<PackedBlock>() + block.bytes();
        size_of::<More>() + more.blocks.iter().map(of).sum::<usize>() + more.tail.len() * 8
    }
}

impl PartialEq for Packed {
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.iter().eq(other.iter())
    }
}

impl Eq for Packed {}

impl std::hash::Hash for Packed {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_usize(self.length);
        self.iter().for_each(|value| state.write_u64(value));
    }
}

impl FromIterator<u64> for Packed {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut out = Self::default();
        values.into_iter().for_each(|value| out.push(value));
        out
    }
}

/// The numbers of a sequence, a block at a time.
#[derive(Clone, Debug)]
pub struct PackedIter<'a> {
    of: &'a Packed,
    at: usize,
    to: usize,
    block: Vec<u64>,
    of_block: usize,
}

impl Iterator for PackedIter<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.at == self.to {
            return None;
        }
        let at = self.at;
        self.at += 1;
        if self.of.more.is_none() {
            return Some(self.of.same);
        }
        if self.of_block != at / BLOCK {
            self.of_block = at / BLOCK;
            self.of.block(self.of_block, &mut self.block);
        }
        self.block.get(at % BLOCK).copied()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.to - self.at, Some(self.to - self.at))
    }
}

impl ExactSizeIterator for PackedIter<'_> {}

impl More {
    fn push(&mut self, value: u64, mut times: usize) {
        while times > 0 {
            if self.tail.is_empty() && times >= BLOCK {
                self.blocks.push(PackedBlock::constant(value));
                times -= BLOCK;
                continue;
            }
            let some = times.min(BLOCK - self.tail.len());
            self.tail.resize(self.tail.len() + some, value);
            times -= some;
            if self.tail.len() == BLOCK {
                self.pack();
            }
        }
    }

    /// Packs the tail, which is as long as a block.
    fn pack(&mut self) {
        self.blocks.push(PackedBlock::of(&self.tail));
        self.tail.clear();
    }

    fn get(&self, at: usize) -> u64 {
        let number = at / BLOCK;
        match (self.open.as_deref(), self.blocks.get(number)) {
            (Some((open, values)), _) if *open == number => values[at % BLOCK],
            (_, Some(block)) => block.get(at % BLOCK),
            (_, None) => self.tail[at % BLOCK],
        }
    }

    fn set(&mut self, at: usize, value: u64) {
        let number = at / BLOCK;
        let Some(block) = self.blocks.get(number) else {
            self.tail[at % BLOCK] = value;
            return;
        };
        if self.open.as_deref().is_none_or(|(open, _)| *open != number) {
            let mut values = Vec::with_capacity(BLOCK);
            block.each(|value| values.push(value));
            if let Some(before) = self.open.replace(Box::new((number, values))) {
                self.blocks[before.0] = PackedBlock::of(&before.1);
            }
        }
        if let Some((_, values)) = self.open.as_deref_mut() {
            values[at % BLOCK] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sequences of the kinds that traces have, longer than some blocks.
    fn kinds() -> impl Strategy<Value = Vec<u64>> {
        let length = 0_usize..BLOCK * 3 + 7;
        let mixed = prop::collection::vec(any::<u64>(), 0..BLOCK + 9);
        let few = (prop::collection::vec(any::<u64>(), 1..200), length.clone(), any::<u64>()).prop_map(
            |(of, length, step)| {
                (0..length).map(|at| of[at.wrapping_mul(step as usize | 1) % of.len()]).collect()
            },
        );
        let even = (any::<u64>(), any::<u64>(), length.clone(), 0_u64..5000, 1_u64..2000).prop_map(
            |(from, step, length, jitter, scale)| {
                let line = |at: u64| from.wrapping_add(at.wrapping_mul(step >> 40));
                let above = |at: u64| at.wrapping_mul(0x9e37_79b9) % (jitter + 1) * scale;
                (0..length as u64).map(|at| line(at).wrapping_add(above(at))).collect()
            },
        );
        let narrow = (any::<u64>(), 0_u32..64, prop::collection::vec(any::<u64>(), 0..BLOCK * 2 + 3))
            .prop_map(|(base, shift, all)| {
                all.into_iter().map(|one| base.wrapping_add(one >> shift)).collect()
            });
        prop_oneof![mixed, few, even, narrow]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn numbers_come_back(values in kinds(), changes in prop::collection::vec((any::<u64>(), any::<u64>()), 0..9)) {
            let mut packed: Packed = values.iter().copied().collect();
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), values.clone());
            prop_assert!(values.iter().enumerate().all(|(at, value)| packed.get(at) == *value));
            let mut values = values;
            for (at, value) in changes {
                if values.is_empty() {
                    break;
                }
                let at = at as usize % values.len();
                packed.set(at, value);
                values[at] = value;
            }
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), values.clone());
            let mut twice = packed.clone();
            twice.append(&packed);
            prop_assert!(twice.iter().eq(values.iter().chain(&values).copied()));
            let half = values.len() / 2;
            prop_assert!(packed.range(half, values.len()).eq(values[half..].iter().copied()));
        }
    }

    #[test]
    fn numbers_of_traces_take_few_bits() {
        let a_number = |values: Vec<u64>| {
            let length = values.len();
            values.into_iter().collect::<Packed>().bytes() as f64 / length as f64
        };
        let constant = vec![7; 100_000];
        assert_eq!(a_number(constant), 0.0);
        let counted: Vec<u64> = (0..100_000).collect();
        assert!(a_number(counted) < 0.2);
        let times: Vec<u64> =
            (0..100_000_u64).map(|at| 1_700_000_000_000_000_000 + at * 20_000 + at * at % 7 * 1000).collect();
        let bytes = a_number(times);
        assert!(bytes < 0.7, "{bytes}");
        let offsets: Vec<u64> = (0..100_000).map(|at| at % 50 * 4096).collect();
        assert!(a_number(offsets) < 1.3);
        // Numbers without any order take as many bits as they have, and a few for their block.
        let mixed: Vec<u64> = (0..100_000_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        assert!(a_number(mixed) < 8.2);
    }
}
