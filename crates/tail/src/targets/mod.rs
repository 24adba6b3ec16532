//! Separates slowness of single parallel targets from congestion common to all.
//!
//! With S_it the duration of target i in step t, ln S_it = a_i + b_t + e_it: a_i is the target's own speed,
//! b_t the congestion of the step, e_it the rest. This estimates the step's factor k_t = exp(b_t - mean b)
//! much more precisely than the maxima alone. Which target differs from the others, and which is last when steps are slow, is tested
//! as for any groups ([`crate::groups`]): blocks of neighbouring steps are exchanged between targets.

mod assumptions;

pub use assumptions::{Assumptions, Standing, StepDependence, judge};

use serde::{Deserialize, Serialize};

use crate::groups::GroupFinding;
use crate::groups::aligned::{self, Against};
use crate::groups::last::{LastWhenSlow, Steps};
use crate::special::clopper_pearson;
use crate::{Error, Interval, argument};

/// Probability level above which targets are extreme.
const THRESHOLD: f64 = 0.9;

/// One target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Index of the target (rank) in the input.
    pub target: usize,
    /// Its duration over the median of the others in the same step that are not found different: the median over steps.
    pub relative: f64,
    /// Interval of that, joint over all comparisons (Bonferroni).
    pub interval: Interval,
    /// p-value of being as fast as these others, adjusted for all targets; 1 where there are too few blocks of steps.
    pub p: f64,
    /// Whether it is slower, at a tenth of 1 - level over all targets, by 2% or more.
    pub slow: bool,
    /// What the same test says in full.
    #[serde(default = "GroupFinding::unknown")]
    pub finding: GroupFinding,
    /// Steps in which it was last.
    pub last: u64,
    /// Share of the steps in which it was last.
    pub last_share: f64,
    /// Exact interval of that share (Clopper, Pearson 1934).
    pub last_interval: Interval,
}

/// Test of whether all targets are the slowest of a step equally often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LastTest {
    /// Pearson's chi-square, for independent steps.
    pub statistic: f64,
    /// p-value of the largest count by exchange of blocks of steps; 1 where there are too few.
    pub p: f64,
    /// Target that was the slowest most often.
    pub top: usize,
    /// Whether the expected count is at least 5, as the test requires.
    pub valid: bool,
}

/// StepDependence between targets in the extremes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Extremal {
    /// Extremal coefficient θ, 1 (all slow together) to m (independent): the effective number of independent
    /// targets m_eff.
    pub effective: f64,
    /// Its standard error over steps.
    pub standard_error: f64,
    /// Probability level above which it was estimated.
    pub threshold: f64,
}

/// The analysis of all targets; schema `lastrank.targets/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Targets {
    /// `lastrank.targets/1`.
    pub schema: String,
    /// Number of targets.
    pub m: usize,
    /// The name of each target: its rank, or its index in the input.
    #[serde(default)]
    pub ranks: Vec<u32>,
    /// Number of steps.
    pub steps: usize,
    /// Each target, in input order.
    pub targets: Vec<Target>,
    /// Congestion of each step, ln k_t = b_t - mean b.
    pub ln_k: Vec<f64>,
    /// Standard error of each ln k_t: sd(e) / √m.
    pub ln_k_error: f64,
    /// Standard deviation of ln k_t over steps, without its estimation error.
    pub ln_k_sd: f64,
    /// Standard deviation of the rest e.
    pub residual_sd: f64,
    /// Shares of the variance of ln S: targets, steps, rest.
    pub variance_shares: [f64; 3],
    /// Test of whether all targets are the slowest equally often.
    pub last: LastTest,
    /// Which target was last most often in the slowest tenth of the steps.
    #[serde(default)]
    pub last_when_slow: Option<LastWhenSlow>,
    /// m_eff.
    pub extremal: Option<Extremal>,
    /// Whether targets are slow in the same steps; none of fewer than 20 steps.
    #[serde(default)]
    pub dependence: Option<StepDependence>,
    /// The findings, in the order of presentation.
    pub findings: Vec<TargetFinding>,
}

