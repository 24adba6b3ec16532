//! The answer of one place against another: the same operations in two or more directories, mounts or files.

use results::{QuantileInterval, ResultRow};
use samples::units;

use super::cells::{mib, without_empty_columns};
use super::declared::one;
use super::picture::{Dot, dots};
use super::{Answer, Measured};
use crate::Table;
use crate::number::{bandwidth, three, time};
use crate::views::{AffineFit, Axis, Place, SizeCurve, SizeFamily, size_of_word};

/// Labels from which on a first word names a side.
const FEWEST_LABELS: usize = 3;

/// The same operation on every side.
struct Line<'a> {
    /// What it is, without the side: `O_SYNC fwrite 4 KiB`.
    name: String,
    /// The same without the size.
    what: String,
    /// Words of the label behind the side.
    rest: String,
    operation: &'a str,
    /// Bytes of one operation.
    bytes: Option<u64>,
    /// The place of each side, where it has one.
    places: Vec<Option<&'a Place>>,
}

pub(super) fn answer(measured: Measured) -> Option<Answer> {
    let sides = sides(measured);
    if sides.is_empty() {
        return None;
    }
    let lines = lines(measured, &sides);
    let mut sentences: Vec<String> = Vec::new();
    for other in 1..sides.len() {
        sentences.extend(slower(measured, &lines, (&sides, other)));
    }
    for at in 0..sides.len() {
        sentences.extend(writes(measured, &lines, (&sides, at)));
    }
    sentences.extend(in_order(measured, &lines, &sides));
    let (said, trips) = network(measured, &lines, &sides);
    sentences.extend(said);
    if let [_] = sides.as_slice() {
        sentences.extend(measured.run.facts.report.get("alone").cloned());
    }
    let mut further: Vec<String> = (sides.iter().enumerate())
        .filter_map(|(at, side)| latency_and_bandwidth(measured, (side, at)))
        .collect();
    further.extend(creating(measured, &lines, &sides));
    further.extend(
        measured.about_the_clock(lines.iter().flat_map(|line| line.places.iter().flatten().copied())),
    );
    let rows: Vec<Dot> = lines.iter().flat_map(|line| of_line(line, &sides)).collect();
    let figures = dots("What each operation takes, side by side", &rows).into_iter().collect();
    let of = lines.len();
    let first = first_table(measured, &lines, &sides);
    let tables = std::iter::once(table(measured, &lines, &sides)).chain(trips).collect();
    Some(Answer::new(sentences, tables, figures).and_further(further).first(first, of))
}

/// Whether it is a round trip through the network alone, which belongs to no side.
fn is_trip(place: &Place) -> bool {
    place.operation == "net_pingpong"
}

/// The first words of labels, in the order of the run: those under which there are several labels.
fn sides(measured: Measured<'_>) -> Vec<&str> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for place in measured.seen.places.iter().filter(|place| place.is_operation() && !is_trip(place)) {
        let Some((side, rest)) = place.label.split_once(' ') else { continue };
        match found.iter_mut().find(|(known, _)| *known == side) {
            Some((_, labels)) if labels.contains(&rest) => {}
            Some((_, labels)) => labels.push(rest),
            None => found.push((side, vec![rest])),
        }
    }
    found.retain(|(_, labels)| labels.len() >= FEWEST_LABELS);
    found.into_iter().map(|(side, _)| side).collect()
}

/// The words that are no sizes.
fn without_sizes(label: &str) -> String {
    let words: Vec<&str> = label.split(' ').filter(|word| size_of_word(word).is_none()).collect();
    words.join(" ")
}

fn lines<'a>(measured: Measured<'a>, sides: &[&str]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    let timed = |place: &&Place| place.is_operation() && place.sorted.len() >= 10;
    for place in measured.seen.places.iter().filter(timed) {
        let Some((side, rest)) = place.label.split_once(' ') else { continue };
        let Some(at) = sides.iter().position(|known| *known == side) else { continue };
        let known = lines.iter_mut().find(|line| line.rest == rest && line.operation == place.operation);
        match known {
            Some(line) => line.places[at] = line.places[at].or(Some(place)),
            None => {
                let mut places = vec![None; sides.len()];
                places[at] = Some(place);
                let what = format!("{} {}", without_sizes(rest), place.operation);
                let size = place.bytes_each.filter(|bytes| *bytes > 0);
                let size = size.map_or(String::new(), |bytes| format!(" {}", units::bytes(bytes)));
                lines.push(Line {
                    name: format!("{what}{size}"),
                    what,
                    rest: rest.to_owned(),
                    operation: &place.operation,
                    bytes: place.bytes_each,
                    places,
                });
            }
        }
    }
    lines
}

