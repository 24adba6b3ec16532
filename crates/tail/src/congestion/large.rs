//! Model-free intervals without resampling, for large samples where a bootstrap would be too slow.

use super::sorted::{Moments, Sorted, hodges_lehmann_at};
use crate::Interval;
use crate::enclosed::quantile_interval;
use crate::special::normal_quantile;

/// Logarithms of the two samples, with their effective sample sizes.
pub(super) struct Large<'a> {
    pub x: &'a Sorted,
    pub y: &'a Sorted,
    pub effective: [f64; 2],
    pub level: f64,
}

impl Large<'_> {
    /// Interval of the difference of medians: combines the binomial intervals of both medians (Zou, Donner
    /// 2008).
    pub fn medians(&self) -> Interval {
        let [x, y] = [(self.x, self.effective[0]), (self.y, self.effective[1])].map(|(logs, worth)| {
            let logs = &logs.0;
            let n = logs.len();
            let rounded = (worth.round() as usize).clamp(1, n);
            let (lower, upper) = quantile_interval(rounded, 0.5, self.level);
            let scale = n as f64 / rounded as f64;
            let at = |rank: f64| logs[(rank as usize).min(n - 1)];
            let lower = lower.map_or(logs[0], |rank| at(rank as f64 * scale));
            let upper = upper.map_or(logs[n - 1], |rank| at(((rank + 1) as f64 * scale).ceil() - 1.0));
            (lower, 0.5 * (logs[(n - 1) / 2] + logs[n / 2]), upper)
        });
        let difference = y.1 - x.1;
        let down = (y.1 - y.0).hypot(x.2 - x.1);
        let up = (y.2 - y.1).hypot(x.1 - x.0);
        Interval::new(difference - down, difference + up, self.level)
    }

    /// Interval of the median of all differences, from the quantiles of the differences at one half plus or
    /// minus the standard error of the share of smaller differences (Lehmann 1975, with the variance at the
    /// estimate instead of that under equal distributions).
    pub fn hodges_lehmann(&self, estimate: f64) -> Interval {
        let (x, y) = (&self.x.0, &self.y.0);
        let variance = variance_of_shares(y, x, estimate) / self.effective[0]
            + variance_of_shares(x, y, -estimate) / self.effective[1];
        let half = normal_quantile(0.5 + 0.5 * self.level) * variance.sqrt();
        let pairs = x.len() as f64 * y.len() as f64;
        let at = |share: f64| {
            let k = (share * pairs).round().clamp(1.0, pairs) as u64;
            hodges_lehmann_at(x, y, k)
        };
        Interval::new(at(0.5 - half), at(0.5 + half), self.level)
    }

    /// Interval of the difference of means.
    pub fn means(&self) -> Interval {
        let [x, y] = [self.x.moments(), self.y.moments()];
        let error = (x.variance / self.effective[0] + y.variance / self.effective[1]).sqrt();
        self.normal(y.mean - x.mean, error)
    }

    /// Interval of the difference of variances, from the fourth moments.
    pub fn variances(&self) -> Interval {
        let [x, y] = [self.x.moments(), self.y.moments()];
        let square = |m: &Moments, worth: f64| (m.fourth - m.variance * m.variance) / worth;
        let error = (square(&x, self.effective[0]) + square(&y, self.effective[1])).sqrt();
        self.normal(y.variance - x.variance, error)
    }

    fn normal(&self, value: f64, error: f64) -> Interval {
        let half = normal_quantile(0.5 + 0.5 * self.level) * error;
        Interval::new(value - half, value + half, self.level)
    }
}

/// The variance, over ascending `at`, of the share of ascending `of` that is at most a value of `at` plus `shift`.
fn variance_of_shares(of: &[f64], at: &[f64], shift: f64) -> f64 {
    let (n, mut below) = (of.len() as f64, 0);
    let (mut sum, mut squares) = (0.0, 0.0);
    for value in at {
        while below < of.len() && of[below] <= value + shift {
            below += 1;
        }
        let share = below as f64 / n;
        sum += share;
        squares += share * share;
    }
    let mean = sum / at.len() as f64;
    (squares / at.len() as f64 - mean * mean).max(0.0)
}
