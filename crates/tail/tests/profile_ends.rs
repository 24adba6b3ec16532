//! Ends of profile intervals against a slow profile that shares no code with them.

use tail::extremes::Model;
use tail::gev::{GevFit, GevTarget};
use tail::gpd::{GpdLikelihood, GpdTarget};
use tail::interval::Rounding;
use tail::regression::{Covariate, Part, Regression, RegressionLaw};
use tail::{End, Gev, Gpd, Interval, Likelihood, Series, Status, Xoshiro, gumbel, interval};

/// The critical value of 95 %.
const CRITICAL: f64 = 3.841_458_820_694_124;

/// (exp(shape c) - 1) / shape.
fn standard_quantile(c: f64, shape: f64) -> f64 {
    if (shape * c).abs() < 1e-9 { c } else { (shape * c).exp_m1() / shape }
}

fn gumbel_level(period: f64) -> f64 {
    -(-(-1.0 / period).ln_1p()).ln()
}

/// What is held in a profile.
#[derive(Clone, Copy)]
enum SlowTarget {
    Location,
    Scale,
    /// Beyond this Gumbel level.
    Level(f64),
}

/// A likelihood of rows: a value, how often it counts with a density, and for how many blocks nothing exceeds it.
struct SlowRows(Vec<[f64; 3]>);

impl SlowRows {
    fn maxima(values: &[f64]) -> SlowRows {
        SlowRows(values.iter().map(|x| [*x, 1.0, 1.0]).collect())
    }

    /// Negative log-likelihood, infinite outside the support.
    fn height(&self, m: f64, scale: f64, shape: f64) -> f64 {
        let ln_scale = scale.ln();
        let mut sum = 0.0;
        for [x, density, blocks] in &self.0 {
            let z = (x - m) / scale;
            let w = 1.0 + shape * z;
            if w <= 0.0 {
                return f64::INFINITY;
            }
            let h = if shape.abs() < 1e-9 { z } else { w.ln() / shape };
            sum += density * (ln_scale + (1.0 + shape) * h);
            if *blocks > 0.0 {
                sum += blocks * (-h).exp();
            }
        }
        sum
    }

    /// The least height of the laws of shape -1 to 5 with something held at `value`.
    fn held(&self, what: SlowTarget, value: f64) -> f64 {
        let mut sorted: Vec<f64> = self.0.iter().map(|row| row[0]).collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        let spread = sorted[sorted.len() * 3 / 4] - sorted[sorted.len() / 4];
        let of_shape = |shape: f64| match what {
            SlowTarget::Scale => {
                // Locations that hold all values.
                let room = value / shape.abs().max(1e-6);
                let from = if shape < 0.0 { high - room } else { low - 6.0 * spread };
                let to = if shape < 0.0 { high + 3.0 * spread } else { (low + room).min(high + spread) };
                let slack = 1e-12 * (to - from).abs();
                least(
                    |m| self.height(m, value, shape),
                    (from + slack).max(low - 9.0 * spread),
                    to - slack,
                    40,
                )
            }
            SlowTarget::Level(c) if c > 0.5 => {
                // Locations whose scale holds all values.
                let b = standard_quantile(c, shape);
                let ratio = 1.0 / (b * shape.abs().max(1e-9));
                let end = if shape < 0.0 {
                    (value * ratio - high) / (ratio - 1.0).max(1e-12)
                } else {
                    (low + value * ratio) / (1.0 + ratio)
                };
                let from = low - 4.0 * spread;
                let to = end.min(high).min(value) - 1e-12 * spread;
                least(|m| self.height(m, (value - m) / b, shape), from.min(to - spread), to, 20)
            }
            SlowTarget::Location | SlowTarget::Level(_) => {
                let b = if let SlowTarget::Level(c) = what { standard_quantile(c, shape) } else { 0.0 };
                // Scales that hold all values: 1 + shape (x - value + scale b) / scale > 0.
                let inner = 1.0 + shape * b;
                let needed = [low, high].iter().map(|x| shape * (value - x) / inner).fold(0.0, f64::max);
                let from = (needed * (1.0 + 1e-12)).max(1e-2 * spread).ln();
                least(|phi| self.height(value - phi.exp() * b, phi.exp(), shape), from, from + 8.0, 20)
            }
        };
        // Denser near -1, where the likelihood bends most.
        least(|t| of_shape(-1.0 + 6.0 * t * t), 0.0, 1.0, 40)
    }
}

/// The least of `f` between `low` and `high`: a grid of `steps`, then golden section around its least point.
fn least(f: impl Fn(f64) -> f64, low: f64, high: f64, steps: usize) -> f64 {
    let width = (high - low) / steps as f64;
    let (mut best, mut at) = (f64::INFINITY, low);
    for i in 0..=steps {
        let here = f(low + width * i as f64);
        if here < best {
            (best, at) = (here, low + width * i as f64);
        }
    }
    let golden = 0.618_033_988_749_894_9;
    let (mut a, mut b) = ((at - width).max(low), (at + width).min(high));
    let (mut x, mut y) = (b - golden * (b - a), a + golden * (b - a));
    let (mut fx, mut fy) = (f(x), f(y));
    for _ in 0..28 {
        if fx <= fy {
            (b, y, fy) = (y, x, fx);
            x = b - golden * (b - a);
            fx = f(x);
        } else {
            (a, x, fx) = (x, y, fy);
            y = a + golden * (b - a);
            fy = f(y);
        }
    }
    best.min(fx).min(fy)
}

