//! Fits several measured sizes together, with one distribution and one exponent of dependence, and predicts from the fit.

use serde::{Deserialize, Serialize};

use super::drift::{self, ShapeDrift, WithoutDrift};
use super::{FAR, FEW, Judgement, PredictionWarning, Scaled, ScaledQuantile, Trust, check_probabilities};
use crate::newton::{Objective, brent_minimum, brent_root};
use crate::{End, Error, Gev, Interval, Series, argument, gev, independence, kernel, linalg, special};

/// Several measured sizes fitted together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    /// Distribution of the slowest of the smallest size.
    #[serde(rename = "law")]
    pub distribution: Gev,
    /// The smallest size.
    pub smallest: f64,
    /// Exponent of dependence g.
    pub exponent: f64,
    /// Its profile interval, within 0 to 1.5; an end at such a bound is marked.
    pub interval: Interval,
    /// Whether the exponent is at a bound of the search; it is then not an estimate, since the true one may
    /// be beyond.
    #[serde(default)]
    pub at_bound: bool,
    /// p-value of independence, g = 1 (likelihood ratio, one degree of freedom).
    pub p_independent: f64,
    /// p-value of the whole model against separate fits of each size.
    pub p_model: f64,
    /// Shape fitted separately at each size: (size, shape, standard error).
    pub shapes: Vec<(f64, f64, Option<f64>)>,
    /// Effective number of independent parts at the largest size, relative to the smallest: (m / m0)^g.
    pub effective_ratio: f64,
    /// The largest size.
    pub largest: f64,
    /// Covariance of (location, ln scale, shape, exponent); none where the maximum is not an interior one.
    pub covariance: Option<[[f64; 4]; 4]>,
    /// The fit with a shape that drifts with the size (the smallest at least 2). If it is significantly
    /// better, predictions use it; otherwise their intervals cover it.
    #[serde(default)]
    pub drift: Option<ShapeDrift>,
    /// Reliability of predictions from it.
    pub trust: Trust,
    /// The reasons.
    pub warnings: Vec<PredictionWarning>,
}

/// The largest exponent of the search. Above 1 the slowest grows faster with the size than for independent
/// parts.
const LARGEST: f64 = 1.5;

