//! Threshold, extremal index and levels of many latencies.

use tail::latency::{analyse, intervals_estimate, k_gaps};
use tail::{Gpd, Xoshiro};

fn pareto(seed: u64, n: usize) -> Vec<f64> {
    let law = Gpd { threshold: 1.0, scale: 0.5, shape: 0.2 };
    let mut random = Xoshiro::new(seed);
    (0..n).map(|_| law.sample(&mut random)).collect()
}

#[test]
fn a_pure_tail_is_recognised_and_extrapolated() {
    let found = analyse(&pareto(1, 40_000), &[100.0, 1e6], 0.95, 1).unwrap();
    let fit = found.fit.unwrap();
    assert!((fit.shape - 0.2).abs() < 0.1, "{}", fit.shape);
    assert!(!found.levels[0].extrapolated && found.levels[1].extrapolated);
    let truth = Gpd { threshold: 1.0, scale: 0.5, shape: 0.2 }.upper_quantile(1e-6);
    assert!(found.levels[1].interval.unwrap().contains(truth), "{:?} {truth}", found.levels[1]);
    assert!(found.extremal_index.iter().all(|t| *t > 0.9), "{:?}", found.extremal_index);
}

#[test]
fn clusters_of_two_have_an_extremal_index_of_one_half() {
    // ARMAX with θ = 1/2: x_t = max(x_{t-1} / 2, z_t / 2), z unit Fréchet.
    let mut random = Xoshiro::new(2);
    let mut state = 1.0f64;
    let n = 100_000;
    let values: Vec<f64> = (0..n)
        .map(|_| {
            state = (0.5 * state).max(0.5 / random.exponential());
            state
        })
        .collect();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let threshold = sorted[n - 1000];
    let times: Vec<usize> = (0..n).filter(|&i| values[i] > threshold).collect();
    for theta in [intervals_estimate(&times), k_gaps(&times, n, 1)] {
        assert!((theta - 0.5).abs() < 0.08, "{theta}");
    }
}

#[test]
fn few_values_are_refused() {
    assert!(analyse(&pareto(3, 500), &[100.0], 0.95, 1).is_err());
}
