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

/// ln(1 - F) and F of ascending values.
#[derive(Default)]
struct Probabilities {
    /// -ln F.
    intensity: Vec<f64>,
    ln_survival: Vec<f64>,
    below: Vec<f64>,
}

/// Fills in what follows from the intensities.
struct FromIntensity<'a>(&'a mut Probabilities);

impl LaneWork for FromIntensity<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let Probabilities { intensity, ln_survival, below } = self.0;
        // First -(1 - F); F itself needs no more digits, since it is only compared and added up.
        ln_survival.clear();
        ln_survival.extend(intensity.iter().map(|t| lanes::exp_m1::<A>(-t)));
        below.clear();
        below.extend(ln_survival.iter().map(|less_1| 1.0 + less_1));
        ln_survival.iter_mut().for_each(|s| *s = lanes::ln::<A>(-*s));
    }
}

/// Two for each lane of the widest instructions: one is computed while the other is added.
const LANES: usize = 8;

/// The sums over all values that the statistics are made of: those of W² and A², of F, and of AU².
struct OrderedSums<'a>(&'a Probabilities);

impl LaneWork for OrderedSums<'_> {
    type Output = [f64; 4];

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> [f64; 4] {
        let Probabilities { intensity, ln_survival, below } = self.0;
        let n = intensity.len() as f64;
        let (double, half) = (2.0 * n, 0.5 / n);
        let terms = |i: f64, (intensity, ln_s, u): (f64, f64, f64)| {
            let odd = 2.0 * i + 1.0;
            let off = u - odd * half;
            [off * off, (double - odd) * ln_s - odd * intensity, u, (2.0 - odd * (2.0 * half)) * ln_s]
        };
        let mut sums = [[0.0; LANES]; 4];
        let mut index: [f64; LANES] = std::array::from_fn(|lane| lane as f64);
        let (mut intensities, mut survivals) =
            (intensity.chunks_exact(LANES), ln_survival.chunks_exact(LANES));
        let mut belows = below.chunks_exact(LANES);
        for ((intensity, ln_s), u) in intensities.by_ref().zip(survivals.by_ref()).zip(belows.by_ref()) {
            for lane in 0..LANES {
                let terms = terms(index[lane], (intensity[lane], ln_s[lane], u[lane]));
                for (sum, term) in sums.iter_mut().zip(terms) {
                    sum[lane] += term;
                }
                index[lane] += LANES as f64;
            }
        }
        let mut total = sums.map(|lanes| lanes.iter().sum::<f64>());
        let rest = intensities.remainder().iter().zip(survivals.remainder()).zip(belows.remainder());
        for (((intensity, ln_s), u), i) in rest.zip(index) {
            for (total, term) in total.iter_mut().zip(terms(i, (*intensity, *ln_s, *u))) {
                *total += term;
            }
        }
        total
    }
}

impl Statistics {
    /// Statistics of ascending pairs (ln F, ln(1 - F)).
    pub fn from_logs(logs: &[(f64, f64)]) -> Statistics {
        Statistics::of(&Probabilities {
            intensity: logs.iter().map(|(ln_f, _)| -ln_f).collect(),
            ln_survival: logs.iter().map(|(_, ln_s)| *ln_s).collect(),
            below: logs.iter().map(|(ln_f, _)| ln_f.exp()).collect(),
        })
    }

    /// Statistics of ascending values from their -ln F.
    fn of_intensities(intensity: Vec<f64>) -> Statistics {
        let mut found = Probabilities { intensity, ..Probabilities::default() };
        widest(FromIntensity(&mut found));
        Statistics::of(&found)
    }

    fn of(found: &Probabilities) -> Statistics {
        let n = found.intensity.len() as f64;
        let [w2, a2, sum_u, upper] = widest(OrderedSums(found));
        let a2 = -n - a2 / n;
        let d = found.below.iter().enumerate().fold(0.0f64, |d, (i, u)| {
            let i = i as f64;
            d.max((i + 1.0) / n - u).max(u - i / n)
        });
        Statistics {
            sqrt_n_d: n.sqrt() * d,
            w2: 1.0 / (12.0 * n) + w2,
            a2,
            au2: 0.5 * n - 2.0 * sum_u - upper,
        }
    }

    /// Statistics of ascending values for a distribution.
    pub fn of_sorted(sorted: &[f64], law: &Gev) -> Statistics {
        Statistics::of_intensities(law.intensities(sorted))
    }

    /// Statistics of ascending probabilities F(x).
    pub fn of_uniform(sorted: &[f64]) -> Statistics {
        Statistics::of(&Probabilities {
            intensity: sorted.iter().map(|u| -u.ln()).collect(),
            ln_survival: sorted.iter().map(|u| (-u).ln_1p()).collect(),
            below: sorted.to_vec(),
        })
    }
}
