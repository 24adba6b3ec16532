//! Sums of products of a series with itself some places later: autocovariances of many lags in one pass.

use lanes::{Arithmetic, LaneWork, widest};

/// Values of a block: it and what follows it lie in the first cache, and rounding errors do not grow with their number.
const BLOCK: usize = 1024;

/// The mean, about the first value, so that a large offset takes no digits.
pub(crate) fn mean(values: &[f64]) -> f64 {
    match values.first() {
        Some(first) => first + widest(SumOfDifferences { values, from: *first }) / values.len() as f64,
        None => f64::NAN,
    }
}

/// The sum.
pub(crate) fn sum(values: &[f64]) -> f64 {
    widest(SumOfDifferences { values, from: 0.0 })
}

struct SumOfDifferences<'a> {
    values: &'a [f64],
    from: f64,
}

impl LaneWork for SumOfDifferences<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> f64 {
        const LANES: usize = 32;
        let mut total = 0.0;
        for block in self.values.chunks(BLOCK) {
            let mut sums = [0.0; LANES];
            let mut groups = block.chunks_exact(LANES);
            for group in groups.by_ref() {
                sums.iter_mut().zip(group).for_each(|(sum, x)| *sum += x - self.from);
            }
            sums.iter_mut().zip(groups.remainder()).for_each(|(sum, x)| *sum += x - self.from);
            total += sums.iter().sum::<f64>();
        }
        total
    }
}

/// `Σ c_i c_(i + lag)`, with `c = value - mean`, for each of `lags` lags from `first` on.
pub(crate) fn products(values: &[f64], mean: f64, first: usize, lags: usize) -> Vec<f64> {
    let mut found = Vec::with_capacity(lags);
    while found.len() < lags {
        let first = first + found.len();
        let missing = lags - found.len();
        match missing {
            0..=8 => found.extend(widest(Products::<8> { values, mean, first }).iter().take(missing)),
            9..=24 => found.extend(widest(Products::<24> { values, mean, first }).iter().take(missing)),
            _ => found.extend(widest(Products::<48> { values, mean, first }).iter().take(missing)),
        }
    }
    found
}

struct Products<'a, const LAGS: usize> {
    values: &'a [f64],
    mean: f64,
    first: usize,
}

impl<const LAGS: usize> LaneWork for Products<'_, LAGS> {
    type Output = [f64; LAGS];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [f64; LAGS] {
        const MOST_BEHIND: usize = 48;
        let mut totals = [0.0; LAGS];
        let mut later = [0.0; BLOCK + MOST_BEHIND];
        for (index, block) in self.values.chunks(BLOCK).enumerate() {
            let from = (index * BLOCK + self.first).min(self.values.len());
            let to = (from + block.len() + LAGS).min(self.values.len());
            later.iter_mut().zip(&self.values[from..to]).for_each(|(later, x)| *later = x - self.mean);
            // Behind the last value are zeros.
            later[to - from..].fill(0.0);
            let mut sums = [0.0; LAGS];
            for (x, later) in block.iter().zip(later.windows(LAGS)) {
                let Some(later) = later.first_chunk::<LAGS>() else { continue };
                let x = x - self.mean;
                for (sum, later) in sums.iter_mut().zip(later) {
                    *sum = A::mul_add(x, *later, *sum);
                }
            }
            totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn products_are_those_of_plain_loops_for_any_number_of_values_and_lags() {
        let mut random = Xoshiro::new(3);
        for n in [1, 2, 9, 50, BLOCK - 1, BLOCK, BLOCK + 1, 5000] {
            let values: Vec<f64> = (0..n).map(|_| 7.0 + random.exponential()).collect();
            let center = mean(&values);
            let plain_mean = values.iter().sum::<f64>() / n as f64;
            assert!((center - plain_mean).abs() < 1e-12);
            for (first, lags) in [(0, 1), (0, 9), (0, 21), (0, 41), (1, 8), (5, 100), (40, 60)] {
                let found = products(&values, center, first, lags);
                assert_eq!(found.len(), lags);
                for (found, lag) in found.iter().zip(first..) {
                    let later = values.get(lag..).unwrap_or_default();
                    let wanted: f64 =
                        later.iter().zip(&values).map(|(a, b)| (a - center) * (b - center)).sum();
                    assert!((found - wanted).abs() < 1e-11 * n as f64, "{n} {lag}: {found} {wanted}");
                }
            }
        }
        assert!(mean(&[]).is_nan());
    }
}
