//! How long does a CUSUM run before it alarms for nothing?
//!
//! Its average run length by a Markov chain over a grid of its values (Brook, Evans 1972). The increments are
//! those of the estimated law, the runs come from the true one; averaged over bootstrap baselines, the rate of
//! false alarms is the stated one with the error of the estimated baseline in it.

use rayon::prelude::*;

use crate::Gev;
use crate::series::sorted_quantile;

/// Values of the grid.
const STATES: usize = 48;
/// Points that stand for the true law.
const POINTS: usize = 2000;

/// ln of the density of k times the law over that of the law, at `x`, within ± `cap`.
pub(super) fn log_ratio(law: &Gev, x: f64, k: f64, cap: f64) -> f64 {
    let (under, base) = (law.ln_pdf(x / k) - k.ln(), law.ln_pdf(x));
    let ratio = match (under.is_finite(), base.is_finite()) {
        (true, true) => under - base,
        (true, false) => f64::INFINITY,
        (false, true) => f64::NEG_INFINITY,
        // Outside both supports: the side tells.
        (false, false) if (x > law.location) == (k > 1.0) => f64::INFINITY,
        (false, false) => f64::NEG_INFINITY,
    };
    ratio.clamp(-cap, cap)
}

/// Even quantiles of the law that the runs come from.
pub(super) fn points(law: &Gev) -> Vec<f64> {
    (0..POINTS).map(|i| law.quantile((i as f64 + 0.5) / POINTS as f64)).collect()
}

/// Ascending increments of a CUSUM built on `estimate`, at the points of the true law.
pub(super) fn increments(points: &[f64], estimate: &Gev, k: f64, cap: f64) -> Vec<f64> {
    let mut found: Vec<f64> = points.iter().map(|&x| log_ratio(estimate, x, k, cap)).collect();
    found.sort_unstable_by(f64::total_cmp);
    found
}

/// Average run length from 0 until the CUSUM of these increments (ascending, equally likely) exceeds `h`.
pub(super) fn average_run_length(increments: &[f64], h: f64) -> f64 {
    let width = 2.0 * h / (2.0 * STATES as f64 - 1.0);
    let at_most = |x: f64| increments.partition_point(|&s| s <= x) as f64 / increments.len() as f64;
    // F((d + 1/2) w) for steps d from -STATES to STATES.
    let cumulative: Vec<f64> =
        (0..=2 * STATES).map(|d| at_most((d as f64 - STATES as f64 + 0.5) * width)).collect();
    let mut a = vec![0.0; STATES * STATES];
    let mut b = vec![1.0; STATES];
    for i in 0..STATES {
        for j in 0..STATES {
            let d = STATES + j - i;
            let stays = if j == 0 { cumulative[d] } else { cumulative[d] - cumulative[d - 1] };
            a[i * STATES + j] = f64::from(u8::from(i == j)) - stays;
        }
    }
    // I - R is an M-matrix: elimination needs no pivots.
    for p in 0..STATES {
        let pivot = a[p * STATES + p];
        if pivot <= 1e-300 {
            return f64::INFINITY;
        }
        for i in p + 1..STATES {
            let factor = a[i * STATES + p] / pivot;
            if factor != 0.0 {
                let (above, below) = a.split_at_mut(i * STATES);
                for (x, y) in below[p..STATES].iter_mut().zip(&above[p * STATES + p..(p + 1) * STATES]) {
                    *x -= factor * y;
                }
                b[i] -= factor * b[p];
            }
        }
    }
    for i in (0..STATES).rev() {
        let rest: f64 = (i + 1..STATES).map(|j| a[i * STATES + j] * b[j]).sum();
        b[i] = (b[i] - rest) / a[i * STATES + i];
    }
    b[0]
}

/// Thresholds at which run lengths are computed; between them their logarithm is nearly a straight line.
const GRID: usize = 9;

/// The thresholds at which the mean rate of false alarms over the baselines, and its 90 % quantile, are `rate`.
pub(super) fn thresholds(baselines: &[Vec<f64>], rate: f64) -> (f64, f64) {
    // About ln(1 / rate) is a bound for a known law (Lorden 1971); the estimated one may need more.
    let (lowest, highest) = (0.3, 1.5 * (1.0 / rate).ln() + 3.0);
    let step = (highest - lowest) / (GRID as f64 - 1.0);
    let curves: Vec<Vec<f64>> = baselines
        .par_iter()
        .map(|increments| {
            (0..GRID)
                .map(|i| average_run_length(increments, lowest + step * i as f64).min(1e30).ln())
                .collect()
        })
        .collect();
    let rates = |h: f64| -> Vec<f64> {
        let at = ((h - lowest) / step).clamp(0.0, GRID as f64 - 1.0);
        let cell = (at as usize).min(GRID - 2);
        let part = at - cell as f64;
        let mut rates: Vec<f64> =
            curves.iter().map(|c| (-(c[cell] * (1.0 - part) + c[cell + 1] * part)).exp()).collect();
        rates.sort_unstable_by(f64::total_cmp);
        rates
    };
    let solve = |statistic: &dyn Fn(&[f64]) -> f64| -> f64 {
        let (mut low, mut high) = (lowest, highest);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if statistic(&rates(middle)) > rate { low = middle } else { high = middle }
        }
        high
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
        let law = Gev::new(11.1679, 0.212, -0.00105).unwrap();
        let found = average_run_length(&increments(&points(&law), &law, 1.05, 3.0), 5.0);
        let mut random = Xoshiro::new(3);
        let alarms = 1500;
        let mut runs = 0u64;
        for _ in 0..alarms {
            let mut w = 0.0f64;
            while w <= 5.0 {
                w = (w + log_ratio(&law, law.sample(&mut random), 1.05, 3.0)).max(0.0);
                runs += 1;
            }
        }
        let simulated = runs as f64 / f64::from(alarms);
        // Run lengths are nearly exponential: four standard errors, and 2 % for the grid.
        let slack = 4.0 / f64::from(alarms).sqrt() + 0.02;
        assert!((found / simulated - 1.0).abs() < slack, "{found} against {simulated}");
    }
}
