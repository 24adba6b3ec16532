//! Compares a new sample with a quiet one: the factor between them, and whether it is a factor at all.
//!
//! x ~ GEV(location, scale, shape) and y ~ GEV(k location, k scale, shape): one likelihood, k profiled. The
//! model is tested against separate fits and compared with a shift (y = x + D) and with model-free ratios.
//! Whether the samples differ at all is tested by ranks, for any law. Of pairs of samples of one law, the complete
//! answer, with its tests of independence, finds a difference in a share of 1 - level. Schema `lastrank.compare/1`.
//! Interleave quiet and new runs (ABAB): otherwise a drift counts as congestion.

mod equality;
mod large;
mod likelihood;
mod robust;
mod sorted;

pub use robust::{Estimate, Robust, resample, robust};
pub use sorted::hodges_lehmann;

use serde::{Deserialize, Serialize};

use crate::independence::{self, TestFinding};
use crate::special::chi_square_survival;
use crate::{Dropped, Error, Gev, Interval, Series, argument};
use likelihood::{Link, ProfiledFactor, TwoSamples};

/// The schema of [`Comparison`] as JSON.
pub const SCHEMA: &str = "lastrank.compare/1";

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

/// One sample of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Finite values used.
    pub n: usize,
    /// Values left out.
    pub dropped: Dropped,
    /// Median.
    pub median: f64,
    /// Whether they pass as independent draws of one law.
    pub independent: bool,
    /// What speaks against it.
    pub against: Vec<TestFinding>,
    /// The GEV that is fitted to this sample alone.
    pub law: Gev,
}

/// A model with one number between the samples, tested against separate fits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkFit {
    /// The factor k, or the shift D in the unit of the data.
    pub value: f64,
    /// Its profile-likelihood interval.
    pub interval: Interval,
    /// The common law, of the quiet sample.
    pub law: Gev,
    /// Negative log-likelihood.
    pub negative_log_likelihood: f64,
    /// Likelihood ratio against separate fits, chi-square with two degrees of freedom.
    pub statistic: f64,
    /// Its p-value: small speaks against the model.
    pub p: f64,
    /// Akaike's criterion (four parameters).
    pub aic: f64,
}

/// The answer of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonCode {
    /// Equality of the two laws is not rejected, or the interval of k holds 1 where k explains all.
    NoDifference,
    /// Slower by a factor, and the factor explains it.
    Slower,
    /// Faster by a factor, and the factor explains it.
    Faster,
    /// The runs differ, but not by one factor: k is a rough average.
    OtherDifference,
    /// One of the samples is not independent draws of one law.
    NotIndependent,
}

/// Whether runs take k times as long, or the same amount longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slowdown {
    /// Every run takes k times as long.
    Factor,
    /// Every run takes the same amount longer.
    Shift,
    /// Undecided with these values.
    Undecided,
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
    /// Interleave quiet and new runs.
    Interleave,
}

/// The number that a comparison is quoted with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// How many times as long the new runs take.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Whether it is the factor of the common law ([`Comparison::factor`]); else it is the ratio over all pairs
    /// ([`Robust::hodges_lehmann`]), which needs no law and allows for dependence.
    pub by_law: bool,
}

/// The answer: k and everything that speaks for or against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// `lastrank.compare/1`.
    pub schema: String,
    /// The quiet sample.
    pub quiet: Arm,
    /// The new sample.
    pub new: Arm,
    /// Congestion factor: y = k x in law.
    pub factor: LinkFit,
    /// p-value of one law for both samples, whatever it is ([`ERROR_SHARES`] of the error are spent on it).
    pub p_equal: f64,
    /// Share of pairs of equal samples for which the whole answer is anything but [`ComparisonCode::NoDifference`].
    pub error: f64,
    /// p-value of k = 1 (likelihood ratio, one degree of freedom).
    pub p_no_difference: f64,
    /// Shift: y = x + D in law.
    pub shift: LinkFit,
    /// Negative log-likelihood of separate fits.
    pub negative_log_likelihood_separate: f64,
    /// Weight of the factor against the shift by AIC, 0 to 1: near one half, these values do not tell.
    pub factor_weight: f64,
    /// Model-free companions.
    pub robust: Robust,
    /// Whether the model's interval and the model-free one (Hodges-Lehmann) overlap.
    pub agrees: bool,
    /// Points (k, deviance over the best k) for the likelihood curve, dense around the maximum.
    pub curve: Vec<[f64; 2]>,
    /// Stable code.
    pub code: ComparisonCode,
    /// What to do next.
    pub advice: Vec<ComparisonAdvice>,
}

