//! Tests for a trend of the level: Mann-Kendall with Theil-Sen's slope.

use serde::{Deserialize, Serialize};

use super::autocorrelation::{near_ranks, ranks_of_sorted};
use super::inversions::inversions;
use super::long_run;
use crate::special::normal_two_sided;
use crate::{Takers, lagged, ordered};

/// A monotone trend over the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// Kendall's tau between order in time and value: -1 always falling, 1 always rising.
    pub tau: f64,
    /// Normal statistic for independent values (ties in the variance, no continuity correction).
    pub z: f64,
    /// Two-sided p-value for independent values (Mann 1945).
    pub p_independent: f64,
    /// The factor by which the long-run variance of the detrended ranks is above that of independent ones, at least 1,
    /// with an allowance for its own error.
    pub variance_factor: f64,
    /// Two-sided p-value with that variance.
    pub p: f64,
    /// Median slope per value (Theil 1950; Sen 1968), in the unit of the data.
    pub slope: f64,
    /// The slope over the whole run, in the unit of the data.
    pub change: f64,
}

impl Trend {
    /// The normal statistic with the long-run variance.
    pub(super) fn standardised(&self) -> f64 {
        self.z / self.variance_factor.sqrt()
    }
}

/// Mann-Kendall's test with the long-run variance of the ranks.
pub fn mann_kendall(values: &[f64]) -> Trend {
    let (sorted, places) = ordered::with_places(values);
    mann_kendall_of_ranks(values, &sorted, &ranks_of_sorted(&sorted, &places), None)
}

/// The allowance for the error of the long-run variance.
const ALLOWANCE: f64 = 20.0;

/// [`mann_kendall`] of values of which the ascending ones and the ranks are known.
pub(super) fn mann_kendall_of_ranks(
    values: &[f64],
    sorted: &[f64],
    of: &[f64],
    takers: Option<&Takers>,
) -> Trend {
    let n = values.len();
    let size = n as f64;
    let slope = theil_sen(values);
    let (s, ties) = concordance(sorted, of);
    let pairs = 0.5 * size * (size - 1.0);
    let variance = (size * (size - 1.0) * (2.0 * size + 5.0) - ties.cubic) / 18.0;
    if variance <= 0.0 {
        return Trend {
            tau: 0.0,
            z: 0.0,
            p_independent: 1.0,
            variance_factor: 1.0,
            p: 1.0,
            slope,
            change: 0.0,
        };
    }
    let detrended: Vec<f64> = values.iter().enumerate().map(|(i, x)| x - slope * i as f64).collect();
    let mut ranks = near_ranks(detrended);
    let mean = lagged::mean(&ranks);
    ranks.iter_mut().for_each(|rank| *rank -= mean);
    let dependent = long_run::factor(&ranks, takers);
    let factor = dependent * (1.0 + ALLOWANCE * (dependent - 1.0) / size);
    let z = s / variance.sqrt();
    Trend {
        tau: s / (pairs * (pairs - ties.pairs)).sqrt(),
        z,
        p_independent: normal_two_sided(z),
        variance_factor: factor,
        p: normal_two_sided(z / factor.sqrt()),
        slope,
        change: slope * (size - 1.0),
    }
}

struct Ties {
    /// Σ t (t - 1) (2t + 5) over groups of ties.
    cubic: f64,
    /// Σ t (t - 1) / 2.
    pairs: f64,
}

/// Rising minus falling pairs, from ranks in time order; and the ties.
fn concordance(sorted: &[f64], ranks: &[f64]) -> (f64, Ties) {
    let n = sorted.len();
    let mut ties = Ties { cubic: 0.0, pairs: 0.0 };
    let mut from = 0;
    while from < n {
        let run = sorted[from..].iter().take_while(|&&x| x == sorted[from]).count();
        let t = run as f64;
        ties.cubic += t * (t - 1.0) * (2.0 * t + 5.0);
        ties.pairs += 0.5 * t * (t - 1.0);
        from += run;
    }
    // The whole parts of mean ranks have the order of the ranks.
    let falling = inversions(ranks.iter().map(|rank| *rank as u32).collect()) as f64;
    let pairs = 0.5 * n as f64 * (n as f64 - 1.0);
    (pairs - ties.pairs - 2.0 * falling, ties)
}

/// Median of all pairwise slopes; of evenly spaced values if there are more than 1200.
pub fn theil_sen(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 2 {
        return 0.0;
    }
    let stride = n.div_ceil(1200);
    let at: Vec<usize> = (0..n).step_by(stride).collect();
    let mut slopes = Vec::with_capacity(at.len() * (at.len() - 1) / 2);
    for (k, &i) in at.iter().enumerate() {
        for &j in &at[k + 1..] {
            slopes.push((values[j] - values[i]) / (j - i) as f64);
        }
    }
    if slopes.is_empty() {
        return 0.0;
    }
    let middle = slopes.len() / 2;
    let (below, &mut high, _) = slopes.select_nth_unstable_by(middle, f64::total_cmp);
    if below.len() > middle.saturating_sub(1) && slopes.len() % 2 == 0 {
        let low = slopes[..middle].iter().copied().fold(f64::NEG_INFINITY, f64::max);
        0.5 * (low + high)
    } else {
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_line_has_tau_one_and_its_slope() {
        let values: Vec<f64> = (0..50).map(|i| 3.0 + 0.5 * f64::from(i)).collect();
        let trend = mann_kendall(&values);
        assert_eq!(trend.tau, 1.0);
        assert!((trend.slope - 0.5).abs() < 1e-12);
        assert!(trend.p < 1e-6);
    }

    #[test]
    fn constant_values_have_no_trend() {
        assert_eq!(mann_kendall(&[2.0; 30]).p, 1.0);
    }

    #[test]
    fn the_median_slope_of_an_even_number_of_pairs_is_the_mean_of_the_middle_two() {
        // Slopes 1, 3, 2, 5, 2.5 … of four points: sorted 1, 2, 2.667, 3, 3.5, 4 would be even in number.
        let values = [0.0, 1.0, 4.0, 8.0];
        let mut slopes = [1.0, 2.0, 8.0 / 3.0, 3.0, 3.5, 4.0];
        slopes.sort_by(f64::total_cmp);
        assert!((theil_sen(&values) - 0.5 * (slopes[2] + slopes[3])).abs() < 1e-12);
    }
}
