//! Tests whether two samples have the same law, by the ranks of their values.
//!
//! If both are independent draws of one law, all assignments of the pooled values to two samples of these
//! sizes are equally likely. A sum of scores over the new sample then has a known mean and variance for every
//! law, and is nearly normal from ten values on.

use crate::Series;
use crate::special::{normal_quantile, normal_two_sided};

/// p-value of one law for both samples: the smaller of a test of the level (normal scores: van der Waerden 1952) and
/// one of the spread (squared normal scores: Klotz 1962), for two tests (Šidák 1967).
pub(super) fn p_equal(quiet: &Series, new: &Series) -> f64 {
    let mut pooled: Vec<(f64, bool)> = quiet.sorted().iter().map(|x| (*x, false)).collect();
    pooled.extend(new.sorted().iter().map(|x| (*x, true)));
    pooled.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let size = pooled.len() as f64;
    let normal: Vec<f64> =
        (1..=pooled.len()).map(|rank| normal_quantile(rank as f64 / (size + 1.0))).collect();
    let squared: Vec<f64> = normal.iter().map(|score| score * score).collect();
    let smaller = [normal, squared]
        .into_iter()
        .map(|scores| normal_two_sided(standardised(&pooled, scores)))
        .fold(1.0, f64::min);
    -(2.0 * (-smaller).ln_1p()).exp_m1()
}

/// The sum of scores over the new sample, less its mean, over its standard deviation. Equal values share the mean
/// of their scores. 0 where all values are equal.
fn standardised(pooled: &[(f64, bool)], mut scores: Vec<f64>) -> f64 {
    let mut begin = 0;
    while begin < pooled.len() {
        let mut end = begin + 1;
        while end < pooled.len() && pooled[end].0 == pooled[begin].0 {
            end += 1;
        }
        let shared = scores[begin..end].iter().sum::<f64>() / (end - begin) as f64;
        scores[begin..end].fill(shared);
        begin = end;
    }
    let size = pooled.len() as f64;
    let new = pooled.iter().filter(|value| value.1).count() as f64;
    let mean = scores.iter().sum::<f64>() / size;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    let variance = new * (size - new) / (size * (size - 1.0)) * squares;
    let sum: f64 =
        pooled.iter().zip(&scores).filter(|(value, _)| value.1).map(|(_, score)| score - mean).sum();
    if variance > 0.0 { sum / variance.sqrt() } else { 0.0 }
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
        let pooled: Vec<(f64, bool)> =
            values.iter().enumerate().map(|(at, x)| (*x, at == 1 || at == 4)).collect();
        let wanted = (2.5 + 5.0 - mean) / variance.sqrt();
        assert!((standardised(&pooled, scores) - wanted).abs() < 1e-12);
    }
}
