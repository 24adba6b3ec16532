//! Whether to trust a result, what slowed it, who stands out, and what to do next: the lower half of a first screen.

use results::Steadiness;
use samples::Warning;

use super::answer;
use super::distribution::{self, Verdict};
use super::number::{three, time};
use super::paint::Tone;
use crate::cause_words::style_of;
use crate::causes::Slowness;
use crate::{Report, words};

/// Parts of the excess that a screen names.
const MOST_CAUSES: usize = 3;

/// A sign, its tone, and what it says of the distribution in one sentence. None where curves or the table are the answer.
pub(super) fn verdict(report: &Report) -> Option<Verdict> {
    if answer::is_of_safe(report) {
        let text = "No verdict on times until data are safe: the command below judges one operation alone.";
        return Some(("–", Tone::Faint, text.to_owned()));
    }
    let (mark, tone, text) = of_judged(report)?;
    let text = match answer::judged_name(report) {
        Some(name) => format!("Of {}: {}", name, uncapital(&text)),
        None => text,
    };
    Some((mark, tone, text))
}

/// With a small letter first: it follows a colon.
fn uncapital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

/// The same without the name.
fn of_judged(report: &Report) -> Option<Verdict> {
    let main = answer::judged(report)?;
    let tail = main.tail.as_ref()?;
    let Some(found) = &tail.assessment else {
        let why = tail.refusal.as_deref().unwrap_or("there are no values");
        return Some(("–", Tone::Faint, format!("How rare slower ones are is not known: {why}.")));
    };
    Some(distribution::verdict(found, main.subject.value_name(), &time))
}

/// The sign alone where all is well or nothing is said; a caution in two or three words, which stands for itself.
pub(super) fn in_short(report: &Report) -> Option<String> {
    if answer::is_of_safe(report) {
        return Some("– no verdict".to_owned());
    }
    let (sign, tone, text) = of_judged(report)?;
    let name = answer::judged_name(report).map_or(String::new(), |name| format!(" {name}"));
    Some(match tone {
        Tone::Caution => {
            let what = text.split([':', '.']).next().unwrap_or_default().to_lowercase();
            format!("{sign}{name} {what}")
        }
        _ => format!("{sign}{name}"),
    })
}

/// What a reader must know of the numbers beside the verdict.
pub(super) fn notes(report: &Report) -> Vec<String> {
    let main = answer::judged(report);
    let found = main.and_then(|main| Some((main, main.tail.as_ref()?.assessment.as_ref()?)));
    found.map_or(Vec::new(), |(main, found)| distribution::notes(found, main.subject.value_name(), &time))
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

/// What is said above the table where the slowest hundredth was slow for want of a processor.
pub(super) fn waited(report: &Report) -> Option<String> {
    /// The share of the excess that tells more of the load of the processors than of what was measured.
    const MOSTLY: f64 = 0.5;
    // A table of many operations is not about one of them.
    answer::slow_operation(report).filter(|_| report.answer.is_none())?;
    let one = slowest(report).filter(|one| one.watched)?;
    let wait = samples::ExcessPart::RunQueue.name();
    let (_, share) = one.shares.iter().find(|(cause, share)| cause == wait && *share > MOSTLY)?;
    Some(format!(
        "CPU wait is {:.0}% of what made the slowest 1% of {} slow: p99 tells how busy the processors were.",
        100.0 * share,
        words::operation::plural(&one.operation)
    ))
}

/// So many times what it is without the wait is in good part a wait.
const GOOD_PART: f64 = 1.5;

/// The code of the warning.
pub(crate) const TYPICAL_WAIT: &str = "typical-wait";

/// [`typical_wait`], for the outputs that are no screen.
pub(crate) fn warning(report: &Report) -> Option<Warning> {
    Some(Warning {
        code: TYPICAL_WAIT.into(),
        text: typical_wait(report)?.trim_end_matches('.').into(),
        advice: "repeat on an idle machine".into(),
    })
}

/// Of a table of many operations: those whose typical time is in good part a wait for a processor.
fn typical_waits(report: &Report) -> Option<String> {
    const TOLD: usize = 3;
    let of = |one: &Slowness| {
        let without = one.corrected.as_ref()?.median;
        let name = match one.label.strip_prefix(". ").unwrap_or(&one.label) {
            "" => one.operation.clone(),
            label => format!("\"{label}\""),
        };
        (one.raw.median > GOOD_PART * without)
            .then(|| format!("{name} {} of {}", time(without), time(one.raw.median)))
    };
    let all: Vec<String> = report.causes.iter().filter_map(of).collect();
    let more = all.len().saturating_sub(TOLD);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    let told = all.iter().take(TOLD).cloned().collect::<Vec<_>>().join(", ");
    (!told.is_empty()).then(|| {
        format!("Typical times are in good part waits for a processor; without these: {told}{rest}.")
    })
}

/// What is said above the table where the typical time itself is in good part a wait for a processor.
pub(super) fn typical_wait(report: &Report) -> Option<String> {
    if !report.brief.is_empty() {
        return typical_waits(report);
    }
    let own = medians(report).map(|(what, medians)| (what.to_owned(), medians));
    let (what, [with, without]) = own.or_else(|| medians_of_sync(report))?;
    (with > GOOD_PART * without).then(|| {
        format!("In good part that is a wait for a processor: without it the {what} is {}.", time(without))
    })
}

/// The same in a few words.
pub(super) fn waited_in_short(report: &Report) -> Option<&'static str> {
    let slowest = waited(report).map(|_| "slowest 1%: CPU wait");
    typical_wait(report).map(|_| "in good part CPU wait").or(slowest)
}

