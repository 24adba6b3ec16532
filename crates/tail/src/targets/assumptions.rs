//! Tests what the distribution of a step assumes: T = k · max S of independent, equal targets, with k constant over the run.
//!
//! StepDependence is tested by shifting the targets against each other in time, each in a circle: that keeps what a target remembers of
//! its own earlier steps, and breaks what targets have in common in a step. Two statistics share the level: the mean correlation of
//! ranks (Spearman) over all pairs, which is Kendall's W but for a constant, and the extremal coefficient.

use serde::{Deserialize, Serialize};

use super::Targets;
use crate::Xoshiro;
use crate::groups::GroupFinding;
use crate::independence::{Independence, Question, ranks};

/// Draws of shifts.
const MOST_DRAWS: usize = 999;
const FEWEST_DRAWS: usize = 199;
/// Values moved in all draws together.
const WORK: usize = 1 << 25;
/// Values that are looked at, at most; of more, every k-th step.
const MOST_VALUES: usize = 1 << 18;
/// Draws end when so many are as far out in both statistics.
const ENOUGH: usize = 40;
const SEED: u64 = 0x7368_6966_745f_696e;
/// Fewest steps that are shifted.
const FEWEST: usize = 20;
/// Targets whose mean correlation is surely below this count as independent.
const SMALL_CORRELATION: f64 = 0.1;
/// Targets whose difference is surely below this, or below so much of the spread between steps, count as alike.
const SMALL_DIFFERENCE: f64 = 0.05;
const SMALL_IN_SPREADS: f64 = 0.5;
/// Parts of 1 - level: the three questions together take all of it. Of targets three statements are made, each with a tenth.
const SHARE_OF_DEPENDENCE: f64 = 0.3;
const SHARE_OF_CHANGE: f64 = 0.4;

/// What is known of an assumption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nothing speaks against it, and a difference that matters would have been seen.
    Met,
    /// The data speak against it.
    NotMet,
    /// Nothing speaks against it, but much could be hidden; or it cannot be seen.
    NotKnown,
}

/// How much targets are slow in the same steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepDependence {
    /// Mean correlation of ranks over all pairs of targets in the same step.
    pub correlation: f64,
    /// Its standard deviation if targets were independent.
    pub standard_error: f64,
    /// p-value of both statistics together, by shifts of the targets against each other.
    pub p: f64,
}

/// What the data say of the assumptions that they can test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Assumptions {
    /// Targets are slow independently of each other.
    pub independent: Standing,
    /// Targets have one distribution.
    pub alike: Standing,
    /// The largest difference between a target and the others that its interval, joint over all, leaves possible: 0.1 is 10%.
    pub difference: f64,
    /// The level does not change over the run.
    pub constant: Standing,
    /// The smallest p-value against that, of a trend and a jump; none where there are too few steps to test.
    pub constant_p: Option<f64>,
}

/// Judges the assumptions by what was found of the targets and by the tests of the steps' maxima; the chance that any of three true
/// ones is called not met is at most 1 - `level`.
pub fn judge(found: &Targets, steps: Option<&Independence>, level: f64) -> Assumptions {
    let error = 1.0 - level;
    let independent = match found.dependence {
        Some(one) if one.p < SHARE_OF_DEPENDENCE * error => Standing::NotMet,
        Some(one) if one.correlation + 1.96 * one.standard_error < SMALL_CORRELATION => Standing::Met,
        Some(_) | None => Standing::NotKnown,
    };
    let differs = |one: &super::Target| matches!(one.finding, GroupFinding::Slow | GroupFinding::Fast);
    let unequal = found.findings.iter().any(|one| {
        matches!(one, super::TargetFinding::LastWhenSlow | super::TargetFinding::LastUnequally { .. })
    });
    let largest = found
        .targets
        .iter()
        .flat_map(|one| [one.interval.lower.ln().abs(), one.interval.upper.ln().abs()])
        .fold(0.0, f64::max);
    let spread = found.ln_k_sd.hypot(found.residual_sd);
    let tested = found.targets.iter().all(|one| one.finding != GroupFinding::TooFew);
    let alike = if found.targets.iter().any(differs) || unequal {
        Standing::NotMet
    } else if tested && largest < SMALL_DIFFERENCE.max(SMALL_IN_SPREADS * spread) {
        Standing::Met
    } else {
        Standing::NotKnown
    };
    let (mut constant, constant_p) = constancy(steps, error);
    // What ranks share in a step may be k, or dependence: data of one load do not tell them apart.
    if constant == Standing::Met && independent == Standing::NotMet {
        constant = Standing::NotKnown;
    }
    Assumptions { independent, alike, difference: largest.exp_m1(), constant, constant_p }
}