/// Fit values measured at three or more sizes with one distribution and one exponent of dependence:
/// F_m = F_0^((m / m0)^g).
///
/// # Errors
/// [`Error::TooFew`] below three sizes, else as [`gev::fit`].
pub fn joint(sizes: &[(f64, Vec<f64>)], level: f64) -> Result<Joint, Error> {
    if sizes.len() < 3 {
        return Err(Error::TooFew { found: sizes.len(), needed: 3 });
    }
    let mut order: Vec<&(f64, Vec<f64>)> = sizes.iter().collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let smallest = order[0].0;
    if !(smallest >= 1.0 && order[order.len() - 1].0.is_finite()) {
        return Err(Error::Parameter { what: "parts measured", value: smallest, must: "at least 1" });
    }
    let series: Vec<Series> = order.iter().map(|(_, v)| Series::clean(v)).collect();
    let mut separate = 0.0;
    let mut shapes = Vec::new();
    for (one, (size, _)) in series.iter().zip(order.iter().map(|s| (s.0, ()))) {
        let fit = gev::Likelihood::new(one)?.fit();
        separate += fit.negative_log_likelihood;
        shapes.push((size, fit.shape, fit.standard_errors.map(|e| e.shape)));
    }
    let (center, spread) = gev::standardisation(series[0].sorted());
    let rows: Vec<(f64, Vec<f64>)> = series
        .iter()
        .zip(&order)
        .map(|(s, (m, _))| ((m / smallest).ln(), s.sorted().iter().map(|x| (x - center) / spread).collect()))
        .collect();
    let count: usize = rows.iter().map(|r| r.1.len()).sum();
    let mut newton = crate::newton::Newton::new(3);
    let mut warm = [-0.3665 / 1.5725, -(1.5725f64.ln()), 0.02];
    let tolerance = 1e-11 * count as f64;
    let mut profile = |g: f64| -> f64 {
        let objective = Powers { rows: &rows, exponent: g };
        let mut best = f64::INFINITY;
        for start in [warm, [-0.23, 0.2, 0.02], [-0.23, 1.0, 0.2], [-0.23, 1.0, -0.1]] {
            let outcome = newton.minimize(&objective, &start, tolerance, 0);
            if outcome.converged {
                warm = [newton.at[0], newton.at[1], newton.at[2]];
                best = outcome.value;
                break;
            }
        }
        best
    };
    let (exponent, value) = brent_minimum(&mut profile, 0.0, LARGEST, 1e-7);
    if !value.is_finite() {
        return Err(Error::NotConverged { model: "several sizes" });
    }
    let z = special::normal_upper_quantile(0.5 * (1.0 - level));
    let mut excess = |g: f64| {
        let there = profile(g);
        if there.is_finite() { (2.0 * (there - value)).max(0.0).sqrt() - z } else { 1e9 }
    };
    let mut end = |bound: f64| {
        let there = excess(bound);
        if there <= 0.0 {
            (bound, End::Bound)
        } else {
            (brent_root(&mut excess, (exponent, -z), (bound, there), 1e-7), End::Reached)
        }
    };
    let interval = Interval::from_ends([end(0.0), end(LARGEST)], level);
    let at_bound = !(1e-4..=LARGEST - 1e-4).contains(&exponent);
    let independent = profile(1.0);
    profile(exponent);
    let covariance = covariance(&Powers { rows: &rows, exponent }, warm, spread);
    let total = value + count as f64 * spread.ln();
    let freedom = 3.0 * series.len() as f64 - 4.0;
    let p_model = special::chi_square_survival((2.0 * (total - separate)).max(0.0), freedom);
    let measured: Vec<f64> = order.iter().map(|(m, _)| *m).collect();
    let samples: Vec<Vec<f64>> = rows.iter().map(|(_, values)| values.clone()).collect();
    let drift = drift::fit(
        &measured,
        &samples,
        (center, spread),
        &WithoutDrift {
            at: [warm[0], warm[1], warm[2], exponent],
            value,
            separate: separate - count as f64 * spread.ln(),
        },
    );
    let mut judged = judge(&series, &measured, p_model, drift.as_ref())?;
    if exponent > LARGEST - 1e-4 {
        judged.warn(Trust::Refused, PredictionWarning::ExponentAtBound { bound: LARGEST });
    }
    let [location, scale] = [center + spread * warm[0], spread * warm[1].exp()];
    Ok(Joint {
        distribution: Gev { location, scale, shape: warm[2] },
        smallest,
        exponent,
        interval,
        at_bound,
        p_independent: special::chi_square_survival((2.0 * (independent - value)).max(0.0), 1.0),
        p_model,
        shapes,
        effective_ratio: (order[order.len() - 1].0 / smallest).powf(exponent),
        largest: order[order.len() - 1].0,
        covariance,
        drift,
        trust: judged.trust,
        warnings: judged.warnings,
    })
}

/// Below this p-value of the model its predictions are not to be used: for exponential ranks, measured at 1, 4 and 16,
/// they were 1.2 to 1.4 times the truth at 256.
const REJECTED: f64 = 0.01;

