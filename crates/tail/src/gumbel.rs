//! The Gumbel law (shape 0): its fit, and whether a GEV explains the values better.

use serde::{Deserialize, Serialize};

use crate::gev::{self, Likelihood, quantile_start};
use crate::newton::Newton;
use crate::surface::{Fixed, Surface, What, grow_scale};
use crate::{Error, Gev, Series, linalg, special};

/// A fitted Gumbel law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Values used.
    pub n: usize,
    /// Location.
    pub location: f64,
    /// Location minus the median of the data.
    pub location_offset: f64,
    /// Scale.
    pub scale: f64,
    /// Standard errors of location and scale.
    pub standard_errors: [f64; 2],
    /// Their covariance.
    pub covariance: [[f64; 2]; 2],
    /// Negative log-likelihood, in the unit of the data.
    pub negative_log_likelihood: f64,
}

impl Fit {
    /// The fitted distribution.
    pub fn law(&self) -> Gev {
        Gev { location: self.location, scale: self.scale, shape: 0.0 }
    }

    /// Akaike's criterion.
    pub fn aic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + 4.0
    }

    /// Schwarz's criterion.
    pub fn bic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + 2.0 * (self.n as f64).ln()
    }

    /// Likelihood-ratio test of shape 0 against a GEV fit of the same values, with Hosking's factor
    /// 1 - 2.8 / n (Hosking 1984): statistic and p-value.
    pub fn against(&self, gev: &gev::Fit) -> (f64, f64) {
        let ratio = 2.0 * (self.negative_log_likelihood - gev.negative_log_likelihood).max(0.0);
        let adjusted = ratio * (1.0 - 2.8 / self.n as f64);
        (adjusted, special::chi_square_survival(adjusted, 1.0))
    }
}

/// Fit a Gumbel law by maximum likelihood.
///
/// # Errors
/// As [`gev::fit`], and [`Error::NotConverged`], which is not expected: the likelihood has one maximum.
pub fn fit(series: &Series) -> Result<Fit, Error> {
    let likelihood = Likelihood::new(series)?;
    let maxima = likelihood.maxima();
    let fixed = Fixed { surface: &maxima, what: What::Shape, value: 0.0 };
    let mut newton = Newton::new(2);
    let start = quantile_start();
    // A far outlier makes exp(-z) vanish on one side only: widen until the start is finite.
    let wide = [start[0], grow_scale(maxima.ends(), start[0], start[1], -0.02)];
    let tolerance = 1e-12 * series.len() as f64;
    let mut outcome = newton.minimize(&fixed, &start, tolerance, 2);
    if !outcome.converged {
        outcome = newton.minimize(&fixed, &wide, tolerance, 2);
    }
    let terms = maxima.terms(newton.at[0], newton.at[1], 0.0);
    let (Some(terms), true) = (terms, outcome.converged) else {
        return Err(Error::NotConverged { model: "Gumbel" });
    };
    let [mm, mp, pp, ..] = terms.hessian;
    let Some(v) = linalg::inverse(&[mm, mp, mp, pp], 2) else {
        return Err(Error::NotConverged { model: "Gumbel" });
    };
    let (center, spread) = (likelihood.center, likelihood.spread);
    let scale = spread * newton.at[1].exp();
    let covariance =
        [[v[0] * spread * spread, v[1] * spread * scale], [v[2] * spread * scale, v[3] * scale * scale]];
    Ok(Fit {
        n: series.len(),
        location: center + spread * newton.at[0],
        location_offset: spread * newton.at[0],
        scale,
        standard_errors: [covariance[0][0].sqrt(), covariance[1][1].sqrt()],
        covariance,
        negative_log_likelihood: outcome.value + series.len() as f64 * spread.ln(),
    })
}
