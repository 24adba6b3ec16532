//! Words what was found in a run: what failed, what was wrong, who ended it.

use std::collections::BTreeMap;

use samples::{
    Judgement, JudgementExample, JudgementKind, Judgements, Progress, ProgressUnit, Warning, units,
};

/// One thing that was found: a line, and lines that say more of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What kind of thing.
    pub kind: JudgementKind,
    /// What was found.
    pub head: String,
    /// The first examples, each with its rank.
    pub examples: Vec<String>,
    /// Of wrong data: the first files and bytes, and how many more reads there were.
    pub places: Vec<String>,
    /// It says no more than the outcome of the run does.
    pub is_outcome: bool,
}

/// No space left on the device; the same of a quota.
const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;

/// Ranks that are named one by one, of many that were lost.
const NAMED: usize = 3;

/// Findings of one kind that a warning tells in full; the judgements have them all.
const MOST_IN_A_WARNING: usize = 3;

/// All that was found and makes a run less than well, the worst first.
pub fn lines(found: &Judgements) -> Vec<Told> {
    let mut told = parts(found);
    let of_end = |one: &&mut Told| {
        matches!(one.kind, JudgementKind::RankLost | JudgementKind::CutShort | JudgementKind::ProgramAtFault)
    };
    if let (Some(one), Some(far)) = (told.iter_mut().find(of_end), so_far(found)) {
        let is_one = found.progress.is_some_and(|far| far.done == 1 || far.planned == 1);
        let were = if is_one { "was" } else { "were" };
        one.head += &format!("; {far} {were} done");
    }
    told
}

/// The same without how far the run came, below a line that says it.
pub(crate) fn parts(found: &Judgements) -> Vec<Told> {
    let mut told = Vec::new();
    let was_cut = found.count(JudgementKind::CutShort) > 0;
    for kind in found.kinds() {
        for one in found.of(kind) {
            match kind {
                JudgementKind::WrongContent
                | JudgementKind::OperationFailed
                | JudgementKind::ExpectationNotMet => told.push(of_operations(one)),
                JudgementKind::RankLost => told.extend(of_ranks(one, if was_cut { 1 } else { NAMED })),
                JudgementKind::CutShort => told.extend(of_cut(one, found)),
                JudgementKind::ProgramAtFault | JudgementKind::AssertionFailed => {
                    told.extend(one.examples.iter().map(|example| plain(kind, &on_rank(example))));
                }
                JudgementKind::AssertionNotEvaluated => {
                    told.extend(one.examples.first().map(|example| plain(kind, &example.text)));
                }
                JudgementKind::Unknown => {
                    told.push(plain(kind, &format!("a newer lastrank found something {}", times(one.count))));
                }
                JudgementKind::ShortWrite | JudgementKind::ShortRead | JudgementKind::FailedAsExpected => {}
            }
        }
        if let Some(more) = found.unlisted.get(&kind).filter(|_| kind.status() > 0) {
            told.push(plain(kind, &format!("{} at further places", units::count(*more))));
        }
    }
    told
}

/// `68 of 400 steps`: how far a run came that did not reach its end.
fn so_far(found: &Judgements) -> Option<String> {
    let Progress { done, planned, unit } = found.progress?;
    let what = match unit {
        ProgressUnit::Steps => "step",
        ProgressUnit::Operations => "operation",
    };
    let plural = if planned == 1 { "" } else { "s" };
    Some(format!("{} of {} {what}{plural}", units::count(done), units::count(planned)))
}

fn plain(kind: JudgementKind, head: &str) -> Told {
    Told { kind, head: head.to_owned(), examples: Vec::new(), places: Vec::new(), is_outcome: false }
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{} times", units::count(count)) }
}

/// `fread in line 14`.
fn place(one: &Judgement) -> String {
    match (one.operation.is_empty(), one.line) {
        (true, _) => "an operation".into(),
        (false, 0) => one.operation.clone(),
        (false, line) => format!("{} in line {line}", one.operation),
    }
}

