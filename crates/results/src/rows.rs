//! Divides the samples of a run into the rows of its result.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use samples::{Counted, Facts, JudgementKind, Run, Site};

use crate::columns::{Columns, Stream};
use crate::measure::{Whole, count, measure};
use crate::row::ResultRow;
use crate::safe::Syncs;
use crate::timeline::Timeline;

/// Fewest samples for which threads are started.
const FEWEST_FOR_THREADS: usize = 100_000;

/// The rows of a run, in the order in which the run names their places; measured on all processors.
pub fn of_run(run: &Run) -> Vec<ResultRow> {
    of_columns(columns_of(run), &run.facts, &run.sites)
}

/// The same, measured by this thread alone: beside a run that is under way.
pub fn of_run_alone(run: &Run) -> Vec<ResultRow> {
    rows_of(columns_of(run), &run.facts, &run.sites, 1)
}

/// The same of samples that were taken piece by piece, with the facts and the sites of their run; on all processors.
pub fn of_columns(columns: Columns, facts: &Facts, sites: &[Site]) -> Vec<ResultRow> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    rows_of(columns, facts, sites, threads)
}

fn columns_of(run: &Run) -> Columns {
    let mut columns = Columns::default();
    if run.facts.counted.is_empty() {
        columns.push(&run.samples);
    }
    columns
}

fn rows_of(columns: Columns, facts: &Facts, sites: &[Site], threads: usize) -> Vec<ResultRow> {
    let (mut rows, row_of) = empty_rows(sites);
    if !facts.counted.is_empty() {
        let mut merged: BTreeMap<usize, Counted> = BTreeMap::new();
        for counted in &facts.counted {
            let Some(&row) = row_of.get(counted.site as usize) else { continue };
            let mut counted = counted.clone();
            let expects = sites.get(counted.site as usize).and_then(|site| site.expects);
            if let Some(expected) = expects.and_then(|errno| counted.failed_by_errno.remove(&errno)) {
                counted.failed -= expected.min(counted.failed);
                rows[row].failed_as_expected += expected;
            }
            merged.entry(row).or_default().merge(&counted);
        }
        for (row, counted) in merged {
            count(&mut rows[row], &counted);
        }
        count_as_expected(&mut rows, &row_of, facts);
        rows.retain(|row| row.timings + row.errors + row.failed_as_expected > 0);
        return rows;
    }
    let streams = columns.into_streams();
    let timeline = Timeline::of(facts, sites, &streams);
    let syncs = Syncs::of(sites, &streams);
    let gate = facts.report.get("gate").map_or("", String::as_str);
    let whole = Whole { timeline: &timeline, syncs: &syncs, gate };
    let mut of_row: Vec<Vec<Stream>> = rows.iter().map(|_| Vec::new()).collect();
    for mut stream in streams {
        stream.expect(sites.get(stream.site as usize).and_then(|site| site.expects));
        if let Some(&row) = row_of.get(stream.site as usize) {
            of_row[row].push(stream);
        }
    }
    measure_all(rows.iter_mut().zip(of_row).collect(), &whole, threads);
    count_as_expected(&mut rows, &row_of, facts);
    rows.retain(|row| row.timings + row.errors + row.failed_as_expected > 0);
    rows
}

/// Failures that the program foretold, but by no constant that a site could have: what was found in the run tells.
fn count_as_expected(rows: &mut [ResultRow], row_of: &[usize], facts: &Facts) {
    let found = facts.judgements.iter().flat_map(|found| found.of(JudgementKind::FailedAsExpected));
    for one in found {
        let row = one.site.and_then(|site| row_of.get(site as usize)).and_then(|row| rows.get_mut(*row));
        let Some(row) = row else { continue };
        let Some(errors) = row.errors_by_errno.get_mut(&one.errno) else { continue };
        let expected = one.count.min(*errors);
        *errors -= expected;
        row.errors -= expected;
        row.failed_as_expected += expected;
        row.errors_by_errno.retain(|_, count| *count > 0);
    }
}

/// Measures each row, the longest first, on so many threads. A row does not depend on the others.
fn measure_all(mut work: Vec<(&mut ResultRow, Vec<Stream>)>, whole: &Whole, threads: usize) {
    let samples = |streams: &[Stream]| streams.iter().map(|stream| stream.starts().len()).sum::<usize>();
    if threads < 2 || work.iter().map(|(_, streams)| samples(streams)).sum::<usize>() < FEWEST_FOR_THREADS {
        work.into_iter().for_each(|(row, streams)| measure(row, streams, whole));
        return;
    }
    work.sort_by_key(|(_, streams)| samples(streams));
    let work = Mutex::new(work);
    let next = || work.lock().unwrap_or_else(PoisonError::into_inner).pop();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((row, streams)) = next() {
                    measure(row, streams, whole);
                }
            });
        }
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use samples::Sample;

    #[test]
    fn rows_are_the_same_on_any_number_of_threads() {
        let sites: Vec<Site> = ["fread", "fwrite", "stat"]
            .into_iter()
            .map(|operation| Site { operation: operation.into(), line: 1, ..Site::default() })
            .collect();
        let samples: Vec<Sample> = (0..150_000u64)
            .map(|n| Sample {
                start_ns: n * 1_000,
                duration_ps: 1_000 * (n * 7_919 % 1_009),
                site: (n % 7 % 3) as u32,
                rank: (n % 2) as u32,
                batch: 1,
                ..Sample::default()
            })
            .collect();
        let run = Run { sites, samples, ..Run::default() };
        let alone = of_run_alone(&run);
        assert_eq!(alone.len(), 3);
        for threads in [2, 5] {
            assert_eq!(rows_of(columns_of(&run), &run.facts, &run.sites, threads), alone);
        }
    }
}
