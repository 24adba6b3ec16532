//! The answer of working sets: the latency of an access by the size of what it is in, memory and file in one unit, and
//! the bandwidth of passes over it.

use super::cells::without_empty_columns;
use super::declared::one;
use super::{Answer, Measured, picture, spread, streams};
use crate::number::{three, time};
use crate::unseen::Unseen;
use crate::views::{Axis, Place, SizeFamily, caches, set_figure, size_text};
use crate::{Figure, Table};

/// A size counts as beyond a cache from so many times its bytes on.
const BEYOND: f64 = 2.0;
/// Lines of the figure.
const MOST_LINES: usize = 6;

/// One kind of access at all sizes: a column.
struct Access<'a> {
    head: String,
    family: &'a SizeFamily,
    batched: bool,
}

pub(super) fn answer(measured: Measured) -> Option<Answer> {
    let families = &measured.seen.families;
    let sets: Vec<&SizeFamily> = families.iter().filter(|family| family.axis == Axis::Bytes).collect();
    let columns = columns(measured, &sets);
    if columns.is_empty() {
        return None;
    }
    let mut named: Vec<f64> = Vec::new();
    let mut sentences: Vec<String> = levels(measured, &columns[0], &mut named).into_iter().collect();
    sentences.extend(against_files(measured, &columns, &mut named));
    let mut tables = vec![table(measured, &columns)];
    let (said, bandwidth) = streams::bandwidth(measured);
    sentences.extend(said);
    tables.extend(bandwidth);
    tables.extend(spread::means(measured, &timed_one_by_one(measured, &sets)));
    tables.extend(spread::created(measured));
    // Size 0 has no place on a logarithmic axis.
    let mut shown: Vec<SizeFamily> =
        columns.iter().take(MOST_LINES).map(|column| column.family.clone()).collect();
    shown.iter_mut().for_each(|family| family.members.retain(|(size, _)| *size > 0.0));
    let shown: Vec<&SizeFamily> = shown.iter().collect();
    let mut figures: Vec<Figure> = Vec::new();
    let mut overlaid = set_figure(measured.run, &measured.seen.places, &shown, 0);
    overlaid.id = "answer-ladder".into();
    overlaid.title = "Time of one access by size, memory and file".into();
    overlaid.caption =
        "Medians in one unit, with their 95% intervals; dotted: the sizes of the caches. A step up is where \
                        the size outgrows something quicker."
            .into();
    figures.push(overlaid);
    let single = singles(measured, &sets);
    figures.extend(picture::against_normal(&single, true));
    figures.extend(picture::against_normal(&single, false));
    let members = columns.iter().flat_map(|column| &column.family.members);
    let clock = measured.about_the_clock(members.map(|(_, at)| &measured.seen.places[*at]));
    let first = first_table(measured, &columns, named);
    let of = tables.iter().take(1).map(|table| table.rows.len()).sum();
    let answer = Answer::new(sentences, tables, figures).first(first, of);
    Some(answer.and_further(clock.into_iter().chain(far_outliers(measured))))
}

/// What the program calls a kind of access in its list `columns`.
fn called<'a>(measured: Measured<'a>, column: &Access) -> Option<&'a str> {
    let declared = measured.declared("columns");
    declared.into_iter().find(|wanted| wanted.choices().any(|what| what == column.head))?.name
}

/// The sizes of the sentences and others between them, of the kinds of access that the program asks for.
fn first_table(measured: Measured, columns: &[Access], mut sizes: Vec<f64>) -> Table {
    /// Sizes of a first screen.
    const MOST_ROWS: usize = 8;
    let declared = measured.declared("columns");
    let mut asked: Vec<&Access> = declared
        .iter()
        .filter_map(|wanted| {
            wanted.choices().find_map(|what| columns.iter().find(|column| column.head == what))
        })
        .collect();
    if asked.is_empty() {
        asked = columns.iter().collect();
    }
    let mut others: Vec<f64> = asked
        .iter()
        .flat_map(|column| column.family.members.iter().map(|(size, _)| *size))
        .filter(|size| *size > 0.0)
        .collect();
    others.sort_by(f64::total_cmp);
    others.dedup();
    sizes.retain(|size| others.contains(size));
    // Below the smallest of them a cache holds all.
    if let Some(least) = sizes.iter().copied().min_by(f64::total_cmp) {
        others.retain(|size| *size >= least);
    }
    // The farthest from those that are there, in octaves; the first is the smallest.
    while sizes.len() < MOST_ROWS.min(others.len()) {
        let apart =
            |size: &f64| sizes.iter().map(|other| (size / other).log2().abs()).fold(f64::INFINITY, f64::min);
        let free = others.iter().filter(|size| !sizes.contains(size));
        let Some(next) = free.min_by(|a, b| apart(b).total_cmp(&apart(a))).copied() else { break };
        sizes.push(next);
    }
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let heads: Vec<&str> = std::iter::once("<size")
        .chain(asked.iter().map(|column| called(measured, column).unwrap_or(&column.head)))
        .collect();
    let mut table = Table::new("Time of one access by size", &heads);
    for size in sizes {
        let cell = |column: &&Access| {
            let found = column.family.members.iter().find(|(other, _)| *other == size);
            found.map_or("–".into(), |(_, at)| {
                let place = &measured.seen.places[*at];
                measured.time(place, place.median())
            })
        };
        table.push(false, std::iter::once(size_text(size)).chain(asked.iter().map(cell)));
    }
    without_empty_columns(&mut table);
    table
}

