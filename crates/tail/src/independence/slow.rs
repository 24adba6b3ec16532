//! Tests whether the slow values occur at random times: not in bursts, not too evenly, and not periodically.
//!
//! For instance, a flush at every hundredth operation causes no autocorrelation of the ranks and does not
//! affect fits of the pooled values.

use serde::{Deserialize, Serialize};

use super::montecarlo::{MonteCarlo, probability};
use crate::special::{incomplete_gamma, normal_two_sided};
use crate::{Series, Xoshiro};

/// The pattern of the slow values in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Consistent with random positions.
    Random,
    /// At multiples of one distance.
    Periodic,
    /// In bursts.
    Bursts,
    /// More evenly than at random, without one exact distance.
    Even,
}

/// The slow values of a series and their pattern in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SlowValues {
    /// Number of slowest values considered: the one with the strongest evidence.
    pub count: usize,
    /// Mean distance from one to the next, in values.
    pub mean_distance: f64,
    /// The most frequent distance between slow values.
    pub distance: usize,
    /// Number of slow values followed by another at exactly this distance.
    pub followed: usize,
    /// The expected number at random times.
    pub expected: f64,
    /// Variance of the distances relative to that at random times.
    pub dispersion: f64,
    /// The pattern with the smallest p-value, significant or not.
    pub spacing: Spacing,
    /// p-value of random times, adjusted for all distances and all numbers of slow values that were tried.
    pub p: f64,
}

/// The smallest and the largest number of slow values considered.
const FEWEST: usize = 5;
const MOST: usize = 400;
/// The factor between successive numbers of slow values.
const STEP: usize = 3;
/// Number of different counts of slow values that are tried.
const TRIED: usize = 4;
/// The share of the error of the common distance; the evenness has the rest.
const DISTANCE: f64 = 0.6;
const SIMULATED: MonteCarlo = MonteCarlo { most: 999, enough: 30 };

/// Tests the slowest values in time order; `sorted` are the same, ascending. `None` if there are too few, or
/// too few distinct ones.
pub fn slow_values(values: &[f64], sorted: &[f64]) -> Option<SlowValues> {
    slowest(sorted, |limit| (0..values.len()).filter(|&i| values[i] > limit).collect())
}

/// [`slow_values`] of a series.
pub(super) fn slow_values_of(series: &Series) -> Option<SlowValues> {
    slowest(series.sorted(), |limit| {
        let below = series.sorted().partition_point(|x| *x <= limit);
        let mut times: Vec<usize> = series.places()[below..].iter().map(|place| *place as usize).collect();
        times.sort_unstable();
        times
    })
}

/// `above` gives the times of the values above a limit.
fn slowest(sorted: &[f64], above: impl Fn(f64) -> Vec<usize>) -> Option<SlowValues> {
    let n = sorted.len();
    let mut wanted = (n / 10).min(MOST);
    let mut found: Vec<SlowValues> = Vec::new();
    while wanted >= FEWEST && found.len() < TRIED {
        let times = above(sorted[n - 1 - wanted]);
        // Ties at the limit leave fewer.
        if times.len() >= FEWEST {
            found.push(look(&times, n));
        }
        wanted /= STEP;
    }
    let tried = found.len() as f64;
    let best = found.into_iter().min_by(|a, b| a.p.total_cmp(&b.p))?;
    Some(SlowValues { p: (best.p * tried).min(1.0), ..best })
}

/// The slow values at ascending `times` among `n`.
fn look(times: &[usize], n: usize) -> SlowValues {
    let common = Common::of(times, n);
    let even = Evenness::of(times, n);
    let by_distance = common.p / DISTANCE;
    let by_evenness = even.p / (1.0 - DISTANCE);
    let spacing = if by_distance <= by_evenness && common.exact {
        Spacing::Periodic
    } else if by_distance <= by_evenness || even.dispersion > 1.0 {
        Spacing::Bursts
    } else {
        Spacing::Even
    };
    SlowValues {
        count: times.len(),
        mean_distance: (times[times.len() - 1] - times[0]) as f64 / (times.len() as f64 - 1.0),
        distance: common.distance,
        followed: common.followed,
        expected: common.expected,
        dispersion: even.dispersion,
        spacing,
        p: by_distance.min(by_evenness).min(1.0),
    }
}

/// The distance at which more slow values follow each other than at random.
struct Common {
    distance: usize,
    followed: usize,
    expected: f64,
    /// Whether shorter distances are rare: a period, not a burst.
    exact: bool,
    p: f64,
}

/// A distance this many times as frequent as shorter ones counts as a period.
const ABOVE: f64 = 3.0;
/// A fraction of a common distance is the period if it occurs at least this share as often.
const FUNDAMENTAL: f64 = 0.6;

