//! Computes the simultaneous envelope of a probability plot.

use serde::{Deserialize, Serialize};

use super::Assessment;
use crate::gev::fit::SHAPE_MAX;
use crate::{Gev, Series, Xoshiro, bootstrap, special};

/// The envelope that contains *all* points of a probability plot with the stated probability. The pointwise
/// envelope contains each point with that probability, so of 400 points about twenty lie outside of it by
/// chance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Probability that a sample of the fitted distribution has every point inside.
    pub level: f64,
    /// Tail probability of Beta(i, n + 1 - i) on each side that gives this probability.
    pub pointwise_tail: f64,
    /// [lower, upper] of the fitted probability, one pair for each point of `Panels::probability`.
    pub probability: Vec<[f64; 2]>,
    /// [lower, upper] in the unit of the data, one pair for each point of `Panels::quantile` and
    /// `Panels::return_points`.
    pub quantile: Vec<[f64; 2]>,
    /// Number of points outside.
    pub outside: usize,
    /// Probability that a sample of the fitted distribution has a point this far out somewhere in the plot.
    pub p: f64,
    /// Number of simulated samples.
    pub replicates: usize,
    /// Whether each sample was refitted, as the data were; above 20 000 values they are not, and the envelope
    /// is slightly too wide.
    pub refitted: bool,
}

const REPLICATES: usize = 399;
const MOST_REFITTED: usize = 20_000;

impl Assessment {
    /// The simultaneous envelope over the order statistics with these indices (from 0), by seeded simulation.
    pub(super) fn envelope(&self, series: &Series, shown: &[usize], seed: u64) -> Envelope {
        let n = series.len();
        let distribution = self.distribution();
        let refitted = n <= MOST_REFITTED;
        let replicates = if refitted { REPLICATES.min(99.max(4_000_000 / n.max(1))) } else { 199 };
        let farthest = FarthestPoint::of(n, shown);
        let smallest: Vec<f64> = bootstrap::run(replicates, if refitted { n } else { 0 }, |refit, index| {
            let mut random = Xoshiro::stream(seed ^ 0x656e_7665, index);
            if refitted {
                let start = [0.0, 0.0, distribution.shape];
                refit.draw(start, n, &mut random);
                let at = refit.fit(start, SHAPE_MAX).at;
                let fitted = Gev { location: at[0], scale: at[1].exp(), shape: at[2] };
                let at: Vec<f64> = shown.iter().map(|&i| fitted.cdf(refit.y[i])).collect();
                farthest.tail(&at)
            } else {
                farthest.tail(&uniform_order_statistics(n, shown, &mut random))
            }
        });
        let mut ascending = smallest;
        ascending.sort_unstable_by(f64::total_cmp);
        let of_values: Vec<f64> = shown.iter().map(|&i| distribution.cdf(series.sorted()[i])).collect();
        let here = farthest.tail(&of_values);
        // The largest tail probability that at most a share 1 - level of the samples falls below.
        let rank = ((1.0 - self.level) * (replicates as f64 + 1.0)).floor() as usize;
        let tail = 0.5 * ascending[rank.clamp(1, replicates) - 1];
        let probability = pointwise(n, shown, tail);
        let outside =
            of_values.iter().zip(&probability).filter(|(u, [low, high])| **u < *low || **u > *high).count();
        Envelope {
            level: self.level,
            pointwise_tail: tail,
            quantile: probability
                .iter()
                .map(|[l, h]| [distribution.quantile(*l), distribution.quantile(*h)])
                .collect(),
            probability,
            outside,
            p: (ascending.partition_point(|&p| p <= here) + 1) as f64 / (replicates + 1) as f64,
            replicates,
            refitted,
        }
    }
}

/// The ends between which each order statistic (index from 0) of `n` uniform values lies but for this tail probability on
/// both sides.
pub(super) fn pointwise(n: usize, shown: &[usize], tail: f64) -> Vec<[f64; 2]> {
    let ends = |i: &usize| {
        let (a, b) = (*i as f64 + 1.0, (n - i) as f64);
        [special::beta_quantile(a, b, tail), special::beta_quantile(a, b, 1.0 - tail)]
    };
    shown.iter().map(ends).collect()
}

/// The smallest two-sided tail probability among order statistics. It is that of a point outside of the ends of some larger
/// tail probability where one is outside: few probabilities have to be computed.
struct FarthestPoint<'a> {
    n: usize,
    shown: &'a [usize],
    /// For each of [`NEAR`], the ends of each order statistic.
    ends: [Vec<[f64; 2]>; 2],
}

/// Tail probabilities on one side: most samples have few points outside of the first, and some outside of the second.
const NEAR: [f64; 2] = [0.02, 0.1];

impl<'a> FarthestPoint<'a> {
    fn of(n: usize, shown: &'a [usize]) -> Self {
        FarthestPoint { n, shown, ends: NEAR.map(|tail| pointwise(n, shown, tail)) }
    }

    /// Of the probabilities `u`, one for each order statistic.
    fn tail(&self, u: &[f64]) -> f64 {
        for ends in &self.ends {
            let outside =
                ends.iter().zip(u).enumerate().filter(|(_, ([low, high], u))| !(low..=high).contains(u));
            let found = self.smallest(outside.map(|(at, (_, u))| (at, *u)));
            if found < 1.0 {
                return found;
            }
        }
        self.smallest(u.iter().copied().enumerate())
    }

    /// Among these points, by their place in `shown`; 1 of none.
    fn smallest(&self, points: impl Iterator<Item = (usize, f64)>) -> f64 {
        let of = |(at, u): (usize, f64)| {
            let i = self.shown[at];
            let (below, above) =
                special::incomplete_beta(i as f64 + 1.0, (self.n - i) as f64, u.clamp(0.0, 1.0));
            2.0 * below.min(above)
        };
        points.map(of).fold(1.0, f64::min)
    }
}

/// The order statistics of `n` uniform values at ascending indices, by gamma spacings.
fn uniform_order_statistics(n: usize, at: &[usize], random: &mut Xoshiro) -> Vec<f64> {
    let mut sum = 0.0;
    let mut from = 0;
    let mut sums: Vec<f64> = Vec::with_capacity(at.len());
    for &i in at {
        sum += random.gamma((i + 1 - from) as f64);
        from = i + 1;
        sums.push(sum);
    }
    let total = sum + random.gamma((n + 1 - from) as f64);
    sums.into_iter().map(|s| s / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_point_is_that_of_all_points() {
        let mut random = Xoshiro::new(4);
        for n in [20, 150] {
            let shown: Vec<usize> = (0..n).collect();
            let farthest = FarthestPoint::of(n, &shown);
            let mut by_all = 0;
            for spread in [1.0, 1.0, 0.3, 0.05, 2.0].repeat(20) {
                let mean = |i: usize| (i as f64 + 0.7) / (n as f64 + 0.4);
                let u: Vec<f64> = uniform_order_statistics(n, &shown, &mut random)
                    .iter()
                    .enumerate()
                    .map(|(i, u)| mean(i) + spread * (u - mean(i)))
                    .collect();
                let brute = farthest.smallest(u.iter().copied().enumerate());
                assert_eq!(farthest.tail(&u), brute, "{n} {spread}");
                by_all += usize::from(brute > 2.0 * NEAR[1]);
            }
            assert!((5..80).contains(&by_all), "{by_all}");
        }
    }
}
