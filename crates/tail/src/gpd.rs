//! Exceedances over a threshold: the generalised Pareto law, its fit, its return levels.

use serde::{Deserialize, Serialize};

use crate::interval_end::interval_end;
use crate::kernel::{self, At};
use crate::newton::{Newton, Objective};
use crate::series::sorted_quantile;
use crate::status::Interval;
use crate::{Dropped, Error, Series, Status, Xoshiro, argument, linalg, special};

const SHAPE_MAX: f64 = 5.0;

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

    /// One random exceedance.
    pub fn sample(&self, random: &mut Xoshiro) -> f64 {
        self.upper_quantile(random.uniform())
    }
}

/// A fitted GPD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GpdFit {
    /// How far to trust it.
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
    pub fn law(&self) -> Gpd {
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

    fn exponent(&self, observations: f64, extremal_index: f64) -> Result<f64, Error> {
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

/// The likelihood of the exceedances of one threshold.
#[derive(Debug, Clone)]
pub struct GpdLikelihood {
    /// Ascending exceedances over their median.
    y: Vec<f64>,
    unit: f64,
    threshold: f64,
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

/// ln scale and shape free; or one of them, the other fixed or implied by a level.
enum Slice {
    Shape(f64),
    LogScale(f64),
    /// Level over the threshold and its exponent: scale = level / b(exponent, shape).
    Level(f64, f64),
}

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

struct OneFree<'a> {
    y: &'a [f64],
    slice: Slice,
}

impl OneFree<'_> {
    fn full(&self, at: f64) -> [f64; 2] {
        match self.slice {
            Slice::Shape(shape) => [at, shape],
            Slice::LogScale(phi) => [phi, at],
            Slice::Level(level, c) => [(level / kernel::box_cox(c, at).0).ln(), at],
        }
    }
}

impl Objective for OneFree<'_> {
    fn size(&self) -> usize {
        1
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        let [phi, shape] = self.full(at[0]);
        if !(-1.0..=SHAPE_MAX).contains(&shape) {
            return f64::INFINITY;
        }
        let Some(t) = kernel::sum(self.y, &At::new(0.0, phi, shape), 1.0, 0.0) else { return f64::INFINITY };
        let (gp, gx) = (t.gradient[1], t.gradient[2]);
        let (pp, px, xx) = (t.hessian[2], t.hessian[4], t.hessian[5]);
        let (g, h) = match self.slice {
            Slice::Shape(_) => (gp, pp),
            Slice::LogScale(_) => (gx, xx),
            Slice::Level(_, c) => {
                let (b, b1, b2) = kernel::box_cox(c, shape);
                let d1 = -b1 / b;
                let d2 = d1 * d1 - b2 / b;
                (gx + gp * d1, xx + 2.0 * px * d1 + pp * d1 * d1 + gp * d2)
            }
        };
        gradient[0] = g;
        hessian[0] = h;
        t.value
    }
}

