//! A table of all operations: how often, how long, how many bytes a second.

use std::collections::BTreeMap;

use samples::units;

use super::Place;
use super::place::together;
use crate::unit::significant;
use crate::{Chapter, Table};

const MIB: f64 = (1 << 20) as f64;

/// All places of one label and operation together.
struct OperationTotals {
    label: String,
    operation: String,
    operations: u64,
    bytes: u64,
    total_s: f64,
    busy: Vec<(u64, u64)>,
    min: f64,
    max: f64,
    failed: usize,
}

fn merged(places: &[Place]) -> Vec<OperationTotals> {
    let mut all: Vec<OperationTotals> = Vec::new();
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for place in places.iter().filter(|place| place.is_operation()) {
        let (Some(min), Some(max)) = (place.sorted.first(), place.sorted.last()) else { continue };
        let at = *known.entry((&place.label, &place.operation)).or_insert_with(|| {
            all.push(OperationTotals {
                label: place.label.clone(),
                operation: place.operation.clone(),
                operations: 0,
                bytes: 0,
                total_s: 0.0,
                busy: Vec::new(),
                min: f64::INFINITY,
                max: 0.0,
                failed: 0,
            });
            all.len() - 1
        });
        let one = &mut all[at];
        one.operations += place.operations;
        one.bytes += place.bytes;
        one.total_s += place.total_s;
        one.busy.extend(&place.busy);
        one.min = one.min.min(*min);
        one.max = one.max.max(*max);
        one.failed += place.failed;
    }
    all
}

/// Seconds that the stretches of several places cover.
fn busy(stretches: Vec<(u64, u64)>) -> f64 {
    together(stretches).iter().map(|(begin, end)| (end - begin) as f64 * 1e-12).sum()
}

/// For each label and operation: quantity, average, minimum and maximum in ms, MiB/s.
pub(super) fn chapter(places: &[Place]) -> Option<Chapter> {
    let mut table = Table::new(
        "Operations",
        &["<phase", "<operation", "quantity", "avg ms", "min ms", "max ms", "MiB/s", "failed"],
    );
    let mut label = None;
    for place in merged(places) {
        let milliseconds = |seconds: f64| significant(1e3 * seconds, 3);
        let first = label.as_ref() != Some(&place.label);
        label = Some(place.label.clone());
        let busy_s = busy(place.busy);
        let rate = match place.bytes {
            0 => "–".into(),
            bytes if busy_s > 0.0 => significant(bytes as f64 / MIB / busy_s, 4),
            _ => "–".into(),
        };
        table.push(
            false,
            [
                match (first, place.label.is_empty()) {
                    (true, true) => "–".into(),
                    (true, false) => place.label.clone(),
                    (false, _) => String::new(),
                },
                place.operation.clone(),
                units::count(place.operations),
                milliseconds(place.total_s / place.operations.max(1) as f64),
                milliseconds(place.min),
                milliseconds(place.max),
                rate,
                if place.failed == 0 { String::new() } else { units::count(place.failed as u64) },
            ],
        );
    }
    if places.iter().all(|place| place.failed == 0) {
        table.columns.pop();
        table.rows.iter_mut().for_each(|row| {
            row.cells.pop();
        });
    }
    table.note =
        "MiB/s: bytes moved by all ranks over the time in which any of them was inside the operation.".into();
    (!table.rows.is_empty()).then(|| {
        Chapter::new("operations", "Operations", "What every phase did, how long it took and what it moved.")
            .with([], [table])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Run, Sample, Site};

    #[test]
    fn the_rates_of_two_processes_at_work_together_add_up() {
        // Two ranks, each 4 transfers of 1 MiB that take 1 ms, at the same time.
        let site = Site { operation: "pwrite".into(), line: 1, ..Site::default() };
        let sample = |rank: u32, n: u64| Sample {
            rank,
            start_ns: 1_000_000 * n,
            duration_ps: 1_000_000_000,
            bytes: 1 << 20,
            batch: 1,
            ..Sample::default()
        };
        let samples = (0..2).flat_map(|rank| (0..4).map(move |n| sample(rank, n))).collect();
        let run = Run { sites: vec![site], samples, ..Run::default() };
        let table = chapter(&Place::all(&run)).unwrap().tables.remove(0);
        assert_eq!(table.rows[0].cells[6], "2000");
    }
}
