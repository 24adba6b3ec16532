//! Tests whether two samples have the same distribution, by the ranks of their values.
//!
//! If both are independent draws of one distribution, all assignments of the pooled values to two samples of these
//! sizes are equally likely. A sum of scores over the new sample then has a known mean and variance for every
//! distribution, and is nearly normal from ten values on. Where values depend on each other, the variance is that of each sample
//! times its long-run factor.

use super::dependence::inflation;
use crate::special::{normal_pdf, normal_quantile, normal_two_sided, student_two_sided};
use crate::{Series, Takers};

/// The level's share of the error: whether the new runs are slower is the question, their spread is the smaller one.
const LEVEL: f64 = 0.75;

/// How likely two samples of one distribution differ as much.
#[derive(Clone, Copy)]
pub(super) struct Equality {
    /// Of both tests together, by their weights (Bonferroni).
    pub p: f64,
    /// Of the level: normal scores (van der Waerden 1952).
    pub level: f64,
    /// Of the spread: squared normal scores (Klotz 1962).
    pub spread: f64,
}

/// A value of one of both samples: which, and where in time.
struct Pooled {
    value: f64,
    arm: usize,
    at: usize,
}

/// Whether both samples have one distribution.
pub(super) fn equality(baseline: &Series, new: &Series) -> Equality {
    let mut pooled: Vec<Pooled> = [baseline, new]
        .into_iter()
        .enumerate()
        .flat_map(|(arm, series)| {
            series.values().iter().enumerate().map(move |(at, value)| Pooled { value: *value, arm, at })
        })
        .collect();
    pooled.sort_by(|a, b| a.value.total_cmp(&b.value));
    let size = pooled.len() as f64;
    let normal: Vec<f64> =
        (1..=pooled.len()).map(|rank| normal_quantile(rank as f64 / (size + 1.0))).collect();
    let squared: Vec<f64> = normal.iter().map(|score| score * score).collect();
    let sizes = [baseline.len(), new.len()];
    let takers = [baseline.takers(), new.takers()];
    let [level, spread] = [normal, squared].map(|scores| two_sided(&in_time(&pooled, scores, sizes), takers));
    Equality::of(level, spread)
}

impl Equality {
    /// Of the p-values of both tests.
    pub(super) fn of(level: f64, spread: f64) -> Equality {
        Equality { p: (level / LEVEL).min(spread / (1.0 - LEVEL)).min(1.0), level, spread }
    }
}

/// Values of one sample that are between the same two, and equal for all that is known of them.
pub(super) struct PooledPart {
    /// By which they are sorted.
    pub value: f64,
    /// 0 or 1: which sample.
    pub arm: usize,
    /// How many.
    pub count: f64,
}

/// Normal scores and squared ones of samples of which counts are known.
pub(super) struct EqualParts {
    sizes: [f64; 2],
    /// Of each score the sum in each sample, and the sum of its squares.
    scores: [([f64; 2], f64); 2],
}

impl EqualParts {
    /// Of both samples: parts that are equal share the mean of their scores.
    pub fn of(mut parts: Vec<PooledPart>) -> EqualParts {
        parts.sort_by(|a, b| a.value.total_cmp(&b.value));
        let all = parts.iter().map(|part| part.count).sum::<f64>();
        let mut found = EqualParts { sizes: [0.0; 2], scores: [([0.0; 2], 0.0); 2] };
        let mut below = 0.0;
        // Density, and value times density, where a share of values lies below; 0 at both ends.
        let at = |share: f64| {
            let z = if share > 0.0 && share < 1.0 { normal_quantile(share) } else { return [0.0; 2] };
            [normal_pdf(z), z * normal_pdf(z)]
        };
        for equal in parts.chunk_by(|a, b| a.value == b.value) {
            let count: f64 = equal.iter().map(|part| part.count).sum();
            let (share, [low, high]) = (count / all, [below / all, (below + count) / all].map(at));
            // The mean of squares of all is 1.
            let scores = [(low[0] - high[0]) / share, (low[1] - high[1]) / share];
            for (of_all, score) in found.scores.iter_mut().zip(scores) {
                equal.iter().for_each(|part| of_all.0[part.arm] += part.count * score);
                of_all.1 += count * score * score;
            }
            equal.iter().for_each(|part| found.sizes[part.arm] += part.count);
            below += count;
        }
        found
    }

