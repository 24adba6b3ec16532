//! Coverage of the intervals of `scale` from several sizes, for ranks whose maxima have not converged to a
//! GEV.

use tail::Xoshiro;
use tail::scale::{PredictionWarning, Trust, joint};
use tail::special::normal_upper_quantile;

/// Quantile function of one rank: the value that it exceeds with the given probability.
type Upper = fn(f64) -> f64;

/// Distributions of one rank.
const DISTRIBUTIONS: [(&str, Upper); 4] = [
    ("normal", |rest| 10.0 + normal_upper_quantile(rest)),
    ("log-normal 0.5", |rest| 10.0 * (0.5 * normal_upper_quantile(rest)).exp()),
    ("log-normal 1", |rest| 10.0 * normal_upper_quantile(rest).exp()),
    ("Weibull 0.7", |rest| 10.0 + (-rest.ln()).powf(1.0 / 0.7)),
];

const SIZES: [f64; 4] = [4.0, 16.0, 64.0, 256.0];

/// Slowest of m ranks: the exceedance probability of the largest of m uniform numbers is 1 - u^(1/m).
fn slowest(of: Upper, m: f64, u: f64) -> f64 {
    of(-(u.ln() / m).exp_m1())
}

fn runs(of: Upper, runs: usize, seed: u64) -> Vec<(f64, Vec<f64>)> {
    let mut random = Xoshiro::new(seed);
    SIZES.map(|m| (m, (0..runs).map(|_| slowest(of, m, random.uniform())).collect())).into()
}

#[test]
fn supported_intervals_hold_for_ranks_that_are_not_max_stable() {
    let repetitions: u64 = std::env::var("REPETITIONS").ok().and_then(|r| r.parse().ok()).unwrap_or(16);
    let probabilities = [0.5, 0.95, 0.99];
    let (mut all, mut least) = (0, 0);
    for (name, of) in DISTRIBUTIONS {
        let (mut supported, mut held) = (0, [0; 3]);
        for seed in 0..repetitions {
            let found = joint(&runs(of, 200, 1000 + seed), 0.95).unwrap();
            let predicted = found.predict(2048.0, &probabilities, 0.95).unwrap();
            if predicted.trust != Trust::Supported {
                continue;
            }
            supported += 1;
            for ((quantile, p), held) in predicted.quantiles.iter().zip(probabilities).zip(&mut held) {
                let truth = slowest(of, 2048.0, p);
                *held += u32::from(quantile.interval.is_some_and(|interval| interval.contains(truth)));
            }
        }
        println!("{name}: {supported} of {repetitions} supported, of these hold {held:?}");
        all += supported;
        least += held.into_iter().min().unwrap_or(0);
    }
    // At 95% about two in forty fail.
    assert!(all >= 16 && 10 * least >= 9 * all, "{least} of {all}");
}

#[test]
fn supported_intervals_hold_for_normal_ranks_too() {
    let truth = slowest(DISTRIBUTIONS[0].1, 1024.0, 0.99);
    let supported: Vec<bool> = (0..60)
        .filter_map(|seed| {
            let predicted = joint(&runs(DISTRIBUTIONS[0].1, 100, 2000 + seed), 0.95).ok()?;
            let predicted = predicted.predict(1024.0, &[0.99], 0.95).ok()?;
            let interval = predicted.quantiles[0].interval?;
            (predicted.trust == Trust::Supported).then(|| interval.contains(truth))
        })
        .collect();
    let held = supported.iter().filter(|held| **held).count();
    // Regression: a quarter failed when both models used about the shape of the measured sizes for larger
    // sizes.
    assert!(supported.len() >= 25 && 10 * held >= 9 * supported.len(), "{held} of {}", supported.len());
}

#[test]
fn all_sizes_together_are_refused_by_chance_in_5_percent() {
    let distribution = tail::Gev { location: 10.0, scale: 0.4, shape: 0.0 };
    let refused = (0..200)
        .filter(|seed| {
            let mut random = Xoshiro::stream(3000, *seed);
            let sizes: Vec<(f64, Vec<f64>)> = SIZES
                .map(|m| (m, (0..40).map(|_| distribution.max_of(m / 4.0).sample(&mut random)).collect()))
                .into();
            joint(&sizes, 0.95).unwrap().trust == Trust::Refused
        })
        .count();
    // 5% of 200 are 10; more than 17 has a probability of 0.01.
    assert!(refused <= 17, "{refused}");
}

#[test]
fn a_prediction_beyond_eight_times_the_largest_size_has_a_warning() {
    let found = joint(&runs(DISTRIBUTIONS[1].1, 200, 5), 0.95).unwrap();
    let far = |to: f64| {
        let predicted = found.predict(to, &[0.5], 0.95).unwrap();
        let told = predicted.warnings.iter().any(|one| matches!(one, PredictionWarning::FarFromSizes { .. }));
        assert_eq!(told, told && predicted.trust >= Trust::Warned);
        told
    };
    assert!(!far(2048.0) && far(2049.0) && far(16_384.0));
}
