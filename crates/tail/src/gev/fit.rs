//! Fits a GEV by maximum likelihood: robust start, Newton, fallback starts, existence, errors, influence.
//!
//! Values are standardised by median and interquartile range, so the fit of `a x + b` is the transformed fit
//! of `x`, in any unit. A maximum is searched in -1 < shape < min(5, (n - k) / k), k being the multiplicity
//! of the smallest value: outside, the likelihood is unbounded.

use serde::{Deserialize, Serialize};

use crate::grouped::Grouped;
use crate::kernel;
use crate::newton::Newton;
use crate::return_period::{gumbel_level, return_period_to_probability};
use crate::search::{self, StandardMaximum};
use crate::series::{count_equal_to_first, sorted_quantile};
use crate::status::Interval;
use crate::surface::{Free, Maxima, Surface, grow_scale};
use crate::{Dropped, Error, Gev, Series, Status, argument, linalg, special};

/// Largest shape searched.
pub(crate) const SHAPE_MAX: f64 = 5.0;

/// Location, scale and shape, or three numbers that belong to them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Parameters {
    /// For the location.
    pub location: f64,
    /// For the scale.
    pub scale: f64,
    /// For the shape.
    pub shape: f64,
}

/// The influence of the most influential value on the fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Influence {
    /// The value whose removal moves a parameter most (the extremes are tried).
    pub value: f64,
    /// The largest change of a parameter, in its standard errors.
    pub shift: f64,
    /// The shape without that value.
    pub shape_without: f64,
    /// Whether a single value changes a parameter by more than its standard error.
    pub flagged: bool,
}

/// A quantity with its standard error (delta method).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelEstimate {
    /// Exceedance probability of the level.
    pub exceedance: f64,
    /// The level, in the unit of the data.
    pub level: f64,
    /// Standard error by the delta method; none when the fit has none.
    pub standard_error: Option<f64>,
}

impl LevelEstimate {
    /// The Wald interval; prefer profile intervals, which keep their coverage.
    pub fn interval(&self, coverage: f64) -> Option<Interval> {
        let half = special::normal_upper_quantile(0.5 * (1.0 - coverage)) * self.standard_error?;
        Some(Interval::new(self.level - half, self.level + half, coverage))
    }
}

/// A fitted GEV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GevFit {
    /// Reliability of the fit.
    pub status: Status,
    /// Finite values used.
    pub n: usize,
    /// Values left out.
    pub dropped: Dropped,
    /// Distinct values.
    pub distinct: usize,
    /// The clock's tick, where ties show one.
    pub tick: Option<f64>,
    /// Location.
    pub location: f64,
    /// Scale.
    pub scale: f64,
    /// Shape; positive is heavy-tailed.
    pub shape: f64,
    /// Median of the data.
    pub center: f64,
    /// Location minus `center`, exact even if the location itself is rounded.
    pub location_offset: f64,
    /// Standard errors from the observed information; none unless `status` is ok.
    pub standard_errors: Option<Parameters>,
    /// Covariance of (location, scale, shape); none unless `status` is ok.
    pub covariance: Option<[[f64; 3]; 3]>,
    /// Inverse of the observed information, also where normal theory fails (status irregular).
    pub curvature: Option<[[f64; 3]; 3]>,
    /// Negative log-likelihood, in the unit of the data.
    pub negative_log_likelihood: f64,
    /// The most influential value.
    pub influence: Option<Influence>,
    /// Newton iterations used.
    pub iterations: usize,
}

impl GevFit {
    /// The fitted distribution.
    pub fn distribution(&self) -> Gev {
        Gev { location: self.location, scale: self.scale, shape: self.shape }
    }

