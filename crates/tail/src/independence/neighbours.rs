//! Tests for autocorrelation: lag 1 and the Ljung-Box portmanteau, with one joint p-value.
//!
//! A portmanteau over 20 lags spreads its power over lags without correlation: against an autoregression of
//! 0.4 in 100 values it has half the power of lag 1 alone. So lag 1 has most of the error, mainly on the
//! positive side, which a lasting disturbance causes; the portmanteau has the rest.

use lanes::{Arithmetic, LaneWork, widest};

use super::autocorrelation::{autocorrelations, ljung_box_of};
use super::montecarlo::{MonteCarlo, probability};
use crate::special::{chi_square_quantile, chi_square_survival, normal_cdf, normal_upper_quantile};
use crate::{Takers, Xoshiro};

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
fn statistics(correlations: &[f64], n: f64, mean: f64) -> [f64; 3] {
    let first = n.sqrt() * (correlations[0] + mean);
    [first, -first, ljung_box_of(correlations, n)]
}

/// Tests ranks in time order, up to `lags` lags (at most 20). The normal and chi-square p-values,
/// weighted, are taken together, and the p-value of the smallest is simulated: below 2000 values by random orders of the
/// same ranks, exact for exchangeable values whatever their distribution and ties (Dufour, Roy 1985); from there on by
/// independent normal autocorrelations, which is their limit. Seeded by the ranks: the same values, the same p.
pub fn neighbours(ranks: &[f64], lags: usize) -> Neighbours {
    neighbours_of(ranks, &autocorrelations(ranks, lags))
}

/// [`neighbours`] of what several took in turns, in the order of each: values of one after those of another, each less its mean.
/// Random orders are those of each taker; all correlations are less their mean over these. With it these correlations.
fn neighbours_of_takers(ranks: &[f64], takers: &Takers, lags: usize) -> (Neighbours, Vec<f64>) {
    let own = Own::of(ranks, takers, lags);
    let correlations = own.corrected(autocorrelations(&own.centred, lags));
    (
        tested(&own.centred, &correlations[..lags.min(MOST_LAGS).min(correlations.len())], Some(&own)),
        correlations,
    )
}

/// The values of takers, one after another.
struct Own {
    centred: Vec<f64>,
    lengths: Vec<usize>,
    /// The mean correlation at each lag in random orders of each.
    means: Vec<f64>,
}

impl Own {
    fn of(ranks: &[f64], takers: &Takers, lags: usize) -> Own {
        let centred = takers.centred(ranks);
        let lengths: Vec<usize> = takers.lengths().collect();
        let (mut means, mut from, mut all) = (vec![0.0; lags], 0, 0.0);
        for length in &lengths {
            let squares: f64 = centred[from..from + length].iter().map(|x| x * x).sum();
            (from, all) = (from + length, all + squares);
            let n = *length as f64;
            for (lag, mean) in (1..).zip(&mut means) {
                *mean -= if *length > lag { squares * (n - lag as f64) / (n * (n - 1.0)) } else { 0.0 };
            }
        }
        means.iter_mut().for_each(|mean| *mean /= all.max(f64::MIN_POSITIVE));
        Own { centred, lengths, means }
    }

    fn corrected(&self, mut correlations: Vec<f64>) -> Vec<f64> {
        correlations.iter_mut().zip(&self.means).for_each(|(found, mean)| *found -= mean);
        correlations
    }
}

/// [`neighbours`] of ranks of which the autocorrelations are known: those of all lags to test, at least.
pub(super) fn neighbours_of(ranks: &[f64], correlations: &[f64]) -> Neighbours {
    tested(ranks, correlations, None)
}

fn tested(ranks: &[f64], correlations: &[f64], own: Option<&Own>) -> Neighbours {
    let n = ranks.len();
    // The mean of lag 1 in random orders of all values is -1/n; that of takers is taken off.
    let mean = if own.is_some() { 0.0 } else { 1.0 / n as f64 };
    let statistics = |correlations: &[f64], n: f64| statistics(correlations, n, mean);
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
        let mut orders = Orders::of(ranks, own);
        probability(SIMULATED, || far(statistics(&orders.next(lags, &mut random)[..lags], size)))
    };
    Neighbours { portmanteau, p: if reached { p } else { p.min(bound) } }
}

/// How values depend on each other, in their order and in that of each taker, of which the one that tells more is told; whether
/// it is that of takers. Each has half of the error.
pub(super) fn told_of_takers(
    ranks: &[f64],
    takers: Option<&Takers>,
    neighbours: Neighbours,
    correlations: Vec<f64>,
) -> (Neighbours, Vec<f64>, bool) {
    let Some(takers) = takers else { return (neighbours, correlations, false) };
    let lags = 20.min(takers.each() / 5).max(1);
    let (own, of_own) = neighbours_of_takers(ranks, takers, lags);
    let of_takers = own.p < neighbours.p;
    let p = (2.0 * own.p.min(neighbours.p)).min(1.0);
    let (told, correlations) = if of_takers { (own, of_own) } else { (neighbours, correlations) };
    (Neighbours { p, ..told }, correlations, of_takers)
}

/// Random orders of centred ranks.
struct Orders<'a> {
    /// Zeros after the values avoid bounds in the inner loop.
    centred: Vec<f64>,
    square: f64,
    lengths: &'a [usize],
    means: &'a [f64],
}

impl<'a> Orders<'a> {
    fn of(ranks: &[f64], own: Option<&'a Own>) -> Orders<'a> {
        let n = ranks.len();
        let mean = ranks.iter().sum::<f64>() / n as f64;
        let centred: Vec<f64> = ranks.iter().map(|r| r - mean).chain([0.0; MOST_LAGS]).collect();
        let square = centred.iter().map(|x| x * x).sum();
        let (lengths, means): (&[usize], &[f64]) = own.map_or((&[], &[]), |own| (&own.lengths, &own.means));
        Orders { centred, square, lengths, means }
    }

    /// The autocorrelations of the next order; those beyond `lags` are undefined.
    fn next(&mut self, lags: usize, random: &mut Xoshiro) -> [f64; MOST_LAGS] {
        let mut shuffle = |values: &mut [f64]| {
            for i in (1..values.len()).rev() {
                values.swap(i, random.below(i + 1));
            }
        };
        let all = self.centred.len() - MOST_LAGS;
        let mut rest = &mut self.centred[..all];
        for length in self.lengths {
            let (own, others) = rest.split_at_mut(*length);
            shuffle(own);
            rest = others;
        }
        shuffle(rest);
        let mut sums = widest(LaggedProducts(&self.centred));
        sums[..lags].iter_mut().for_each(|sum| *sum /= self.square);
        sums.iter_mut().zip(self.means).for_each(|(sum, mean)| *sum -= mean);
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
