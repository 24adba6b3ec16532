//! Divides the samples of a run into the rows of its result.

use std::collections::{BTreeMap, HashMap};

use samples::{Counted, Run, Sample};

use crate::measure::{count, measure};
use crate::row::ResultRow;
use crate::timeline::Timeline;

/// The rows of a run, in the order in which the run names their places.
pub fn of_run(run: &Run) -> Vec<ResultRow> {
    let (mut rows, row_of) = empty_rows(run);
    if !run.facts.counted.is_empty() {
        let mut merged: BTreeMap<usize, Counted> = BTreeMap::new();
        for counted in &run.facts.counted {
            let Some(&row) = row_of.get(counted.site as usize) else { continue };
            merged.entry(row).or_default().merge(counted);
        }
        for (row, counted) in merged {
            count(&mut rows[row], &counted);
        }
        rows.retain(|row| row.timings + row.errors > 0);
        return rows;
    }
    let mut samples: Vec<Vec<&Sample>> = vec![Vec::new(); rows.len()];
    for sample in &run.samples {
        if let Some(&row) = row_of.get(sample.site as usize) {
            samples[row].push(sample);
        }
    }
    let timeline = Timeline::of(run);
    for (row, samples) in rows.iter_mut().zip(samples) {
        measure(row, samples, &timeline);
    }
    rows.retain(|row| row.timings + row.errors > 0);
    rows
}

/// A row for each path of labels, operation and kind, and which row each site belongs to.
fn empty_rows(run: &Run) -> (Vec<ResultRow>, Vec<usize>) {
    let mut rows: Vec<ResultRow> = Vec::new();
    let mut known = HashMap::new();
    let row_of = run.sites.iter().map(|site| {
        let row = *known.entry((&site.labels, &site.operation, site.kind)).or_insert_with(|| {
            rows.push(ResultRow {
                label: site.labels.last().cloned(),
                labels: site.labels.clone(),
                operation: site.operation.clone(),
                kind: site.kind,
                ..ResultRow::default()
            });
            rows.len() - 1
        });
        if let Err(at) = rows[row].lines.binary_search(&site.line) {
            rows[row].lines.insert(at, site.line);
        }
        row
    });
    let row_of = row_of.collect();
    (rows, row_of)
}
