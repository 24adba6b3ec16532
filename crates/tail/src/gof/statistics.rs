//! Measures the distance between the empirical distribution and a fitted one.

use lanes::{Arithmetic, LaneWork, widest};
use serde::{Deserialize, Serialize};

use crate::Gev;

/// Statistics of the distance between the empirical and a fitted distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    /// √n times the Kolmogorov–Smirnov distance.
    pub sqrt_n_d: f64,
    /// Cramér–von Mises W².
    pub w2: f64,
    /// Anderson–Darling A².
    pub a2: f64,
    /// Upper-tail Anderson–Darling AU² (Sinclair, Spurr, Ahmad 1990).
    pub au2: f64,
}

/// Values of a block: what is computed for them lies in the first cache.
const BLOCK: usize = 512;

/// -ln F, ln(1 - F) and F of some of the ascending values.
struct Probabilities {
    intensity: [f64; BLOCK],
    ln_survival: [f64; BLOCK],
    below: [f64; BLOCK],
}

impl Probabilities {
    /// Those of the first values.
    #[inline(always)]
    fn first(&mut self, count: usize) -> [&mut [f64]; 3] {
        [&mut self.intensity, &mut self.ln_survival, &mut self.below].map(|of| &mut of[..count])
    }
}

/// How the probabilities of values are found: writes those of the first so many values of a block.
trait ProbabilitySource: Sync {
    /// Number of values.
    fn count(&self) -> usize;

    /// Writes the probabilities of some values from one on.
    fn fill<A: Arithmetic>(&self, from: usize, count: usize, block: &mut Probabilities);
}

/// Ascending values of a distribution, moved and scaled to its units.
struct OfDistribution<'a> {
    sorted: &'a [f64],
    /// What is subtracted, one after the other, and the factor behind.
    units: ([f64; 2], f64),
    distribution: &'a Gev,
}

impl ProbabilitySource for OfDistribution<'_> {
    fn count(&self) -> usize {
        self.sorted.len()
    }

    #[inline(always)]
    fn fill<A: Arithmetic>(&self, from: usize, count: usize, block: &mut Probabilities) {
        let ([first, second], rate) = self.units;
        let [intensity, ln_survival, below] = block.first(count);
        for (slot, x) in intensity.iter_mut().zip(&self.sorted[from..from + count]) {
            *slot = self.distribution.ln_intensity_of_lane::<A>(((x - first) - second) * rate);
        }
        // A loop of its own for each long chain of operations, so that those of several values overlap.
        intensity.iter_mut().for_each(|t| *t = lanes::exp::<A>(*t));
        // First -(1 - F); F itself needs no more digits, since it is only compared and added up.
        ln_survival.iter_mut().zip(&*intensity).for_each(|(s, t)| *s = lanes::exp_m1::<A>(-t));
        below.iter_mut().zip(&*ln_survival).for_each(|(u, less_1)| *u = 1.0 + less_1);
        ln_survival.iter_mut().for_each(|s| *s = lanes::ln::<A>(-*s));
    }
}

/// Ascending probabilities.
struct OfUniform<'a>(&'a [f64]);

impl ProbabilitySource for OfUniform<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn fill<A: Arithmetic>(&self, from: usize, count: usize, block: &mut Probabilities) {
        let [intensity, ln_survival, below] = block.first(count);
        below.copy_from_slice(&self.0[from..from + count]);
        intensity.iter_mut().zip(&*below).for_each(|(t, u)| *t = -lanes::ln::<A>(*u));
        ln_survival.iter_mut().zip(&*below).for_each(|(s, u)| *s = lanes::ln_1p::<A>(-u));
    }
}

/// Ascending pairs (ln F, ln(1 - F)).
struct OfLogs<'a>(&'a [(f64, f64)]);

impl ProbabilitySource for OfLogs<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn fill<A: Arithmetic>(&self, from: usize, count: usize, block: &mut Probabilities) {
        for (at, (ln_f, ln_s)) in self.0[from..from + count].iter().enumerate() {
            block.intensity[at] = -ln_f;
            block.ln_survival[at] = *ln_s;
            block.below[at] = ln_f.exp();
        }
    }
}

/// Two for each lane of the widest instructions: one is computed while the other is added.
const LANES: usize = 8;

/// The sums over all values that the statistics are made of, those of W² and A², of F, and of AU², and n times the largest
/// distance.
struct OrderedSums<'a, S>(&'a S);