/// A finding about targets; the numbers are in [`Targets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TargetFinding {
    /// No target is slower than the others.
    NoneSlow,
    /// A target is slower than the others.
    Slow {
        /// Its index in [`Targets::targets`].
        target: usize,
    },
    /// One target is last in the slow steps far more often than the others ([`Targets::last_when_slow`]).
    LastWhenSlow,
    /// The steps show no difference in how often targets are last.
    LastEqually,
    /// The targets are not last equally often.
    LastUnequally {
        /// Index of the one that was last most often.
        top: usize,
    },
    /// Decomposition of the variance ([`Targets::variance_shares`]).
    Variation,
    /// The effective number of independent targets in slow steps ([`Targets::extremal`]).
    EffectiveTargets,
}

/// Analyse durations by target: `durations[i][t]` is that of target i in step t. Steps in which any duration
/// is missing (not finite) or not positive are left out for all.
///
/// # Errors
/// [`Error::TooFew`] below 2 targets or 10 complete steps, [`Error::Lengths`], [`Error::Parameter`].
pub fn analyse(durations: &[Vec<f64>], level: f64) -> Result<Targets, Error> {
    argument::confidence_level(level)?;
    let m = durations.len();
    if m < 2 {
        return Err(Error::TooFew { found: m, needed: 2 });
    }
    let length = durations[0].len();
    if let Some(other) = durations.iter().find(|d| d.len() != length) {
        return Err(Error::Lengths { what: "steps of two targets", left: length, right: other.len() });
    }
    let whole: Vec<usize> =
        (0..length).filter(|&t| durations.iter().all(|d| d[t].is_finite() && d[t] > 0.0)).collect();
    let steps = whole.len();
    if steps < 10 {
        return Err(Error::TooFew { found: steps, needed: 10 });
    }
    let (size, count) = (m as f64, steps as f64);
    let logs: Vec<Vec<f64>> = durations.iter().map(|d| whole.iter().map(|&t| d[t].ln()).collect()).collect();

    let effects: Vec<f64> = logs.iter().map(|l| l.iter().sum::<f64>() / count).collect();
    let grand = effects.iter().sum::<f64>() / size;
    let ln_k: Vec<f64> = (0..steps).map(|t| logs.iter().map(|l| l[t]).sum::<f64>() / size - grand).collect();
    let square = |sum: f64, freedom: f64| if freedom > 0.0 { sum / freedom } else { 0.0 };
    let residual = |i: usize, t: usize| logs[i][t] - effects[i] - ln_k[t];
    let freedom = (size - 1.0) * (count - 1.0);
    let rest: f64 = (0..m).map(|i| (0..steps).map(|t| residual(i, t).powi(2)).sum::<f64>()).sum();
    let residual_variance = square(rest, freedom);
    let step_variance =
        (square(ln_k.iter().map(|b| b * b).sum(), count - 1.0) - residual_variance / size).max(0.0);
    let target_variance = (square(effects.iter().map(|a| (a - grand).powi(2)).sum(), size - 1.0)
        - residual_variance / count)
        .max(0.0);
    let total = (residual_variance + step_variance + target_variance).max(f64::MIN_POSITIVE);

    let (against, inflation) = aligned::compare(&logs, level);
    let mut last = vec![0u64; m];
    (0..steps).for_each(|t| {
        // The first of equally late ones, as in the steps of a gate.
        let slowest = (1..m).fold(0, |last, i| if logs[i][t] > logs[last][t] { i } else { last });
        last[slowest] += 1;
    });
    let targets: Vec<Target> = (0..m)
        .map(|i| {
            let Against { effect, p, finding } = against[i];
            let (lower, upper) = clopper_pearson(last[i], steps as u64, level);
            Target {
                target: i,
                relative: effect.value.exp(),
                interval: Interval::new(effect.lower.exp(), effect.upper.exp(), level),
                p,
                slow: finding == GroupFinding::Slow,
                finding,
                last: last[i],
                last_share: last[i] as f64 / count,
                last_interval: Interval::new(lower, upper, level),
            }
        })
        .collect();
    let expected = count / size;
    let statistic = last.iter().map(|&k| (k as f64 - expected).powi(2) / expected).sum();
    let top = (0..m).max_by_key(|&i| last[i]).unwrap_or(0);
    let whole: Vec<Vec<f64>> = durations.iter().map(|d| whole.iter().map(|&t| d[t]).collect()).collect();
    let when = Steps::of(&whole, inflation);
    let most = when.most(level);
    let last = LastTest {
        statistic,
        p: most.as_ref().map_or(1.0, |most| most.p),
        top: most.as_ref().map_or(top, |most| most.target),
        valid: expected >= 5.0,
    };
    let unequally = most.is_some_and(|most| most.shown);
    let mut found = Targets {
        schema: "lastrank.targets/1".to_string(),
        m,
        ranks: (0..m as u32).collect(),
        steps,
        targets,
        ln_k,
        ln_k_error: (residual_variance / size).sqrt(),
        ln_k_sd: step_variance.sqrt(),
        residual_sd: residual_variance.sqrt(),
        variance_shares: [target_variance / total, step_variance / total, residual_variance / total],
        last,
        last_when_slow: when.most_when_slow(level),
        extremal: extremal(&logs, THRESHOLD),
        dependence: assumptions::dependence(&logs),
        findings: Vec::new(),
    };
    found.findings = found.find(unequally);
    Ok(found)
}

