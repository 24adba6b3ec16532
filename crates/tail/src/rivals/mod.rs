//! Defines the distributions that a GEV is compared with.

mod fit;
mod sums;

pub(crate) use fit::Prepared;
pub use fit::{RivalFit, fit, fit_all};

use serde::{Deserialize, Serialize};

use crate::special;

/// A family of distributions that competes with the GEV. A trailing 3 means shifted: three parameters, the
/// third being the lower end of the support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Family {
    /// Normal(mean, sd).
    Normal,
    /// ln x is normal.
    LogNormal,
    /// Gamma(shape, scale).
    Gamma,
    /// Weibull(shape, scale).
    Weibull,
    /// ln(x - shift) is normal.
    LogNormal3,
    /// Shifted gamma.
    Gamma3,
    /// Shifted Weibull.
    Weibull3,
    /// ln(x - shift) is logistic.
    LogLogistic3,
}

impl Family {
    /// All families, those with fewer parameters first.
    pub const ALL: [Family; 8] = [
        Family::Normal,
        Family::LogNormal,
        Family::Gamma,
        Family::Weibull,
        Family::LogNormal3,
        Family::Gamma3,
        Family::Weibull3,
        Family::LogLogistic3,
    ];

    /// The name in texts and tables.
    pub fn name(self) -> &'static str {
        match self {
            Family::Normal => "normal",
            Family::LogNormal => "log-normal",
            Family::Gamma => "gamma",
            Family::Weibull => "Weibull",
            Family::LogNormal3 => "shifted log-normal",
            Family::Gamma3 => "shifted gamma",
            Family::Weibull3 => "shifted Weibull",
            Family::LogLogistic3 => "shifted log-logistic",
        }
    }

    /// Number of parameters.
    pub fn size(self) -> usize {
        if self.shifted() { 3 } else { 2 }
    }

    /// Whether the lower end of the support is a parameter.
    pub fn shifted(self) -> bool {
        matches!(self, Family::LogNormal3 | Family::Gamma3 | Family::Weibull3 | Family::LogLogistic3)
    }
}

/// A distribution of one of the families.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The family.
    pub family: Family,
    /// Lower end of the support; 0 for the unshifted families, unused for the normal.
    pub shift: f64,
    /// Normal: mean. Log-normal: mean of ln(x - shift). Otherwise the shape.
    pub a: f64,
    /// Normal: standard deviation. Log-normal: that of ln(x - shift). Otherwise the scale.
    pub b: f64,
}

impl Distribution {
    /// Logarithm of the density; minus infinity outside the support.
    pub fn ln_pdf(&self, x: f64) -> f64 {
        let (a, b) = (self.a, self.b);
        if self.family == Family::Normal {
            let z = (x - a) / b;
            return -0.5 * z * z - b.ln() - special::LN_SQRT_2PI;
        }
        let y = x - self.shift;
        if y <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let ln = y.ln();
        match self.family {
            Family::Normal | Family::LogNormal | Family::LogNormal3 => {
                let z = (ln - a) / b;
                -0.5 * z * z - b.ln() - special::LN_SQRT_2PI - ln
            }
            Family::Gamma | Family::Gamma3 => special::ln_gamma_prefactor(a, y / b) + a.ln() - ln,
            Family::Weibull | Family::Weibull3 => {
                let power = a * (ln - b.ln());
                a.ln() + power - ln - power.exp()
            }
            Family::LogLogistic3 => {
                let z = a * (ln - b.ln());
                a.ln() - z.abs() - 2.0 * (-z.abs()).exp().ln_1p() - ln
            }
        }
    }

    /// Distribution function.
    pub fn cdf(&self, x: f64) -> f64 {
        let (a, b) = (self.a, self.b);
        if self.family == Family::Normal {
            return special::normal_cdf((x - a) / b);
        }
        let y = x - self.shift;
        if y <= 0.0 {
            return 0.0;
        }
        match self.family {
            Family::Normal | Family::LogNormal | Family::LogNormal3 => special::normal_cdf((y.ln() - a) / b),
            Family::Gamma | Family::Gamma3 => special::incomplete_gamma(a, y / b).0,
            Family::Weibull | Family::Weibull3 => -(-(y / b).powf(a)).exp_m1(),
            Family::LogLogistic3 => 1.0 / (1.0 + (y / b).powf(-a)),
        }
    }

    /// Quantile of probability p in (0, 1).
    pub fn quantile(&self, p: f64) -> f64 {
        let (a, b) = (self.a, self.b);
        match self.family {
            Family::Normal => a + b * special::normal_quantile(p),
            Family::LogNormal | Family::LogNormal3 => {
                self.shift + (a + b * special::normal_quantile(p)).exp()
            }
            Family::Gamma | Family::Gamma3 => self.shift + b * special::gamma_quantile(a, p),
            Family::Weibull | Family::Weibull3 => self.shift + b * (-(-p).ln_1p()).powf(1.0 / a),
            Family::LogLogistic3 => self.shift + b * (p / (1.0 - p)).powf(1.0 / a),
        }
    }
}
