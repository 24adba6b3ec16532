//! Fits a GEV to values from a coarse clock: each value represents the interval it was rounded from.
//!
//! The likelihood of a value is F(upper) - F(lower) (Heitjan 1989). Use it when the tick exceeds a fifth of
//! the scale: treating such values as exact biases the scale upward and the shape downward.

use serde::{Deserialize, Serialize};

use crate::gev::fit::{hessian_of, in_units, quantile_start, standardisation};
use crate::gev::{self, GevFit, GevTarget};
use crate::held;
use crate::kernel::{Terms, log_ratio};
use crate::newton::Newton;
use crate::search::{self, Refitted, StandardMaximum};
use crate::status::Interval;
use crate::surface::{Surface, grow_scale};
use crate::{Error, Series, Status};

/// Rounding of the clock to its tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Rounds to the nearest tick: the interval is x ± tick/2.
    Nearest,
    /// Truncates: the interval is x .. x + tick.
    Down,
}

impl Rounding {
    /// Distances of the interval's ends from the value.
    pub fn ends(self, tick: f64) -> (f64, f64) {
        match self {
            Rounding::Nearest => (-0.5 * tick, 0.5 * tick),
            Rounding::Down => (0.0, tick),
        }
    }
}

/// Distinct values with their counts, over which the interval likelihood sums.
#[derive(Debug, Clone, Default)]
pub(crate) struct Censored {
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    pub count: Vec<f64>,
    pub n: usize,
}

impl Censored {
    /// The likelihood of ascending values and the distances to the ends of their intervals, all standardised.
    pub fn fill(&mut self, sorted: impl Iterator<Item = f64>, (below, above): (f64, f64)) {
        self.low.clear();
        self.high.clear();
        self.count.clear();
        self.n = 0;
        let mut last = f64::NAN;
        for y in sorted {
            self.n += 1;
            // Values within a thousandth of a tick are the same tick.
            if (y - last).abs() <= 1e-3 * (above - below) {
                if let Some(count) = self.count.last_mut() {
                    *count += 1.0;
                }
            } else {
                self.low.push(y + below);
                self.high.push(y + above);
                self.count.push(1.0);
                last = y;
            }
        }
    }
}

/// exp(-h) at an end of an interval, and the derivatives of h by (location, ln scale, shape).
struct Edge {
    t: f64,
    first: [f64; 3],
    second: [f64; 6],
}

impl Edge {
    #[inline]
    fn new(x: f64, location: f64, rate: f64, shape: f64) -> Edge {
        if x.is_infinite() {
            let t = if x > 0.0 { 0.0 } else { f64::INFINITY };
            return Edge { t, first: [0.0; 3], second: [0.0; 6] };
        }
        let z = (x - location) * rate;
        let q = shape * z;
        let w = 1.0 + q;
        if w <= 0.0 {
            // Below the support F = 0, above it F = 1, and the derivatives are 0.
            let t = if shape > 0.0 { f64::INFINITY } else { 0.0 };
            return Edge { t, first: [0.0; 3], second: [0.0; 6] };
        }
        let p = 1.0 / w;
        let (l, l1, l2) = log_ratio(q);
        let p2 = p * p;
        let z2 = z * z;
        Edge {
            t: (-z * l).exp(),
            first: [-rate * p, -z * p, z2 * l1],
            second: [-shape * rate * rate * p2, rate * p2, z * p2, rate * z * p2, z2 * p2, z2 * z * l2],
        }
    }
}

impl Surface for Censored {
    fn terms(&self, location: f64, log_scale: f64, shape: f64) -> Option<Terms> {
        let rate = (-log_scale).exp();
        let mut total = Terms::default();
        for ((&low, &high), &count) in self.low.iter().zip(&self.high).zip(&self.count) {
            let lower = Edge::new(low, location, rate, shape);
            let upper = Edge::new(high, location, rate, shape);
            let ln_mass = -upper.t + (-(-(lower.t - upper.t)).exp_m1()).ln();
            if !ln_mass.is_finite() {
                return None;
            }
            let weight = |edge: &Edge| {
                if edge.t > 0.0 && edge.t < 700.0 { (-edge.t - ln_mass).exp() * edge.t } else { 0.0 }
            };
            let (ru, rl) = (weight(&upper), weight(&lower));
            let g: [f64; 3] = std::array::from_fn(|i| ru * upper.first[i] - rl * lower.first[i]);
            total.value -= count * ln_mass;
            for (sum, g) in total.gradient.iter_mut().zip(g) {
                *sum -= count * g;
            }
            let (tu, tl) = (upper.t - 1.0, if lower.t < 700.0 { lower.t - 1.0 } else { 0.0 });
            for (k, (i, j)) in crate::kernel::PAIRS.into_iter().enumerate() {
                let above = ru * (tu * upper.first[i] * upper.first[j] + upper.second[k]);
                let below = rl * (tl * lower.first[i] * lower.first[j] + lower.second[k]);
                total.hessian[k] -= count * (above - below - g[i] * g[j]);
            }
        }
        if total.value.is_finite() { Some(total) } else { None }
    }

    fn ends(&self) -> (f64, f64) {
        (self.low[0], self.high[self.high.len() - 1])
    }

    fn shape_max(&self) -> f64 {
        gev::fit::SHAPE_MAX
    }

    fn len(&self) -> usize {
        self.n
    }
}

/// The maximum of an interval likelihood in units of the interquartile range.
pub(crate) fn maximize(censored: &Censored, newton: &mut Newton) -> StandardMaximum {
    let base = quantile_start();
    let first = [base[0], grow_scale(censored.ends(), base[0], base[1], 0.05), 0.05];
    search::maximize(censored, first, base, newton)
}

