//! Compares two models fitted to the same values (Vuong 1989).

use lanes::{Arithmetic, LaneWork, widest};
use serde::{Deserialize, Serialize};

use crate::special::normal_two_sided;

/// Vuong's comparison of two fits to the same values (Vuong 1989) with a Newey-West variance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Vuong {
    /// Σ d / (ω √n), d = ln f₁ - ln f₂ value by value: well above 0 the first model is preferred, well below
    /// 0 the second ([`super::Levels`]).
    pub z: f64,
    /// Two-sided p-value.
    pub p: f64,
    /// Mean of d.
    pub mean: f64,
    /// ω, the long-run standard deviation of d.
    pub deviation: f64,
}

/// The preferred one of two models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// The GEV.
    Gev,
    /// The rival.
    Rival,
    /// Neither.
    Neither,
}

/// Compare by the log-densities under both fits, in time order. `None` if a density is 0 at some value or the
/// two models are equal everywhere.
pub fn vuong(first: &[f64], second: &[f64]) -> Option<Vuong> {
    let n = first.len().min(second.len());
    if n < 2 {
        return None;
    }
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let mean = differences.iter().sum::<f64>() / n as f64;
    vuong_of(n, mean, || long_run_variance(&differences, mean))
}

/// [`vuong`] of `n` values that are in groups with one log-density each: that of a group under both models, its number of
/// values, and the group of each value in time order.
pub(crate) fn vuong_of_groups(
    (first, second): (&[f64], &[f64]),
    weights: &[f64],
    group_of: &[u32],
) -> Option<Vuong> {
    let n = group_of.len();
    let mut centred: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let mean = centred.iter().zip(weights).map(|(d, weight)| weight * d).sum::<f64>() / n as f64;
    centred.iter_mut().for_each(|d| *d -= mean);
    vuong_of(n, mean, || {
        variance_of_sums(n, |from, slots| {
            slots
                .iter_mut()
                .zip(&group_of[from..])
                .for_each(|(slot, group)| *slot = centred[*group as usize]);
        })
    })
}

fn vuong_of(n: usize, mean: f64, variance: impl FnOnce() -> f64) -> Option<Vuong> {
    if n < 2 || !mean.is_finite() {
        return None;
    }
    let variance = variance();
    let noise = 1e-20 * (1.0 + mean * mean);
    if variance.is_nan() || variance <= noise {
        return None;
    }
    let deviation = variance.sqrt();
    let z = mean * (n as f64).sqrt() / deviation;
    Some(Vuong { z, p: normal_two_sided(z), mean, deviation })
}

/// Newey-West variance with Bartlett weights and bandwidth 4 (n / 100)^(2/9) (Newey, West 1987, 1994); the
/// plain variance where that is larger, so that random negative autocorrelation does not strengthen the
/// evidence.
pub fn long_run_variance(values: &[f64], mean: f64) -> f64 {
    variance_of_sums(values.len(), |from, slots| {
        slots.iter_mut().zip(&values[from..]).for_each(|(slot, x)| *slot = x - mean);
    })
}

/// The bandwidth for `n` values.
fn bandwidth(n: usize) -> usize {
    ((4.0 * (n as f64 / 100.0).powf(2.0 / 9.0)).floor() as usize).min(n.saturating_sub(1))
}

/// [`long_run_variance`] of `n` centred values, some of which from a given one on `fill` writes. With Bartlett weights it
/// is the mean square of the sums of each bandwidth + 1 successive values, those outside being 0, over their number; so
/// the time is that of `n` values whatever the bandwidth.
fn variance_of_sums(n: usize, fill: impl Fn(usize, &mut [f64])) -> f64 {
    const BLOCK: usize = 1024;
    let width = bandwidth(n) + 1;
    let before = width - 1;
    let mut values = vec![0.0; BLOCK + before];
    let (mut power, mut next, mut sums) = (values.clone(), values.clone(), vec![0.0; BLOCK]);
    let (mut plain, mut long_run) = (0.0, 0.0);
    // Sums begin from `before` values ahead of the first on; `at` counts from there.
    for at in (0..n + before).step_by(BLOCK) {
        let outside = before.saturating_sub(at).min(values.len());
        let from = (at + outside - before).min(n);
        let count = (values.len() - outside).min(n - from);
        values[..outside].fill(0.0);
        values[outside + count..].fill(0.0);
        fill(from, &mut values[outside..outside + count]);
        power.copy_from_slice(&values);
        widest(MovingSums { power: &mut power, next: &mut next, sums: &mut sums, width });
        let [own, square] = widest(Squares([&values[before..], &sums]));
        (plain, long_run) = (plain + own, long_run + square);
    }
    (plain / n as f64).max(long_run / (width as f64 * n as f64))
}

