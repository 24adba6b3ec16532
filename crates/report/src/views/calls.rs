//! Calls a second beside the quantiles of a single call.

use std::collections::BTreeMap;

use super::place::Place;
use crate::unit::{duration, significant};
use crate::{Chapter, Table};

/// Labels that group at least this many operations name a way of measuring, not an operation.
const WAYS: usize = 3;

/// The same call timed one by one and in batches; at least one of the two.
pub(crate) struct CallPair<'a> {
    /// `getpid`, `raw / read_null`.
    pub name: String,
    pub single: Option<&'a Place>,
    pub batch: Option<&'a Place>,
}

/// All calls of a run, in order, each with its name.
pub(crate) fn pairs(places: &[Place]) -> Vec<CallPair<'_>> {
    let mut of_label: BTreeMap<&str, usize> = BTreeMap::new();
    places.iter().for_each(|place| *of_label.entry(&place.label).or_default() += 1);
    let name = |place: &Place| {
        let is_way = of_label.get(place.label.as_str()).is_some_and(|count| *count >= WAYS);
        let way = way(&place.label);
        let has_batch = !way.is_empty() && of_label.contains_key(format!("{way} batch").as_str());
        match (has_batch, is_way) {
            (true, _) => format!("{way} / {}", place.operation),
            (false, true) => place.operation.clone(),
            (false, false) => place.name(),
        }
    };
    let named = |(single, batch): (Option<&'_ Place>, Option<&'_ Place>)| single.or(batch).map(name);
    rows(places)
        .into_iter()
        .filter_map(|(single, batch)| Some(CallPair { name: named((single, batch))?, single, batch }))
        .collect()
}

/// Whether there are batched timings and single ones of the same operation.
pub(super) fn is_wanted(places: &[Place]) -> bool {
    rows(places).iter().any(|(single, batch)| single.is_some() && batch.is_some())
}

/// Fewest operations in one timing that count as a batch.
const BATCH: u32 = 8;

/// Whether it is the label of batches: `batch`, `raw batch`.
fn is_batch(label: &str) -> bool {
    label == "batch" || label.ends_with(" batch")
}

/// The label without the word that says how many were timed at once: `raw` of `raw batch`, nothing of `single`.
fn way(label: &str) -> &str {
    let rest = if is_batch(label) { label.strip_suffix("batch") } else { label.strip_suffix("single") };
    rest.unwrap_or(label).trim_end()
}

/// Pairs of a single and a batched place of the same operation, in order. Places of few samples and
/// members of a family of sizes are left out.
fn rows(places: &[Place]) -> Vec<(Option<&Place>, Option<&Place>)> {
    let operations: Vec<&Place> =
        places.iter().filter(|place| place.is_operation() && place.sorted.len() >= 10).collect();
    let mut of_label: BTreeMap<&str, usize> = BTreeMap::new();
    operations.iter().for_each(|place| *of_label.entry(&place.label).or_default() += 1);
    let is_way = |place: &Place| of_label.get(place.label.as_str()).is_some_and(|count| *count >= WAYS);
    let has_size =
        |place: &Place| place.label.split([' ', ',']).any(|word| super::family::size(word).is_some());
    let mut rows: Vec<(Option<&Place>, Option<&Place>)> = Vec::new();
    for place in operations {
        if has_size(place) {
            continue;
        }
        let other = rows.iter_mut().find(|(single, batch)| {
            single.or(*batch).is_some_and(|known| {
                let named = is_batch(&known.label) || is_batch(&place.label);
                known.operation == place.operation
                    && known.label != place.label
                    && if named {
                        way(&known.label) == way(&place.label)
                    } else {
                        is_way(known) && is_way(place)
                    }
            })
        });
        match (other, place.batch >= BATCH) {
            (Some((_, batch)), true) if batch.is_none() => *batch = Some(place),
            (Some((single, _)), false) if single.is_none() => *single = Some(place),
            (_, true) => rows.push((None, Some(place))),
            (_, false) => rows.push((Some(place), None)),
        }
    }
    rows
}

/// Calls a second, and quantiles of a single call.
pub(super) fn chapter(places: &[Place]) -> Option<Chapter> {
    if !is_wanted(places) {
        return None;
    }
    let mut table = Table::new(
        "Calls a second",
        &["<call", "calls/s", "each", "<by", "single: median", "p99", "p99.9", "slowest", "n"],
    );
    for CallPair { name, single, batch } in pairs(places) {
        let each = batch.or(single).map_or(f64::NAN, Place::median);
        let optional = |value: Option<f64>| value.map_or("–".into(), duration);
        let summary = single.and_then(Place::summary);
        table.push(
            false,
            [
                name,
                significant(1.0 / each, 3),
                duration(each),
                if batch.is_some() { "batches".into() } else { "single calls".into() },
                optional(summary.as_ref().map(|summary| summary.median)),
                optional(summary.as_ref().and_then(|summary| summary.p99)),
                optional(summary.as_ref().and_then(|summary| summary.p999)),
                optional(summary.as_ref().map(|summary| summary.max)),
                summary.map_or("–".into(), |summary| samples::units::count(summary.n as u64)),
            ],
        );
    }
    table.note = "Calls a second by the median of batches, where the clock's own cost does not count; single calls have it \
                  in them."
        .into();
    if places.iter().any(|place| place.ranks > 1) {
        table.note += " Of one rank: ranks that call at the same time make more together.";
    }
    let quickest = table.rows.iter().filter(|row| row.cells[3] == "batches").take(3);
    let brief: Vec<String> = quickest.map(|row| format!("{} {}", row.cells[0], row.cells[2])).collect();
    let lead = "What a call costs when it is repeated, and what a single one may cost.";
    let mut chapter = Chapter::new("calls", "Calls a second", lead).with([], [table]);
    if !brief.is_empty() {
        chapter.brief = format!("One call takes: {}.", brief.join(", "));
    }
    Some(chapter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::{Run, Sample, Site};

    #[test]
    fn single_and_batched_calls_of_one_way_stand_in_one_row() {
        let labels = ["single", "batch", "raw", "raw batch"];
        let operations = ["getpid", "read", "write"];
        let mut run = Run::default();
        for (way, label) in labels.into_iter().enumerate() {
            for (line, operation) in operations.into_iter().enumerate() {
                let (site, batch) = (run.sites.len() as u32, if way % 2 == 1 { 1000 } else { 1 });
                run.sites.push(Site {
                    labels: vec![label.into()],
                    operation: operation.into(),
                    line: (10 * way + line) as u32,
                    ..Site::default()
                });
                let duration_ps = 100_000 * u64::from(batch) * (1 + way as u64 / 2);
                run.samples.extend((0..20).map(|n| Sample {
                    duration_ps: duration_ps + n,
                    site,
                    batch,
                    ..Sample::default()
                }));
            }
        }
        let table = chapter(&Place::all(&run)).expect("calls").tables.remove(0);
        let rows: Vec<String> = table
            .rows
            .iter()
            .map(|row| format!("{} {} {}", row.cells[0], row.cells[2], row.cells[3]))
            .collect();
        assert_eq!(
            rows,
            [
                "getpid 100.0 ns batches",
                "read 100.0 ns batches",
                "write 100.0 ns batches",
                "raw / getpid 200.0 ns batches",
                "raw / read 200.0 ns batches",
                "raw / write 200.0 ns batches",
            ]
        );
    }
}
