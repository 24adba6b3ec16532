//! Chooses advice after a verdict.

use serde::{Deserialize, Serialize};

use super::evidence::{Evidence, FEWEST_FOR_VERDICT, VerdictCode};
use crate::independence::{Question, Spacing, TestFinding};

/// One piece of advice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Advice {
    /// Space the runs further apart.
    SpaceRuns {
        /// The factor by which standard errors are too small; `None` if less than 5%.
        error_factor: Option<f64>,
    },
    /// Find what comes back after so many values.
    FindPeriod {
        /// The distance in values.
        lag: usize,
    },
    /// Discard the warm-up, or fit with the time as covariate.
    DiscardWarmUp,
    /// Fit each segment between changes of the level separately.
    FitEachStretch,
    /// Fit each mode separately.
    FitEachMode,
    /// Find the cause of bursts or periods of slow values.
    ExplainSlowValues {
        /// The period in values, if there is one.
        period: Option<usize>,
    },
    /// Measure more runs.
    MeasureMore {
        /// Minimum number of additional runs.
        runs: usize,
    },
    /// Measure with several numbers of parallel parts.
    VaryParts,
    /// Do not extrapolate beyond the sample.
    DoNotExtrapolate,
    /// Record more digits.
    RecordMoreDigits,
    /// Record the values in the order in which they were measured.
    KeepTheOrder,
}

/// The advice for a verdict.
pub(super) fn of(code: VerdictCode, evidence: &Evidence) -> Vec<Advice> {
    let independence = &evidence.diagnostics.independence;
    let mut out: Vec<Advice> = independence
        .reasons()
        .into_iter()
        .map(|test| match test.question {
            Question::Autocorrelation => {
                if let TestFinding::Autocorrelation { lag: lag @ 2.., at_lag: 0.0.., .. } = test.finding {
                    return Advice::FindPeriod { lag };
                }
                let factor = independence.variance_inflation.max(1.0).sqrt();
                Advice::SpaceRuns { error_factor: Some(factor).filter(|factor| *factor >= 1.05) }
            }
            Question::Trend => Advice::DiscardWarmUp,
            Question::Jump => Advice::FitEachStretch,
            Question::Modes => Advice::FitEachMode,
            Question::SlowValues => Advice::ExplainSlowValues {
                period: independence
                    .slow
                    .filter(|slow| slow.spacing == Spacing::Periodic)
                    .map(|slow| slow.distance),
            },
        })
        .collect();
    if out.contains(&Advice::FitEachStretch) {
        // Levels that jump make modes, clusters of slow values and neighbours that are alike: a fit of each stretch tells
        // which of these it has itself.
        out.retain(|advice| *advice == Advice::FitEachStretch);
    }
    let find = out.iter().position(|advice| matches!(advice, Advice::FindPeriod { .. }));
    let explain =
        out.iter().position(|advice| matches!(advice, Advice::ExplainSlowValues { period: Some(_) }));
    if let (Some(find), Some(explain)) = (find, explain) {
        // Both say the same, the second more.
        out.swap(find, explain);
        out.remove(explain);
    }
    if evidence.n < FEWEST_FOR_VERDICT && code == VerdictCode::TooFew {
        out.push(Advice::MeasureMore { runs: FEWEST_FOR_VERDICT - evidence.n });
    }
    if independence.sorted {
        out.push(Advice::KeepTheOrder);
    }
    match code {
        VerdictCode::Rounded => out.push(Advice::RecordMoreDigits),
        VerdictCode::GevConsistent => out.push(Advice::VaryParts),
        VerdictCode::GevRejected | VerdictCode::RivalPreferred | VerdictCode::NoMean => {
            out.push(Advice::DoNotExtrapolate);
        }
        VerdictCode::NotIndependent
        | VerdictCode::NoMaximum
        | VerdictCode::GevPreferred
        | VerdictCode::TooFew => {}
    }
    out
}
