//! The answer of a first screen: what ran, how it went, throughput, typical and slow.

use results::{AnswerNumbers, AnswerPart, AnswerValue, QuantileInterval, ResultRow};
use samples::{JudgementKind, Judgements, SiteKind, UntilFacts, units};

use super::AnswerSign;
use super::number::{bandwidth, in_doubt, three, time, two_digits};
use crate::words::operation::{noun, plural};
use crate::{Analysis, Report, words};

/// What is analysed, unless curves, several rows or the table are the answer, or writes with what makes them safe: no
/// distribution was fitted to these.
pub(crate) fn subject(report: &Report) -> Option<&Analysis> {
    judged(report).filter(|_| report.numbers.parts.len() <= 1)
}

/// Are times until writes are safe the answer?
pub(super) fn is_of_safe(report: &Report) -> bool {
    report.brief.is_empty() && report.numbers.parts.iter().any(|part| part.value == AnswerValue::Safe)
}

/// What the verdict is of: the subject or, of a mix, the operation of it that was analysed. Phases one after another have none:
/// no one of them is what was asked.
pub(crate) fn judged(report: &Report) -> Option<&Analysis> {
    let main = report.main.as_ref().filter(|_| report.brief.is_empty() && !is_of_safe(report))?;
    match report.numbers.parts.len() {
        0 | 1 => main.subject.share.is_none_or(|share| share >= 0.5),
        _ => report.numbers.operations_per_second.is_some(),
    }
    .then_some(main)
}

/// The operation of a mix that the verdict is of.
pub(crate) fn judged_name(report: &Report) -> Option<String> {
    let name = &judged(report).filter(|_| report.numbers.parts.len() > 1)?.subject.name;
    Some(plural(name.rsplit(" / ").next().unwrap_or(name)))
}

/// The operation that the first part of the answer is about: of steps the one with the most of their time.
pub(crate) fn operation(report: &Report) -> Option<&ResultRow> {
    let part = report.numbers.parts.first().filter(|_| report.brief.is_empty())?;
    report.results.get(part.row).filter(|row| row.kind == SiteKind::Operation)
}

/// The operation whose slow ones make the slow values of the answer: of writes until they are safe what makes them so.
pub(super) fn slow_operation(report: &Report) -> Option<&ResultRow> {
    let row = operation(report)?;
    let is_safe = report.numbers.parts.first().is_some_and(|part| part.value == AnswerValue::Safe);
    let beside =
        report.results.iter().filter(|other| is_safe && other.labels == row.labels && other.is_sync());
    let busy = |row: &ResultRow| row.busy_seconds.unwrap_or(0.0);
    beside.max_by(|a, b| busy(a).total_cmp(&busy(b))).or(Some(row))
}

/// Was no operation done, although nothing went wrong?
fn did_nothing(report: &Report) -> bool {
    report.numbers.attempts() == 0 && report.judgements.are_well() && report.facts.steady.is_none()
}

/// `This run filled nofile first (64 MiB) and removed it at its end.`, as the program says of itself.
pub(super) fn laid_out(report: &Report) -> Option<String> {
    let said = report.facts.report.get("laid_out").filter(|_| report.facts.complete)?;
    let is_done = |row: &ResultRow| row.bytes > 0 && row.label.as_deref() == Some("lay out");
    report.results.iter().any(is_done).then_some(())?;
    // The size is a parameter of the program, in bytes.
    let number =
        said.split_once('(').map_or("", |(_, rest)| rest.split([')', ' ']).next().unwrap_or_default());
    let size = number.parse().map_or(number.to_owned(), units::bytes);
    Some(format!("This run filled {}.", said.replacen(&format!("({number}"), &format!("({size}"), 1)))
}

/// What came of reads that the program verifies; none where it asked in vain, which the outcome says.
pub(crate) fn verified(report: &Report) -> Option<String> {
    let told = words::verified::told(&report.numbers, &report.facts, &report.judgements);
    told.filter(|(in_vain, _)| !in_vain).map(|(_, text)| text)
}

