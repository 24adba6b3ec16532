//! Maximises the likelihood with one quantity held fixed, for deviances and profile intervals.
//!
//! A search that starts far from its maximum can end at another one, or diverge. So each search starts at a
//! distribution predicted from neighbouring values, only converged searches are used, and the deviance at an end is
//! confirmed by searches that start at the peak.

use crate::interval_end::{Path, RootDeviance, interval_end};
use crate::kernel;
use crate::newton::{Newton, Objective};
use crate::status::{End, Interval};
use crate::surface::{FAR_LEVEL, Fixed, HeldFixed, Surface};
use crate::{Error, argument, end_distance, linalg, special};

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

impl Peak {
    /// The held quantity at the peak, its standard error, and the direction in which the best distribution changes
    /// with it.
    fn tangent(&self, what: HeldFixed) -> (f64, f64, [f64; 3]) {
        let [m, phi, shape] = self.at;
        let (estimate, gradient) = match what {
            HeldFixed::Location => (m, [1.0, 0.0, 0.0]),
            HeldFixed::LogScale => (phi, [0.0, 1.0, 0.0]),
            HeldFixed::Shape => (shape, [0.0, 0.0, 1.0]),
            HeldFixed::Level(c) => {
                let (b, b1, _) = kernel::box_cox(c, shape);
                let scale = phi.exp();
                (m + scale * b, [1.0, scale * b, scale * b1])
            }
        };
        let moved: [f64; 3] =
            std::array::from_fn(|i| (0..3).map(|j| self.inverse[3 * i + j] * gradient[j]).sum());
        let variance = linalg::quadratic(&self.inverse, &gradient).max(0.0);
        (estimate, variance.sqrt(), moved.map(|d| d / variance))
    }
}

/// Twice the fall of the log-likelihood from its peak to the best point with the target held at `value`
/// (standardised, the scale as its logarithm); infinite if no such point is found.
pub(crate) fn deviance<S: Surface>(surface: &S, peak: &Peak, what: HeldFixed, value: f64) -> f64 {
    let mut held = HeldSurface::new(surface, peak, what);
    let value = held.axis.of(value);
    held.afresh(value).map_or(f64::INFINITY, |root| root * root)
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
    let z = special::normal_upper_quantile(0.5 * (1.0 - level)) * inflation.sqrt();
    let mut held = HeldSurface::new(surface, peak, what);
    let (estimate, error) = (held.path.from(), held.error);
    let mut ends = [(f64::NAN, End::NotFound); 2];
    for (side, end) in [-1.0, 1.0].into_iter().zip(&mut ends) {
        let bound = match what {
            HeldFixed::Shape if side < 0.0 => -1.0,
            HeldFixed::Shape => surface.shape_max(),
            HeldFixed::Location | HeldFixed::LogScale | HeldFixed::Level(_) => side * f64::INFINITY,
        };
        let (at, kind) = interval_end(&mut held, estimate, error, z, bound);
        *end = (held.axis.value(at), kind);
        held.path.forget();
    }
    Ok(Interval::from_ends(ends, level))
}

/// The axis on which a quantity is searched. Levels far from the location use the logarithm of their excess,
/// since the likelihood falls about linearly in it and the upper end for a heavy tail may be many times the
/// estimate.
#[derive(Clone, Copy)]
enum Axis {
    Plain,
    /// Excess over a location in scales, as its inverse hyperbolic sine.
    Excess {
        location: f64,
        scale: f64,
    },
}

impl Axis {
    fn of(self, value: f64) -> f64 {
        match self {
            Axis::Plain => value,
            Axis::Excess { location, scale } => ((value - location) / scale).asinh(),
        }
    }

    fn value(self, at: f64) -> f64 {
        match self {
            Axis::Plain => at,
            Axis::Excess { location, scale } => location + scale * at.sinh(),
        }
    }

    /// The derivative of the value with respect to the axis.
    fn slope(self, at: f64) -> f64 {
        match self {
            Axis::Plain => 1.0,
            Axis::Excess { scale, .. } => scale * at.cosh(),
        }
    }
}

/// A surface on which one quantity is held, and the best distributions found so far.
struct HeldSurface<'a, S> {
    surface: &'a S,
    peak: &'a Peak,
    what: HeldFixed,
    axis: Axis,
    /// The standard error, on the axis.
    error: f64,
    /// Location, ln scale and shape of the best distributions.
    path: Path,
    newton: Newton,
    edge: Newton,
}

impl<'a, S: Surface> HeldSurface<'a, S> {
    fn new(surface: &'a S, peak: &'a Peak, what: HeldFixed) -> Self {
        let (estimate, error, tangent) = peak.tangent(what);
        let axis = match what {
            HeldFixed::Level(_) => Axis::Excess { location: peak.at[0], scale: peak.at[1].exp() },
            HeldFixed::Location | HeldFixed::LogScale | HeldFixed::Shape => Axis::Plain,
        };
        let at = axis.of(estimate);
        let path = Path::from_peak(at, &peak.at, &tangent.map(|slope| slope * axis.slope(at)));
        let error = error / axis.slope(at);
        HeldSurface { surface, peak, what, axis, error, path, newton: Newton::new(2), edge: Newton::new(1) }
    }

