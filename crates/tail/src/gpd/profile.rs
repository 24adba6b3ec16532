//! Computes profile-likelihood intervals of a generalised Pareto distribution.

use super::distribution::GpdFit;
use super::fit::GpdLikelihood;
use super::slice::{OneFree, SHAPE_MAX, Slice};
use crate::interval_end::{Path, RootDeviance, interval_end};
use crate::newton::{Newton, Objective};
use crate::{End, Error, Interval, argument, kernel, linalg, special};

/// The quantity of an interval of a GPD fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GpdTarget {
    /// The scale.
    Scale,
    /// The shape.
    Shape,
    /// The level exceeded once in this many observations, at this extremal index.
    ReturnLevel(f64, f64),
}

impl GpdLikelihood {
    /// Profile-likelihood interval around a fit of these exceedances; the exceedance rate is taken as known.
    ///
    /// # Errors
    /// [`Error::Parameter`] for arguments out of range, [`Error::NotConverged`] without an interior maximum.
    pub fn profile(&self, fit: &GpdFit, target: GpdTarget, level: f64) -> Result<Interval, Error> {
        self.profile_inflated(fit, target, level, 1.0)
    }

    /// [`GpdLikelihood::profile`] with the critical value of the deviance times `inflation`: the variance of the
    /// target over that of the plain likelihood, for clusters and the error of the rate (Chandler, Bate 2007).
    ///
    /// # Errors
    /// As [`GpdLikelihood::profile`].
    pub fn profile_inflated(
        &self,
        fit: &GpdFit,
        target: GpdTarget,
        level: f64,
        inflation: f64,
    ) -> Result<Interval, Error> {
        argument::confidence_level(level)?;
        let z = special::normal_upper_quantile(0.5 * (1.0 - level)) * inflation.sqrt();
        let (mut held, estimate, error) = self.held(fit, target)?;
        let mut ends = [(f64::NAN, End::NotFound); 2];
        for (side, end) in [-1.0, 1.0].into_iter().zip(&mut ends) {
            let bound = match target {
                GpdTarget::Shape if side < 0.0 => -1.0,
                GpdTarget::Shape => SHAPE_MAX,
                GpdTarget::Scale | GpdTarget::ReturnLevel(..) => side * f64::INFINITY,
            };
            *end = interval_end(&mut held, estimate, error, z, bound);
            held.path.forget();
        }
        let map = |v: f64| match target {
            GpdTarget::Scale => self.unit * v.exp(),
            GpdTarget::Shape => v,
            GpdTarget::ReturnLevel(..) => self.threshold + self.unit * v.exp(),
        };
        Ok(Interval::from_ends(ends.map(|(at, end)| (map(at), end)), level))
    }

    /// The target where it is profiled (scale and level as logarithms), its estimate there and its error.
    fn held(&self, fit: &GpdFit, target: GpdTarget) -> Result<(HeldPareto<'_>, f64, f64), Error> {
        let Some(v) = fit.curvature else { return Err(Error::NotConverged { model: "profile" }) };
        let phi = (fit.scale / self.unit).ln();
        // Of (ln scale, shape).
        let inverse = [v[0][0] / (fit.scale * fit.scale), v[0][1] / fit.scale, v[1][0] / fit.scale, v[1][1]];
        let (estimate, gradient, exponent) = match target {
            GpdTarget::Scale => (phi, [1.0, 0.0], 0.0),
            GpdTarget::Shape => (fit.shape, [0.0, 1.0], 0.0),
            GpdTarget::ReturnLevel(observations, index) => {
                let c = fit.exponent(observations, index)?;
                let (b, b1, _) = kernel::box_cox(c, fit.shape);
                (phi + b.ln(), [1.0, b1 / b], c)
            }
        };
        let variance = linalg::quadratic(&inverse, &gradient).max(0.0);
        let tangent =
            [0, 2].map(|row| (inverse[row] * gradient[0] + inverse[row + 1] * gradient[1]) / variance);
        let held = HeldPareto {
            y: &self.y,
            target,
            exponent,
            minimum: fit.negative_log_likelihood - self.y.len() as f64 * self.unit.ln(),
            path: Path::from_peak(estimate, &[phi, fit.shape], &tangent),
            newton: Newton::new(1),
        };
        Ok((held, estimate, variance.sqrt()))
    }
}