/// The interior maximum of an interval likelihood next to a known one, if there is one.
pub(crate) fn maximize_from(
    censored: &Censored,
    start: [f64; 3],
    newton: &mut Newton,
) -> Option<StandardMaximum> {
    let mut first = start;
    first[1] = grow_scale(censored.ends(), first[0], first[1], first[2]);
    let base = [start[0], start[1]];
    let found = match search::refit(censored, first, base, newton) {
        Refitted::Found(best) => best,
        Refitted::AtBound { .. } => return None,
        Refitted::Unknown => search::maximize(censored, first, base, newton),
    };
    (found.status != Status::Boundary).then_some(found)
}

fn prepare(series: &Series, tick: f64, rounding: Rounding) -> Result<(Censored, f64, f64), Error> {
    series.require(5, 4)?;
    if !(tick > 0.0 && tick.is_finite()) {
        return Err(Error::Parameter { what: "tick", value: tick, must: "positive and finite" });
    }
    let (center, spread) = standardisation(series.sorted());
    let (below, above) = rounding.ends(tick);
    let mut censored = Censored::default();
    let standard = series.sorted().iter().map(|x| (x - center) / spread);
    censored.fill(standard, (below / spread, above / spread));
    Ok((censored, center, spread))
}

/// Fit a GEV to values rounded to `tick`. The negative log-likelihood is that of probabilities, so it does
/// not depend on the unit and cannot be compared with that of [`gev::fit`].
///
/// # Errors
/// As [`gev::fit`], and [`Error::Parameter`] for a tick that is not positive.
pub fn fit(series: &Series, tick: f64, rounding: Rounding) -> Result<GevFit, Error> {
    let (censored, center, spread) = prepare(series, tick, rounding)?;
    let best = maximize(&censored, &mut Newton::new(3));
    let (mut fit, _) = in_units(hessian_of(&censored, &best), &best, series, center, spread);
    fit.tick = Some(tick);
    Ok(fit)
}

/// Profile interval of a parameter or level around an interval fit, which holds its tick.
///
/// # Errors
/// As [`fit`] and [`gev::Likelihood::profile`].
pub fn profile(
    series: &Series,
    rounding: Rounding,
    fit: &GevFit,
    target: GevTarget,
    level: f64,
) -> Result<Interval, Error> {
    profile_with(series, (rounding, fit), target, level, 1.0)
}

/// [`profile`] with the critical value that allows for the size of the sample ([`gev::bartlett_factor`]).
///
/// # Errors
/// As [`profile`].
pub fn profile_corrected(
    series: &Series,
    rounding: Rounding,
    fit: &GevFit,
    target: GevTarget,
    level: f64,
) -> Result<Interval, Error> {
    let inflation = gev::bartlett_factor(fit.n, target, fit.shape);
    profile_with(series, (rounding, fit), target, level, inflation)
}

fn profile_with(
    series: &Series,
    (rounding, fit): (Rounding, &GevFit),
    target: GevTarget,
    level: f64,
    inflation: f64,
) -> Result<Interval, Error> {
    let tick =
        fit.tick.ok_or(Error::Support { model: "interval likelihood", needs: "a fit with its tick" })?;
    let (censored, center, spread) = prepare(series, tick, rounding)?;
    let what = target.what()?;
    let interval = held::profile(&censored, &fit.peak(center, spread, 0.0)?, what, level, inflation)?;
    Ok(gev::profile::in_units(interval, what, center, spread))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gev, Xoshiro};

    #[test]
    fn analytic_derivatives_match_differences() {
        let mut censored = Censored::default();
        censored.fill([-1.0, 0.0, 0.0, 0.5, 2.0, 3.5].into_iter(), (-0.25, 0.25));
        for shape in [-0.15, -1e-4, 0.0, 0.2] {
            let at = [0.1, 0.2, shape];
            let f = |t: [f64; 3]| censored.terms(t[0], t[1], t[2]).unwrap();
            let terms = f(at);
            for i in 0..3 {
                let (mut up, mut down) = (at, at);
                up[i] += 1e-5;
                down[i] -= 1e-5;
                assert!(((f(up).value - f(down).value) / 2e-5 - terms.gradient[i]).abs() < 1e-7);
                for j in 0..3 {
                    let second = (f(up).gradient[j] - f(down).gradient[j]) / 2e-5;
                    assert!((second - terms.matrix()[3 * i + j]).abs() < 1e-6, "{shape} {i}{j}");
                }
            }
        }
    }

    #[test]
    fn a_coarse_clock_biases_the_naive_fit_and_not_this_one() {
        let distribution = Gev::new(10.0, 1.0, 0.0).unwrap();
        let mut random = Xoshiro::new(5);
        let exact: Vec<f64> = (0..20_000).map(|_| distribution.sample(&mut random)).collect();
        let nearest = Series::clean(&exact.iter().map(|x| x.round()).collect::<Vec<_>>());
        let down = Series::clean(&exact.iter().map(|x| x.floor()).collect::<Vec<_>>());
        let naive = gev::fit(nearest.values()).unwrap();
        assert!(naive.scale > 1.04 && naive.shape < -0.015);
        for (series, rounding) in [(nearest, Rounding::Nearest), (down, Rounding::Down)] {
            let fit = fit(&series, 1.0, rounding).unwrap();
            let errors = fit.standard_errors.unwrap();
            assert!((fit.location - 10.0).abs() < 3.0 * errors.location);
            assert!((fit.scale - 1.0).abs() < 3.0 * errors.scale);
            assert!(fit.shape.abs() < 3.0 * errors.shape);
        }
    }
}
