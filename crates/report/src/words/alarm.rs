//! Words the warnings and refusals of a baseline of alarms.

use samples::units::count;
use tail::alarm::{Baseline, BaselineWarning, CountedThresholds, NoLaw, Refusal};

use super::number::capital;
use crate::unit::{probability, significant};

/// A sentence for each warning of a baseline.
pub fn warnings(baseline: &Baseline) -> Vec<String> {
    baseline.warnings.iter().map(warning).collect()
}

/// A sentence about why thresholds are counted instead of taken from a law.
pub fn counted(found: &CountedThresholds) -> String {
    format!("{}, so thresholds are counted among them and rest on no law.", capital(&no_law(&found.why)))
}

fn no_law(why: &NoLaw) -> String {
    match why {
        NoLaw::NoMaximum => "no GEV describes the quiet runs (the likelihood has no maximum)".into(),
        NoLaw::Misfit { p } => {
            format!("no GEV describes the quiet runs (test of fit, p {})", probability(*p))
        }
        NoLaw::SeveralModes { finding } => {
            format!("one law does not describe the quiet runs ({})", super::finding(finding))
        }
    }
}

/// Why quiet runs support no false-alarm rate, and what to do: the rest of a sentence.
pub fn refusal(why: &Refusal) -> String {
    match why {
        Refusal::Sorted => {
            "its values are sorted, so that the order in which they came is lost, and with it whether \
                            their level moves; take them in the order in which they were measured"
                .into()
        }
        Refusal::LevelMoved { finding } => format!(
            "its level moves ({}), so no rate of false alarms holds for later runs; measure a steady one, or take the \
             steady part of it",
            super::finding(finding)
        ),
        Refusal::Dependent { finding } => format!(
            "its runs depend on each other in a way that no simple memory explains ({}), so no rate of false alarms \
             holds; space the runs further apart, or take one value for each stretch that belongs together",
            super::finding(finding)
        ),
        Refusal::TooFewToCount { why, runs, rate, needed } if needed.is_finite() => format!(
            "{}, and {} runs are too few to count a rate of {}; measure at least {}, or ask for a rate of {} or more",
            no_law(why),
            count(*runs as u64),
            significant(*rate, 2),
            count(needed.ceil() as u64),
            significant(1.0 / (*runs as f64 + 1.0), 2)
        ),
        Refusal::TooFewToCount { why, runs, .. } => format!(
            "{}, and {runs} runs are too few to count so long a run length; measure more, or ask for a shorter one",
            no_law(why)
        ),
    }
}

fn warning(one: &BaselineWarning) -> String {
    match one {
        BaselineWarning::NotIndependent { finding } => {
            format!("The baseline is not independent draws of one law: {}.", super::finding(finding))
        }
        BaselineWarning::RestsOnLaw { false_alarms, runs, needed } => format!(
            "A false-alarm rate of {} is below what {} quiet runs can count: it rests on the tail of the law, and may \
             be half or twice as large; {} runs would count it.",
            significant(*false_alarms, 2).trim_end_matches('0'),
            count(*runs as u64),
            count(needed.ceil() as u64)
        ),
        BaselineWarning::LevelMoved => {
            "The level moved within the baseline, so the stated rates do not hold: measure a steady one."
                .into()
        }
        BaselineWarning::Sentence(sentence) => sentence.clone(),
    }
}