fn of_operations(one: &Judgement) -> Told {
    let (place, often) = (place(one), times(one.count));
    let head = match (one.kind, one.errno) {
        (JudgementKind::WrongContent, _) => {
            format!("WRONG DATA: {place} did not read what was written, {often}")
        }
        (JudgementKind::ExpectationNotMet, 0) => format!("{place} succeeded {often}, but was to fail"),
        (JudgementKind::ExpectationNotMet, _) => format!("{place} failed {often} otherwise than expected"),
        _ => format!("{place} failed {often}"),
    };
    let mut examples: Vec<String> =
        one.examples.iter().filter(|example| !example.text.is_empty()).map(JudgementExample::told).collect();
    let mut places: Vec<String> = one.examples.iter().filter_map(wrong_byte).collect();
    if one.kind == JudgementKind::WrongContent && !places.is_empty() {
        let more = and_more(one.count.saturating_sub(places.len() as u64));
        [examples, places] = [examples, places].map(each_once);
        examples.extend(more.clone());
        places.extend(more);
    }
    let head = if examples.is_empty() && one.errno != 0 { format!("{head}: {}", reason(one)) } else { head };
    Told { kind: one.kind, head, examples, places, is_outcome: false }
}

/// `blk, byte 4096: it was changed`: the first wrong byte of a read.
pub(crate) fn wrong_byte(example: &JudgementExample) -> Option<String> {
    Some(format!("{}, byte {}: {}", example.file, example.byte?, example.content))
}

/// The same texts once each, with how many reads found it: who reads a wrong byte again finds it again.
fn each_once(texts: Vec<String>) -> Vec<String> {
    let mut found: Vec<(String, u64)> = Vec::new();
    for text in texts {
        match found.iter_mut().find(|(known, _)| *known == text) {
            Some((_, reads)) => *reads += 1,
            None => found.push((text, 1)),
        }
    }
    let told =
        |(text, reads): (String, u64)| if reads == 1 { text } else { format!("{text} ({reads} reads)") };
    found.into_iter().map(told).collect()
}

/// `and 4 more reads`, of wrong data; none of none.
pub(crate) fn and_more(reads: u64) -> Option<String> {
    (reads > 0).then(|| format!("and {} more read{}", units::count(reads), if reads == 1 { "" } else { "s" }))
}

/// The errno in words.
fn reason(one: &Judgement) -> String {
    if one.reason.is_empty() { format!("errno {}", one.errno) } else { one.reason.clone() }
}

/// `rank 3 was killed by SIGKILL`.
fn on_rank(example: &JudgementExample) -> String {
    example.rank.map_or_else(|| example.text.clone(), |rank| format!("rank {rank} {}", example.text))
}

/// Ranks that did not reach the end, so many of them by name.
fn of_ranks(one: &Judgement, named: usize) -> Vec<Told> {
    let examples = one.examples.iter().take(named).map(on_rank);
    let mut told: Vec<Told> = examples.map(|text| plain(one.kind, &text)).collect();
    let more = one.count.saturating_sub(told.len() as u64);
    match (told.last_mut(), more) {
        (None, _) => told.push(plain(one.kind, "a rank did not reach the end")),
        (Some(_), 0) => {}
        (Some(last), 1) => last.examples.push("and 1 other rank".into()),
        (Some(last), more) => last.examples.push(format!("and {} other ranks", units::count(more))),
    }
    told
}

/// Who or what ended the run; not again what failed then, which is told as a failure.
fn of_cut(one: &Judgement, found: &Judgements) -> Vec<Told> {
    let stopped = || {
        let head = format!("the run was stopped by {}", one.what);
        vec![Told { is_outcome: true, ..plain(one.kind, &head) }]
    };
    let failures =
        || found.found.iter().filter(|one| one.kind.is_of_operations()).flat_map(|one| &one.examples);
    let is_failure = |example: &JudgementExample| {
        failures().any(|failed| !failed.text.is_empty() && example.text.contains(&failed.text))
    };
    match one.examples.first() {
        None => stopped(),
        Some(first) if is_failure(first) => stopped(),
        Some(first) if first.rank.is_none() => {
            one.examples.iter().map(|example| plain(one.kind, &example.text)).collect()
        }
        Some(_) => of_ranks(one, 1),
    }
}

/// The folder in which a run was killed whose files were in the way of this one: `lastrank recover FOLDER` removes them.
pub(crate) fn left_in(found: &Judgements) -> Option<&str> {
    let at_fault = found.of(JudgementKind::ProgramAtFault).flat_map(|one| &one.examples);
    let failed = found.of(JudgementKind::OperationFailed).flat_map(|one| &one.examples);
    at_fault.chain(failed).find_map(|example| {
        let (_, rest) = example.text.split_once("`lastrank recover ")?;
        rest.split('`').next()
    })
}

