//! What the analysis of parallel targets found.

use tail::targets::{TargetFinding, Targets};

use crate::unit::probability;

/// All findings, a sentence each. They name a target by its index.
pub fn findings(found: &Targets) -> Vec<String> {
    found.findings.iter().map(|one| finding(one, found)).collect()
}

/// The findings that name no single target: for readers who know targets by other names than their index.
pub fn findings_without_names(found: &Targets) -> Vec<String> {
    let unnamed = found.findings.iter().filter(|one| !matches!(one, TargetFinding::Slow { .. }));
    unnamed.map(|one| finding(one, found)).collect()
}

fn finding(one: &TargetFinding, found: &Targets) -> String {
    match *one {
        TargetFinding::NoneSlow => "No target is slower than the others.".into(),
        TargetFinding::Slow { target } => {
            let target = &found.targets[target];
            format!(
                "Target {} is {:.1} % slower than the others ({:.1} to {:.1} %) and was last in {:.0} % of the steps.",
                target.target,
                100.0 * (target.relative - 1.0),
                100.0 * (target.interval.lower - 1.0),
                100.0 * (target.interval.upper - 1.0),
                100.0 * target.last_share
            )
        }
        TargetFinding::LastEqually => {
            "All targets are last equally often, as far as these steps tell.".into()
        }
        TargetFinding::LastUnequally { top } => {
            let top = &found.targets[top];
            format!(
                "The targets are not last equally often (p {}): target {} was last in {:.0} % of the steps ({:.0} \
                 to {:.0} %), an equal share is {:.0} %. The maximum is then not one of equals.",
                probability(found.last.p),
                top.target,
                100.0 * top.last_share,
                100.0 * top.last_interval.lower,
                100.0 * top.last_interval.upper,
                100.0 / found.m as f64
            )
        }
        TargetFinding::Variation => {
            let [targets, steps, rest] = found.variance_shares.map(|share| 100.0 * share);
            format!(
                "Of the variation, {targets:.0} % lies between targets, {steps:.0} % is common to all targets of a \
                 step (congestion), {rest:.0} % is neither."
            )
        }
        TargetFinding::EffectiveTargets => {
            let effective = found.extremal.map_or(f64::NAN, |extremal| extremal.effective);
            format!("In slow steps the {} targets behave like {effective:.1} independent ones.", found.m)
        }
    }
}