/// The operation whose slowest hundredth is told: that which the screen is about, or where it cost most.
fn slowest(report: &Report) -> Option<&Slowness> {
    let of = answer::slow_operation(report);
    let is_it = |one: &&Slowness| {
        of.is_some_and(|row| {
            row.operation == one.operation && row.label.as_deref().unwrap_or_default() == one.label
        })
    };
    let excess = |a: &&Slowness, b: &&Slowness| a.excess_s.total_cmp(&b.excess_s);
    let about = report.causes.iter().filter(is_it).max_by(excess);
    about.or_else(|| report.causes.iter().filter(|_| of.is_none()).max_by(excess))
}

/// What slowed the slowest hundredth, of the operation that the screen is about, or where it cost most.
pub(super) fn slow(report: &Report) -> Option<String> {
    let of = answer::slow_operation(report);
    let coverage = report.facts.coverage.as_ref();
    if coverage.is_some_and(|coverage| coverage.unwanted) {
        return Some(crate::causes::NOT_LOOKED_FOR.into());
    }
    let one = slowest(report)?;
    if !one.watched {
        // A table of many operations is not about this one.
        return report.answer.is_none().then(|| crate::causes::NOT_WATCHED.into());
    }
    let parts: Vec<String> = one
        .shares
        .iter()
        .filter(|(_, share)| *share >= 0.01)
        .take(MOST_CAUSES)
        .map(|(cause, share)| format!("{} {:.0}%", style_of(cause).words, 100.0 * share))
        .collect();
    let what = match of.is_some() || one.label.is_empty() {
        true => words::operation::plural(&one.operation),
        false => {
            let label = one.label.strip_prefix(". ").unwrap_or(&one.label);
            format!("{} in \"{label}\"", words::operation::plural(&one.operation))
        }
    };
    // What is said above is of responses there; a late start has the operations before it as its cause.
    let from = match of.is_some_and(|row| row.response_quantiles_seconds.is_some()) {
        true => ", once begun",
        false => "",
    };
    // Their least is the p99 of the operation, which the table has.
    let without = without_wait(report).filter(|_| typical_wait(report).is_none()).unwrap_or_default();
    Some(format!("Slowest 1% of {what}{from}: {}.{without}", parts.join(", ")))
}

/// What the median of the answer is called, and what it is with its wait for a processor and less it, as the tables and the
/// JSON have it.
fn medians(report: &Report) -> Option<(&'static str, [f64; 2])> {
    let main = answer::subject(report)?;
    // The causes are about one operation, and the median may be that of a step.
    let what = if main.subject.gate { "median step" } else { "median" };
    Some((what, [main.summary.as_ref()?.median, main.corrected.as_ref()?.median]))
}

