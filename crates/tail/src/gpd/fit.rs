//! Fits a generalised Pareto distribution to the values above a threshold by maximum likelihood.

use super::distribution::GpdFit;
use super::slice::{OneFree, SHAPE_MAX, Slice};
use crate::kernel::{self, At};
use crate::newton::{Newton, Objective};
use crate::series::sorted_quantile;
use crate::{Dropped, Error, Series, Status, linalg};

/// The likelihood of the exceedances of one threshold.
#[derive(Debug, Clone)]
pub struct GpdLikelihood {
    /// Ascending exceedances over their median.
    pub(super) y: Vec<f64>,
    pub(super) unit: f64,
    pub(super) threshold: f64,
    n: usize,
    dropped: Dropped,
}

/// Fit a GPD to the values above a threshold.
///
/// # Errors
/// [`Error::TooFew`] below 5 exceedances, [`Error::TooFewDistinct`] below 3 distinct ones.
pub fn fit(values: &[f64], threshold: f64) -> Result<GpdFit, Error> {
    Ok(GpdLikelihood::new(&Series::clean(values), threshold)?.fit())
}

/// ln scale and shape free.
struct Pareto<'a> {
    y: &'a [f64],
}

impl Objective for Pareto<'_> {
    fn size(&self) -> usize {
        2
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        if at[1] <= -1.0 || at[1] >= SHAPE_MAX {
            return f64::INFINITY;
        }
        let Some(t) = kernel::sum(self.y, &At::new(0.0, at[0], at[1]), 1.0, 0.0) else {
            return f64::INFINITY;
        };
        gradient.copy_from_slice(&t.gradient[1..]);
        hessian.copy_from_slice(&[t.hessian[2], t.hessian[4], t.hessian[4], t.hessian[5]]);
        t.value
    }
}

impl GpdLikelihood {
    /// The exceedances of `threshold`.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn new(series: &Series, threshold: f64) -> Result<GpdLikelihood, Error> {
        if !threshold.is_finite() {
            return Err(Error::Parameter { what: "threshold", value: threshold, must: "finite" });
        }
        let sorted = series.sorted();
        let above = &sorted[sorted.partition_point(|&x| x <= threshold)..];
        if above.len() < 5 {
            return Err(Error::TooFew { found: above.len(), needed: 5 });
        }
        let distinct = 1 + above.windows(2).filter(|w| w[1] > w[0]).count();
        if distinct == 1 {
            return Err(Error::Constant { count: above.len(), value: above[0] });
        }
        if distinct < 3 {
            return Err(Error::TooFewDistinct { found: distinct, needed: 3 });
        }
        let unit = sorted_quantile(above, 0.5) - threshold;
        let y = above.iter().map(|x| (x - threshold) / unit).collect();
        Ok(GpdLikelihood { y, unit, threshold, n: series.len(), dropped: series.dropped() })
    }

    fn start(&self, shape: f64) -> [f64; 2] {
        // The median of the distribution is the median of the data, if the support permits it.
        let scale = 1.0 / kernel::box_cox(std::f64::consts::LN_2, shape).0;
        let largest = self.y[self.y.len() - 1];
        [scale.max(-shape * largest / 0.95).ln(), shape]
    }

    /// The maximum-likelihood fit.
    pub fn fit(&self) -> GpdFit {
        let n = self.y.len();
        let tolerance = 1e-12 * n as f64;
        let objective = Pareto { y: &self.y };
        let mut newton = Newton::new(2);
        let mut iterations = 0;
        let mut best: Option<([f64; 2], f64)> = None;
        for shape in [0.1, -0.2, 0.5, -0.5, 1.0, -0.8, 2.0] {
            let outcome = newton.minimize(&objective, &self.start(shape), tolerance, 2);
            iterations += outcome.iterations;
            if outcome.converged {
                best = Some(([newton.at[0], newton.at[1]], outcome.value));
                break;
            }
        }
        let best = best.or_else(|| self.scan(&mut newton));
        let largest = self.y[n - 1];
        let (at, value, interior) = match best {
            Some((at, value)) => (at, value, true),
            // At shape -1 the distribution is uniform up to the largest value.
            None => ([largest.ln(), -1.0], n as f64 * largest.ln(), false),
        };
        let scale = self.unit * at[0].exp();
        let curvature = interior
            .then(|| {
                let t = kernel::sum(&self.y, &At::new(0.0, at[0], at[1]), 1.0, 0.0)?;
                let v = linalg::inverse(&[t.hessian[2], t.hessian[4], t.hessian[4], t.hessian[5]], 2)?;
                Some([[v[0] * scale * scale, v[1] * scale], [v[2] * scale, v[3]]])
            })
            .flatten();
        let status = match interior {
            true if at[1] > -0.5 => Status::Ok,
            true => Status::Irregular,
            false => Status::Boundary,
        };
        let covariance = if status == Status::Ok { curvature } else { None };
        GpdFit {
            status,
            threshold: self.threshold,
            n: self.n,
            exceedances: n,
            rate: n as f64 / self.n as f64,
            dropped: self.dropped,
            scale,
            shape: at[1],
            standard_errors: covariance.map(|v| [v[0][0].sqrt(), v[1][1].sqrt()]),
            covariance,
            curvature,
            negative_log_likelihood: value + n as f64 * self.unit.ln(),
            iterations,
        }
    }

    /// The best interior minimum of the profile of the shape.
    fn scan(&self, newton: &mut Newton) -> Option<([f64; 2], f64)> {
        let tolerance = 1e-12 * self.y.len() as f64;
        let mut one = Newton::new(1);
        let profile: Vec<([f64; 2], f64)> = (0..=80)
            .map(|i| {
                let shape = -0.999 + 0.0749 * f64::from(i);
                let slice = OneFree { y: &self.y, slice: Slice::Shape(shape) };
                let outcome = one.minimize(&slice, &self.start(shape)[..1], tolerance, 0);
                ([one.at[0], shape], outcome.value)
            })
            .collect();
        let mut best: Option<([f64; 2], f64)> = None;
        for w in profile.windows(3) {
            if w[1].1 <= w[0].1 && w[1].1 <= w[2].1 {
                let outcome = newton.minimize(&Pareto { y: &self.y }, &w[1].0, tolerance, 2);
                if outcome.converged && best.is_none_or(|b| outcome.value < b.1) {
                    best = Some(([newton.at[0], newton.at[1]], outcome.value));
                }
            }
        }
        best
    }
}
