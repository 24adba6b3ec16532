//! Generates random numbers that are the same on every machine for the same seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit state, used to make seeds and reference samples.
#[derive(Debug, Clone)]
pub struct SplitMix64(rand_xoshiro::SplitMix64);

impl SplitMix64 {
    /// A generator from a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(rand_xoshiro::SplitMix64::seed_from_u64(seed))
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in the open interval (0, 1): the midpoints of 2^53 cells.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        open_unit(self.next_u64())
    }
}

/// xoshiro256++ (Blackman, Vigna 2019): the generator of every simulation and bootstrap.
///
/// The distributions below are not those of `rand_distr`: their draws are part of every seeded result, and
/// its normal and gamma variates (ziggurat) would differ.
#[derive(Debug, Clone)]
pub struct Xoshiro(Xoshiro256PlusPlus);

impl Xoshiro {
    /// A generator from a seed, its state filled by SplitMix64 as its authors advise.
    pub fn new(seed: u64) -> Self {
        Xoshiro(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The `index`-th independent stream of a seed: replicate `index` of a bootstrap does not depend on the
    /// number of threads.
    pub fn stream(seed: u64, index: u64) -> Self {
        let mut mix = SplitMix64::new(seed);
        let salt = mix.next_u64();
        let mut other = SplitMix64::new(index ^ 0x6a09_e667_f3bc_c908);
        Xoshiro::new(salt ^ other.next_u64())
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in the open interval (0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        open_unit(self.next_u64())
    }

    /// Uniform integer in `0..bound` (Lemire 2019, with rejection); 0 for a bound of 0.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        if bound == 0 {
            return 0;
        }
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = product as u64;
            if low >= bound.wrapping_neg() % bound {
                return (product >> 64) as usize;
            }
        }
    }

    /// Standard exponential.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal (Marsaglia's polar method, one of the pair).
    pub fn normal(&mut self) -> f64 {
        loop {
            let u = 2.0 * self.uniform() - 1.0;
            let v = 2.0 * self.uniform() - 1.0;
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }

    /// Standard gamma of the given shape > 0 (Marsaglia, Tsang 2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = self.uniform().powf(1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }
}

#[inline]
fn open_unit(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_the_published_sequence() {
        let mut mix = SplitMix64::new(1_234_567);
        assert_eq!(mix.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(mix.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn xoshiro_gives_the_sequence_that_seeded_results_were_made_with() {
        let mut random = Xoshiro::new(7);
        assert_eq!(
            [random.next_u64(), random.next_u64()],
            [1_021_219_803_524_665_661, 3_174_977_118_032_272_916]
        );
        let mut random = Xoshiro::stream(7, 3);
        assert_eq!(
            [random.next_u64(), random.next_u64()],
            [12_342_442_750_128_053_027, 3_248_839_682_869_987_003]
        );
    }

    #[test]
    fn streams_of_one_seed_differ_and_repeat() {
        let a: Vec<u64> = (0..4).map(|i| Xoshiro::stream(7, i).next_u64()).collect();
        let b: Vec<u64> = (0..4).map(|i| Xoshiro::stream(7, i).next_u64()).collect();
        assert_eq!(a, b);
        assert!(a.windows(2).all(|w| w[0] != w[1]));
    }

    #[test]
    fn moments_are_those_of_the_distribution() {
        let mut random = Xoshiro::new(3);
        let n = 200_000;
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / n as f64;
        assert!((mean(&mut || random.normal()) - 0.0).abs() < 0.01);
        assert!((mean(&mut || random.gamma(2.5)) - 2.5).abs() < 0.02);
        assert!((mean(&mut || random.gamma(0.3)) - 0.3).abs() < 0.01);
        assert!((mean(&mut || random.exponential()) - 1.0).abs() < 0.01);
        assert!((mean(&mut || random.below(11) as f64) - 5.0).abs() < 0.05);
    }
}