/// How the error of the whole answer is spent: on the independence of each sample, and on their equality.
pub const ERROR_SHARES: [f64; 2] = [0.2, 0.6];

/// Compare positive durations of a quiet and a new system, each in time order. Values that are not finite
/// are left out and counted.
///
/// # Errors
/// As [`crate::gev::fit`] for either sample (at least 10 values each), [`Error::Support`] where a duration
/// is not positive, [`Error::Parameter`].
pub fn compare(quiet: &[f64], new: &[f64], options: &CompareOptions) -> Result<Comparison, Error> {
    argument::confidence_level(options.level)?;
    let (quiet, new) = (Series::clean(quiet), Series::clean(new));
    for series in [&quiet, &new] {
        series.require(10, 4)?;
        if series.sorted()[0] <= 0.0 {
            return Err(Error::Support { model: "a congestion factor", needs: "positive durations" });
        }
    }
    let start = TwoSamples::new(&quiet, &new);
    let independence = ERROR_SHARES[0] * (1.0 - options.level);
    // What is joined does not depend on each other, so the results do not depend on the number of threads.
    let ((robust, profiled), (shift, arms)) = rayon::join(
        || {
            let robust = robust(&quiet, &new, options.level, options.bootstrap, options.seed);
            let ratio = robust.hodges_lehmann.value.ln();
            (robust, start.clone().factor(ratio, options.level))
        },
        || {
            rayon::join(
                || start.clone().shift(&quiet, &new, options.level),
                || rayon::join(|| arm(&quiet, independence), || arm(&new, independence)),
            )
        },
    );
    let ((quiet_arm, quiet_height), (new_arm, new_height)) = (arms.0?, arms.1?);
    let separate = quiet_height + new_height;
    let ProfiledFactor { best, interval, without, curve } = profiled;
    let factor = link(&start, Link::Factor, &best, interval, separate);
    let shift = link(&start, Link::Shift, &shift.0, shift.1, separate);

    let hl = robust.hodges_lehmann.interval;
    let agrees = factor.interval.lower <= hl.upper && hl.lower <= factor.interval.upper;
    let weight = 1.0 / (1.0 + (0.5 * (factor.aic - shift.aic)).exp());
    let mut comparison = Comparison {
        schema: SCHEMA.to_string(),
        quiet: quiet_arm,
        new: new_arm,
        factor,
        p_equal: equality::p_equal(&quiet, &new),
        error: 1.0 - options.level,
        p_no_difference: chi_square_survival((2.0 * (without - best.value)).max(0.0), 1.0),
        shift,
        negative_log_likelihood_separate: separate,
        factor_weight: weight,
        robust,
        agrees,
        curve,
        code: ComparisonCode::NoDifference,
        advice: Vec::new(),
    };
    comparison.code = comparison.judge();
    comparison.advice = comparison.advise();
    Ok(comparison)
}

impl Comparison {
    fn judge(&self) -> ComparisonCode {
        let k = &self.factor;
        let one_factor = k.p >= 0.05;
        if !(self.quiet.independent && self.new.independent) {
            ComparisonCode::NotIndependent
        } else if !self.is_unequal() || (one_factor && k.interval.contains(1.0)) {
            ComparisonCode::NoDifference
        } else if !one_factor || !self.agrees {
            ComparisonCode::OtherDifference
        } else if k.value > 1.0 {
            ComparisonCode::Slower
        } else {
            ComparisonCode::Faster
        }
    }

