//! Compares two samples of which only histograms are left, and what was found in the order of each when its values were at
//! hand.
//!
//! Ratios of the median and of the 99% quantile are those of the values, which were kept. The ratio over all pairs is that of
//! pairs of buckets in which values lie evenly; it is told as within [`ERROR_OF_RATIO`]. Where that could change the answer,
//! or values do not lie evenly, there is none, and the values are to be asked.

use serde::{Deserialize, Serialize};

use super::cells::{Bucket, Cells};
use super::equality::{EqualParts, Equality, PooledPart};
use super::{
    Arm, Comparison, ComparisonCode, EQUALITY_SHARE, Ends, Estimate, QuantileRatio, Robust, SCHEMA,
    against_order, is_change, is_coarse,
};
use crate::assess::Assessment;
use crate::independence::ranks_of_sorted;
use crate::special::normal_quantile;
use crate::verdict::VerdictCode;
use crate::{Error, Interval, Series};

/// Largest relative error of the ratio over all pairs; intervals are wider by it.
pub const ERROR_OF_RATIO: f64 = 0.0005;

/// Largest share of a bucket: values of wider distributions lie evenly in theirs.
const MOST_IN_BUCKET: f64 = 1.0 / 16.0;
/// Largest tick of the clock, as a share of the median.
const MOST_TICK: f64 = 0.001;
/// A probability so many times above or below its limit is not in doubt.
const NO_DOUBT: f64 = 10.0;

/// What is kept of one sample for comparisons, besides its histogram.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptArm {
    /// As in a comparison of values.
    pub arm: Arm,
    /// How many values tell as much of the spread as one independent value.
    pub inflation_of_spread: f64,
    /// The clock's tick, where ties show one.
    pub tick: Option<f64>,
}

impl KeptArm {
    /// Of a series that was assessed.
    pub fn of(series: &Series, found: &Assessment) -> KeptArm {
        let checked = &found.diagnostics.independence;
        let rejected = against_order(checked);
        let ranks = ranks_of_sorted(series.sorted(), series.places());
        let inflation = super::dependence::inflation(&ranks, series.takers());
        let spread = squared_scores(ranks);
        let verdict = if checked.passed { found.verdict.code } else { VerdictCode::NotIndependent };
        KeptArm {
            arm: Arm {
                n: series.len(),
                dropped: series.dropped(),
                median: series.measured(0.5),
                independent: rejected.is_empty(),
                level_moves: rejected.iter().any(|test| is_change(test)),
                against: rejected.into_iter().map(|test| test.finding.clone()).collect(),
                inflation,
                coarse: is_coarse(series),
                distribution: Some(found.distribution()),
                verdict: Some(verdict),
            },
            inflation_of_spread: super::dependence::inflation(&spread, series.takers()),
            tick: series.tick(),
        }
    }
}

/// The squared normal scores of ranks, by a table: what depends on each other shows all the same.
fn squared_scores(mut ranks: Vec<f64>) -> Vec<f64> {
    const STEPS: usize = 1 << 16;
    let table: Vec<f64> =
        (0..STEPS).map(|at| normal_quantile((at as f64 + 0.5) / STEPS as f64).powi(2)).collect();
    let scale = STEPS as f64 / (ranks.len() as f64 + 1.0);
    ranks.iter_mut().for_each(|rank| *rank = table[((*rank * scale) as usize).min(STEPS - 1)]);
    ranks
}

/// One sample: what is kept of it, its histogram by ascending bucket, and its quantiles with their 95% intervals.
#[derive(Debug, Clone, Copy)]
pub struct Summed<'a> {
    /// What is kept.
    pub kept: &'a KeptArm,
    /// Its positive values.
    pub buckets: &'a [Bucket],
    /// Median.
    pub p50: Ends,
    /// 99% quantile.
    pub p99: Option<Ends>,
}

