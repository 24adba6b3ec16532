//! Bandwidth of passes over memory by size and by the number of processes that pass at the same time, while all work.

use std::collections::BTreeMap;

use results::ResultRow;

use super::Measured;
use crate::Table;
use crate::number::{bandwidth as shown, three};
use crate::views::{Axis, size_text};

/// Passes of one kind with so many processes: `consecutive read … by 2`.
#[derive(PartialEq, PartialOrd)]
struct Series {
    /// `read, huge pages`.
    kind: String,
    /// How many at the same time.
    by: u32,
    /// Bytes of the working set of each, and bytes a second of all.
    rates: Vec<(f64, f64)>,
}

/// A sentence and a table of the passes whose labels end in `by N`; nothing where there are none.
pub(super) fn bandwidth(measured: Measured) -> (Option<String>, Option<Table>) {
    let series = series(measured);
    let mut by: Vec<u32> = series.iter().map(|one| one.by).collect();
    by.sort_unstable();
    by.dedup();
    if series.is_empty() {
        return (None, None);
    }
    let heads: Vec<String> = by.iter().map(|by| format!("by {by}")).collect();
    let names: Vec<&str> =
        ["<passes", "<size of each"].into_iter().chain(heads.iter().map(String::as_str)).collect();
    let mut table = Table::new("Bandwidth of passes over memory, GiB/s of all together", &names);
    let mut kinds: Vec<&str> = Vec::new();
    series.iter().for_each(|one| {
        if !kinds.contains(&one.kind.as_str()) {
            kinds.push(&one.kind);
        }
    });
    for kind in kinds {
        let of: Vec<&Series> = series.iter().filter(|one| one.kind == kind).collect();
        let mut sizes: Vec<f64> = of.iter().flat_map(|one| one.rates.iter().map(|(size, _)| *size)).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        for (n, size) in sizes.into_iter().enumerate() {
            let cell = |by: &u32| {
                let found = of.iter().find(|one| one.by == *by);
                let rate = found.and_then(|one| one.rates.iter().find(|(other, _)| *other == size));
                rate.map_or("–".into(), |(_, rate)| three(rate / (1u64 << 30) as f64))
            };
            let first = if n == 0 { kind.to_owned() } else { String::new() };
            table.push(false, [first, size_text(size)].into_iter().chain(by.iter().map(cell)));
        }
    }
    table.note = "Bytes read plus bytes written, of all processes, by the time in which all were at work: what one does before \
                  the last has begun, or after the first is through, does not count. Each has memory of its own. \
                  – where they were never at work at the same time."
        .into();
    (sentence(&series), Some(table))
}

/// `Sequential read of 256 MiB: 12.0 GiB/s by 1 process, 20.1 GiB/s by 2 together.`
fn sentence(series: &[Series]) -> Option<String> {
    let first = series.first()?;
    let (size, _) = first.rates.last()?;
    let parts: Vec<String> = series
        .iter()
        .filter(|one| one.kind == first.kind)
        .filter_map(|one| {
            let (_, rate) = one.rates.iter().find(|(other, _)| other == size)?;
            Some(match one.by {
                1 => format!("{} by 1 process", shown(*rate)),
                by => format!("{} by {by} together", shown(*rate)),
            })
        })
        .collect();
    Some(format!("Sequential {} of {}: {}.", first.kind, size_text(*size), parts.join(", ")))
}

/// Bytes a second of so many processes while all of them work.
fn rate(row: &ResultRow, by: u32) -> Option<f64> {
    if by > 1 {
        return row.together.map(|together| together.bytes_per_second);
    }
    row.busy_seconds.filter(|busy| *busy > 0.0).map(|busy| row.bytes as f64 / busy)
}

fn series(measured: Measured) -> Vec<Series> {
    let places = &measured.seen.places;
    let mut found: BTreeMap<usize, Series> = BTreeMap::new();
    let transfers = measured.seen.families.iter().filter(|family| family.axis == Axis::Transfer);
    for (index, family) in transfers.enumerate() {
        let name = family.name.split(" / ").next().unwrap_or_default();
        let words: Vec<&str> = name.split(' ').collect();
        let Some(at) = words.iter().position(|word| *word == "by") else { continue };
        let Some(by) = words.get(at + 1).and_then(|word| word.parse().ok()) else { continue };
        let rest: Vec<&str> = words
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at && *other != at + 1 && *other != 0)
            .map(|(_, word)| *word)
            .collect();
        let rates: Vec<(f64, f64)> = family
            .members
            .iter()
            .filter_map(|(size, at)| {
                let place = &places[*at];
                Some((*size, rate(measured.row(&place.label, &place.operation)?, by)?))
            })
            .collect();
        found.insert(index, Series { kind: rest.join(" "), by, rates });
    }
    found.into_values().collect()
}
