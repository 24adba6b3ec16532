//! Limits of profile intervals against a slow profile likelihood that shares no code with the crate.

use tail::extremes::Model;
use tail::gev::{GevFit, GevTarget};
use tail::gpd::{GpdLikelihood, GpdTarget};
use tail::interval::Rounding;
use tail::regression::{Covariate, Part, Regression, RegressionDistribution};
use tail::{End, Gev, Gpd, Interval, Likelihood, Series, Status, Xoshiro, gumbel, interval};

#[path = "common/slow_profile.rs"]
mod slow_profile;

use slow_profile::{SlowRows, SlowTarget, gumbel_level, least, standard_quantile};

/// The critical value of 95%.
const CRITICAL: f64 = 3.841_458_820_694_124;

/// Interval limits that were checked, and the errors found.
#[derive(Default)]
struct Findings {
    ends: usize,
    not_found: usize,
    wrong: Vec<String>,
}

impl Findings {
    /// Every limit that was found has the critical deviance, and no value between it and the estimate exceeds
    /// that.
    fn check(
        &mut self,
        interval: &Interval,
        estimate: f64,
        least: f64,
        held: impl Fn(f64) -> f64,
        what: &str,
    ) {
        for (end, kind) in [(interval.lower, interval.lower_end), (interval.upper, interval.upper_end)] {
            self.ends += 1;
            if kind != End::Reached {
                self.not_found += 1;
                continue;
            }
            let deviance = |value: f64| 2.0 * (held(value) - least);
            let there = deviance(end);
            if (there / CRITICAL - 1.0).abs() > 0.01 {
                self.wrong.push(format!("{what}: {there:.4} at {end}"));
            }
            let on_the_way = deviance(estimate + 0.7 * (end - estimate));
            if on_the_way > CRITICAL {
                self.wrong.push(format!("{what}: {on_the_way:.4} before {end}"));
            }
        }
    }

    fn expect_all_found(&self) {
        assert!(self.wrong.is_empty(), "{} of {} ends: {:#?}", self.wrong.len(), self.ends, self.wrong);
        assert!(self.not_found == 0, "{} of {} ends not found", self.not_found, self.ends);
    }
}

fn sample(distribution: &Gev, n: usize, seed: u64) -> Series {
    let mut random = Xoshiro::stream(0x9e_0d5 + n as u64, seed);
    Series::clean(&(0..n).map(|_| distribution.sample(&mut random)).collect::<Vec<_>>())
}

/// Checks the levels of several periods for samples of every shape.
fn levels_of(n: usize, samples: u64) {
    let mut found = Findings::default();
    for shape in [-0.4, -0.2, 0.0, 0.2, 0.5, 0.8] {
        let distribution = Gev { location: 300.0, scale: 40.0, shape };
        for seed in 0..samples {
            let series = sample(&distribution, n, seed + (100.0 * (shape + 1.0)) as u64 * 1000);
            let likelihood = Likelihood::new(&series).unwrap();
            let fit = likelihood.fit();
            if fit.status == Status::Boundary {
                continue;
            }
            let rows = SlowRows::maxima(series.values());
            let mut last = (f64::NEG_INFINITY, f64::NEG_INFINITY);
            for period in [10.0, 100.0, 1000.0, 10_000.0] {
                let interval = likelihood.profile(&fit, GevTarget::ReturnLevel(period), 0.95).unwrap();
                let estimate = fit.return_level(period).unwrap().level;
                let held = |level: f64| rows.held(SlowTarget::Level(gumbel_level(period)), level);
                let what = format!("n {n}, shape {shape}, seed {seed}, period {period}");
                found.check(&interval, estimate, fit.negative_log_likelihood, held, &what);
                if interval.lower < last.0 || interval.upper < last.1 {
                    found.wrong.push(format!("{what}: not monotone in the period"));
                }
                last = (interval.lower, interval.upper);
            }
        }
    }
    found.expect_all_found();
}

#[test]
fn levels_of_20_values_end_where_a_slow_profile_ends() {
    levels_of(20, 3);
}

#[test]
fn levels_of_30_values_end_where_a_slow_profile_ends() {
    levels_of(30, 3);
}

#[test]
fn levels_of_50_values_end_where_a_slow_profile_ends() {
    levels_of(50, 1);
}

#[test]
fn levels_of_100_values_end_where_a_slow_profile_ends() {
    levels_of(100, 1);
}

#[test]
fn levels_of_400_values_end_where_a_slow_profile_ends() {
    levels_of(400, 1);
}

