//! Goodness-of-fit statistics and p-values against reference values.

mod common;

use common::{data, json, number};
use tail::{Series, gev, gof};

#[test]
fn statistics_are_the_reference_ones_and_p_values_agree_within_simulation_error() {
    let gold = json("extras.json");
    for (set, gold) in gold["gof"].as_object().unwrap() {
        let series = Series::clean(&data(set));
        let fit = gev::fit(series.values()).unwrap();
        let tested = gof::test(&series, &fit, 999, 1).unwrap();
        assert!(!tested.jittered);
        let s = gof::Statistics::of_sorted(series.sorted(), &fit.distribution());
        let p = tested.p;
        for (name, got, got_p) in [
            ("sqrtn_D", s.sqrt_n_d, p.sqrt_n_d),
            ("W2", s.w2, p.w2),
            ("A2", s.a2, p.a2),
            ("AU2", s.au2, p.au2),
        ] {
            let wanted = number(gold, &["stat", name]);
            assert!((got - wanted).abs() < 1e-6 * wanted.max(1.0), "{set} {name}: {got} against {wanted}");
            let key = if name == "sqrtn_D" { "D" } else { name };
            let wanted = number(gold, &["p_parametric_bootstrap_2000", key]);
            // Four standard errors of the difference of 999 and 2000 replicates.
            let slack = 4.0 * ((wanted * (1.0 - wanted)).max(0.002) * (1.0 / 999.0 + 1.0 / 2000.0)).sqrt();
            assert!((got_p - wanted).abs() < slack, "{set} {name}: p {got_p} against {wanted}");
        }
    }
}

/// Critical values at 5% with all three parameters estimated, from an independent simulation.
#[test]
fn critical_values_are_the_tabulated_ones() {
    let table: [(usize, [f64; 4], [Option<f64>; 2]); 4] = [
        (20, [0.758, 0.094, 0.558, 0.294], [Some(0.587), Some(0.560)]),
        (50, [0.802, 0.100, 0.589, 0.311], [Some(0.630), Some(0.566)]),
        (100, [0.804, 0.102, 0.604, 0.327], [Some(0.623), Some(0.588)]),
        (400, [0.818, 0.101, 0.613, 0.319], [None, None]),
    ];
    let replicates = |n: usize| if n == 400 { 2000 } else { 5000 };
    // A quantile of 2000 to 5000 replicates has an error of 2%, that of the table about as much.
    let close = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 0.075;
    for (n, wanted, bent) in table {
        let found = gof::critical_values(n, 0.0, 0.05, replicates(n), 5);
        let got = [found.sqrt_n_d, found.w2, found.a2, found.au2];
        for (got, wanted) in got.into_iter().zip(wanted) {
            assert!(close(got, wanted), "n {n}: {got} against {wanted}");
        }
        for (shape, wanted) in [-0.3, 0.3].into_iter().zip(bent) {
            if let Some(wanted) = wanted {
                let got = gof::critical_values(n, shape, 0.05, replicates(n), 6).a2;
                assert!(close(got, wanted), "n {n}, shape {shape}: {got} against {wanted}");
            }
        }
    }
}

#[test]
fn ties_do_not_cause_the_true_distribution_to_be_rejected() {
    let series = Series::clean(&data("s09_ties_q1us_s2us"));
    let fit = gev::fit(series.values()).unwrap();
    let tested = gof::test(&series, &fit, 199, 1).unwrap();
    assert!(tested.jittered);
    assert!(tested.p.a2 > 0.05 && tested.p.smaller > 0.05, "{tested:?}");
}

#[test]
fn two_modes_are_rejected() {
    let series = Series::clean(&data("s15_bimodal400"));
    let fit = gev::fit(series.values()).unwrap();
    assert_eq!(gof::test(&series, &fit, 199, 1).unwrap().p.smaller, 1.0 / 200.0);
}

#[test]
fn the_result_depends_only_on_the_seed() {
    let series = Series::clean(&data("s01_paper400"));
    let fit = gev::fit(series.values()).unwrap();
    let one = gof::test(&series, &fit, 99, 7).unwrap();
    assert_eq!(one, gof::test(&series, &fit, 99, 7).unwrap());
    assert_ne!(one.p, gof::test(&series, &fit, 99, 8).unwrap().p);
}
