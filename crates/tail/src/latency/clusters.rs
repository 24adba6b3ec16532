//! Computes errors of a fit to all exceedances that allow for clusters of slow operations.
//!
//! Every exceedance is fitted and none discarded (Fawcett, Walshaw 2007). `Clusters` has the errors of the sums of scores over
//! clusters, V = H⁻¹ (Σ_c s_c s_cᵀ) H⁻¹ (Chandler, Bate 2007); intervals of levels rest on `ExceedanceDependence`, since sums
//! over clusters miss what lasts beyond one: those of autoregressions of 0.9 held 54 to 81% of levels, not 95%.

use serde::{Deserialize, Serialize};

use crate::independence::long_run;
use crate::{gpd, kernel, linalg};

/// Clusters of exceedances and the errors that allow for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// Number of clusters: the extremal index times the exceedances; the longest gaps separate them (Ferro,
    /// Segers 2003).
    pub count: usize,
    /// Longest time from one exceedance to the next inside a cluster, in operations.
    pub within: usize,
    /// Covariance of (scale, shape) with scores summed over clusters.
    pub covariance: [[f64; 2]; 2],
    /// Standard errors of (scale, shape): never below those of independent exceedances.
    pub standard_errors: [f64; 2],
    /// Variance of the rate of exceedances over that of independent ones, at least 1.
    pub rate_inflation: f64,
}

/// The number of the cluster of each exceedance, from 0, and the longest gap inside one; `times` ascending.
pub fn decluster(times: &[usize], extremal_index: f64) -> (Vec<usize>, usize) {
    let wanted = ((extremal_index * times.len() as f64).round() as usize).clamp(1, times.len().max(1));
    let mut gaps: Vec<usize> = times.windows(2).map(|w| w[1] - w[0]).collect();
    gaps.sort_unstable_by(|a, b| b.cmp(a));
    // The `wanted - 1` longest gaps separate clusters; ties with the longest inner gap are inside.
    let inner = gaps.get(wanted - 1).copied().unwrap_or(0);
    let mut cluster = 0;
    let mut labels = Vec::with_capacity(times.len());
    for (i, &time) in times.iter().enumerate() {
        if i > 0 && time - times[i - 1] > inner {
            cluster += 1;
        }
        labels.push(cluster);
    }
    (labels, inner)
}

/// Errors of a fit that allow for clusters; `values` in time order, `times` the positions above the threshold.
/// `None` without an interior maximum or below 10 clusters.
pub fn clusters(values: &[f64], times: &[usize], fit: &gpd::GpdFit, extremal_index: f64) -> Option<Clusters> {
    let curvature = fit.curvature?;
    let covariance = fit.covariance?;
    let (labels, within) = decluster(times, extremal_index);
    let count = labels.last()? + 1;
    if count < 10 {
        return None;
    }
    let mut sums = vec![[0.0; 2]; count];
    let mut sizes = vec![0.0; count];
    for (&time, &label) in times.iter().zip(&labels) {
        let z = (values[time] - fit.threshold) / fit.scale;
        let row = kernel::row(z, &kernel::At::standard(fit.shape), 1.0, 0.0)?;
        sums[label][0] += row.gradient[1];
        sums[label][1] += row.gradient[2];
        sizes[label] += 1.0;
    }
    let correction = count as f64 / (count as f64 - 1.0);
    let mut meat = [0.0; 4];
    for s in &sums {
        for i in 0..2 {
            for j in 0..2 {
                meat[2 * i + j] += correction * s[i] * s[j];
            }
        }
    }
    // In (ln scale, shape).
    let unit = [fit.scale, 1.0];
    let bread: Vec<f64> =
        (0..4).map(|at| curvature[at / 2][at % 2] / (unit[at / 2] * unit[at % 2])).collect();
    let v = linalg::congruence(&bread, &meat, 2);
    let robust: [[f64; 2]; 2] =
        std::array::from_fn(|i| std::array::from_fn(|j| v[2 * i + j] * unit[i] * unit[j]));
    // Var(Σ sizes) of a random number of clusters, over that of single exceedances.
    let rate_inflation = (sizes.iter().map(|m| m * m).sum::<f64>() / times.len() as f64).max(1.0);
    Some(Clusters {
        count,
        within,
        covariance: robust,
        standard_errors: std::array::from_fn(|i| robust[i][i].max(covariance[i][i]).sqrt()),
        rate_inflation,
    })
}

