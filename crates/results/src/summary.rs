//! Quantiles of values and their intervals together.

use crate::interval::{self, QuantileInterval};
use crate::quantiles::Quantiles;

/// Probabilities of the intervals, each from so many values on.
const PROBABILITIES: [(f64, usize); 5] = [(0.5, 1), (0.9, 10), (0.99, 100), (0.999, 1_000), (0.9999, 10_000)];

/// Quantiles of durations in seconds, in the order in which they began, and the intervals of those that the values
/// reach; nothing of none. Durations are taken to the picosecond.
pub fn of_durations(seconds: &[f64]) -> (Option<Quantiles>, Vec<QuantileInterval>) {
    quantiles(seconds.iter().map(|seconds| (seconds * 1e12).round() as u64), 1e-12)
}

/// Quantiles of some values in the order in which they began, and the intervals of those that the values reach.
pub(crate) fn quantiles(
    values: impl Iterator<Item = u64>,
    to_seconds: f64,
) -> (Option<Quantiles>, Vec<QuantileInterval>) {
    let in_order: Vec<u64> = values.collect();
    let mut sorted = in_order.clone();
    sorted.sort_unstable();
    let found = Quantiles::of_sorted(&sorted, to_seconds);
    let reached = PROBABILITIES.iter().filter(|(_, from)| sorted.len() >= *from);
    let intervals = reached.filter_map(|(p, _)| interval::of(&in_order, &sorted, *p, to_seconds)).collect();
    (found, intervals)
}