    /// Akaike's criterion.
    pub fn aic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + 6.0
    }

    /// Schwarz's criterion.
    pub fn bic(&self) -> f64 {
        2.0 * self.negative_log_likelihood + 3.0 * (self.n as f64).ln()
    }

    /// The level exceeded once in `period` values on average, with its standard error.
    pub fn return_level(&self, period: f64) -> Result<LevelEstimate, Error> {
        let exceedance = return_period_to_probability(period)?;
        Ok(self.at_gumbel_level(gumbel_level(exceedance), exceedance))
    }

    /// The quantile of probability `p` in (0, 1), with its standard error.
    pub fn quantile(&self, p: f64) -> Result<LevelEstimate, Error> {
        argument::between_0_and_1("probability", p)?;
        Ok(self.at_gumbel_level(-(-p.ln()).ln(), 1.0 - p))
    }

    /// Gradient of the quantile at Gumbel level `c` by (location, scale, shape): the delta method.
    pub fn level_gradient(&self, c: f64) -> [f64; 3] {
        let (b, b1, _) = kernel::box_cox(c, self.shape);
        [1.0, b, self.scale * b1]
    }

    fn at_gumbel_level(&self, c: f64, exceedance: f64) -> LevelEstimate {
        let b = kernel::box_cox(c, self.shape).0;
        let level = self.center + (self.location_offset + self.scale * b);
        let gradient = self.level_gradient(c);
        let standard_error =
            self.covariance.map(|v| linalg::quadratic(v.as_flattened(), &gradient).max(0.0).sqrt());
        LevelEstimate { exceedance, level, standard_error }
    }
}

/// Fit a GEV to values in time order, of any unit. Values that are not finite are left out and counted.
///
/// # Errors
/// [`Error::TooFew`] below 5 values, [`Error::Constant`], [`Error::TooFewDistinct`] below 4 distinct ones.
pub fn fit(values: &[f64]) -> Result<GevFit, Error> {
    Ok(Likelihood::new(&Series::clean(values))?.fit())
}

/// The likelihood of one sample, standardised: fit it, profile it, refit it.
#[derive(Debug, Clone)]
pub struct Likelihood<'a> {
    series: &'a Series,
    /// Ascending standardised values.
    pub(crate) y: Vec<f64>,
    /// The values in groups, if there are very many.
    grouped: Option<Grouped>,
    pub(crate) center: f64,
    pub(crate) spread: f64,
    pub(crate) shape_max: f64,
}

impl<'a> Likelihood<'a> {
    /// Standardise a sample.
    ///
    /// # Errors
    /// As [`fit`].
    pub fn new(series: &'a Series) -> Result<Likelihood<'a>, Error> {
        series.require(5, 4)?;
        let sorted = series.sorted();
        let (center, spread) = standardisation(sorted);
        let y: Vec<f64> = sorted.iter().map(|x| (x - center) / spread).collect();
        let grouped = Grouped::of(&y, 0.0, 1.0);
        Ok(Likelihood { series, y, grouped, center, spread, shape_max: shape_bound(sorted) })
    }

    /// The same without groups, however many values there are.
    #[cfg(test)]
    pub(crate) fn one_by_one(self) -> Self {
        Likelihood { grouped: None, ..self }
    }

    /// The groups of very many values, in the unit of the data.
    pub(crate) fn groups(&self) -> Option<Grouped> {
        self.grouped.as_ref().map(|groups| groups.in_units(self.center, self.spread))
    }

    /// The sample as a surface that is fast to evaluate: very many values are grouped, and the maximum is
    /// within a thousandth of a standard error of the sample's.
    pub(crate) fn quick(&self) -> Maxima<'_> {
        match &self.grouped {
            Some(grouped) => Maxima::grouped(&grouped.points, &grouped.weights, self.shape_max),
            None => self.maxima(),
        }
    }