/// Ends of intervals that were looked at, and what is wrong with them.
#[derive(Default)]
struct Findings {
    ends: usize,
    not_found: usize,
    wrong: Vec<String>,
}

impl Findings {
    /// Every end that counts as reached has the critical deviance, and no value on the way to it has more.
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

fn sample(law: &Gev, n: usize, seed: u64) -> Series {
    let mut random = Xoshiro::stream(0x9e_0d5 + n as u64, seed);
    Series::clean(&(0..n).map(|_| law.sample(&mut random)).collect::<Vec<_>>())
}

/// Levels of several periods of samples of every size and shape.
fn levels_of(n: usize, samples: u64) {
    let mut found = Findings::default();
    for shape in [-0.4, -0.2, 0.0, 0.2, 0.5, 0.8] {
        let law = Gev { location: 300.0, scale: 40.0, shape };
        for seed in 0..samples {
            let series = sample(&law, n, seed + (100.0 * (shape + 1.0)) as u64 * 1000);
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
            let law = Gev { location: 300.0, scale: 40.0, shape };
            let series = sample(&law, n, seed);
            let likelihood = Likelihood::new(&series).unwrap();
            let fit = likelihood.fit();
            let rows = SlowRows::maxima(series.values());
            let targets = [
                (GevTarget::Location, SlowTarget::Location, fit.location),
                (GevTarget::Scale, SlowTarget::Scale, fit.scale),
                (GevTarget::Quantile(0.5), SlowTarget::Level(gumbel_level(2.0)), fit.law().quantile(0.5)),
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
        let law = Gev { location: 300.0, scale: 40.0, shape };
        let mut random = Xoshiro::new(seed);
        let blocks: Vec<Vec<f64>> = (0..25)
            .map(|_| {
                let mut t = 0.0;
                (0..3)
                    .map(|_| {
                        t += random.exponential();
                        law.at_gumbel_level(-f64::ln(t))
                    })
                    .collect()
            })
            .collect();
        let model = Model::largest(&blocks, 3).unwrap();
        let rows = blocks
            .iter()
            .flat_map(|block| block.iter().enumerate().map(|(i, x)| [*x, 1.0, f64::from(u8::from(i == 2))]));
        check(&model, &SlowRows(rows.collect()), &model.fit(), &format!("3 largest, shape {shape}"));
        let values: Vec<f64> = (0..300).map(|_| law.sample(&mut random)).collect();
        let threshold = Series::clean(&values).quantile(0.9);
        let model = Model::point_process(&values, threshold, 30.0).unwrap();
        let above = values.iter().filter(|x| **x > threshold).map(|x| [*x, 1.0, 0.0]);
        let rows = SlowRows(above.chain([[threshold, 0.0, 30.0]]).collect());
        check(&model, &rows, &model.fit(), &format!("point process, shape {shape}"));
    }
    found.expect_all_found();
}

/// Negative log-likelihood of a generalised Pareto law, infinite outside its support.
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
            let law = Gpd { threshold: 100.0, scale: 20.0, shape };
            let mut random = Xoshiro::new(seed);
            let values: Vec<f64> = (0..n).map(|_| law.sample(&mut random)).collect();
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
        let law = |load: f64| Gev { location: 300.0 + 8.0 * load, scale: 40.0, shape };
        let values: Vec<f64> = load.iter().map(|x| law(*x).sample(&mut random)).collect();
        let columns = vec![Covariate::new(Part::Location, "load", load.clone())];
        let regression = Regression::new(&values, RegressionLaw::Gev, columns).unwrap();
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
    let regression = Regression::new(series.values(), RegressionLaw::Gev, vec![]).unwrap();
    let found = regression.return_level(&[], 500.0, 0.95).unwrap();
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{a} against {b}");
    near(found.level, estimate.level);
    near(found.standard_error.unwrap(), estimate.standard_error.unwrap());
    near(found.interval.lower, plain.lower);
    near(found.interval.upper, plain.upper);

    let gumbel_fit = gumbel::fit(&series).unwrap();
    let plain =
        gumbel::profile(&series, &gumbel_fit, gumbel::GumbelTarget::ReturnLevel(500.0), 0.95).unwrap();
    let regression = Regression::new(series.values(), RegressionLaw::Gumbel, vec![]).unwrap();
    let found = regression.return_level(&[], 500.0, 0.95).unwrap();
    near(found.interval.lower, plain.lower);
    near(found.interval.upper, plain.upper);

    let above = GpdLikelihood::new(&series, 320.0).unwrap();
    let fit = above.fit();
    let plain = above.profile(&fit, GpdTarget::ReturnLevel(500.0, 1.0), 0.95).unwrap();
    let regression = Regression::new(series.values(), RegressionLaw::Gpd(320.0), vec![]).unwrap();
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