/// Whether the level of the steps is one, by the tests that the verdict is made of.
fn constancy(steps: Option<&Independence>, error: f64) -> (Standing, Option<f64>) {
    let Some(steps) = steps else { return (Standing::NotKnown, None) };
    let of = |question| steps.test(question).filter(|_| !steps.sorted);
    let (Some(trend), Some(jump)) = (of(Question::Trend), of(Question::Jump)) else {
        return (Standing::NotKnown, None);
    };
    let p = trend.p_adjusted.min(jump.p_adjusted);
    // A change that is told elsewhere is not called constant here.
    let standing = match (p < SHARE_OF_CHANGE * error, trend.rejected || jump.rejected) {
        (true, true) => Standing::NotMet,
        (_, false) => Standing::Met,
        (false, true) => Standing::NotKnown,
    };
    (standing, Some(p))
}

/// Whether targets are slow in the same steps: `logs[i][t]` is of target i in step t. None of too few steps or of constant targets.
pub(super) fn dependence(logs: &[Vec<f64>]) -> Option<StepDependence> {
    let (m, all) = (logs.len(), logs.first()?.len());
    if m < 2 || all < FEWEST {
        return None;
    }
    let every = (m * all).div_ceil(MOST_VALUES).min(all / FEWEST).max(1);
    let thin: Vec<Vec<f64>> = logs.iter().map(|of| of.iter().step_by(every).copied().collect()).collect();
    let scores = ShiftedScores::of(&thin)?;
    let none = vec![0; m];
    let (observed, extremes) = (scores.correlation(&none), scores.extremes(&none));
    let draws = (WORK / (2 * m * scores.steps)).clamp(FEWEST_DRAWS, MOST_DRAWS);
    let mut random = Xoshiro::new(SEED);
    let (mut drawn, mut above, mut rarer) = (Vec::with_capacity(draws), 0, 0);
    while drawn.len() < draws && (above < ENOUGH || rarer < ENOUGH) {
        let shifts: Vec<usize> = (0..m).map(|_| random.below(scores.steps)).collect();
        let correlation = scores.correlation(&shifts);
        above += usize::from(correlation >= observed - 1e-12);
        rarer += usize::from(scores.extremes(&shifts) <= extremes + 1e-12);
        drawn.push(correlation);
    }
    let count = drawn.len() as f64;
    let mean = drawn.iter().sum::<f64>() / count;
    let square = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let p = |as_far: usize| (as_far + 1) as f64 / (count + 1.0);
    Some(StepDependence {
        correlation: observed,
        standard_error: square.sqrt(),
        p: (2.0 * p(above).min(p(rarer))).min(1.0),
    })
}

/// What is shifted: of each target its ranks with mean 0 and variance 1, and -ln F of each value by its rank.
struct ShiftedScores {
    steps: usize,
    ranks: Vec<Vec<f64>>,
    exponential: Vec<Vec<f64>>,
}

impl ShiftedScores {
    fn of(logs: &[Vec<f64>]) -> Option<ShiftedScores> {
        let steps = logs.first()?.len();
        let size = steps as f64;
        let (mut scores, mut exponential) = (Vec::new(), Vec::new());
        for of in logs {
            let ranked = ranks(of);
            let centre = 0.5 * (size + 1.0);
            let square = ranked.iter().map(|rank| (rank - centre).powi(2)).sum::<f64>() / size;
            if square <= 0.0 {
                return None;
            }
            let scale = square.sqrt().recip();
            scores.push(ranked.iter().map(|rank| (rank - centre) * scale).collect());
            exponential.push(ranked.iter().map(|rank| -(rank / (size + 1.0)).ln()).collect());
        }
        Some(ShiftedScores { steps, ranks: scores, exponential })
    }

    /// Mean correlation over all pairs when each target is shifted in a circle.
    fn correlation(&self, shifts: &[usize]) -> f64 {
        let m = shifts.len() as f64;
        let mut sums = vec![0.0; self.steps];
        self.each(&self.ranks, shifts, |sum: &mut f64, score| *sum += score, &mut sums);
        let square = sums.iter().map(|sum| sum * sum).sum::<f64>() / self.steps as f64;
        (square - m) / (m * (m - 1.0))
    }

    /// The extremal coefficient beyond the threshold, as [`super::extremal`] has it; infinite without enough slow steps.
    fn extremes(&self, shifts: &[usize]) -> f64 {
        let mut smallest = vec![f64::INFINITY; self.steps];
        self.each(&self.exponential, shifts, |least: &mut f64, one| *least = least.min(one), &mut smallest);
        super::coefficient(&smallest, super::THRESHOLD).map_or(f64::INFINITY, |(effective, _)| effective)
    }

    fn each(&self, of: &[Vec<f64>], shifts: &[usize], take: impl Fn(&mut f64, f64), into: &mut [f64]) {
        for (scores, shift) in of.iter().zip(shifts) {
            let (front, back) = into.split_at_mut(self.steps - shift);
            front.iter_mut().zip(&scores[*shift..]).for_each(|(into, one)| take(into, *one));
            back.iter_mut().zip(&scores[..*shift]).for_each(|(into, one)| take(into, *one));
        }
    }
}