impl Common {
    /// Counts pairs at each distance up to a third of the series. At random places each count is at most about
    /// Poisson with mean k (k - 1) (n - h) / (n (n - 1)).
    fn of(times: &[usize], n: usize) -> Common {
        let longest = (n / 3).max(1);
        let mut counts = vec![0u32; longest + 1];
        for (i, &from) in times.iter().enumerate() {
            for &to in &times[i + 1..] {
                if to - from > longest {
                    break;
                }
                counts[to - from] += 1;
            }
        }
        let (k, size) = (times.len() as f64, n as f64);
        let expected = |h: usize| k * (k - 1.0) * (size - h as f64) / (size * (size - 1.0));
        let chance = |h: usize| match counts[h] {
            0 => 1.0,
            count => incomplete_gamma(f64::from(count), expected(h)).0,
        };
        let best = strongest(&counts, chance);
        let whole = f64::from(counts[best.0]);
        let fundamental = (2..=12usize)
            .rev()
            .filter(|parts| best.0 % parts == 0 && best.0 / parts > 1)
            .map(|parts| best.0 / parts)
            .find(|&h| f64::from(counts[h]) >= FUNDAMENTAL * whole);
        let distance = fundamental.unwrap_or(best.0);
        let shorter = &counts[1..distance];
        let mean = shorter.iter().map(|c| f64::from(*c)).sum::<f64>() / shorter.len().max(1) as f64;
        Common {
            distance,
            followed: counts[distance] as usize,
            expected: expected(distance),
            exact: distance > 1 && f64::from(counts[distance]) > ABOVE * mean,
            p: (best.1 * longest as f64).min(1.0),
        }
    }
}

/// The distance whose count is least likely, and how likely it is; the shortest of several. `chance` falls with the distance
/// where the count is the same.
fn strongest(counts: &[u32], chance: impl Fn(usize) -> f64) -> (usize, f64) {
    let of = |distances: &mut dyn Iterator<Item = usize>| {
        distances
            .map(|h| (h, chance(h)))
            .fold((1, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best })
    };
    // The last distance of each count.
    let most = counts.iter().skip(1).copied().max().unwrap_or(0);
    let mut last = vec![0; most as usize + 1];
    for (h, count) in counts.iter().enumerate().skip(1) {
        last[*count as usize] = h;
    }
    let found = of(&mut last.into_iter().filter(|h| *h > 0));
    // Where chances have no digits left, or are all 1, only a look at every distance tells which is the shortest.
    if found.1 > 0.0 && found.1 < 1.0 { found } else { of(&mut (1..counts.len())) }
}

/// The evenness of the slow values: the sum of squared distances (Greenwood 1946).
struct Evenness {
    dispersion: f64,
    p: f64,
}

impl Evenness {
    fn of(times: &[usize], n: usize) -> Evenness {
        let here = ln_greenwood(times);
        let mut random = Xoshiro::new((n * 31 + times.len()) as u64);
        let (mut sum, mut square, mut drawn) = (0.0, 0.0, 0.0f64);
        let mut variance = 0.0;
        let mut draw = |above: bool| {
            let places = random_places(times.len(), n, &mut random);
            let value = ln_greenwood(&places);
            (sum, square, drawn) = (sum + value, square + value * value, drawn + 1.0);
            variance += relative_variance(&places);
            if above { value >= here } else { value <= here }
        };
        let (upper, up) = probability(SIMULATED, || draw(true));
        let (lower, down) = probability(SIMULATED, || draw(false));
        let (mean, spread) = (sum / drawn, (square / drawn - (sum / drawn).powi(2)).max(1e-12).sqrt());
        let simulated = (2.0 * upper.min(lower)).min(1.0);
        // Beyond the simulated range, the logarithm is taken as normal.
        let p = if up && down { simulated } else { simulated.min(normal_two_sided((here - mean) / spread)) };
        Evenness { dispersion: relative_variance(times) / (variance / drawn), p }
    }
}

/// ln of the sum of squared distances over their squared sum.
fn ln_greenwood(times: &[usize]) -> f64 {
    let (sum, square) = times.windows(2).fold((0.0, 0.0), |(sum, square), w| {
        let distance = (w[1] - w[0]) as f64;
        (sum + distance, square + distance * distance)
    });
    (square / (sum * sum)).ln()
}

/// Variance of the distances over their squared mean.
fn relative_variance(times: &[usize]) -> f64 {
    let count = times.len() as f64 - 1.0;
    (ln_greenwood(times).exp() * count - 1.0).max(0.0)
}

