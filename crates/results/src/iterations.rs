//! The passes of a block, each for itself, as benchmarks with iterations print them.

use std::collections::{BTreeMap, BTreeSet};

use samples::Sample;
use serde::Serialize;

use crate::timeline::{Interval, Pass};
use crate::timing::batch;

/// The passes of the labelled block around a row that every rank reached. Total work by total time, as the row has it,
/// is the harmonic mean of their rates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Iterations {
    /// How many.
    pub count: usize,
    /// Passes that some rank did not reach, left out here.
    pub incomplete: usize,
    /// Of the operations a second of each.
    pub operations_per_second: Spread,
    /// Of the bytes a second of each.
    pub bytes_per_second: Spread,
    /// Of the time of each, from the first begin to the last end, in seconds.
    pub seconds: Spread,
}

/// Some numbers in short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The value of rank ⌈n/2⌉.
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// Standard deviation, of n - 1.
    pub sd: f64,
}

impl Spread {
    /// Of some numbers, none of which is NaN; `None` of none.
    pub fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Some(Spread { min, mean, median: values[n.div_ceil(2) - 1], max, sd })
    }
}

/// The work and time of one pass.
#[derive(Default)]
struct Amount {
    operations: u64,
    bytes: u64,
    ranks: BTreeSet<u32>,
}

impl Iterations {
    /// Of samples and the passes that they lie in; `None` of fewer than two complete ones.
    pub(crate) fn of(
        samples: &[&Sample],
        passes: &[Pass],
        lengths: &BTreeMap<Pass, Interval>,
        ranks: usize,
    ) -> Option<Iterations> {
        if lengths.len() < 2 {
            return None;
        }
        let mut amounts: BTreeMap<Pass, Amount> = BTreeMap::new();
        for (sample, pass) in samples.iter().zip(passes).filter(|(_, pass)| pass.is_some()) {
            let amount = amounts.entry(*pass).or_default();
            amount.operations += if sample.failed() { 0 } else { batch(sample) };
            amount.bytes += sample.bytes;
            amount.ranks.insert(sample.rank);
        }
        let (complete, others): (Vec<_>, Vec<_>) =
            amounts.into_iter().partition(|(_, amount)| amount.ranks.len() == ranks);
        let timed: Vec<(f64, Amount)> = complete
            .into_iter()
            .map(|(pass, amount)| (lengths[&pass].length() as f64 * 1e-12, amount))
            .filter(|(seconds, _)| *seconds > 0.0)
            .collect();
        if timed.len() < 2 {
            return None;
        }
        let spread = |of: &dyn Fn(&(f64, Amount)) -> f64| Spread::of(timed.iter().map(of).collect());
        Some(Iterations {
            count: timed.len(),
            incomplete: others.len(),
            operations_per_second: spread(&|(seconds, amount)| amount.operations as f64 / seconds)?,
            bytes_per_second: spread(&|(seconds, amount)| amount.bytes as f64 / seconds)?,
            seconds: spread(&|(seconds, _)| *seconds)?,
        })
    }
}