/// The same as a sentence, with what it means for the rates: the program checks between its operations, in the same block.
pub(crate) fn verified_sentence(report: &Report) -> Option<String> {
    /// A rank that had an operation under way for this share of the time checked in next to none.
    const BUSY: f64 = 0.9;
    let has_rates = is_shown(report) && report.brief.is_empty();
    let is_slowed = |part: &AnswerPart| {
        let ranks = part.ranks.unwrap_or(1) as f64;
        let is_rated = part.operations_per_second.is_some() && results::is_read(&part.operation);
        is_rated && part.achieved_depth.is_some_and(|depth| depth < BUSY * ranks)
    };
    let slowed = has_rates && report.numbers.parts.iter().any(is_slowed);
    let rates = if slowed { "; the rates below count the time that this took" } else { "" };
    verified(report).map(|text| format!("{}{rates}.", words::capital(&text)))
}

/// How it went, and what it came to: the sign and its text. ✔ is for a run that did what it was asked to.
pub(crate) fn outcome(report: &Report) -> (AnswerSign, String) {
    let AnswerNumbers { errors, operations, failed_as_expected: expected, bytes, .. } = report.numbers;
    let found = &report.judgements;
    let mut clauses = words::judgement::clauses(found, report.numbers.attempts());
    let mut counts = Vec::new();
    if found.failed() == 0 {
        let plural = if operations == 1 { "" } else { "s" };
        counts.push(format!("{} operation{plural}, {errors} errors", units::count(operations)));
    }
    if expected > 0 {
        counts.push(format!("{} failed as expected", units::count(expected)));
    }
    match bytes {
        0 => {}
        bytes => counts.push(format!("{} moved", units::bytes(bytes))),
    }
    let in_vain = words::verified::told(&report.numbers, &report.facts, found);
    let in_vain = in_vain.and_then(|(in_vain, text)| in_vain.then_some(text));
    let nothing = did_nothing(report);
    if nothing {
        clauses.push("nothing was measured: the program did no operation".into());
    } else if !counts.is_empty() {
        clauses.push(counts.join(", "));
    }
    let is_missed = |until: &UntilFacts| !until.reached && !until.is_of_time();
    let missed = report.facts.until.as_ref().is_some_and(is_missed);
    let sign = match found.are_well() {
        false => AnswerSign::Bad,
        true if nothing || missed || in_vain.is_some() => AnswerSign::Caution,
        true => AnswerSign::Good,
    };
    clauses.extend(in_vain.filter(|_| !nothing));
    let until = report.facts.until.as_ref().map_or(String::new(), words::until::ended_by);
    let told = format!("{}{until}", clauses.join("; "));
    match report.unwritten.as_slice() {
        [] => (sign, told),
        lost => (AnswerSign::Bad, format!("{} could not be written; {told}", lost.join(" and "))),
    }
}

/// What is told of the first things that were found, of at most so many.
pub(super) fn found(report: &Report, most: usize) -> Vec<String> {
    let wrong = report.judgements.of(JudgementKind::WrongContent).next();
    if let Some((one, example)) = wrong.and_then(|one| Some((one, one.examples.first()?)))
        && let Some(byte) = words::judgement::wrong_byte(example)
    {
        let more = report.judgements.count(JudgementKind::WrongContent).saturating_sub(1);
        let more = words::judgement::and_more(more).map_or(String::new(), |more| format!("; {more}: -v"));
        let rank = example.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
        return vec![
            format!("{byte}{more}"),
            format!("{} in line {}{rank}. Trust neither this file nor its storage.", one.operation, one.line),
        ];
    }
    let told = words::judgement::parts(&report.judgements).into_iter().filter(|one| !one.is_outcome);
    // Of an operation its first example says all; of a rank it says which others were lost with it.
    let line = |one: words::judgement::Told| match (one.kind, one.examples.first()) {
        (_, None) => one.head,
        (JudgementKind::RankLost, Some(others)) => format!("{}; {others}", one.head),
        (_, Some(example)) => example.clone(),
    };
    told.map(line).take(most).collect()
}