/// How the exceedances of a threshold depend on each other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ExceedanceDependence {
    /// Their clusters, where there are enough.
    pub clusters: Option<Clusters>,
    /// By value in time order: what it does to ln scale, to the shape, and to the share of exceedances, in arbitrary but fixed
    /// units. Empty where the fit has no interior maximum.
    influences: Vec<[f64; 3]>,
}

impl ExceedanceDependence {
    /// Of no fit, or one without an interior maximum.
    pub fn unknown(clusters: Option<Clusters>) -> Self {
        Self { clusters, influences: Vec::new() }
    }

    /// Of a fit to `values`, which are in time order.
    pub fn of(values: &[f64], fit: &gpd::GpdFit, clusters: Option<Clusters>) -> Self {
        let influences = fit.curvature.map_or(Vec::new(), |curvature| influences(values, fit, curvature));
        Self { clusters, influences }
    }

    /// How many times the variance of independent values that of an estimate is which is moved by
    /// `gradient` · (ln scale, shape, rate): the long-run variance of its influences; 1 where nothing hints at dependence.
    pub fn inflation(&self, gradient: [f64; 3]) -> f64 {
        let of = |influence: &[f64; 3]| influence.iter().zip(gradient).map(|(one, by)| one * by).sum();
        let series: Vec<f64> = self.influences.iter().map(of).collect();
        if series.is_empty() { 1.0 } else { long_run::inflation_if_hinted(&series, HINT, None) }
    }
}

/// Standard errors of a correlation of neighbours from which on it counts.
const HINT: f64 = 1.3;

/// The influence functions of the maximum of the likelihood, times n.
fn influences(values: &[f64], fit: &gpd::GpdFit, curvature: [[f64; 2]; 2]) -> Vec<[f64; 3]> {
    let unit = [fit.scale, 1.0];
    let bread = |i: usize, j: usize| curvature[i][j] / (unit[i] * unit[j]);
    let of = |value: &f64| {
        if *value <= fit.threshold {
            return Some([0.0, 0.0, -fit.rate]);
        }
        let z = (value - fit.threshold) / fit.scale;
        let score = kernel::row(z, &kernel::At::standard(fit.shape), 1.0, 0.0)?.gradient;
        // The likelihood is negative, and so are its scores.
        let [scale, shape] = [0, 1].map(|i| -(bread(i, 0) * score[1] + bread(i, 1) * score[2]));
        Some([scale, shape, 1.0 - fit.rate])
    };
    values.iter().map(of).collect::<Option<_>>().unwrap_or_default()
}

/// Variance of a level with dependence and the error of the rate, relative to that of its profile: the factor
/// of the critical deviance (the vertical adjustment of Chandler, Bate 2007). At least 1.
pub(super) fn inflation(fit: &gpd::GpdFit, found: &ExceedanceDependence, exponent: f64) -> f64 {
    let Some(plain) = fit.curvature else { return 1.0 };
    let alone = level_variance(fit, plain, exponent);
    (level_variance_with(fit, found, exponent).unwrap_or(alone) / alone).max(1.0)
}

/// Variance of the level of an exponent by the delta method, from the covariance of (scale, shape).
fn level_variance(fit: &gpd::GpdFit, covariance: [[f64; 2]; 2], exponent: f64) -> f64 {
    let (b, b1, _) = kernel::box_cox(exponent, fit.shape);
    linalg::quadratic(covariance.as_flattened(), &[b, fit.scale * b1])
}

/// The fit with dependence and the error of the rate of exceedances; `None` without an interior maximum.
pub(super) fn level_variance_with(
    fit: &gpd::GpdFit,
    found: &ExceedanceDependence,
    exponent: f64,
) -> Option<f64> {
    let alone = level_variance(fit, fit.curvature?, exponent);
    let (b, b1, _) = kernel::box_cox(exponent, fit.shape);
    let of_rate = (fit.shape * exponent).exp();
    let independent = alone + (fit.scale * of_rate).powi(2) / fit.exceedances as f64;
    // d level / d (ln scale, shape, ln rate), in scales.
    let long_run = found.inflation([b, b1, of_rate / (fit.exceedances as f64)]);
    Some(independent * long_run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gaps_separate_the_clusters() {
        let (labels, within) = decluster(&[1, 2, 3, 50, 51, 200], 0.5);
        assert_eq!((labels, within), (vec![0, 0, 0, 1, 1, 2], 1));
        assert_eq!(decluster(&[5, 9, 14], 1.0).0, [0, 1, 2]);
        assert!(decluster(&[], 0.5).0.is_empty());
    }
}
