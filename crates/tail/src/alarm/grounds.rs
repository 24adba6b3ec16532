//! Decides the basis of a baseline's rates: the fitted law, counting, or none.

use super::refusal::{BaselineError, NoLaw, Refusal};
use super::whitened;
use crate::assess::{AssessOptions, Judged, judge_law};
use crate::gev::GevFit;
use crate::independence::{self, Independence, Question};
use crate::verdict::VerdictCode;
use crate::{Likelihood, Series, Status};

/// The basis of thresholds.
pub(super) enum Grounds {
    /// The fitted law.
    Law {
        /// First-order autocorrelation of the normal scores that is removed.
        ar1: f64,
    },
    /// Counting.
    Counts {
        /// Reason why the distribution is not used.
        why: NoLaw,
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
    // What an autoregression explains is judged below, and is no reason against the law.
    let explained = || Independence { passed: true, ..checked.clone() };
    let judged = || {
        let options = AssessOptions { seed, ..AssessOptions::default() };
        NoLaw::of(&judge_law(series, (likelihood, fit), explained(), &options))
    };
    let no_law = match found(Question::Modes) {
        _ if fit.status == Status::Boundary => Some(NoLaw::NoMaximum),
        Some(finding) => Some(NoLaw::SeveralModes { finding }),
        None => judged(),
    };
    match (no_law, neighbours) {
        (None, None) => Ok(Grounds::Law { ar1: 0.0 }),
        (Some(why), None) => Ok(Grounds::Counts { why }),
        (Some(_), Some(finding)) => refuse(Refusal::Dependent { finding }),
        (None, Some(finding)) => {
            let (ar1, explained) = autoregression(series, fit);
            if !explained {
                let finding = found(Question::SlowValues).unwrap_or(finding);
                return refuse(Refusal::Dependent { finding });
            }
            Ok(Grounds::Law { ar1 })
        }
    }
}

/// The first-order autocorrelation of the normal scores under the fitted law, and whether the residuals have
/// no autocorrelation and no pattern of slow ones.
fn autoregression(series: &Series, fit: &GevFit) -> (f64, bool) {
    let law = fit.law();
    let scores: Vec<f64> = series.values().iter().map(|x| whitened::score(&law, *x)).collect();
    let ar1 = whitened::autocorrelation(&scores);
    let left: Vec<f64> = scores.windows(2).map(|pair| pair[1] - ar1 * pair[0]).collect();
    let lags = 20.min(left.len() / 5);
    let patterned =
        independence::slow_values(&left, Series::clean(&left).sorted()).is_some_and(|slow| slow.p < LEFT);
    (ar1, !patterned && independence::neighbours(&independence::ranks(&left), lags).p >= LEFT)
}

impl NoLaw {
    /// Why a law is not used; `None` where `fit` would use it.
    fn of(found: &Judged) -> Option<NoLaw> {
        if found.code.usability().is_law_shown() {
            return None;
        }
        Some(match (found.code, found.preferred) {
            (VerdictCode::NoMaximum, _) => NoLaw::NoMaximum,
            (VerdictCode::Rounded, _) => NoLaw::Rounded,
            (_, Some(model)) => NoLaw::OtherLaw { model },
            _ => NoLaw::Misfit { p: found.p },
        })
    }
}
