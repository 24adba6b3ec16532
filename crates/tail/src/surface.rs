//! Likelihood surfaces over (location, ln scale, shape) in standardised units, shared by the three-parameter models,
//! with all parameters free or one quantity held.

use crate::kernel::{self, At, Terms};
use crate::newton::Objective;

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
    /// The number of values each represents; empty if each is one.
    pub weights: &'a [f64],
    pub ends: (f64, f64),
    pub shape_max: f64,
}

impl<'a> Maxima<'a> {
    /// The surface of ascending values.
    pub fn sorted(y: &'a [f64], shape_max: f64) -> Self {
        Maxima { y, weights: &[], ends: (y[0], y[y.len() - 1]), shape_max }
    }

    /// The surface of ascending groups of values.
    pub fn grouped(y: &'a [f64], weights: &'a [f64], shape_max: f64) -> Self {
        Maxima { weights, ..Maxima::sorted(y, shape_max) }
    }

    /// The number of values, and their sum.
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

    fn is_at_bound(&self, at: &[f64], step: &[f64]) -> bool {
        at[2] < AT_BOUND && at[2] + step[2] <= -1.0
    }
}

/// A search of a shape below this that wants to go below -1 is at the bound. Without an end it would halve its distance
/// to -1 a hundred times.
const AT_BOUND: f64 = -0.999;

/// Levels beyond this Gumbel level are held through the shape, since location and scale are known well and
/// far levels depend strongly on the shape. Nearer levels are held through the location.
pub(crate) const FAR_LEVEL: f64 = 0.5;

/// The quantity that is held fixed while the other two parameters are maximised out.
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
            HeldFixed::Level(c) if c > FAR_LEVEL => {
                let shape = kernel::shape_of_quantile(c, (self.value - at[0]) / at[1].exp());
                [at[0], at[1], shape.unwrap_or(f64::NAN)]
            }
            HeldFixed::Level(c) => [self.value - at[0].exp() * kernel::box_cox(c, at[1]).0, at[0], at[1]],
        }
    }

    /// The free parameters of a distribution.
    pub fn free(&self, distribution: [f64; 3]) -> [f64; 2] {
        match self.what {
            HeldFixed::Location => [distribution[1], distribution[2]],
            HeldFixed::LogScale => [distribution[0], distribution[2]],
            HeldFixed::Level(c) if c <= FAR_LEVEL => [distribution[1], distribution[2]],
            HeldFixed::Shape | HeldFixed::Level(_) => [distribution[0], distribution[1]],
        }
    }

    /// A distribution near `distribution` with the held quantity whose support contains all values: with a wider scale or, if
    /// that is held, a shape nearer 0.
    pub fn feasible(&self, distribution: [f64; 3]) -> [f64; 3] {
        let (low, high) = self.surface.ends();
        let limits = (-1.0, self.surface.shape_max());
        let [mut m, mut phi, mut shape] = distribution;
        match self.what {
            HeldFixed::Location => m = self.value,
            HeldFixed::LogScale => phi = self.value,
            HeldFixed::Shape => shape = self.value,
            HeldFixed::Level(_) => {}
        }
        for _ in 0..60 {
            if let HeldFixed::Level(c) = self.what {
                m = self.value - phi.exp() * kernel::box_cox(c, shape).0;
            }
            let inside = shape > limits.0 && shape < limits.1;
            if inside && [low, high].iter().all(|y| 1.0 + shape * (y - m) / phi.exp() > 1e-3) {
                break;
            }
            match self.what {
                HeldFixed::LogScale => shape *= 0.7,
                HeldFixed::Shape => phi += 0.25,
                HeldFixed::Location | HeldFixed::Level(_) if !inside => shape *= 0.9,
                // A far level near the end of a bounded tail leaves little range above it.
                HeldFixed::Level(c) if c > FAR_LEVEL && shape < 0.0 => shape *= 0.95,
                HeldFixed::Location | HeldFixed::Level(_) => phi += 0.25,
            }
        }
        [m, phi, shape]
    }
}

impl<S: Surface> Objective for Fixed<'_, S> {
    fn size(&self) -> usize {
        2
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [m, phi, shape] = self.full(at);
        if !(shape >= -1.0 && shape <= self.surface.shape_max()) {
            return f64::INFINITY;
        }
        let Some(t) = self.surface.terms(m, phi, shape) else { return f64::INFINITY };
        let [gm, gp, gx] = t.gradient;
        let [mm, mp, pp, mx, px, xx] = t.hessian;
        let (g, h) = match self.what {
            HeldFixed::Location => ([gp, gx], [pp, px, xx]),
            HeldFixed::LogScale => ([gm, gx], [mm, mx, xx]),
            HeldFixed::Shape => ([gm, gp], [mm, mp, pp]),
            HeldFixed::Level(c) if c > FAR_LEVEL => {
                // Chain rule through shape, from level = location + scale b(shape).
                let (b, b1, b2) = kernel::box_cox(c, shape);
                let (dm, dp) = (-1.0 / (phi.exp() * b1), -b / b1);
                let bend = b2 / b1;
                (
                    [gm + gx * dm, gp + gx * dp],
                    [
                        mm + 2.0 * mx * dm + xx * dm * dm - gx * bend * dm * dm,
                        mp + mx * dp + px * dm + xx * dm * dp - gx * (dm + bend * dm * dp),
                        pp + 2.0 * px * dp + xx * dp * dp - gx * (dp + bend * dp * dp),
                    ],
                )
            }
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

/// ln scale, increased from `phi` until the support contains both ends.
pub(crate) fn grow_scale((low, high): (f64, f64), m: f64, phi: f64, shape: f64) -> f64 {
    let mut needed = phi.exp();
    // 1 + shape (y - m) / scale must stay above 0.05 at both ends.
    for y in [low, high] {
        needed = needed.max(-shape * (y - m) / 0.95);
    }
    if needed > phi.exp() { needed.ln() } else { phi }
}
