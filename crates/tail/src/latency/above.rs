//! Estimates far quantiles above a given threshold.

use serde::{Deserialize, Serialize};

use super::{Candidate, Clusters, LatencyLevel, Tail, clusters, threshold};
use crate::enclosed::InOrder;
use crate::{Error, Series, Status, argument, gpd, special};

/// The tail beyond one threshold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdTail {
    /// The test of a GPD there and the points of the stability plots. `None` below 20 exceedances, or if the
    /// likelihood has no interior maximum.
    pub candidate: Option<Candidate>,
    /// The fit; its errors are those of independent exceedances.
    pub fit: gpd::GpdFit,
    /// Clusters of slow operations, and the errors of the fit that allow for what lasts within them.
    pub clusters: Option<Clusters>,
    /// Extremal index by intervals and by K-gaps: 1 independent, 1/θ the mean cluster size.
    pub extremal_index: [f64; 2],
    /// As how many independent exceedances these count: fewer where slow values come together. Where that is below
    /// [`super::FEWEST_WORTH`], levels beyond the sample have no intervals.
    pub effective_exceedances: f64,
    /// How many times the variances of scale and shape of independent exceedances theirs are, at least 1.
    pub inflation: [f64; 2],
    /// Levels reached once in a number of operations.
    pub levels: Vec<LatencyLevel>,
    /// Standard errors of their quantiles beyond the sample; `None` inside it, and unless the status of the fit is ok.
    beyond: Vec<Option<f64>>,
}

/// The tail of values in time order beyond `threshold`; `operations` are the periods. The same as
/// [`super::analyse`] for the threshold that it chooses, but with as few as 5 exceedances.
///
/// # Errors
/// As [`gpd::fit`], and [`Error::Parameter`] for a level or a period out of range.
pub fn above(
    values: &[f64],
    threshold: f64,
    operations: &[f64],
    level: f64,
    seed: u64,
) -> Result<ThresholdTail, Error> {
    argument::confidence_level(level)?;
    let series = Series::clean(values);
    let fit = gpd::GpdLikelihood::new(&series, threshold)?.fit();
    let order = InOrder::of(series.values(), None, series.sorted());
    let (extremal_index, found) = super::clustering(&series, Some(&fit));
    let theta = extremal_index[1].clamp(1e-6, 1.0);
    let tail = Tail { series: &series, order: &order, fit: Some(&fit), found: &found, theta, level };
    let levels = operations.iter().map(|&period| tail.level(period)).collect::<Result<Vec<_>, _>>()?;
    let levels: Vec<LatencyLevel> = levels.into_iter().flatten().collect();
    let error = |level: &LatencyLevel| {
        let variance =
            clusters::level_variance_with(&fit, &found, (level.operations * fit.rate).ln()).map(f64::sqrt);
        variance.filter(|_| level.extrapolated && fit.status == Status::Ok)
    };
    Ok(ThresholdTail {
        candidate: threshold::candidate(series.sorted(), threshold, seed),
        effective_exceedances: super::effective_exceedances(&order, &fit),
        beyond: levels.iter().map(error).collect(),
        levels,
        extremal_index,
        inflation: [found.inflation([1.0, 0.0, 0.0]), found.inflation([0.0, 1.0, 0.0])],
        clusters: found.clusters,
        fit,
    })
}

impl ThresholdTail {
    /// Whether the exceedances depend on each other, and count as too few for what is beyond the sample.
    pub fn is_worth_few(&self) -> bool {
        self.effective_exceedances < super::FEWEST_WORTH
            && self.effective_exceedances < self.fit.exceedances as f64
    }

    /// The standard error of the quantile of one of its levels, that of its interval: beyond the sample by the delta
    /// method with dependence and the error of the rate, inside from the binomial interval. `None` if the
    /// status of the fit is not ok, or a binomial interval has only one end.
    pub fn standard_error(&self, level: &LatencyLevel) -> Option<f64> {
        if self.fit.status != Status::Ok {
            return None;
        }
        if level.extrapolated {
            let at = self.levels.iter().position(|own| own == level)?;
            return self.beyond[at];
        }
        let interval = level.quantile_interval?;
        let z = special::normal_upper_quantile(0.5 * (1.0 - interval.level));
        Some((interval.upper - interval.lower) / (2.0 * z))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gpd, Xoshiro, latency};

    #[test]
    fn the_chosen_threshold_named_gives_the_same_numbers() {
        let distribution = Gpd { threshold: 20.0, scale: 1.25, shape: 0.2 };
        let mut random = Xoshiro::new(3);
        let values: Vec<f64> = (0..3000).map(|_| distribution.sample(&mut random)).collect();
        let periods = [100.0, 1e4];
        let all = latency::analyse(&values, &periods, 0.95, 1).unwrap();
        let chosen = all.candidates[all.chosen.unwrap()];
        let one = above(&values, chosen.threshold, &periods, 0.95, 1).unwrap();
        assert_eq!(
            (one.candidate, one.levels, one.extremal_index),
            (Some(chosen), all.levels, all.extremal_index)
        );
        assert_eq!((Some(one.fit), one.clusters), (all.fit, all.clusters));
    }

    #[test]
    fn levels_have_standard_errors_where_the_fit_has() {
        let distribution = Gpd { threshold: 20.0, scale: 1.25, shape: 0.2 };
        let mut random = Xoshiro::new(3);
        let values: Vec<f64> = (0..2000).map(|_| distribution.sample(&mut random)).collect();
        let found = above(&values, 21.0, &[50.0, 1e3, 1e5], 0.95, 1).unwrap();
        assert_eq!(found.fit.status, Status::Ok);
        for level in &found.levels {
            let error = found.standard_error(level).unwrap();
            let interval = level.quantile_interval.unwrap();
            let share = (interval.upper - interval.lower) / (2.0 * 1.96 * error);
            assert!((0.9..1.5).contains(&share), "{level:?} {error}");
        }
        let irregular =
            ThresholdTail { fit: gpd::GpdFit { status: Status::Irregular, ..found.fit.clone() }, ..found };
        assert_eq!(irregular.standard_error(&irregular.levels[2]), None);
    }
}
