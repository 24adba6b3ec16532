//! What the three-parameter models share: a likelihood surface over (location, ln scale, shape) in
//! standardised units, its maximum, and its profiles.

use crate::interval_end::interval_end;
use crate::kernel::{self, At, Terms};
use crate::newton::{Newton, Objective, Outcome};
use crate::status::{End, Interval};
use crate::{Error, Status, argument, linalg, special};

/// A negative log-likelihood in location, ln scale and shape, of standardised values.
pub(crate) trait Surface {
    /// Value and derivatives; `None` where infeasible.
    fn terms(&self, location: f64, log_scale: f64, shape: f64) -> Option<Terms>;

    /// Smallest and largest value, to find feasible starts.
    fn ends(&self) -> (f64, f64);

    /// The largest shape for which the likelihood is bounded.
    fn shape_max(&self) -> f64;

    /// Number of values, for tolerances.
    fn len(&self) -> usize;
}

/// A GEV sample: standardised values with their smallest and largest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maxima<'a> {
    pub y: &'a [f64],
    /// How many values each stands for; empty where each is one.
    pub weights: &'a [f64],
    pub ends: (f64, f64),
    pub shape_max: f64,
}

impl<'a> Maxima<'a> {
    /// Of ascending values.
    pub fn sorted(y: &'a [f64], shape_max: f64) -> Self {
        Maxima { y, weights: &[], ends: (y[0], y[y.len() - 1]), shape_max }
    }

    /// Of ascending groups of values.
    pub fn grouped(y: &'a [f64], weights: &'a [f64], shape_max: f64) -> Self {
        Maxima { weights, ..Maxima::sorted(y, shape_max) }
    }

    /// How many values there are, and their sum.
    pub fn count_and_sum(&self) -> (f64, f64) {
        if self.weights.is_empty() {
            return (self.y.len() as f64, self.y.iter().sum());
        }
        (self.weights.iter().sum(), self.y.iter().zip(self.weights).map(|(y, w)| y * w).sum())
    }
}

impl Surface for Maxima<'_> {
    #[inline]
    fn terms(&self, location: f64, log_scale: f64, shape: f64) -> Option<Terms> {
        let at = At::new(location, log_scale, shape);
        if self.weights.is_empty() {
            kernel::sum(self.y, &at, 1.0, 1.0)
        } else {
            kernel::sum_weighted(self.y, self.weights, &at)
        }
    }

    fn ends(&self) -> (f64, f64) {
        self.ends
    }

    fn shape_max(&self) -> f64 {
        self.shape_max
    }

    fn len(&self) -> usize {
        self.y.len()
    }
}

/// A maximum in standardised parameters (location, ln scale, shape).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StandardMaximum {
    pub at: [f64; 3],
    pub value: f64,
    pub iterations: usize,
    pub status: Status,
}

/// All three parameters free.
pub(crate) struct Free<'a, S>(pub &'a S);

impl<S: Surface> Objective for Free<'_, S> {
    fn size(&self) -> usize {
        3
    }

    #[inline]
    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        if at[2] <= -1.0 || at[2] >= self.0.shape_max() {
            return f64::INFINITY;
        }
        let Some(terms) = self.0.terms(at[0], at[1], at[2]) else { return f64::INFINITY };
        gradient.copy_from_slice(&terms.gradient);
        hessian.copy_from_slice(&terms.matrix());
        terms.value
    }
}

/// What is held fixed while the other two parameters are maximised out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum HeldFixed {
    Location,
    LogScale,
    Shape,
    /// The quantile at this Gumbel level.
    Level(f64),
}

/// The two nuisance parameters with the target fixed.
pub(crate) struct Fixed<'a, S> {
    pub surface: &'a S,
    pub what: HeldFixed,
    pub value: f64,
}

impl<S: Surface> Fixed<'_, S> {
    /// (location, ln scale, shape) of the nuisance parameters.
    pub fn full(&self, at: &[f64]) -> [f64; 3] {
        match self.what {
            HeldFixed::Location => [self.value, at[0], at[1]],
            HeldFixed::LogScale => [at[0], self.value, at[1]],
            HeldFixed::Shape => [at[0], at[1], self.value],
            HeldFixed::Level(c) => [self.value - at[0].exp() * kernel::box_cox(c, at[1]).0, at[0], at[1]],
        }
    }

    fn nuisance(&self, full: &[f64; 3]) -> [f64; 2] {
        match self.what {
            HeldFixed::Location | HeldFixed::Level(_) => [full[1], full[2]],
            HeldFixed::LogScale => [full[0], full[2]],
            HeldFixed::Shape => [full[0], full[1]],
        }
    }

    /// Make a start feasible: a wider scale, or, where that is fixed, a shape nearer 0.
    fn repair(&self, at: &mut [f64; 2]) {
        let (low, high) = self.surface.ends();
        for _ in 0..60 {
            let [m, phi, shape] = self.full(at);
            let scale = phi.exp();
            let inside = shape > -1.0 && shape < self.surface.shape_max();
            if inside && [low, high].iter().all(|y| 1.0 + shape * (y - m) / scale > 1e-3) {
                return;
            }
            match self.what {
                HeldFixed::LogScale => at[1] *= 0.7,
                HeldFixed::Shape => at[1] += 0.25,
                _ if !inside => at[1] *= 0.9,
                _ => at[0] += 0.25,
            }
        }
    }
}

