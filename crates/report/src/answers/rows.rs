//! The answer of a list of ways: one row for each label, in sections by what stands before a colon.

use results::ResultRow;
use samples::SiteKind;

use super::cells::{mib, rate, waited, without_empty_columns};
use super::picture::{Dot, dots};
use super::{Answer, Measured};
use crate::number::{three, time};
use crate::views::{Axis, Place, SizeFamily};
use crate::{Figure, Table};

/// Rows of fewer timings have no place in an answer.
const FEWEST: u64 = 10;

/// One label with one operation, or a block that is timed as a whole.
struct Way<'a> {
    section: &'a str,
    name: String,
    row: &'a ResultRow,
    place: Option<&'a Place>,
}

impl Way<'_> {
    fn label(&self) -> &str {
        self.row.label.as_deref().unwrap_or_default()
    }

    fn median(&self) -> f64 {
        self.row.quantiles_seconds.as_ref().map_or(f64::INFINITY, |found| found.p50)
    }
}

pub(super) fn answer(measured: Measured) -> Option<Answer> {
    let ways = ways(measured);
    let depth = measured.seen.families.iter().find(|family| matches!(family.axis, Axis::Count(_)));
    if ways.len() < 2 {
        return None;
    }
    let depths = depth.map_or(Vec::new(), |family| depths(measured, family));
    let mut sentences = measured.said(&|what| said(&ways, what));
    let mut further = sections(&ways);
    if sentences.is_empty() {
        sentences.append(&mut further);
    }
    let mut tables = vec![table(&ways)];
    let mut figures: Vec<Figure> = Vec::new();
    let rows: Vec<Dot> = ways.iter().filter_map(dot).collect();
    figures.extend(dots("What each way takes", &rows));
    if let Some(family) = depth {
        let (sentence, by_depth) = by_number(measured, family);
        sentences.extend(sentence);
        tables.push(by_depth);
    }
    let first = first_table(&asked(measured, &ways, &depths));
    further.extend(measured.about_the_clock(ways.iter().filter_map(|way| way.place)));
    let of = ways.len() + depths.len();
    Some(Answer::new(sentences, tables, figures).and_further(further).first(first, of))
}

/// The rows of the section, from the quickest to the slowest, or the one row of this label.
fn named<'a, 'b>(ways: &'b [Way<'a>], what: &str) -> Vec<&'b Way<'a>> {
    let mut found: Vec<&Way> = ways.iter().filter(|way| way.section == what || way.label() == what).collect();
    found.sort_by(|a, b| a.median().total_cmp(&b.median()));
    found
}

/// `115 µs to 3.98 ms (O_DIRECT to fdatasync)` of the rows of a section, the median of one row.
fn said(ways: &[Way], what: &str) -> Option<String> {
    let found = named(ways, what);
    let (first, last) = (found.first()?, found.last()?);
    let (low, high) = (time(first.median()), time(last.median()));
    Some(match found.as_slice() {
        [only] if only.section == what && !what.is_empty() => format!("{low} ({})", only.name),
        [_] => low,
        _ => format!("{low} to {high} ({} to {})", first.name, last.name),
    })
}

/// The rows that the program asks for as `first`, in its order; `depth` stands for the depth of 1 and the best.
fn asked<'a, 'b>(measured: Measured, ways: &'b [Way<'a>], depths: &'b [Way<'a>]) -> Vec<&'b Way<'a>> {
    let mut found: Vec<&Way> = Vec::new();
    for wanted in measured.declared("first") {
        let choice = wanted.choices().map(|what| match what {
            "depth" => ends(depths),
            what => named(ways, what),
        });
        found.extend(choice.into_iter().find(|rows| !rows.is_empty()).unwrap_or_default());
    }
    found
}

/// The first depth and the one of the highest rate.
fn ends<'a, 'b>(depths: &'b [Way<'a>]) -> Vec<&'b Way<'a>> {
    let rate = |way: &&Way| way.row.operations_per_second.unwrap_or(0.0);
    let best = depths.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    match (depths.first(), best) {
        (Some(first), Some(best)) if !std::ptr::eq(first, best) => vec![first, best],
        (first, _) => first.into_iter().collect(),
    }
}

