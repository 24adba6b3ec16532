//! Slow targets, common congestion, effective numbers, and predictions for larger sizes.

mod common;

use common::{data, json, number};
use tail::scale::{PredictionWarning, Trust, joint, scale};
use tail::{Gev, Xoshiro, targets};

/// ln S = a_i + b_t + e.
fn durations(m: usize, steps: usize, slow: f64, congestion: f64, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Xoshiro::new(seed);
    let b: Vec<f64> = (0..steps).map(|_| congestion * random.normal()).collect();
    (0..m)
        .map(|i| {
            let a = if i == 3 { slow } else { 0.0 };
            b.iter().map(|b| (1.0 + a + b + 0.05 * random.normal()).exp()).collect()
        })
        .collect()
}

#[test]
fn only_the_slow_target_is_reported() {
    let found = targets::analyse(&durations(16, 400, 0.04, 0.03, 1), 0.95).unwrap();
    let slow: Vec<usize> = found.targets.iter().filter(|t| t.slow).map(|t| t.target).collect();
    assert_eq!(slow, [3]);
    assert!(found.last.p < 0.05 && found.last.top == 3);
    assert!((found.ln_k_sd - 0.03).abs() < 0.004 && (found.residual_sd - 0.05).abs() < 0.002);
    assert!((found.variance_shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn a_target_is_compared_with_the_others_without_itself_and_the_slow_one() {
    // Target 1 takes 1.8 times as long as each other target, independent of their number.
    for m in 2..8 {
        let mut random = Xoshiro::new(m as u64);
        let all: Vec<Vec<f64>> = (0..m)
            .map(|i| {
                let factor = if i == 1 { 1.8 } else { 1.0 };
                (0..400).map(|_| factor * (0.02 * random.normal()).exp()).collect()
            })
            .collect();
        let found = targets::analyse(&all, 0.95).unwrap();
        let slow = &found.targets[1];
        assert!((slow.relative / 1.8 - 1.0).abs() < 0.01 && slow.slow, "{m}: {slow:?}");
        // By hand: the median over steps of the ratio to the median of the others that are not found slow.
        let median = |mut list: Vec<f64>| {
            list.sort_by(f64::total_cmp);
            0.5 * (list[(list.len() - 1) / 2] + list[list.len() / 2])
        };
        for (i, target) in found.targets.iter().enumerate() {
            let others: Vec<usize> = (0..m).filter(|j| *j != i && (*j != 1 || m == 2)).collect();
            let over = |t: usize| all[i][t].ln() - median(others.iter().map(|j| all[*j][t].ln()).collect());
            let wanted = median((0..400).map(over).collect());
            assert!((target.relative.ln() - wanted).abs() < 1e-12, "{m} {i}: {target:?}, {wanted}");
        }
    }
}

#[test]
fn the_interval_of_two_targets_covers_their_ratio_at_the_nominal_rate() {
    let held = (0..400)
        .filter(|&seed| {
            let mut random = Xoshiro::new(seed);
            let all: Vec<Vec<f64>> =
                [1.8, 1.0].map(|k| (0..60).map(|_| k * (0.2 * random.normal()).exp()).collect()).into();
            let found = targets::analyse(&all, 0.95).unwrap();
            assert!((found.targets[0].relative * found.targets[1].relative - 1.0).abs() < 1e-12);
            found.targets[0].interval.contains(1.8)
        })
        .count();
    // 380 expected, a standard deviation of 4.4.
    assert!((364..=394).contains(&held), "{held} of 400");
}

#[test]
fn equal_targets_are_rarely_reported_as_slow() {
    let accused = (0..60)
        .filter(|&seed| {
            targets::analyse(&durations(8, 100, 0.0, 0.03, 100 + seed), 0.95)
                .unwrap()
                .targets
                .iter()
                .any(|t| t.slow)
        })
        .count();
    assert!(accused <= 6, "{accused} of 60");
}

#[test]
fn the_effective_number_lies_between_one_and_all() {
    let independent = targets::analyse(&durations(8, 2000, 0.0, 0.0, 7), 0.95).unwrap().extremal.unwrap();
    assert!((independent.effective / 8.0 - 1.0).abs() < 0.15, "{independent:?}");
    let common = targets::analyse(&durations(8, 2000, 0.0, 0.5, 8), 0.95).unwrap().extremal.unwrap();
    assert!(common.effective < 3.0, "{common:?}");
}

#[test]
fn larger_sizes_match_the_reference() {
    let values = data("s01_paper400");
    let reference = &json("extras.json")["extrapolate_m"];
    for (ratio, key) in [(0.25, "s01_paper400 x0.25"), (8.0, "s01_paper400 x8"), (64.0, "s01_paper400 x64")] {
        let found = scale(&values, 16.0, 16.0 * ratio, 1.0, 0.95).unwrap();
        let wanted = |name: &str| number(&reference[key], &[name]);
        assert!((found.distribution.location - wanted("mu")).abs() < 1e-6);
        assert!((found.distribution.scale - wanted("sigma")).abs() < 1e-6);
        assert!((found.quantiles[0].value - wanted("median")).abs() < 1e-6);
        assert!((found.quantiles[0].standard_error.unwrap() / wanted("median_se_delta") - 1.0).abs() < 1e-4);
        assert_eq!(found.trust == Trust::Warned, ratio > 8.0, "{:?}", found.warnings);
    }
}

#[test]
fn drifting_runs_are_not_extrapolated() {
    assert_eq!(scale(&data("s17_drift400"), 16.0, 64.0, 1.0, 0.95).unwrap().trust, Trust::Refused);
}

#[test]
fn the_dependence_exponent_is_found_from_several_sizes() {
    let distribution = Gev::new(10.0, 0.3, 0.0).unwrap();
    let sizes: Vec<(f64, Vec<f64>)> = [4.0f64, 16.0, 64.0, 256.0]
        .into_iter()
        .enumerate()
        .map(|(i, m)| {
            let mut random = Xoshiro::new(40 + i as u64);
            let of = distribution.max_of((m / 4.0).powf(0.6));
            (m, (0..400).map(|_| of.sample(&mut random)).collect())
        })
        .collect();
    let found = joint(&sizes, 0.95).unwrap();
    assert!(found.interval.contains(0.6) && found.interval.upper < 0.75, "{found:?}");
    assert!(found.p_independent < 1e-6 && found.p_model > 0.01, "{found:?}");
    assert!(joint(&sizes[..2], 0.95).is_err());
}

#[test]
fn the_prediction_from_several_sizes_includes_the_error_of_the_exponent() {
    let distribution = Gev::new(10.0, 0.4, 0.05).unwrap();
    let probabilities = [0.5, 0.99];
    let mut held = [0; 2];
    for seed in 0..60 {
        let mut random = Xoshiro::new(seed);
        let sizes: Vec<(f64, Vec<f64>)> = [4.0, 16.0, 64.0f64]
            .map(|m| {
                let of_m = distribution.max_of((m / 4.0).powf(0.7));
                (m, (0..200).map(|_| of_m.sample(&mut random)).collect())
            })
            .into();
        let found = joint(&sizes, 0.95).unwrap().predict(1024.0, &probabilities, 0.95).unwrap();
        let truth = distribution.max_of(256f64.powf(0.7));
        for ((quantile, p), held) in found.quantiles.iter().zip(probabilities).zip(&mut held) {
            let interval = quantile.interval.unwrap();
            *held += u32::from(interval.contains(truth.quantile(p)));
        }
    }
    // 95% of 60 are 57; fewer than 51 has a probability of 0.002.
    assert!(held.iter().all(|held| *held >= 51), "{held:?}");
}

#[test]
fn few_runs_of_a_size_give_a_warning() {
    let distribution = Gev::new(10.0, 0.4, 0.0).unwrap();
    let mut random = Xoshiro::new(2);
    let sizes: Vec<(f64, Vec<f64>)> = [4.0, 16.0, 64.0]
        .map(|m| (m, (0..25).map(|_| distribution.max_of(m).sample(&mut random)).collect()))
        .into();
    let found = joint(&sizes, 0.95).unwrap();
    assert!(
        found.trust >= Trust::Warned
            && found.warnings.iter().any(|w| matches!(w, PredictionWarning::FewRuns { runs: 25, .. }))
    );
}

/// Maxima of m normal values: their shape converges slowly from below to 0.
fn normal_maxima(m: u32, runs: usize, seed: u64) -> Vec<f64> {
    let mut random = Xoshiro::new(seed);
    (0..runs)
        .map(|_| {
            // The maximum of m uniforms is u^(1/m).
            let rest = -(random.uniform().ln() / f64::from(m)).exp_m1();
            50.0 + tail::special::normal_upper_quantile(rest)
        })
        .collect()
}

#[test]
fn a_shape_that_drifts_with_the_size_is_extrapolated_to_larger_sizes() {
    let sizes: Vec<(f64, Vec<f64>)> = [4u32, 16, 64, 256]
        .into_iter()
        .map(|m| (f64::from(m), normal_maxima(m, 4000, u64::from(m))))
        .collect();
    let found = joint(&sizes, 0.95).unwrap();
    let drift = found.drift.as_ref().unwrap();
    assert!(drift.p < 0.01 && drift.slope < 0.0, "{drift:?}");
    assert!(drift.shapes.windows(2).all(|w| w[0].1 < w[1].1), "{drift:?}");
    assert!((drift.exponent - 1.0).abs() < 0.1, "{drift:?}");
    // The median of the maximum of 16,384 normal values, beyond all measured sizes.
    let truth = 50.0 + tail::special::normal_upper_quantile(-(0.5f64.ln() / 16_384.0).exp_m1());
    let far = found.predict(16_384.0, &[0.5], 0.95).unwrap().quantiles[0];
    let plain = found.distribution.max_of((16_384f64 / 4.0).powf(found.exponent)).quantile(0.5);
    assert!((far.value - truth).abs() < 0.6 * (plain - truth).abs(), "{far:?}, {plain} against {truth}");
    assert!(far.standard_error.unwrap() < 0.2, "{far:?}");
}

#[test]
fn a_constant_shape_shows_no_drift() {
    let distribution = Gev::new(10.0, 0.3, 0.05).unwrap();
    let drifted = (0..20)
        .filter(|&seed| {
            let sizes: Vec<(f64, Vec<f64>)> = [4.0f64, 16.0, 64.0, 256.0]
                .into_iter()
                .enumerate()
                .map(|(i, m)| {
                    let mut random = Xoshiro::stream(600 + seed, i as u64);
                    let of = distribution.max_of((m / 4.0).powf(0.7));
                    (m, (0..200).map(|_| of.sample(&mut random)).collect())
                })
                .collect();
            let found = joint(&sizes, 0.95).unwrap();
            let drift = found.drift.expect("four sizes");
            assert!((drift.exponent - 0.7).abs() < 0.35, "{drift:?}");
            drift.p < 0.05
        })
        .count();
    assert!(drifted <= 4, "{drifted} of 20");
}

#[test]
fn growth_beyond_that_of_independent_parts_is_refused() {
    // Each size takes twice as long as the one before: no exponent explains it, not even the largest that is
    // searched.
    let distribution = Gev::new(10.0, 0.3, 0.0).unwrap();
    let mut random = Xoshiro::new(11);
    let sizes: Vec<(f64, Vec<f64>)> = [4.0f64, 16.0, 64.0]
        .map(|m| (m, (0..200).map(|_| m.sqrt() * distribution.sample(&mut random)).collect()))
        .into();
    let found = joint(&sizes, 0.95).unwrap();
    assert!(found.at_bound && found.interval.upper_end == tail::End::Bound, "{found:?}");
    assert_eq!(found.trust, Trust::Refused);
    assert!(found.warnings.contains(&PredictionWarning::ExponentAtBound { bound: 1.5 }));
    assert_eq!(found.predict(256.0, &[0.5], 0.95).unwrap().trust, Trust::Refused);
}