impl<S: ProbabilitySource> LaneWork for OrderedSums<'_, S> {
    type Output = ([f64; 4], f64);

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> ([f64; 4], f64) {
        let count = self.0.count();
        let n = count as f64;
        let (double, half) = (2.0 * n, 0.5 / n);
        let terms = |i: f64, (intensity, ln_s, u): (f64, f64, f64)| {
            let odd = 2.0 * i + 1.0;
            let off = u - odd * half;
            [off * off, (double - odd) * ln_s - odd * intensity, u, (2.0 - odd * (2.0 * half)) * ln_s]
        };
        let distance = |i: f64, u: f64| {
            let (above, below) = (i + 1.0 - n * u, n * u - i);
            if above > below { above } else { below }
        };
        let mut block =
            Probabilities { intensity: [0.0; BLOCK], ln_survival: [0.0; BLOCK], below: [0.0; BLOCK] };
        let (mut total, mut farthest) = ([0.0; 4], [0.0_f64; LANES]);
        for from in (0..count).step_by(BLOCK) {
            let here = BLOCK.min(count - from);
            self.0.fill::<A>(from, here, &mut block);
            let Probabilities { intensity, ln_survival, below } = &block;
            let mut sums = [[0.0; LANES]; 4];
            let mut index: [f64; LANES] = std::array::from_fn(|lane| (from + lane) as f64);
            let (mut intensities, mut survivals) =
                (intensity[..here].chunks_exact(LANES), ln_survival[..here].chunks_exact(LANES));
            let mut belows = below[..here].chunks_exact(LANES);
            for ((intensity, ln_s), u) in intensities.by_ref().zip(survivals.by_ref()).zip(belows.by_ref()) {
                for lane in 0..LANES {
                    let terms = terms(index[lane], (intensity[lane], ln_s[lane], u[lane]));
                    for (sum, term) in sums.iter_mut().zip(terms) {
                        sum[lane] += term;
                    }
                    let off = distance(index[lane], u[lane]);
                    farthest[lane] = if off > farthest[lane] { off } else { farthest[lane] };
                    index[lane] += LANES as f64;
                }
            }
            total.iter_mut().zip(&sums).for_each(|(total, lanes)| *total += lanes.iter().sum::<f64>());
            let rest = intensities.remainder().iter().zip(survivals.remainder()).zip(belows.remainder());
            for ((((intensity, ln_s), u), i), farthest) in rest.zip(index).zip(&mut farthest) {
                for (total, term) in total.iter_mut().zip(terms(i, (*intensity, *ln_s, *u))) {
                    *total += term;
                }
                *farthest = farthest.max(distance(i, *u));
            }
        }
        (total, farthest.into_iter().fold(0.0, f64::max))
    }
}

impl Statistics {
    /// Statistics of ascending pairs (ln F, ln(1 - F)).
    pub fn from_logs(logs: &[(f64, f64)]) -> Statistics {
        Statistics::of(&OfLogs(logs))
    }

    fn of(source: &impl ProbabilitySource) -> Statistics {
        let n = source.count() as f64;
        let ([w2, a2, sum_u, upper], farthest) = widest(OrderedSums(source));
        Statistics {
            sqrt_n_d: farthest / n.sqrt(),
            w2: 1.0 / (12.0 * n) + w2,
            a2: -n - a2 / n,
            au2: 0.5 * n - 2.0 * sum_u - upper,
        }
    }

    /// Statistics of ascending values for a distribution.
    pub fn of_sorted(sorted: &[f64], distribution: &Gev) -> Statistics {
        Statistics::of(&OfDistribution { sorted, units: ([0.0; 2], 1.0), distribution })
    }

    /// Statistics of ascending values for a distribution of what they are after two numbers are subtracted, one after the
    /// other, and a factor is applied.
    pub(super) fn of_scaled(sorted: &[f64], units: ([f64; 2], f64), distribution: &Gev) -> Statistics {
        Statistics::of(&OfDistribution { sorted, units, distribution })
    }

    /// Statistics of ascending probabilities F(x).
    pub fn of_uniform(sorted: &[f64]) -> Statistics {
        Statistics::of(&OfUniform(sorted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    /// By their definitions.
    fn plain(u: &[f64]) -> Statistics {
        let n = u.len() as f64;
        let mut found = Statistics { sqrt_n_d: 0.0, w2: 1.0 / (12.0 * n), a2: -n, au2: 0.5 * n };
        for (i, u) in (0..).map(f64::from).zip(u) {
            let odd = 2.0 * i + 1.0;
            found.sqrt_n_d = found.sqrt_n_d.max(n.sqrt() * ((i + 1.0) / n - u).max(u - i / n));
            found.w2 += (u - odd / (2.0 * n)).powi(2);
            found.a2 -= (odd * u.ln() + (2.0 * n - odd) * (-u).ln_1p()) / n;
            found.au2 -= 2.0 * u + (2.0 - odd / n) * (-u).ln_1p();
        }
        found
    }

    #[test]
    fn statistics_are_those_of_plain_loops_for_any_number_of_values() {
        let mut random = Xoshiro::new(8);
        for n in [1, 7, 8, 9, 60, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5, 40_000] {
            for shape in [-0.7, 0.0, 0.8] {
                let distribution = Gev { location: 1.0, scale: 2.0, shape };
                let fitted = Gev { location: 1.2, scale: 2.2, shape: shape + 0.02 };
                let mut values: Vec<f64> = (0..n).map(|_| distribution.sample(&mut random)).collect();
                values.retain(|x| fitted.cdf(*x) > 0.0 && fitted.survival(*x) > 0.0);
                values.sort_by(f64::total_cmp);
                let u: Vec<f64> = values.iter().map(|x| fitted.cdf(*x)).collect();
                let moved: Vec<f64> = values.iter().map(|x| x * 4.0 + 3.0).collect();
                let logs: Vec<(f64, f64)> = u.iter().map(|u| (u.ln(), (-u).ln_1p())).collect();
                let wanted = plain(&u);
                let others = [
                    Statistics::of_sorted(&values, &fitted),
                    Statistics::of_scaled(&moved, ([1.0, 2.0], 0.25), &fitted),
                    Statistics::of_uniform(&u),
                    Statistics::from_logs(&logs),
                ];
                for found in others {
                    let pairs = [
                        (found.sqrt_n_d, wanted.sqrt_n_d),
                        (found.w2, wanted.w2),
                        (found.a2, wanted.a2),
                        (found.au2, wanted.au2),
                    ];
                    for (found, wanted) in pairs {
                        assert!((found - wanted).abs() < 1e-11 * n as f64, "{n} {shape}: {found} {wanted}");
                    }
                }
            }
        }
    }
}
