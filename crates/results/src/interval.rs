//! Distribution-free intervals of quantiles, which stay valid if slow operations come in clusters.

use serde::{Deserialize, Serialize};
use tail::congestion::Ends;
use tail::enclosed::{FEWEST_BEYOND, InOrder};

/// Coverage of the intervals.
const LEVEL: f64 = 0.95;

/// Values beyond the quantile, counted as independent ones, before a load ends for its width.
const FEWEST_FOR_WIDTH: f64 = 10.0;

/// A quantile with the order statistics that enclose it with 95% confidence.
///
/// The ranks are those of independent values (binomial; David, Nagaraja 2003, 7.1), as many as the values are worth:
/// n / τ, where τ is the variance of the share of slower values in the order in which they began, beside that of
/// independent ones. It is at least that of an autoregression whose neighbours resemble each other as these do; where a test
/// at 1% shows that slower values, or those above the median, come together, at least that of these places
/// ([`tail::independence::exceedances`]).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuantileInterval {
    /// 0.5 to 0.9999.
    pub probability: f64,
    /// The quantile.
    pub seconds: f64,
    /// Lower end; `None` where even the smallest value is not low enough.
    pub lower_seconds: Option<f64>,
    /// Upper end; `None` where there are too few values beyond: the quantile may be any larger.
    pub upper_seconds: Option<f64>,
    /// The effective number of independent values for this quantile.
    pub effective_n: f64,
}

impl QuantileInterval {
    /// Whether it has both ends; without an upper end the quantile is not resolved.
    pub fn is_resolved(&self) -> bool {
        self.lower_seconds.is_some() && self.upper_seconds.is_some()
    }

    /// The quantile with the ends of its interval.
    pub fn ends(&self) -> Ends {
        Ends { value: self.seconds, lower: self.lower_seconds, upper: self.upper_seconds }
    }

    /// Half the width of the interval as a share of the quantile; infinite where an end is missing.
    pub fn half_width(&self) -> f64 {
        match (self.lower_seconds, self.upper_seconds) {
            (Some(lower), Some(upper)) if self.seconds > 0.0 => 0.5 * (upper - lower) / self.seconds,
            _ => f64::INFINITY,
        }
    }

    /// The whole width of the interval as a share of the quantile; infinite where an end is missing.
    pub fn width(&self) -> f64 {
        2.0 * self.half_width()
    }

    /// The same before a load may end for it; infinite where too few values lie beyond the quantile: of many looks at few
    /// values one finds them close together.
    pub fn width_to_stop_at(&self) -> f64 {
        let beyond = self.effective_n * (1.0 - self.probability);
        if beyond >= FEWEST_FOR_WIDTH { self.width() } else { f64::INFINITY }
    }

    /// The number of values, as dependent as these `n`, of which this quantile has an upper end; `None` of none.
    pub fn enough(&self, n: u64) -> Option<u64> {
        let beyond = FEWEST_BEYOND / (1.0 - self.probability);
        // What few are worth is not known to more digits.
        let wanted = (beyond * n as f64 / self.effective_n).ceil();
        (self.effective_n > 0.0 && wanted.is_finite()).then_some(wanted as u64)
    }

    /// The number of values, as dependent as these `n`, whose interval has a half width of `share` of the quantile.
    ///
    /// `None` if an end of the interval is missing.
    pub fn values_for(&self, n: usize, share: f64) -> Option<f64> {
        let half = self.half_width();
        half.is_finite().then(|| n as f64 * (half / share).powi(2))
    }
}

/// The interval of the quantile `p` of some values, given sorted and with their dependence in time.
///
/// `None` of none.
pub(crate) fn of(
    order: &InOrder<u64>,
    sorted: &[u64],
    p: f64,
    value: impl Fn(u64) -> f64,
) -> Option<QuantileInterval> {
    let at = samples::quantile_rank(sorted.len(), p)?;
    let found = order.enclosed(sorted.len(), (p, sorted[at]), LEVEL);
    Some(QuantileInterval {
        probability: p,
        seconds: value(sorted[at]),
        lower_seconds: found.lower.map(|at| value(sorted[at])),
        upper_seconds: found.upper.map(|at| value(sorted[at])),
        effective_n: found.effective,
    })
}