/// Why the run is incomplete, in a few words: `stopped by Ctrl-C`. None where it reached its end.
pub(crate) fn why_incomplete(found: &Judgements) -> Option<String> {
    let cut = |one: &Judgement| match one.what.as_str() {
        "" => "ended early".to_owned(),
        what => format!("stopped by {what}"),
    };
    let lost = |count: u64| match count {
        1 => "a rank did not reach the end".to_owned(),
        n => format!("{} ranks did not reach the end", units::count(n)),
    };
    let first = found.of(JudgementKind::CutShort).next().map(cut);
    let lost = Some(found.count(JudgementKind::RankLost)).filter(|count| *count > 0).map(lost);
    let fault = || {
        let why = match left_in(found) {
            Some(_) => "what a run that was killed left is in the way",
            None => "the program is at fault",
        };
        (found.count(JudgementKind::ProgramAtFault) > 0).then(|| why.to_owned())
    };
    let why = first.or(lost).or_else(fault)?;
    Some(match so_far(found) {
        Some(far) => format!("{why} after {far}"),
        None => why,
    })
}

/// How operations, the run and assertions went, where not all went well: a clause each, wrong data first.
pub(crate) fn clauses(found: &Judgements, operations: u64) -> Vec<String> {
    let mut clauses = Vec::new();
    let of = |count: u64| {
        let plural = if operations == 1 { "" } else { "s" };
        format!("{} of {} operation{plural}", units::count(count), units::count(operations))
    };
    match found.count(JudgementKind::WrongContent) {
        0 => {}
        n => clauses.push(format!("WRONG DATA: {} did not read what was written", of(n))),
    }
    clauses.extend(why_incomplete(found).map(|why| format!("incomplete: {why}")));
    match found.failed() - found.count(JudgementKind::WrongContent) {
        0 => {}
        n => {
            // Of as many the first: what failed later may be its consequence.
            let most =
                found.of(JudgementKind::OperationFailed).min_by_key(|one| std::cmp::Reverse(one.count));
            // Who is told that a full disk ended the run knows why.
            let is_told = found.count(JudgementKind::CutShort) > 0;
            let most = most.filter(|one| !(is_told && matches!(one.errno, ENOSPC | EDQUOT)));
            let why = most.map_or(String::new(), |one| format!(" ({}: {})", one.operation, reason(one)));
            clauses.push(format!("{} failed{why}", of(n)));
        }
    }
    match found.succeeded_against_expectation() {
        0 => {}
        1 => clauses.push("1 operation succeeded that was to fail".into()),
        n => clauses.push(format!("{} operations succeeded that were to fail", units::count(n))),
    }
    match found.count(JudgementKind::AssertionFailed) {
        0 => {}
        1 => clauses.push("an assertion does not hold".into()),
        n => clauses.push(format!("{} assertions do not hold", units::count(n))),
    }
    // Each of them is one for each rank.
    match found.of(JudgementKind::AssertionNotEvaluated).count() {
        0 => {}
        1 => clauses.push("an assertion was not evaluated".into()),
        n => clauses.push(format!("{} assertions were not evaluated", units::count(n as u64))),
    }
    clauses
}

