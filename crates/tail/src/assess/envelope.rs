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
    /// Probability that a sample of the fitted law has every point inside.
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
    /// Probability that a sample of the fitted law has a point this far out somewhere in the plot.
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
        let law = self.law();
        let refitted = n <= MOST_REFITTED;
        let replicates = if refitted { REPLICATES.min(99.max(4_000_000 / n.max(1))) } else { 199 };
        let smallest: Vec<f64> = bootstrap::run(replicates, if refitted { n } else { 0 }, |refit, index| {
            let mut random = Xoshiro::stream(seed ^ 0x656e_7665, index);
            if refitted {
                let start = [0.0, 0.0, law.shape];
                refit.draw(start, n, &mut random);
                let at = refit.fit(start, SHAPE_MAX).at;
                let fitted = Gev { location: at[0], scale: at[1].exp(), shape: at[2] };
                farthest(n, shown.iter().map(|&i| (i, fitted.cdf(refit.y[i]))))
            } else {
                farthest(n, uniform_order_statistics(n, shown, &mut random).into_iter())
            }
        });
        let mut ascending = smallest;
        ascending.sort_unstable_by(f64::total_cmp);
        let here = farthest(n, shown.iter().map(|&i| (i, law.cdf(series.sorted()[i]))));
        // The largest tail probability that at most a share 1 - level of the samples falls below.
        let rank = ((1.0 - self.level) * (replicates as f64 + 1.0)).floor() as usize;
        let tail = 0.5 * ascending[rank.clamp(1, replicates) - 1];
        let size = n as f64;
        let probability: Vec<[f64; 2]> = shown
            .iter()
            .map(|&i| {
                let (a, b) = (i as f64 + 1.0, size - i as f64);
                [special::beta_quantile(a, b, tail), special::beta_quantile(a, b, 1.0 - tail)]
            })
            .collect();
        let outside = shown
            .iter()
            .zip(&probability)
            .filter(|(i, [low, high])| {
                let u = law.cdf(series.sorted()[**i]);
                u < *low || u > *high
            })
            .count();
        Envelope {
            level: self.level,
            pointwise_tail: tail,
            quantile: probability.iter().map(|[l, h]| [law.quantile(*l), law.quantile(*h)]).collect(),
            probability,
            outside,
            p: (ascending.partition_point(|&p| p <= here) + 1) as f64 / (replicates + 1) as f64,
            replicates,
            refitted,
        }
    }
}

/// The smallest two-sided tail probability among order statistics (index from 0, probability).
fn farthest(n: usize, points: impl Iterator<Item = (usize, f64)>) -> f64 {
    points
        .map(|(i, u)| {
            let (below, above) = special::incomplete_beta(i as f64 + 1.0, (n - i) as f64, u.clamp(0.0, 1.0));
            2.0 * below.min(above)
        })
        .fold(1.0, f64::min)
}

/// The order statistics of `n` uniform values at ascending indices, by gamma spacings.
fn uniform_order_statistics(n: usize, at: &[usize], random: &mut Xoshiro) -> Vec<(usize, f64)> {
    let mut sum = 0.0;
    let mut from = 0;
    let mut sums: Vec<(usize, f64)> = Vec::with_capacity(at.len());
    for &i in at {
        sum += random.gamma((i + 1 - from) as f64);
        from = i + 1;
        sums.push((i, sum));
    }
    let total = sum + random.gamma((n + 1 - from) as f64);
    sums.into_iter().map(|(i, s)| (i, s / total)).collect()
}
