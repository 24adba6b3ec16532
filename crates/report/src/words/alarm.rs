//! What weakens the promise of a baseline.

use tail::alarm::{Baseline, BaselineWarning};

/// A sentence for each warning of a baseline.
pub fn warnings(baseline: &Baseline) -> Vec<String> {
    baseline.warnings.iter().map(warning).collect()
}

fn warning(one: &BaselineWarning) -> String {
    match one {
        BaselineWarning::NotIndependent { finding } => {
            format!("The baseline is not independent draws of one law: {}.", super::finding(finding))
        }
        BaselineWarning::RestsOnLaw { false_alarms, runs, needed } => format!(
            "A false-alarm rate of {false_alarms} from {runs} quiet runs rests on the law; {needed} runs would show \
             it without."
        ),
        BaselineWarning::LevelMoved => {
            "The level moved within the baseline, so the stated rates do not hold: measure a steady one."
                .into()
        }
        BaselineWarning::Sentence(sentence) => sentence.clone(),
    }
}