/// The rows of a curve by a number, each called by its label.
fn depths<'a>(measured: Measured<'a>, family: &SizeFamily) -> Vec<Way<'a>> {
    let members = family.members.iter().filter_map(|(_, at)| {
        let place = &measured.seen.places[*at];
        let row = measured.row(&place.label, &place.operation)?;
        row.quantiles_seconds.as_ref()?;
        Some(Way { section: kind(&place.operation), name: place.label.clone(), row, place: Some(place) })
    });
    members.collect()
}

/// `read`, `write` or the operation itself.
fn kind(operation: &str) -> &str {
    match operation {
        operation if results::is_read(operation) => "read",
        operation if results::is_write(operation) => "write",
        operation => operation,
    }
}

fn first_table(ways: &[&Way]) -> Table {
    let heads = ["<", "<way", "median", "ops/s", "p99", "CPU wait", "max"];
    let mut table = Table::new("The rows that are asked for", &heads);
    let mut section = None;
    for way in ways {
        let Some(found) = &way.row.quantiles_seconds else { continue };
        let first = section != Some(way.section);
        section = Some(way.section);
        table.push(
            false,
            [
                if first { way.section.to_owned() } else { String::new() },
                way.name.clone(),
                time(found.p50),
                rate(way.row.operations_per_second),
                found.p99.map_or("–".into(), time),
                way.place.map_or("–".into(), waited),
                time(found.max),
            ],
        );
    }
    without_empty_columns(&mut table);
    table
}

