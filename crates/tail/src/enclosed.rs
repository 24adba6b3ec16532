//! The order statistics that enclose a quantile of values that may depend on each other.

use crate::Takers;
use crate::alike::{Alike, alike};
use crate::independence::{self, exceedances, is_sorted};
use crate::special;

/// Fewest values beyond a quantile, counted as independent ones, that an upper end needs.
pub const FEWEST_BEYOND: f64 = 3.7;

/// Values in the order in which they came, of which it is asked how much those above a quantile depend on each other.
pub struct InOrder<'a, T> {
    values: &'a [T],
    /// Who took them, where several did in turns.
    takers: Option<&'a Takers>,
    /// Whether those above the median come together: all quantiles then allow for dependence.
    shown: bool,
    /// How much neighbours resemble each other, shown or not.
    alike: Alike,
}

/// Where the ends of the interval of a quantile are among the ascending values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Enclosed {
    /// Place of the lower end; `None` where even the smallest value is not low enough.
    pub lower: Option<usize>,
    /// Place of the upper end; `None` where too few values lie beyond.
    pub upper: Option<usize>,
    /// The effective number of independent values for this quantile.
    pub effective: f64,
}

impl<'a, T: PartialOrd + Copy> InOrder<'a, T> {
    /// Of values as they came, with who took them, and the same values in ascending order.
    pub fn of(values: &'a [T], takers: Option<&'a Takers>, sorted: &[T]) -> Self {
        // The order of sorted values is not that in which they came.
        let (values, takers) = if is_sorted(values) { (&[][..], None) } else { (values, takers) };
        let median = sorted.get(sorted.len().saturating_sub(1) / 2);
        let shown = median.is_some_and(|median| exceedances(&is_above(values, *median), takers).shown);
        Self { values, takers, shown, alike: alike(values, takers, sorted) }
    }

    /// The interval, of coverage `level`, of the quantile `p` of `n` values, which is `quantile`.
    pub fn enclosed(&self, n: usize, (p, quantile): (f64, T), level: f64) -> Enclosed {
        let effective = n as f64 / self.variance_ratio(n, (p, quantile));
        let worth = (effective.round() as usize).max(1);
        let (lower, upper) = quantile_interval(worth, p, level);
        let scale = n as f64 / worth as f64;
        let reaches = effective * (1.0 - p) >= FEWEST_BEYOND || p <= 0.5;
        Enclosed {
            lower: lower.map(|rank| ((rank as f64 * scale) as usize).min(n - 1)),
            upper: upper
                .filter(|_| reaches)
                .map(|rank| (((rank + 1) as f64 * scale).ceil() as usize - 1).min(n - 1)),
            effective,
        }
    }

    /// The variance of the share of `n` values above the quantile `p`, which is `quantile`, beside that of independent ones.
    pub fn variance_ratio(&self, n: usize, (p, quantile): (f64, T)) -> f64 {
        self.inflation(quantile).max(self.alike.inflation(p, n))
    }

    /// τ, at least 1: how much more the share of values above `quantile` varies than for independent values; 1 where
    /// no test shows that they are not.
    fn inflation(&self, quantile: T) -> f64 {
        let above = is_above(self.values, quantile);
        // What is shown of the median needs no test of another quantile.
        if self.shown {
            return independence::inflation(&above, self.takers);
        }
        let found = exceedances(&above, self.takers);
        if found.shown { found.inflation } else { 1.0 }
    }
}

fn is_above<T: PartialOrd>(values: &[T], quantile: T) -> Vec<bool> {
    values.iter().map(|value| *value > quantile).collect()
}

/// Indices, from 0, of the order statistics that enclose the `p`-quantile of `n` independent values with at
/// least the coverage `level`, half of the error on each side (binomial; David, Nagaraja 2003, 7.1). `None`
/// if even the extreme value does not reach it.
pub fn quantile_interval(n: usize, p: f64, level: f64) -> (Option<usize>, Option<usize>) {
    let tail = 0.5 * (1.0 - level);
    // P(X_(r) > quantile) = P(Binomial(n, p) < r) = P(B <= r - 1), r from 1.
    let at_most = |k: usize| -> f64 {
        if k >= n { 1.0 } else { special::incomplete_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p).0 }
    };
    // Largest r with P(B <= r - 1) <= tail.
    let lower = if n == 0 || at_most(0) > tail {
        None
    } else {
        let (mut good, mut bad) = (0usize, n);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if at_most(middle) <= tail { good = middle } else { bad = middle }
        }
        Some(good)
    };
    // Smallest s with P(B >= s) <= tail, that is P(B <= s - 1) >= 1 - tail.
    let upper = if n == 0 || at_most(n - 1) < 1.0 - tail {
        None
    } else {
        let (mut good, mut bad) = (n - 1, -1isize);
        while good as isize - bad > 1 {
            let middle = (bad + (good as isize - bad) / 2) as usize;
            if at_most(middle) >= 1.0 - tail { good = middle } else { bad = middle as isize }
        }
        Some(good)
    };
    (lower, upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_ten_lies_between_the_second_and_the_ninth() {
        // Textbook: coverage of (X(2), X(9)) is 0.978.
        assert_eq!(quantile_interval(10, 0.5, 0.95), (Some(1), Some(8)));
    }

    #[test]
    fn a_far_quantile_of_few_values_has_no_upper_end() {
        let (lower, upper) = quantile_interval(50, 0.99, 0.95);
        assert!(lower.is_some() && upper.is_none());
        assert_eq!(quantile_interval(0, 0.5, 0.95), (None, None));
    }
}
