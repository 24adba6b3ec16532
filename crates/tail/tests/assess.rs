//! Results of assessments of the reference sets.

mod common;

use common::data;
use tail::Error;
use tail::assess::{AssessOptions, NonFinite, assess};
use tail::verdict::{Explained, Finding, VerdictCode};

fn quick() -> AssessOptions {
    AssessOptions { bootstrap: 99, ..AssessOptions::default() }
}

#[test]
fn the_json_has_the_first_keys_of_the_schema() {
    let found = assess(&data("s01_paper400"), &quick()).unwrap();
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["schema"], "lastrank.fit/1");
    assert_eq!(json["n"], 400);
    for key in ["location", "scale", "shape"] {
        assert!(json["gev"][key].is_f64(), "{key}");
        assert!(json["gev"]["standard_errors"][key].is_f64(), "{key}");
    }
    assert!(json["gev"]["covariance"][2][2].is_f64());
    assert!(json["gev"]["negative_log_likelihood"].is_f64());
    assert!(json["alternatives"][0]["model"].is_string());
    assert!(json["alternatives"][0]["aic"].is_f64());
    assert!(json["alternatives"].as_array().unwrap().iter().all(|a| a["parameters"].is_object()));
    assert_eq!(json["return_levels"][1]["period"], 100.0);
    for key in ["level", "lower", "upper"] {
        assert!(json["return_levels"][1][key].is_f64(), "{key}");
    }
    assert!(json["diagnostics"]["independence"]["tests"].is_array());
    assert!(json["verdict"]["code"].is_string());
    let back: tail::assess::Assessment = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(back).unwrap(), json);
}

#[test]
fn a_failed_first_stage_never_gives_the_verdict_gev() {
    for set in ["s17_drift400", "s18_changepoint400", "s15_bimodal400"] {
        let found = assess(&data(set), &quick()).unwrap();
        assert_eq!(found.verdict.code, VerdictCode::NotIndependent, "{set}");
        assert!(!found.verdict.advice.is_empty(), "{set}");
    }
}

#[test]
fn a_drift_gives_a_linear_trend_and_two_modes_are_listed() {
    let drift = assess(&data("s17_drift400"), &quick()).unwrap();
    // The reference drifts by 0.4 over the run.
    let trend = drift.diagnostics.trend.unwrap();
    assert!(trend.p < 1e-6 && trend.residuals_pass, "{trend:?}");
    let interval = trend.interval.unwrap();
    assert!(interval.contains(0.4) && interval.upper - interval.lower < 0.25, "{trend:?}");
    assert!((trend.last - trend.first - trend.change).abs() < 1e-12);
    let line = |f: &Finding| matches!(f, Finding::LineInTime { explained: Explained::All, .. });
    assert!(drift.verdict.findings.iter().any(line));

    // Seven tenths of the values in one mode, three tenths in the other.
    let modes = assess(&data("s15_bimodal400"), &quick()).unwrap();
    let found = &modes.diagnostics.independence.modes;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!((found[0].share - 0.7).abs() < 0.07, "{found:?}");
    assert_eq!(found[0].count + found[1].count, 400);
    assert!(found[0].upper < found[1].lower);
    let lines = modes.verdict.findings.iter().filter(|f| matches!(f, Finding::Mode { of: 2, .. }));
    assert_eq!(lines.count(), 2);

    let plain = assess(&data("s01_paper400"), &quick()).unwrap();
    assert!(plain.diagnostics.trend.is_none() && plain.diagnostics.independence.modes.is_empty());
}

#[test]
fn the_verdict_names_the_test_of_stage_one_that_failed() {
    let mut random = tail::Xoshiro::new(41);
    let mut distribution = |location: f64| tail::Gev::new(location, 0.2, 0.05).unwrap().sample(&mut random);
    let step: Vec<f64> = (0..300).map(|i| distribution(if i < 120 { 11.0 } else { 11.4 })).collect();
    let drift: Vec<f64> = (0..300).map(|i| distribution(11.0 + 0.002 * f64::from(i))).collect();
    let modes: Vec<f64> =
        (0..300).map(|i| distribution(if (i * 7919) % 10 < 3 { 13.0 } else { 11.0 })).collect();
    let mut last = 0.0;
    let memory: Vec<f64> = (0..300)
        .map(|_| {
            last = 0.7 * last + distribution(0.0);
            11.0 + last
        })
        .collect();
    for (name, values) in [("step", step), ("drift", drift), ("modes", modes), ("memory", memory)] {
        let found = assess(&values, &quick()).unwrap();
        assert_eq!(found.verdict.code, VerdictCode::NotIndependent, "{name}");
        assert!(found.diagnostics.trend.is_some() && found.diagnostics.dependence.is_some(), "{name}");
    }
}