/// Judges predictions from several sizes.
fn judge(
    series: &[Series],
    sizes: &[f64],
    p_model: f64,
    drift: Option<&ShapeDrift>,
) -> Result<Judgement, Error> {
    let mut judged = Judgement::new();
    // The error of 5% applies to all sizes together, not to each.
    let part = 1.0 / series.len() as f64;
    for (one, size) in series.iter().zip(sizes) {
        let (runs, parts) = (one.len(), Some(*size));
        if runs < FEW {
            judged.warn(Trust::Warned, PredictionWarning::FewRuns { runs, advised: FEW, parts });
        }
        for test in independence::check_share(one, 0.05, part)?.reasons() {
            let finding = test.finding.clone();
            judged.warn(Trust::Refused, PredictionWarning::NotIndependent { parts, finding });
        }
    }
    // Maxima of few parts deviate from their limiting distribution even if it fits well; only the drift shows by how
    // much.
    if drift.is_none_or(|drift| drift.covariance.is_none()) {
        judged.warn(Trust::Warned, PredictionWarning::ModelErrorUnknown);
    }
    let drift = drift.filter(|drift| drift.is_clear());
    if let Some(&ShapeDrift { limit, p, .. }) = drift {
        judged.warn(Trust::Warned, PredictionWarning::ShapeDrifts { limit, p });
    }
    // The model used for predictions must describe the sizes.
    let p = drift.map_or(p_model, |drift| drift.p_model);
    if p < 0.05 {
        let trust = if p < REJECTED { Trust::Refused } else { Trust::Warned };
        judged.warn(trust, PredictionWarning::SizesDisagree { p });
    }
    Ok(judged)
}

/// Inverse of the observed information of (location, ln scale, shape, exponent): by the first three
/// analytic, by the exponent from differences. In the unit of the data.
fn covariance(best: &Powers, at: [f64; 3], spread: f64) -> Option<[[f64; 4]; 4]> {
    let evaluate = |exponent: f64| {
        let (mut gradient, mut hessian) = ([0.0; 3], [0.0; 9]);
        let value = Powers { rows: best.rows, exponent }.evaluate(&at, &mut gradient, &mut hessian);
        value.is_finite().then_some((value, gradient, hessian))
    };
    let step = 1e-4;
    let (value, _, hessian) = evaluate(best.exponent)?;
    let (up, up_gradient, _) = evaluate(best.exponent + step)?;
    let (down, down_gradient, _) = evaluate(best.exponent - step)?;
    let mut all = [0.0; 16];
    for i in 0..3 {
        for j in 0..3 {
            all[4 * i + j] = hessian[3 * i + j];
        }
        let mixed = (up_gradient[i] - down_gradient[i]) / (2.0 * step);
        (all[4 * i + 3], all[12 + i]) = (mixed, mixed);
    }
    all[15] = (up - 2.0 * value + down) / (step * step);
    let inverse = linalg::inverse(&all, 4)?;
    let units = [spread, 1.0, 1.0, 1.0];
    let found: [[f64; 4]; 4] =
        std::array::from_fn(|i| std::array::from_fn(|j| inverse[4 * i + j] * units[i] * units[j]));
    (0..4).all(|i| found[i][i] > 0.0).then_some(found)
}