/// What was found, as warnings of a report: one a kind.
pub fn warnings(found: &Judgements) -> Vec<Warning> {
    let told = lines(found);
    let mut warnings: Vec<Warning> = Vec::new();
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for one in told {
        let (code, advice) = match one.kind {
            JudgementKind::WrongContent => (
                "wrong-content",
                "the file was changed after it was written, or the storage returned wrong data: trust neither",
            ),
            JudgementKind::RankLost | JudgementKind::CutShort | JudgementKind::ProgramAtFault => (
                "incomplete",
                "the report shows what was measured until then; run it again before you draw conclusions",
            ),
            JudgementKind::OperationFailed | JudgementKind::Unknown => (
                "failed-operations",
                "what failed is left out of rates and times; column `errno` of the run file says with what error",
            ),
            JudgementKind::ExpectationNotMet => {
                ("unmet-expectation", "the program says `expect` where it should not, or the system changed")
            }
            JudgementKind::AssertionFailed => ("failed-assertion", ""),
            JudgementKind::AssertionNotEvaluated => (
                "unevaluated-assertion",
                "let the loop end by itself (`for 30s { … }`), so that what follows it is executed",
            ),
            JudgementKind::ShortWrite | JudgementKind::ShortRead | JudgementKind::FailedAsExpected => {
                continue;
            }
        };
        let told = match one.places.is_empty() {
            true => one.examples.first().cloned().unwrap_or_default(),
            false => one.places.join("; "),
        };
        let text = if told.is_empty() { one.head } else { format!("{}: {told}", one.head) };
        match warnings.iter_mut().find(|known| known.code == code) {
            Some(known) => {
                let more = others.entry(code).or_default();
                *more += 1;
                if *more < MOST_IN_A_WARNING {
                    known.text += &format!("; {text}");
                }
            }
            None => warnings.push(Warning { code: code.into(), text, advice: advice.into() }),
        }
    }
    for warning in &mut warnings {
        let left =
            others.get(warning.code.as_str()).map_or(0, |more| (more + 1).saturating_sub(MOST_IN_A_WARNING));
        if left > 0 {
            warning.text += &format!("; and {left} more places");
        }
        let begins = if warning.code == "incomplete" { "The run is incomplete: " } else { "" };
        warning.text = format!("{begins}{}.", warning.text.trim_end_matches('.'));
    }
    warnings.extend(of_short(found));
    warnings
}

/// The code of the warning about transfers that took several calls, which makes no run less than well.
pub(crate) const SHORT_TRANSFER: &str = "short-transfer";

