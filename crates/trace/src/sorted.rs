//! Brings what is almost in order into order, a piece at a time: of a long trace only the calls that are out of place are held.

/// Items that are read at once.
const RUN: usize = 4096;

/// Numbers of calls in the order of their keys, and of these numbers where keys are equal.
pub struct InOrder<K, I> {
    source: I,
    /// For each run and all behind it the least item; none where the source is in order.
    least: Vec<(K, u32)>,
    /// Runs that were read.
    runs: usize,
    /// Items that come next, and how many of them were given.
    ready: Vec<(K, u32)>,
    given: usize,
    /// Items behind them.
    pending: Vec<(K, u32)>,
}

/// Orders what `source` gives, which is asked twice: keys with the numbers of calls.
pub fn in_order<K: Ord + Copy, I: Iterator<Item = (K, u32)>>(source: impl Fn() -> I) -> InOrder<K, I> {
    let mut least: Vec<(K, u32)> = Vec::new();
    let (mut sorted, mut before) = (true, None);
    for (at, item) in source().enumerate() {
        sorted &= before.is_none_or(|before| before <= item);
        before = Some(item);
        match least.last_mut().filter(|_| at % RUN != 0) {
            Some(least) => *least = item.min(*least),
            None => least.push(item),
        }
    }
    if sorted {
        least.clear();
    }
    for run in (1..least.len()).rev() {
        least[run - 1] = least[run - 1].min(least[run]);
    }
    InOrder { source: source(), least, runs: 0, ready: Vec::new(), given: 0, pending: Vec::new() }
}

impl<K: Ord + Copy, I: Iterator<Item = (K, u32)>> InOrder<K, I> {
    /// Reads on; as much as is held already, so that each item is sorted a few times at most.
    fn read(&mut self) {
        let runs = self.pending.len().div_ceil(RUN).max(1);
        self.pending.extend(self.source.by_ref().take(runs * RUN));
        self.runs += runs;
        if !self.pending.is_sorted() {
            self.pending.sort();
        }
        let first_behind = self.least.get(self.runs).copied();
        let ready = first_behind
            .map_or(self.pending.len(), |first| self.pending.partition_point(|item| *item < first));
        let rest = self.pending.split_off(ready);
        self.ready = std::mem::replace(&mut self.pending, rest);
        self.given = 0;
    }
}

impl<K: Ord + Copy, I: Iterator<Item = (K, u32)>> Iterator for InOrder<K, I> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.least.is_empty() {
            return self.source.next().map(|(_, at)| at);
        }
        while self.given == self.ready.len() {
            if self.runs >= self.least.len() {
                return None;
            }
            self.read();
        }
        self.given += 1;
        Some(self.ready[self.given - 1].1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn items_come_in_order(
            length in 0_u64..30_000, jitter in prop_oneof![Just(1_u64), Just(50), Just(9000), Just(1 << 40)], seed in any::<u64>()
        ) {
            let keys: Vec<u64> = (0..length)
                .map(|at| at + (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) % jitter)
                .collect();
            let mut expected: Vec<(u64, u32)> = keys.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let found = in_order(|| keys.iter().copied().zip(0..));
            prop_assert!(found.eq(expected.into_iter().map(|(_, at)| at)));
        }
    }
}