    /// The sample as a likelihood surface.
    pub(crate) fn maxima(&self) -> Maxima<'_> {
        Maxima::sorted(&self.y, self.shape_max)
    }

    /// The maximum-likelihood fit.
    pub fn fit(&self) -> GevFit {
        let mut newton = Newton::new(3);
        let mut best = maximize_maxima(&self.quick(), &mut newton);
        if self.grouped.is_some() {
            // The last steps use the whole sample. From a hundredth of a standard error, one step leaves less than a
            // millionth.
            let outcome = newton.minimize(&Free(&self.maxima()), &best.at, NEAR, 1);
            if best.status != Status::Boundary && outcome.converged {
                let hessian: Option<[f64; 9]> = newton.hessian[..].try_into().ok();
                let at = [newton.at[0], newton.at[1], newton.at[2]];
                best = StandardMaximum {
                    at,
                    value: outcome.value,
                    iterations: best.iterations + outcome.iterations,
                    ..best
                };
                return self.finish(&best, hessian, &mut newton);
            }
            best = maximize_maxima(&self.maxima(), &mut newton);
        }
        let hessian = hessian_of(&self.maxima(), &best);
        self.finish(&best, hessian, &mut newton)
    }

    fn finish(&self, best: &StandardMaximum, hessian: Option<[f64; 9]>, newton: &mut Newton) -> GevFit {
        let (mut fit, inverse) = in_units(hessian, best, self.series, self.center, self.spread);
        fit.negative_log_likelihood += self.y.len() as f64 * self.spread.ln();
        fit.influence = inverse.and_then(|v| self.influence(best, &v, newton));
        fit
    }

    /// One Newton step without each extreme finds the most influential; a refit then gives the exact change.
    fn influence(&self, best: &StandardMaximum, inverse: &[f64], newton: &mut Newton) -> Option<Influence> {
        let n = self.y.len();
        let [m, phi, shape] = best.at;
        let at = kernel::At::new(m, phi, shape);
        let shift_without = |y: f64| -> f64 {
            let Some(t) = kernel::row(y, &at, 1.0, 1.0) else { return 0.0 };
            (0..3)
                .map(|i| {
                    let step: f64 = (0..3).map(|j| inverse[3 * i + j] * t.gradient[j]).sum();
                    step.abs() / inverse[4 * i].sqrt()
                })
                .fold(0.0, f64::max)
        };
        let (low, high) = (shift_without(self.y[0]), shift_without(self.y[n - 1]));
        let (rest, value) = if high >= low {
            (&self.y[..n - 1], self.series.sorted()[n - 1])
        } else {
            (&self.y[1..], self.series.sorted()[0])
        };
        let mut shift = high.max(low);
        let mut shape_without = {
            let y = if high >= low { self.y[n - 1] } else { self.y[0] };
            let t = kernel::row(y, &at, 1.0, 1.0)?;
            shape + (0..3).map(|j| inverse[6 + j] * t.gradient[j]).sum::<f64>()
        };
        if shift > 0.5 && n > 5 {
            let objective = Maxima::sorted(rest, self.shape_max);
            let outcome = newton.minimize(&Free(&objective), &best.at, 1e-8 * n as f64, 0);
            if outcome.converged {
                shift = (0..3)
                    .map(|i| (newton.at[i] - best.at[i]).abs() / inverse[4 * i].sqrt())
                    .fold(0.0, f64::max);
                shape_without = newton.at[2];
            }
        }
        Some(Influence { value, shift, shape_without, flagged: shift > 1.0 })
    }
}

/// A decrement at a hundredth of a standard error from the maximum.
pub(crate) const NEAR: f64 = 1e-4;

/// The Hessian at an interior maximum.
pub(crate) fn hessian_of<S: Surface>(surface: &S, best: &StandardMaximum) -> Option<[f64; 9]> {
    let [m, phi, shape] = best.at;
    let interior = matches!(best.status, Status::Ok | Status::Irregular);
    if interior { surface.terms(m, phi, shape).map(|terms| terms.matrix()) } else { None }
}

