//! Words the findings of the analysis of parallel targets.

use samples::units::count;
use tail::targets::{Target, TargetFinding, Targets};

use crate::screen::number::time;
use crate::unit::{fixed, probability};

/// If there are more slow ranks, only their number and the slowest are given.
const MOST_NAMED: usize = 3;

/// What a rank is called: `14`, or `14 on node7` where several machines took part.
pub type NameOfRank<'a> = &'a dyn Fn(u32) -> String;

/// All findings, one sentence each.
pub fn findings(found: &Targets) -> Vec<String> {
    findings_with(found, &|rank| rank.to_string())
}

fn findings_with(found: &Targets, name: NameOfRank) -> Vec<String> {
    let is_slow = |one: &TargetFinding| matches!(one, TargetFinding::Slow { .. });
    let slow = found.findings.iter().filter(|one| is_slow(one)).count();
    let mut sentences = Vec::new();
    if slow > MOST_NAMED {
        sentences.push(many_slow(slow, found, name));
    }
    let told = found.findings.iter().filter(|one| slow <= MOST_NAMED || !is_slow(one));
    sentences.extend(told.map(|one| finding(one, found, name)));
    sentences
}

/// The same in two parts: of single ranks, and of what all of them share.
pub(crate) fn in_two_parts(found: &Targets) -> [Vec<String>; 2] {
    let is_shared =
        |one: &TargetFinding| matches!(one, TargetFinding::Variation | TargetFinding::EffectiveTargets);
    let shared = found.findings.iter().rev().take_while(|one| is_shared(one)).count();
    let mut all = findings(found);
    let behind = all.split_off(all.len().saturating_sub(shared));
    [all, behind]
}

/// What to tell first: which rank differs, if any does; one sentence.
pub fn first(found: &Targets, name: NameOfRank) -> String {
    match found.findings.iter().find(|one| tells(one)) {
        Some(TargetFinding::Slow { .. }) => findings_with(found, name).swap_remove(0),
        Some(one) => finding(one, found, name),
        None => "No rank is found slower than the others.".into(),
    }
}

/// Whether any rank differs from the others.
pub fn stands_out(found: &Targets) -> bool {
    found.findings.iter().any(tells)
}

fn tells(one: &TargetFinding) -> bool {
    match one {
        TargetFinding::Slow { .. } | TargetFinding::LastWhenSlow | TargetFinding::LastUnequally { .. } => {
            true
        }
        TargetFinding::NoneSlow
        | TargetFinding::LastEqually
        | TargetFinding::Variation
        | TargetFinding::EffectiveTargets => false,
    }
}

/// `80.1% slower than the others (78.0 to 82.2%)`.
fn slower(target: &Target, found: &Targets) -> String {
    let over = |factor: f64| fixed(100.0 * (factor - 1.0), 1);
    format!(
        "{}% slower than the other{} ({} to {}%)",
        over(target.relative),
        if found.m == 2 { "" } else { "s" },
        over(target.interval.lower),
        over(target.interval.upper)
    )
}

fn many_slow(slow: usize, found: &Targets, name: NameOfRank) -> String {
    let worst = found.targets.iter().filter(|target| target.slow);
    let worst = worst.max_by(|a, b| a.relative.total_cmp(&b.relative)).map_or(String::new(), |target| {
        format!(", most of all rank {}: {}", name(found.name(target.target)), slower(target, found))
    });
    format!("{slow} ranks are slower than the others{worst}.")
}

fn finding(one: &TargetFinding, found: &Targets, name: NameOfRank) -> String {
    match *one {
        TargetFinding::NoneSlow => "No rank is slower than the others.".into(),
        TargetFinding::Slow { target } => {
            let target = &found.targets[target];
            format!(
                "Rank {} is {} and was last in {:.0}% of the steps.",
                name(found.name(target.target)),
                slower(target, found),
                100.0 * target.last_share
            )
        }
        TargetFinding::LastWhenSlow => {
            let Some(when) = found.last_when_slow else { return String::new() };
            let others = if found.m == 2 { "other" } else { "others" };
            format!(
                "Rank {} was last in {} of the {} slowest steps, there {} later than the {others}.",
                name(found.name(when.target)),
                count(when.last),
                count(when.steps),
                time(when.later)
            )
        }
        TargetFinding::LastEqually => "No rank is shown to be last more often than others.".into(),
        TargetFinding::LastUnequally { top } => {
            let top = &found.targets[top];
            format!(
                "Rank {} was last in {:.0}% of the steps ({:.0} to {:.0}%); an equal share is {:.0}% (p {}).",
                name(found.name(top.target)),
                100.0 * top.last_share,
                100.0 * top.last_interval.lower,
                100.0 * top.last_interval.upper,
                100.0 / found.m as f64,
                probability(found.last.p)
            )
        }
        TargetFinding::Variation => {
            let [targets, steps, rest] = found.variance_shares.map(|share| 100.0 * share);
            format!(
                "Of the variation, {targets:.0}% lies between ranks, {steps:.0}% is common to all ranks of a \
                 step (congestion), {rest:.0}% is neither."
            )
        }
        TargetFinding::EffectiveTargets => {
            let effective = found.extremal.map_or(f64::NAN, |extremal| extremal.effective);
            format!("In slow steps the {} ranks behave like {effective:.1} independent ones.", found.m)
        }
    }
}
