//! Profile-likelihood intervals of a GEV: which values of a parameter or level do the data not contradict?
//!
//! For each value of the target the other two parameters are maximised out (Newton, warm-started); the ends
//! are where the signed root deviance meets the normal quantile (Venzon, Moolgavkar 1988; Coles 2001, 2.6.6).

use crate::gev::fit::{Fit, Likelihood};
use crate::kernel;
use crate::newton::{Newton, Objective, brent_root};
use crate::status::{End, Interval};
use crate::{Error, Series, Status, special};

/// What an interval is wanted for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// The location.
    Location,
    /// The scale.
    Scale,
    /// The shape.
    Shape,
    /// The level exceeded once in so many values (> 1).
    ReturnLevel(f64),
    /// The quantile of this probability, in (0, 1).
    Quantile(f64),
}

/// Profile interval of the location.
pub fn profile_location(values: &[f64], fit: &Fit, level: f64) -> Result<Interval, Error> {
    profile(values, fit, Target::Location, level)
}

/// Profile interval of the scale.
pub fn profile_scale(values: &[f64], fit: &Fit, level: f64) -> Result<Interval, Error> {
    profile(values, fit, Target::Scale, level)
}

/// Profile interval of the shape.
pub fn profile_shape(values: &[f64], fit: &Fit, level: f64) -> Result<Interval, Error> {
    profile(values, fit, Target::Shape, level)
}

/// Profile interval of the level exceeded once in `period` values.
pub fn profile_return_level(values: &[f64], fit: &Fit, period: f64, level: f64) -> Result<Interval, Error> {
    profile(values, fit, Target::ReturnLevel(period), level)
}

/// Profile interval of the quantile of probability `p`.
pub fn profile_quantile(values: &[f64], fit: &Fit, p: f64, level: f64) -> Result<Interval, Error> {
    profile(values, fit, Target::Quantile(p), level)
}

fn profile(values: &[f64], fit: &Fit, target: Target, level: f64) -> Result<Interval, Error> {
    Likelihood::new(&Series::clean(values))?.profile(fit, target, level)
}

/// The two nuisance parameters with the target fixed.
struct Fixed<'a> {
    y: &'a [f64],
    shape_max: f64,
    what: What,
    value: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Location,
    LogScale,
    Shape,
    Level(f64),
}

impl Fixed<'_> {
    /// (location, ln scale, shape) of the nuisance parameters.
    fn full(&self, at: &[f64]) -> [f64; 3] {
        match self.what {
            What::Location => [self.value, at[0], at[1]],
            What::LogScale => [at[0], self.value, at[1]],
            What::Shape => [at[0], at[1], self.value],
            What::Level(c) => [self.value - at[0].exp() * kernel::box_cox(c, at[1]).0, at[0], at[1]],
        }
    }

    fn nuisance(&self, full: &[f64; 3]) -> [f64; 2] {
        match self.what {
            What::Location | What::Level(_) => [full[1], full[2]],
            What::LogScale => [full[0], full[2]],
            What::Shape => [full[0], full[1]],
        }
    }

    /// Make a start feasible: a wider scale, or, where that is fixed, a shape nearer 0.
    fn repair(&self, at: &mut [f64; 2]) {
        for _ in 0..60 {
            let [m, phi, shape] = self.full(at);
            let scale = phi.exp();
            let ends = [self.y[0], self.y[self.y.len() - 1]];
            let inside = shape > -1.0 && shape < self.shape_max;
            if inside && ends.iter().all(|y| 1.0 + shape * (y - m) / scale > 1e-3) {
                return;
            }
            match self.what {
                What::LogScale => at[1] *= 0.7,
                What::Shape => at[1] += 0.25,
                _ if !inside => at[1] *= 0.9,
                _ => at[0] += 0.25,
            }
        }
    }
}

