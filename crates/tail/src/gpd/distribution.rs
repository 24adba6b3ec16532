//! Defines the generalised Pareto distribution, fitted or not, and its return levels.

use serde::{Deserialize, Serialize};

use crate::{Dropped, Error, Status, Xoshiro, kernel, linalg};

/// A generalised Pareto distribution beyond a threshold: P(X > threshold + y | X > threshold) =
/// (1 + shape y / scale)^(-1/shape) (Pickands 1975; Coles 2001, 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gpd {
    /// Threshold, in the unit of the data.
    pub threshold: f64,
    /// Scale > 0, in the unit of the data.
    pub scale: f64,
    /// Shape; positive is heavy-tailed.
    pub shape: f64,
}

impl Gpd {
    /// `-ln P(X > x | X > threshold)`; 0 at and below the threshold, infinite beyond the support.
    pub fn cumulative_hazard(&self, x: f64) -> f64 {
        let z = (x - self.threshold) / self.scale;
        if z <= 0.0 { 0.0 } else { kernel::h(z, self.shape).unwrap_or(f64::INFINITY) }
    }

    /// P(X <= x | X > threshold).
    pub fn cdf(&self, x: f64) -> f64 {
        -(-self.cumulative_hazard(x)).exp_m1()
    }

    /// P(X > x | X > threshold).
    pub fn survival(&self, x: f64) -> f64 {
        (-self.cumulative_hazard(x)).exp()
    }

    /// Logarithm of the conditional density; minus infinity outside the support.
    pub fn ln_pdf(&self, x: f64) -> f64 {
        let z = (x - self.threshold) / self.scale;
        match kernel::h(z, self.shape) {
            Some(h) if z >= 0.0 => -self.scale.ln() - (1.0 + self.shape) * h,
            _ => f64::NEG_INFINITY,
        }
    }

    /// The value exceeded with conditional probability `p` in (0, 1].
    pub fn upper_quantile(&self, p: f64) -> f64 {
        self.threshold + self.scale * kernel::box_cox(-p.ln(), self.shape).0
    }

    /// Quantile of conditional probability `p` in [0, 1).
    pub fn quantile(&self, p: f64) -> f64 {
        self.threshold + self.scale * kernel::box_cox(-(-p).ln_1p(), self.shape).0
    }

    /// A random exceedance.
    pub fn sample(&self, random: &mut Xoshiro) -> f64 {
        self.upper_quantile(random.uniform())
    }
}

/// A fitted GPD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpdFit {
    /// Reliability of the fit.
    pub status: Status,
    /// The threshold.
    pub threshold: f64,
    /// Finite values, those below the threshold included.
    pub n: usize,
    /// Values above the threshold.
    pub exceedances: usize,
    /// Exceedances over values.
    pub rate: f64,
    /// Values left out.
    pub dropped: Dropped,
    /// Scale.
    pub scale: f64,
    /// Shape; positive is heavy-tailed.
    pub shape: f64,
    /// Standard errors of (scale, shape); none unless `status` is ok.
    pub standard_errors: Option<[f64; 2]>,
    /// Covariance of (scale, shape); none unless `status` is ok.
    pub covariance: Option<[[f64; 2]; 2]>,
    /// Inverse of the observed information, also where normal theory fails.
    pub curvature: Option<[[f64; 2]; 2]>,
    /// Negative log-likelihood of the exceedances, in the unit of the data.
    pub negative_log_likelihood: f64,
    /// Newton iterations used.
    pub iterations: usize,
}

impl GpdFit {
    /// The fitted distribution.
    pub fn distribution(&self) -> Gpd {
        Gpd { threshold: self.threshold, scale: self.scale, shape: self.shape }
    }

    /// Akaike's criterion of the exceedances.
    pub fn aic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + 4.0
    }

    /// The level exceeded once in `observations` values on average (clusters once, at the given extremal
    /// index; 1 when independent), with its delta-method error, that of the exceedance rate included
    /// (Coles 2001, 4.3.3).
    ///
    /// # Errors
    /// [`Error::Parameter`] when the level would lie below the threshold.
    pub fn return_level(&self, observations: f64, extremal_index: f64) -> Result<(f64, Option<f64>), Error> {
        let c = self.exponent(observations, extremal_index)?;
        let (b, b1, _) = kernel::box_cox(c, self.shape);
        let error = self.covariance.map(|v| {
            let by_rate = self.scale * (self.shape * c).exp() / self.rate;
            let rate_variance = self.rate * (1.0 - self.rate) / self.n as f64;
            let g = [b, self.scale * b1];
            (linalg::quadratic(v.as_flattened(), &g) + by_rate * by_rate * rate_variance).max(0.0).sqrt()
        });
        Ok((self.threshold + self.scale * b, error))
    }

    pub(super) fn exponent(&self, observations: f64, extremal_index: f64) -> Result<f64, Error> {
        if !(extremal_index > 0.0 && extremal_index <= 1.0) {
            let must = "in (0, 1]";
            return Err(Error::Parameter { what: "extremal index", value: extremal_index, must });
        }
        let expected = observations * self.rate * extremal_index;
        if expected > 1.0 && expected.is_finite() {
            Ok(expected.ln())
        } else {
            let must = "long enough to hold an exceedance of the threshold";
            Err(Error::Parameter { what: "return period", value: observations, must })
        }
    }
}
