//! Gumbel, interval-censored and other models against reference fits.

mod common;

use common::{INTERIOR, armax_half, data, json, lognormal_latencies, number};
use tail::interval::Rounding;
use tail::{Series, gev, gpd, gumbel, interval, lmoments};

#[test]
fn gumbel_fits_and_their_test_are_the_reference_ones() {
    let gold = json("gold.json");
    for name in INTERIOR {
        let gold = &gold[name];
        let series = Series::clean(&data(name));
        let fit = gumbel::fit(&series).unwrap();
        let reference = &gold["gumbel"];
        let error = number(reference, &["se", "mu"]);
        let offset = number(reference, &["mle", "mu"]) - number(gold, &["median"]);
        let rounding = 2.0 * f64::EPSILON * number(gold, &["median"]).abs();
        assert!((fit.location_offset - offset).abs() <= 1e-6 * error + rounding, "{name}");
        let error = number(reference, &["se", "sigma"]);
        assert!((fit.scale - number(reference, &["mle", "sigma"])).abs() <= 1e-6 * error, "{name}");
        assert!((fit.standard_errors[1] / error - 1.0).abs() < 1e-6, "{name}");
        let nll = number(reference, &["nllh"]);
        assert!(fit.negative_log_likelihood <= nll + 1e-8 * nll.abs().max(1.0), "{name}");
        let ratio = number(gold, &["LRT_gumbel"]);
        let n = series.len() as f64;
        let got = fit.against(&gev::fit(series.values()).unwrap()).0 / (1.0 - 2.8 / n);
        assert!((got - ratio).abs() < 1e-6 * ratio.max(1.0), "{name}: {got} against {ratio}");
    }
}

#[test]
fn interval_likelihood_gives_the_reference_fit() {
    let gold = &json("extras.json")["interval_censored"]["s09_ties_q1us_s2us"];
    let series = Series::clean(&data("s09_ties_q1us_s2us"));
    let fit = interval::fit(&series, 1e-6, Rounding::Nearest).unwrap();
    let errors = fit.standard_errors.unwrap();
    let got = [fit.location * 1e6, fit.scale * 1e6, fit.shape];
    let got_errors = [errors.location * 1e6, errors.scale * 1e6, errors.shape];
    // From 40-digit arithmetic; the errors in the reference file are finite differences.
    let exact = [20.120_580_616_776_432, 2.025_305_682_504_943, 0.047_544_015_298_926];
    let exact_errors = [0.115_442_316_713_275, 0.087_387_775_092_642, 0.038_743_626_695_490];
    for (i, p) in ["mu", "sigma", "xi"].into_iter().enumerate() {
        assert!((got[i] - exact[i]).abs() <= 1e-6 * exact_errors[i], "{p}");
        assert!((got_errors[i] / exact_errors[i] - 1.0).abs() <= 1e-6, "{p}");
        let error = number(gold, &["se", p]);
        assert!((got[i] - number(gold, &["mle", p])).abs() <= 1e-6 * error, "{p}");
        assert!((got_errors[i] / error - 1.0).abs() <= 1e-4, "{p}");
    }
    assert!((fit.negative_log_likelihood - number(gold, &["nll_interval"])).abs() < 1e-6);
    let shape = interval::profile(&series, Rounding::Nearest, &fit, gev::GevTarget::Shape, 0.95).unwrap();
    assert!(shape.contains(fit.shape) && shape.upper - shape.lower < 5.0 * errors.shape);
}