/// The interval of the median of a place.
fn median<'a>(measured: Measured<'a>, place: &Place) -> Option<&'a QuantileInterval> {
    let row: &ResultRow = measured.row(&place.label, &place.operation)?;
    row.interval(0.5)
}

/// A ratio of medians with the ends of its interval (MOVER on logarithms: Donner and Zou 2012).
fn ratio(a: &QuantileInterval, b: &QuantileInterval) -> Option<(f64, f64, f64)> {
    let ends =
        |of: &QuantileInterval| Some((of.lower_seconds?.ln(), of.seconds.ln(), of.upper_seconds?.ln()));
    let ((la, a, ua), (lb, b, ub)) = (ends(a)?, ends(b)?);
    let difference = b - a;
    let lower = difference - ((b - lb).powi(2) + (ua - a).powi(2)).sqrt();
    let upper = difference + ((ub - b).powi(2) + (a - la).powi(2)).sqrt();
    let found = (difference.exp(), lower.exp(), upper.exp());
    (found.0.is_finite() && found.1.is_finite() && found.2.is_finite()).then_some(found)
}

/// The ratio of a line on another side to the first one.
fn ratio_of(measured: Measured, line: &Line, other: usize) -> Option<(f64, f64, f64)> {
    let (a, b) = (line.places[0]?, line.places[other]?);
    ratio(median(measured, a)?, median(measured, b)?)
}

/// `14.0 times as long`, `2.00 times as fast`, `undecided (0.980 to 1.12 times as long)`: of a ratio with its interval.
fn as_long((ratio, lower, upper): (f64, f64, f64)) -> String {
    match (lower <= 1.0 && upper >= 1.0, ratio > 1.0) {
        (true, _) => format!("undecided ({} to {} times as long)", three(lower), three(upper)),
        (false, true) => format!("{} times as long", three(ratio)),
        (false, false) => format!("{} times as fast", three(1.0 / ratio)),
    }
}

/// `14.0`, or `1.02 ≈` where the interval holds 1.
fn factor((ratio, lower, upper): (f64, f64, f64)) -> String {
    let mark = if lower <= 1.0 && upper >= 1.0 { " ≈" } else { "" };
    format!("{}{mark}", three(ratio))
}

/// `B against A, synchronous write: 14.0 times as long for 64 B, undecided (0.980 to 1.12 times as long) for 1 MiB.`
fn slower(measured: Measured, lines: &[Line], (sides, other): (&[&str], usize)) -> Option<String> {
    let mut sized: Vec<&Line> = transfers(measured, lines);
    sized.retain(|line| ratio_of(measured, line, other).is_some());
    sized.sort_by_key(|line| line.bytes);
    let (first, last) = (sized.first()?, sized.last()?);
    let found = |line: &Line| {
        let size = units::bytes(line.bytes.unwrap_or(0));
        Some(format!("{} for {size}", as_long(ratio_of(measured, line, other)?)))
    };
    let what = called(measured, first).unwrap_or(&first.what);
    Some(format!("{} against {}, {what}: {}, {}.", sides[other], sides[0], found(first)?, found(last)?))
}

/// What the program calls a line.
fn called<'a>(measured: Measured<'a>, line: &Line) -> Option<&'a str> {
    let declared = measured.declared("first");
    declared.into_iter().find(|wanted| wanted.choices().any(|what| what == line.rest))?.name
}

/// Families of transfers by their size, those that write first.
fn families<'a>(measured: Measured<'a>) -> Vec<&'a SizeFamily> {
    let mut found: Vec<&SizeFamily> =
        measured.seen.families.iter().filter(|family| family.axis == Axis::Transfer).collect();
    found.sort_by_key(|family| family.operation != "fwrite");
    found
}