impl<S: Surface> Objective for Fixed<'_, S> {
    fn size(&self) -> usize {
        2
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [m, phi, shape] = self.full(at);
        if shape < -1.0 || shape > self.surface.shape_max() {
            return f64::INFINITY;
        }
        let Some(t) = self.surface.terms(m, phi, shape) else { return f64::INFINITY };
        let [gm, gp, gx] = t.gradient;
        let [mm, mp, pp, mx, px, xx] = t.hessian;
        let (g, h) = match self.what {
            HeldFixed::Location => ([gp, gx], [pp, px, xx]),
            HeldFixed::LogScale => ([gm, gx], [mm, mx, xx]),
            HeldFixed::Shape => ([gm, gp], [mm, mp, pp]),
            HeldFixed::Level(c) => {
                // Chain rule through location = level - scale b(shape).
                let (b, b1, b2) = kernel::box_cox(c, shape);
                let scale = phi.exp();
                let (dp, dx) = (-scale * b, -scale * b1);
                (
                    [gp + gm * dp, gx + gm * dx],
                    [
                        pp + 2.0 * mp * dp + mm * dp * dp + gm * dp,
                        px + mp * dx + mx * dp + mm * dp * dx + gm * dx,
                        xx + 2.0 * mx * dx + mm * dx * dx - gm * scale * b2,
                    ],
                )
            }
        };
        gradient.copy_from_slice(&g);
        hessian.copy_from_slice(&[h[0], h[1], h[1], h[2]]);
        t.value
    }
}

/// ln scale grown from `phi` until location, scale and shape hold all between the ends.
pub(crate) fn grow_scale((low, high): (f64, f64), m: f64, phi: f64, shape: f64) -> f64 {
    let mut needed = phi.exp();
    // 1 + shape (y - m) / scale must stay above 0.05 at both ends.
    for y in [low, high] {
        needed = needed.max(-shape * (y - m) / 0.95);
    }
    if needed > phi.exp() { needed.ln() } else { phi }
}

/// Whether an outcome is an interior maximum, and of which kind.
fn accept(outcome: &Outcome, newton: &Newton, iterations: usize) -> StandardMaximum {
    StandardMaximum {
        at: [newton.at[0], newton.at[1], newton.at[2]],
        value: outcome.value,
        iterations,
        status: if newton.at[2] > -0.5 { Status::Ok } else { Status::Irregular },
    }
}

/// The maximum of a surface, tried from `first` (location, ln scale, shape), then from a ring of shapes around
/// `base` (location, ln scale), then from every dip of the profile of the shape. Without an interior maximum
/// the better bound of the shape is returned, with status boundary.
pub(crate) fn maximize<S: Surface>(
    surface: &S,
    first: [f64; 3],
    base: [f64; 2],
    newton: &mut Newton,
) -> StandardMaximum {
    let objective = Free(surface);
    let tolerance = 1e-12 * surface.len() as f64;
    let mut iterations = 0;
    let start = |shape: f64| {
        let shape = shape.min(0.5 * surface.shape_max());
        [base[0], grow_scale(surface.ends(), base[0], base[1], shape), shape]
    };
    let fallbacks = [-0.15, 0.35, -0.4, 0.8, -0.7, 1.5].map(start);
    for from in std::iter::once(first).chain(fallbacks) {
        let outcome = newton.minimize(&objective, &from, tolerance, 2);
        iterations += outcome.iterations;
        if outcome.converged {
            return accept(&outcome, newton, iterations);
        }
    }
    scan(surface, base, newton, iterations)
}