    /// Whether the test of equality alone tells the samples apart, at its share of the error.
    pub fn is_unequal(&self) -> bool {
        self.p_equal < ERROR_SHARES[1] * self.error
    }

    /// The number to quote: the factor where one factor describes the samples, else the ratio over all pairs.
    pub fn headline(&self) -> Headline {
        match self.code {
            ComparisonCode::NoDifference | ComparisonCode::Slower | ComparisonCode::Faster => {
                Headline { value: self.factor.value, interval: self.factor.interval, by_law: true }
            }
            ComparisonCode::OtherDifference | ComparisonCode::NotIndependent => {
                let ratio = &self.robust.hodges_lehmann;
                Headline { value: ratio.value, interval: ratio.interval, by_law: false }
            }
        }
    }

    /// Whether the difference is a factor or a shift, by the weight of the factor.
    pub fn slowdown(&self) -> Slowdown {
        if self.factor_weight > 0.9 {
            Slowdown::Factor
        } else if self.factor_weight < 0.1 {
            Slowdown::Shift
        } else {
            Slowdown::Undecided
        }
    }

    fn advise(&self) -> Vec<ComparisonAdvice> {
        let mut advice = Vec::new();
        let one_factor = matches!(self.code, ComparisonCode::Slower | ComparisonCode::Faster);
        if one_factor && self.slowdown() == Slowdown::Undecided {
            let runs = (3.20 / self.factor.value.ln()).powi(2);
            if runs.is_finite() && runs > self.quiet.n.min(self.new.n) as f64 {
                advice.push(ComparisonAdvice::MeasureMore { runs });
            }
        }
        advice.push(ComparisonAdvice::Interleave);
        advice
    }
}

fn link(joint: &TwoSamples, link: Link, best: &likelihood::Maximum, at: Interval, separate: f64) -> LinkFit {
    let value = joint.of_all_values(link, best);
    let statistic = (2.0 * (value - separate)).max(0.0);
    LinkFit {
        value: joint.natural(link, best.argument),
        interval: Interval {
            lower: joint.natural(link, at.lower),
            upper: joint.natural(link, at.upper),
            ..at
        },
        law: best.law,
        negative_log_likelihood: value,
        statistic,
        p: chi_square_survival(statistic, 2.0),
        aic: 2.0 * value + 8.0,
    }
}

/// A sample by itself, and the negative log-likelihood of its own law.
fn arm(series: &Series, significance: f64) -> Result<(Arm, f64), Error> {
    let (checked, fit) = rayon::join(
        || independence::check_series(series, significance),
        || Ok::<_, Error>(crate::Likelihood::new(series)?.fit()),
    );
    let (checked, fit) = (checked?, fit?);
    // The equality is tested by ranks, which a distribution of several modes leaves valid.
    let against = checked.rejected().filter(|test| test.question.is_about_order());
    let against: Vec<TestFinding> = against.map(|test| test.finding.clone()).collect();
    let arm = Arm {
        n: series.len(),
        dropped: series.dropped(),
        median: crate::series::sorted_quantile(series.sorted(), 0.5),
        independent: against.is_empty(),
        against,
        law: fit.law(),
    };
    Ok((arm, fit.negative_log_likelihood))
}

/// The factors that a single run's duration is compatible with, given the quiet law: T over its upper and
/// lower quantile. Wide by nature: one run says little.
pub fn single_run(quiet: &Gev, duration: f64, level: f64) -> Result<Interval, Error> {
    argument::confidence_level(level)?;
    let tail = 0.5 * (1.0 - level);
    let (low, high) = (quiet.quantile(tail), quiet.upper_quantile(tail));
    if low <= 0.0 {
        return Err(Error::Support {
            model: "a congestion factor",
            needs: "a quiet law of positive durations",
        });
    }
    Ok(Interval::new(duration / high, duration / low, level))
}