#[test]
fn the_lower_end_of_the_thousand_year_level_of_thirty_jobs_is_504() {
    const JOBS: [f64; 30] = [
        318.0, 307.6, 290.0, 389.5, 313.9, 304.9, 282.7, 315.3, 371.1, 289.2, 342.8, 306.3, 311.1, 423.2,
        327.1, 323.7, 297.1, 303.3, 377.7, 306.1, 321.9, 326.9, 315.5, 446.6, 377.1, 292.7, 285.7, 323.4,
        432.8, 321.4,
    ];
    let series = Series::clean(&JOBS);
    let likelihood = Likelihood::new(&series).unwrap();
    let fit = likelihood.fit();
    let lower = |period: f64| {
        let interval = likelihood.profile(&fit, GevTarget::ReturnLevel(period), 0.95).unwrap();
        assert_eq!((interval.lower_end, interval.upper_end), (End::Reached, End::Reached));
        interval.lower
    };
    let ends = [100.0, 500.0, 1000.0].map(lower);
    assert!((ends[2] - 504.0).abs() < 1.0, "{ends:?}");
    assert!(ends[0] < ends[1] && ends[1] < ends[2], "{ends:?}");
}

#[test]
fn parameters_end_where_a_slow_profile_ends() {
    let mut found = Findings::default();
    for (shape, seed) in [(-0.4, 1), (-0.2, 2), (0.1, 3), (0.5, 4), (0.8, 5)] {
        for n in [20, 50] {
            let distribution = Gev { location: 300.0, scale: 40.0, shape };
            let series = sample(&distribution, n, seed);
            let likelihood = Likelihood::new(&series).unwrap();
            let fit = likelihood.fit();
            let rows = SlowRows::maxima(series.values());
            let targets = [
                (GevTarget::Location, SlowTarget::Location, fit.location),
                (GevTarget::Scale, SlowTarget::Scale, fit.scale),
                (
                    GevTarget::Quantile(0.5),
                    SlowTarget::Level(gumbel_level(2.0)),
                    fit.distribution().quantile(0.5),
                ),
            ];
            for (target, held, estimate) in targets {
                let interval = likelihood.profile(&fit, target, 0.95).unwrap();
                let slow = |value: f64| rows.held(held, value);
                let what = format!("n {n}, shape {shape}, {target:?}");
                found.check(&interval, estimate, fit.negative_log_likelihood, slow, &what);
            }
        }
    }
    found.expect_all_found();
}

#[test]
fn levels_of_models_with_more_than_maxima_end_where_a_slow_profile_ends() {
    let mut found = Findings::default();
    let mut check = |model: &Model, rows: &SlowRows, fit: &GevFit, what: &str| {
        if fit.status == Status::Boundary {
            return;
        }
        for period in [10.0, 1000.0] {
            let interval = model.profile(fit, GevTarget::ReturnLevel(period), 0.95).unwrap();
            let estimate = fit.return_level(period).unwrap().level;
            let held = |level: f64| rows.held(SlowTarget::Level(gumbel_level(period)), level);
            found.check(&interval, estimate, fit.negative_log_likelihood, held, what);
        }
    };
    for (shape, seed) in [(-0.2, 1), (0.3, 2), (0.7, 3)] {
        let distribution = Gev { location: 300.0, scale: 40.0, shape };
        let mut random = Xoshiro::new(seed);
        let blocks: Vec<Vec<f64>> = (0..25)
            .map(|_| {
                let mut t = 0.0;
                (0..3)
                    .map(|_| {
                        t += random.exponential();
                        distribution.at_gumbel_level(-f64::ln(t))
                    })
                    .collect()
            })
            .collect();
        let model = Model::largest(&blocks, 3).unwrap();
        let rows = blocks
            .iter()
            .flat_map(|block| block.iter().enumerate().map(|(i, x)| [*x, 1.0, f64::from(u8::from(i == 2))]));
        check(&model, &SlowRows(rows.collect()), &model.fit(), &format!("3 largest, shape {shape}"));
        let values: Vec<f64> = (0..300).map(|_| distribution.sample(&mut random)).collect();
        let threshold = Series::clean(&values).quantile(0.9);
        let model = Model::point_process(&values, threshold, 30.0).unwrap();
        let above = values.iter().filter(|x| **x > threshold).map(|x| [*x, 1.0, 0.0]);
        let rows = SlowRows(above.chain([[threshold, 0.0, 30.0]]).collect());
        check(&model, &rows, &model.fit(), &format!("point process, shape {shape}"));
    }
    found.expect_all_found();
}

