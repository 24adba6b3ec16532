//! Defines the inputs and results of a regression: columns, distributions, coefficients.

use serde::{Deserialize, Serialize};

use crate::{Interval, Status, special};

/// The parameter that a coefficient belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Location.
    Location,
    /// Logarithm of the scale.
    LogScale,
    /// Shape.
    Shape,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Location => "location",
            Part::LogScale => "scale",
            Part::Shape => "shape",
        }
    }
}

/// A covariate of one parameter: a name and one number for each value.
#[derive(Debug, Clone, PartialEq)]
pub struct Covariate {
    /// The parameter that depends on it.
    pub part: Part,
    /// Its name in results.
    pub name: String,
    /// One number for each value.
    pub values: Vec<f64>,
}

impl Covariate {
    /// A covariate.
    pub fn new(part: Part, name: impl Into<String>, values: Vec<f64>) -> Covariate {
        Covariate { part, name: name.into(), values }
    }
}

/// The distribution whose parameters depend on the covariates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RegressionDistribution {
    /// All three parameters.
    Gev,
    /// Shape 0.
    Gumbel,
    /// Values above a fixed threshold; no location.
    Gpd(f64),
}

/// A coefficient: intercepts are named `1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// The parameter it belongs to.
    pub part: Part,
    /// Name of the column; `1` for the intercept.
    pub name: String,
    /// Estimate, in units of the parameter over those of the column.
    pub value: f64,
    /// Standard error; none unless the fit's status is ok.
    pub standard_error: Option<f64>,
}

/// A fitted regression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegressionFit {
    /// Reliability of the fit; irregular when the shape is at or below -1/2 for any value.
    pub status: Status,
    /// Values used.
    pub n: usize,
    /// Location first, then ln scale, then shape; each opens with its intercept.
    pub coefficients: Vec<Coefficient>,
    /// Their covariance; none unless `status` is ok.
    pub covariance: Option<Vec<Vec<f64>>>,
    /// Negative log-likelihood, in the unit of the data.
    pub negative_log_likelihood: f64,
    /// Newton iterations used.
    pub iterations: usize,
}

/// A return level of the distribution at given covariates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelAt {
    /// The mean number of values between exceedances, at constant covariates.
    pub period: f64,
    /// The level, in the unit of the data.
    pub level: f64,
    /// Standard error by the delta method; none unless the fit's status is ok.
    pub standard_error: Option<f64>,
    /// The profile interval.
    pub interval: Interval,
}

impl RegressionFit {
    /// Akaike's criterion.
    pub fn aic(&self) -> f64 {
        2.0 * (self.negative_log_likelihood + self.coefficients.len() as f64)
    }

    /// The coefficient of a column (`1` for the intercept).
    pub fn coefficient(&self, part: Part, name: &str) -> Option<&Coefficient> {
        self.coefficients.iter().find(|c| c.part == part && c.name == name)
    }

    /// Likelihood-ratio test of this fit against one nested in it: statistic, degrees of freedom, p-value.
    pub fn against(&self, smaller: &RegressionFit) -> (f64, usize, f64) {
        let freedom = self.coefficients.len().saturating_sub(smaller.coefficients.len());
        let ratio = 2.0 * (smaller.negative_log_likelihood - self.negative_log_likelihood).max(0.0);
        let p = if freedom == 0 { 1.0 } else { special::chi_square_survival(ratio, freedom as f64) };
        (ratio, freedom, p)
    }
}

impl RegressionFit {
    /// [`RegressionFit::against`] with the statistic divided by 1 + 6.5 / n (Bartlett 1937), which has the
    /// correct size from 30 values on. The 6.5 is simulated for one column in the location of a GEV; for
    /// other models it is approximate.
    pub fn against_corrected(&self, smaller: &RegressionFit) -> (f64, usize, f64) {
        let (ratio, freedom, _) = self.against(smaller);
        let corrected = ratio / (1.0 + 6.5 / self.n.max(1) as f64);
        let p = if freedom == 0 { 1.0 } else { special::chi_square_survival(corrected, freedom as f64) };
        (corrected, freedom, p)
    }
}