#[test]
fn gpd_fits_and_profiles_are_the_reference_ones() {
    let gold = json("gold.json");
    // With a clock tick of 41 ns: the fit for a threshold on a tick, which `latency` avoids.
    let quantized = lognormal_latencies().iter().map(|x| 41.0 * (x / 41.0).floor()).collect();
    for (name, values) in [
        ("g01_gpd_xi03", data("g01_gpd_xi03")),
        ("g03_gpd_xi0_exp", data("g03_gpd_xi0_exp")),
        ("g04_lognormal_latency_ns_1e5", lognormal_latencies()),
        ("g05_armax_theta05_1e5", armax_half()),
        ("g07_quantized41ns_1e5", quantized),
    ] {
        let gold = &gold[name];
        let series = Series::clean(&values);
        let reference = number(gold, &["threshold"]);
        if series.len() == 100_000 {
            let quantile = series.quantile(0.98);
            assert!((quantile / reference - 1.0).abs() < 1e-12, "{name}: threshold {quantile}");
        }
        let likelihood = gpd::GpdLikelihood::new(&series, reference).unwrap();
        let fit = likelihood.fit();
        assert_eq!(fit.exceedances as f64, number(gold, &["nexc"]), "{name}");
        let errors = fit.standard_errors.unwrap();
        let (e0, e1) = (number(gold, &["se", "sigma"]), number(gold, &["se", "xi"]));
        assert!((fit.scale - number(gold, &["mle", "sigma"])).abs() <= 1e-6 * e0, "{name}");
        assert!((fit.shape - number(gold, &["mle", "xi"])).abs() <= 1e-6 * e1, "{name}");
        assert!((errors[0] / e0 - 1.0).abs() <= 1e-6 && (errors[1] / e1 - 1.0).abs() <= 1e-6, "{name}");
        let nll = number(gold, &["nllh"]);
        assert!(fit.negative_log_likelihood <= nll + 1e-8 * nll.abs().max(1.0), "{name}");
        let interval = likelihood.profile(&fit, gpd::GpdTarget::Shape, 0.95).unwrap();
        assert!((interval.lower - number(gold, &["profile_ci95_xi", "0"])).abs() < 1e-4 * e1, "{name}");
        assert!((interval.upper - number(gold, &["profile_ci95_xi", "1"])).abs() < 1e-4 * e1, "{name}");
    }
}

#[test]
fn l_moment_fits_are_the_reference_ones() {
    let gold = json("gold.json");
    // The reference fit of s19 lost digits to its offset.
    for name in INTERIOR.into_iter().filter(|name| *name != "s19_offset1e12") {
        let gold = &gold[name];
        let distribution = lmoments::gev(&lmoments::moments(&Series::clean(&data(name))).unwrap()).unwrap();
        let error = number(gold, &["se", "xi"]);
        assert!(
            (distribution.shape - number(gold, &["lmom", "xi"])).abs() < 1e-3 * error,
            "{name}: {distribution:?}"
        );
        let error = number(gold, &["se", "sigma"]);
        assert!(
            (distribution.scale - number(gold, &["lmom", "sigma"])).abs() < 1e-3 * error,
            "{name}: {distribution:?}"
        );
    }
}

#[test]
fn the_published_fit_of_the_port_pirie_maxima_is_found() {
    // Coles 2001, 3.4.1: location 3.87 (0.028), scale 0.198 (0.020), shape -0.050 (0.098), likelihood 4.34.
    let fit = gev::fit(&data("portpirie")).unwrap();
    let errors = fit.standard_errors.unwrap();
    let near = |got: f64, printed: f64, digit: f64| (got - printed).abs() <= 0.51 * digit;
    assert!(near(fit.location, 3.87, 0.01) && near(errors.location, 0.028, 0.001));
    assert!(near(fit.scale, 0.198, 0.001) && near(errors.scale, 0.020, 0.001));
    assert!(near(fit.shape, -0.050, 0.001) && near(errors.shape, 0.098, 0.001));
    assert!(near(fit.negative_log_likelihood, -4.34, 0.01));
}

#[test]
fn a_threshold_between_ticks_removes_the_bias_of_a_coarse_clock() {
    let exact = lognormal_latencies();
    let ticks: Vec<f64> = exact.iter().map(|x| 41.0 * (x / 41.0).floor()).collect();
    let found = gpd::fit(&ticks, 2788.0 + 20.5).unwrap();
    assert!((found.scale - 564.1).abs() < 0.06 && (found.shape - 0.0875).abs() < 6e-5, "{found:?}");
}

#[test]
fn extremal_indices_are_those_of_the_reference_programs() {
    use tail::latency::{intervals_estimate, k_gaps};
    for (values, likelihood, intervals) in
        [(armax_half(), 0.490, 0.517), (lognormal_latencies(), 0.982, 0.985)]
    {
        let series = Series::clean(&values);
        let threshold = series.quantile(0.98);
        let times: Vec<usize> = (0..values.len()).filter(|&i| values[i] > threshold).collect();
        let found = [k_gaps(&times, values.len(), 1), intervals_estimate(&times)];
        assert!((found[0] - likelihood).abs() < 0.012, "{found:?} against {likelihood}");
        assert!((found[1] - intervals).abs() < 6e-4, "{found:?} against {intervals}");
    }
}
