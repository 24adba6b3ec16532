//! Computes profile-likelihood intervals of a GEV.
//!
//! For each value of the target the other two parameters are maximised out (Newton, warm-started); the ends
//! are where the signed root deviance meets the normal quantile (Venzon, Moolgavkar 1988; Coles 2001, 2.6.6).

use crate::gev::fit::{GevFit, Likelihood};
use crate::held::{self, Peak};
use crate::return_period::{gumbel_level, return_period_to_probability};
use crate::status::Interval;
use crate::surface::{HeldFixed, Surface};
use crate::{Error, Series, argument};

/// The quantity of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GevTarget {
    /// The location.
    Location,
    /// The scale.
    Scale,
    /// The shape.
    Shape,
    /// The level exceeded once in this many values (> 1).
    ReturnLevel(f64),
    /// The quantile of this probability, in (0, 1).
    Quantile(f64),
}

/// Profile interval of the location.
pub fn profile_location(values: &[f64], fit: &GevFit, level: f64) -> Result<Interval, Error> {
    profile(values, fit, GevTarget::Location, level)
}

/// Profile interval of the scale.
pub fn profile_scale(values: &[f64], fit: &GevFit, level: f64) -> Result<Interval, Error> {
    profile(values, fit, GevTarget::Scale, level)
}

/// Profile interval of the shape.
pub fn profile_shape(values: &[f64], fit: &GevFit, level: f64) -> Result<Interval, Error> {
    profile(values, fit, GevTarget::Shape, level)
}

/// Profile interval of the level exceeded once in `period` values.
pub fn profile_return_level(
    values: &[f64],
    fit: &GevFit,
    period: f64,
    level: f64,
) -> Result<Interval, Error> {
    profile(values, fit, GevTarget::ReturnLevel(period), level)
}

/// Profile interval of the quantile of probability `p`.
pub fn profile_quantile(values: &[f64], fit: &GevFit, p: f64, level: f64) -> Result<Interval, Error> {
    profile(values, fit, GevTarget::Quantile(p), level)
}

fn profile(values: &[f64], fit: &GevFit, target: GevTarget, level: f64) -> Result<Interval, Error> {
    Likelihood::new(&Series::clean(values))?.profile(fit, target, level)
}

impl GevTarget {
    pub(crate) fn what(self) -> Result<HeldFixed, Error> {
        Ok(match self {
            GevTarget::Location => HeldFixed::Location,
            GevTarget::Scale => HeldFixed::LogScale,
            GevTarget::Shape => HeldFixed::Shape,
            GevTarget::ReturnLevel(period) => {
                HeldFixed::Level(gumbel_level(return_period_to_probability(period)?))
            }
            GevTarget::Quantile(p) => {
                HeldFixed::Level(-(-argument::between_0_and_1("probability", p)?.ln()).ln())
            }
        })
    }
}

impl GevFit {
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
pub(crate) fn in_units(interval: Interval, what: HeldFixed, center: f64, spread: f64) -> Interval {
    let map = |v: f64| match what {
        HeldFixed::Location | HeldFixed::Level(_) => center + spread * v,
        HeldFixed::LogScale => spread * v.exp(),
        HeldFixed::Shape => v,
    };
    Interval { lower: map(interval.lower), upper: map(interval.upper), ..interval }
}

impl Likelihood<'_> {
    /// The profile interval of a target at nominal coverage `level`, around a fit of this sample, with the
    /// chi-square critical value, as in the literature and in other programs.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a level, period or probability out of range; [`Error::NotConverged`] if the
    /// fit has no interior maximum (status boundary); use the bootstrap then.
    pub fn profile(&self, fit: &GevFit, target: GevTarget, level: f64) -> Result<Interval, Error> {
        self.profile_with(fit, target, level, 1.0)
    }

    /// The profile interval with a critical value that allows for the size of the sample: the chi-square
    /// quantile times [`bartlett_factor`]. It keeps its coverage from 20 values on, and is what an assessment
    /// shows.
    ///
    /// # Errors
    /// As [`Likelihood::profile`].
    pub fn profile_corrected(&self, fit: &GevFit, target: GevTarget, level: f64) -> Result<Interval, Error> {
        self.profile_with(fit, target, level, bartlett_factor(fit.n, target, fit.shape))
    }

    /// The peak of the surface that is profiled, at the fit.
    fn peak(&self, fit: &GevFit) -> Result<Peak, Error> {
        let mut peak = fit.peak(self.center, self.spread, self.y.len() as f64)?;
        // For grouped values the height is that of the groups.
        let surface = self.quick();
        let [m, phi, shape] = peak.at;
        if let (false, Some(terms)) = (surface.weights.is_empty(), surface.terms(m, phi, shape)) {
            peak.value = terms.value;
        }
        Ok(peak)
    }

    fn profile_with(
        &self,
        fit: &GevFit,
        target: GevTarget,
        level: f64,
        inflation: f64,
    ) -> Result<Interval, Error> {
        let what = target.what()?;
        let peak = self.peak(fit)?;
        let interval = held::profile(&self.quick(), &peak, what, level, inflation)?;
        Ok(in_units(interval, what, self.center, self.spread))
    }

    /// Twice the log-likelihood ratio of the fit against the best distribution with this `value` of the target: the
    /// curve behind a profile interval. Infinite if no distribution with that value has all the data in its support.
    ///
    /// # Errors
    /// As [`Likelihood::profile`].
    pub fn deviance(&self, fit: &GevFit, target: GevTarget, value: f64) -> Result<f64, Error> {
        let what = target.what()?;
        let peak = self.peak(fit)?;
        let standard = match what {
            HeldFixed::Location | HeldFixed::Level(_) => (value - self.center) / self.spread,
            HeldFixed::LogScale if value > 0.0 => (value / self.spread).ln(),
            HeldFixed::LogScale => return Ok(f64::INFINITY),
            HeldFixed::Shape => value,
        };
        Ok(held::deviance(&self.quick(), &peak, what, standard))
    }
}

/// The factor by which the mean deviance of `n` values exceeds that of the chi-square distribution: 1 + b / n
/// (Bartlett 1937; Lawley 1956). The coefficients b are simulated, not derived (shapes -0.3 to 0.3, 20 to 100
/// values): 2.9 for the location, 1.1 for the scale, 2.7 for the shape, and for a level between that of the
/// location and, far out, that of the shape. Levels of a bounded tail take up to 0.9 more.
pub fn bartlett_factor(n: usize, target: GevTarget, shape: f64) -> f64 {
    let level = |c: f64| {
        if c <= 0.5 {
            2.8
        } else if c <= 2.25 {
            2.8 + (1.7 - 2.8) * (c - 0.5) / 1.75
        } else {
            (1.7 + 0.09 * (c - 2.25)).min(2.7)
        }
    };
    let b = match target.what() {
        Ok(HeldFixed::Location) => 2.9,
        Ok(HeldFixed::LogScale) => 1.1,
        Ok(HeldFixed::Shape) => 2.7,
        // Levels beyond the median of a bounded tail lie near its end and take more.
        Ok(HeldFixed::Level(c)) => level(c) + if c > 0.5 { 3.0 * (-shape).clamp(0.0, 0.3) } else { 0.0 },
        Err(_) => 0.0,
    };
    1.0 + b / n.max(1) as f64
}