    fn fixed(&self, value: f64) -> Fixed<'a, S> {
        Fixed { surface: self.surface, what: self.what, value }
    }

    fn root(&self, value: f64) -> f64 {
        (2.0 * (value - self.peak.value)).max(0.0).sqrt()
    }

    /// A distribution near `distribution` that has the held quantity at `value`, if its shape can be changed accordingly.
    fn moved(&self, distribution: &[f64], value: f64) -> [f64; 3] {
        let (m, phi, shape) = (distribution[0], distribution[1], distribution[2]);
        let HeldFixed::Level(c) = self.what else { return [m, phi, shape] };
        if c <= FAR_LEVEL {
            return [m, phi, shape];
        }
        let moved = kernel::shape_of_quantile(c, (value - m) / phi.exp());
        let inside = moved.filter(|s| *s > -1.0 && *s < self.surface.shape_max());
        [m, phi, inside.unwrap_or(shape)]
    }

    /// Newton from a distribution: the root deviance and the best distribution, if it converges.
    fn climb(&mut self, from: [f64; 3], value: f64) -> Option<(f64, [f64; 3])> {
        let fixed = self.fixed(value);
        let start = fixed.free(from);
        let tolerance = 1e-11 * self.surface.len() as f64;
        let (outcome, found) = if self.what == HeldFixed::Shape {
            end_distance::minimize(&fixed, start, &mut self.newton, tolerance, 1)
        } else {
            let outcome = self.newton.minimize(&fixed, &start, tolerance, 1);
            (outcome, [self.newton.at[0], self.newton.at[1]])
        };
        let distribution = fixed.full(&found);
        outcome.converged.then(|| (self.root(outcome.value), distribution))
    }

    /// The best distribution of shape -1, the least that is searched.
    fn at_least_shape(&mut self, value: f64) -> Option<f64> {
        let edge = LeastShape { fixed: self.fixed(value) };
        let start = edge.corner()?;
        let (mut gradient, mut hessian) = ([0.0], [0.0]);
        let corner = edge.evaluate(&[start], &mut gradient, &mut hessian);
        if corner.is_finite() && gradient[0] >= 0.0 {
            return Some(self.root(corner));
        }
        let outcome = self.edge.minimize(&edge, &[start + 0.5], 1e-11 * self.surface.len() as f64, 1);
        outcome.converged.then(|| self.root(outcome.value))
    }
}

impl<S: Surface> RootDeviance for HeldSurface<'_, S> {
    fn along(&mut self, at: f64) -> Option<f64> {
        let from = self.path.predicted(at);
        let (root, distribution) = self.climb([from[0], from[1], from[2]], self.axis.value(at))?;
        self.path.add(at, &distribution);
        Some(root)
    }

    fn afresh(&mut self, at: f64) -> Option<f64> {
        let tangent = self.path.on_tangent(at);
        let value = self.axis.value(at);
        let fixed = self.fixed(value);
        let starts =
            [&self.peak.at[..], &tangent].map(|distribution| fixed.feasible(self.moved(distribution, value)));
        let edge = if self.what == HeldFixed::Shape { None } else { self.at_least_shape(value) };
        let found = starts.map(|start| self.climb(start, value).map(|found| found.0));
        let found = [found[0], found[1], edge];
        found.into_iter().flatten().reduce(f64::min)
    }
}

/// The distributions of shape -1 with the quantity held: one parameter, ln scale or, if that is held, the location.
struct LeastShape<'a, S> {
    fixed: Fixed<'a, S>,
}

impl<S: Surface> LeastShape<'_, S> {
    /// The point at which the end of the support equals the largest value; `None` if there is none.
    fn corner(&self) -> Option<f64> {
        let high = self.fixed.surface.ends().1;
        let value = self.fixed.value;
        // scale > high - location, with the location that the held quantity leaves.
        let least = match self.fixed.what {
            HeldFixed::Location => high - value,
            HeldFixed::Level(c) => (high - value) * c.exp(),
            HeldFixed::LogScale => return Some(high - value.exp() * (1.0 - 1e-9)),
            HeldFixed::Shape => return None,
        };
        Some(if least > 0.0 { least.ln() + 1e-9 } else { -20.0 })
    }
}

impl<S: Surface> Objective for LeastShape<'_, S> {
    fn size(&self) -> usize {
        1
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let value = self.fixed.value;
        let (m, phi, moved) = match self.fixed.what {
            HeldFixed::LogScale | HeldFixed::Shape => (at[0], value, 0.0),
            HeldFixed::Location => (value, at[0], 0.0),
            // The location moves with the scale.
            HeldFixed::Level(c) => {
                let below = at[0].exp() * kernel::box_cox(c, -1.0).0;
                (value - below, at[0], -below)
            }
        };
        let Some(terms) = self.fixed.surface.terms(m, phi, -1.0) else { return f64::INFINITY };
        let [gm, gp, _] = terms.gradient;
        let [mm, mp, pp, ..] = terms.hessian;
        (gradient[0], hessian[0]) = match self.fixed.what {
            HeldFixed::LogScale | HeldFixed::Shape => (gm, mm),
            HeldFixed::Location | HeldFixed::Level(_) => {
                (gp + gm * moved, pp + 2.0 * mp * moved + mm * moved * moved + gm * moved)
            }
        };
        terms.value
    }
}