/// Lines that are one operation of several sizes.
fn transfers<'a, 'b>(measured: Measured, lines: &'b [Line<'a>]) -> Vec<&'b Line<'a>> {
    let sized = |line: &&Line| {
        let mut sizes = line.rest.split(' ').filter_map(size_of_word);
        line.bytes.is_some_and(|bytes| sizes.any(|(size, _)| size == bytes as f64))
    };
    let Some(family) = families(measured).into_iter().next() else { return Vec::new() };
    let of_family = || lines.iter().filter(sized).filter(|line| line.operation == family.operation);
    // A file that is there already is the simpler case.
    let in_place = of_family().find(|line| line.rest.starts_with("in place "));
    let Some(first) = in_place.or_else(|| of_family().next()) else { return Vec::new() };
    lines.iter().filter(sized).filter(|line| line.what == first.what).collect()
}

/// `A synchronous write takes 3.98 ms for 64 B and 4.00 ms for 1 MiB (205 MiB/s).`: the ends of the sizes, as in the table.
fn writes(measured: Measured, lines: &[Line], (sides, at): (&[&str], usize)) -> Option<String> {
    let mut sized = transfers(measured, lines);
    sized.retain(|line| line.places[at].is_some());
    sized.sort_by_key(|line| line.bytes);
    let (first, last) = (sized.first()?, sized.last()?);
    let (small, large) = (first.places[at]?, last.places[at]?);
    let rate = measured.row(&large.label, &large.operation).and_then(|row| row.bytes_per_second);
    let rate = rate.map_or(String::new(), |_| format!(" ({} MiB/s)", mib(rate)));
    let what = one(called(measured, first), &first.what);
    let before = match sides {
        [_] => format!("{what} takes "),
        _ => format!("{what} on {} takes ", sides[at]),
    };
    let size = |line: &Line| units::bytes(line.bytes.unwrap_or(0));
    let first_said = format!("{before}{} for {}", measured.time(small, small.median()), size(first));
    Some(match std::ptr::eq(*first, *last) {
        true => format!("{first_said}{rate}."),
        false => format!("{first_said}, {} for {}{rate}.", measured.time(large, large.median()), size(last)),
    })
}

/// `Line through all sizes on A: latency 122 µs, 980 MiB/s.`: none where no line fits.
fn latency_and_bandwidth(measured: Measured, (side, _): (&str, usize)) -> Option<String> {
    let places = &measured.seen.places;
    let family = families(measured).into_iter().find(|family| {
        family
            .members
            .iter()
            .all(|(_, at)| places[*at].label.split_once(' ').is_some_and(|(first, _)| first == side))
    })?;
    let curve = SizeCurve::of(family, places);
    let usable = |line: &AffineFit| line.holds() && line.resolves_latency() && line.resolves_bandwidth();
    let line = curve.line.filter(usable)?;
    let rate = bandwidth(1.0 / line.per_byte);
    Some(format!("{}: a line through all sizes has latency {}, {rate}.", family.name, time(line.latency)))
}

/// `Creating takes so many times as long as writing in place: 1.31 (64 B), 2.20 (1 MiB) on A`: at the ends of the sizes.
fn creating(measured: Measured, lines: &[Line], sides: &[&str]) -> Option<String> {
    let mut pairs: Vec<(&Line, &Line)> = lines
        .iter()
        .filter_map(|line| {
            let rest = line.rest.strip_prefix("creating ")?;
            let in_place = |other: &&Line| {
                other.rest.strip_prefix("in place ") == Some(rest) && other.operation == line.operation
            };
            Some((line, lines.iter().find(in_place)?))
        })
        .collect();
    pairs.sort_by_key(|(line, _)| line.bytes);
    let ends = [pairs.first()?, pairs.last()?];
    let of_side = |at: usize| -> Option<String> {
        let ratios: Vec<String> = ends
            .iter()
            .filter_map(|(creating, in_place)| {
                let found =
                    ratio(median(measured, in_place.places[at]?)?, median(measured, creating.places[at]?)?)?;
                let times = if sides.len() == 1 { " times" } else { "" };
                Some(format!("{}{times} ({})", factor(found), units::bytes(creating.bytes?)))
            })
            .collect();
        (!ratios.is_empty()).then(|| match sides.len() {
            1 => ratios.join(" and "),
            _ => format!("{} on {}", ratios.join(", "), sides[at]),
        })
    };
    let parts: Vec<String> = (0..sides.len()).filter_map(of_side).collect();
    (!parts.is_empty()).then(|| match sides.len() {
        1 => format!("A write that creates the file takes {} as long as one in place.", parts.concat()),
        _ => {
            format!("Time of a write that creates the file, in times of one in place: {}.", parts.join("; "))
        }
    })
}

