//! How much the values above a quantile depend on each other in time, and whether that is shown at all.
//!
//! An interval of a quantile needs the variance of the share of values above it. An estimate of that variance is above
//! the one of independent values in half of all independent series, so it counts only where a test shows dependence.

use super::montecarlo::{MonteCarlo, probability};
use crate::special::{chi_square_survival, normal_cdf};
use crate::{Takers, Xoshiro};

/// Error of the tests: independent values are called dependent in so many cases.
const LEVEL: f64 = 0.01;
/// Shares of it: neighbours, batches.
const SHARES: [f64; 2] = [0.5, 0.5];
/// With more exceedances than this, the statistics have their limiting distributions.
const MANY: usize = 2000;
/// With so many as extreme as these the p-value is at least the level, however many are drawn.
fn simulated(level: f64) -> MonteCarlo {
    MonteCarlo { most: 1999, enough: (2000.0 * level).round().max(1.0) as u32 }
}
/// One of so many places: where more are taken, scanning all is faster than sorting those.
const SCANNED: usize = 12;

/// The dependence in time of the values above a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exceedances {
    /// Whether a test at 1% shows that they come together.
    pub shown: bool,
    /// The variance of their share relative to that of independent values, at least 1: the larger of a first-order
    /// autoregression and the variance of the shares of batches of √n values (Law, Carson 1979).
    pub inflation: f64,
}

/// The series of whether a value is `above` a quantile, in time order; of values that several take in turns in the order of
/// each too, with half of the error for each.
pub fn exceedances(above: &[bool], takers: Option<&Takers>) -> Exceedances {
    let level = if takers.is_some() { 0.5 * LEVEL } else { LEVEL };
    let own = takers.and_then(|takers| Apart::of(above, takers)).map(|own| own.tested(level));
    let found = [of_time(above, level), own];
    let shown = found.iter().flatten().filter(|found| found.shown);
    match shown.map(|found| found.inflation).reduce(f64::max) {
        Some(inflation) => Exceedances { shown: true, inflation },
        None => {
            let most = found.iter().flatten().map(|found| found.inflation).fold(1.0, f64::max);
            Exceedances { shown: false, inflation: most }
        }
    }
}

/// [`Exceedances::inflation`] alone, where dependence is known.
pub fn inflation(above: &[bool], takers: Option<&Takers>) -> f64 {
    let own = takers.and_then(|takers| Apart::of(above, takers)).map_or(1.0, |own| own.inflation());
    observed(above).map_or(1.0, |(expected, found)| expected.inflation(found)).max(own)
}

fn of_time(above: &[bool], level: f64) -> Option<Exceedances> {
    let (expected, found) = observed(above)?;
    let rare = expected.rare;
    let p = [expected.p_neighbours(found.neighbours), expected.p_batches(found)];
    let shown = p.iter().zip(SHARES).any(|(p, share)| *p < 3.0 * share * level)
        && (rare > MANY && p.iter().zip(SHARES).any(|(p, share)| *p < share * level)
            || rare <= MANY && expected.p_of_random_places(found, level) < level);
    Some(Exceedances { shown, inflation: expected.inflation(found) })
}

/// The rarer kind in the order of each taker: how many each has says nothing, where they are does.
struct Apart {
    of_each: Vec<Vec<u8>>,
    /// Pairs of neighbours that are both of it, their mean at random places of each, and how much they vary there.
    pairs: f64,
    expected: f64,
    variance: f64,
    rare: usize,
}

impl Apart {
    fn of(above: &[bool], takers: &Takers) -> Option<Apart> {
        let count = above.iter().filter(|above| **above).count();
        let is_rare = count <= above.len() - count;
        let rare: Vec<u8> = above.iter().map(|above| u8::from(*above == is_rare)).collect();
        let of_each: Vec<Vec<u8>> = takers.apart(&rare).collect();
        let (mut expected, mut variance) = (0.0, 0.0);
        for own in &of_each {
            let (n, k) = (own.len() as f64, own.iter().map(|one| f64::from(*one)).sum::<f64>());
            expected += k * (k - 1.0).max(0.0) / n;
            variance += k * (1.0 - k / n);
        }
        let pairs = of_each.iter().map(|own| f64::from(neighbours(own))).sum();
        let rare = count.min(above.len() - count);
        (variance > 0.0).then_some(Apart { of_each, pairs, expected, variance, rare })
    }

