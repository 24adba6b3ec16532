//! Decides the basis of a baseline's rates: the fitted distribution, counting, or none.

use super::refusal::{BaselineError, NoDistribution, Refusal};
use super::whitened;
use crate::assess::{AssessOptions, Judged, judge_distribution};
use crate::gev::GevFit;
use crate::independence::{self, Independence, Question};
use crate::verdict::VerdictCode;
use crate::{Gev, Likelihood, Series, Status, Xoshiro, gof};

/// The basis of thresholds.
pub(super) enum Grounds {
    /// The fitted distribution.
    Distribution {
        /// First-order autocorrelation of the normal scores that is removed.
        ar1: f64,
    },
    /// Counting.
    Counts {
        /// Reason why the distribution is not used.
        why: NoDistribution,
    },
}

/// The p-value below which the residuals of the autoregression are still dependent.
const LEFT: f64 = 0.01;

/// The basis of rates for these quiet runs.
///
/// # Errors
/// [`BaselineError::Refused`] if there is none.
pub(super) fn decide(
    series: &Series,
    (likelihood, fit): (&Likelihood, &GevFit),
    checked: &Independence,
    seed: u64,
) -> Result<Grounds, BaselineError> {
    let found = |question: Question| {
        checked.test(question).filter(|test| test.rejected).map(|test| test.finding.clone())
    };
    let refuse = |refusal: Refusal| Err(BaselineError::Refused(refusal));
    if checked.sorted {
        return refuse(Refusal::Sorted);
    }
    // The same reason as everywhere, where both a jump and a trend are found.
    let is_change = |question: Question| matches!(question, Question::Trend | Question::Jump);
    if let Some(test) = checked.reasons().into_iter().find(|test| is_change(test.question)) {
        return refuse(Refusal::LevelMoved { finding: test.finding.clone() });
    }
    let neighbours = found(Question::Autocorrelation);
    // Values that resemble their neighbours come in bursts by that alone: what is left without that is tested below.
    if let Some(finding) = found(Question::SlowValues).filter(|_| neighbours.is_none()) {
        return refuse(Refusal::Dependent { finding });
    }
    // What an autoregression explains is judged below, and is no reason against the distribution.
    let explained = || Independence { passed: true, ..checked.clone() };
    let judged = || {
        let options = AssessOptions { seed, ..AssessOptions::default() };
        NoDistribution::of(&judge_distribution(series, (likelihood, fit), explained(), &options))
    };
    let no_distribution = match found(Question::Modes) {
        _ if fit.status == Status::Boundary => Some(NoDistribution::NoMaximum),
        Some(finding) => Some(NoDistribution::SeveralModes { finding }),
        None => judged(),
    };
    let Some(finding) = neighbours else {
        return Ok(no_distribution.map_or(Grounds::Distribution { ar1: 0.0 }, |why| Grounds::Counts { why }));
    };
    let (ar1, explained) = autoregression(series, fit);
    let no_distribution = match no_distribution {
        // These tests take values for independent: neighbours that are alike look like another distribution. What counts is
        // whether they are alike enough to the same distribution with the memory that was found.
        Some(NoDistribution::Misfit { .. } | NoDistribution::OtherDistribution { .. }) if explained => {
            misfit(series, fit, ar1, seed)
        }
        other => other,
    };
    match no_distribution {
        _ if !explained => {
            let finding = found(Question::SlowValues).unwrap_or(finding);
            refuse(Refusal::Dependent { finding })
        }
        Some(why) => refuse(Refusal::DependentWithoutDistribution { finding, why: Box::new(why) }),
        None => Ok(Grounds::Distribution { ar1 }),
    }
}

/// The p-value from which on a distribution with a memory is used: that of the other tests of what is left.
const FITS: f64 = LEFT;

/// Whether values with this autocorrelation of their normal scores are no draw of the fitted distribution, by a bootstrap of both.
fn misfit(series: &Series, fit: &GevFit, ar1: f64, seed: u64) -> Option<NoDistribution> {
    let draw = |distribution: &Gev, random: &mut Xoshiro, to: &mut [f64]| {
        let (share, mut score) = ((1.0 - ar1 * ar1).sqrt(), random.normal());
        for one in to {
            *one = whitened::value(distribution, score);
            score = ar1 * score + share * random.normal();
        }
    };
    match gof::test_drawn(series, fit, REPLICATES, seed, draw) {
        Ok(found) if found.smaller >= FITS => None,
        Ok(found) => Some(NoDistribution::Misfit { p: found.smaller }),
        Err(_) => Some(NoDistribution::NoMaximum),
    }
}

/// Draws of the test of a distribution with a memory.
const REPLICATES: usize = 399;

/// The first-order autocorrelation of the normal scores under the fitted distribution, and whether the residuals have
/// no autocorrelation and no pattern of slow ones.
fn autoregression(series: &Series, fit: &GevFit) -> (f64, bool) {
    let distribution = fit.distribution();
    let scores: Vec<f64> = series.values().iter().map(|x| whitened::score(&distribution, *x)).collect();
    let ar1 = whitened::autocorrelation(&scores);
    let left: Vec<f64> = scores.windows(2).map(|pair| pair[1] - ar1 * pair[0]).collect();
    let lags = 20.min(left.len() / 5);
    let patterned =
        independence::slow_values(&left, Series::clean(&left).sorted()).is_some_and(|slow| slow.p < LEFT);
    (ar1, !patterned && independence::neighbours(&independence::ranks(&left), lags).p >= LEFT)
}

impl NoDistribution {
    /// Why a distribution is not used; `None` where `fit` would use it.
    fn of(found: &Judged) -> Option<NoDistribution> {
        if found.code.usability().is_distribution_shown() {
            return None;
        }
        Some(match (found.code, found.preferred) {
            (VerdictCode::NoMaximum, _) => NoDistribution::NoMaximum,
            (VerdictCode::Rounded, _) => NoDistribution::Rounded,
            (_, Some(model)) => NoDistribution::OtherDistribution { model },
            _ => NoDistribution::Misfit { p: found.p },
        })
    }
}