/// Profile the shape over its whole range: start again from every interior dip, else return the bound.
fn scan<S: Surface>(
    surface: &S,
    base: [f64; 2],
    newton: &mut Newton,
    mut iterations: usize,
) -> StandardMaximum {
    let tolerance = 1e-12 * surface.len() as f64;
    let shape_max = surface.shape_max();
    let mut grid: Vec<f64> =
        std::iter::once(-1.0).chain((0..40).map(|i| -0.995 + 0.03 * f64::from(i))).collect();
    let mut shape = 0.25;
    while shape < shape_max - 1e-3 {
        grid.push(shape);
        shape += 0.1;
    }
    grid.retain(|&s| s < shape_max - 1e-3);
    grid.push(shape_max - 1e-3);
    let mut two = Newton::new(2);
    let profile: Vec<([f64; 3], f64)> = grid
        .iter()
        .map(|&shape| {
            let start = [base[0], grow_scale(surface.ends(), base[0], base[1], shape)];
            let fixed = Fixed { surface, what: HeldFixed::Shape, value: shape };
            let outcome = two.minimize(&fixed, &start, tolerance, 0);
            iterations += outcome.iterations;
            ([two.at[0], two.at[1], shape], outcome.value)
        })
        .collect();
    let mut best: Option<StandardMaximum> = None;
    for i in 1..profile.len() - 1 {
        if profile[i].1 <= profile[i - 1].1 && profile[i].1 <= profile[i + 1].1 {
            let outcome = newton.minimize(&Free(surface), &profile[i].0, tolerance, 2);
            iterations += outcome.iterations;
            if outcome.converged && best.is_none_or(|b| outcome.value < b.value) {
                best = Some(accept(&outcome, newton, iterations));
            }
        }
    }
    best.unwrap_or_else(|| {
        let (low, high) = (profile[0], profile[profile.len() - 1]);
        let (at, value) = if low.1 <= high.1 { low } else { high };
        StandardMaximum { at, value, iterations, status: Status::Boundary }
    })
}

/// A fitted point of a surface, from which to profile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peak {
    /// (location, ln scale, shape), standardised.
    pub at: [f64; 3],
    /// Value of the surface there.
    pub value: f64,
    /// Inverse Hessian there, row-major.
    pub inverse: [f64; 9],
}

/// Twice the fall of the log-likelihood from its peak to the best point with the target held at `value`
/// (standardised, the scale as its logarithm); infinite where no such point is feasible.
pub(crate) fn deviance<S: Surface>(surface: &S, peak: &Peak, what: HeldFixed, value: f64) -> f64 {
    let from = match what {
        HeldFixed::Location => peak.at[0],
        HeldFixed::LogScale => peak.at[1],
        HeldFixed::Shape => peak.at[2],
        HeldFixed::Level(c) => peak.at[0] + peak.at[1].exp() * kernel::box_cox(c, peak.at[2]).0,
    };
    let mut objective = Fixed { surface, what, value: from };
    let mut newton = Newton::new(2);
    let mut warm = objective.nuisance(&peak.at);
    let mut found = f64::INFINITY;
    // A few steps on the way keep the nuisance parameters near their ridge.
    const STEPS: usize = 4;
    for step in 1..=STEPS {
        objective.value = from + (value - from) * step as f64 / STEPS as f64;
        let mut start = warm;
        objective.repair(&mut start);
        let outcome = newton.minimize(&objective, &start, 1e-11 * surface.len() as f64, 1);
        found = if outcome.value.is_finite() {
            warm = [newton.at[0], newton.at[1]];
            (2.0 * (outcome.value - peak.value)).max(0.0)
        } else {
            f64::INFINITY
        };
    }
    found
}

/// The profile interval of a target, in standardised units (the scale as its logarithm). The critical value
/// of the deviance is the chi-square quantile times `inflation`.
pub(crate) fn profile<S: Surface>(
    surface: &S,
    peak: &Peak,
    what: HeldFixed,
    level: f64,
    inflation: f64,
) -> Result<Interval, Error> {
    argument::confidence_level(level)?;
    let v = &peak.inverse;
    let (estimate, error) = match what {
        HeldFixed::Location => (peak.at[0], v[0].sqrt()),
        HeldFixed::LogScale => (peak.at[1], v[4].sqrt()),
        HeldFixed::Shape => (peak.at[2], v[8].sqrt()),
        HeldFixed::Level(c) => {
            let (b, b1, _) = kernel::box_cox(c, peak.at[2]);
            let scale = peak.at[1].exp();
            let gradient = [1.0, scale * b, scale * b1];
            (peak.at[0] + scale * b, linalg::quadratic(v, &gradient).max(0.0).sqrt())
        }
    };
    let z = special::normal_upper_quantile(0.5 * (1.0 - level)) * inflation.sqrt();
    let mut objective = Fixed { surface, what, value: estimate };
    let mut newton = Newton::new(2);
    let tolerance = 1e-11 * surface.len() as f64;
    let mut ends = [(f64::NAN, End::NotFound); 2];
    for (side, end) in [-1.0, 1.0].into_iter().zip(&mut ends) {
        let mut warm = objective.nuisance(&peak.at);
        let root_deviance = |value: f64| -> f64 {
            objective.value = value;
            let mut start = warm;
            objective.repair(&mut start);
            let outcome = newton.minimize(&objective, &start, tolerance, 1);
            if !outcome.value.is_finite() {
                return f64::INFINITY;
            }
            warm = [newton.at[0], newton.at[1]];
            (2.0 * (outcome.value - peak.value)).max(0.0).sqrt()
        };
        let bound = match what {
            HeldFixed::Shape if side < 0.0 => -1.0,
            HeldFixed::Shape => surface.shape_max(),
            _ => side * f64::INFINITY,
        };
        *end = interval_end(root_deviance, estimate, error, z, bound);
    }
    Ok(Interval::from_ends(ends, level))
}
