//! Whether to trust a result, what slowed it, who stands out, and what to do next: the lower half of a first screen.

use results::{ResultRow, Steadiness};
use samples::JudgementKind;
use tail::targets::TargetFinding;

use super::answer;
use super::law::{self, Verdict};
use super::number::{three, time};
use super::paint::Tone;
use crate::cause_words::style_of;
use crate::causes::Slowness;
use crate::{Analysis, Report, words};

/// Parts of the excess that a screen names.
const MOST_CAUSES: usize = 3;

/// A sign, its tone, and what it says of the law in one sentence. None where curves or the table are the answer.
pub(super) fn verdict(report: &Report) -> Option<Verdict> {
    let main = answer::subject(report)?;
    let tail = main.tail.as_ref()?;
    let Some(found) = &tail.assessment else {
        let why = tail.refusal.as_deref().unwrap_or("there are no values");
        return Some(("–", Tone::Faint, format!("How rare slower ones are is not known: {why}.")));
    };
    Some(law::verdict(found, main.subject.value_name(), &time))
}

/// How the rate changed, as an appendix to a picture of it. That a rate is steady is said only where a rule of the user holds.
pub(super) fn trend(found: Option<&Steadiness>) -> String {
    match found.filter(|found| !found.steady) {
        Some(found) => {
            let [first, second] = found.halves_per_second;
            format!("; {} in the first half, {} in the second", three(first), three(second))
        }
        None => String::new(),
    }
}

/// What slowed the slowest hundredth, of the operation that the screen is about, or where it cost most.
pub(super) fn slow(report: &Report) -> Option<String> {
    let of = answer::slow_operation(report);
    let is_it = |one: &&Slowness| {
        of.is_some_and(|row| {
            row.operation == one.operation && row.label.as_deref().unwrap_or_default() == one.label
        })
    };
    let excess = |a: &&Slowness, b: &&Slowness| a.excess_s.total_cmp(&b.excess_s);
    let coverage = report.facts.coverage.as_ref();
    if coverage.is_some_and(|coverage| coverage.unwanted) {
        return Some(crate::causes::NOT_LOOKED_FOR.into());
    }
    let about = report.causes.iter().filter(is_it).max_by(excess);
    let one = about.or_else(|| report.causes.iter().filter(|_| of.is_none()).max_by(excess))?;
    let parts: Vec<String> = one
        .shares
        .iter()
        .filter(|(_, share)| *share >= 0.01)
        .take(MOST_CAUSES)
        .map(|(cause, share)| format!("{} {:.0} %", style_of(cause).words, 100.0 * share))
        .collect();
    let what = match (of, one.label.is_empty()) {
        (Some(row), _) if answer::operation(report).is_some_and(|of| !std::ptr::eq(of, row)) => {
            format!(" of {}", one.operation)
        }
        (Some(_), _) => String::new(),
        (None, true) => format!(" of {}", one.operation),
        (None, false) => format!(" of {} / {}", one.label, one.operation),
    };
    Some(format!("Slow 1 %{what} (from {} on): {}.", time(one.slow_from_s), parts.join(", ")))
}

/// Which rank stands out; none of one rank.
pub(super) fn rank(report: &Report) -> Option<String> {
    let main = answer::subject(report)?;
    if let Some(found) = &main.targets {
        let told = found.findings.iter().any(|one| match one {
            TargetFinding::Slow { .. } | TargetFinding::LastUnequally { .. } => true,
            TargetFinding::NoneSlow
            | TargetFinding::LastEqually
            | TargetFinding::Variation
            | TargetFinding::EffectiveTargets => false,
        });
        return Some(match told {
            true => words::targets::findings(found).swap_remove(0),
            false => "No rank stands out.".into(),
        });
    }
    ranks_alone(answer::operation(report)?)
}

/// The slowest rank by its median beside that of all, where it is half as slow again.
fn ranks_alone(row: &ResultRow) -> Option<String> {
    let all = row.quantiles_seconds.as_ref()?.p50;
    let median = |rank: &results::RankResult| rank.quantiles_seconds.as_ref().map(|found| found.p50);
    let (median, rank) = row
        .per_rank
        .iter()
        .filter_map(|rank| Some((median(rank)?, rank.rank)))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (all > 0.0 && median > 1.5 * all)
        .then(|| format!("Rank {rank} is slow: its median is {}, that of all {}.", time(median), time(all)))
}

/// What to do next: one sentence or command.
pub(super) fn next(report: &Report, file: &str) -> String {
    let found = &report.judgements;
    match found.kinds().first() {
        Some(JudgementKind::WrongContent) => return "run it again: is the same byte wrong?".into(),
        Some(
            JudgementKind::OperationFailed
            | JudgementKind::ExpectationNotMet
            | JudgementKind::AssertionFailed,
        ) => {
            let line = found.found.iter().find(|one| one.line > 0 && one.kind.status() > 0);
            let place = line.map_or(String::new(), |one| format!("see line {} of the program,", one.line));
            return format!("{place} then run it again").trim_start().to_owned();
        }
        _ if !report.facts.complete => return "run it again before you draw conclusions".into(),
        _ => {}
    }
    let unresolved = answer::operation(report).filter(|row| {
        row.interval(0.99).is_none_or(|found| !found.is_resolved()) && row.quantiles_seconds.is_some()
    });
    match (answer::subject(report), unresolved) {
        (None, _) => format!("lastrank fit {file} --of LABEL/OPERATION fits one row"),
        (Some(main), Some(row)) if !is_gate(main) => match needed(row) {
            Some(n) => format!("about {} of them would settle p99", three(n)),
            None => "more of them: p99 needs at least 368 independent ones".into(),
        },
        (Some(_), _) => format!("lastrank fit {file} · lastrank compare {file} ANOTHER"),
    }
}

fn is_gate(main: &Analysis) -> bool {
    main.subject.gate && main.subject.ranks.len() > 1
}

/// How many timings a resolved p99 would take, as dependent as they are.
fn needed(row: &ResultRow) -> Option<f64> {
    let worth = row.interval(0.99).map_or(row.timings as f64, |found| found.effective_n);
    (worth > 0.0).then(|| 368.0 * row.timings as f64 / worth)
}
