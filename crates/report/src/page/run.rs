//! The page of a run: its head and its key numbers.

use results::{AnswerPart, AnswerValue};
use samples::units;

use super::document::{Document, Tile, VerdictCard};
use crate::screen::answer;
use crate::screen::number::{bandwidth, in_doubt, three, time};
use crate::tail_of::Tail;
use crate::text::{heading, surroundings};
use crate::unit::{Unit, significant};
use crate::{Analysis, Chapter, Report};

pub(crate) fn of_report(report: &Report, details: bool) -> String {
    let started = report.facts.began().unwrap_or_default().trim_end_matches('Z').replacen('T', " ", 1);
    let heading = heading(report);
    let summary = heading.strip_prefix(&report.title).unwrap_or(&heading).trim_start_matches(": ");
    let mut place = vec![summary.to_string()];
    place.extend(surroundings(report));
    // Whoever wants the times of a run with wrong data all the same opens a chapter.
    let is_shown = answer::is_shown(report);
    let fold = |chapter: &Chapter| Chapter { folded: true, ..chapter.clone() };
    let folded: Vec<Chapter> = match is_shown {
        true => Vec::new(),
        false => report.chapters.iter().map(fold).collect(),
    };
    // What the screen judges, and by what name.
    let judged = answer::judged(report).filter(|_| is_shown).and_then(|main| main.tail.as_ref());
    let of = answer::judged_name(report).map_or(String::new(), |name| format!("Of {name}. "));
    let verdict = judged.map(|tail| VerdictCard {
        label: "Verdict",
        code: tail.code(),
        text: format!("{of}{}", tail.text()),
        advice: tail.advice(),
        findings: tail.findings(),
    });
    let brief = (!report.brief.is_empty() && is_shown).then(|| VerdictCard {
        label: "In short",
        code: "summary".into(),
        text: report.brief.join(" "),
        ..VerdictCard::default()
    });
    Document {
        title: &report.title,
        kicker: if report.facts.is_simulated() {
            "Report of a simulated run".into()
        } else if started.is_empty() {
            "Report of a run".into()
        } else {
            format!("Report of the run of {started} UTC")
        },
        place,
        answer: answer_of(report),
        warnings: &report.warnings,
        verdict: brief.or(verdict),
        tiles: if is_shown { tiles_of(report) } else { Vec::new() },
        chapters: if is_shown { &report.chapters } else { &folded },
        facts: Some(&report.facts),
        details,
        timed_lines: &report.timed_lines,
        version: report.facts.versions.get("lastrank").map(String::as_str),
    }
    .html()
}

/// What the run came to, and the answer.
fn answer_of(report: &Report) -> Option<String> {
    let (sign, outcome) = answer::outcome(report);
    let sentences = match answer::is_shown(report) {
        true if !report.brief.is_empty() => String::new(),
        true => answer::sentences(report),
        false => {
            "Rates and times of a run with wrong data are no answer: the chapters that have them are folded."
                .into()
        }
    };
    let verified = answer::verified_sentence(report).map_or(String::new(), |said| format!("{said} "));
    Some(format!("{} {outcome}. {verified}{sentences}", sign.mark()).trim_end().to_owned())
}

/// The numbers of the answer, as the screen has them: of several parts the rate of each.
fn tiles_of(report: &Report) -> Vec<Tile> {
    let Some(main) = report.main.as_ref().filter(|_| report.brief.is_empty()) else { return Vec::new() };
    let distribution = answer::subject(report).is_some();
    match report.numbers.parts.as_slice() {
        [] => tiles(main, None, distribution),
        [only] => throughput(only).into_iter().chain(tiles(main, Some(only), distribution)).collect(),
        several => several.iter().filter_map(of_part).collect(),
    }
}

/// Bytes a second of the operation that the page is about, or operations a second where it moves none.
fn throughput(part: &AnswerPart) -> Option<Tile> {
    let (rates, of) = answer::rates(part);
    let (rate, others) = rates.split_first()?;
    let note = format!("{}{of}", others.join(", "));
    Some(Tile::new("Throughput", rate, note.trim_start_matches([' ', ','])))
}