impl Objective for Fixed<'_> {
    fn size(&self) -> usize {
        2
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [m, phi, shape] = self.full(at);
        if shape <= -1.0 || shape >= self.shape_max {
            return f64::INFINITY;
        }
        let Some(t) = kernel::sum(self.y, m, phi, shape, 1.0, 1.0) else { return f64::INFINITY };
        let [gm, gp, gx] = t.gradient;
        let [mm, mp, pp, mx, px, xx] = t.hessian;
        let (g, h) = match self.what {
            What::Location => ([gp, gx], [pp, px, xx]),
            What::LogScale => ([gm, gx], [mm, mx, xx]),
            What::Shape => ([gm, gp], [mm, mp, pp]),
            What::Level(c) => {
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

impl Likelihood<'_> {
    /// The profile interval of a target at nominal coverage `level`, around a fit of this sample.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a level, period or probability out of range; [`Error::NotConverged`] where
    /// the fit has no interior maximum (status boundary): use the bootstrap there.
    pub fn profile(&self, fit: &Fit, target: Target, level: f64) -> Result<Interval, Error> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::Parameter { what: "confidence level", value: level, must: "between 0 and 1" });
        }
        let what = match target {
            Target::Location => What::Location,
            Target::Scale => What::LogScale,
            Target::Shape => What::Shape,
            Target::ReturnLevel(period) if period > 1.0 && period.is_finite() => {
                What::Level(-(-(-1.0 / period).ln_1p()).ln())
            }
            Target::ReturnLevel(value) => {
                return Err(Error::Parameter { what: "return period", value, must: "above 1" });
            }
            Target::Quantile(p) if p > 0.0 && p < 1.0 => What::Level(-(-p.ln()).ln()),
            Target::Quantile(value) => {
                return Err(Error::Parameter { what: "probability", value, must: "between 0 and 1" });
            }
        };
        let Some(curvature) = fit.curvature else {
            return Err(Error::NotConverged { model: "profile" });
        };
        debug_assert!(fit.status != Status::Boundary);
        let phi = (fit.scale / self.spread).ln();
        let best = [fit.location_offset / self.spread, phi, fit.shape];
        // Estimate and its Wald standard error in standardised units.
        let (estimate, error) = match what {
            What::Location => (best[0], curvature[0][0].sqrt() / self.spread),
            What::LogScale => (phi, curvature[1][1].sqrt() / fit.scale),
            What::Shape => (fit.shape, curvature[2][2].sqrt()),
            What::Level(c) => {
                let gradient = fit.level_gradient(c);
                let variance = crate::linalg::quadratic(curvature.as_flattened(), &gradient);
                let b = kernel::box_cox(c, fit.shape).0;
                (best[0] + phi.exp() * b, variance.max(0.0).sqrt() / self.spread)
            }
        };
        let minimum = fit.negative_log_likelihood - self.y.len() as f64 * self.spread.ln();
        let z = special::normal_upper_quantile(0.5 * (1.0 - level));
        let mut ends = [(f64::NAN, End::NotFound); 2];
        for (side, end) in [-1.0, 1.0].into_iter().zip(&mut ends) {
            *end = self.end(what, best, estimate, error, minimum, side, z);
        }
        let map = |v: f64| match what {
            What::Location | What::Level(_) => self.center + self.spread * v,
            What::LogScale => self.spread * v.exp(),
            What::Shape => v,
        };
        Ok(Interval {
            lower: map(ends[0].0),
            upper: map(ends[1].0),
            level,
            lower_end: ends[0].1,
            upper_end: ends[1].1,
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn end(
        &self,
        what: What,
        best: [f64; 3],
        estimate: f64,
        error: f64,
        minimum: f64,
        side: f64,
        z: f64,
    ) -> (f64, End) {
        let mut objective = Fixed { y: &self.y, shape_max: self.shape_max, what, value: estimate };
        let mut newton = Newton::new(2);
        let mut warm = objective.nuisance(&best);
        let tolerance = 1e-11 * self.y.len() as f64;
        // Distance from the estimate to the root deviance there, less the wanted one.
        let mut excess = |distance: f64| -> f64 {
            objective.value = estimate + side * distance;
            let mut start = warm;
            objective.repair(&mut start);
            let outcome = newton.minimize(&objective, &start, tolerance, 1);
            if !outcome.value.is_finite() {
                return f64::INFINITY;
            }
            warm = [newton.at[0], newton.at[1]];
            (2.0 * (outcome.value - minimum)).max(0.0).sqrt() - z
        };
        let limit = match what {
            What::Shape if side < 0.0 => estimate + 1.0 - 1e-9,
            What::Shape => self.shape_max - estimate - 1e-9,
            _ => f64::INFINITY,
        };
        let mut inside = (0.0, -z);
        let mut step = (z * error).min(0.5 * limit);
        let mut grown = 1.3;
        for _ in 0..80 {
            let distance = step.min(limit);
            let value = excess(distance);
            if value >= 0.0 && value.is_finite() {
                let tight = 1e-9 * error;
                let root = brent_root(&mut excess, inside, (distance, value), tight);
                return (estimate + side * root, End::Reached);
            }
            if value.is_infinite() {
                // Infeasible from here: approach more slowly.
                step = 0.5 * (inside.0 + distance);
                grown = 1.02;
                if step - inside.0 < 1e-9 * error {
                    return (estimate + side * inside.0, End::NotFound);
                }
                continue;
            }
            if distance >= limit {
                let bound = if side < 0.0 { -1.0 } else { self.shape_max };
                return (bound, End::Bound);
            }
            inside = (distance, value);
            // Root deviance grows about linearly: aim a little beyond the crossing, at least 1.3-fold.
            let aim = distance * z / (value + z).max(0.05 * z) * 1.05;
            step = (distance * grown).max(aim.min(distance * 20.0));
            grown = (grown * 1.2).min(4.0);
        }
        (side * f64::INFINITY, End::Infinite)
    }
}