/// Extremal coefficient θ = ln F_T(x) / ln F_S(x) (Smith 1990; Schlather, Tawn 2003). Each target is
/// transformed to unit Fréchet by its ranks, so targets may differ; θ is n over the sum of the steps'
/// smallest exponential variates, those beyond the threshold censored.
pub fn extremal(logs: &[Vec<f64>], threshold: f64) -> Option<Extremal> {
    let m = logs.len();
    let n = logs.first()?.len();
    if m < 2 || n < 20 {
        return None;
    }
    let size = n as f64;
    // -ln F of each value by its rank: unit exponential; the step's maximum has the smallest.
    let mut smallest = vec![f64::INFINITY; n];
    for target in logs {
        for (t, rank) in crate::independence::ranks(target).into_iter().enumerate() {
            let e = -(rank / (size + 1.0)).ln();
            smallest[t] = smallest[t].min(e);
        }
    }
    let (effective, events) = coefficient(&smallest, threshold)?;
    let effective = effective.clamp(1.0, m as f64);
    Some(Extremal { effective, standard_error: effective / events.sqrt(), threshold })
}

/// θ of steps whose smallest exponential variate these are, and the number of steps beyond the threshold; none of few.
/// Steps whose maximum lies beyond the threshold of one target are exponential of rate θ, censored there.
fn coefficient(smallest: &[f64], threshold: f64) -> Option<(f64, f64)> {
    let limit = -threshold.ln();
    let events = smallest.iter().filter(|&&e| e < limit).count() as f64;
    let exposure: f64 = smallest.iter().map(|e| e.min(limit)).sum();
    (events >= 5.0).then(|| (events / exposure, events))
}

impl Targets {
    /// The same with targets named by these ranks, one for each.
    pub fn of_ranks(mut self, ranks: &[u32]) -> Self {
        if ranks.len() == self.m {
            self.ranks = ranks.to_vec();
        }
        self
    }

    /// The name of the target with this index.
    pub fn name(&self, target: usize) -> u32 {
        self.ranks.get(target).copied().unwrap_or(target as u32)
    }

    fn find(&self, unequally: bool) -> Vec<TargetFinding> {
        let slow = self.targets.iter().filter(|target| target.slow);
        let mut out: Vec<TargetFinding> =
            slow.map(|target| TargetFinding::Slow { target: target.target }).collect();
        if out.is_empty() {
            out.push(TargetFinding::NoneSlow);
        }
        if self.last_when_slow.is_some_and(|found| found.shown) {
            out.push(TargetFinding::LastWhenSlow);
        }
        out.push(if unequally {
            TargetFinding::LastUnequally { top: self.last.top }
        } else {
            TargetFinding::LastEqually
        });
        out.push(TargetFinding::Variation);
        out.extend(self.extremal.map(|_| TargetFinding::EffectiveTargets));
        out
    }
}