#[test]
fn the_envelope_of_all_points_is_wider_than_that_of_each() {
    let values = data("s01_paper400");
    let panels = assess(&values, &quick()).unwrap().panels(&values);
    let envelope = &panels.envelope;
    assert_eq!(envelope.quantile.len(), panels.quantile.len());
    for (both, point) in envelope.quantile.iter().zip(&panels.quantile) {
        assert!(both[0] <= point.lower && point.upper <= both[1]);
    }
    assert!(envelope.outside == 0 && envelope.p > 0.05, "{}", envelope.p);
    // A sample that no GEV fits leaves the envelope.
    let modes = data("s15_bimodal400");
    let panels = assess(&modes, &quick()).unwrap().panels(&modes);
    assert!(panels.envelope.outside > 0 && panels.envelope.p < 0.05);
}

#[test]
fn large_samples_are_tested_too_against_the_limiting_distribution() {
    let distribution = tail::Gev::new(11.0, 0.2, 0.05).unwrap();
    let mut random = tail::Xoshiro::new(17);
    let mut values: Vec<f64> = (0..120_000).map(|_| distribution.sample(&mut random)).collect();
    let tested = |values: &[f64]| {
        let series = tail::Series::clean(values);
        let fit = tail::gev::Likelihood::new(&series).unwrap().fit();
        tail::gof::test_within(&series, &fit, 99, 1, 400_000).unwrap()
    };
    let found = tested(&values);
    assert_eq!(found.sample_size, 4040);
    assert!(found.p.smaller > 0.05, "{found:?}");
    // One value in fifty is much slower.
    values.iter_mut().step_by(50).for_each(|x| *x += 1.5);
    assert_eq!(tested(&values).p.smaller, 0.01);
}

#[test]
fn independent_maxima_do_not_get_another_verdict() {
    for set in ["s01_paper400", "s02_heavy400", "s26_max32_gamma400"] {
        let found = assess(&data(set), &quick()).unwrap();
        let code = found.verdict.code;
        assert!(
            matches!(code, VerdictCode::GevConsistent | VerdictCode::GevPreferred),
            "{set} {:?}",
            found.verdict
        );
    }
}

#[test]
fn weights_sum_to_one() {
    let found = assess(&data("s01_paper400"), &quick()).unwrap();
    let aic: f64 = found.alternatives.iter().map(|a| a.aic_weight).sum();
    let bic: f64 = found.alternatives.iter().map(|a| a.bic_weight).sum();
    assert!((found.gev.aic_weight + aic - 1.0).abs() < 1e-12);
    assert!((found.gev.bic_weight + bic - 1.0).abs() < 1e-12);
}

#[test]
fn data_that_cannot_be_fitted_are_refused_with_a_message() {
    let refused = |values: &[f64]| assess(values, &quick()).unwrap_err().to_string();
    insta::assert_snapshot!(refused(&[1.0, 2.0, 3.0]), @"3 finite values, at least 10 are needed: measure more");
    insta::assert_snapshot!(refused(&[2.5; 40]), @"all 40 values equal 2.5: nothing varies, so nothing can be fitted");
    insta::assert_snapshot!(refused(&data("s12_nan")), @"3 values are NaN and 0 infinite, the first is value 11: correct the input, or have them dropped and counted");
}

#[test]
fn values_that_are_not_finite_are_dropped_and_counted_on_demand() {
    let options = AssessOptions { non_finite: NonFinite::Drop, ..quick() };
    let found = assess(&data("s12_nan"), &options).unwrap();
    assert_eq!((found.n, found.dropped.nan, found.dropped.infinite), (397, 3, 0));
    let found = assess(&data("s12b_inf"), &options).unwrap();
    assert_eq!((found.n, found.dropped.infinite), (399, 1));
}

#[test]
fn no_interior_maximum_is_a_verdict_not_an_error() {
    let found = assess(&data("s21_xi_m12_400"), &quick()).unwrap();
    assert_eq!(found.verdict.code, VerdictCode::NoMaximum);
    assert!(found.gev.intervals.is_none() && found.return_levels[0].lower.is_nan());
    assert!(serde_json::to_value(&found).unwrap()["return_levels"][0]["lower"].is_null());
}