/// Negative log-likelihood of a generalised Pareto distribution, infinite outside its support.
fn pareto_height(excesses: &[f64], scale: f64, shape: f64) -> f64 {
    let mut sum = excesses.len() as f64 * scale.ln();
    for y in excesses {
        let w = 1.0 + shape * y / scale;
        if w <= 0.0 {
            return f64::INFINITY;
        }
        sum += (1.0 + shape) * if shape.abs() < 1e-9 { y / scale } else { w.ln() / shape };
    }
    sum
}

#[test]
fn levels_above_a_threshold_end_where_a_slow_profile_ends() {
    let mut found = Findings::default();
    for shape in [-0.4, -0.2, 0.0, 0.3, 0.8] {
        for (n, seed) in [(20, 1), (30, 2), (50, 3), (100, 4), (400, 5)] {
            let distribution = Gpd { threshold: 100.0, scale: 20.0, shape };
            let mut random = Xoshiro::new(seed);
            let values: Vec<f64> = (0..n).map(|_| distribution.sample(&mut random)).collect();
            let excesses: Vec<f64> = values.iter().map(|x| x - 100.0).collect();
            let likelihood = GpdLikelihood::new(&Series::clean(&values), 100.0).unwrap();
            let fit = likelihood.fit();
            if fit.status == Status::Boundary {
                continue;
            }
            let mut last = 0.0;
            for period in [10.0, 1000.0, 100_000.0f64] {
                let target = GpdTarget::ReturnLevel(period, 1.0);
                let interval = likelihood.profile(&fit, target, 0.95).unwrap();
                let held = |level: f64| {
                    let at = |shape: f64| (level - 100.0) / standard_quantile(period.ln(), shape);
                    least(
                        |t| pareto_height(&excesses, at(-1.0 + 6.0 * t * t), -1.0 + 6.0 * t * t),
                        0.0,
                        1.0,
                        600,
                    )
                };
                let estimate = fit.return_level(period, 1.0).unwrap().0;
                let what = format!("n {n}, shape {shape}, period {period}");
                found.check(&interval, estimate, fit.negative_log_likelihood, held, &what);
                assert!(interval.lower > last, "{what}: not monotone in the period");
                last = interval.lower;
            }
        }
    }
    found.expect_all_found();
}

#[test]
fn levels_at_covariates_end_where_a_slow_profile_ends() {
    let mut found = Findings::default();
    for (shape, seed) in [(-0.2, 1), (0.2, 2), (0.6, 3)] {
        let mut random = Xoshiro::new(seed);
        let load: Vec<f64> = (0..30).map(|i| f64::from(i % 6)).collect();
        let distribution = |load: f64| Gev { location: 300.0 + 8.0 * load, scale: 40.0, shape };
        let values: Vec<f64> = load.iter().map(|x| distribution(*x).sample(&mut random)).collect();
        let columns = vec![Covariate::new(Part::Location, "load", load.clone())];
        let regression = Regression::new(&values, RegressionDistribution::Gev, columns).unwrap();
        let fit = regression.fit().unwrap();
        for period in [20.0, 1000.0] {
            let at = regression.return_level(&[("load", 4.0)], period, 0.95).unwrap();
            let held = |level: f64| {
                let slope = |slope: f64| {
                    let level_there = values.iter().zip(&load).map(|(x, load)| x - slope * (load - 4.0));
                    SlowRows::maxima(&level_there.collect::<Vec<_>>())
                        .held(SlowTarget::Level(gumbel_level(period)), level)
                };
                least(slope, -40.0, 60.0, 10)
            };
            found.check(
                &at.interval,
                at.level,
                fit.negative_log_likelihood,
                held,
                &format!("{shape} {period}"),
            );
        }
    }
    found.expect_all_found();
}