/// One of several parts: how many a second, bytes a second, how long one takes.
fn of_part(part: &AnswerPart) -> Option<Tile> {
    let times = answer::times_in_short(part).unwrap_or_default();
    let times = times.strip_prefix(&part.operation).unwrap_or(&times).trim_start();
    let bytes = part.bytes_per_second.map(bandwidth);
    let name = part.label.as_ref().filter(|label| **label != part.operation);
    let name = name.map_or(part.operation.clone(), |label| format!("{label} / {}", part.operation));
    let notes: Vec<&str> =
        bytes.iter().map(String::as_str).chain([times]).filter(|note| !note.is_empty()).collect();
    let rate = format!("{} /s", three(part.operations_per_second?));
    Some(Tile::new(&name, &rate, &notes.join(", ")))
}

/// What the quantiles of the answer are of.
fn of_what(main: &Analysis, part: Option<&AnswerPart>) -> String {
    match part.map(|part| part.value) {
        Some(AnswerValue::Safe) => part.map(AnswerPart::told).unwrap_or_default(),
        Some(AnswerValue::Operation | AnswerValue::Response | AnswerValue::Step) | None => {
            main.subject.describe()
        }
    }
}

/// The key numbers of one part, or of what is analysed; `distribution`: whether they are of what the distribution is of.
pub(crate) fn tiles(main: &Analysis, part: Option<&AnswerPart>, distribution: bool) -> Vec<Tile> {
    let found = part.and_then(|part| part.quantiles_seconds.as_ref()).or(main.quantiles.as_ref());
    let Some(found) = found else { return Vec::new() };
    let (intervals, count) = match part {
        Some(part) => (&part.intervals, part.count),
        None => (&main.intervals, main.subject.steps.len() as u64),
    };
    let interval = |p: f64| intervals.iter().find(|one| one.probability == p);
    let mut tiles = vec![Tile::new("Median", &in_doubt(found.p50, interval(0.5)), &of_what(main, part))];
    if let Some(p99) = found.p99 {
        let (name, note) = match interval(0.99).map(|one| (one.lower_seconds, one.upper_seconds)) {
            Some((Some(lower), Some(upper))) => {
                ("99 of 100 are faster than", format!("95% interval {} to {}", time(lower), time(upper)))
            }
            Some((Some(lower), None)) => {
                ("99 of 100 were faster than", format!("uncertain: {} or more", time(lower)))
            }
            Some((None, None)) => ("99 of 100 were faster than", "uncertain: too few values".to_owned()),
            Some((None, Some(_))) | None => ("99 of 100 are faster than", String::new()),
        };
        tiles.push(Tile::new(name, &in_doubt(p99, interval(0.99)), &note));
    }
    let what = main.subject.value_name();
    let times = found.max / found.p50;
    let times =
        if times.is_finite() { format!(", {} times the median", three(times)) } else { String::new() };
    let note = format!("of {} {what}s{times}", units::count(count));
    tiles.push(Tile::new("Slowest", &time(found.max), &note));
    tiles.extend(
        main.tail
            .as_ref()
            .filter(|tail| distribution && tail.is_usable())
            .map_or(Vec::new(), |tail| of_distribution(tail, main.unit)),
    );
    tiles
}

/// What the distribution predicts, and its shape.
fn of_distribution(tail: &Tail, unit: Unit) -> Vec<Tile> {
    let Some(found) = &tail.assessment else { return Vec::new() };
    let mut tiles = Vec::new();
    let beyond = found.return_levels.iter().find(|level| !level.observed);
    if let Some(level) = beyond.or(found.return_levels.last()) {
        let [value, lower, upper] = unit.level_and_ends(level.level, level.lower, level.upper);
        let is_known = level.lower.is_finite() && level.upper.is_finite();
        let note = if is_known { format!("95% interval {lower} to {upper}") } else { String::new() };
        let name = format!("Expected once in {}", units::count(level.period as u64));
        tiles.push(Tile::new(&name, &value, &note));
    }
    let meaning = "above 0 heavy, below 0 it ends";
    let (value, note) = match found.gev.standard_errors {
        Some(errors) => {
            let (value, error) = Unit::NONE.with_error(found.gev.shape, errors.shape);
            (value, format!("± {error}; {meaning}"))
        }
        None => (significant(found.gev.shape, 3), meaning.into()),
    };
    tiles.push(Tile::new("Shape of the tail", &value, &note));
    tiles
}
