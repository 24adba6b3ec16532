//! Models how open files are accessed: offsets at random and sizes become distributions, which programs draw from.
//!
//! Sequential and strided accesses stay as they are, since loops say them exactly. Offsets are random if fewer than 5% of
//! the transfers follow the one before, they are multiples of a block, and the correlation of successive offsets (of their
//! ranks) is below 0.2. A model never reads what may not be there: only files are modelled of which nothing
//! is ever read beyond the length that they had before their first transfer.

use std::collections::BTreeMap;

use crate::before::Before;
use crate::flags::O_TRUNC;
use crate::maps::{HashMap, HashSet};
use crate::model::column::{BYTES, ERRNO, FILE, FLAGS, OFFSET, OP, PATH};
use crate::model::{COPY, Call, CallReader, NONE, Op, Trace, UNKNOWN};
use crate::packed::Packed;

/// Fewer transfers than these are kept as they are.
const LEAST: usize = 20;

/// At most so many sizes stand in a distribution.
const MOST_SIZES: usize = 20;

/// What stands in place of the numbers of a transfer; expressions of the language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Drawn {
    /// The size.
    pub size: Option<String>,
    /// The offset.
    pub offset: Option<String>,
}

/// The models of a trace.
#[derive(Clone, Debug, Default)]
pub struct Models {
    /// All of them, each once.
    pub all: Vec<Drawn>,
    of: HashMap<(u32, Op), u32>,
}

/// The transfers of one file in one direction: offset and bytes, in the order of their beginning.
type Accesses = Vec<(u64, u64)>;

impl Models {
    /// The number of the model of a file's reads or writes.
    pub fn of(&self, file: u32, op: Op) -> Option<u32> {
        self.of.get(&(file, op)).copied()
    }

    /// Models the calls `kept`, which are in the order of their beginning.
    pub fn find(trace: &Trace, kept: &Packed, before: &Before) -> Self {
        let mut files: BTreeMap<(u32, Op), Accesses> = BTreeMap::new();
        let mut lengths = Lengths::default();
        let mut reader = CallReader::of(&[OP, ERRNO, FLAGS, FILE, PATH, BYTES, OFFSET]);
        for call in kept.iter().map(|at| reader.get(&trace.calls, at as u32)) {
            if call.errno != 0 || call.file == NONE {
                continue;
            }
            let known = || before.files.get(trace.names.get(call.path)).map_or(0, |(size, _)| *size);
            lengths.follow(&call, known);
            if matches!(call.op, Op::Read | Op::Write) && call.flags & COPY == 0 {
                files.entry((call.file, call.op)).or_default().push((call.offset, call.bytes));
            }
        }
        let mut models = Self::default();
        let mut numbers: HashMap<Drawn, u32> = HashMap::default();
        for ((file, op), transfers) in files {
            if transfers.len() < LEAST || !lengths.stay(file) {
                continue;
            }
            let drawn = drawn(&transfers, op);
            if drawn == Drawn::default() {
                continue;
            }
            let next = models.all.len() as u32;
            let number = *numbers.entry(drawn.clone()).or_insert_with(|| {
                models.all.push(drawn);
                next
            });
            models.of.insert((file, op), number);
        }
        models
    }
}

/// How long files are while the calls are walked, by name.
#[derive(Default)]
struct Lengths {
    now: HashMap<u32, u64>,
    /// How far it is read.
    read: HashMap<u32, u64>,
    /// Names of files that became shorter.
    cut: HashSet<u32>,
    /// Name and length of open files at their first transfer.
    first: HashMap<u32, (u32, u64)>,
}

impl Lengths {
    fn follow(&mut self, call: &Call, known: impl Fn() -> u64) {
        let now = self.now.entry(call.path).or_insert_with(known);
        let end = match call.offset {
            UNKNOWN => now.saturating_add(call.bytes),
            offset => offset.saturating_add(call.bytes),
        };
        if matches!(call.op, Op::Read | Op::Write) {
            self.first.entry(call.file).or_insert((call.path, *now));
        }
        match call.op {
            Op::Read => {
                let read = self.read.entry(call.path).or_default();
                *read = (*read).max(end);
            }
            Op::Write => *now = (*now).max(end),
            Op::Truncate | Op::Open => {
                let to = match call.op {
                    Op::Truncate => call.bytes,
                    _ if call.flags & O_TRUNC != 0 => 0,
                    _ => return,
                };
                if to < *now {
                    self.cut.insert(call.path);
                }
                *now = to;
            }
            _ => {}
        }
    }

