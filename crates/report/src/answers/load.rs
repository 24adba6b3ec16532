//! The answer of an operation under load: its time beside what moved meanwhile.

use results::ResultRow;
use samples::SiteKind;

use super::picture::{Dot, dots};
use super::{Answer, Measured};
use crate::Table;
use crate::number::{bandwidth, three, time};

/// One label: the operation that is timed, and what the others moved a second.
struct Level<'a> {
    name: &'a str,
    row: &'a ResultRow,
    median: f64,
    load: f64,
}

pub(super) fn answer(measured: Measured) -> Option<Answer> {
    let levels = levels(measured.results);
    let (first, busiest) = (levels.first()?, levels.iter().max_by(|a, b| a.load.total_cmp(&b.load))?);
    if levels.len() < 2 {
        return None;
    }
    let what = &first.row.operation;
    let mut sentences = vec![format!(
        "One {what} takes {} alone and {} while others move {}: {} times as long.",
        time(first.median),
        time(busiest.median),
        bandwidth(busiest.load),
        three(busiest.median / first.median)
    )];
    let places = measured.seen.places.iter().filter(|place| place.operation == *what);
    sentences.extend(measured.about_the_clock(places));
    let rows: Vec<Dot> = levels.iter().filter_map(dot).collect();
    let figure = dots(&format!("Time of one {what} under load"), &rows);
    Some(Answer::new(sentences, vec![table(what, &levels)], figure.into_iter().collect()))
}

/// The labels in the order of the program. In each the operation that moves no bytes is the timed one, the others are
/// the load.
fn levels(results: &[ResultRow]) -> Vec<Level<'_>> {
    let operations = || results.iter().filter(|row| row.kind == SiteKind::Operation);
    let mut found: Vec<(u32, Level)> = Vec::new();
    for row in operations().filter(|row| row.bytes == 0) {
        let Some((name, quantiles)) = row.label.as_deref().zip(row.quantiles_seconds.as_ref()) else {
            continue;
        };
        let others = operations().filter(|other| other.bytes > 0 && other.label == row.label);
        let load = others.filter_map(|other| other.bytes_per_second).sum();
        let line = row.lines.first().copied().unwrap_or(0);
        found.push((line, Level { name, row, median: quantiles.p50, load }));
    }
    found.sort_by_key(|(line, _)| *line);
    found.into_iter().map(|(_, level)| level).collect()
}

fn table(what: &str, levels: &[Level]) -> Table {
    let mut table = Table::new(
        &format!("One {what} under load"),
        &["<others", "moved", "p50", "× alone", "p99", "slowest"],
    );
    let alone = levels.first().map_or(f64::NAN, |level| level.median);
    for level in levels {
        let Some(found) = &level.row.quantiles_seconds else { continue };
        let moved = if level.load > 0.0 { bandwidth(level.load) } else { "–".into() };
        table.push(
            false,
            [
                level.name.to_owned(),
                moved,
                time(found.p50),
                three(found.p50 / alone),
                found.p99.map_or("–".into(), time),
                time(found.max),
            ],
        );
    }
    table
}

fn dot(level: &Level) -> Option<Dot> {
    let found = level.row.quantiles_seconds.as_ref()?;
    Some(Dot { name: level.name.to_owned(), median: found.p50, p99: found.p99, max: found.max })
}
