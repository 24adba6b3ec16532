//! Divides the samples of a run into the rows of its result.

use std::collections::{BTreeMap, HashMap};

use samples::{Counted, Facts, Run, Site};

use crate::columns::{Columns, Stream};
use crate::measure::{count, measure};
use crate::row::ResultRow;
use crate::timeline::Timeline;

/// The rows of a run, in the order in which the run names their places.
pub fn of_run(run: &Run) -> Vec<ResultRow> {
    let mut columns = Columns::default();
    if run.facts.counted.is_empty() {
        columns.push(&run.samples);
    }
    of_columns(columns, &run.facts, &run.sites)
}

/// The same of samples that were taken piece by piece, with the facts and the sites of their run.
pub fn of_columns(columns: Columns, facts: &Facts, sites: &[Site]) -> Vec<ResultRow> {
    let (mut rows, row_of) = empty_rows(sites);
    if !facts.counted.is_empty() {
        let mut merged: BTreeMap<usize, Counted> = BTreeMap::new();
        for counted in &facts.counted {
            let Some(&row) = row_of.get(counted.site as usize) else { continue };
            merged.entry(row).or_default().merge(counted);
        }
        for (row, counted) in merged {
            count(&mut rows[row], &counted);
        }
        rows.retain(|row| row.timings + row.errors > 0);
        return rows;
    }
    let streams = columns.into_streams();
    let timeline = Timeline::of(facts, sites, &streams);
    let mut of_row: Vec<Vec<Stream>> = rows.iter().map(|_| Vec::new()).collect();
    for mut stream in streams {
        stream.expect(sites.get(stream.site as usize).and_then(|site| site.expects));
        if let Some(&row) = row_of.get(stream.site as usize) {
            of_row[row].push(stream);
        }
    }
    for (row, streams) in rows.iter_mut().zip(of_row) {
        measure(row, streams, &timeline);
    }
    rows.retain(|row| row.timings + row.errors + row.failed_as_expected > 0);
    rows
}

/// A row for each path of labels, operation and kind, and which row each site belongs to.
fn empty_rows(sites: &[Site]) -> (Vec<ResultRow>, Vec<usize>) {
    let mut rows: Vec<ResultRow> = Vec::new();
    let mut known = HashMap::new();
    let row_of = sites.iter().map(|site| {
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