    /// (1 + ρ) / (1 - ρ) of a first-order autoregression.
    fn inflation(&self) -> f64 {
        let n = self.of_each.iter().map(Vec::len).sum::<usize>() as f64;
        let rho = ((self.pairs - self.expected) / self.variance).clamp(0.0, 1.0 - 1.0 / n);
        (1.0 + rho) / (1.0 - rho)
    }

    fn tested(mut self, level: f64) -> Exceedances {
        let inflation = self.inflation();
        let spread: f64 = self
            .of_each
            .iter()
            .map(|own| {
                let n = own.len() as f64;
                let share = own.iter().map(|one| f64::from(*one)).sum::<f64>() / n;
                n * (share * (1.0 - share)).powi(2)
            })
            .sum();
        let p = normal_cdf(-(self.pairs - self.expected) / spread.sqrt().max(1e-300));
        let shown = p < 3.0 * level
            && (self.rare > MANY && p < level || self.rare <= MANY && self.p_of_random_places(level) < level);
        Exceedances { shown, inflation }
    }

    fn p_of_random_places(&mut self, level: f64) -> f64 {
        let mut random = Xoshiro::new((self.rare as u64) << 20 ^ self.of_each.len() as u64);
        let (of_each, pairs) = (&mut self.of_each, self.pairs);
        probability(simulated(level), || {
            let mut found = 0.0;
            for own in of_each.iter_mut() {
                for end in (1..own.len()).rev() {
                    own.swap(end, random.below(end + 1));
                }
                found += f64::from(neighbours(own));
            }
            found >= pairs
        })
        .0
    }
}

/// What is expected and what is found; none where all or none are above, or where there are too few.
fn observed(above: &[bool]) -> Option<(Expected, Together)> {
    let n = above.len();
    let count = above.iter().filter(|above| **above).count();
    let batch = (n as f64).sqrt() as usize;
    if batch < 2 || n / batch < 4 || count == 0 || count == n {
        return None;
    }
    // Of few values below and many above, those below have the same dependence.
    let rare = count.min(n - count);
    let is_rare = count <= n - count;
    let places = above.iter().enumerate().filter(|(_, above)| **above == is_rare).map(|(at, _)| at);
    Some((Expected { n, rare, batch }, Together::of(places, n, batch)))
}

/// What the places of the rarer kind tell.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Together {
    /// Pairs of neighbours that are both of it.
    neighbours: f64,
    /// How many of it lie in whole batches, and Σ of the squared numbers in each.
    held: f64,
    squares: f64,
}

impl Together {
    /// Of ascending places.
    fn of(places: impl Iterator<Item = usize>, n: usize, batch: usize) -> Together {
        let batches = n / batch;
        let (mut neighbours, mut squares) = (0.0, 0.0);
        let (mut last, mut at, mut held, mut all) = (usize::MAX - 1, 0, 0.0f64, 0.0);
        for place in places {
            neighbours += f64::from(place == last + 1);
            last = place;
            let here = place / batch;
            if here != at {
                squares += held * held;
                (at, held) = (here, 0.0);
            }
            if here < batches {
                held += 1.0;
                all += 1.0;
            }
        }
        Together { neighbours, held: all, squares: squares + held * held }
    }
}

/// Pairs of neighbours that are both 1.
fn neighbours(taken: &[u8]) -> u32 {
    taken.iter().zip(taken.iter().skip(1)).map(|(one, next)| u32::from(one & next)).sum()
}

impl Together {
    /// Of the values with a 1.
    fn among(taken: &[u8], batch: usize) -> Together {
        let neighbours = neighbours(taken);
        let in_batch = |batch: &[u8]| f64::from(batch.iter().map(|one| u32::from(*one)).sum::<u32>());
        let (mut held, mut squares) = (0.0, 0.0);
        for here in taken.chunks_exact(batch).map(in_batch) {
            held += here;
            squares += here * here;
        }
        Together { neighbours: f64::from(neighbours), held, squares }
    }
}

/// The statistics of random places.
struct Expected {
    n: usize,
    rare: usize,
    batch: usize,
}

impl Expected {
    fn share(&self) -> f64 {
        self.rare as f64 / self.n as f64
    }

    /// Upper-tail p-value of the number of neighbours, normal.
    fn p_neighbours(&self, found: f64) -> f64 {
        let (n, k) = (self.n as f64, self.rare as f64);
        let mean = k * (k - 1.0) / n;
        let share = self.share();
        let deviation = (n.sqrt() * share * (1.0 - share)).max(1e-300);
        normal_cdf(-(found - mean) / deviation)
    }

