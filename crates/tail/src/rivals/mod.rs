//! The laws a GEV must be compared with: which other distribution would explain the same values?

use serde::{Deserialize, Serialize};

use crate::{Error, Series, special};

/// A family of distributions that competes with the GEV. A trailing 3 means shifted, with three parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Family {
    /// Normal(mean, sd).
    Normal,
    /// ln x is normal.
    LogNormal,
}

impl Family {
    /// All families, those with fewer parameters first.
    pub const ALL: [Family; 2] = [Family::Normal, Family::LogNormal];

    /// The name that words and tables use.
    pub fn name(self) -> &'static str {
        match self {
            Family::Normal => "normal",
            Family::LogNormal => "log-normal",
        }
    }

    /// Number of parameters.
    pub fn size(self) -> usize {
        2
    }
}

/// A distribution of one of the families.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// The family.
    pub family: Family,
    /// Lower end of the support; 0 for the unshifted families, unused for the normal.
    pub shift: f64,
    /// Normal: mean. Log-normal: mean of ln(x - shift).
    pub a: f64,
    /// Normal: standard deviation. Log-normal: standard deviation of ln(x - shift).
    pub b: f64,
}

impl Law {
    /// Logarithm of the density; minus infinity outside the support.
    pub fn ln_pdf(&self, x: f64) -> f64 {
        const HALF_LN_2PI: f64 = 0.918_938_533_204_672_7;
        match self.family {
            Family::Normal => {
                let z = (x - self.a) / self.b;
                -0.5 * z * z - self.b.ln() - HALF_LN_2PI
            }
            Family::LogNormal => {
                let y = x - self.shift;
                if y <= 0.0 {
                    return f64::NEG_INFINITY;
                }
                let ln = y.ln();
                let z = (ln - self.a) / self.b;
                -0.5 * z * z - self.b.ln() - HALF_LN_2PI - ln
            }
        }
    }

    /// Distribution function.
    pub fn cdf(&self, x: f64) -> f64 {
        match self.family {
            Family::Normal => special::normal_cdf((x - self.a) / self.b),
            Family::LogNormal => {
                if x <= self.shift {
                    0.0
                } else {
                    special::normal_cdf(((x - self.shift).ln() - self.a) / self.b)
                }
            }
        }
    }
}

/// A fitted rival.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The fitted distribution.
    pub law: Law,
    /// Values used.
    pub n: usize,
    /// Negative log-likelihood, in the unit of the data.
    pub negative_log_likelihood: f64,
}

impl Fit {
    /// Akaike's criterion.
    pub fn aic(&self) -> f64 {
        2.0 * (self.negative_log_likelihood + self.law.family.size() as f64)
    }

    /// Schwarz's criterion.
    pub fn bic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + self.law.family.size() as f64 * (self.n as f64).ln()
    }
}

/// Fit one family by maximum likelihood.
///
/// # Errors
/// As [`crate::gev::fit`], and [`Error::Support`] where the family does not hold the data.
pub fn fit(series: &Series, family: Family) -> Result<Fit, Error> {
    series.require(5, 4)?;
    let n = series.len();
    let (law, negative_log_likelihood) = match family {
        Family::Normal => {
            let (mean, sd) = mean_sd(series.sorted().iter().copied());
            (Law { family, shift: 0.0, a: mean, b: sd }, normal_nll(n, sd))
        }
        Family::LogNormal => {
            if series.sorted()[0] <= 0.0 {
                return Err(Error::Support { model: family.name(), needs: "positive values" });
            }
            let logs = series.sorted().iter().map(|x| x.ln());
            let (mean, sd) = mean_sd(logs);
            (Law { family, shift: 0.0, a: mean, b: sd }, normal_nll(n, sd) + n as f64 * mean)
        }
    };
    Ok(Fit { law, n, negative_log_likelihood })
}

/// Mean and standard deviation (divisor n) in two passes.
fn mean_sd(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let first = values.clone().next().unwrap_or(0.0);
    let mean = first + values.clone().map(|x| x - first).sum::<f64>() / n;
    let (mut square, mut rest) = (0.0, 0.0);
    for x in values {
        square += (x - mean) * (x - mean);
        rest += x - mean;
    }
    (mean + rest / n, ((square - rest * rest / n) / n).sqrt())
}

fn normal_nll(n: usize, sd: f64) -> f64 {
    n as f64 * (sd.ln() + 0.5 * (1.0 + (2.0 * std::f64::consts::PI).ln()))
}