#[test]
fn without_covariates_levels_of_a_regression_are_those_of_the_plain_fit() {
    let series = sample(&Gev { location: 300.0, scale: 40.0, shape: 0.3 }, 40, 7);
    let likelihood = Likelihood::new(&series).unwrap();
    let fit = likelihood.fit();
    let plain = likelihood.profile(&fit, GevTarget::ReturnLevel(500.0), 0.95).unwrap();
    let estimate = fit.return_level(500.0).unwrap();
    let regression = Regression::new(series.values(), RegressionDistribution::Gev, vec![]).unwrap();
    let found = regression.return_level(&[], 500.0, 0.95).unwrap();
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{a} against {b}");
    near(found.level, estimate.level);
    near(found.standard_error.unwrap(), estimate.standard_error.unwrap());
    near(found.interval.lower, plain.lower);
    near(found.interval.upper, plain.upper);

    let gumbel_fit = gumbel::fit(&series).unwrap();
    let plain =
        gumbel::profile(&series, &gumbel_fit, gumbel::GumbelTarget::ReturnLevel(500.0), 0.95).unwrap();
    let regression = Regression::new(series.values(), RegressionDistribution::Gumbel, vec![]).unwrap();
    let found = regression.return_level(&[], 500.0, 0.95).unwrap();
    near(found.interval.lower, plain.lower);
    near(found.interval.upper, plain.upper);

    let above = GpdLikelihood::new(&series, 320.0).unwrap();
    let fit = above.fit();
    let plain = above.profile(&fit, GpdTarget::ReturnLevel(500.0, 1.0), 0.95).unwrap();
    let regression = Regression::new(series.values(), RegressionDistribution::Gpd(320.0), vec![]).unwrap();
    let found = regression.return_level(&[], 500.0, 0.95).unwrap();
    near(found.level, fit.return_level(500.0, 1.0).unwrap().0);
    near(found.interval.lower, plain.lower);
    near(found.interval.upper, plain.upper);
    near(found.standard_error.unwrap(), fit.return_level(500.0, 1.0).unwrap().1.unwrap());
}

#[test]
fn under_a_fine_clock_levels_end_where_those_of_exact_values_end() {
    for (shape, seed) in [(-0.2, 1), (0.2, 2), (0.8, 3)] {
        let series = sample(&Gev { location: 300.0, scale: 40.0, shape }, 30, seed);
        let likelihood = Likelihood::new(&series).unwrap();
        let exact = likelihood.fit();
        let ticked: Vec<f64> = series.values().iter().map(|x| (x * 1e4).round() * 1e-4).collect();
        let ticked = Series::clean(&ticked);
        let fit = interval::fit(&ticked, 1e-4, Rounding::Nearest).unwrap();
        for period in [10.0, 1000.0] {
            let target = GevTarget::ReturnLevel(period);
            let plain = likelihood.profile(&exact, target, 0.95).unwrap();
            let found = interval::profile(&ticked, Rounding::Nearest, &fit, target, 0.95).unwrap();
            assert!((found.lower / plain.lower - 1.0).abs() < 1e-5, "{found:?} against {plain:?}");
            assert!((found.upper / plain.upper - 1.0).abs() < 1e-5, "{found:?} against {plain:?}");
        }
    }
}

#[test]
fn shapes_end_at_their_bound_or_where_a_slow_profile_ends() {
    let (mut reached, mut bound) = (0, 0);
    for (shape, seed) in [(-0.6, 1), (-0.6, 2), (-0.4, 3), (-0.4, 4), (-0.3, 5), (0.0, 6), (0.8, 7)] {
        let series = sample(&Gev { location: 300.0, scale: 40.0, shape }, 20, seed);
        let likelihood = Likelihood::new(&series).unwrap();
        let fit = likelihood.fit();
        if fit.status == Status::Boundary {
            continue;
        }
        let rows = SlowRows::maxima(series.values());
        let (low, high) = (series.sorted()[0], series.sorted()[19]);
        let deviance = |shape: f64| {
            let at_scale = |phi: f64| {
                let room = phi.exp() / shape.abs().max(1e-9);
                let (from, to) = if shape < 0.0 { (high - room, high) } else { (low - 50.0, low + room) };
                let slack = 1e-12 * (to - from).abs();
                least(
                    |m| rows.height(m, phi.exp(), shape),
                    from.max(low - 200.0) + slack,
                    to.min(high) - slack,
                    40,
                )
            };
            2.0 * (least(at_scale, 1.0, 7.0, 60) - fit.negative_log_likelihood)
        };
        let interval = likelihood.profile(&fit, GevTarget::Shape, 0.95).unwrap();
        for (end, kind) in [(interval.lower, interval.lower_end), (interval.upper, interval.upper_end)] {
            match kind {
                End::Reached => {
                    assert!(
                        (deviance(end) / CRITICAL - 1.0).abs() < 0.01,
                        "{shape} {seed}: {}",
                        deviance(end)
                    );
                    reached += 1;
                }
                End::Bound => {
                    assert!(end == -1.0 && deviance(-0.9999) < CRITICAL, "{shape} {seed}: {end}");
                    bound += 1;
                }
                End::Infinite | End::NotFound => panic!("{shape} {seed}: {interval:?}"),
            }
        }
    }
    assert!(reached > 8 && bound > 0, "{reached} reached, {bound} at the bound");
}
