//! Compares a new sample with a baseline one: the factor between them, and whether it is a factor at all.
//!
//! x ~ GEV(location, scale, shape) and y ~ GEV(k location, k scale, shape): one likelihood, k profiled. The
//! model is tested against separate fits and compared with a shift (y = x + D) and with model-free ratios.
//! Whether the samples differ at all is tested by ranks, for any distribution and for values that depend on each other. Of pairs
//! of samples of one distribution, the complete answer finds a difference in a share of 1 - level. Schema `lastrank.compare/2`.
//! Interleave baseline and new runs (ABAB): otherwise a drift counts as congestion.

mod answer;
mod cells;
mod dependence;
mod distribution;
mod equality;
mod large;
mod likelihood;
mod quantile_ratio;
mod robust;
mod several;
mod sorted;
mod summed;

pub use answer::{Basis, Headline, Slowdown};
pub use cells::Bucket;
pub use distribution::{ByDistribution, LinkFit};
pub use quantile_ratio::{Ends, QuantileRatio};
pub use robust::{Estimate, Robust, robust};
pub use several::{SeveralRuns, several};
pub use sorted::hodges_lehmann;
pub(crate) use sorted::hodges_lehmann_at;
pub use summed::{ERROR_OF_RATIO, KeptArm, SUMMED_LEVEL, Summed, compare_summed};

use serde::{Deserialize, Serialize};

use crate::assess::{AssessOptions, judge_distribution};
use crate::independence::{self, Independence, Question, Test, TestFinding};
use crate::verdict::{Levels, VerdictCode};
use crate::{Dropped, Error, Gev, Interval, Series, argument, special};
use likelihood::TwoSamples;

/// The schema of [`Comparison`] as JSON.
pub const SCHEMA: &str = "lastrank.compare/2";

/// Options of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareOptions {
    /// Coverage of all intervals.
    pub level: f64,
    /// Replicates of the block bootstrap behind the model-free intervals.
    pub bootstrap: usize,
    /// Its seed.
    pub seed: u64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        CompareOptions { level: 0.95, bootstrap: 999, seed: 1 }
    }
}

fn one() -> f64 {
    1.0
}

/// One sample of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Finite values used.
    pub n: usize,
    /// Values left out.
    pub dropped: Dropped,
    /// Median.
    pub median: f64,
    /// Whether they pass as independent draws of one distribution, at half of the error that `fit` spends on it.
    pub independent: bool,
    /// What speaks against it.
    pub against: Vec<TestFinding>,
    /// Whether its level drifts or jumps.
    #[serde(default)]
    pub level_moves: bool,
    /// How many values tell as much of its level as one independent value; 1 unless something hints at dependence.
    #[serde(default = "one")]
    pub inflation: f64,
    /// Whether the values are so few different ones that the rounding is told from the distribution.
    #[serde(default)]
    pub coarse: bool,
    /// The GEV that is fitted to this sample alone; `None` of fewer than four different values.
    #[serde(rename = "law")]
    pub distribution: Option<Gev>,
    /// What that distribution is worth, by the tests of `fit`; `None` without one.
    #[serde(default)]
    pub verdict: Option<VerdictCode>,
}

/// The answer of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonCode {
    /// Equality of the two distributions is not rejected, or the interval of the factor holds 1 where a factor explains all.
    NoDifference,
    /// Slower by a factor.
    Slower,
    /// Faster by a factor.
    Faster,
    /// The runs differ, but not by one factor: the factor is a rough average.
    OtherDifference,
    /// The runs differ, but the level of one of the samples moves, so that no factor holds.
    NotIndependent,
}

/// What to do after a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ComparisonAdvice {
    /// About so many runs of each sample would tell a factor from a constant amount.
    MeasureMore {
        /// Runs of each sample.
        runs: f64,
    },
    /// Interleave baseline and new runs.
    Interleave,
}

/// The answer: k and everything that speaks for or against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// `lastrank.compare/2`.
    pub schema: String,
    /// The baseline sample.
    #[serde(rename = "quiet")]
    pub baseline: Arm,
    /// The new sample.
    pub new: Arm,
    /// p-value of one distribution for both samples, whatever it is ([`EQUALITY_SHARE`] of the error is spent on it).
    pub p_equal: f64,
    /// Of [`Comparison::p_equal`], the p-value of the level alone.
    #[serde(default)]
    pub p_level: f64,
    /// And that of the spread alone.
    #[serde(default)]
    pub p_spread: f64,
    /// Whether both samples are the same values in the same order.
    #[serde(default)]
    pub identical: bool,
    /// Share of pairs of equal samples for which the whole answer is anything but [`ComparisonCode::NoDifference`].
    pub error: f64,
    /// By the distribution of maxima; `None` where one of the samples has too few different values for a distribution.
    #[serde(flatten)]
    #[serde(rename = "law")]
    pub distribution: Option<ByDistribution>,
    /// Model-free companions.
    pub robust: Robust,
    /// Ratio of the 99% quantiles; `None` where one of the samples has too few values.
    #[serde(default)]
    pub p99_ratio: Option<QuantileRatio>,
    /// Stable code.
    pub code: ComparisonCode,
    /// What to do next.
    pub advice: Vec<ComparisonAdvice>,
}

