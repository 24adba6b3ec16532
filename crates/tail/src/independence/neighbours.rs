//! Tests for autocorrelation: lag 1 and the Ljung-Box portmanteau, with one joint p-value.
//!
//! A portmanteau over 20 lags spreads its power over lags without correlation: against an autoregression of
//! 0.4 in 100 values it has half the power of lag 1 alone. So lag 1 has most of the error, mainly on the
//! positive side, which a lasting disturbance causes; the portmanteau has the rest.

use lanes::{Arithmetic, LaneWork, widest};

use super::autocorrelation::{autocorrelations, ljung_box_of};
use super::montecarlo::{MonteCarlo, probability};
use crate::Xoshiro;
use crate::special::{chi_square_quantile, chi_square_survival, normal_cdf, normal_upper_quantile};

/// The largest number of lags of the portmanteau.
const MOST_LAGS: usize = 20;
/// Shares of the error: positive lag 1, negative lag 1, portmanteau.
const SHARES: [f64; 3] = [0.65, 0.15, 0.2];
/// From this many values on, autocorrelations of random orders are taken as normal; below, orders are drawn.
const MOST_PERMUTED: usize = 2000;
const SIMULATED: MonteCarlo = MonteCarlo { most: 3999, enough: 60 };

/// The result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbours {
    /// Ljung-Box statistic.
    pub portmanteau: f64,
    /// Probability of a lag 1 or a portmanteau this extreme in a random order of the same values.
    pub p: f64,
}

/// Lag 1 as a normal statistic, its negative, and the portmanteau, from the autocorrelations of `n` values. Under random
/// order lag 1 is -1/n on average.
fn statistics(correlations: &[f64], n: f64) -> [f64; 3] {
    let first = n.sqrt() * (correlations[0] + 1.0 / n);
    [first, -first, ljung_box_of(correlations, n)]
}

/// Tests ranks in time order, up to `lags` lags (at most 20). The normal and chi-square p-values,
/// weighted, are taken together, and the p-value of the smallest is simulated: below 2000 values by random orders of the
/// same ranks, exact for exchangeable values whatever their law and ties (Dufour, Roy 1985); from there on by
/// independent normal autocorrelations, which is their limit. Seeded by the ranks: the same values, the same p.
pub fn neighbours(ranks: &[f64], lags: usize) -> Neighbours {
    neighbours_of(ranks, &autocorrelations(ranks, lags))
}