#[test]
fn options_out_of_range_are_refused() {
    let values = data("s01_paper400");
    for options in [
        AssessOptions { level: 1.0, ..quick() },
        AssessOptions { periods: vec![1.0], ..quick() },
        AssessOptions { significance: 0.0, ..quick() },
    ] {
        assert!(matches!(assess(&values, &options), Err(Error::Parameter { .. })));
    }
}

#[test]
fn the_points_of_the_figures_lie_where_the_fit_says() {
    let values = data("s01_paper400");
    let found = assess(&values, &quick()).unwrap();
    let panels = found.panels(&values);
    assert_eq!(panels.quantile.len(), 400);
    let outside = panels.probability.iter().filter(|p| p.outside).count();
    assert!(outside < 40, "{outside}");
    for point in &panels.return_points {
        assert_eq!(values[point.index], point.y);
    }
    let middle = panels.return_curve[20];
    assert!(middle.lower < middle.y && middle.y < middle.upper);
    let area: f64 = panels.density.windows(2).map(|w| (w[1][0] - w[0][0]) * 0.5 * (w[0][1] + w[1][1])).sum();
    assert!((area - 1.0).abs() < 0.01);
}

#[test]
fn a_fit_with_low_goodness_of_fit_is_rejected() {
    // Independent draws of a mixture with one mode that no GEV fits.
    let mut random = tail::Xoshiro::new(5);
    let values: Vec<f64> = (0..400)
        .map(|_| {
            if random.uniform() < 0.06 { 10.0 + 3.0 * random.uniform() } else { 10.0 + 0.1 * random.normal() }
        })
        .collect();
    let found = assess(&values, &AssessOptions { bootstrap: 199, ..AssessOptions::default() }).unwrap();
    assert_eq!(found.verdict.code, VerdictCode::GevRejected, "{:?}", found.verdict);
}

#[test]
fn dependence_and_a_coarse_clock_change_the_standard_errors() {
    let found = assess(&data("s18_changepoint400"), &quick()).unwrap();
    let dependence = found.diagnostics.dependence.unwrap();
    assert!(dependence.sandwich.unwrap().inflation.location > 1.5);
    assert_eq!(dependence.return_levels.len(), 3);
    assert!(found.diagnostics.rounded.is_none());
    let found = assess(&data("s09_ties_q1us_s2us"), &quick()).unwrap();
    assert!(found.diagnostics.rounded.is_some() && found.diagnostics.dependence.is_none());
}

/// 51 dependent values with one extreme outlier: the likelihood of the resamples has no maximum.
fn one_absurd(largest: f64) -> Vec<f64> {
    (0..50).map(|i| 10.0 + 0.1 * f64::from((i * 7) % 11)).chain([largest]).collect()
}

#[test]
fn resamples_without_a_maximum_are_not_refitted_for_ever() {
    let values = one_absurd(1e300);
    let refused = tail::bootstrap::block(&values, 1, 399, 1);
    assert_eq!(refused.unwrap_err(), Error::NotConverged { model: "block bootstrap" });
    let found = assess(&values, &AssessOptions { bootstrap: 399, ..AssessOptions::default() }).unwrap();
    assert_eq!(found.verdict.code, VerdictCode::NotIndependent);
    assert!(found.diagnostics.dependence.is_none());
    // An ordinary sample with the same autocorrelation keeps its standard errors.
    let found = assess(&one_absurd(11.3), &quick()).unwrap();
    assert!(found.diagnostics.dependence.is_some());
}

#[test]
fn what_is_found_in_many_values_does_not_depend_on_the_number_of_threads() {
    let distribution = tail::Gev::new(10.0, 0.5, 0.1).unwrap();
    for ticks in [0.0, 100.0] {
        let mut random = tail::Xoshiro::new(21);
        let read = |x: f64| if ticks > 0.0 { (x * ticks).round() / ticks } else { x };
        let values: Vec<f64> = (0..60_000).map(|_| read(distribution.sample(&mut random))).collect();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            serde_json::to_string(&pool.install(|| assess(&values, &quick()).unwrap())).unwrap()
        };
        assert!(with(1) == with(3), "{ticks}");
    }
}
