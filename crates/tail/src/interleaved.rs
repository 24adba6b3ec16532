//! Decides between two arms that were run interleaved: blocks A B B A or B A A B, looked at a few times while they grow.
//!
//! The order of each block is tossed, so that drift, a step or a period cannot look like a difference. A block's value
//! is the mean logarithm of B's two runs less that of A's. The answer is the exponential of the Hodges-Lehmann estimate
//! of the blocks' values, with the exact signed-rank interval (Wilcoxon 1945; Hodges and Lehmann 1963); with ties the
//! distribution is that of the tied ranks. Looks share 5% evenly (Pocock 1977): [`LOOK_LEVEL`] at each of [`LOOKS`].
//!
//! ```
//! use tail::interleaved::{Decision, look};
//!
//! let slower = [0.101, 0.093, 0.107, 0.099, 0.110, 0.088, 0.104, 0.096];
//! let found = look(&slower, 0.01)?;
//! assert_eq!(found.decision, Decision::Slower);
//! assert!((found.ratio - 1.105).abs() < 0.002);
//! # Ok::<(), tail::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::{Error, Interval, Xoshiro};

/// Numbers of blocks after which the values are looked at.
pub const LOOKS: [usize; 6] = [8, 12, 16, 24, 32, 48];

/// The level of the test at each look: 5% in all (Pocock's constant for six looks).
pub const LOOK_LEVEL: f64 = 0.0142;

/// The order of the four runs of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum BlockOrder {
    /// A B B A.
    Abba,
    /// B A A B.
    Baab,
}

impl BlockOrder {
    /// The toss of the coin of `seed` for a block, counted from 0.
    pub fn toss(seed: u64, block: u64) -> Self {
        if Xoshiro::stream(seed, block).next_u64() >> 63 == 0 { BlockOrder::Abba } else { BlockOrder::Baab }
    }

    /// For each of the four runs whether it is B's.
    pub fn is_b(self) -> [bool; 4] {
        match self {
            BlockOrder::Abba => [false, true, true, false],
            BlockOrder::Baab => [true, false, false, true],
        }
    }

    /// The value of a block: the mean logarithm of B less that of A. `values` are in the order in which they were
    /// measured, and above 0.
    pub fn difference(self, values: [f64; 4]) -> f64 {
        let signed =
            values.iter().zip(self.is_b()).map(|(value, b)| if b { value.ln() } else { -value.ln() });
        signed.sum::<f64>() / 2.0
    }
}

/// What the blocks come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The interval lies within the margin of 1: the same for every practical purpose.
    Same,
    /// B's values are larger.
    Slower,
    /// B's values are smaller.
    Faster,
    /// These blocks do not tell.
    Open,
}

/// What a look at the blocks found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Blocks so far.
    pub blocks: usize,
    /// By what factor B's values are larger than A's.
    pub ratio: f64,
    /// The interval of that factor, of coverage 1 - [`LOOK_LEVEL`].
    pub interval: Interval,
    /// Two-sided p-value of no difference.
    pub p: f64,
    /// What it comes to.
    pub decision: Decision,
}

/// Looks at the values of all blocks so far ([`BlockOrder::difference`]). `margin` is by how much the factor may differ
/// from 1 and still be the same: 0.01 for 1%.
///
/// # Errors
/// Fewer than 8 blocks, which cannot decide anything at this level; a value that is not finite.
pub fn look(differences: &[f64], margin: f64) -> Result<Look, Error> {
    let infinite = differences.iter().filter(|value| value.is_infinite()).count();
    let nan = differences.iter().filter(|value| value.is_nan()).count();
    if let Some(first) = differences.iter().position(|value| !value.is_finite()) {
        return Err(Error::NotFinite { nan, infinite, first: first + 1 });
    }
    let needed = LOOKS[0];
    if differences.len() < needed {
        return Err(Error::TooFew { found: differences.len(), needed });
    }
    let walsh = walsh_averages(differences);
    let ranks: Vec<usize> = (1..=differences.len()).map(|rank| 2 * rank).collect();
    let left_out = below(&distribution(&ranks), LOOK_LEVEL / 2.0) / 2;
    let last = walsh.len() - 1;
    let ratio = median(&walsh).exp();
    let (lower, upper) = (walsh[left_out].exp(), walsh[last - left_out].exp());
    let interval = Interval::new(lower, upper, 1.0 - LOOK_LEVEL);
    let p = p_value(differences);
    let decision = if lower >= 1.0 / (1.0 + margin) && upper <= 1.0 + margin {
        Decision::Same
    } else if p >= LOOK_LEVEL {
        Decision::Open
    } else if ratio > 1.0 {
        Decision::Slower
    } else {
        Decision::Faster
    };
    Ok(Look { blocks: differences.len(), ratio, interval, p, decision })
}

/// Means of all pairs, each value with itself too, ascending.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let pairs =
        values.iter().enumerate().flat_map(|(at, a)| values[..=at].iter().map(move |b| (a + b) / 2.0));
    let mut all: Vec<f64> = pairs.collect();
    all.sort_by(f64::total_cmp);
    all
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The probability of each sum of a random half of `doubled_ranks`, which are twice the ranks so that those of ties are
/// whole.
fn distribution(doubled_ranks: &[usize]) -> Vec<f64> {
    let mut probability = vec![1.0];
    for rank in doubled_ranks {
        let mut next = vec![0.0; probability.len() + rank];
        for (sum, share) in probability.iter().enumerate() {
            next[sum] += share / 2.0;
            next[sum + rank] += share / 2.0;
        }
        probability = next;
    }
    probability
}

/// The largest sum that, with all below, has at most this probability; 0 where none has.
fn below(probability: &[f64], level: f64) -> usize {
    let mut total = 0.0;
    let over = probability.iter().position(|share| {
        total += share;
        total > level
    });
    // Sums between possible ones have no probability of their own.
    over.map_or(0, |over| over.saturating_sub(1))
}

/// Two-sided p-value of the signed-rank test. Values of 0 say nothing and are left out.
fn p_value(values: &[f64]) -> f64 {
    let mut by_size: Vec<f64> = values.iter().copied().filter(|value| *value != 0.0).collect();
    by_size.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (mut ranks, mut positive) = (Vec::new(), 0);
    for group in by_size.chunk_by(|a, b| a.abs() == b.abs()) {
        // Twice the mean of the ranks that the group has.
        let doubled = 2 * ranks.len() + group.len() + 1;
        ranks.extend(std::iter::repeat_n(doubled, group.len()));
        positive += doubled * group.iter().filter(|value| **value > 0.0).count();
    }
    let probability = distribution(&ranks);
    let at_most: f64 = probability[..=positive].iter().sum();
    let at_least: f64 = probability[positive..].iter().sum();
    (2.0 * at_most.min(at_least)).min(1.0)
}