#[cfg(test)]
mod tests {
    use tail::enclosed::quantile_interval;

    use super::*;

    /// SplitMix64, as numbers from 0 to 1.
    fn uniform(seed: u64, n: usize) -> Vec<f64> {
        let mut random = tail::Xoshiro::new(seed);
        (0..n).map(|_| random.uniform()).collect()
    }

    fn interval(values: &[u64], p: f64) -> QuantileInterval {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let order = InOrder::of(values, None, &sorted);
        of(&order, &sorted, p, |value| value as f64).expect("values")
    }

    #[test]
    fn independent_values_count_as_many_and_their_interval_holds_the_quantile() {
        let (mut covered, mut independent) = (0, 0);
        for seed in 0..200 {
            let values: Vec<u64> = uniform(seed, 2_000).iter().map(|u| (u * 1e9) as u64).collect();
            let found = interval(&values, 0.9);
            let (lower, upper) = (found.lower_seconds.unwrap(), found.upper_seconds.unwrap());
            covered += usize::from(lower <= 0.9e9 && 0.9e9 <= upper);
            independent += usize::from(found.effective_n == 2_000.0);
        }
        // Two tests of 1% each, one of 2.3%.
        assert!(independent >= 184, "{independent}");
        assert!((180..=200).contains(&covered), "{covered}");
    }

    #[test]
    fn intervals_of_few_values_that_resemble_their_neighbours_hold_the_median_or_are_not_given() {
        let of = |n: usize, phi: f64| {
            let (mut given, mut covered) = (0, 0);
            for seed in 0..400 {
                let mut random = tail::Xoshiro::new(seed);
                let mut state = random.normal();
                let mut next = || {
                    state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
                    (1e9 * (0.3 * state).exp()) as u64
                };
                let found = interval(&(0..n).map(|_| next()).collect::<Vec<u64>>(), 0.5);
                let (Some(lower), Some(upper)) = (found.lower_seconds, found.upper_seconds) else { continue };
                given += 1;
                covered += usize::from(lower <= 1e9 && 1e9 <= upper);
            }
            (given, covered as f64 / given as f64)
        };
        // Where no dependence was allowed for that a test does not show, 80 and 87% of the intervals held it.
        for (n, phi, least) in
            [(20, 0.0, 380), (20, 0.6, 120), (50, 0.0, 400), (50, 0.3, 390), (50, 0.6, 370)]
        {
            let (given, covered) = of(n, phi);
            assert!(given >= least && covered > 0.93, "{n} {phi}: {given} {covered}");
        }
    }

    #[test]
    fn values_that_come_in_clumps_count_as_few() {
        // Every value is repeated 25 times.
        let values: Vec<u64> =
            uniform(7, 400).iter().flat_map(|u| std::iter::repeat_n((u * 1e9) as u64, 25)).collect();
        let found = interval(&values, 0.9);
        assert!(found.effective_n < 1_000.0, "{}", found.effective_n);
        let mixed: Vec<u64> = (0..10_000).map(|n| values[n * 7_919 % 10_000]).collect();
        assert!(interval(&mixed, 0.9).effective_n > 4.0 * found.effective_n);
    }

    #[test]
    fn a_quantile_that_few_values_lie_beyond_has_no_upper_end() {
        let values: Vec<u64> = uniform(3, 299).iter().map(|u| (u * 1e9) as u64).collect();
        let found = interval(&values, 0.999);
        assert_eq!((found.upper_seconds, found.is_resolved()), (None, false));
        assert_eq!(found.half_width(), f64::INFINITY);
        assert!(of(&InOrder::of(&[], None, &[]), &[], 0.5, |value| value as f64).is_none());
    }

    #[test]
    fn ranks_are_those_of_the_published_table() {
        // 95%, p99.99 of 100,000 independent values: ranks n-17 and n-3, from 1.
        let (lower, upper) = quantile_interval(100_000, 0.9999, LEVEL);
        assert_eq!((lower.map(|at| at + 1), upper.map(|at| at + 1)), (Some(100_000 - 17), Some(100_000 - 3)));
    }
}