impl Summed<'_> {
    /// Whether its values lie evenly in buckets.
    fn is_smooth(&self) -> bool {
        let all = self.buckets.iter().map(|bucket| bucket.count).sum::<u64>();
        let most = self.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
        let is_fine = self.kept.tick.is_none_or(|tick| tick <= MOST_TICK * self.kept.arm.median);
        let is_sound = self.buckets.iter().all(|bucket| bucket.low > 0.0 && bucket.high >= bucket.low);
        is_sound && is_fine && !self.kept.arm.coarse && most as f64 <= MOST_IN_BUCKET * all as f64
    }
}

/// The coverage of the intervals that are kept.
pub const SUMMED_LEVEL: f64 = 0.95;

/// Compares two samples by what is kept of them; `None` where only their values tell the answer.
///
/// # Errors
/// [`Error::TooFew`] below 10 values.
pub fn compare_summed(samples: [&Summed; 2], identical: bool) -> Result<Option<Comparison>, Error> {
    if let Some(few) = samples.iter().find(|sample| sample.kept.arm.n < 10) {
        return Err(Error::TooFew { found: few.kept.arm.n, needed: 10 });
    }
    if !samples.iter().all(|sample| sample.is_smooth()) {
        return Ok(None);
    }
    let arms = samples.map(|sample| sample.kept.arm.clone());
    let effective = arms.clone().map(|arm| arm.n as f64 / arm.inflation);
    let cells = samples.map(|sample| Cells::of(sample.buckets));
    let pairs = cells[0].ratio_of_pairs(&cells[1], effective, SUMMED_LEVEL);
    let [mean_ln_k, variance_ln_k] = cells[0].moments_beside(&cells[1], effective, SUMMED_LEVEL);
    let equality = equality(samples);
    let Some(median) = QuantileRatio::of(&samples[0].p50, &samples[1].p50) else { return Ok(None) };
    let p99 = samples[0].p99.zip(samples[1].p99).and_then(|(old, new)| QuantileRatio::of(&old, &new));
    let [baseline, new] = arms;
    let mut found = Comparison {
        schema: SCHEMA.to_string(),
        p_equal: if identical { 1.0 } else { equality.p },
        p_level: if identical { 1.0 } else { equality.level },
        p_spread: if identical { 1.0 } else { equality.spread },
        identical,
        error: 1.0 - SUMMED_LEVEL,
        distribution: None,
        robust: Robust {
            median_ratio: Estimate::of_ratio(&median, SUMMED_LEVEL),
            hodges_lehmann: pairs,
            mean_ln_k,
            variance_ln_k,
            blocks: [&baseline, &new].map(|arm| arm.inflation.round() as usize),
            bootstrap: false,
        },
        p99_ratio: p99,
        code: ComparisonCode::NoDifference,
        advice: Vec::new(),
        baseline,
        new,
    };
    let sure = found.judge();
    found.robust.hodges_lehmann.interval = widened(&pairs.interval);
    found.code = found.judge();
    let limit = EQUALITY_SHARE * found.error;
    let in_doubt = |p: f64| p > limit / NO_DOUBT && p < (NO_DOUBT * limit).min(1.0);
    // The likelihood of a distribution is one of values.
    if found.code != sure || found.uses_distribution() || (!identical && in_doubt(found.p_equal)) {
        return Ok(None);
    }
    found.advice = found.advise();
    Ok(Some(found))
}

fn widened(interval: &Interval) -> Interval {
    let (lower, upper) = (interval.lower * (1.0 - ERROR_OF_RATIO), interval.upper * (1.0 + ERROR_OF_RATIO));
    Interval { lower, upper, ..*interval }
}

/// As of values ([`super::equality`]): all values of a bucket have the mean of their scores.
fn equality(samples: [&Summed; 2]) -> Equality {
    let mut parts: Vec<PooledPart> = Vec::new();
    for (arm, sample) in samples.into_iter().enumerate() {
        parts.extend(sample.buckets.iter().map(|bucket| PooledPart {
            value: bucket.low,
            arm,
            count: bucket.count as f64,
        }));
    }
    let found = EqualParts::of(parts);
    let level = samples.map(|sample| sample.kept.arm.inflation);
    let spread = samples.map(|sample| sample.kept.inflation_of_spread);
    Equality::of(found.p_value(0, level), found.p_value(1, spread))
}
