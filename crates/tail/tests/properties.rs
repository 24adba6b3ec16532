//! Properties of any sample: change of unit, order, coverage, convergence.

use proptest::prelude::*;
use tail::gev::{GevTarget, fit};
use tail::{Gev, Likelihood, Series, Status, Xoshiro, gof};

fn sample(shape: f64, n: usize, seed: u64) -> Vec<f64> {
    let distribution = Gev::new(11.0, 0.2, shape).unwrap();
    let mut random = Xoshiro::new(seed);
    (0..n).map(|_| distribution.sample(&mut random)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_change_of_unit_transforms_the_fit(
        seed in 0u64..1_000_000, shape in -0.35f64..0.6, a in -9.0f64..9.0, b in -50.0f64..50.0
    ) {
        let x = sample(shape, 60, seed);
        let a = 10f64.powf(a);
        let (base, moved) = (fit(&x).unwrap(), fit(&x.iter().map(|x| a * x + a * b).collect::<Vec<_>>()).unwrap());
        prop_assert_eq!(base.status, moved.status);
        prop_assert!((moved.shape - base.shape).abs() < 1e-8);
        prop_assert!((moved.scale / a / base.scale - 1.0).abs() < 1e-8);
        prop_assert!(((moved.location / a - b) - base.location).abs() < 1e-8);
    }

    #[test]
    fn the_units_of_clocks_transform_the_fit_to_nine_digits(
        seed in 0u64..1_000_000, shape in -0.3f64..0.5, a in prop_oneof![Just(1e-8), Just(1e7), Just(1e9)],
        b in -20.0f64..20.0
    ) {
        let x = sample(shape, 100, seed);
        let (base, moved) = (fit(&x).unwrap(), fit(&x.iter().map(|x| a * x + a * b).collect::<Vec<_>>()).unwrap());
        let error = base.scale * 1e-9;
        prop_assert_eq!(base.status, moved.status);
        prop_assert!((moved.shape - base.shape).abs() < 1e-9);
        prop_assert!((moved.scale / a - base.scale).abs() < error);
        prop_assert!(((moved.location / a - b) - base.location).abs() < error * (1.0 + (b.abs() + 11.0) * 1e-4));
    }

    #[test]
    fn the_order_of_the_values_does_not_matter_to_the_estimates(seed in 0u64..1_000_000, shape in -0.35f64..0.6) {
        let x = sample(shape, 50, seed);
        let mut back = x.clone();
        back.reverse();
        let (one, two) = (fit(&x).unwrap(), fit(&back).unwrap());
        prop_assert_eq!((one.location, one.scale, one.shape), (two.location, two.scale, two.shape));
    }

    #[test]
    fn profile_intervals_hold_the_estimate_and_grow_with_the_level(seed in 0u64..1_000_000, shape in -0.3f64..0.4) {
        let x = sample(shape, 80, seed);
        let series = Series::clean(&x);
        let likelihood = Likelihood::new(&series).unwrap();
        let fit = likelihood.fit();
        prop_assume!(fit.status == Status::Ok);
        for (target, estimate) in [
            (GevTarget::Location, fit.location),
            (GevTarget::Scale, fit.scale),
            (GevTarget::Shape, fit.shape),
            (GevTarget::ReturnLevel(50.0), fit.distribution().return_level(50.0)),
            (GevTarget::Quantile(0.2), fit.distribution().quantile(0.2)),
        ] {
            let narrow = likelihood.profile(&fit, target, 0.8).unwrap();
            let wide = likelihood.profile(&fit, target, 0.95).unwrap();
            prop_assert!(narrow.contains(estimate), "{:?}", target);
            prop_assert!(wide.lower < narrow.lower && narrow.upper < wide.upper, "{:?}", target);
        }
    }

    #[test]
    fn whatever_is_measured_nothing_panics_and_a_fit_is_finite(
        x in prop::collection::vec(prop_oneof![
            4 => -1e3f64..1e3,
            2 => (0i32..6).prop_map(f64::from),
            1 => prop::num::f64::NORMAL,
            1 => Just(f64::NAN),
            1 => Just(f64::INFINITY),
        ], 0..40)
    ) {
        if let Ok(fit) = fit(&x) {
            prop_assert!(fit.location.is_finite() && fit.scale > 0.0 && fit.shape.is_finite());
            prop_assert_ne!(fit.status, Status::NotConverged);
            prop_assert_eq!(fit.n + fit.dropped.total(), x.len());
        }
    }
}

#[test]
fn no_random_sample_is_left_without_a_maximum_or_a_bound() {
    for shape in [-0.4, -0.2, 0.0, 0.2, 0.4] {
        for n in [10, 20, 50, 100, 400] {
            for seed in 0..40 {
                let fit = fit(&sample(shape, n, 1000 * seed + n as u64)).unwrap();
                assert_ne!(fit.status, Status::NotConverged, "{shape} {n} {seed}");
                assert!(fit.status != Status::Boundary || fit.shape == -1.0 || fit.shape > 4.0);
            }
        }
    }
}

#[test]
fn profile_intervals_cover_and_tests_keep_their_size() {
    let (samples, n) = (400u64, 50);
    let truth = Gev::new(11.0, 0.2, 0.0).unwrap().return_level(100.0);
    let (mut shape, mut level, mut rejected) = (0, 0, 0);
    for seed in 0..samples {
        let series = Series::clean(&sample(0.0, n, 77_000 + seed));
        let likelihood = Likelihood::new(&series).unwrap();
        let fit = likelihood.fit();
        let covers = |target, value| likelihood.profile(&fit, target, 0.95).unwrap().contains(value);
        shape += usize::from(covers(GevTarget::Shape, 0.0));
        level += usize::from(covers(GevTarget::ReturnLevel(100.0), truth));
        rejected += usize::from(gof::test(&series, &fit, 99, seed).unwrap().p.smaller <= 0.05);
    }
    // Three standard errors of a proportion of 400 around 95% and 5%.
    for hits in [shape, level] {
        assert!((367..=393).contains(&hits), "{hits} of {samples}");
    }
    assert!((7..=34).contains(&rejected), "{rejected} of {samples}");
}
