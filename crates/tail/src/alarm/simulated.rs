//! How often a CUSUM of an autoregression gives false alarms, by simulation.
//!
//! The chain of `run_length` takes increments as independent. Where the distribution or the coefficient of the autoregression is an
//! estimate, what is left of a run still resembles that of the run before, and alarms come more often than by the chain.

use rayon::prelude::*;

use super::run_length::log_ratio;
use super::whitened::{self, Whitened};
use crate::Xoshiro;

/// Runs that are simulated for each baseline: 200 alarms at the default rate over all of them.
const RUNS: usize = 4000;

/// Mean false alarms a run of two CUSUMs (factor, threshold), each over these baselines' estimates of the truth.
pub(super) fn rates(
    truth: &Whitened,
    estimates: &[Whitened],
    sides: [(f64, f64); 2],
    cap: f64,
    seed: u64,
) -> [f64; 2] {
    let innovation = (1.0 - truth.ar1 * truth.ar1).sqrt();
    let counts: Vec<[u32; 2]> = estimates
        .par_iter()
        .enumerate()
        .map(|(index, estimate)| {
            let mut random = Xoshiro::stream(seed, index as u64);
            let mut state = random.normal();
            let mut last = None;
            let (mut sums, mut alarms) = ([0.0f64; 2], [0; 2]);
            for _ in 0..RUNS {
                state = truth.ar1 * state + innovation * random.normal();
                let score =
                    whitened::score(&estimate.distribution, whitened::value(&truth.distribution, state));
                let left = estimate.left(score, last);
                last = Some(score);
                for (side, (k, threshold)) in sides.into_iter().enumerate() {
                    sums[side] = (sums[side] + log_ratio(&estimate.distribution, left, k, cap)).max(0.0);
                    if sums[side] > threshold {
                        alarms[side] += 1;
                        sums[side] = 0.0;
                    }
                }
            }
            alarms
        })
        .collect();
    let runs = (estimates.len() * RUNS) as f64;
    [0, 1].map(|side| f64::from(counts.iter().map(|count| count[side]).sum::<u32>()) / runs)
}
