//! Draws the random numbers of a program, seeded per rank: the same seed gives the same operations.
//!
//! The generator is xoshiro256++ (Blackman and Vigna 2019), seeded through SplitMix64 (Steele, Lea and Flood
//! 2014), of `rand_xoshiro`. The distributions are implemented here, because a seed in a run file must always
//! give the same numbers; another method of drawing would change the program.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct RandomSequence {
    generator: Xoshiro256PlusPlus,
    /// The second of two normal numbers that were drawn together.
    spare: Option<f64>,
}

impl RandomSequence {
    /// The sequence number `stream` of a seed.
    pub fn new(seed: u64, stream: u64) -> Self {
        let seed = seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95).rotate_left(17);
        Self { generator: Xoshiro256PlusPlus::seed_from_u64(seed), spare: None }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in the open interval (0, 1), so that logarithms are finite.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Uniform from 0 to `n - 1` (multiply and shift, Lemire 2019, without rejection: the bias is below
    /// n/2⁶⁴).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Exponential with that mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// Standard normal (polar method, Marsaglia and Bray 1964).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(v * factor);
                return u * factor;
            }
        }
    }

    /// Pareto: P(X > x) = (least/x)^shape.
    pub fn pareto(&mut self, shape: f64, least: f64) -> f64 {
        least * self.unit().powf(-1.0 / shape)
    }

    /// Generalised extreme value by inversion (Jenkinson 1955); a shape above 0 is heavy.
    pub fn gev(&mut self, location: f64, scale: f64, shape: f64) -> f64 {
        let exponential = -self.unit().ln();
        if shape.abs() < 1e-9 {
            location - scale * exponential.ln()
        } else {
            location + scale * (exponential.powf(-shape) - 1.0) / shape
        }
    }

    /// Zipf over 0 to `n - 1`: k has a weight of 1/(k+1)^s. Rejection inversion (Hörmann and
    /// Derflinger 1996), which needs no table.
    pub fn zipf(&mut self, n: u64, s: f64) -> u64 {
        if n <= 1 {
            return 0;
        }
        let n = n as f64;
        // The integral of x^-s and its inverse, written so that s = 1 is not a special case.
        let integral = |x: f64| {
            let log = x.ln();
            expm1_over((1.0 - s) * log) * log
        };
        let inverse = |x: f64| {
            let t = (x * (1.0 - s)).max(-1.0);
            (log1p_over(t) * x).exp()
        };
        let weight = |x: f64| (-s * x.ln()).exp();
        let (low, high) = (integral(1.5) - 1.0, integral(n + 0.5));
        let shortcut = 2.0 - inverse(integral(2.5) - weight(2.0));
        loop {
            let u = high + self.unit() * (low - high);
            let x = inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, n);
            if k - x <= shortcut || u >= integral(k + 0.5) - weight(k) {
                return k as u64 - 1;
            }
        }
    }
}

/// (e^x - 1) / x
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 200_000;

    fn mean(draw: impl FnMut() -> f64) -> f64 {
        let mut draw = draw;
        (0..N).map(|_| draw()).sum::<f64>() / N as f64
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence_and_ranks_differ() {
        let take = |seed, rank| {
            let mut random = RandomSequence::new(seed, rank);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(take(1, 0), take(1, 0));
        assert_ne!(take(1, 0), take(1, 1));
        assert_ne!(take(1, 0), take(2, 0));
    }

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let mut random = RandomSequence::new(7, 3);
        let drawn = [random.bits(), random.bits(), random.bits()];
        assert_eq!(drawn, [0xeb82_6336_c85f_f3c2, 0xd5d5_99b6_e1f8_4815, 0x2fdc_bfc7_fe42_ade1]);
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let mut random = RandomSequence::new(7, 0);
        assert!((mean(|| random.exponential(3.0)) - 3.0).abs() < 0.05);
        assert!(mean(|| random.normal()).abs() < 0.02);
        assert!((mean(|| random.pareto(3.0, 1.0)) - 1.5).abs() < 0.03);
        // Gumbel: location + scale * Euler's constant.
        assert!((mean(|| random.gev(1.0, 2.0, 0.0)) - (1.0 + 2.0 * 0.577_215_7)).abs() < 0.03);
    }

    #[test]
    fn zipf_has_the_documented_weights() {
        for s in [0.5, 1.0, 1.2] {
            let n = 10;
            let mut random = RandomSequence::new(3, 0);
            let mut counts = vec![0f64; n];
            for _ in 0..N {
                counts[random.zipf(n as u64, s) as usize] += 1.0;
            }
            let total: f64 = (1..=n).map(|k| (k as f64).powf(-s)).sum();
            for (k, count) in counts.iter().enumerate() {
                let expected = ((k + 1) as f64).powf(-s) / total;
                assert!((count / N as f64 - expected).abs() < 0.005, "s = {s}, k = {k}");
            }
        }
    }
}
