//! Counts pairs of places whose numbers fall, digit by digit: in time proportional to the number of places.
//!
//! Of two numbers that differ in their first digit, that digit tells which is larger; so a pass over all numbers counts
//! those pairs by the number of earlier ones with a larger first digit. The numbers with the same first digit stand
//! together afterwards, and the pairs among them are counted by the next digit.

use lanes::{Arithmetic, LaneWork, widest};

/// A digit has so many bits, and its halves half of them.
const BITS: u32 = 2 * HALF_BITS;
const HALF_BITS: u32 = 5;
const HALF: usize = 1 << HALF_BITS;
/// So few numbers are compared with each other.
const FEW: usize = 24;

/// The number of pairs of which the earlier number is larger.
pub(super) fn inversions(mut numbers: Vec<u32>) -> u64 {
    let most = numbers.iter().copied().max().unwrap_or(0);
    let mut other = vec![0; numbers.len()];
    count(&mut numbers, &mut other, u32::BITS - most.leading_zeros())
}

/// Pairs of numbers that differ in their last `bits` only.
fn count(numbers: &mut [u32], other: &mut [u32], bits: u32) -> u64 {
    if numbers.len() <= FEW {
        let falling =
            |(at, number): (usize, &u32)| numbers[at + 1..].iter().filter(|later| **later < *number).count();
        return numbers.iter().enumerate().map(falling).sum::<usize>() as u64;
    }
    if bits == 0 {
        return 0;
    }
    let rest = bits.saturating_sub(BITS);
    let mut here = widest(LargerBefore { numbers, shift: rest });
    if rest == 0 {
        return here;
    }
    // A stable sort by the digit.
    let digit = |number: u32| (number >> rest) as usize % (HALF * HALF);
    let mut next = vec![0u32; HALF * HALF];
    numbers.iter().for_each(|number| next[digit(*number)] += 1);
    let mut before = 0;
    for slot in &mut next {
        before += std::mem::replace(slot, before);
    }
    for number in &*numbers {
        let slot = &mut next[digit(*number)];
        other[*slot as usize] = *number;
        *slot += 1;
    }
    let mut from = 0;
    for end in next {
        let part = from..end as usize;
        here += count(&mut other[part.clone()], &mut numbers[part], rest);
        from = end as usize;
    }
    here
}

/// For all numbers together, how many earlier ones have a larger digit, which is what lies above `shift`.
struct LargerBefore<'a> {
    numbers: &'a [u32],
    shift: u32,
}

impl LaneWork for LargerBefore<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> u64 {
        // Of each first half: how many earlier digits have a larger one; of each digit: how many have the same first half
        // and a larger second.
        let mut larger = [0u32; HALF];
        let mut within = [[0u32; HALF]; HALF];
        let mut found = 0;
        for number in self.numbers {
            let digit = number >> self.shift;
            let (first, second) = (digit >> HALF_BITS & (HALF as u32 - 1), digit & (HALF as u32 - 1));
            let same = &mut within[first as usize];
            found += u64::from(larger[first as usize]) + u64::from(same[second as usize]);
            for (half, slot) in (0..).zip(&mut larger) {
                *slot += u32::from(half < first);
            }
            for (half, slot) in (0..).zip(same) {
                *slot += u32::from(half < second);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn inversions_are_those_of_all_pairs_for_any_size_and_ties() {
        let mut random = Xoshiro::new(6);
        let sizes = [0, 1, 2, FEW, FEW + 1, 400, 1023, 1024, 1025, 3000];
        for (n, bound) in sizes
            .into_iter()
            .flat_map(|n| [1, 2, 30, 1024, 1025, 1 << 20, (1 << 20) + 1, 1 << 32].map(|b| (n, b)))
        {
            let numbers: Vec<u32> = (0..n).map(|_| random.below(bound) as u32).collect();
            let plain: usize =
                (0..n).map(|i| numbers[i + 1..].iter().filter(|later| **later < numbers[i]).count()).sum();
            assert_eq!(inversions(numbers), plain as u64, "{n} below {bound}");
        }
        assert_eq!(inversions((0..70_000).rev().collect()), 70_000 * 69_999 / 2);
        assert_eq!(inversions((0..70_000).collect()), 0);
    }
}
