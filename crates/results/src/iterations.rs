//! The passes of a block, each for itself, as benchmarks with iterations print them.

use serde::Serialize;

use crate::passes::{Amount, Passes};
use crate::timeline::Interval;

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

impl Iterations {
    /// Of the passes of a row that so many ranks took part in; `None` of fewer than two complete ones.
    pub(crate) fn of(passes: &Passes, ranks: usize) -> Option<Iterations> {
        if passes.count() < 2 {
            return None;
        }
        let is_complete = |amount: &Amount| amount.ranks as usize == ranks;
        let incomplete = passes.numbered().filter(|(_, amount)| !is_complete(amount)).count();
        let timed = || {
            let complete = passes.numbered().filter(|(_, amount)| is_complete(amount));
            let seconds = |around: Interval| around.length() as f64 * 1e-12;
            complete
                .map(move |(around, amount)| (seconds(around), *amount))
                .filter(|(seconds, _)| *seconds > 0.0)
        };
        let count = timed().count();
        if count < 2 {
            return None;
        }
        Some(Iterations {
            count,
            incomplete,
            operations_per_second: Spread::of(timed().map(|(s, one)| one.operations as f64 / s).collect())?,
            bytes_per_second: Spread::of(timed().map(|(s, one)| one.bytes as f64 / s).collect())?,
            seconds: Spread::of(timed().map(|(seconds, _)| seconds).collect())?,
        })
    }
}
