//! The page of a run: its head and its key numbers.

use results::AnswerPart;
use samples::units;

use super::document::{Document, Tile, VerdictCard};
use crate::screen::answer;
use crate::screen::number::{bandwidth, three};
use crate::text::{heading, surroundings};
use crate::unit::{Unit, duration, significant};
use crate::{Analysis, Report, Subject};

pub(crate) fn of_report(report: &Report, details: bool) -> String {
    let started = report.facts.began().unwrap_or_default().trim_end_matches('Z').replacen('T', " ", 1);
    let heading = heading(report);
    let summary = heading.strip_prefix(&report.title).unwrap_or(&heading).trim_start_matches(": ");
    let mut place = vec![summary.to_string()];
    place.extend(surroundings(report));
    let verdict = report.tail().filter(|_| report.brief.is_empty()).map(|tail| VerdictCard {
        label: "Verdict",
        code: tail.code(),
        text: tail.text(),
        advice: tail.advice(),
        findings: tail.findings(),
    });
    let brief = (!report.brief.is_empty()).then(|| VerdictCard {
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
        tiles: report
            .main
            .as_ref()
            .filter(|_| report.brief.is_empty())
            .map(|main| tiles(main, report.numbers.only(), throughput(report)))
            .unwrap_or_default(),
        chapters: &report.chapters,
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
    let sentences = answer::subject(report).map(|_| answer::sentences(report)).unwrap_or_default();
    let verified = answer::verified_sentence(report).map_or(String::new(), |said| format!("{said} "));
    Some(format!("{} {outcome}. {verified}{sentences}", sign.mark()).trim_end().to_owned())
}

/// Bytes a second of the operation that the page is about, or operations a second where it moves none.
fn throughput(report: &Report) -> Option<Tile> {
    let part = report.numbers.only()?;
    let operations = part.operations_per_second.map(|rate| format!("{} {}/s", three(rate), part.operation));
    let over = match part.ranks {
        Some(ranks) if ranks > 1 => format!(" over {ranks} ranks"),
        Some(_) | None => String::new(),
    };
    Some(match part.bytes_per_second.filter(|rate| *rate > 0.0) {
        Some(rate) => {
            let below = format!("{}{over}", operations.unwrap_or_default());
            Tile::new("Throughput", &bandwidth(rate), below.trim_start())
        }
        None => Tile::new("Throughput", &operations?, over.trim_start()),
    })
}

/// The key numbers.
pub(crate) fn tiles(main: &Analysis, part: Option<&AnswerPart>, throughput: Option<Tile>) -> Vec<Tile> {
    let Some(summary) = &main.summary else { return Vec::new() };
    let mut summary = summary.clone();
    if let Some(found) = part.and_then(|part| part.quantiles_seconds.as_ref()) {
        (summary.median, summary.p99, summary.max) = (found.p50, found.p99, found.max);
    }
    let what = Subject::value_name(&main.subject);
    let mut tiles: Vec<Tile> = throughput.into_iter().collect();
    tiles.push(Tile::new("Median", &duration(summary.median), &main.subject.describe()));
    match summary.p99 {
        Some(p99) => {
            let over = significant(100.0 * (p99 / summary.median - 1.0), 2);
            tiles.push(Tile::new(
                "99 of 100 are faster than",
                &duration(p99),
                &format!("{over}% above the median"),
            ));
        }
        None => tiles.push(Tile::new("9 of 10 are faster than", &duration(summary.p90), "")),
    }
    let note = format!(
        "of {} {what}s, {} times the median",
        units::count(summary.n as u64),
        significant(summary.max / summary.median, 3)
    );
    tiles.push(Tile::new("Slowest", &duration(summary.max), &note));
    let usable = main.tail.as_ref().filter(|tail| tail.is_usable());
    if usable.is_none() && summary.p99.is_some() {
        // Where the law does not fit, measured values are shown instead of its predictions.
        tiles.push(Tile::new("9 of 10 are faster than", &duration(summary.p90), ""));
    }
    let Some(found) = usable.and_then(|tail| tail.assessment.as_ref()) else { return tiles };
    let beyond = found.return_levels.iter().find(|level| !level.observed);
    if let Some(level) = beyond.or(found.return_levels.last()) {
        let unit = main.unit.that_suits(level.level);
        let (value, note) = if level.lower.is_finite() && level.upper.is_finite() {
            let [value, lower, upper] = unit.with_interval(level.level, level.lower, level.upper);
            (value, format!("95% interval {lower} to {}", unit.named(&upper)))
        } else {
            (significant(unit.scale(level.level), 4), String::new())
        };
        let name = format!("Expected once in {}", units::count(level.period as u64));
        tiles.push(Tile::new(&name, &unit.named(&value), &note));
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
