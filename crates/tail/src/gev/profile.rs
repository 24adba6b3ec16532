//! Profile-likelihood intervals of a GEV: which values of a parameter or level do the data not contradict?
//!
//! For each value of the target the other two parameters are maximised out (Newton, warm-started); the ends
//! are where the signed root deviance meets the normal quantile (Venzon, Moolgavkar 1988; Coles 2001, 2.6.6).

use crate::gev::fit::{Fit, Likelihood};
use crate::status::Interval;
use crate::surface::{self, Peak, What};
use crate::{Error, Series};

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

impl Target {
    pub(crate) fn what(self) -> Result<What, Error> {
        Ok(match self {
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
        })
    }
}

impl Fit {
    /// The maximum in standardised units, from which a surface of total weight `weight` is profiled.
    pub(crate) fn peak(&self, center: f64, spread: f64, weight: f64) -> Result<Peak, Error> {
        let Some(curvature) = self.curvature else {
            return Err(Error::NotConverged { model: "profile" });
        };
        let units = [spread, self.scale, 1.0];
        Ok(Peak {
            at: [
                ((self.center - center) + self.location_offset) / spread,
                (self.scale / spread).ln(),
                self.shape,
            ],
            value: self.negative_log_likelihood - weight * spread.ln(),
            inverse: std::array::from_fn(|at| curvature[at / 3][at % 3] / (units[at / 3] * units[at % 3])),
        })
    }
}

/// A standardised interval in the unit of the data.
pub(crate) fn in_units(interval: Interval, what: What, center: f64, spread: f64) -> Interval {
    let map = |v: f64| match what {
        What::Location | What::Level(_) => center + spread * v,
        What::LogScale => spread * v.exp(),
        What::Shape => v,
    };
    Interval { lower: map(interval.lower), upper: map(interval.upper), ..interval }
}

impl Likelihood<'_> {
    /// The profile interval of a target at nominal coverage `level`, around a fit of this sample.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a level, period or probability out of range; [`Error::NotConverged`] where
    /// the fit has no interior maximum (status boundary): use the bootstrap there.
    pub fn profile(&self, fit: &Fit, target: Target, level: f64) -> Result<Interval, Error> {
        let what = target.what()?;
        let peak = fit.peak(self.center, self.spread, self.y.len() as f64)?;
        let interval = surface::profile(&self.maxima(), &peak, what, level)?;
        Ok(in_units(interval, what, self.center, self.spread))
    }
}
