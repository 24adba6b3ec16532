//! The numbers of a place beside those of the normal distribution of the same mean and standard deviation.

use serde::Serialize;
use tail::special::normal_cdf;

use crate::Summary;
use crate::figures::curve::above;

/// Bins of a histogram.
const BINS: usize = 50;
/// Points of a survival curve.
const POINTS: usize = 300;

/// A place against the normal distribution of the same mean and standard deviation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstNormal {
    /// Mean, in seconds.
    pub mean: f64,
    /// Standard deviation, in seconds.
    pub deviation: f64,
    /// Up to here is the body (99% quantile), beyond is the tail.
    pub split: f64,
    /// Edges of the bins of the body, in seconds.
    pub body_edges: Vec<f64>,
    /// Values in each.
    pub body: Vec<u64>,
    /// What the normal distribution would put there.
    pub body_normal: Vec<f64>,
    /// Edges of the bins of the tail, even in the logarithm.
    pub tail_edges: Vec<f64>,
    /// Values in each.
    pub tail: Vec<u64>,
    /// Ascending values, in seconds.
    pub seconds: Vec<f64>,
    /// Share above each.
    pub share: Vec<f64>,
    /// Where the normal distribution is evaluated: evenly from the first value to where it has fallen below all shares.
    pub normal_seconds: Vec<f64>,
    /// Its share above each of these.
    pub normal_share: Vec<f64>,
}

impl AgainstNormal {
    /// Of ascending values that are not all equal.
    pub(crate) fn of(sorted: &[f64]) -> Option<AgainstNormal> {
        let summary = Summary::of_sorted(sorted)?;
        let (mean, deviation) = (summary.mean, summary.deviation);
        if deviation <= 0.0 {
            return None;
        }
        let n = sorted.len();
        let (min, max) = (summary.min, summary.max);
        let mut split = crate::quantile(sorted, 0.99);
        if split <= min {
            // By a coarse clock most values may be the least one: the body ends with the next.
            split = sorted[sorted.partition_point(|value| *value <= min).min(n - 1)];
        }
        let width = (split - min) / BINS as f64;
        let body_edges: Vec<f64> = (0..=BINS).map(|k| min + width * k as f64).collect();
        let mut body = vec![0u64; BINS];
        let in_body = sorted.partition_point(|value| *value <= split);
        for value in &sorted[..in_body] {
            body[(((value - min) / width) as usize).min(BINS - 1)] += 1;
        }
        let below = |x: f64| normal_cdf((x - mean) / deviation);
        let body_normal =
            body_edges.windows(2).map(|edge| n as f64 * (below(edge[1]) - below(edge[0]))).collect();
        let (mut tail_edges, mut tail) = (Vec::new(), Vec::new());
        if in_body < n && split > 0.0 {
            let bins = 20;
            let ratio = (max / split).powf(1.0 / bins as f64);
            tail_edges = (0..=bins).map(|k| split * ratio.powi(k)).collect();
            tail = vec![0u64; bins as usize];
            for value in &sorted[in_body..] {
                let at = ((value / split).ln() / ratio.ln()) as usize;
                tail[at.min(bins as usize - 1)] += 1;
            }
        }
        let (x, y) = above(sorted.to_vec());
        let least = y.last().copied().unwrap_or(1.0).ln();
        let mut kept: Vec<usize> = (0..POINTS)
            .map(|k| {
                let share = (least * k as f64 / (POINTS - 1) as f64).exp();
                y.partition_point(|y| *y > share).min(x.len() - 1)
            })
            .collect();
        kept.dedup();
        let seconds: Vec<f64> = kept.iter().map(|at| x[*at]).collect();
        let floor = 0.1 * y.last().copied().unwrap_or(1.0);
        let (normal_seconds, normal_share) = normal_curve((mean, deviation), (min, max), floor);
        Some(AgainstNormal {
            mean,
            deviation,
            split,
            body_edges,
            body,
            body_normal,
            tail_edges,
            tail,
            share: kept.iter().map(|at| y[*at]).collect(),
            normal_seconds,
            normal_share,
            seconds,
        })
    }
}

/// Share above by the normal distribution, as far as it is above `floor`: on a grid of its own, not only where values are,
/// because between the bulk and an outlier it has long fallen off.
fn normal_curve((mean, deviation): (f64, f64), (min, max): (f64, f64), floor: f64) -> (Vec<f64>, Vec<f64>) {
    let end = max.min(mean + 9.0 * deviation);
    (0..=POINTS)
        .map(|k| min + (end - min) * k as f64 / POINTS as f64)
        .map(|x| (x, normal_cdf((mean - x) / deviation)))
        .take_while(|(_, share)| *share > floor)
        .unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_distribution_has_fallen_off_long_before_an_outlier() {
        // 400 values around 10 and one of 100: no value lies where the distribution falls off.
        let mut values: Vec<f64> = (0..400).map(|k| 9.5 + f64::from(k) / 400.0).collect();
        values.push(100.0);
        let numbers = AgainstNormal::of(&values).unwrap();
        assert_eq!(numbers.normal_seconds.len(), numbers.normal_share.len());
        let below = |x: f64| numbers.normal_seconds.iter().filter(|at| **at < x).count();
        assert!(below(60.0) > 50 + below(11.0), "evaluated between the bulk and the outlier");
        for (x, share) in numbers.normal_seconds.iter().zip(&numbers.normal_share) {
            assert!((share - normal_cdf((numbers.mean - x) / numbers.deviation)).abs() < 1e-15);
        }
        assert!(numbers.normal_seconds.last().unwrap() < &60.0, "and not where it is nothing");
    }

    #[test]
    fn a_coarse_clock_leaves_a_tail() {
        // Most values are the least one; the steps are of 10.
        let mut values = vec![20.0; 995];
        values.extend([30.0, 30.0, 40.0, 50.0, 200.0]);
        let numbers = AgainstNormal::of(&values).unwrap();
        assert_eq!((numbers.split, numbers.body.iter().sum::<u64>()), (30.0, 997));
        assert_eq!(numbers.tail.iter().sum::<u64>(), 3);
    }
}