/// What an interval of a GPD fit is wanted for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GpdTarget {
    /// The scale.
    Scale,
    /// The shape.
    Shape,
    /// The level exceeded once in so many observations, at this extremal index.
    ReturnLevel(f64, f64),
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
        // The median of the law is the median of the data, where the support allows it.
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
            // At shape -1 the law is uniform up to the largest value.
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

    /// The best interior dip of the profile of the shape.
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

    /// Profile-likelihood interval around a fit of these exceedances; the exceedance rate is taken as known.
    ///
    /// # Errors
    /// [`Error::Parameter`] for arguments out of range, [`Error::NotConverged`] without an interior maximum.
    pub fn profile(&self, fit: &GpdFit, target: GpdTarget, level: f64) -> Result<Interval, Error> {
        self.profile_inflated(fit, target, level, 1.0)
    }

    /// [`GpdLikelihood::profile`] with the critical value of the deviance times `inflation`: the variance of the
    /// target over that of the plain likelihood, for clusters and the error of the rate (Chandler, Bate 2007).
    ///
    /// # Errors
    /// As [`GpdLikelihood::profile`].
    pub fn profile_inflated(
        &self,
        fit: &GpdFit,
        target: GpdTarget,
        level: f64,
        inflation: f64,
    ) -> Result<Interval, Error> {
        argument::confidence_level(level)?;
        let Some(v) = fit.curvature else { return Err(Error::NotConverged { model: "profile" }) };
        let phi = (fit.scale / self.unit).ln();
        let minimum = fit.negative_log_likelihood - self.y.len() as f64 * self.unit.ln();
        // The target where it is profiled (levels as logarithms), its error, and the nuisance parameter.
        let (estimate, error, nuisance, exponent) = match target {
            GpdTarget::Scale => (phi, v[0][0].sqrt() / fit.scale, fit.shape, 0.0),
            GpdTarget::Shape => (fit.shape, v[1][1].sqrt(), phi, 0.0),
            GpdTarget::ReturnLevel(observations, index) => {
                let c = fit.exponent(observations, index)?;
                let (b, b1, _) = kernel::box_cox(c, fit.shape);
                let g = [b, fit.scale * b1];
                let excess = fit.scale * b;
                let error = linalg::quadratic(v.as_flattened(), &g).max(0.0).sqrt() / excess;
                ((excess / self.unit).ln(), error, fit.shape, c)
            }
        };
        let z = special::normal_upper_quantile(0.5 * (1.0 - level)) * inflation.sqrt();
        let largest = self.y[self.y.len() - 1];
        let mut newton = Newton::new(1);
        let tolerance = 1e-11 * self.y.len() as f64;
        let mut ends = [(f64::NAN, crate::End::NotFound); 2];
        for (side, end) in [-1.0, 1.0].into_iter().zip(&mut ends) {
            let mut warm = nuisance;
            let root_deviance = |value: f64| {
                let slice = match target {
                    GpdTarget::Scale => Slice::LogScale(value),
                    GpdTarget::Shape => Slice::Shape(value),
                    GpdTarget::ReturnLevel(..) => Slice::Level(value.exp(), exponent),
                };
                let one = OneFree { y: &self.y, slice };
                let mut start = warm;
                for _ in 0..80 {
                    let [phi, shape] = one.full(start);
                    if 1.0 + shape * largest / phi.exp() > 1e-3 && shape > -1.0 && shape < SHAPE_MAX {
                        break;
                    }
                    match target {
                        GpdTarget::Shape => start += 0.25,
                        _ => start = 0.5 * (start + 0.1),
                    }
                }
                let outcome = newton.minimize(&one, &[start], tolerance, 1);
                if !outcome.value.is_finite() {
                    return f64::INFINITY;
                }
                warm = newton.at[0];
                (2.0 * (outcome.value - minimum)).max(0.0).sqrt()
            };
            let bound = match target {
                GpdTarget::Shape if side < 0.0 => -1.0,
                GpdTarget::Shape => SHAPE_MAX,
                _ => side * f64::INFINITY,
            };
            *end = interval_end(root_deviance, estimate, error, z, bound);
        }
        let map = |v: f64| match target {
            GpdTarget::Scale => self.unit * v.exp(),
            GpdTarget::Shape => v,
            GpdTarget::ReturnLevel(..) => self.threshold + self.unit * v.exp(),
        };
        Ok(Interval::from_ends(ends.map(|(at, end)| (map(at), end)), level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_the_distribution() {
        for shape in [-0.3, 0.0, 0.4] {
            let law = Gpd { threshold: 5.0, scale: 2.0, shape };
            for p in [0.01, 0.5, 0.999] {
                assert!((law.cdf(law.quantile(p)) - p).abs() < 1e-13);
                assert!((law.survival(law.upper_quantile(p)) - p).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_density_that_rises_to_its_end_has_its_estimate_at_the_boundary() {
        let values: Vec<f64> = (1..=200).map(|i| (f64::from(i) / 200.0).cbrt()).collect();
        let fit = fit(&values, 0.0).unwrap();
        assert_eq!(fit.status, Status::Boundary);
        assert_eq!((fit.shape, fit.standard_errors), (-1.0, None));
        assert!((fit.scale - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_level_below_the_threshold_is_refused() {
        let mut random = Xoshiro::new(1);
        let law = Gpd { threshold: 0.0, scale: 1.0, shape: 0.1 };
        let values: Vec<f64> = (0..500).map(|_| law.sample(&mut random)).collect();
        let fit = fit(&values, 1.0).unwrap();
        assert!(fit.return_level(1.5, 1.0).is_err());
        assert!(fit.return_level(1e6, 1.0).unwrap().0 > 1.0);
    }
}