/// How much of the error of the whole answer the test of equality has; the rest is what estimated dependence costs.
pub const EQUALITY_SHARE: f64 = 0.8;

/// Compare positive durations of a baseline and a new system, each in time order. Values that are not finite
/// are left out and counted.
///
/// # Errors
/// [`Error::TooFew`] below 10 values of either sample, [`Error::Support`] where a duration is not positive,
/// [`Error::Parameter`].
pub fn compare(baseline: &[f64], new: &[f64], options: &CompareOptions) -> Result<Comparison, Error> {
    compare_series([&Series::clean(baseline), &Series::clean(new)], options)
}

/// [`compare`] of a baseline and a new series: of values that several ranks took in turns, dependence is looked for in the
/// order of each rank, too.
///
/// # Errors
/// As [`compare`].
pub fn compare_series([baseline, new]: [&Series; 2], options: &CompareOptions) -> Result<Comparison, Error> {
    argument::confidence_level(options.level)?;
    for series in [baseline, new] {
        if series.len() < 10 {
            return Err(Error::TooFew { found: series.len(), needed: 10 });
        }
        if series.sorted()[0] <= 0.0 {
            return Err(Error::Support { model: "a ratio", needs: "positive durations" });
        }
    }
    // What is joined does not depend on each other, so the results do not depend on the number of threads.
    let (((robust, p99_ratio), equality), arms) = rayon::join(
        || {
            let mut robust = robust(baseline, new, options.level, options.bootstrap, options.seed);
            let [median, p99] = quantile_ratio::ratios([baseline, new], [0.5, 0.99], options.level);
            if let Some(median) = median {
                robust.median_ratio = Estimate::of_ratio(&median, options.level);
            }
            ((robust, p99), equality::equality(baseline, new))
        },
        || rayon::join(|| arm(baseline, options.seed), || arm(new, options.seed)),
    );
    let ((baseline_arm, baseline_height), (new_arm, new_height)) = (arms.0?, arms.1?);
    let distribution = baseline_height
        .zip(new_height)
        .map(|(one, other)| by_distribution([baseline, new], &robust, one + other, options.level));
    let mut comparison = Comparison {
        schema: SCHEMA.to_string(),
        baseline: baseline_arm,
        new: new_arm,
        p_equal: equality.p,
        p_level: equality.level,
        p_spread: equality.spread,
        identical: baseline.values() == new.values(),
        error: 1.0 - options.level,
        distribution,
        robust,
        p99_ratio,
        code: ComparisonCode::NoDifference,
        advice: Vec::new(),
    };
    comparison.code = comparison.judge();
    comparison.advice = comparison.advise();
    Ok(comparison)
}

fn by_distribution(
    [baseline, new]: [&Series; 2],
    robust: &Robust,
    separate: f64,
    level: f64,
) -> ByDistribution {
    let start = TwoSamples::new(baseline, new);
    let ratio = robust.hodges_lehmann.value.ln();
    let (profiled, shift) =
        rayon::join(|| start.clone().factor(ratio, level), || start.clone().shift(baseline, new, level));
    ByDistribution::of(&start, profiled, &shift, separate, &robust.hodges_lehmann.interval)
}

/// The part of the error of stage one that either sample of a comparison has: one answer judges two of them.
const EITHER: f64 = 0.5;

/// Whether a test is about a change of the level.
fn is_change(test: &Test) -> bool {
    matches!(test.question, Question::Trend | Question::Jump)
}

/// What is said against the order of a sample, at its part of the error, what tells most first.
fn against_order(checked: &Independence) -> Vec<&Test> {
    let is_shown = |test: &Test| test.p_adjusted < EITHER * checked.significance;
    // A jump and a trend are told as one of them, shown by either.
    let changes = checked.rejected().any(|test| is_change(test) && is_shown(test));
    let told = |test: &&Test| if is_change(test) { changes } else { is_shown(test) };
    checked.reasons().into_iter().filter(|test| test.question.is_about_order()).filter(told).collect()
}

