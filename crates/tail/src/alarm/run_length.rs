//! Computes the average run length of a CUSUM before a false alarm.
//!
//! It uses a Markov chain over a grid of the CUSUM's values (Brook, Evans 1972). The increments are those of
//! the estimated distribution, the runs come from the true one; averaged over bootstrap baselines, the false-alarm
//! rate is the stated one and includes the error of the estimated baseline.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::whitened::{self, Whitened};
use crate::series::sorted_quantile;
use crate::{Gev, special};

/// Grid steps in the cap. The increments have point masses at plus and minus the cap, so the run length jumps
/// when the threshold crosses a multiple of it: the cap must be a whole number of steps, and thresholds lie
/// half a step beside grid points.
const STEPS: usize = 24;
/// Number of points that represent the true distribution.
const POINTS: usize = 2000;

/// ln of the density of k times the distribution over that of the distribution, at `x`, within ± `cap`.
pub(super) fn log_ratio(distribution: &Gev, x: f64, k: f64, cap: f64) -> f64 {
    let (under, base) = (distribution.ln_pdf(x / k) - k.ln(), distribution.ln_pdf(x));
    let ratio = match (under.is_finite(), base.is_finite()) {
        (true, true) => under - base,
        (true, false) => f64::INFINITY,
        (false, true) => f64::NEG_INFINITY,
        // Outside of both supports, the side decides.
        (false, false) if (x > distribution.location) == (k > 1.0) => f64::INFINITY,
        (false, false) => f64::NEG_INFINITY,
    };
    ratio.clamp(-cap, cap)
}

/// Runs of the true distribution, and the run before each: of independent ones evenly spaced quantiles; of an autoregression the
/// quantiles of what is new in a run, each after another run (points of Weyl's sequence).
pub(super) fn points(truth: &Whitened) -> Vec<(f64, f64)> {
    let Whitened { distribution, ar1 } = truth;
    let even = |i: usize| (i as f64 + 0.5) / POINTS as f64;
    if *ar1 == 0.0 {
        return (0..POINTS).map(|i| (distribution.quantile(even(i)), f64::NAN)).collect();
    }
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let innovation = (1.0 - ar1 * ar1).sqrt();
    (0..POINTS)
        .map(|i| {
            let before = special::normal_upper_quantile((golden * (i as f64 + 0.5)).fract());
            let here = ar1 * before - innovation * special::normal_upper_quantile(even(i));
            (whitened::value(distribution, here), whitened::value(distribution, before))
        })
        .collect()
}

/// Ascending increments of a CUSUM built on `estimate`, at the points of the true distribution.
pub(super) fn increments(points: &[(f64, f64)], estimate: &Whitened, k: f64, cap: f64) -> Vec<f64> {
    let distribution = &estimate.distribution;
    let left = |x: f64, before: f64| match estimate.ar1 {
        0.0 => x,
        _ => estimate.left(whitened::score(distribution, x), Some(whitened::score(distribution, before))),
    };
    let mut found: Vec<f64> =
        points.iter().map(|&(x, before)| log_ratio(distribution, left(x, before), k, cap)).collect();
    found.sort_unstable_by(f64::total_cmp);
    found
}

/// The threshold that belongs to a number of states of the chain.
fn threshold(states: usize, cap: f64) -> f64 {
    (states as f64 - 0.5) * cap / STEPS as f64
}

