//! Estimates the far quantiles of 10⁵ to 10⁹ single latencies.
//!
//! Inside the sample: order statistics with binomial intervals, no model. Beyond: a GPD above a threshold
//! chosen among some twenty (Anderson-Darling p-values with ForwardStop; Bader, Yan, Zhang 2018). Clusters of
//! slow operations are counted once, by the extremal index (Ferro, Segers 2003; Süveges, Davison 2010). All exceedances
//! are fitted (Fawcett, Walshaw 2007), and the errors allow for values that resemble their neighbours: by the long-run
//! variance of the influence of each value (Müller 2007).

mod above;
mod clusters;
mod extremal;
mod threshold;

pub use above::{ThresholdTail, above};
use clusters::ExceedanceDependence;
pub use clusters::{Clusters, clusters, decluster};
pub use extremal::{intervals_estimate, k_gaps};
pub use threshold::Candidate;

use serde::{Deserialize, Serialize};

use crate::enclosed::InOrder;
use crate::independence::{self, SlowValues};
use crate::{Error, Interval, Series, argument, gpd, special};

/// The tail of many latencies; schema `lastrank.latency/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// `lastrank.latency/1`.
    pub schema: String,
    /// Values.
    pub n: usize,
    /// All candidates, lowest threshold first.
    pub candidates: Vec<Candidate>,
    /// Index of the chosen candidate; `None` if every GPD is rejected, so that there are only levels inside
    /// the sample.
    pub chosen: Option<usize>,
    /// The fit above the chosen threshold; its errors are those of independent exceedances.
    pub fit: Option<gpd::GpdFit>,
    /// Clusters of slow operations, and the errors of the fit that allow for them.
    #[serde(default)]
    pub clusters: Option<Clusters>,
    /// Extremal index by intervals and by K-gaps, at the chosen threshold or the 98% quantile, whichever is
    /// higher: 1 independent, 1/θ the mean cluster size.
    pub extremal_index: [f64; 2],
    /// The pattern of the slow values in time: random, bursts or a period.
    #[serde(default)]
    pub slow: Option<SlowValues>,
    /// Levels reached once in so many operations.
    pub levels: Vec<LatencyLevel>,
}

/// The level reached once in `operations`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyLevel {
    /// Operations.
    pub operations: f64,
    /// The level exceeded once in this many operations, counting a cluster once: the quantile at 1 - 1 /
    /// (operations · θ). Half of all sequences of 0.69 · operations stay below it.
    pub level: f64,
    /// Its interval: binomial inside the sample, profile likelihood beyond; both allow for clusters.
    pub interval: Option<Interval>,
    /// Whether it is beyond the sample and relies on the GPD.
    pub extrapolated: bool,
    /// The plain quantile: one operation in this many is slower, regardless of clusters. Equal to `level` for
    /// θ = 1.
    #[serde(default)]
    pub quantile: f64,
    /// Its interval.
    #[serde(default)]
    pub quantile_interval: Option<Interval>,
}

/// Analyses latencies in time order; `operations` are the periods.
///
/// # Errors
/// [`Error::TooFew`] below 1000 values, else as [`gpd::fit`].
pub fn analyse(values: &[f64], operations: &[f64], level: f64, seed: u64) -> Result<Latency, Error> {
    analyse_series(&Series::clean(values), operations, level, seed)
}

/// [`analyse`] of a series.
///
/// # Errors
/// As [`analyse`].
pub fn analyse_series(series: &Series, operations: &[f64], level: f64, seed: u64) -> Result<Latency, Error> {
    argument::confidence_level(level)?;
    series.require(1000, 20)?;
    let n = series.len();
    let candidates = threshold::candidates(series, seed);
    let chosen = threshold::choose(&candidates.iter().map(|c| c.p).collect::<Vec<_>>());
    let fit = chosen
        .map(|i| gpd::GpdLikelihood::new(series, candidates[i].threshold).map(|l| l.fit()))
        .transpose()?;
    let order = InOrder::of(series.values(), None, series.sorted());
    let (extremal_index, found) = clustering(series, fit.as_ref());
    let theta = extremal_index[1].clamp(1e-6, 1.0);
    let tail = Tail { series, order: &order, fit: fit.as_ref(), found: &found, theta, level };
    let mut levels = Vec::new();
    for &operations in operations {
        levels.extend(tail.level(operations)?);
    }
    Ok(Latency {
        schema: "lastrank.latency/1".to_string(),
        n,
        candidates,
        chosen,
        fit,
        clusters: found.clusters,
        extremal_index,
        slow: independence::slow_values(series.values(), series.sorted()),
        levels,
    })
}

