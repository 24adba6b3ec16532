//! Logarithms of values of which only a histogram is left: in each of its cells they lie evenly.

use super::Estimate;
use crate::Interval;
use crate::special::normal_quantile;

/// Parts of a bucket, by whose middles sums over its values are made.
const PARTS: u32 = 16;
/// Halvings of an interval in which a ratio lies: beyond the digits of a double.
const HALVINGS: u32 = 60;

/// Values from `low` to `high`, so many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Least value.
    pub low: f64,
    /// Largest.
    pub high: f64,
    /// How many.
    pub count: u64,
}

/// Cells of a histogram, ascending.
pub(super) struct Cells {
    cells: Vec<EvenCell>,
    /// Middles of parts of all cells, with the share of the values in each.
    points: Vec<(f64, f64)>,
}

struct EvenCell {
    low: f64,
    high: f64,
    share: f64,
}

impl Cells {
    /// Of ascending buckets of positive values.
    pub fn of(buckets: &[Bucket]) -> Cells {
        let all = buckets.iter().map(|bucket| bucket.count as f64).sum::<f64>();
        let cell = |bucket: &Bucket| EvenCell {
            low: bucket.low.ln(),
            high: bucket.high.ln(),
            share: bucket.count as f64 / all,
        };
        let cells: Vec<EvenCell> = buckets.iter().map(cell).collect();
        let parts = |cell: &EvenCell| {
            let (low, width, share) = (cell.low, cell.high - cell.low, cell.share / f64::from(PARTS));
            (0..PARTS).map(move |part| (low + width * (f64::from(part) + 0.5) / f64::from(PARTS), share))
        };
        let points = cells.iter().flat_map(parts).collect();
        Cells { cells, points }
    }

    /// For each point of `at`, moved by `shift`: the share of these values that is not above it, and the share of the point.
    fn shares<'a>(&'a self, at: &'a Cells, shift: f64) -> impl Iterator<Item = (f64, f64)> + 'a {
        let (mut next, mut below) = (0, 0.0);
        at.points.iter().map(move |(value, weight)| {
            let value = value + shift;
            while let Some(cell) = self.cells.get(next).filter(|cell| cell.high <= value) {
                below += cell.share;
                next += 1;
            }
            let inside = self.cells.get(next).filter(|cell| cell.low < value);
            let part = inside.map_or(0.0, |cell| cell.share * (value - cell.low) / (cell.high - cell.low));
            (below + part, *weight)
        })
    }

    /// The share of pairs whose difference, of the other sample less this one, is at most `difference`.
    fn pairs_to(&self, other: &Cells, difference: f64) -> f64 {
        other.shares(self, difference).map(|(share, weight)| share * weight).sum()
    }

    /// The difference that a share of all pairs does not exceed.
    fn difference_at(&self, other: &Cells, share: f64) -> f64 {
        let ends = |cells: &Cells| {
            let (first, last) = (cells.cells.first(), cells.cells.last());
            [first.map_or(0.0, |cell| cell.low), last.map_or(0.0, |cell| cell.high)]
        };
        let ([own_low, own_high], [low, high]) = (ends(self), ends(other));
        let (mut low, mut high) = (low - own_high, high - own_low);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if self.pairs_to(other, middle) < share { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    /// The variance, over the values of `at` plus `shift`, of the share of these that is at most such a value.
    fn variance_of_shares(&self, at: &Cells, shift: f64) -> f64 {
        let add = |(sum, squares): (f64, f64), (share, weight): (f64, f64)| {
            (sum + weight * share, squares + weight * share * share)
        };
        let (mean, squares) = self.shares(at, shift).fold((0.0, 0.0), add);
        (squares - mean * mean).max(0.0)
    }

    /// The ratio over all pairs, `other` by this, as [`super::large::Large::hodges_lehmann`] has it of values.
    pub fn ratio_of_pairs(&self, other: &Cells, effective: [f64; 2], level: f64) -> Estimate {
        let estimate = self.difference_at(other, 0.5);
        let variance = other.variance_of_shares(self, estimate) / effective[0]
            + self.variance_of_shares(other, -estimate) / effective[1];
        let half = normal_quantile(0.5 + 0.5 * level) * variance.sqrt();
        let at = |share: f64| self.difference_at(other, share.clamp(0.0, 1.0)).exp();
        Estimate { value: estimate.exp(), interval: Interval::new(at(0.5 - half), at(0.5 + half), level) }
    }

    /// The difference of means and that of variances, `other` less this, as [`super::large::Large`] has them of values.
    pub fn moments_beside(&self, other: &Cells, effective: [f64; 2], level: f64) -> [Estimate; 2] {
        let [x, y] = [self.moments(), other.moments()];
        let z = normal_quantile(0.5 + 0.5 * level);
        let estimate = |value: f64, error: f64| Estimate {
            value,
            interval: Interval::new(value - z * error, value + z * error, level),
        };
        let square = |[_, variance, fourth]: [f64; 3], worth: f64| (fourth - variance * variance) / worth;
        [
            estimate(y[0] - x[0], (x[1] / effective[0] + y[1] / effective[1]).sqrt()),
            estimate(y[1] - x[1], (square(x, effective[0]) + square(y, effective[1])).sqrt()),
        ]
    }

    /// Mean, variance and fourth central moment.
    fn moments(&self) -> [f64; 3] {
        let mean: f64 = self.points.iter().map(|(value, weight)| value * weight).sum();
        let power = |p: i32| self.points.iter().map(|(value, weight)| weight * (value - mean).powi(p)).sum();
        [mean, power(2), power(4)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::hodges_lehmann;

    #[test]
    fn pairs_of_cells_are_those_of_values_that_lie_evenly_in_them() {
        // By hand: 200 values evenly in each of three cells, and in one.
        let bucket = |low: f64, high: f64| Bucket { low: low.exp(), high: high.exp(), count: 200 };
        let (own, other) = ([bucket(0.0, 0.1), bucket(0.1, 0.4), bucket(0.6, 0.7)], [bucket(0.2, 0.5)]);
        let values = |buckets: &[Bucket]| -> Vec<f64> {
            let even = |one: &Bucket| {
                let (low, width) = (one.low.ln(), one.high.ln() - one.low.ln());
                (0..200).map(move |at| low + width * (f64::from(at) + 0.5) / 200.0)
            };
            buckets.iter().flat_map(even).collect()
        };
        let wanted = hodges_lehmann(&values(&own), &values(&other));
        let found = Cells::of(&own).ratio_of_pairs(&Cells::of(&other), [600.0, 200.0], 0.95);
        assert!((found.value.ln() - wanted).abs() < 1e-3, "{} {wanted}", found.value.ln());
        assert!(found.interval.lower < found.value && found.value < found.interval.upper);
    }
}