/// Average run length from 0 until the CUSUM of these increments (ascending, equally likely, within ± `cap`)
/// exceeds the threshold of that many states.
pub(super) fn average_run_length(increments: &[f64], states: usize, cap: f64) -> f64 {
    let width = cap / STEPS as f64;
    let at_most = |x: f64| increments.partition_point(|&s| s <= x) as f64 / increments.len() as f64;
    // F((d + 1/2) w) for steps d from -states to states.
    let cumulative: Vec<f64> =
        (0..=2 * states).map(|d| at_most((d as f64 - states as f64 + 0.5) * width)).collect();
    let mut a = vec![0.0; states * states];
    let mut b = vec![1.0; states];
    for i in 0..states {
        for j in 0..states {
            let d = states + j - i;
            let stays = if j == 0 { cumulative[d] } else { cumulative[d] - cumulative[d - 1] };
            a[i * states + j] = f64::from(u8::from(i == j)) - stays;
        }
    }
    // I - R is an M-matrix: elimination needs no pivots.
    for p in 0..states {
        let pivot = a[p * states + p];
        if pivot <= 1e-300 {
            return f64::INFINITY;
        }
        for i in p + 1..states {
            let factor = a[i * states + p] / pivot;
            if factor != 0.0 {
                let (above, below) = a.split_at_mut(i * states);
                for (x, y) in below[p..states].iter_mut().zip(&above[p * states + p..(p + 1) * states]) {
                    *x -= factor * y;
                }
                b[i] -= factor * b[p];
            }
        }
    }
    for i in (0..states).rev() {
        let rest: f64 = (i + 1..states).map(|j| a[i * states + j] * b[j]).sum();
        b[i] = (b[i] - rest) / a[i * states + i];
    }
    b[0]
}

/// The thresholds at which the mean rate of false alarms over the baselines, and its 90% quantile, are `rate`.
pub(super) fn thresholds(baselines: &[Vec<f64>], rate: f64, cap: f64) -> (f64, f64) {
    let mut known = BTreeMap::new();
    let mut rates = |states: usize| -> Vec<f64> {
        let found = known.entry(states).or_insert_with(|| {
            let mut rates: Vec<f64> = baselines
                .par_iter()
                .map(|increments| 1.0 / average_run_length(increments, states, cap))
                .collect();
            rates.sort_unstable_by(f64::total_cmp);
            rates
        });
        found.clone()
    };
    let mut solve = |statistic: &dyn Fn(&[f64]) -> f64| -> f64 {
        // About ln(1 / rate) is a bound for a known distribution (Lorden 1971); the estimated one may need more.
        let highest = 1.5 * (1.0 / rate).ln() + 3.0;
        let (mut low, mut high) = (1, (highest / cap * STEPS as f64).ceil() as usize + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if statistic(&rates(middle)) > rate { low = middle } else { high = middle }
        }
        let (above, below) = (statistic(&rates(low)), statistic(&rates(high)));
        let (from, to) = (threshold(low, cap), threshold(high, cap));
        // Interpolate linearly in ln rate between neighbours, unless the rate jumps there.
        if above > rate && below < rate && below > 0.6 * above {
            from + (to - from) * (above / rate).ln() / (above / below).ln()
        } else {
            to
        }
    };
    (
        solve(&|rates| rates.iter().sum::<f64>() / rates.len() as f64),
        solve(&|rates| sorted_quantile(rates, 0.9)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Xoshiro;

    #[test]
    fn the_chain_gives_the_run_length_of_simulated_streams() {
        let distribution = Gev::new(11.1679, 0.212, -0.00105).unwrap();
        let truth = Whitened { distribution, ar1: 0.0 };
        // On both sides, and on both sides of a leap of the run length at one cap.
        for (k, states) in [(1.05, 22), (1.05, 27), (1.0 / 1.05, 30)] {
            let found = average_run_length(&increments(&points(&truth), &truth, k, 3.0), states, 3.0);
            let mut random = Xoshiro::new(3);
            let alarms = 500;
            let mut runs = 0u64;
            for _ in 0..alarms {
                let mut w = 0.0f64;
                while w <= threshold(states, 3.0) {
                    w = (w + log_ratio(&distribution, distribution.sample(&mut random), k, 3.0)).max(0.0);
                    runs += 1;
                }
            }
            let simulated = runs as f64 / f64::from(alarms);
            // Run lengths are nearly exponential: four standard errors, and 3% for the grid.
            let slack = 4.0 / f64::from(alarms).sqrt() + 0.03;
            assert!((found / simulated - 1.0).abs() < slack, "{k} {states}: {found} against {simulated}");
        }
    }
}