/// A standardised maximum in the unit of the data (the negative log-likelihood still of the standardised
/// values; influence not yet known), and the inverse Hessian of an interior one.
pub(crate) fn in_units(
    hessian: Option<[f64; 9]>,
    best: &StandardMaximum,
    series: &Series,
    center: f64,
    spread: f64,
) -> (GevFit, Option<Vec<f64>>) {
    let [m, phi, shape] = best.at;
    let scale = spread * phi.exp();
    let inverse = hessian.and_then(|hessian| linalg::inverse(&hessian, 3));
    let units = [spread, scale, 1.0];
    let curvature = inverse
        .as_ref()
        .map(|v| std::array::from_fn(|i| std::array::from_fn(|j| v[3 * i + j] * units[i] * units[j])));
    let covariance = if best.status == Status::Ok { curvature } else { None };
    let standard_errors = covariance.map(|v: [[f64; 3]; 3]| Parameters {
        location: v[0][0].sqrt(),
        scale: v[1][1].sqrt(),
        shape: v[2][2].sqrt(),
    });
    let offset = spread * m;
    let fit = GevFit {
        status: best.status,
        n: series.len(),
        dropped: series.dropped(),
        distinct: series.distinct(),
        tick: series.tick(),
        location: center + offset,
        scale,
        shape,
        center,
        location_offset: offset,
        standard_errors,
        covariance,
        curvature,
        negative_log_likelihood: best.value,
        influence: None,
        iterations: best.iterations,
    };
    (fit, inverse)
}

/// Median and interquartile range of ascending values; mean absolute deviation where the latter is 0.
pub(crate) fn standardisation(sorted: &[f64]) -> (f64, f64) {
    let center = sorted_quantile(sorted, 0.5);
    let mut spread = sorted_quantile(sorted, 0.75) - sorted_quantile(sorted, 0.25);
    if !(spread > 0.0 && spread.is_finite()) {
        spread = sorted.iter().map(|x| (x - center).abs() / sorted.len() as f64).sum();
    }
    (center, spread)
}

/// The largest shape for which the likelihood is bounded, given ties at the minimum.
pub(crate) fn shape_bound(sorted: &[f64]) -> f64 {
    let k = count_equal_to_first(sorted) as f64;
    SHAPE_MAX.min((sorted.len() as f64 - k) / k)
}

/// Quantile-matched Gumbel distribution in units of the interquartile range: (location, ln scale).
pub(crate) fn quantile_start() -> [f64; 2] {
    [-0.3665 / 1.5725, -(1.5725f64.ln())]
}

/// The maximum over standardised values: interior if one exists, otherwise at a bound.
pub(crate) fn maximize_maxima(maxima: &Maxima, newton: &mut Newton) -> StandardMaximum {
    let y = maxima.y;
    let n = y.len();
    let base = quantile_start();
    let shape = 0.05f64.min(0.5 * maxima.shape_max);
    let mut first = [base[0], grow_scale(maxima.ends(), base[0], base[1], shape), shape];
    let mut spent = 0;
    if n > 20_000 && maxima.weights.is_empty() {
        // Every k-th order statistic has approximately the distribution of all values: a cheap start near the maximum.
        let part: Vec<f64> = y.iter().skip(n / 4000).step_by(n / 2000).copied().collect();
        let outcome = newton.minimize(&Free(&Maxima { y: &part, ..*maxima }), &first, 1e-3, 0);
        spent += outcome.iterations;
        if outcome.converged {
            let [m, phi, shape] = [newton.at[0], newton.at[1], newton.at[2]];
            first = [m, grow_scale(maxima.ends(), m, phi, shape), shape];
        }
    }
    let mut best = search::maximize(maxima, first, base, newton);
    best.iterations += spent;
    if best.status == Status::Boundary {
        let least = at_least_shape(maxima, best.iterations);
        if best.at[2] == -1.0 || least.value <= best.value {
            best = least;
        }
    }
    best
}

/// The maximum at shape -1, which has a closed form: scale = max - mean, location = max - scale.
pub(crate) fn at_least_shape(maxima: &Maxima, iterations: usize) -> StandardMaximum {
    let high = maxima.ends.1;
    let (count, sum) = maxima.count_and_sum();
    let scale = high - sum / count;
    let value = count * (scale.ln() + 1.0);
    StandardMaximum { at: [high - scale, scale.ln(), -1.0], value, iterations, status: Status::Boundary }
}