/// The same of what makes writes safe, where the answer is the time until they are.
fn medians_of_sync(report: &Report) -> Option<(String, [f64; 2])> {
    let syncs = |one: &&Slowness| matches!(one.operation.as_str(), "fsync" | "fdatasync" | "sync");
    let excess = |a: &&Slowness, b: &&Slowness| a.excess_s.total_cmp(&b.excess_s);
    let one = report.causes.iter().filter(|_| answer::is_of_safe(report)).filter(syncs).max_by(excess)?;
    Some((format!("median {}", one.operation), [one.raw.median, one.corrected.as_ref()?.median]))
}

/// The median without the wait; none where that is the same to the digits of a screen.
fn without_wait(report: &Report) -> Option<String> {
    let (what, [with, without]) = medians(report)?;
    (time(with) != time(without)).then(|| format!(" Without CPU wait the {what} is {}.", time(without)))
}

/// Which rank stands out; none of one rank, or of too few values.
pub(super) fn rank(report: &Report) -> Option<String> {
    let main = answer::subject(report)?;
    if let Some(found) = &main.targets {
        return Some(words::targets::first(found, &|rank| report.facts.name_of_rank(rank)));
    }
    // The groups of ranks are called by their numbers.
    let name =
        |group: &str| group.parse().map_or_else(|_| group.into(), |rank| report.facts.name_of_rank(rank));
    crate::groups::ranks_answer(main.groups.as_ref()?, &name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReportOptions, ScreenOptions, Summary, WrittenFiles, build};

    fn screen_of(run: &samples::Run, width: usize) -> (String, Report) {
        let report = build(run, &ReportOptions::default());
        let files = WrittenFiles { run: Some("run.parquet"), page: None };
        (report.first_screen(files, ScreenOptions { width, colour: false }), report)
    }

    #[test]
    fn a_tail_of_waits_for_a_processor_is_told_above_the_table() {
        let mut run = samples::example::parallel_write(1, 400, 7);
        let said = |run: &samples::Run| {
            let (screen, report) = screen_of(run, 120);
            (screen, report.one_line())
        };
        // Each waited a little: nothing that makes the slow ones slow.
        run.samples.iter_mut().for_each(|sample| sample.queue_ns = 1);
        let (screen, line) = said(&run);
        assert!(
            !screen.contains("how busy the processors were") && !line.contains("CPU wait"),
            "{screen}{line}"
        );
        for sample in &mut run.samples {
            sample.queue_ns = sample.duration_ps.saturating_sub(1_000_000_000) / 1000;
        }
        let (screen, line) = said(&run);
        let lines: Vec<&str> = screen.lines().collect();
        let at = |part: &str| lines.iter().position(|line| line.contains(part)).expect(part);
        assert!(at("⚠ CPU wait is ") < at("ops/s"), "{screen}");
        assert!(line.contains("slowest 1%: CPU wait"), "{line}");
    }

    #[test]
    fn the_median_without_the_wait_for_a_processor_stands_beside_the_causes() {
        let mut run = samples::example::parallel_write(1, 400, 7);
        let screen = |run: &samples::Run| {
            let (text, report) = screen_of(run, 100);
            (text.split_whitespace().collect::<Vec<_>>().join(" "), report)
        };
        assert!(!screen(&run).0.contains("Without CPU wait"));
        for sample in run.samples.iter_mut().filter(|sample| sample.duration_ps > 0) {
            sample.queue_ns = sample.duration_ps / 4_000;
        }
        let (text, report) = screen(&run);
        let less = report.main.as_ref().and_then(|main| main.corrected.as_ref()).expect("a correction");
        let told = format!("Without CPU wait the median step is {}.", time(less.median));
        assert!(text.contains(&told) && text.contains("Slowest 1% of"), "{text}");
        // Most of it: that is told where the median is, and once.
        for sample in run.samples.iter_mut().filter(|sample| sample.duration_ps > 0) {
            sample.queue_ns = sample.duration_ps / 2_000;
        }
        // No step takes less without its wait than the quickest with it.
        for sample in run.samples.iter_mut().filter(|sample| sample.duration_ps > 0).take(200) {
            (sample.duration_ps, sample.queue_ns) = (sample.duration_ps / 4, 0);
        }
        let (text, report) = screen(&run);
        let less = report.main.as_ref().and_then(|main| main.corrected.as_ref()).expect("a correction");
        let told = format!(
            "⚠ In good part that is a wait for a processor: without it the median step is {}.",
            time(less.median)
        );
        assert!(
            text.find(&told).is_some_and(|at| at < text.find("Slowest 1% of").expect("causes")),
            "{text}"
        );
        assert!(
            !text.contains("Without CPU wait") && report.one_line().contains("in good part CPU wait"),
            "{text}"
        );
        // Page and JSON have it as a warning.
        assert_eq!(report.warnings.iter().filter(|one| one.code == TYPICAL_WAIT).count(), 1);
    }

    #[test]
    fn of_a_table_of_operations_those_are_named_whose_median_is_in_good_part_a_wait() {
        let run = samples::example::parallel_write(1, 400, 7);
        let (_, mut report) = screen_of(&run, 100);
        report.brief = vec!["It has many operations.".into()];
        let of = |label: &str, with: f64, without: f64| {
            let summary = |median: f64| Summary {
                n: 1,
                mean: median,
                deviation: 0.0,
                min: median,
                median,
                p90: median,
                p99: None,
                p999: None,
                max: median,
            };
            Slowness {
                site: 0,
                label: label.into(),
                operation: "fsync".into(),
                raw: summary(with),
                corrected: Some(summary(without)),
                slow_from_s: 1.0,
                excess_s: 1.0,
                watched: true,
                attributed: 1.0,
                shares: Vec::new(),
            }
        };
        report.causes = vec![of("quick", 1e-3, 0.9e-3)];
        assert_eq!(typical_wait(&report), None);
        report.causes.extend([of(". safe", 4e-3, 0.2e-3), of("", 3e-3, 1e-3)]);
        let told = "Typical times are in good part waits for a processor; without these: \"safe\" 200 µs of 4.00 ms, fsync \
                    1.00 ms of 3.00 ms.";
        assert_eq!(typical_wait(&report).as_deref(), Some(told));
    }

    #[test]
    fn a_write_that_is_safe_late_because_its_fsync_waits_for_a_processor_is_told_so() {
        let mut run = samples::example::parallel_write(1, 1, 7);
        run.facts.report = [("samples".to_owned(), "fwrite".to_owned())].into();
        let own = |operation: &str| samples::Site { operation: operation.into(), ..run.sites[2].clone() };
        run.sites =
            ["fwrite", "fsync"].map(own).map(|site| samples::Site { labels: Vec::new(), ..site }).into();
        let mut random = tail::Xoshiro::new(3);
        let mut told = |queue_ns: u64| {
            let of = |site: u32, start_ns: u64, took_us: u64, queue_ns: u64| samples::Sample {
                site,
                start_ns,
                duration_ps: took_us * 1_000_000,
                bytes: u64::from(site == 0) * 4096,
                queue_ns,
                causes: samples::Causes::default().with(samples::Cause::Blocked).0,
                batch: 1,
                ..samples::Sample::default()
            };
            let mut pair = |at: u64| {
                let more = (200.0 * random.uniform()) as u64;
                // None takes less without its wait than the quickest with it.
                let (took, queue_ns) = if at < 80 { (200 + more, 0) } else { (4_000 + more, queue_ns) };
                [of(0, at * 9_000_000, 10, 0), of(1, at * 9_000_000 + 11_000, took, queue_ns)]
            };
            run.samples = (0..200).flat_map(&mut pair).collect();
            run.samples.sort_by_key(|sample| (sample.site, sample.start_ns));
            screen_of(&run, 100).0.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let wait = "In good part that is a wait for a processor: without it the median fsync is 2";
        let (waited, quick) = (told(3_800_000), told(100_000));
        assert!(waited.contains("safe after") && waited.contains(wait), "{waited}");
        assert!(quick.contains("safe after") && !quick.contains("In good part"), "{quick}");
    }
}