/// That transfers took several calls; none where all moved at once what they were asked to.
fn of_short(found: &Judgements) -> Option<Warning> {
    let parts = [(JudgementKind::ShortWrite, "write"), (JudgementKind::ShortRead, "read")];
    let told: Vec<String> = parts
        .iter()
        .map(|(kind, what)| (found.count(*kind), what))
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}{}", units::count(count), if count == 1 { "" } else { "s" }))
        .collect();
    let most = parts.iter().flat_map(|(kind, _)| found.of(*kind)).max_by_key(|one| one.count);
    let place = most.map_or(String::new(), |one| format!(" ({})", place(one)));
    let text = format!(
        "{} moved fewer bytes at once than requested, and further calls completed {}{place}.",
        told.join(" and "),
        if parts.iter().map(|(kind, _)| found.count(*kind)).sum::<u64>() == 1 { "it" } else { "them" },
    );
    (!told.is_empty()).then(|| Warning {
        code: SHORT_TRANSFER.into(),
        text,
        advice: "their durations hold several calls; one call moves at most 2,147,479,552 bytes".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(rank: u32) -> Judgement {
        let text = format!("was killed by SIGKILL; its {rank} samples are kept");
        let example = JudgementExample { rank: Some(rank), text, ..JudgementExample::default() };
        Judgement { kind: JudgementKind::RankLost, count: 1, examples: vec![example], ..Judgement::default() }
    }

    #[test]
    fn a_run_that_was_stopped_has_one_line_and_not_one_a_rank() {
        let mut found = Judgements::default();
        (0..16).for_each(|rank| found.add(lost(rank)));
        assert_eq!(lines(&found).len(), NAMED);
        let what = "Ctrl-C".to_owned();
        found.add(Judgement { kind: JudgementKind::CutShort, what, count: 1, ..Judgement::default() });
        let told = lines(&found);
        let heads: Vec<&str> = told.iter().map(|one| one.head.as_str()).collect();
        assert_eq!(
            heads,
            ["rank 0 was killed by SIGKILL; its 0 samples are kept", "the run was stopped by Ctrl-C"]
        );
        assert_eq!(told[0].examples, ["and 15 other ranks"]);
        assert_eq!(why_incomplete(&found).as_deref(), Some("stopped by Ctrl-C"));
    }

    #[test]
    fn a_run_that_was_stopped_says_how_far_it_came() {
        let mut found = Judgements::default();
        let what = "Ctrl-C".to_owned();
        found.add(Judgement { kind: JudgementKind::CutShort, what, count: 1, ..Judgement::default() });
        found.progress = Some(Progress { done: 68, planned: 400, unit: ProgressUnit::Steps });
        assert_eq!(why_incomplete(&found).as_deref(), Some("stopped by Ctrl-C after 68 of 400 steps"));
        assert_eq!(lines(&found)[0].head, "the run was stopped by Ctrl-C; 68 of 400 steps were done");
    }

    #[test]
    fn short_transfers_are_a_warning_of_a_run_that_went_well() {
        let mut found = Judgements::default();
        assert_eq!(warnings(&found), []);
        let one = |kind, operation: &str, count| Judgement {
            kind,
            count,
            line: 3,
            operation: operation.into(),
            ..Judgement::default()
        };
        found.add(one(JudgementKind::ShortWrite, "fwrite", 2));
        found.add(one(JudgementKind::ShortRead, "fread", 1));
        let [told] = &warnings(&found)[..] else { panic!("one warning") };
        let text = "2 writes and 1 read moved fewer bytes at once than requested, and further calls completed them \
                    (fwrite in line 3).";
        assert_eq!((told.code.as_str(), told.text.as_str()), (SHORT_TRANSFER, text));
        assert!(lines(&found).is_empty() && found.are_well());
    }

    #[test]
    fn wrong_data_are_listed_with_how_many_more_there_are() {
        let mut found = Judgements::default();
        for file in 0..7 {
            let example = JudgementExample {
                rank: Some(0),
                text: format!("line 2: read(\"blk{file}\"): wrong"),
                file: format!("blk{file}"),
                byte: Some(4_000 + file),
                content: "it was changed".into(),
                ..JudgementExample::default()
            };
            let kind = JudgementKind::WrongContent;
            let examples = if file < 3 { vec![example] } else { Vec::new() };
            let (line, operation) = (2, "read".into());
            found.add(Judgement { kind, line, operation, count: 1, examples, ..Judgement::default() });
        }
        let [told] = &warnings(&found)[..] else { panic!("one warning") };
        let text = "WRONG DATA: read in line 2 did not read what was written, 7 times: blk0, byte 4000: it was changed; \
                    blk1, byte 4001: it was changed; blk2, byte 4002: it was changed; and 4 more reads.";
        assert_eq!(told.text, text);
        assert_eq!(lines(&found)[0].examples.last().map(String::as_str), Some("and 4 more reads"));
    }

    #[test]
    fn a_wrong_byte_that_was_read_again_is_told_once_and_before_what_ended_the_run() {
        let mut found = Judgements::default();
        let (file, content) = ("blk".to_owned(), "changed".to_owned());
        let example = JudgementExample { byte: Some(4_000), file, content, ..JudgementExample::default() };
        let (kind, examples) = (JudgementKind::WrongContent, vec![example; 3]);
        found.add(Judgement { kind, count: 5, examples, ..Judgement::default() });
        let what = "Ctrl-C".to_owned();
        found.add(Judgement { kind: JudgementKind::CutShort, what, count: 1, ..Judgement::default() });
        assert_eq!(lines(&found)[0].places, ["blk, byte 4000: changed (3 reads)", "and 2 more reads"]);
        let told = clauses(&found, 10);
        assert!(told[0].starts_with("WRONG DATA: 5 of 10 ") && told[1] == "incomplete: stopped by Ctrl-C");
    }

    #[test]
    fn each_kind_has_its_words() {
        let mut found = Judgements::default();
        let one = |kind, errno, count| Judgement {
            kind,
            errno,
            count,
            line: 3,
            operation: "fread".into(),
            reason: if errno == 5 { "EIO, input/output error".into() } else { String::new() },
            ..Judgement::default()
        };
        found.add(one(JudgementKind::WrongContent, 74, 1));
        found.add(one(JudgementKind::OperationFailed, 5, 2));
        found.add(one(JudgementKind::ExpectationNotMet, 0, 2));
        found.add(one(JudgementKind::ExpectationNotMet, 13, 1));
        let heads: Vec<String> = lines(&found).into_iter().map(|one| one.head).collect();
        assert_eq!(
            heads,
            [
                "WRONG DATA: fread in line 3 did not read what was written, once: errno 74",
                "fread in line 3 failed 2 times: EIO, input/output error",
                "fread in line 3 succeeded 2 times, but was to fail",
                "fread in line 3 failed once otherwise than expected: errno 13",
            ]
        );
        assert_eq!(
            clauses(&found, 10),
            [
                "WRONG DATA: 1 of 10 operations did not read what was written",
                "3 of 10 operations failed (fread: EIO, input/output error)",
                "2 operations succeeded that were to fail",
            ]
        );
    }
}
