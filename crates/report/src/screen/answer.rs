//! The answer of a first screen: what ran, how it went, throughput, typical and slow.

use results::{QuantileInterval, Quantiles, ResultRow};
use samples::{EndedBy, SiteKind, UntilFacts, units};

use super::number::{bandwidth, three, time};
use crate::{Analysis, Report, Subject, percent};

/// `parallel_write · 16 ranks · 400 steps · ext4 on /dev/vda`.
pub(super) fn title(report: &Report) -> String {
    let facts = &report.facts;
    let ranks = if facts.ranks == 1 { "1 rank".to_owned() } else { format!("{} ranks", facts.ranks) };
    let mut parts = vec![report.title.clone(), ranks];
    if let Some(main) = subject(report) {
        let n = main.subject.steps.len();
        let what = main.subject.value_name();
        parts.push(format!("{} {what}{}", units::count(n as u64), if n == 1 { "" } else { "s" }));
    }
    if facts.is_simulated() {
        parts.push("simulated: no device was touched".into());
    } else {
        let on = facts.file_systems.iter().find_map(|on| {
            let kind = on.file_system.as_ref().filter(|kind| !kind.is_empty())?;
            let source = on.mount.as_ref().map_or(on.path.as_str(), |mount| mount.source.as_str());
            Some(format!("{kind} on {source}"))
        });
        parts.extend(on);
    }
    parts.join(" · ")
}

/// What is analysed, unless curves or the table are the answer.
pub(crate) fn subject(report: &Report) -> Option<&Analysis> {
    let main = report.main.as_ref().filter(|_| report.brief.is_empty())?;
    let asked = main.subject.share.is_none_or(|share| share >= 0.5);
    asked.then_some(main)
}

/// The operation that the subject is, or that takes the most time in the block that it is.
pub(crate) fn operation(report: &Report) -> Option<&ResultRow> {
    operation_of(&subject(report)?.subject, &report.results)
}

/// The same of a subject and the rows of its run.
pub(crate) fn operation_of<'a>(subject: &Subject, rows: &'a [ResultRow]) -> Option<&'a ResultRow> {
    let key = subject.keys.first()?;
    let of = |row: &&ResultRow| row.kind == SiteKind::Operation && row.busy_seconds.is_some();
    let inside = |row: &&ResultRow| match key.is_operation() {
        true => row.operation == key.operation() && row.label.as_deref().unwrap_or_default() == key.label(),
        false => row.labels.iter().any(|label| label == key.label()),
    };
    let busy = |row: &&ResultRow| row.busy_seconds.unwrap_or(0.0);
    rows.iter().filter(of).filter(inside).max_by(|a, b| busy(a).total_cmp(&busy(b)))
}

/// Whether it went well, and what it came to: the sign's text.
pub(super) fn outcome(report: &Report) -> (bool, String) {
    let rows = || report.results.iter().filter(|row| row.kind == SiteKind::Operation);
    let (errors, done): (u64, u64) =
        (rows().map(|row| row.errors).sum(), rows().map(|row| row.operations.unwrap_or(row.timings)).sum());
    let bytes: u64 = rows().map(|row| row.bytes).sum();
    let moved = if bytes > 0 { format!(", {} moved", units::bytes(bytes)) } else { String::new() };
    let failed = match errors {
        0 => "0 errors".to_owned(),
        n => {
            let mut kinds: Vec<(i32, u64)> =
                rows().flat_map(|row| row.errors_by_errno.iter().map(|(errno, n)| (*errno, *n))).collect();
            kinds.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
            let most =
                kinds.first().map_or(String::new(), |(errno, _)| format!(" (most with errno {errno})"));
            format!("{} failed{most}", units::count(n))
        }
    };
    let expected = match rows().map(|row| row.failed_as_expected).sum::<u64>() {
        0 => String::new(),
        n => format!(", {} failed as expected", units::count(n)),
    };
    let plural = if done == 1 { "" } else { "s" };
    let incomplete = if report.facts.complete { "" } else { "incomplete: " };
    let until = report.facts.until.as_ref().map_or(String::new(), what_ended_it);
    (
        report.facts.complete && errors == 0,
        format!("{incomplete}{} operation{plural}, {failed}{expected}{moved}{until}", units::count(done)),
    )
}

/// What ended a run that was to go on until something, as an appendix to a sentence.
fn what_ended_it(until: &UntilFacts) -> String {
    let condition = &until.condition;
    match until.ended_by.filter(|_| !until.reached) {
        Some(EndedBy::Time) => {
            let limit = until.limit_seconds.map_or("time".into(), units::duration);
            format!("; the {limit} were over before {condition}")
        }
        Some(EndedBy::Samples) => format!("; too many samples to go on until {condition}"),
        Some(EndedBy::Program | EndedBy::Condition) | None if !until.reached => {
            format!("; over before {condition}")
        }
        Some(EndedBy::Program | EndedBy::Condition) | None => format!("; ended by {condition}"),
    }
}

