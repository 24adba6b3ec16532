//! How far apart the quantiles of a fitted distribution and those of the sample are: of very many values a test rejects any distribution, and
//! this tells whether it matters.

use crate::series::{measured_quantile, sorted_quantile};
use crate::{Gev, Series};

/// Quantiles that are compared, where at least [`BEYOND`] values lie on each side.
const COMPARED: [f64; 9] = [0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// Fewest values beyond a quantile: of fewer the measured one is off by more than a small distance itself.
const BEYOND: f64 = 100.0;

/// The largest distance between fitted and measured quantiles, as a share of the measured one's distance from the median,
/// or of half the range from the 5% to the 95% quantile where that is more. 0 of too few values.
pub(super) fn distance(series: &Series, distribution: &Gev) -> f64 {
    let sorted = series.sorted();
    let n = sorted.len() as f64;
    let (middle, half) =
        (sorted_quantile(sorted, 0.5), 0.5 * (sorted_quantile(sorted, 0.95) - sorted_quantile(sorted, 0.05)));
    COMPARED
        .into_iter()
        .filter(|p| n * p >= BEYOND && n * (1.0 - p) >= BEYOND)
        .map(|p| {
            let measured = measured_quantile(sorted, p);
            (distribution.quantile(p) - measured).abs() / (measured - middle).abs().max(half)
        })
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn the_distance_is_that_of_the_worst_quantile() {
        let distribution = Gev { location: 10.0, scale: 1.0, shape: 0.1 };
        let mut random = Xoshiro::new(2);
        let series =
            Series::clean(&(0..20_000).map(|_| distribution.sample(&mut random)).collect::<Vec<f64>>());
        assert!(distance(&series, &distribution) < 0.03);
        let heavier = Gev { shape: 0.2, ..distribution };
        let expected = (heavier.quantile(0.99) - distribution.quantile(0.99))
            / (distribution.quantile(0.99) - distribution.quantile(0.5));
        assert!((distance(&series, &heavier) - expected).abs() < 0.04, "{expected}");
    }
}