/// [`neighbours`] of ranks of which the autocorrelations are known: those of all lags to test, at least.
pub(super) fn neighbours_of(ranks: &[f64], correlations: &[f64]) -> Neighbours {
    let n = ranks.len();
    let lags = correlations.len().min(MOST_LAGS);
    let size = n as f64;
    let portmanteau = ljung_box_of(&correlations[..lags], size);
    if lags == 0 || portmanteau <= 0.0 {
        return Neighbours { portmanteau: 0.0, p: 1.0 };
    }
    let here = statistics(&correlations[..lags], size);
    let freedom = lags as f64;
    let p = [normal_cdf(-here[0]), normal_cdf(-here[1]), chi_square_survival(here[2], freedom)];
    let bound = p.iter().zip(SHARES).map(|(p, share)| p / share).fold(f64::INFINITY, f64::min);
    // What each statistic must reach to be as extreme; slightly less, so that the same order counts.
    let reach: [f64; 3] = std::array::from_fn(|at| {
        let tail = (bound * SHARES[at]).min(1.0);
        let far = match at {
            _ if p[at] <= tail => here[at],
            2 => chi_square_quantile(1.0 - tail, freedom),
            _ => normal_upper_quantile(tail),
        };
        far - 1e-9 * far.abs()
    });
    let far = |found: [f64; 3]| found.iter().zip(&reach).any(|(found, reach)| found >= reach);
    let seed =
        ranks.iter().fold(n as u64, |hash, r| (hash ^ r.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut random = Xoshiro::new(seed);
    let (p, reached) = if n >= MOST_PERMUTED {
        probability(SIMULATED, || {
            let drawn: [f64; MOST_LAGS] =
                std::array::from_fn(|lag| if lag < lags { random.normal() } else { 0.0 });
            far([drawn[0], -drawn[0], drawn.iter().map(|z| z * z).sum()])
        })
    } else {
        let mut orders = Orders::of(ranks);
        probability(SIMULATED, || far(statistics(&orders.next(lags, &mut random)[..lags], size)))
    };
    Neighbours { portmanteau, p: if reached { p } else { p.min(bound) } }
}

/// Random orders of centred ranks.
struct Orders {
    /// Zeros after the values avoid bounds in the inner loop.
    centred: Vec<f64>,
    n: usize,
    square: f64,
}

impl Orders {
    fn of(ranks: &[f64]) -> Orders {
        let n = ranks.len();
        let mean = ranks.iter().sum::<f64>() / n as f64;
        let centred: Vec<f64> = ranks.iter().map(|r| r - mean).chain([0.0; MOST_LAGS]).collect();
        let square = centred.iter().map(|x| x * x).sum();
        Orders { centred, n, square }
    }

    /// The autocorrelations of the next order; those beyond `lags` are undefined.
    fn next(&mut self, lags: usize, random: &mut Xoshiro) -> [f64; MOST_LAGS] {
        for i in (1..self.n).rev() {
            self.centred.swap(i, random.below(i + 1));
        }
        let mut sums = widest(LaggedProducts(&self.centred));
        sums[..lags].iter_mut().for_each(|sum| *sum /= self.square);
        sums
    }
}

/// `Σ x_i x_(i + lag)` for each lag from 1 on, over values with zeros behind them.
struct LaggedProducts<'a>(&'a [f64]);

impl LaneWork for LaggedProducts<'_> {
    type Output = [f64; MOST_LAGS];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [f64; MOST_LAGS] {
        let mut sums = [0.0; MOST_LAGS];
        for window in self.0.windows(MOST_LAGS + 1) {
            let Some(later) = window[1..].first_chunk::<MOST_LAGS>() else { continue };
            for (sum, later) in sums.iter_mut().zip(later) {
                *sum = A::mul_add(window[0], *later, *sum);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::independence::{ljung_box, ranks};

    fn autoregression(phi: f64, n: usize, random: &mut Xoshiro) -> Vec<f64> {
        let mut state = random.normal();
        (0..n)
            .map(|_| {
                state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
                state
            })
            .collect()
    }

    #[test]
    fn the_p_value_of_random_orders_is_exact() {
        let samples = 1500;
        let mut random = Xoshiro::new(11);
        let hits = (0..samples)
            .filter(|_| {
                let values: Vec<f64> = (0..50).map(|_| random.uniform()).collect();
                neighbours(&ranks(&values), 10).p <= 0.05
            })
            .count();
        // 75 expected, standard error 8.4.
        assert!((50..=100).contains(&hits), "{hits} of {samples}");
    }

    #[test]
    fn the_p_value_of_many_values_keeps_its_level() {
        let samples = 300;
        let mut random = Xoshiro::new(12);
        let hits = (0..samples)
            .filter(|_| {
                let values: Vec<f64> = (0..2500).map(|_| random.uniform()).collect();
                neighbours(&ranks(&values), 20).p <= 0.1
            })
            .count();
        // 30 expected, standard error 5.2.
        assert!((14..=46).contains(&hits), "{hits} of {samples}");
    }

    #[test]
    fn the_p_value_is_small_for_a_memory_and_the_same_again() {
        let of = ranks(&autoregression(0.8, 200, &mut Xoshiro::new(5)));
        let found = neighbours(&of, 20);
        assert_eq!(found.portmanteau, ljung_box(&of, 20).0);
        assert!(found.p < 1e-10);
        assert_eq!(neighbours(&of, 20), found);
        // All tied except one: all orders are nearly equal, and nothing is found.
        let mut tied = vec![1.0; 60];
        tied[30] = 2.0;
        assert!(neighbours(&ranks(&tied), 12).p > 0.2);
    }

    #[test]
    fn a_memory_of_later_neighbours_alone_is_found_too() {
        let mut random = Xoshiro::new(6);
        let noise: Vec<f64> = (0..405).map(|_| random.normal()).collect();
        let values: Vec<f64> = noise.windows(6).map(|w| w[5] + 0.8 * w[0]).collect();
        assert!(neighbours(&ranks(&values), 20).p < 0.001);
    }
}