    /// Whether all that is ever read of the file was there before its first transfer, however it is written then.
    fn stay(&self, file: u32) -> bool {
        let Some((name, length)) = self.first.get(&file) else { return false };
        !self.cut.contains(name) && self.read.get(name).is_none_or(|read| read <= length)
    }
}

fn drawn(transfers: &Accesses, op: Op) -> Drawn {
    let placed = transfers.iter().all(|(offset, bytes)| *offset < 1 << 62 && *bytes < 1 << 62);
    let offset = if placed { offsets(transfers) } else { None };
    let largest = transfers.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let sizes = sizes(transfers);
    // A read of another size could meet the end of the file, and so could one of a drawn offset and size.
    let is_read = op == Op::Read;
    let keeps_size = is_read && offset.is_none();
    let size = if keeps_size { None } else { sizes };
    let offset = offset.map(|random| random.text(if is_read { largest } else { 0 }, transfers));
    Drawn { size, offset }
}

/// Offsets at random: `base + k * block`, k below `blocks`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Random {
    base: u64,
    block: u64,
    blocks: u64,
    /// The exponent of Zipf's distribution, where few blocks have many of the transfers.
    skew: Option<f64>,
}

impl Random {
    /// As an expression; what is drawn ends where the transfers did, with a size of up to `largest`.
    fn text(&self, largest: u64, transfers: &Accesses) -> String {
        let end = transfers.iter().map(|(offset, bytes)| offset + bytes).max().unwrap_or(0);
        let last = end.saturating_sub(largest).saturating_sub(self.base) / self.block;
        let blocks = if largest == 0 { self.blocks } else { self.blocks.min(last + 1) };
        let base = if self.base == 0 { String::new() } else { format!("{} + ", self.base) };
        match self.skew {
            Some(skew) => format!("{base}zipf({blocks}, {skew:.1}) * {}", self.block),
            None => format!("{base}uniform(0, {blocks}) * {}", self.block),
        }
    }
}

/// The distribution of offsets at random; `None` where they are not.
fn offsets(transfers: &Accesses) -> Option<Random> {
    let follows = transfers.windows(2).filter(|pair| pair[0].0 + pair[0].1 == pair[1].0).count();
    if follows * 20 > transfers.len() {
        return None;
    }
    let places: Vec<u64> = transfers.iter().map(|(offset, _)| *offset).collect();
    let base = *places.iter().min()?;
    let block = places.iter().fold(0, |all, offset| gcd(all, offset - base));
    let steps: HashSet<i64> =
        places.windows(2).map(|pair| pair[1].cast_signed() - pair[0].cast_signed()).collect();
    // A few steps that come again and again are a stride.
    if block == 0 || steps.len() * 4 < places.len() || serial_correlation(&places).abs() > 0.2 {
        return None;
    }
    let blocks = (places.iter().max()? - base) / block + 1;
    Some(Random { base, block, blocks, skew: skew(&places, blocks) })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Correlation of the ranks of successive values (Wald and Wolfowitz 1943).
fn serial_correlation(values: &[u64]) -> f64 {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|at| values[*at]);
    let mut ranks = vec![0.0; values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = rank as f64;
    }
    let mean = (values.len() - 1) as f64 / 2.0;
    let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    let joint: f64 = ranks.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if spread == 0.0 { 1.0 } else { joint / spread }
}