/// Where the far outliers of empty timings come from, in which nothing but the clock was read.
fn far_outliers(measured: Measured) -> Option<String> {
    let run = measured.run;
    let is_empty = |site: u32| run.sites.get(site as usize).is_some_and(|site| site.operation == "empty");
    let found = Unseen::of(run.samples.iter().filter(|sample| is_empty(sample.site)))?;
    found.sentence("empty timings", &run.facts)
}

/// Every place that was timed one by one: the clock, memory, files.
fn timed_one_by_one<'a>(measured: Measured<'a>, sets: &[&'a SizeFamily]) -> Vec<&'a Place> {
    let places = &measured.seen.places;
    let empty = places.iter().filter(|place| place.operation == "empty");
    let single = sets.iter().filter(|family| !is_batched(measured, family));
    empty.chain(single.flat_map(|family| family.members.iter().map(|(_, at)| &places[*at]))).collect()
}

/// Words of a family's name that say how it was timed, not what.
fn is_way(word: &str) -> bool {
    matches!(word, "batch" | "single")
}

/// The name of a family without its way of timing: `memory huge pages / chase`.
fn what(family: &SizeFamily) -> String {
    family.name.split(' ').filter(|word| !is_way(word)).collect::<Vec<_>>().join(" ")
}

fn is_batched(measured: Measured, family: &SizeFamily) -> bool {
    family.members.iter().any(|(_, at)| measured.seen.places[*at].batch > 1)
}

/// One column for each kind of access, batches before single timings of the same.
fn columns<'a>(measured: Measured<'a>, sets: &[&'a SizeFamily]) -> Vec<Access<'a>> {
    let mut columns: Vec<Access> = Vec::new();
    for &family in sets {
        let batched = is_batched(measured, family);
        let has_batches =
            sets.iter().any(|other| !batched && is_batched(measured, other) && what(other) == what(family));
        if !has_batches {
            columns.push(Access { head: head(family), family, batched });
        }
    }
    // The first kind with its variants, then what was timed one by one (files), then the others.
    let first = columns.iter().find(|column| column.batched).map(|column| column.family.operation.clone());
    columns.sort_by_key(|column| match (first.as_ref() == Some(&column.family.operation), column.batched) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => 2,
    });
    columns
}

/// The operation, with what sets the family apart behind it: `chase, huge pages`.
fn head(family: &SizeFamily) -> String {
    let name = what(family);
    let Some((rest, operation)) = name.split_once(" / ") else { return name };
    let words: Vec<&str> = rest.split(' ').skip(1).collect();
    match words.as_slice() {
        [] => operation.to_owned(),
        words => format!("{operation}, {}", words.join(" ")),
    }
}

/// `A chase takes 1.20 ns in L1 (32 KiB), …`: at the largest size that is well inside of each cache, and beyond the last.
fn levels(measured: Measured, column: &Access, named: &mut Vec<f64>) -> Option<String> {
    let caches = caches(measured.run);
    let median = |at: usize| measured.seen.places[at].median();
    let mut parts: Vec<String> = Vec::new();
    let mut below = 0.0;
    for (name, bytes) in &caches {
        // Others use a shared cache as well, and a guest may have a part of it: an eighth, as `lastrank try` takes it.
        let most = match name.as_str() {
            "L1" | "L2" => 0.75 * bytes,
            _ => (bytes / 8.0).max(2.0 * below).min(bytes / 2.0),
        };
        let inside = column.family.members.iter().filter(|(size, _)| *size > below && *size <= most);
        if let Some((size, at)) = inside.max_by(|a, b| a.0.total_cmp(&b.0)) {
            named.push(*size);
            parts.push(format!("{} in {name} ({})", time(median(*at)), size_text(*size)));
        }
        below = *bytes;
    }
    let (size, at) = column.family.members.last()?;
    if caches.is_empty() || *size >= BEYOND * below {
        named.push(*size);
        parts.push(format!("{} in {}", time(median(*at)), size_text(*size)));
    }
    let name = one(called(measured, column), &column.head);
    (!parts.is_empty()).then(|| format!("{name} takes {}.", parts.join(", ")))
}

/// How many times as long an access to a file in memory takes, at the largest size that both have.
fn against_files(measured: Measured, columns: &[Access], named: &mut Vec<f64>) -> Option<String> {
    let memory = columns.iter().find(|column| column.batched)?;
    let file = columns.iter().find(|column| !column.batched)?;
    let (size, at) = memory
        .family
        .members
        .iter()
        .rev()
        .find(|(size, _)| file.family.members.iter().any(|(other, _)| other == size))?;
    let (_, in_file) = file.family.members.iter().find(|(other, _)| other == size)?;
    let places = &measured.seen.places;
    let (near, far) = (places[*at].median(), places[*in_file].median());
    (near > 0.0).then(|| {
        named.push(*size);
        let [file, memory] = [file, memory].map(|column| one(called(measured, column), &column.head));
        format!(
            "{file} in {} takes {}, {} times as long as {}.",
            size_text(*size),
            time(far),
            three(far / near),
            memory[..1].to_lowercase() + &memory[1..]
        )
    })
}

fn table(measured: Measured, columns: &[Access]) -> Table {
    let heads: Vec<&str> = columns.iter().map(|column| column.head.as_str()).collect();
    let names: Vec<&str> = std::iter::once("<size").chain(heads).collect();
    let mut table = Table::new("Time of one access by size", &names);
    let mut sizes: Vec<f64> =
        columns.iter().flat_map(|column| column.family.members.iter().map(|(size, _)| *size)).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let places = &measured.seen.places;
    let nothing = places.iter().find(|place| place.operation == "empty");
    if nothing.is_some() && sizes.first() != Some(&0.0) {
        sizes.insert(0, 0.0);
    }
    for size in sizes {
        let mut cells = vec![size_text(size)];
        for (at, column) in columns.iter().enumerate() {
            let found = column.family.members.iter().find(|(other, _)| *other == size);
            let cell = match (found, nothing) {
                (Some((_, at)), _) => measured.time(&places[*at], places[*at].median()),
                // An empty timing: the clock itself.
                (None, Some(empty)) if size == 0.0 && at == 0 => format!("({})", time(empty.median())),
                (None, _) => "–".into(),
            };
            cells.push(cell);
        }
        table.push(false, cells);
    }
    without_empty_columns(&mut table);
    table.note =
        "Medians, of one access. Of size 0: in brackets an empty timing, which is the clock; in a file the \
                  system call alone."
            .into();
    table
}

/// The places that were timed one by one, of memory (M) and of files (F): one operation of each kind.
fn singles<'a>(measured: Measured<'a>, sets: &[&'a SizeFamily]) -> Vec<(String, &'a Place)> {
    let single = |family: &&&SizeFamily| !is_batched(measured, family);
    let is_memory = |family: &SizeFamily| {
        sets.iter().any(|other| is_batched(measured, other) && what(other) == what(family))
    };
    let memory = sets.iter().filter(single).find(|family| is_memory(family));
    let file = sets.iter().filter(single).find(|family| !is_memory(family));
    let of = |family: Option<&&'a SizeFamily>, sign: &str| -> Vec<(String, &'a Place)> {
        let members = family.into_iter().flat_map(|family| &family.members);
        let named =
            members.map(|(size, at)| (format!("{} ({sign})", size_text(*size)), &measured.seen.places[*at]));
        named.collect()
    };
    let mut found = of(memory, "M");
    // Of many sizes every second, so that lines can be told apart.
    if found.len() > 8 {
        let last = found.len() - 1;
        let mut at = 0;
        found.retain(|_| {
            at += 1;
            (last + 1 - at).is_multiple_of(2)
        });
    }
    found.extend(of(file, "F"));
    found
}
