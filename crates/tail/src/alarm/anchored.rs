//! Far quantiles that the largest quiet runs decide, with the shape that the distribution gives.
//!
//! A distribution that no test of a few hundred runs rejects may still be wrong where few of them lie: at one in 1,000, a distribution of maxima
//! fitted to log-normal runs is exceeded half as often again. On the scale of its cumulative hazard, runs of the fitted distribution
//! are exponential; runs of another one are nearly so over the largest of them, with a slope of their own. The tail is
//! therefore an exponential one on that scale, from a large quiet run on and with the mean excess of those above it: a
//! peaks-over-threshold tail (Pickands 1975) whose shape is that of the distribution.

use super::whitened::Whitened;
use crate::Gev;

/// Where a tail begins and how fast it falls, in cumulative hazard of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Anchor {
    /// The hazard of the quiet run from which on excesses are taken.
    base: f64,
    /// The mean excess above it: 1 on average where the distribution is right.
    slope: f64,
}

/// Estimates from a baseline: a distribution with its autoregression, and where its tail is anchored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TailEstimate {
    pub whitened: Whitened,
    pub anchor: Anchor,
}

/// Fewest excesses, whose mean is then uncertain by a fifth.
const FEWEST: usize = 12;
/// Tied runs, as of a coarse clock, have no excesses.
const LEAST_SLOPE: f64 = 0.2;

/// The excesses to take for a rate: few, so that the tail is that of the largest runs; a tenth of them at most. None where
/// the rate lies within them: there the distribution is tested.
pub(super) fn excesses(n: usize, alpha: f64) -> Option<usize> {
    let size = n as f64;
    let wanted = (0.5 * size.sqrt()).max(5.0 * alpha * size) as usize;
    Some(wanted.max(FEWEST).min(n / 4)).filter(|&k| 2.0 * alpha * (size + 1.0) < k as f64)
}

impl Anchor {
    /// That of the distribution itself.
    pub const DISTRIBUTION: Anchor = Anchor { base: 0.0, slope: 1.0 };

    /// From the `k` largest of values in any order, which it may reorder.
    pub fn of(distribution: &Gev, values: &mut [f64], k: usize) -> Anchor {
        let at = values.len() - 1 - k;
        let (_, from, above) = values.select_nth_unstable_by(at, f64::total_cmp);
        let hazard = |value: f64| -distribution.survival(value).max(f64::MIN_POSITIVE).ln();
        let base = hazard(*from);
        let slope = above.iter().map(|value| hazard(*value) - base).sum::<f64>() / k as f64;
        if slope < LEAST_SLOPE { Anchor::DISTRIBUTION } else { Anchor { base, slope } }
    }

    /// The value that lies so many mean excesses above the anchor.
    pub fn value(&self, distribution: &Gev, excess: f64) -> f64 {
        distribution.upper_quantile((-(self.base + excess * self.slope)).exp().max(f64::MIN_POSITIVE))
    }
}

/// The excess whose rate is `alpha` on average where the `k` largest of `n` values are exponential: exact, as the mean of `k`
/// excesses has a gamma distribution.
pub(super) fn exact_excess(n: usize, k: usize, alpha: f64) -> f64 {
    let of_anchor = (k as f64 + 1.0) / (n as f64 + 1.0);
    k as f64 * ((of_anchor / alpha).powf(1.0 / k as f64) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    /// Mean chance of a value above the threshold, beside the stated one; values fall as slowly as `slope` says.
    fn rate(slope: f64) -> f64 {
        let (n, k, alpha, baselines) = (200, 12, 1e-3, 4000);
        let distribution = Gev::new(10.0, 1.0, 0.1).unwrap();
        let excess = exact_excess(n, k, alpha);
        let mut random = Xoshiro::new(3);
        let sum: f64 = (0..baselines)
            .map(|_| {
                let mut draw = || distribution.upper_quantile(random.uniform().powf(slope));
                let mut values: Vec<f64> = (0..n).map(|_| draw()).collect();
                let threshold = Anchor::of(&distribution, &mut values, k).value(&distribution, excess);
                distribution.survival(threshold).powf(1.0 / slope)
            })
            .sum();
        sum / f64::from(baselines) / alpha
    }

    #[test]
    fn a_tail_that_the_distribution_has_wrong_keeps_the_rate() {
        // By the distribution alone, 30 times the stated rate at a slope of 2, and a thousandth of it at one of 0.5.
        for slope in [0.5, 1.0, 2.0] {
            let found = rate(slope);
            assert!((found - 1.0).abs() < 0.1, "{slope}: {found}");
        }
    }

    #[test]
    fn values_of_a_coarse_clock_and_rates_within_the_excesses_leave_the_distribution() {
        let distribution = Gev::new(10.0, 1.0, 0.0).unwrap();
        assert_eq!(Anchor::of(&distribution, &mut [11.0; 50], 12), Anchor::DISTRIBUTION);
        assert_eq!(
            (excesses(400, 1e-3), excesses(400, 0.02), excesses(400, 0.2)),
            (Some(12), Some(40), None)
        );
    }
}
