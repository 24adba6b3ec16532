//! Row groups: encodes their columns, each once where groups repeat it.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer_mut};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::SchemaDescriptor;
use samples::{Sample, Site};

use crate::columns::{COLUMNS, Column, add_values};

/// Fewer rows are encoded by one thread: starting others takes longer.
const FEW_ROWS: usize = 1 << 14;

/// Encoded columns that are kept for later groups, at most.
const MOST_KEPT: usize = 1 << 12;

/// Longer ones are not kept: what repeats is short.
const LONGEST_KEPT: usize = 1 << 16;

/// A group of more runs of rows, as of a program with many sites, hardly repeats, and what it is known by would fill memory.
const MOST_RUNS: usize = 256;

/// Rows in a row that are samples of one site on one rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RunOfRows {
    pub(crate) site: u32,
    /// The number of the first among all of its site and rank.
    pub(crate) first: i64,
    pub(crate) rows: usize,
}

/// The rows of a row group.
pub(crate) struct Table<'a> {
    pub(crate) rows: &'a [Sample],
    /// Of the same rows.
    pub(crate) runs: &'a [RunOfRows],
    pub(crate) sites: &'a [Site],
}

/// A column, encoded and compressed, what the footer says of it, and the checksum of its values.
#[derive(Clone)]
struct Encoded {
    bytes: Bytes,
    close: ColumnCloseResult,
    sum: crc32fast::Hasher,
}

/// What a column of a group holds, where that is said in few words.
#[derive(PartialEq, Eq, Hash)]
enum Repeatable {
    /// So many times the same number.
    Same(i64, usize),
    /// What follows from these runs.
    Runs(Vec<RunOfRows>),
}

/// Writes the row groups of one file.
pub(crate) struct GroupWriter {
    schema: SchemaDescriptor,
    properties: WriterPropertiesPtr,
    /// What was encoded before, by column and content.
    known: Mutex<HashMap<(usize, Repeatable), Encoded>>,
}

impl GroupWriter {
    pub(crate) fn new(schema: SchemaDescriptor, properties: WriterPropertiesPtr) -> Self {
        Self { schema, properties, known: Mutex::default() }
    }

    /// Encodes the columns on as many threads as there are processors, and puts them into the file.
    pub(crate) fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        table: &Table<'_>,
        sum: &mut crc32fast::Hasher,
    ) -> Result<(), ParquetError> {
        let threads = match table.rows.len() {
            0..FEW_ROWS => 1,
            _ => std::thread::available_parallelism().map_or(1, usize::from).min(COLUMNS.len()),
        };
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= COLUMNS.len() {
                    break done;
                }
                done.push((index, self.column(index, table)));
            }
        };
        let mut encoded = std::thread::scope(|scope| {
            let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut encoded = work();
            for worker in workers {
                match worker.join() {
                    Ok(done) => encoded.extend(done),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            encoded
        });
        encoded.sort_by_key(|(index, _)| *index);
        for (_, column) in encoded {
            let column = column?;
            sum.combine(&column.sum);
            group.append_column(&column.bytes, column.close)?;
        }
        Ok(())
    }

    /// One column: encoded now, or as it was encoded for an earlier group.
    fn column(&self, index: usize, table: &Table<'_>) -> Result<Encoded, ParquetError> {
        let Some(content) = repeatable(index, table) else { return self.encode(index, table) };
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (index, content);
        if let Some(found) = known().get(&key) {
            return Ok(found.clone());
        }
        let encoded = self.encode(index, table)?;
        let mut known = known();
        if known.len() < MOST_KEPT && encoded.bytes.len() <= LONGEST_KEPT {
            known.insert(key, encoded.clone());
        }
        Ok(encoded)
    }

    fn encode(&self, index: usize, table: &Table<'_>) -> Result<Encoded, ParquetError> {
        let Table { rows, runs, sites } = table;
        let mut sum = crc32fast::Hasher::new();
        let mut sink = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut sink));
        let mut out = get_column_writer(self.schema.column(index), self.properties.clone(), pages);
        match COLUMNS[index].1 {
            Column::Text(text) => {
                let texts: Vec<ByteArray> =
                    sites.iter().map(|site| ByteArray::from(text(site).into_bytes())).collect();
                let values: Vec<_> = rows.iter().map(|row| texts[row.site as usize].clone()).collect();
                get_typed_column_writer_mut::<ByteArrayType>(&mut out).write_batch(&values, None, None)?;
            }
            Column::Line => {
                let values: Vec<_> = rows.iter().map(|row| sites[row.site as usize].line as i32).collect();
                get_typed_column_writer_mut::<Int32Type>(&mut out).write_batch(&values, None, None)?;
            }
            Column::Iteration => {
                let values: Vec<_> =
                    runs.iter().flat_map(|run| run.first..run.first + run.rows as i64).collect();
                get_typed_column_writer_mut::<Int64Type>(&mut out).write_batch(&values, None, None)?;
            }
            Column::Narrow(get, _) => {
                let values: Vec<_> = rows.iter().map(get).collect();
                add_values(&mut sum, values.iter().map(|value| value.to_le_bytes()));
                get_typed_column_writer_mut::<Int32Type>(&mut out).write_batch(&values, None, None)?;
            }
            Column::Wide(get, _) => {
                let values: Vec<_> = rows.iter().map(get).collect();
                add_values(&mut sum, values.iter().map(|value| value.to_le_bytes()));
                get_typed_column_writer_mut::<Int64Type>(&mut out).write_batch(&values, None, None)?;
            }
        }
        let close = out.close()?;
        Ok(Encoded { bytes: Bytes::from(sink.into_inner()?), close, sum })
    }
}

/// What a column holds, where it can repeat in other groups. A column whose numbers differ is seen at its first rows.
fn repeatable(index: usize, table: &Table<'_>) -> Option<Repeatable> {
    /// The number of a column in each row, if it is the same.
    fn same<T: PartialEq + Copy>(rows: &[Sample], get: impl Fn(&Sample) -> T) -> Option<T> {
        let first = get(rows.first()?);
        rows.iter().all(|row| get(row) == first).then_some(first)
    }
    let Table { rows, runs, .. } = table;
    let of_runs = |part: fn(&RunOfRows) -> RunOfRows| {
        (runs.len() <= MOST_RUNS).then(|| Repeatable::Runs(runs.iter().map(part).collect()))
    };
    match COLUMNS[index].1 {
        Column::Text(_) | Column::Line => of_runs(|run| RunOfRows { first: 0, ..*run }),
        Column::Iteration => of_runs(|run| RunOfRows { site: 0, ..*run }),
        Column::Narrow(get, _) => Some(Repeatable::Same(same(rows, get)?.into(), rows.len())),
        Column::Wide(get, _) => Some(Repeatable::Same(same(rows, get)?, rows.len())),
    }
}
