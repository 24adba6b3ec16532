//! Tables of operations at several sizes.

use samples::{Run, units};

use super::axis::size_text;
use crate::Table;
use crate::unit::{duration, significant};
use crate::views::family::{Axis, SizeFamily};
use crate::views::place::Place;

/// Size | median | MiB/s of every place that moves so many bytes, side by side: at most four in a table. None of a
/// single one, whose own table says it all.
pub(super) fn side_by_side(places: &[Place], families: &[&SizeFamily]) -> Vec<Table> {
    let of = |group: &[&SizeFamily]| {
        let mut columns: Vec<String> = vec!["<size".into()];
        for family in group {
            columns.extend([format!("{} median", family.name), "MiB/s".into()]);
        }
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut table = Table::new("Side by side", &columns);
        let mut sizes: Vec<f64> =
            group.iter().flat_map(|family| family.members.iter().map(|(size, _)| *size)).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        for size in sizes {
            let mut cells = vec![size_text(size)];
            for family in group {
                let found = family.members.iter().find(|(other, _)| *other == size);
                match found.map(|(_, place)| places[*place].median()) {
                    Some(median) if median > 0.0 => {
                        let rate = size / median / f64::from(1u32 << 20);
                        cells.extend([duration(median), significant(rate, 4)]);
                    }
                    _ => cells.extend(["–".into(), "–".into()]),
                }
            }
            table.push(false, cells);
        }
        table
    };
    if families.len() < 2 { Vec::new() } else { families.chunks(4).map(of).collect() }
}

/// Size | mean | standard deviation of every family, side by side: at most four in a table.
pub(super) fn means(places: &[Place], families: &[&SizeFamily]) -> Vec<Table> {
    let single: Vec<&&SizeFamily> = families
        .iter()
        .filter(|family| family.members.iter().all(|(_, place)| places[*place].batch == 1))
        .collect();
    single.chunks(4).map(|group| means_of(places, group)).collect()
}

fn means_of(places: &[Place], families: &[&&SizeFamily]) -> Table {
    let mut columns: Vec<String> = vec!["<size".into()];
    for family in families {
        columns.push(format!("{} mean", family.name));
        columns.push("std".into());
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("Mean and standard deviation by size", &columns);
    let mut sizes: Vec<f64> =
        families.iter().flat_map(|family| family.members.iter().map(|(size, _)| *size)).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    for size in sizes {
        let mut cells = vec![size_text(size)];
        for family in families {
            let found = family.members.iter().find(|(other, _)| *other == size);
            match found.and_then(|(_, place)| places[*place].summary()) {
                Some(summary) => cells.extend([duration(summary.mean), duration(summary.deviation)]),
                None => cells.extend(["–".into(), "–".into()]),
            }
        }
        table.push(false, cells);
    }
    table
}

/// Everything of one family: a row a size.
pub(super) fn of_family(run: &Run, places: &[Place], family: &SizeFamily) -> Table {
    let quantum = run.facts.clock["quantum_ps"].as_f64().unwrap_or(0.0) * 1e-12;
    let first = match &family.axis {
        Axis::Count(name) => name.clone(),
        _ => "size".into(),
    };
    let mut table = Table::new(
        &family.name,
        &[
            &format!("<{first}"),
            "n",
            "mean",
            "std",
            "median",
            "p99",
            "p99.9",
            "1000th largest",
            "largest",
            "zeros",
        ],
    );
    for (size, place) in &family.members {
        let place = &places[*place];
        let Some(summary) = place.summary() else { continue };
        let optional = |value: Option<f64>| value.map_or("–".into(), duration);
        let n = place.sorted.len();
        let floor = (quantum / f64::from(place.batch)).max(f64::MIN_POSITIVE);
        let zeros = place.sorted.partition_point(|value| *value < floor);
        table.push(
            false,
            [
                match &family.axis {
                    Axis::Count(_) => significant(*size, 4),
                    _ => size_text(*size),
                },
                units::count(n as u64),
                duration(summary.mean),
                duration(summary.deviation),
                duration(summary.median),
                optional(summary.p99),
                optional(summary.p999),
                optional(n.checked_sub(1000).map(|at| place.sorted[at])),
                duration(summary.max),
                match zeros {
                    0 => "none".into(),
                    zeros => crate::percent(zeros as f64 / n as f64),
                },
            ],
        );
    }
    let batch = family.members.iter().map(|(_, place)| places[*place].batch).max().unwrap_or(1);
    if batch > 1 {
        table.note = format!(
            "Each of the n values is the mean of {} operations: trust mean and median, not the tail.",
            units::count(u64::from(batch))
        );
    }
    table
}