    /// The two-sided p-value of equal means of normal scores (0) or of squared ones (1), the variance of each sample times its
    /// factor.
    pub fn p_value(&self, which: usize, factors: [f64; 2]) -> f64 {
        let (sums, squares) = self.scores[which];
        let [n, m] = self.sizes;
        let difference = sums[1] / m - sums[0] / n;
        p_of(standardised_by(difference, [n, m], squares, factors), factors)
    }
}

/// The scores of each sample in time order, less the mean of all. Equal values share the mean of their scores.
fn in_time(pooled: &[Pooled], mut scores: Vec<f64>, sizes: [usize; 2]) -> [Vec<f64>; 2] {
    let mut begin = 0;
    while begin < pooled.len() {
        let mut end = begin + 1;
        while end < pooled.len() && pooled[end].value == pooled[begin].value {
            end += 1;
        }
        let shared = scores[begin..end].iter().sum::<f64>() / (end - begin) as f64;
        scores[begin..end].fill(shared);
        begin = end;
    }
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let mut arms = sizes.map(|size| vec![0.0; size]);
    for (one, score) in pooled.iter().zip(scores) {
        arms[one.arm][one.at] = score - mean;
    }
    arms
}

/// The two-sided p-value of equal means of the scores.
fn two_sided(arms: &[Vec<f64>; 2], takers: [Option<&Takers>; 2]) -> f64 {
    let [x, y] = arms;
    let factors = [inflation(x, takers[0]), inflation(y, takers[1])];
    p_of(standardised(arms, factors), factors)
}

/// The two-sided p-value of a statistic with its degrees of freedom, whose variances were multiplied by factors.
fn p_of((statistic, freedom): (f64, f64), factors: [f64; 2]) -> f64 {
    match factors == [1.0, 1.0] {
        true => normal_two_sided(statistic),
        false => student_two_sided(statistic, freedom),
    }
}

/// The difference of the means over its standard deviation, with each sample's variance times its factor, and the degrees
/// of freedom of that (Satterthwaite 1946). 0 where all values are equal.
fn standardised([x, y]: &[Vec<f64>; 2], factors: [f64; 2]) -> (f64, f64) {
    let (n, m) = (x.len() as f64, y.len() as f64);
    let squares: f64 = x.iter().chain(y).map(|score| score * score).sum();
    let mean = |scores: &[f64]| scores.iter().sum::<f64>() / scores.len() as f64;
    standardised_by(mean(y) - mean(x), [n, m], squares, factors)
}

/// The same of a difference of means of so many scores, whose squares have this sum.
fn standardised_by(difference: f64, [n, m]: [f64; 2], squares: f64, factors: [f64; 2]) -> (f64, f64) {
    let variance = squares / (n + m - 1.0);
    let of = [variance * factors[0] / n, variance * factors[1] / m];
    let all = of[0] + of[1];
    if all <= 0.0 {
        return (0.0, n + m - 2.0);
    }
    let effective = [n / factors[0], m / factors[1]];
    let freedom = all * all / (of[0] * of[0] / (effective[0] - 1.0) + of[1] * of[1] / (effective[1] - 1.0));
    (difference / all.sqrt(), freedom.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// z of the level by enumerating all assignments of the values.
    #[test]
    fn mean_and_variance_are_those_over_all_assignments() {
        let values = [1.0, 2.0, 2.0, 4.0, 7.0, 9.0];
        let scores: Vec<f64> = (1..=6).map(f64::from).collect();
        let shared = [1.0, 2.5, 2.5, 4.0, 5.0, 6.0];
        let sums: Vec<f64> = (0u32..64)
            .filter(|deal| deal.count_ones() == 2)
            .map(|deal| (0..6).filter(|at| deal >> at & 1 == 1).map(|at| shared[at]).sum())
            .collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        let variance = sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / sums.len() as f64;
        // The second and the fifth value are the new sample.
        let (mut next, mut pooled) = ([0, 0], Vec::new());
        for (at, value) in values.into_iter().enumerate() {
            let arm = usize::from(at == 1 || at == 4);
            pooled.push(Pooled { value, arm, at: next[arm] });
            next[arm] += 1;
        }
        let wanted = (2.5 + 5.0 - mean) / variance.sqrt();
        let (found, _) = standardised(&in_time(&pooled, scores, [4, 2]), [1.0, 1.0]);
        assert!((found - wanted).abs() < 1e-12);
    }
}