    /// Upper-tail p-value of the variance between batches, chi-square.
    fn p_batches(&self, found: Together) -> f64 {
        let batches = (self.n / self.batch) as f64;
        chi_square_survival((batches - 1.0) * self.between(found), batches - 1.0)
    }

    /// The variance of the shares of batches relative to that of independent values.
    fn between(&self, found: Together) -> f64 {
        let batches = (self.n / self.batch) as f64;
        let share = self.share();
        let mean = share * self.batch as f64;
        let sum = (found.squares - 2.0 * mean * found.held + batches * mean * mean).max(0.0);
        sum / (batches - 1.0) / (self.batch as f64 * share * (1.0 - share))
    }

    /// The largest of both statistics, each by its standard deviation at random places.
    fn extreme(&self, found: Together) -> f64 {
        let (k, share) = (self.rare as f64, self.share());
        let neighbours = (found.neighbours - k * share) / (k * share * (1.0 - share)).max(0.25).sqrt();
        let batches = (self.n / self.batch) as f64;
        let between = (self.between(found) - 1.0) / (2.0 / batches * (1.0 + 1.0 / k)).sqrt();
        neighbours.max(between)
    }

    /// The p-value of both, from random places; seeded by the numbers: the same values, the same p.
    fn p_of_random_places(&self, found: Together, level: f64) -> f64 {
        let reach = self.extreme(found) * (1.0 - 1e-9);
        let mut random = Xoshiro::new((self.n as u64) << 20 ^ self.rare as u64);
        let mut taken = vec![0u8; self.n];
        let mut places = Vec::with_capacity(self.rare);
        probability(simulated(level), || {
            places.clear();
            while places.len() < self.rare {
                let place = random.below(self.n);
                if taken[place] == 0 {
                    taken[place] = 1;
                    places.push(place);
                }
            }
            // Few places are quickly sorted, many are counted among all.
            let together = if SCANNED * self.rare > self.n {
                Together::among(&taken, self.batch)
            } else {
                places.sort_unstable();
                Together::of(places.iter().copied(), self.n, self.batch)
            };
            places.iter().for_each(|place| taken[*place] = 0);
            self.extreme(together) >= reach
        })
        .0
    }

    fn inflation(&self, found: Together) -> f64 {
        let share = self.share();
        let n = self.n as f64;
        // The correlation of neighbours, less its bias -1/n.
        let rho = (found.neighbours / (n - 1.0) - share * share) / (share * (1.0 - share)) + 1.0 / n;
        let rho = rho.clamp(0.0, 1.0 - 1.0 / n);
        ((1.0 + rho) / (1.0 - rho)).max(self.between(found)).clamp(1.0, n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(n: usize, share: f64, stay: f64, seed: u64) -> Vec<bool> {
        let mut random = Xoshiro::new(seed);
        let mut state = random.uniform() < share;
        (0..n)
            .map(|_| {
                if random.uniform() >= stay {
                    state = random.uniform() < share;
                }
                state
            })
            .collect()
    }

    #[test]
    fn independent_values_are_called_dependent_at_the_level() {
        for (n, share) in [(60, 0.5), (400, 0.5), (400, 0.01), (3000, 0.1), (9000, 0.5)] {
            let shown =
                (0..1500).filter(|seed| exceedances(&series(n, share, 0.0, *seed), None).shown).count();
            // 15 expected at 1%, standard deviation 3.9.
            assert!(shown <= 28, "{n} {share}: {shown}");
        }
    }

    #[test]
    fn places_among_all_tell_the_same_as_those_in_order() {
        let mut random = Xoshiro::new(9);
        for (n, share, batch) in [(17, 0.3, 4), (400, 0.5, 20), (1003, 0.1, 31)] {
            let taken: Vec<u8> = (0..n).map(|_| u8::from(random.uniform() < share)).collect();
            let places = (0..n).filter(|at| taken[*at] == 1);
            assert_eq!(Together::among(&taken, batch), Together::of(places, n, batch));
        }
    }

    #[test]
    fn values_that_stay_are_shown_and_the_variance_is_theirs() {
        for share in [0.5, 0.1] {
            let all: Vec<Exceedances> =
                (0..60).map(|seed| exceedances(&series(400, share, 0.5, seed), None)).collect();
            assert!(all.iter().filter(|one| one.shown).count() >= 58, "{share}");
            // The truth is (1 + 0.5) / (1 - 0.5).
            let mean = all.iter().map(|one| one.inflation).sum::<f64>() / 60.0;
            assert!((2.7..4.2).contains(&mean), "{share}: {mean}");
        }
        assert!(!exceedances(&[true; 50], None).shown);
    }
}