/// All rows that have a label without a number that makes a curve, in the order of the program. A block that is timed
/// often stands for the operations in it.
fn ways(measured: Measured<'_>) -> Vec<Way<'_>> {
    let results = measured.results;
    let in_curve = |label: &str, operation: &str| {
        measured.seen.families.iter().flat_map(|family| &family.members).any(|(_, at)| {
            let place = &measured.seen.places[*at];
            place.label == label && place.operation == operation
        })
    };
    let operations_of = |label: &str| {
        let of = |row: &&ResultRow| row.kind == SiteKind::Operation && row.label.as_deref() == Some(label);
        results.iter().filter(of).count()
    };
    let mut found: Vec<(u32, Way)> = Vec::new();
    for row in results.iter().filter(|row| row.timings >= FEWEST && row.quantiles_seconds.is_some()) {
        let Some(label) = row.label.as_deref().filter(|label| !label.is_empty()) else { continue };
        let is_block = match row.kind {
            SiteKind::Time | SiteKind::Phase => true,
            SiteKind::Operation => false,
            SiteKind::Barrier | SiteKind::CommandTime => continue,
        };
        let block_stands = measured.block(label).is_some();
        if is_block != block_stands || (!is_block && in_curve(label, &row.operation)) {
            continue;
        }
        let (section, name) = label.split_once(": ").unwrap_or(("", label));
        let several = !is_block && operations_of(label) > 1;
        let name = if several { format!("{name}, {}", row.operation) } else { name.to_owned() };
        let is_it = |place: &&Place| place.label == label && place.operation == row.operation;
        let place = measured.seen.places.iter().find(is_it);
        let line = row.lines.first().copied().unwrap_or(0);
        found.push((line, Way { section, name, row, place }));
    }
    found.sort_by_key(|(line, _)| *line);
    // Rows of one section stand together: in the order that the program names (`sections`), then where its first row
    // stands.
    let named = measured.run.facts.report.get("sections").map(String::as_str).unwrap_or_default();
    let mut order: Vec<&str> = named.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    found.iter().for_each(|(_, way)| {
        if !order.contains(&way.section) {
            order.push(way.section);
        }
    });
    found.sort_by_key(|(line, way)| (order.iter().position(|section| *section == way.section), *line));
    found.into_iter().map(|(_, way)| way).collect()
}

fn table(ways: &[Way]) -> Table {
    let mut table =
        Table::new("Every way", &["<", "<way", "p50", "/s", "MiB/s", "p99", "waited", "slowest", "n"]);
    let mut section = None;
    for way in ways {
        let Some(found) = &way.row.quantiles_seconds else { continue };
        let first = section != Some(way.section);
        section = Some(way.section);
        table.push(
            false,
            [
                if first { way.section.to_owned() } else { String::new() },
                way.name.clone(),
                time(found.p50),
                rate(way.row.operations_per_second),
                mib(way.row.bytes_per_second),
                found.p99.map_or("–".into(), time),
                way.place.map_or("–".into(), waited),
                time(found.max),
                samples::units::count(way.row.timings),
            ],
        );
    }
    if ways.iter().all(|way| way.section.is_empty()) {
        table.columns.remove(0);
        table.rows.iter_mut().for_each(|row| {
            row.cells.remove(0);
        });
    }
    without_empty_columns(&mut table);
    table.note = "/s and MiB/s are over the wall time of each way; waited: the share of its time in which it could run \
                  and had no processor."
        .into();
    table
}

/// Each section in a sentence: its rows from the quickest to the slowest, at most three.
fn sections(ways: &[Way]) -> Vec<String> {
    let mut sentences = Vec::new();
    for group in ways.chunk_by(|a, b| a.section == b.section) {
        let mut order: Vec<&Way> = group.iter().collect();
        order.sort_by(|a, b| a.median().total_cmp(&b.median()));
        let (Some(first), Some(last)) = (order.first(), order.last()) else { continue };
        let said = |way: &Way| format!("{} {}", way.name, time(way.median()));
        let text = match order.len() {
            1 => said(first),
            2 | 3 => order.iter().map(|way| said(way)).collect::<Vec<_>>().join(", "),
            _ => format!(
                "{} ({}) to {} ({})",
                time(first.median()),
                first.name,
                time(last.median()),
                last.name
            ),
        };
        let section = if group[0].section.is_empty() { "Medians" } else { group[0].section };
        sentences.push(format!("{section}: {text}."));
    }
    sentences
}

fn dot(way: &Way) -> Option<Dot> {
    let found = way.row.quantiles_seconds.as_ref()?;
    let name =
        if way.section.is_empty() { way.name.clone() } else { format!("{}: {}", way.section, way.name) };
    Some(Dot { name, median: found.p50, p99: found.p99, max: found.max })
}

/// What more of a number buys and costs: `depth` against operations a second and latency.
fn by_number(measured: Measured, family: &SizeFamily) -> (Option<String>, Table) {
    let Axis::Count(name) = &family.axis else { return (None, Table::default()) };
    let title = format!("By {name}: {}", family.operation);
    let mut table = Table::new(&title, &[name, "/s", "MiB/s", "in flight", "p50", "p99", "slowest"]);
    let mut rates: Vec<(f64, f64)> = Vec::new();
    for (number, at) in &family.members {
        let place = &measured.seen.places[*at];
        let Some(row) = measured.row(&place.label, &place.operation) else { continue };
        let Some(found) = &row.quantiles_seconds else { continue };
        if let Some(per_second) = row.operations_per_second {
            rates.push((*number, per_second));
        }
        table.push(
            false,
            [
                number.to_string(),
                rate(row.operations_per_second),
                mib(row.bytes_per_second),
                rate(row.achieved_depth),
                time(found.p50),
                found.p99.map_or("–".into(), time),
                time(found.max),
            ],
        );
    }
    let queue = if name == "depth" { "queue depth" } else { name.as_str() };
    let most = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let sentence = rates.first().zip(most).map(|((first, alone), (best, rate))| {
        let said = format!("Best {} rate: {}/s at {queue} {best}", kind(&family.operation), three(*rate));
        match first == best {
            true if rates.len() > 1 => format!("{said}; no higher {queue} was faster."),
            true => format!("{said}."),
            false => format!("{said} ({}/s at {queue} {first}).", three(*alone)),
        }
    });
    (sentence, table)
}