/// Ways to read of which one is told, the most telling first.
const TOLD: [&str; 3] = ["cold", "not proven cold", "O_DIRECT"];

/// What reading in order gains over random reads of the same size, by bytes a second.
fn in_order(measured: Measured, lines: &[Line], sides: &[&str]) -> Option<String> {
    // What is read in order, how, and what is read at random of the same size.
    let pairs: Vec<(&Line, String, &Line)> = lines
        .iter()
        .filter_map(|ordered| {
            let how = ordered.rest.strip_prefix("sequential, ")?;
            let is_other = |line: &&Line| {
                line.rest.strip_prefix("random, ") == Some(how)
                    && line.operation == ordered.operation
                    && line.bytes == ordered.bytes
            };
            Some((ordered, without_sizes(how), lines.iter().find(is_other)?))
        })
        .collect();
    let rate = |place: &Place| measured.row(&place.label, &place.operation)?.bytes_per_second;
    // Where files are in memory, their order is none of a device.
    let in_memory = |side: &str| {
        measured.run.facts.file_systems.iter().any(|found| found.path == side && found.in_memory)
    };
    let parts: Vec<String> = (0..sides.len())
        .filter(|at| !in_memory(sides[*at]))
        .filter_map(|at| {
            let here = || pairs.iter().filter(|(ordered, ..)| ordered.places[at].is_some());
            let told = TOLD.into_iter().find(|told| here().any(|(_, how, _)| how == told));
            let how = told.or_else(|| here().next().map(|(_, how, _)| how.as_str()))?;
            let of_kind: Vec<_> = here().filter(|(_, other, _)| other == how).collect();
            let ends = [of_kind.first(), of_kind.last().filter(|_| of_kind.len() > 1)];
            let gains: Vec<String> = ends
                .into_iter()
                .flatten()
                .filter_map(|(ordered, _, random)| {
                    let gain = rate(ordered.places[at]?)? / rate(random.places[at]?)?;
                    Some(format!("{} times ({})", three(gain), units::bytes(ordered.bytes?)))
                })
                .collect();
            (!gains.is_empty()).then(|| match sides.len() {
                1 => format!("{} the bytes per second of random reads, {how}", gains.join(", ")),
                _ => format!("{}, {how} on {}", gains.join(", "), sides[at]),
            })
        })
        .collect();
    (!parts.is_empty()).then(|| match sides.len() {
        1 => format!("Sequential reads move {}.", parts.concat()),
        _ => format!("Sequential reads against random reads, bytes per second: {}.", parts.join("; ")),
    })
}

/// Round trips through the network alone, and their share in the smallest write of the slowest side.
fn network(measured: Measured, lines: &[Line], sides: &[&str]) -> (Option<String>, Option<Table>) {
    let trips: Vec<&Place> = measured.seen.places.iter().filter(|place| is_trip(place)).collect();
    let mut table = Table::new(
        "Round trips through the network alone",
        &["<to and fro", "bytes", "p50", "p99", "slowest", "n"],
    );
    for place in &trips {
        let Some(summary) = place.summary() else { continue };
        table.push(
            false,
            [
                place.label.clone(),
                // There and back.
                place
                    .bytes_each
                    .filter(|bytes| *bytes > 0)
                    .map_or("–".into(), |bytes| units::bytes(bytes / 2)),
                time(summary.median),
                summary.p99.map_or("–".into(), time),
                time(summary.max),
                units::count(summary.n as u64),
            ],
        );
    }
    let quickest = trips.iter().map(|place| place.median()).min_by(f64::total_cmp);
    let is_remote =
        |side: &str| measured.run.facts.file_systems.iter().any(|found| found.path == side && found.remote);
    let writes =
        lines.iter().filter(|line| line.operation == "fwrite" && line.bytes.is_some_and(|bytes| bytes > 0));
    // The network has a share only in what goes through it.
    let slowest = writes.min_by_key(|line| line.bytes).and_then(|line| {
        let of_sides =
            line.places.iter().zip(sides).filter_map(|(place, side)| Some((place.as_ref()?.median(), side)));
        let remote = of_sides.filter(|(_, side)| is_remote(side));
        remote.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(whole, side)| (line, side, whole))
    });
    let sentence = quickest.map(|trip| match slowest {
        Some((line, side, whole)) if whole > 0.0 => format!(
            "A round trip through the network takes {}, {:.0}% of {} on {side}.",
            time(trip),
            100.0 * trip / whole,
            line.name
        ),
        Some(_) | None => format!(
            "A round trip through the network takes {}; no directory here is on a network file system.",
            time(trip)
        ),
    });
    (sentence, (!table.rows.is_empty()).then_some(table))
}