/// The sum of each `width` successive numbers of `power`, by sums of 1, 2, 4, ... of them.
struct MovingSums<'a> {
    power: &'a mut Vec<f64>,
    next: &'a mut Vec<f64>,
    sums: &'a mut [f64],
    width: usize,
}

impl LaneWork for MovingSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let MovingSums { power, next, sums, width } = self;
        sums.fill(0.0);
        let (mut summed, mut step) = (0, 1);
        loop {
            if width & step > 0 {
                sums.iter_mut().zip(&power[summed..]).for_each(|(sum, x)| *sum += x);
                summed += step;
            }
            if summed == width {
                return;
            }
            for ((next, x), later) in next.iter_mut().zip(&*power).zip(&power[step..]) {
                *next = x + later;
            }
            std::mem::swap(power, next);
            step *= 2;
        }
    }
}

/// The sums of the squares of both.
struct Squares<'a>([&'a [f64]; 2]);

impl LaneWork for Squares<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [f64; 2] {
        const LANES: usize = 32;
        self.0.map(|numbers| {
            let mut sums = [0.0; LANES];
            for group in numbers.chunks(LANES) {
                sums.iter_mut().zip(group).for_each(|(sum, x)| *sum = A::mul_add(*x, *x, *sum));
            }
            sums.iter().sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    /// By its definition, from autocovariances.
    fn by_covariances(values: &[f64], mean: f64) -> f64 {
        let size = values.len() as f64;
        let centred: Vec<f64> = values.iter().map(|x| x - mean).collect();
        let covariance =
            |lag: usize| centred[lag..].iter().zip(&centred).map(|(a, b)| a * b).sum::<f64>() / size;
        let most = bandwidth(values.len());
        let weighted: f64 =
            (1..=most).map(|lag| 2.0 * (1.0 - lag as f64 / (most as f64 + 1.0)) * covariance(lag)).sum();
        covariance(0).max(covariance(0) + weighted)
    }

    #[test]
    fn the_long_run_variance_is_that_of_weighted_autocovariances() {
        let mut random = Xoshiro::new(2);
        for n in [2, 3, 5, 40, 1000, 1018, 1024, 1025, 2100, 60_000] {
            for memory in [-0.5, 0.0, 0.8] {
                let mut state = 0.0;
                let next = |_| {
                    state = memory * state + random.normal();
                    3.0 + state
                };
                let values: Vec<f64> = (0..n).map(next).collect();
                let mean = values.iter().sum::<f64>() / n as f64;
                let (found, wanted) = (long_run_variance(&values, mean), by_covariances(&values, mean));
                assert!((found / wanted - 1.0).abs() < 1e-10, "{n} {memory}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn values_in_groups_are_compared_as_one_by_one() {
        let mut random = Xoshiro::new(4);
        let group_of: Vec<u32> = (0..5000).map(|_| random.below(50) as u32).collect();
        let [first, second] =
            [1.0, 1.1].map(|scale| (0..50).map(|_| scale * random.normal()).collect::<Vec<f64>>());
        let mut weights = vec![0.0; 50];
        group_of.iter().for_each(|group| weights[*group as usize] += 1.0);
        let each = |of: &[f64]| group_of.iter().map(|group| of[*group as usize]).collect::<Vec<f64>>();
        let one_by_one = vuong(&each(&first), &each(&second)).unwrap();
        let found = vuong_of_groups((&first, &second), &weights, &group_of).unwrap();
        assert!((found.z - one_by_one.z).abs() < 1e-9 * one_by_one.z.abs(), "{found:?} {one_by_one:?}");
        let nowhere = vec![f64::NEG_INFINITY; 50];
        assert!(vuong_of_groups((&first, &nowhere), &weights, &group_of).is_none());
        assert!(vuong_of_groups((&first, &first), &weights, &group_of).is_none());
    }

    #[test]
    fn equal_models_cannot_be_compared() {
        assert!(vuong(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]).is_none());
        assert!(vuong(&[1.0, 2.0], &[f64::NEG_INFINITY, 2.0]).is_none());
    }

    #[test]
    fn the_sign_names_the_better_model_and_swaps() {
        let better: Vec<f64> = (0..100).map(|i| f64::from(i % 7)).collect();
        let worse: Vec<f64> = better.iter().enumerate().map(|(i, x)| x - 0.5 - (i % 2) as f64).collect();
        let one = vuong(&better, &worse).unwrap();
        let other = vuong(&worse, &better).unwrap();
        assert!(one.z > 2.0);
        assert!((one.z + other.z).abs() < 1e-12);
    }
}