/// `k` different places of `n`, ascending, each set of them equally likely (Floyd's method).
fn random_places(k: usize, n: usize, random: &mut Xoshiro) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::with_capacity(k);
    for last in n - k..n {
        let place = random.below(last + 1);
        match places.binary_search(&place) {
            Ok(_) => places.push(last),
            Err(at) => places.insert(at, place),
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn of(values: &[f64]) -> SlowValues {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        slow_values(values, &sorted).unwrap()
    }

    /// Values of which those at the given places are ten times as long.
    fn with_slow(n: usize, slow: impl Fn(usize) -> bool, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro::new(seed);
        (0..n).map(|i| (10.0 + random.normal()) * if slow(i) { 10.0 } else { 1.0 }).collect()
    }

    #[test]
    fn each_hundredth_is_a_period_of_a_hundred_also_among_other_slow_ones() {
        for seed in 0..5 {
            let found = of(&with_slow(20_000, |i| i % 100 == 7, seed));
            assert_eq!((found.spacing, found.distance), (Spacing::Periodic, 100), "{found:?}");
            assert!(found.p < 1e-12);
        }
        let mut random = Xoshiro::new(9);
        let other: Vec<bool> = (0..5000).map(|_| random.uniform() < 0.01).collect();
        let found = of(&with_slow(5000, |i| i % 128 == 0 || other[i], 3));
        assert_eq!((found.spacing, found.distance), (Spacing::Periodic, 128), "{found:?}");
        let few = of(&with_slow(500, |i| i % 60 == 1, 4));
        assert_eq!((few.spacing, few.distance), (Spacing::Periodic, 60), "{few:?}");
        assert!(few.p < 0.001, "{few:?}");
    }

    #[test]
    fn the_strongest_distance_is_that_of_a_look_at_all() {
        let mut random = Xoshiro::new(31);
        for (n, k, period) in
            [(60, 6, 0), (400, 40, 0), (400, 40, 10), (9000, 300, 0), (9000, 300, 30), (3000, 5, 0)]
        {
            let mut times: Vec<usize> = if period > 0 {
                (0..k).map(|i| i * period).collect()
            } else {
                random_places(k, n, &mut random)
            };
            times.dedup();
            let longest = n / 3;
            let mut counts = vec![0u32; longest + 1];
            for (i, from) in times.iter().enumerate() {
                times[i + 1..]
                    .iter()
                    .filter(|to| *to - from <= longest)
                    .for_each(|to| counts[to - from] += 1);
            }
            let chance = |h: usize| match counts[h] {
                0 => 1.0,
                count => {
                    incomplete_gamma(f64::from(count), (k * k) as f64 * (n - h) as f64 / (n * n) as f64).0
                }
            };
            let mut best = (1, f64::INFINITY);
            for h in 1..=longest {
                if chance(h) < best.1 {
                    best = (h, chance(h));
                }
            }
            assert_eq!(strongest(&counts, chance), best, "{n} {k} {period}");
        }
    }

    #[test]
    fn the_slow_values_of_a_series_are_those_of_its_values_also_with_ties() {
        for (n, digits) in [(60, 1.0), (60, 100.0), (5000, 1.0), (5000, 1e6), (20_000, 10.0)] {
            let values: Vec<f64> =
                with_slow(n, |i| i % 50 == 3, 4).into_iter().map(|x| (x * digits).round() / digits).collect();
            let series = Series::clean(&values);
            assert_eq!(slow_values_of(&series), slow_values(&values, series.sorted()), "{n} {digits}");
        }
    }

    #[test]
    fn bursts_and_rough_regularity_are_distinguished() {
        let bursts = of(&with_slow(4000, |i| i % 400 < 10 && (i / 400) % 3 != 1, 5));
        assert_eq!(bursts.spacing, Spacing::Bursts, "{bursts:?}");
        assert!(bursts.p < 1e-6);
        let mut random = Xoshiro::new(8);
        let places: HashSet<usize> = (0..60).map(|i| 50 + 100 * i + random.below(41)).collect();
        let even = of(&with_slow(6000, |i| places.contains(&i), 6));
        assert!(even.p < 0.02 && even.dispersion < 0.5, "{even:?}");
        assert!(matches!(even.spacing, Spacing::Even | Spacing::Periodic), "{even:?}");
    }

    #[test]
    fn independent_values_are_seldom_called_patterned() {
        for (n, samples) in [(60, 300), (400, 300), (3000, 100)] {
            let hits =
                (0..samples).filter(|&seed| of(&with_slow(n, |_| false, 100 + seed)).p < 0.05).count() as f64;
            let share = hits / samples as f64;
            assert!(share <= 0.05 + 3.0 * (0.05 * 0.95 / samples as f64).sqrt(), "{n}: {share}");
        }
    }
}