/// The rows that the program asks for as `first`, by the words of their labels behind the side.
fn first_table(measured: Measured, lines: &[Line], sides: &[&str]) -> Table {
    let mut all = table(measured, lines, sides);
    all.columns.iter_mut().for_each(|column| column.name = column.name.replace("p50", "median"));
    // Of two sides there is one ratio, whose long name would leave no room for it.
    if let [_, _] = sides
        && let Some(ratio) = all.columns.iter_mut().find(|column| column.name.contains(" / "))
    {
        ratio.name = "ratio".into();
    }
    let rows = std::mem::take(&mut all.rows);
    for wanted in measured.declared("first") {
        let found = wanted.choices().find_map(|what| lines.iter().position(|line| line.rest == what));
        let Some(row) = found.and_then(|at| rows.get(at)) else { continue };
        let mut row = row.clone();
        if let Some(name) = wanted.name {
            let bytes = found.and_then(|at| lines[at].bytes).filter(|bytes| *bytes > 0);
            row.cells[0] = bytes.map_or(name.to_owned(), |bytes| format!("{name}, {}", units::bytes(bytes)));
        }
        all.rows.push(row);
    }
    without_empty_columns(&mut all);
    all
}

fn table(measured: Measured, lines: &[Line], sides: &[&str]) -> Table {
    // One side needs no name.
    let head = |side: &str, what: &str| match sides.len() {
        1 => what.to_owned(),
        _ => format!("{side}: {what}"),
    };
    let mut heads: Vec<String> = vec!["<operation".into()];
    heads.extend(sides.iter().map(|side| head(side, "p50")));
    heads.extend(sides.iter().skip(1).map(|side| format!("{side} / {}", sides[0])));
    heads.extend(sides.iter().map(|side| head(side, "MiB/s")));
    heads.extend(sides.iter().map(|side| head(side, "p99")));
    let names: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::new("Side by side", &names);
    for line in lines {
        let mut cells = vec![line.name.clone()];
        let each = |cell: &dyn Fn(&Place) -> String| -> Vec<String> {
            line.places.iter().map(|place| place.map_or("–".into(), cell)).collect()
        };
        cells.extend(each(&|place| measured.time(place, place.median())));
        cells
            .extend((1..sides.len()).map(|other| ratio_of(measured, line, other).map_or("–".into(), factor)));
        cells.extend(each(&|place| {
            mib(measured.row(&place.label, &place.operation).and_then(|row| row.bytes_per_second))
        }));
        cells.extend(each(&|place| {
            place
                .summary()
                .and_then(|summary| summary.p99)
                .map_or("–".into(), |p99| measured.time(place, p99))
        }));
        table.push(false, cells);
    }
    without_empty_columns(&mut table);
    table.note = "Medians and their ratio: ≈ where its 95% interval holds 1 (no different), – where the values do not \
                  tell. MiB/s over wall time."
        .into();
    table
}

fn of_line(line: &Line, sides: &[&str]) -> Vec<Dot> {
    line.places
        .iter()
        .zip(sides)
        .filter_map(|(place, side)| {
            let summary = (*place)?.summary()?;
            let name = format!("{side} {}", line.name);
            Some(Dot { name, median: summary.median, p99: summary.p99, max: summary.max })
        })
        .collect()
}