/// Typical and slow, throughput: sentences.
pub(crate) fn sentences(report: &Report) -> String {
    if !report.brief.is_empty() {
        return report.brief.join(" ");
    }
    let Some(main) = subject(report) else { return no_subject(report) };
    let row = operation(report);
    let mut text = Vec::new();
    if let Some(row) = row.filter(|row| row.operations_per_second.is_some()) {
        text.push(throughput(row));
    }
    let gate = main.subject.gate && main.subject.ranks.len() > 1;
    let (quantiles, intervals, count) = match row.filter(|_| !gate) {
        Some(row) => (row.headline(), &row.intervals, row.timings),
        None => {
            let count = main.summary.as_ref().map_or(0, |summary| summary.n as u64);
            (main.quantiles.as_ref(), &main.intervals, count)
        }
    };
    let who = match (gate, row) {
        (true, _) => "A step".to_owned(),
        (false, Some(row)) => {
            let response = row.response_quantiles_seconds.is_some();
            format!("One {}{}", row.operation, if response { ", from the moment it was due," } else { "" })
        }
        (false, None) => format!("One {}", main.subject.name),
    };
    text.extend(quantiles.map(|found| typical_and_slow(&who, found, intervals, count)));
    if let Some(share) = main.subject.share.filter(|_| main.subject.runner_up.is_some()) {
        let next = main.subject.runner_up.as_ref();
        let next = next.map_or(String::new(), |(name, share)| format!(", {name} {}", percent(round(*share))));
        text.push(format!("This is of {} ({} of the time{next}).", main.subject.name, percent(round(share))));
    }
    text.join(" ")
}

/// Two digits of a share.
fn round(share: f64) -> f64 {
    (100.0 * share).round() / 100.0
}

/// `548 MiB/s over 16 ranks, 37.2 fwrite/s.`
fn throughput(row: &ResultRow) -> String {
    let bytes = row.bytes_per_second.filter(|rate| *rate > 0.0).map(|rate| format!("{}, ", bandwidth(rate)));
    let rate = row.operations_per_second.map_or(String::new(), three);
    let over = match row.ranks {
        Some(ranks) if ranks > 1 => format!(" over {ranks} ranks"),
        _ => String::new(),
    };
    let asked = row.rate.map_or(String::new(), |rate| match rate.keeps_up {
        true => ", as many as asked for".to_owned(),
        false => format!(" of {} asked for", three(rate.asked_per_second)),
    });
    format!("{}{rate} {}/s{over}{asked}.", bytes.unwrap_or_default(), row.operation)
}

/// `A step usually takes 13.2 ms; 1 in 100 takes longer than 146 ms.` Of so many values.
fn typical_and_slow(who: &str, found: &Quantiles, intervals: &[QuantileInterval], count: u64) -> String {
    let typical = format!("{who} usually takes {}", time(found.p50));
    let at = |p: f64| intervals.iter().find(|one| one.probability == p);
    let slow = match (found.p99, at(0.99)) {
        (Some(p99), Some(interval)) if interval.upper_seconds.is_none() => {
            format!("1 in 100 took longer than {} here, {}", time(p99), without_upper_end(interval, count))
        }
        (Some(p99), _) => format!("1 in 100 takes longer than {}", time(p99)),
        (None, _) => format!("the slowest took {}", time(found.max)),
    };
    format!("{typical}; {slow}.")
}

/// `but p99 may be 11.3 ms or more: slow ones come together, and 400 count as 289, too few for an upper end`.
fn without_upper_end(interval: &QuantileInterval, count: u64) -> String {
    /// What counts as more of itself has no clusters worth a word.
    const ALONE: f64 = 0.9;
    let may = match interval.lower_seconds {
        Some(lower) => format!("but p99 may be {} or more", time(lower)),
        None => "but p99 may be anything".to_owned(),
    };
    let (all, worth) = (units::count(count), units::count(interval.effective_n.round() as u64));
    match interval.effective_n < ALONE * count as f64 {
        true => {
            format!("{may}: slow ones come together, and {all} count as {worth}, too few for an upper end")
        }
        false => format!("{may}: {all} are too few for an upper end"),
    }
}

/// What to say where the table is the answer.
fn no_subject(report: &Report) -> String {
    let Some(main) = &report.main else {
        return "Nothing was measured that could be analysed.".into();
    };
    let share = main.subject.share.unwrap_or(0.0);
    let next = main.subject.runner_up.as_ref();
    let next = next.map_or(String::new(), |(name, share)| format!(", {name} {}", percent(round(*share))));
    format!(
        "No operation takes half of the time: {} {}{next}. The table is the answer.",
        main.subject.name,
        percent(round(share))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_p99_has_no_upper_end_is_said_as_it_is() {
        let of = |lower_seconds, effective_n| QuantileInterval {
            probability: 0.99,
            seconds: 0.0126,
            lower_seconds,
            upper_seconds: None,
            effective_n,
        };
        let alone = without_upper_end(&of(Some(0.0113), 200.0), 200);
        assert_eq!(alone, "but p99 may be 11.3 ms or more: 200 are too few for an upper end");
        let together = without_upper_end(&of(None, 289.0), 400);
        let said = "but p99 may be anything: slow ones come together, and 400 count as 289, too few for an upper end";
        assert_eq!(together, said);
    }
}