/// The likelihood with the target held, and the best distributions found so far.
struct HeldPareto<'a> {
    y: &'a [f64],
    target: GpdTarget,
    exponent: f64,
    minimum: f64,
    /// ln scale and shape of the best distributions.
    path: Path,
    newton: Newton,
}

impl<'a> HeldPareto<'a> {
    fn slice(&self, value: f64) -> OneFree<'a> {
        let slice = match self.target {
            GpdTarget::Scale => Slice::LogScale(value),
            GpdTarget::Shape => Slice::Shape(value),
            GpdTarget::ReturnLevel(..) => Slice::Level(value.exp(), self.exponent),
        };
        OneFree { y: self.y, slice }
    }

    fn climb(&mut self, slice: &OneFree<'_>, start: f64) -> Option<f64> {
        let outcome = self.newton.minimize(slice, &[start], 1e-11 * self.y.len() as f64, 1);
        outcome.converged.then_some(outcome.value)
    }

    fn root(&self, value: f64) -> f64 {
        (2.0 * (value - self.minimum)).max(0.0).sqrt()
    }

    /// Values of the free parameter that cover its range: shapes, or logarithms of scales around the peak.
    fn grid(&self, slice: &OneFree<'_>) -> Vec<f64> {
        let largest = self.y[self.y.len() - 1];
        if let Slice::Shape(shape) = slice.slice {
            let least = (-shape * largest).max(1e-300).ln();
            let from = least.max(self.path.peak()[0] - 3.0);
            return (0..12).map(|i| from + 0.01 + 0.5 * f64::from(i)).collect();
        }
        let holds = |shape: f64| {
            let [phi, _] = slice.full(shape);
            1.0 + shape * largest / phi.exp() > 0.0
        };
        // Shapes from the least that holds all values.
        let (mut bad, mut good) = (-1.0, 0.0);
        if holds(bad) {
            good = bad;
        } else {
            for _ in 0..30 {
                let middle = 0.5 * (bad + good);
                if holds(middle) { good = middle } else { bad = middle }
            }
        }
        (0..16)
            .map(|i: i32| good + 1e-6 + (SHAPE_MAX - 1e-3 - good) * (f64::from(i) / 15.0).powi(2))
            .collect()
    }
}

impl RootDeviance for HeldPareto<'_> {
    fn along(&mut self, value: f64) -> Option<f64> {
        let distribution = self.path.predicted(value);
        let slice = self.slice(value);
        let start = match slice.slice {
            Slice::Shape(_) => distribution[0],
            Slice::LogScale(_) => distribution[1],
            // The scale is known well and a far level is not: it moves by the shape.
            Slice::Level(level, c) => kernel::shape_of_quantile(c, level / distribution[0].exp())
                .unwrap_or(distribution[1])
                .clamp(-0.99, SHAPE_MAX - 0.01),
        };
        let found = self.climb(&slice, start)?;
        let distribution = slice.full(self.newton.at[0]);
        self.path.add(value, &distribution);
        Some(self.root(found))
    }

    fn afresh(&mut self, value: f64) -> Option<f64> {
        let slice = self.slice(value);
        let (mut gradient, mut hessian) = ([0.0], [0.0]);
        let grid = self.grid(&slice);
        let heights: Vec<f64> =
            grid.iter().map(|at| slice.evaluate(&[*at], &mut gradient, &mut hessian)).collect();
        let mut best: Option<f64> = None;
        for i in 0..grid.len() {
            let lowest = heights[i].is_finite()
                && (i == 0 || heights[i] <= heights[i - 1])
                && (i + 1 == grid.len() || heights[i] <= heights[i + 1]);
            if lowest {
                let found = self.climb(&slice, grid[i]);
                best = [best, found].into_iter().flatten().reduce(f64::min);
            }
        }
        // At shape -1 the distribution is uniform, and the likelihood may be highest there.
        let edge = match slice.slice {
            Slice::Shape(_) => f64::INFINITY,
            Slice::LogScale(_) | Slice::Level(..) => slice.evaluate(&[-1.0], &mut gradient, &mut hessian),
        };
        let edge = edge.is_finite().then_some(edge);
        [best, edge].into_iter().flatten().reduce(f64::min).map(|found| self.root(found))
    }
}
