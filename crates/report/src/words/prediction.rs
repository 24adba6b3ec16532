//! Words a prediction for another number of parts, and its warnings.

use tail::scale::{PredictionWarning, Scaled, Trust};

use crate::unit::{Unit, probability};

/// The first line: `The slowest of 1 024 ranks takes 12.8 ms (median); 1 in 100 takes longer than 15.5 ms.` Where the
/// runs contradict what it rests on, that is said instead, with what `largest` is known: the largest measured number of
/// ranks and its median.
pub fn answer(found: &Scaled, largest: Option<(f64, f64)>, unit: Unit) -> String {
    let ranks = samples::units::count(found.to as u64);
    let at = |p: f64| found.quantiles.iter().find(|one| (one.probability - p).abs() < 1e-12);
    let shown = |value: f64| unit.named(&crate::unit::significant(unit.scale(value), 3));
    let trust = match found.trust {
        Trust::Supported => "",
        Trust::Warned if disagreement(&found.warnings).is_some() => {
            " The fit describes the sizes badly: read the warnings."
        }
        Trust::Warned => " Read the warnings.",
        Trust::Refused => {
            let why = match disagreement(&found.warnings) {
                Some(p) => {
                    format!("one distribution does not describe the measured sizes (p {})", probability(p))
                }
                None => "these steps do not support one".into(),
            };
            let measured = largest.map_or(String::new(), |(parts, median)| {
                format!(
                    " Trust what was measured: the slowest of {} ranks takes {} (median).",
                    samples::units::count(parts as u64),
                    shown(median)
                )
            });
            return format!("No prediction of the slowest of {ranks} ranks: {why}.{measured}");
        }
    };
    let typical = at(0.5).map_or(String::new(), |one| format!(" takes {} (median)", shown(one.value)));
    let slow =
        at(0.99).map_or(String::new(), |one| format!("; 1 in 100 takes longer than {}", shown(one.value)));
    format!("The slowest of {ranks} ranks{typical}{slow}.{trust}")
}

/// The p-value of one distribution for all sizes, where it is warned of.
fn disagreement(warnings: &[PredictionWarning]) -> Option<f64> {
    warnings.iter().find_map(|one| match one {
        PredictionWarning::SizesDisagree { p } => Some(*p),
        _ => None,
    })
}

/// A sentence for each warning.
pub fn warnings(all: &[PredictionWarning]) -> Vec<String> {
    all.iter().map(warning).collect()
}

fn warning(one: &PredictionWarning) -> String {
    match one {
        PredictionWarning::FewRuns { runs, advised, parts: None } => {
            format!("{runs} steps are few: measure at least {advised}.")
        }
        PredictionWarning::FewRuns { runs, advised, parts: Some(parts) } => {
            format!("{runs} steps with {parts} ranks are few: measure at least {advised}.")
        }
        PredictionWarning::NoInteriorMaximum => {
            "The fit has no interior maximum: nothing can be predicted from it.".into()
        }
        PredictionWarning::NotIndependent { parts, finding } => {
            let of = parts.map_or(String::new(), |parts| format!(" with {parts} ranks"));
            format!("The steps{of} are not a steady, independent series: {}.", super::finding(finding))
        }
        PredictionWarning::FarFromOneSize { times, larger } => format!(
            "The prediction is for {times:.0} times {} measured, so it may be off by several percent. Measure at least three \
             sizes.",
            if *larger { "as many ranks as were" } else { "fewer ranks than were" }
        ),
        PredictionWarning::IndependentParts => {
            "The ranks are assumed independent. Ranks that share servers or network make the real times shorter."
                .into()
        }
        PredictionWarning::BeyondSample { once_in, runs } => {
            format!("Only one in {once_in:.0} of the measured steps exceeds that median, and {runs} were measured: it is extrapolated.")
        }
        PredictionWarning::ShapeDrifts { limit, p } => format!(
            "The shape drifts with the size, towards {limit:.3} for very many ranks (p {}): predictions carry the \
             drift, whose form is an approximation.",
            probability(*p)
        ),
        PredictionWarning::SizesDisagree { p } => format!(
            "One distribution with one exponent does not describe all sizes (p {}): the shape changes with the size, or \
             the sizes were not measured alike.",
            probability(*p)
        ),
        PredictionWarning::ExponentAtBound { bound } => format!(
            "The slowest grows faster with the number of ranks than independent ranks could make it: the exponent is at \
             least {bound:.2}, the most that was looked for. Something else changes with the size; nothing can be \
             predicted from this."
        ),
        PredictionWarning::ModelErrorUnknown => {
            "How far these maxima are from their limiting distribution is not known, so the intervals leave it out."
                .into()
        }
        PredictionWarning::FarFromSizes { to, smallest, largest } => format!(
            "{to:.0} ranks are far outside the measured {smallest:.0} to {largest:.0}: the distribution changes on the \
             way, by more than the intervals allow for."
        ),
    }
}