/// The distribution above the lowest threshold from which on a GPD holds, fitted to `slowest`: those of `n` values
/// that exceed some level. At most a tenth of the `n` values are fitted. `None` if every threshold is
/// rejected, or fewer than 40 values could be fitted. `rate` of the fit is the share of all `n`.
///
/// # Errors
/// As [`gpd::fit`].
pub fn of_slowest(slowest: &[f64], n: u64, seed: u64) -> Result<Option<gpd::GpdFit>, Error> {
    let series = Series::clean(slowest);
    let most = series.len().saturating_sub(1).min((n / 10) as usize);
    if most < 40 {
        return Ok(None);
    }
    let candidates = threshold::between(&series, most, 40.0, seed);
    let Some(chosen) = threshold::choose(&candidates.iter().map(|c| c.p).collect::<Vec<_>>()) else {
        return Ok(None);
    };
    let mut fit = gpd::GpdLikelihood::new(&series, candidates[chosen].threshold)?.fit();
    fit.n = n as usize;
    fit.rate = fit.exceedances as f64 / n as f64;
    Ok(Some(fit))
}

/// The extremal index by intervals and by K-gaps, and the clusters beyond the threshold of a fit.
fn clustering(series: &Series, fit: Option<&gpd::GpdFit>) -> ([f64; 2], ExceedanceDependence) {
    let n = series.len();
    // A tenth of the values contains neighbours by chance, so the threshold is at least the 98% quantile.
    let rare = series.sorted()[n - 1 - n / 50];
    let above = |threshold: f64| -> Vec<usize> {
        series.values().iter().enumerate().filter(|(_, x)| **x > threshold).map(|(i, _)| i).collect()
    };
    let times = above(fit.map_or(rare, |fit| fit.threshold.max(rare)));
    let extremal_index = [intervals_estimate(&times), k_gaps(&times, n, 1)];
    let theta = extremal_index[1].clamp(1e-6, 1.0);
    let Some(fit) = fit else { return (extremal_index, ExceedanceDependence::unknown(None)) };
    let clusters = clusters::clusters(series.values(), &above(fit.threshold), fit, theta);
    (extremal_index, ExceedanceDependence::of(series.values(), fit, clusters))
}

/// Exceedances, counted as independent ones, below which dependent ones tell nothing of what is beyond the sample: intervals of
/// 95% held 66 to 85% where they were worth 3 to 9, and 83% and more from 10 on.
pub const FEWEST_WORTH: f64 = 10.0;

/// As how many independent exceedances those of a fit count.
fn effective_exceedances(order: &InOrder<'_, f64>, fit: &gpd::GpdFit) -> f64 {
    fit.exceedances as f64 / order.variance_ratio(fit.n, (1.0 - fit.rate, fit.threshold))
}

/// By how much wider an interval is whose variance is estimated from so few values.
fn student(worth: f64, level: f64) -> f64 {
    special::student_quantile(level, worth) / special::normal_upper_quantile(0.5 * (1.0 - level))
}

/// The data from which levels are computed.
struct Tail<'a> {
    series: &'a Series,
    order: &'a InOrder<'a, f64>,
    fit: Option<&'a gpd::GpdFit>,
    found: &'a ExceedanceDependence,
    theta: f64,
    level: f64,
}

impl Tail<'_> {
    /// The level and the quantile of a period; `None` below the threshold, or beyond the sample without a
    /// fit.
    fn level(&self, operations: f64) -> Result<Option<LatencyLevel>, Error> {
        if !(operations > 1.0 && operations.is_finite()) {
            return Err(Error::Parameter { what: "operations", value: operations, must: "above 1" });
        }
        let Some((level, interval, extrapolated)) = self.passed_once_in(operations * self.theta) else {
            return Ok(None);
        };
        let (quantile, quantile_interval) =
            self.passed_once_in(operations).map_or((f64::NAN, None), |found| (found.0, found.1));
        Ok(Some(LatencyLevel { operations, level, interval, extrapolated, quantile, quantile_interval }))
    }

    /// The 1 - 1 / `period` quantile, its interval, and whether it is beyond the sample.
    fn passed_once_in(&self, period: f64) -> Option<(f64, Option<Interval>, bool)> {
        let n = self.series.len();
        let sorted = self.series.sorted();
        // Inside the sample: at least about twenty values exceed the level.
        if period * 20.0 <= n as f64 {
            let p = (1.0 - 1.0 / period).max(0.0);
            let index = ((p * n as f64).ceil() as usize).clamp(1, n) - 1;
            let found = self.order.enclosed(n, (p, sorted[index]), self.level);
            let ends = found.lower.zip(found.upper);
            let interval = ends.map(|(low, high)| Interval::new(sorted[low], sorted[high], self.level));
            return Some((sorted[index], interval, false));
        }
        let fit = self.fit?;
        let (value, _) = fit.return_level(period, 1.0).ok()?;
        let worth = effective_exceedances(self.order, fit);
        if worth < FEWEST_WORTH && worth < fit.exceedances as f64 {
            return Some((value, None, true));
        }
        let inflation = clusters::inflation(fit, self.found, (period * fit.rate).ln())
            * if worth < fit.exceedances as f64 { student(worth, self.level).powi(2) } else { 1.0 };
        let interval = gpd::GpdLikelihood::new(self.series, fit.threshold)
            .and_then(|l| {
                l.profile_inflated(fit, gpd::GpdTarget::ReturnLevel(period, 1.0), self.level, inflation)
            })
            .ok();
        Some((value, interval, true))
    }
}