/// The exponent of Zipf's distribution that gives the most used hundredth of the blocks its share of the transfers; `None` where that
/// share is below a tenth.
fn skew(places: &[u64], blocks: u64) -> Option<f64> {
    let hottest = usize::try_from(blocks / 100).ok().filter(|count| (1..=1 << 16).contains(count))?;
    let mut counts: HashMap<u64, usize> = HashMap::default();
    for place in places {
        *counts.entry(*place).or_default() += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    let most = counts.iter().take(hottest).sum::<usize>();
    let share = most as f64 / places.len() as f64;
    // Of few transfers the most used blocks are those that chance hit: each block must have been met again.
    if share < 0.1 || most < 3 * hottest {
        return None;
    }
    let weight = |count: u64, skew: f64| -> f64 {
        (1..=count.min(1 << 20)).map(|rank| (rank as f64).powf(-skew)).sum()
    };
    (1..=30)
        .map(|tenth| f64::from(tenth) / 10.0)
        .find(|skew| weight(hottest as u64, *skew) / weight(blocks, *skew) >= share)
}

/// The distribution of sizes; `None` where all are equal.
fn sizes(transfers: &Accesses) -> Option<String> {
    let mut sorted: Vec<u64> = transfers.iter().map(|(_, bytes)| *bytes).collect();
    sorted.sort_unstable();
    if sorted.first() == sorted.last() {
        return None;
    }
    let parts = MOST_SIZES.min(sorted.len());
    let mut items = Vec::with_capacity(parts);
    for part in 0..parts {
        let group = &sorted[part * sorted.len() / parts..(part + 1) * sorted.len() / parts];
        let mean = group.iter().sum::<u64>() / group.len() as u64;
        items.push(if mean == 0 { 1 } else { mean });
    }
    let items: Vec<String> = items.iter().map(u64::to_string).collect();
    Some(format!("empirical([{}])", items.join(", ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A number that looks random (the finaliser of SplitMix64).
    fn mixed(at: u64) -> u64 {
        let at = (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = (at ^ (at >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        at ^ (at >> 27)
    }

    /// Blocks in an order that looks random.
    fn scattered(count: u64, block: u64) -> Accesses {
        (0..count).map(|at| (mixed(at) % 1009 * block, block)).collect()
    }

    /// Base and number of blocks of `base + uniform(0, blocks) * block`.
    fn numbers(text: &str) -> (u64, u64) {
        let (base, distribution) = text.split_once("uniform(0, ").unwrap();
        let base = base.trim_end_matches(" + ").parse().unwrap_or(0);
        (base, distribution.split(')').next().unwrap().parse().unwrap())
    }

    #[test]
    fn random_offsets_are_told_from_sequential_and_strided_ones() {
        let random = offsets(&scattered(400, 4096)).unwrap();
        assert_eq!((random.block, random.skew), (4096, None));
        assert!((990..=1009).contains(&random.blocks), "{}", random.blocks);
        let sequential: Accesses = (0..400).map(|at| (at * 4096, 4096)).collect();
        assert_eq!(offsets(&sequential), None);
        let strided: Accesses = (0..400).map(|at| (at * 65_536, 4096)).collect();
        assert_eq!(offsets(&strided), None);
        let nested: Accesses = (0..400).map(|at| (at % 20 * 65_536 + at / 20 * 4096, 4096)).collect();
        assert_eq!(offsets(&nested), None);
    }

    #[test]
    fn few_blocks_with_many_transfers_follow_the_distribution_of_zipf() {
        let mut all = scattered(600, 4096);
        for (at, one) in (1000..).zip(&mut all) {
            if mixed(at).is_multiple_of(3) {
                one.0 = mixed(at + 1000) % 5 * 200 * 4096;
            }
        }
        let skew = offsets(&all).unwrap().skew.unwrap();
        assert!((0.5..1.5).contains(&skew), "{skew}");
    }

    #[test]
    fn a_modelled_read_ends_where_the_recorded_ones_did() {
        let mut all = scattered(400, 4096);
        all[7].1 = 12_288;
        let made = drawn(&all, Op::Read);
        let end = all.iter().map(|(offset, bytes)| offset + bytes).max().unwrap();
        let (base, blocks) = numbers(&made.offset.unwrap());
        assert!(base + (blocks - 1) * 4096 + 12_288 <= end);
        assert!(made.size.unwrap().starts_with("empirical(["));
    }

    proptest! {
        #[test]
        fn any_transfers_have_a_model_or_none(
            all in prop::collection::vec((0_u64..1 << 40, 0_u64..1 << 20), 20..80)
        ) {
            for op in [Op::Read, Op::Write] {
                let _ = drawn(&all, op);
            }
        }
    }
}
