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

/// Whether most passes begin before the one before them ended: their ranks do not wait for each other, and what lies between the
/// first begin and the last end of a pass is no time of its own.
fn do_not_meet(mut passes: Vec<Interval>) -> bool {
    passes.sort_unstable_by_key(|pass| pass.begin());
    let overlap = passes.windows(2).filter(|pair| pair[1].begin() < pair[0].end()).count();
    2 * overlap > passes.len()
}

impl Iterations {
    /// Of the passes of a row that so many ranks took part in; `None` of fewer than two complete ones.
    pub(crate) fn of(passes: &Passes, ranks: usize) -> Option<Iterations> {
        if passes.count() < 2 {
            return None;
        }
        let is_complete = |amount: &Amount| amount.ranks as usize == ranks;
        let incomplete = passes.numbered().filter(|(.., amount)| !is_complete(amount)).count();
        let timed = || {
            let complete = passes.numbered().filter(|(.., amount)| is_complete(amount));
            complete
                .map(move |(_, length, amount)| (length as f64 * 1e-12, *amount))
                .filter(|(seconds, _)| *seconds > 0.0)
        };
        let count = timed().count();
        if count < 2 || do_not_meet(passes.numbered().map(|(around, ..)| around).collect()) {
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

#[cfg(test)]
mod tests {
    /// A row of two ranks, of passes that begin `apart_ns` apart on the two and take 1 ms on each.
    fn has_passes(apart_ns: u64) -> bool {
        let mut run = samples::example::parallel_write(2, 60, 3);
        let sites: Vec<bool> =
            run.sites.iter().map(|site| site.labels.iter().any(|label| label == "write")).collect();
        run.samples.retain(|sample| sites[sample.site as usize]);
        let mut seen = [[0u64; 64]; 2];
        for sample in &mut run.samples {
            let at = &mut seen[sample.rank as usize][sample.site as usize];
            sample.start_ns = 1_000_000 * *at + u64::from(sample.rank) * apart_ns;
            sample.duration_ps = 900_000_000;
            *at += 1;
        }
        let rows = crate::of_run(&run);
        rows.iter().find(|row| row.operation == "fwrite").unwrap().iterations.is_some()
    }

    #[test]
    fn passes_of_ranks_that_do_not_meet_are_none() {
        assert!(has_passes(0));
        // Rank 1 is three passes behind: each pass of both begins before the one before it ended.
        assert!(!has_passes(3_000_000));
    }
}
