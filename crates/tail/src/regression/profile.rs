//! Computes profile-likelihood intervals of a regression: of slopes, and of return levels at given
//! covariates.

use super::held::{HeldLevel, HeldQuantity, HeldRegression};
use super::{LevelAt, Part, Regression, RegressionDistribution};
use crate::interval_end::{Path, interval_end};
use crate::newton::Newton;
use crate::return_period::{gumbel_level, return_period_to_probability};
use crate::{End, Error, Interval, argument, linalg, special};

impl Regression {
    /// Profile-likelihood interval of the slope of a column.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an unknown column, [`Error::NotConverged`] as [`Regression::fit`].
    pub fn profile_slope(&self, part: Part, name: &str, level: f64) -> Result<Interval, Error> {
        let found = self
            .design
            .iter()
            .position(|(p, c)| *p == part && c.is_some_and(|c| self.columns[c].name == name));
        let Some(index) = found else {
            return Err(Error::Parameter { what: "covariate", value: f64::NAN, must: "one of the model" });
        };
        let found = self.profile(&HeldQuantity::Coefficient(index), level)?;
        let unit = self.to_units()[index * self.design.len() + index];
        let Interval { lower, upper, .. } = found.interval;
        Ok(Interval { lower: unit * lower, upper: unit * upper, ..found.interval })
    }

    /// The level exceeded once in `period` values of the distribution at given covariates, with its standard error and profile
    /// interval. `covariates` gives the value of each column of the model by its name. Above a threshold the period
    /// counts all values, and the share of them that exceeds it is taken as known and the same everywhere.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a period or level out of range, for a covariate that is not one of the model, and for
    /// one of the model that is missing; [`Error::NotConverged`] as [`Regression::fit`].
    pub fn return_level(
        &self,
        covariates: &[(&str, f64)],
        period: f64,
        level: f64,
    ) -> Result<LevelAt, Error> {
        let unknown = |value| Error::Parameter { what: "covariate", value, must: "one of the model" };
        for &(name, value) in covariates {
            if !value.is_finite() || !self.columns.iter().any(|column| column.name == name) {
                return Err(unknown(value));
            }
        }
        let mut weights = Vec::with_capacity(self.design.len());
        for &(_, column) in &self.design {
            weights.push(match column {
                None => 1.0,
                Some(at) => {
                    let given = covariates.iter().find(|(name, _)| *name == self.columns[at].name);
                    let (_, value) = given.ok_or_else(|| unknown(f64::NAN))?;
                    (value - self.moments[at].0) / self.moments[at].1
                }
            });
        }
        let c = self.exponent(period)?;
        let quantity = HeldQuantity::Level(HeldLevel { weights, c, intercept: 0 });
        let found = self.profile(&quantity, level)?;
        // Above a threshold the logarithm of the excess was held, and the share of values above it also has
        // an error.
        let above = self.above_threshold();
        let units = |at: f64| self.center + self.spread * if above { at.exp() } else { at };
        let error = match &quantity {
            HeldQuantity::Level(at) if above => {
                let [_, phi, shape] = at.distribution(self, &found.at);
                let (kept, all) = (self.y.len() as f64, self.observations as f64);
                let by_share = (phi + shape * c).exp().powi(2) * (1.0 - kept / all) / kept;
                ((found.estimate.exp() * found.error).powi(2) + by_share).sqrt()
            }
            HeldQuantity::Level(_) | HeldQuantity::Coefficient(_) => found.error,
        };
        let Interval { lower, upper, .. } = found.interval;
        Ok(LevelAt {
            period,
            level: units(found.estimate),
            standard_error: found.regular.then_some(self.spread * error),
            interval: Interval { lower: units(lower), upper: units(upper), ..found.interval },
        })
    }

    /// Whether the distribution is that of values above a threshold.
    pub(super) fn above_threshold(&self) -> bool {
        matches!(self.family, RegressionDistribution::Gpd(_))
    }

    /// The Gumbel level of a period, or above a threshold the exponent of its excess.
    fn exponent(&self, period: f64) -> Result<f64, Error> {
        let exceedance = return_period_to_probability(period)?;
        if !self.above_threshold() {
            return Ok(gumbel_level(exceedance));
        }
        let expected = period * self.y.len() as f64 / self.observations as f64;
        if expected > 1.0 {
            return Ok(expected.ln());
        }
        let must = "long enough to hold an exceedance of the threshold";
        Err(Error::Parameter { what: "return period", value: period, must })
    }

    /// A quantity with its error and its profile interval, in standardised units.
    fn profile(&self, quantity: &HeldQuantity, level: f64) -> Result<Profiled, Error> {
        argument::confidence_level(level)?;
        let (at, minimum, inverse, _) = self.maximize()?;
        let p = at.len();
        let (estimate, gradient) = quantity.at(self, &at);
        let variance = linalg::quadratic(&inverse, &gradient).max(0.0);
        let tangent: Vec<f64> = (0..p)
            .map(|i| (0..p).map(|j| inverse[i * p + j] * gradient[j]).sum::<f64>() / variance)
            .collect();
        let path = Path::from_peak(estimate, &at, &tangent);
        let mut held =
            HeldRegression { regression: self, quantity, minimum, path, newton: Newton::new(p - 1) };
        let z = special::normal_upper_quantile(0.5 * (1.0 - level));
        let error = variance.sqrt();
        let mut ends = [(f64::NAN, End::NotFound); 2];
        for (side, end) in [-1.0, 1.0].into_iter().zip(&mut ends) {
            *end = interval_end(&mut held, estimate, error, z, side * f64::INFINITY);
            held.path.forget();
        }
        let regular = self.rows(&at).all(|(_, _, shape)| shape > -0.5);
        Ok(Profiled { at, estimate, error, regular, interval: Interval::from_ends(ends, level) })
    }
}

/// A quantity with its interval.
struct Profiled {
    /// The coefficients at the maximum.
    at: Vec<f64>,
    estimate: f64,
    error: f64,
    /// Whether normal theory holds.
    regular: bool,
    interval: Interval,
}