/// Is what was measured the answer? Not of a run with wrong data.
pub(crate) fn is_shown(report: &Report) -> bool {
    are_shown(&report.judgements)
}

/// Are rates and times of a run in which this was found its answer? Not of one with wrong data.
pub fn are_shown(found: &Judgements) -> bool {
    found.count(JudgementKind::WrongContent) == 0
}

/// Whether others of the operations that met wrong data met none: what `-v` shows is of these.
fn has_times_of_wrong(report: &Report) -> bool {
    let wrong = || report.judgements.of(JudgementKind::WrongContent);
    report.results.iter().any(|row| {
        row.timings > 0
            && row.kind == SiteKind::Operation
            && wrong().any(|one| one.operation == row.operation)
    })
}

/// May a distribution and a picture stand below? Not where operations failed, or did not and were to.
pub(super) fn is_sound(report: &Report) -> bool {
    let found = &report.judgements;
    found.failed() == 0 && found.succeeded_against_expectation() == 0
}

/// Typical and slow, throughput: sentences.
pub(crate) fn sentences(report: &Report) -> String {
    if !is_shown(report) {
        return match has_times_of_wrong(report) {
            true => "Rates and times of a run with wrong data are not shown (-v shows them).".into(),
            false => "No such read returned the right data: there are no rates and times of them.".into(),
        };
    }
    if !report.brief.is_empty() {
        return report.brief.join(" ");
    }
    if did_nothing(report) {
        return String::new();
    }
    let said = match report.numbers.parts.as_slice() {
        [] => no_subject(report),
        [only] => of_one(report, only),
        several => of_several(&report.numbers, several),
    };
    let steady = report.facts.steady.as_ref().and_then(words::steady::sentence);
    [Some(said), words::rate::behind(&report.numbers.parts), steady]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The sentences of an answer of one part.
fn of_one(report: &Report, part: &AnswerPart) -> String {
    let mut text = Vec::new();
    // Of steps their time is the answer, of a load its rate.
    if part.value == AnswerValue::Step {
        text.extend(typical_and_slow(part));
        text.extend(throughput(part));
    } else {
        text.extend(throughput(part));
        text.extend(typical_and_slow(part));
    }
    let subject = report.main.as_ref().map(|main| &main.subject);
    let share = subject.and_then(|subject| Some((subject, subject.share?, subject.runner_up.as_ref()?)));
    if let Some((subject, share, (next, of_next))) = share {
        // Of calls that make data safe, how fast the data came is told all the same.
        let row = report.results.iter().find(|row| part.bytes_per_second.is_none() && row.name() == *next);
        let moved = row.and_then(|row| row.bytes_per_second).map(|rate| format!(" with {}", bandwidth(rate)));
        let next = if *next == subject.name { "another of that name" } else { next };
        text.push(format!(
            "This is of {} ({} of the time{}, {next} {}{}).",
            subject.name,
            rounded(share),
            if results::has_much_set_up(&report.results) { " but for opening and closing" } else { "" },
            rounded(*of_next),
            moved.unwrap_or_default()
        ));
    }
    text.join(" ")
}

/// `1 000/s total: reads 510/s, 1.99 MiB/s; writes 490/s, 1.91 MiB/s.` and how long each takes; of phases each by its name.
fn of_several(numbers: &AnswerNumbers, parts: &[AnswerPart]) -> String {
    let rates = |part: &AnswerPart| {
        let rate = part.operations_per_second.map(|rate| format!("{}/s", three(rate)));
        let all: Vec<String> = rate.into_iter().chain(part.bytes_per_second.map(bandwidth)).collect();
        if all.is_empty() { "too few for a rate".into() } else { all.join(", ") }
    };
    let Some(total) = numbers.operations_per_second else {
        let each = parts.iter().map(|part| match &part.label {
            Some(label) => format!("{label} {}", rates(part)),
            None => format!("{} {}", part.operation, rates(part)),
        });
        return format!("{}.", each.collect::<Vec<_>>().join("; "));
    };
    let each: Vec<String> =
        parts.iter().map(|part| format!("{} {}", plural(&part.operation), rates(part))).collect();
    let asked: Option<f64> = parts.iter().map(|part| Some(part.rate?.asked_per_second)).sum();
    let keeps_up = parts.iter().all(|part| part.rate.is_some_and(|rate| rate.keeps_up));
    let asked = asked.map_or(String::new(), |asked| match keeps_up {
        true => words::rate::as_requested(Some(total), asked).into(),
        // Each part is known by when its own were due: their sum is not exact to a third digit.
        false => words::rate::missed(parts, &format!("about {}", three(two_digits(asked)))),
    });
    let mut text = vec![format!("{}/s total{}{asked}: {}.", three(total), busy(parts), each.join("; "))];
    let response = parts.iter().any(AnswerPart::is_from_schedule);
    let times: Vec<String> = parts.iter().filter_map(times_in_short).collect();
    if !times.is_empty() {
        let what = if response { "From each scheduled start" } else { "Times" };
        text.push(format!("{what}: {}.", times.join("; ")));
    }
    text.join(" ")
}

/// `read median 187 µs, p99 9.04 ms`.
pub(crate) fn times_in_short(part: &AnswerPart) -> Option<String> {
    let found = part.quantiles_seconds.as_ref()?;
    let slow = found
        .p99
        .map_or(format!("slowest {}", time(found.max)), |p99| format!("p99 {}", doubted(part, 0.99, p99)));
    let safe = if part.value == AnswerValue::Safe { " until safe" } else { "" };
    Some(format!("{}{safe} median {}, {slow}", noun(&part.operation), time(found.p50)))
}

/// A block that fills a smaller share of the run is told with it: its rate is far from what a reader saw.
const HARDLY_BUSY: f64 = 0.5;

/// ` while writing` where pauses make up a tenth of the run or more; `, 0.6% of the run` where they are most of it.
fn busy(parts: &[AnswerPart]) -> String {
    let doing = |operation: &str| match operation {
        "fread" | "read" | "dread" | "pfread" | "pread" => "reading",
        "fwrite" | "write" | "append" | "dwrite" | "pfwrite" | "pwrite" => "writing",
        "create" | "mkdir" => "creating",
        "unlink" | "rmdir" | "delete" => "removing",
        "stat" => "looking",
        _ => "at work",
    };
    let mut words: Vec<&str> =
        parts.iter().filter(|part| part.only_while_busy).map(|part| doing(&part.operation)).collect();
    words.dedup();
    if words.is_empty() {
        return String::new();
    }
    let share = parts
        .iter()
        .filter(|part| part.only_while_busy)
        .filter_map(|part| part.busy_share)
        .fold(0.0, f64::max);
    let hardly = match share {
        share if share > 0.0 && share < HARDLY_BUSY => format!(" ({}% of the run)", three(100.0 * share)),
        _ => String::new(),
    };
    format!(" while {}{hardly}", words.join(" and "))
}

/// A share in whole percent: `76%`.
fn rounded(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// `548 MiB/s, 37.2 writes/s over 16 ranks while writing.` Of a handful of operations bytes a second alone, if any.
fn throughput(part: &AnswerPart) -> Option<String> {
    let (rates, of) = rates(part);
    (!rates.is_empty()).then(|| format!("{}{of}.", rates.join(", ")))
}

/// Bytes and operations a second of a part, and what follows them: over how many ranks, in what time, of how many requested.
pub(crate) fn rates(part: &AnswerPart) -> (Vec<String>, String) {
    let rate =
        part.operations_per_second.map(|rate| format!("{} {}/s", three(rate), plural(&part.operation)));
    let rates: Vec<String> = part.bytes_per_second.map(bandwidth).into_iter().chain(rate).collect();
    let over = part.ranks.filter(|ranks| *ranks > 1);
    let over = over.map_or(String::new(), |ranks| format!(" over {ranks} ranks"));
    let busy = busy(std::slice::from_ref(part));
    let of = part.rate.map_or(busy.clone(), |rate| match rate.keeps_up {
        true => busy + words::rate::as_requested(part.operations_per_second, rate.asked_per_second),
        false => words::rate::missed(std::slice::from_ref(part), &three(rate.asked_per_second)) + &busy,
    });
    (rates, format!("{over}{of}"))
}

/// `A step takes 13.2 ms (median); 1 in 100 takes longer than 146 ms.` Of several sizes no time is that of an operation.
fn typical_and_slow(part: &AnswerPart) -> Option<String> {
    let found = part.quantiles_seconds.as_ref()?;
    let (name, p50) = (if part.is_block { &part.name } else { &part.operation }, time(found.p50));
    let from = if part.is_from_schedule() { ", from its scheduled start," } else { "" };
    let typical = match (part.value, part.bytes_per_operation) {
        (AnswerValue::Step, _) => format!("A step{from} takes {p50} (median)"),
        (AnswerValue::Safe, _) => format!("Data of one {name} are safe after {p50} (median)"),
        (_, Some([least, most])) if part.has_several_sizes() => {
            let sizes = format!("{} to {}", units::bytes(least), units::bytes(most));
            format!("Of all {name} of {sizes} together half take up to {p50}")
        }
        (AnswerValue::Response | AnswerValue::Operation, _) => {
            let one = if part.is_block { format!("One {name}") } else { words::operation::one(name) };
            format!("{one}{from} takes {p50} (median)")
        }
    };
    let slow = match (found.p99, part.interval(0.99)) {
        (Some(p99), Some(interval)) if interval.upper_seconds.is_none() => {
            format!("1 in 100 took longer than {}, {}", time(p99), without_upper_end(interval, part))
        }
        (Some(p99), _) => format!("1 in 100 takes longer than {}", time(p99)),
        (None, _) => format!("the slowest took {}", time(found.max)),
    };
    Some(format!("{typical}; {slow}."))
}

/// The numbers of an answer in one line: rate, median, p99, slowest of each part.
pub(super) fn in_short(numbers: &AnswerNumbers) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(numbers.operations_per_second.map(|rate| format!("{}/s total", three(rate))));
    let several = numbers.parts.len() > 1;
    for part in &numbers.parts {
        let name = if several { &part.name } else { &part.operation };
        found.extend(part.bytes_per_second.map(|rate| match several {
            true => format!("{name} {}", bandwidth(rate)),
            false => bandwidth(rate),
        }));
        let while_busy = if several { String::new() } else { busy(&numbers.parts) };
        found.extend(
            part.operations_per_second
                .map(|rate| format!("{} {}/s{while_busy}", three(rate), plural(&part.operation))),
        );
        if let Some(quantiles) = &part.quantiles_seconds {
            let until = match part.value {
                AnswerValue::Safe => "until safe ",
                AnswerValue::Step => "step ",
                AnswerValue::Operation | AnswerValue::Response => "",
            };
            // In a run that counts no rate names the part.
            let is_named = part.bytes_per_second.or(part.operations_per_second).is_some();
            let of = if several && !is_named { format!("{name} ") } else { String::new() };
            found.push(format!("{of}{until}p50 {}", time(quantiles.p50)));
            found.extend(quantiles.p99.map(|p99| format!("p99 {}", doubted(part, 0.99, p99))));
            found.extend(quantiles.p999.map(|p999| format!("p99.9 {}", doubted(part, 0.999, p999))));
            found.push(format!("max {}", time(quantiles.max)));
        }
    }
    found
}

/// A quantile with `?` where its interval has no upper end, as in the table of the screen.
pub(super) fn doubted(part: &AnswerPart, probability: f64, seconds: f64) -> String {
    in_doubt(seconds, part.interval(probability))
}

/// `but p99 is uncertain (at least 11.3 ms): slow values cluster; 520 steps or more would give p99 an upper limit`.
fn without_upper_end(interval: &QuantileInterval, part: &AnswerPart) -> String {
    /// What counts as more of itself has no clusters worth a word.
    const ALONE: f64 = 0.9;
    let may = match interval.lower_seconds {
        Some(lower) => format!("but p99 is uncertain (at least {})", time(lower)),
        None => "but p99 is uncertain".to_owned(),
    };
    let count = part.count;
    let what = if part.value == AnswerValue::Step { "steps" } else { "operations" };
    let together = interval.effective_n < ALONE * count as f64;
    let enough = interval.enough(count).map(|enough| units::count(rounded_up(enough)));
    match (together, enough) {
        (true, Some(enough)) => {
            format!("{may}: slow values cluster; {enough} {what} or more would give p99 an upper limit")
        }
        (true, None) => format!("{may}: slow values cluster, too few for an upper limit"),
        (false, enough) => {
            let enough = enough.map_or(String::new(), |enough| format!(", about {enough} are enough"));
            format!("{may}: {} are too few for an upper limit{enough}", units::count(count))
        }
    }
}

/// The next number of two digits and zeros.
fn rounded_up(number: u64) -> u64 {
    let unit = 10u64.pow(number.max(1).ilog10().saturating_sub(1));
    number.div_ceil(unit) * unit
}

/// What to say where no operation stands for the run: how much was done in what time, and what took most of it.
fn no_subject(report: &Report) -> String {
    let share = report.main.as_ref().and_then(|main| Some((&main.subject, main.subject.share?)));
    let operations = report.numbers.operations;
    let done = |rest: String| {
        let plural = if operations == 1 { "" } else { "s" };
        let elapsed = report.facts.elapsed_s;
        let within = if elapsed > 0.0 { format!(" in {}", time(elapsed)) } else { String::new() };
        format!("{} operation{plural}{within}{rest}.", samples::units::count(operations))
    };
    match (share, operations) {
        (_, 0) if report.numbers.errors > 0 => "Every operation failed.".into(),
        (_, 0) if report.numbers.failed_as_expected > 0 => "Every operation failed, as expected.".into(),
        (Some((subject, share)), _) => {
            let of = |name: &str, share: f64| format!("{name} {}", rounded(share));
            let own = of(&subject.name, share);
            done(match &subject.runner_up {
                Some((name, of_it)) if *of_it > share => {
                    format!("; of their time {}, in too few calls to say more, {own}", of(name, *of_it))
                }
                Some((name, of_it)) => format!("; of their time {own}, {}", of(name, *of_it)),
                None => format!("; of their time {own}"),
            })
        }
        (None, _) if report.results.iter().any(|row| row.timings > 0) => done(String::new()),
        (None, _) => "Nothing was measured that could be analysed.".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReportOptions, build};

    #[test]
    fn why_p99_has_no_upper_end_is_said_as_it_is() {
        let report = build(&samples::example::parallel_write(2, 30, 1), &ReportOptions::default());
        let part = report.numbers.only().expect("one part");
        let said = |lower_seconds, effective_n, count| {
            let (probability, seconds, upper_seconds) = (0.99, 0.0126, None);
            let interval =
                QuantileInterval { probability, seconds, lower_seconds, upper_seconds, effective_n };
            without_upper_end(&interval, &AnswerPart { count, ..part.clone() })
        };
        assert_eq!(
            said(Some(0.0113), 200.0, 200),
            "but p99 is uncertain (at least 11.3 ms): 200 are too few for an upper limit, about 370 are enough"
        );
        let together = said(None, 289.0, 400);
        let said =
            "but p99 is uncertain: slow values cluster; 520 steps or more would give p99 an upper limit";
        assert_eq!(together, said);
    }
}
