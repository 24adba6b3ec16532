//! Words the warnings and refusals of a baseline of alarms.

use samples::units::count;
use tail::alarm::{Baseline, BaselineWarning, CountedThresholds, NoDistribution, Refusal};

use super::number::capital;
use crate::unit::{probability, significant};

/// A sentence for each warning of a baseline, whose values are called `noun`: `step`, `sample`, `run` or `value`.
pub fn warnings(baseline: &Baseline, noun: &str) -> Vec<String> {
    baseline.warnings.iter().map(|one| warning(one, noun)).collect()
}

/// A sentence about why thresholds are counted instead of taken from a distribution.
pub fn counted(found: &CountedThresholds) -> String {
    format!("{}, so the limits are counted, not fitted.", capital(&no_distribution(&found.why)))
}

fn no_distribution(why: &NoDistribution) -> String {
    match why {
        NoDistribution::NoMaximum => "no GEV describes the baseline (the likelihood has no maximum)".into(),
        NoDistribution::Misfit { p } => {
            format!("no GEV describes the baseline (test of fit, p {})", probability(*p))
        }
        NoDistribution::OtherDistribution { model } => {
            format!("the {} distribution describes the quiet runs better than a GEV", model.name())
        }
        NoDistribution::Rounded => {
            "the quiet runs are few different values, which show no distribution".into()
        }
        NoDistribution::SeveralModes { finding } => {
            format!("one distribution does not describe the baseline ({})", super::finding(finding))
        }
    }
}

/// Why a baseline supports no false-alarm rate, and what to do: the rest of a sentence.
pub fn refusal(why: &Refusal) -> String {
    match why {
        Refusal::Sorted => {
            "its values are sorted, so that the order in which they came is lost, and with it whether \
                            their level moves; take them in the order in which they were measured"
                .into()
        }
        Refusal::LevelMoved { finding } => format!(
            "its level moves ({}), so no false-alarm rate holds for later values; measure it again on an idle machine \
             (check: lastrank machine), or take the part without a change (--values FROM-TO)",
            super::finding(finding)
        ),
        Refusal::Dependent { finding } => format!(
            "its values depend on each other in a way that no simple memory explains ({}), so no false-alarm rate \
             holds; measure them further apart in time, or watch one number of each run of a directory: --statistic p99 --per run",
            super::finding(finding)
        ),
        Refusal::DependentWithoutDistribution { finding, why } => format!(
            "its values depend on each other ({}), and {}, so limits can be neither counted nor fitted; measure them \
             further apart in time, or watch one number of each run of a directory: --statistic p99 --per run",
            super::finding(finding),
            no_distribution(why)
        ),
        Refusal::TooFewToCount { why, runs, rate, needed } if needed.is_finite() => format!(
            "{}, and {} values are too few to count a rate of {}; measure at least {}, or --false-alarm-rate {}",
            no_distribution(why),
            count(*runs as u64),
            significant(*rate, 2),
            count(needed.ceil() as u64),
            significant(1.0 / (*runs as f64 + 1.0), 2)
        ),
        Refusal::TooFewToCount { why, runs, .. } => format!(
            "{}, and {runs} values are too few to count so long a run length; measure more, or ask for a shorter one",
            no_distribution(why)
        ),
    }
}

fn warning(one: &BaselineWarning, noun: &str) -> String {
    match one {
        BaselineWarning::NotIndependent { finding } => {
            format!("The baseline is not a steady, independent series: {}.", super::finding(finding))
        }
        BaselineWarning::RestsOnDistribution { false_alarms, runs, needed } => format!(
            "{} {noun}s are few for a false-alarm rate of {}: the limit relies on the fitted distribution, and the rate \
             may be half or twice as large. Measure {} {noun}s.",
            count(*runs as u64),
            significant(*false_alarms, 2).trim_end_matches('0'),
            count(needed.ceil() as u64)
        ),
        BaselineWarning::LevelMoved => {
            "The level moved within the baseline, so the stated rates do not hold: measure it again on an idle machine."
                .into()
        }
        BaselineWarning::Sentence(sentence) => sentence.clone(),
    }
}