impl Joint {
    /// Quantiles of the slowest of `to` parts. Intervals by the delta method on the logarithm, so that they
    /// stay positive. They include the error of the fit and of the exponent, and extend beyond the
    /// predictions of both models (one shape for all sizes; a drifting shape) by the difference of these. If
    /// the shape is negative, the upper end also allows for growth beyond the bound that such a shape
    /// implies.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a size below 1, a probability or a level out of range.
    pub fn predict(&self, to: f64, probabilities: &[f64], level: f64) -> Result<Scaled, Error> {
        check_probabilities(probabilities)?;
        argument::at_least_1("parts asked for", to)?;
        argument::confidence_level(level)?;
        let drifting = self.drift.as_ref().filter(|_| to >= 2.0);
        let drift = drifting.filter(|drift| drift.is_clear());
        let power = self.exponent * (to / self.smallest).ln();
        let z = special::normal_upper_quantile(0.5 * (1.0 - level));
        let interval = |(value, error): (f64, Option<f64>)| {
            let factor = (z * error.filter(|_| value > 0.0)? / value).exp();
            Some(Interval::new(value / factor, value * factor, level))
        };
        let quantiles = probabilities
            .iter()
            .map(|&probability| {
                let alike = self.alike(to, probability);
                let drifted = drifting.map(|drift| drift.quantile(to, probability));
                let (value, standard_error) = drifted.filter(|_| drift.is_some()).unwrap_or(alike);
                let interval = match (interval(alike), drifted.and_then(interval)) {
                    (Some(one), Some(other)) => {
                        // The true value may be beyond both models, by as much as they differ.
                        let apart = drifted.map_or(1.0, |(value, _)| (value / alike.0).max(alike.0 / value));
                        let (lower, upper) = (one.lower.min(other.lower), one.upper.max(other.upper));
                        let above = apart.max(self.unbounded(to, probability) / alike.0);
                        Some(Interval::new(lower / apart, upper * above, level))
                    }
                    (one, _) if drift.is_none() => one,
                    (_, other) => other,
                };
                ScaledQuantile { probability, value, standard_error, interval }
            })
            .collect();
        let mut judged = Judgement { trust: self.trust, warnings: self.warnings.clone() };
        if to / self.largest > FAR || self.smallest / to > FAR {
            let (smallest, largest) = (self.smallest, self.largest);
            judged.warn(Trust::Warned, PredictionWarning::FarFromSizes { to, smallest, largest });
        }
        let ratio = power.exp();
        Ok(Scaled {
            schema: "lastrank.scale/1".to_string(),
            from: self.smallest,
            to,
            ratio,
            exponent: self.exponent,
            distribution: drift
                .map_or_else(|| self.distribution.max_of(ratio), |drift| drift.distribution_at(to)),
            quantiles,
            trust: judged.trust,
            warnings: judged.warnings,
        })
    }
}

impl Joint {
    /// The quantile of the slowest of `to` parts with one shape for all sizes, and its standard error.
    fn alike(&self, to: f64, probability: f64) -> (f64, Option<f64>) {
        let ln_size = (to / self.smallest).ln();
        let Gev { location, scale, shape } = self.distribution;
        let c = -(-probability.ln()).ln() + self.exponent * ln_size;
        let (b, b_shape, _) = kernel::box_cox(c, shape);
        let gradient = [1.0, scale * b, scale * b_shape, scale * (shape * c).exp() * ln_size];
        let error = |v: [[f64; 4]; 4]| linalg::quadratic(v.as_flattened(), &gradient).max(0.0).sqrt();
        (location + scale * b, self.covariance.map(error))
    }

    /// The quantile if the scale does not shrink further beyond the largest size. Maxima of few parts of an
    /// unbounded distribution, such as the normal, have a negative shape that rises to 0 and grow by less than this.
    fn unbounded(&self, to: f64, probability: f64) -> f64 {
        let measured = self.distribution.max_of(self.effective_ratio);
        let beyond = (to / self.largest).ln();
        if measured.shape >= 0.0 || beyond <= 0.0 {
            return 0.0;
        }
        let location = measured.location + measured.scale * self.exponent * beyond;
        Gev { location, ..measured }.quantile(probability)
    }
}

/// F_0^(r^g) is a GEV: ln density = ln f_0-row with weight r^g on exp(-h), plus g ln r.
struct Powers<'a> {
    rows: &'a [(f64, Vec<f64>)],
    exponent: f64,
}

impl Objective for Powers<'_> {
    fn size(&self) -> usize {
        3
    }

    fn evaluate(&self, at: &[f64], gradient: &mut [f64], hessian: &mut [f64]) -> f64 {
        if at[2] <= -1.0 || at[2] >= gev::SHAPE_MAX {
            return f64::INFINITY;
        }
        let mut total = kernel::Terms::default();
        for (ln_ratio, values) in self.rows {
            let power = self.exponent * ln_ratio;
            let Some(part) = kernel::sum(values, &kernel::At::new(at[0], at[1], at[2]), 1.0, power.exp())
            else {
                return f64::INFINITY;
            };
            total.add(&part);
            total.value -= power * values.len() as f64;
        }
        gradient.copy_from_slice(&total.gradient);
        hessian.copy_from_slice(&total.matrix());
        total.value
    }
}