/// A sample by itself, and the negative log-likelihood of its own distribution if it has one. Its distribution is judged as `fit` does.
fn arm(series: &Series, seed: u64) -> Result<(Arm, Option<f64>), Error> {
    let options = AssessOptions { seed, ..AssessOptions::default() };
    let check = || independence::check_share(series, options.significance, Levels::INDEPENDENCE);
    let (checked, fit) = rayon::join(
        || (series.distinct() > 1).then(check).transpose(),
        || match series.distinct() {
            0..=3 => Ok(None),
            _ => crate::Likelihood::new(series).map(|likelihood| {
                let fit = likelihood.fit();
                Some((likelihood, fit))
            }),
        },
    );
    let (checked, fit) = (checked?, fit?);
    let verdict =
        fit.as_ref().zip(checked.as_ref()).map(|((likelihood, fit), checked)| match checked.passed {
            false => VerdictCode::NotIndependent,
            true => judge_distribution(series, (likelihood, fit), checked.clone(), &options).code,
        });
    let fit = fit.map(|(_, fit)| fit);
    // The equality is tested by ranks, which a distribution of several modes leaves valid.
    let rejected = checked.as_ref().map_or(Vec::new(), against_order);
    let arm = Arm {
        n: series.len(),
        dropped: series.dropped(),
        median: crate::series::measured_quantile(series.sorted(), 0.5),
        independent: rejected.is_empty(),
        level_moves: rejected.iter().any(|test| is_change(test)),
        against: rejected.into_iter().map(|test| test.finding.clone()).collect(),
        inflation: robust::inflation_of(series),
        coarse: is_coarse(series),
        distribution: fit.as_ref().map(crate::gev::GevFit::distribution),
        verdict,
    };
    Ok((arm, fit.map(|fit| fit.negative_log_likelihood)))
}

/// Whether values are rounded so coarsely, or are so few different ones, that neither a distribution nor ratios of pairs describe
/// them: fewer than eight different ones make up the middle half (a tick of a fifth of a distribution's scale).
fn is_coarse(series: &Series) -> bool {
    /// Fewest different values of the middle half.
    const FEWEST_IN_MIDDLE: f64 = 8.0;
    let (low, high) = (series.quantile(0.25), series.quantile(0.75));
    match series.tick() {
        Some(tick) => tick * FEWEST_IN_MIDDLE > high - low,
        None => {
            let middle = series.sorted().iter().filter(|value| (low..=high).contains(*value));
            let mut different = 0;
            let mut last = f64::NAN;
            for value in middle {
                different += usize::from(*value != last);
                last = *value;
            }
            series.distinct() < series.len() && (different as f64) < FEWEST_IN_MIDDLE || series.distinct() < 4
        }
    }
}

/// [`single_run`] against the baseline's own values, too: few of them know their own quantiles badly, and the interval holds both
/// ends of what a new value of the logarithms' normal distribution may be (Student; Geisser 1993, 2.2).
///
/// # Errors
/// [`Error::Parameter`] for a level out of range; as [`single_run`] where a value is not above 0.
pub fn single_run_of(
    (baseline, distribution): (&[f64], &Gev),
    duration: f64,
    level: f64,
) -> Result<Interval, Error> {
    argument::confidence_level(level)?;
    let fitted = single_run(distribution, duration, level);
    if baseline.len() < 3 || baseline.iter().any(|value| *value <= 0.0) {
        return fitted;
    }
    let n = baseline.len() as f64;
    let logs: Vec<f64> = baseline.iter().map(|value| value.ln()).collect();
    let mean = logs.iter().sum::<f64>() / n;
    let spread = (logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let reach = special::student_quantile(level, n - 1.0) * spread * (1.0 + 1.0 / n).sqrt();
    let [low, high] = [mean - reach, mean + reach].map(f64::exp);
    let own = Interval::new(duration / high, duration / low, level);
    // A fit to few values may reach below 0, where no factor is.
    Ok(match fitted {
        Ok(fitted) => Interval::new(fitted.lower.min(own.lower), fitted.upper.max(own.upper), level),
        Err(_) => own,
    })
}

/// The factors that a single run's duration is compatible with, given the baseline distribution: T over its upper and
/// lower quantile. Wide by nature: one run says little.
pub fn single_run(baseline: &Gev, duration: f64, level: f64) -> Result<Interval, Error> {
    argument::confidence_level(level)?;
    let tail = 0.5 * (1.0 - level);
    let (low, high) = (baseline.quantile(tail), baseline.upper_quantile(tail));
    if low <= 0.0 {
        return Err(Error::Support {
            model: "a ratio",
            needs: "a baseline distribution of positive durations",
        });
    }
    Ok(Interval::new(duration / high, duration / low, level))
}
