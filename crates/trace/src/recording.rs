//! Keeps a trace in a Parquet file: a row a call, what belongs to the whole in the footer.
//!
//! Long because: the format is in one place, with what writes, reads and doubts it.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use crc32fast::Hasher;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde::{Deserialize, Serialize};

use crate::model::{Call, NONE, NameTable, Op, Sighting, Thread, Trace, UNKNOWN, Unrepeated};
use crate::names::{escape, unescape};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 18;
/// Rows that are read at once.
const ROWS_AT_ONCE: usize = 1 << 12;

/// Memory that a call takes while it is read.
const BYTES_A_CALL: u64 = 128;
/// Calls of so many bytes are unpacked from any file; more than that only where the file has at least a part of it.
const FREELY_UNPACKED: u64 = 256 << 20;
const MOST_UNPACKED: u64 = 256;

/// The key of the footer under which a recording keeps what belongs to the whole.
const KEY: &str = store::RECORDING_KEY;

/// The key with the checksums of the calls and of what belongs to the whole, as two numbers in base 16.
const CHECKSUM_KEY: &str = "lastrank.crc32";

const SCHEMA: &str = "message recording {
    required int64 start_ns;
    required int64 duration_ns;
    required int64 thread;
    required binary operation (UTF8);
    required int64 errno;
    required int64 flags;
    required int64 file;
    required binary path (UTF8);
    required binary other (UTF8);
    required int64 bytes;
    required int64 offset;
    required int64 held_ns;
}";

/// What the footer holds.
#[derive(Serialize, Deserialize)]
struct Footer {
    format: String,
    threads: Vec<Thread>,
    sightings: Vec<(String, Sighting)>,
    /// What names were at the end; recordings of earlier versions do not tell.
    #[serde(default)]
    after: Vec<(String, Sighting)>,
    /// Texts of the links in `sightings` and `after`.
    targets: BTreeMap<u32, String>,
    left_out: BTreeMap<String, u64>,
    /// Recordings of earlier versions do not tell.
    #[serde(default)]
    unrepeated: Vec<Unrepeated>,
    notes: Vec<String>,
    cost_ns: Option<u64>,
    /// Recordings of earlier versions do not tell.
    #[serde(default)]
    added_ns: Option<u64>,
    about: About,
}

/// What is known of the recorded application beside its calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its words.
    pub command: Vec<String>,
    /// How long it ran, in nanoseconds.
    pub elapsed_ns: u64,
    /// Calls that read or write which were recorded.
    pub recorded: u64,
    /// The same as Linux counted them.
    pub counted: u64,
    /// When it began, in nanoseconds since 1970; 0 in recordings of earlier versions.
    #[serde(default)]
    pub began_ns: u64,
    /// How many names of its directory were compared before and after; `None` where none was.
    #[serde(default)]
    pub tree: Option<u64>,
}

/// Why a recording cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// As Parquet says.
    #[error("the recording is cut or damaged, take another copy or record again: {0}")]
    Parquet(#[from] ParquetError),
    /// It is a Parquet file, but no recording.
    #[error("a Parquet file without the key {KEY}: no recording")]
    NoRecording,
    /// Its footer or a row is not what it should be.
    #[error("the recording is damaged: {0}")]
    Damaged(String),
}

/// Whether a file that begins so may be a recording.
pub fn detect(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// Writes a recording.
///
/// # Errors
/// Where `out` cannot be written.
pub fn write(out: impl Write + Send, trace: &Trace, about: &About) -> Result<(), RecordingError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    for texts in ["operation", "path", "other"] {
        // To find the first and the last one takes longer than to write them.
        properties = properties.set_column_statistics_enabled(texts.into(), EnabledStatistics::None);
    }
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
    let rows = trace.calls.len();
    let mut sum = Hasher::new();
    for first in (0..rows).step_by(GROUP_ROWS) {
        let calls: Vec<Call> = (first..rows.min(first + GROUP_ROWS)).map(|at| trace.calls.get(at)).collect();
        let mut group = file.next_row_group()?;
        write_group(&mut group, &calls, trace, &mut sum)?;
        group.close()?;
    }
    let text = |number: u32| escape(trace.names.get(number));
    let mut targets = BTreeMap::new();
    for sighting in trace.sightings.values().chain(trace.after.values()) {
        if let crate::model::Was::Link(target) = sighting.was {
            targets.insert(target, text(target));
        }
    }
    let footer = Footer {
        format: trace.format.clone(),
        threads: trace.threads.clone(),
        sightings: trace.sightings.iter().map(|(name, sighting)| (text(*name), *sighting)).collect(),
        after: trace.after.iter().map(|(name, sighting)| (text(*name), *sighting)).collect(),
        targets,
        left_out: trace.left_out.clone(),
        unrepeated: trace.unrepeated.clone(),
        notes: trace.notes.clone(),
        cost_ns: trace.cost_ns,
        added_ns: trace.added_ns,
        about: about.clone(),
    };
    let json = serde_json::to_string(&footer).map_err(|error| RecordingError::Damaged(error.to_string()))?;
    let sums = format!("{:08x} {:08x}", sum.finalize(), crc32fast::hash(json.as_bytes()));
    file.append_key_value_metadata(KeyValue::new(KEY.to_owned(), json));
    file.append_key_value_metadata(KeyValue::new(CHECKSUM_KEY.to_owned(), sums));
    file.close()?;
    Ok(())
}

fn write_group<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    calls: &[Call],
    trace: &Trace,
    sum: &mut Hasher,
) -> Result<(), ParquetError> {
    let number = |value: u32| if value == NONE { -1 } else { i64::from(value) };
    let mut names: HashMap<u32, ByteArray> = HashMap::new();
    let mut name = |value: u32| {
        let escaped = || ByteArray::from(escape(trace.names.get(value)).into_bytes());
        names.entry(value).or_insert_with(escaped).clone()
    };
    type Numbers<'a> = Box<dyn Fn(&Call) -> i64 + 'a>;
    enum Values<'a> {
        Numbers(Numbers<'a>),
        Operations,
        Names(fn(&Call) -> u32),
    }
    let columns: Vec<Values<'_>> = vec![
        Values::Numbers(Box::new(|call| call.start.cast_signed())),
        Values::Numbers(Box::new(|call| call.duration.cast_signed())),
        Values::Numbers(Box::new(|call| i64::from(call.thread))),
        Values::Operations,
        Values::Numbers(Box::new(|call| i64::from(call.errno))),
        Values::Numbers(Box::new(|call| i64::from(call.flags))),
        Values::Numbers(Box::new(|call| number(call.file))),
        Values::Names(|call| call.path),
        Values::Names(|call| call.other),
        Values::Numbers(Box::new(|call| call.bytes.cast_signed())),
        Values::Numbers(Box::new(|call| call.offset.cast_signed())),
        Values::Numbers(Box::new(|call| call.held.cast_signed())),
    ];
    for call in calls {
        for values in &columns {
            match values {
                Values::Numbers(of) => sum.update(&of(call).to_le_bytes()),
                Values::Operations => add_text(sum, call.op.word().as_bytes()),
                Values::Names(of) => add_text(sum, name(of(call)).data()),
            }
        }
    }
    for values in columns {
        let Some(mut column) = group.next_column()? else { break };
        match values {
            Values::Numbers(of) => {
                let values: Vec<i64> = calls.iter().map(of).collect();
                column.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            Values::Operations => {
                let values: Vec<ByteArray> =
                    calls.iter().map(|call| ByteArray::from(call.op.word())).collect();
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            Values::Names(of) => {
                let values: Vec<ByteArray> = calls.iter().map(|call| name(of(call))).collect();
                column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
        }
        column.close()?;
    }
    Ok(())
}

/// Adds a text, so that no two lists of texts give the same.
fn add_text(sum: &mut Hasher, text: &[u8]) {
    sum.update(&(text.len() as u64).to_le_bytes());
    sum.update(text);
}

/// Reads a recording.
///
/// # Errors
/// Where the bytes are none.
pub fn read(bytes: Bytes) -> Result<(Trace, About), RecordingError> {
    read_from(bytes.clone(), &bytes)
}

/// Reads a recording a part at a time, from two handles of one file.
///
/// # Errors
/// Where the file is none, or cannot be read.
pub fn read_from<R: ChunkReader + 'static>(source: R, again: &R) -> Result<(Trace, About), RecordingError> {
    let length = source.len();
    let file = store::open_parquet(source)?;
    let groups = file.metadata().row_groups().iter();
    let sizes = groups.map(|group| {
        let rows = u64::try_from(group.num_rows()).unwrap_or(u64::MAX).saturating_mul(BYTES_A_CALL);
        let pages = group
            .columns()
            .iter()
            .map(|column| u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX));
        rows.max(pages.fold(0, u64::saturating_add))
    });
    if sizes.fold(0, u64::saturating_add) > FREELY_UNPACKED.max(length.saturating_mul(MOST_UNPACKED)) {
        return Err(RecordingError::Damaged(format!(
            "a file of {length} bytes holds no such number of calls"
        )));
    }
    let pairs = file.metadata().file_metadata().key_value_metadata();
    let value = |key: &str| pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == key)?.value.clone());
    let footer = value(KEY).ok_or(RecordingError::NoRecording)?;
    // Recordings of earlier versions have no checksums.
    let sums = value(CHECKSUM_KEY);
    let of_whole = crc32fast::hash(footer.as_bytes());
    let footer: Footer =
        serde_json::from_str(&footer).map_err(|error| RecordingError::Damaged(error.to_string()))?;
    // Those of earlier versions do not tell how long threads were stopped.
    if !matches!(file.metadata().file_metadata().schema_descr().num_columns(), 11 | 12) {
        return Err(RecordingError::Damaged("it has other columns".to_owned()));
    }
    let threads = footer.threads.len();
    if footer.threads.iter().any(|thread| thread.process as usize >= threads) {
        return Err(RecordingError::Damaged("a thread is of a process that it does not name".to_owned()));
    }
    let mut trace = Trace {
        format: footer.format,
        threads: footer.threads,
        left_out: footer.left_out,
        unrepeated: footer.unrepeated,
        notes: footer.notes,
        cost_ns: footer.cost_ns,
        added_ns: footer.added_ns,
        ..Trace::default()
    };
    let ops: BTreeMap<&str, Op> = Op::ALL.iter().map(|op| (op.word(), *op)).collect();
    let mut sum = Hasher::new();
    for group in 0..file.num_row_groups() {
        read_group(again, &*file.get_row_group(group)?, &mut trace, &ops, &mut sum)?;
    }
    if sums.is_some_and(|sums| sums != format!("{:08x} {of_whole:08x}", sum.finalize())) {
        let what =
            "its calls are not those that were written (checksum differs); take another copy or record again";
        return Err(RecordingError::Damaged(what.to_owned()));
    }
    let sighted = |sightings: Vec<(String, Sighting)>, names: &mut NameTable| {
        let whole = sightings.into_iter().map(|(name, mut sighting)| {
            if let crate::model::Was::Link(target) = sighting.was {
                let text = footer.targets.get(&target).cloned().unwrap_or_default();
                sighting.was = crate::model::Was::Link(names.intern(&unescape(&text)));
            }
            (names.intern(&unescape(&name)), sighting)
        });
        whole.collect()
    };
    trace.sightings = sighted(footer.sightings, &mut trace.names);
    trace.after = sighted(footer.after, &mut trace.names);
    Ok((trace, footer.about))
}

fn read_group(
    file: &impl ChunkReader,
    group: &dyn RowGroupReader,
    trace: &mut Trace,
    ops: &BTreeMap<&str, Op>,
    sum: &mut Hasher,
) -> Result<(), RecordingError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    for at in 0..group.num_columns() {
        store::check_pages(file, group.metadata().column(at), rows)?;
    }
    let open = |at: usize| group.get_column_reader(at);
    let mut numbers = Vec::new();
    for at in [0, 1, 2, 4, 5, 6, 9, 10, 11].into_iter().filter(|at| *at < group.num_columns()) {
        numbers
            .push(ColumnRows { reader: get_typed_column_reader::<Int64Type>(open(at)?), values: Vec::new() });
    }
    let mut texts = Vec::new();
    for at in [3, 7, 8] {
        texts.push(ColumnRows {
            reader: get_typed_column_reader::<ByteArrayType>(open(at)?),
            values: Vec::new(),
        });
    }
    let mut names = [None, None];
    let mut left = rows;
    while left > 0 {
        let some = left.min(ROWS_AT_ONCE);
        numbers.iter_mut().try_for_each(|column| column.read(some))?;
        texts.iter_mut().try_for_each(|column| column.read(some))?;
        for row in 0..some {
            let values = |at: usize| numbers.get(at).map_or(0, |column| column.values[row]);
            // In the order of the columns.
            for (at, column) in numbers.iter().enumerate() {
                match at {
                    3 => add_text(sum, texts[0].values[row].data()),
                    6 => texts[1..].iter().for_each(|column| add_text(sum, column.values[row].data())),
                    _ => {}
                }
                sum.update(&column.values[row].to_le_bytes());
            }
            let call = call(&values, texts[0].values[row].data(), trace, ops)?;
            let [path, other] = [0, 1].map(|which| texts[which + 1].values[row].data());
            let path = name(path, &mut names[0], &mut trace.names);
            let other = name(other, &mut names[1], &mut trace.names);
            trace.calls.push(Call { path, other, ..call });
        }
        left -= some;
    }
    Ok(())
}

/// The call of a row, without its names.
fn call(
    values: &dyn Fn(usize) -> i64,
    operation: &[u8],
    trace: &Trace,
    ops: &BTreeMap<&str, Op>,
) -> Result<Call, RecordingError> {
    let damaged = |what: &str| RecordingError::Damaged(what.to_owned());
    let number = |value: i64| if value < 0 { NONE } else { value as u32 };
    let word = std::str::from_utf8(operation).unwrap_or("");
    let op = *ops.get(word).ok_or_else(|| damaged("an operation is not known"))?;
    let call = Call {
        start: values(0).cast_unsigned(),
        duration: values(1).cast_unsigned(),
        thread: values(2) as u32,
        op,
        errno: values(3) as u16,
        flags: values(4) as u32,
        file: number(values(5)),
        path: NONE,
        other: NONE,
        bytes: values(6).cast_unsigned(),
        offset: values(7).cast_unsigned(),
        // Recordings of earlier versions do not tell.
        held: values(8).cast_unsigned(),
    };
    let threads = trace.threads.len() as u32;
    let of_thread = matches!(op, Op::Spawn | Op::Wait);
    if call.thread >= threads || (of_thread && call.file >= threads) {
        return Err(damaged("a call is of a thread that it does not name"));
    }
    if op == Op::Unrepeated && call.flags as usize >= trace.unrepeated.len() {
        return Err(damaged("a call that no program repeats does not say what it is"));
    }
    if op == Op::Read && call.bytes == UNKNOWN {
        return Err(damaged("a read has no size"));
    }
    Ok(call)
}

/// The number of a name as it is written; many are like the one of the row before, `last`.
fn name(text: &[u8], last: &mut Option<(Vec<u8>, u32)>, names: &mut NameTable) -> u32 {
    if text.is_empty() {
        return NONE;
    }
    match last {
        Some((known, number)) if known == text => *number,
        _ => {
            let number = names.intern(&unescape(&String::from_utf8_lossy(text)));
            last.insert((text.to_vec(), number)).1
        }
    }
}

/// A column, and the values of some rows.
struct ColumnRows<T: DataType> {
    reader: ColumnReaderImpl<T>,
    values: Vec<T::T>,
}

impl<T: DataType> ColumnRows<T> {
    /// Reads the next rows.
    fn read(&mut self, rows: usize) -> Result<(), RecordingError> {
        self.values.clear();
        while self.values.len() < rows {
            let (got, ..) =
                self.reader.read_records(rows - self.values.len(), None, None, &mut self.values)?;
            if got == 0 {
                return Err(RecordingError::Damaged("a column is shorter than its rows".to_owned()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Was;

    #[test]
    fn a_recording_comes_back_as_it_was() {
        let mut trace = Trace { format: "test".into(), cost_ns: Some(9000), ..Trace::default() };
        trace.threads.push(Thread { id: 7, process: 0, name: "app".into(), part: 0 });
        let odd = trace.names.intern(b"/a\xff\n%41");
        trace.after.insert(odd, Sighting { was: Was::File(7), permissions: None });
        trace.sightings.insert(odd, Sighting { was: Was::Link(odd), permissions: Some(0o600) });
        let mut call = Call::new(Op::Open, 0, 5, 6);
        (call.path, call.file, call.bytes, call.held) = (odd, 3, UNKNOWN, 11);
        trace.calls.push(call);
        trace.calls.push(Call::new(Op::Exit, 0, 50, 0));
        let about = About {
            command: vec!["app".into()],
            elapsed_ns: 1,
            recorded: 2,
            counted: 3,
            began_ns: 4,
            tree: Some(5),
        };
        let mut out = Vec::new();
        write(&mut out, &trace, &about).unwrap();
        assert!(detect(&out));
        let (back, told) = read(Bytes::from(out)).unwrap();
        assert_eq!(told, about);
        assert_eq!(back.calls.iter().collect::<Vec<_>>(), trace.calls.iter().collect::<Vec<_>>());
        assert_eq!((back.names.get(0), back.sightings), (trace.names.get(0), trace.sightings));
        assert_eq!(back.after, trace.after);
        assert!(read(Bytes::from_static(b"PAR1 no more")).is_err());
    }

    /// A bit that changes on a disk or a way makes no other program.
    #[test]
    fn a_recording_with_another_bit_is_damaged_or_the_same() {
        let mut trace = Trace { format: "test".into(), cost_ns: Some(9000), ..Trace::default() };
        trace.threads.push(Thread { id: 7, process: 0, name: "app".into(), part: 0 });
        let name = trace.names.intern(b"/a/b");
        for at in 0..40 {
            let mut call = Call::new(Op::Write, 0, 1000 * at, 300 + at);
            (call.path, call.file, call.bytes) = (name, 3, 4096 + at);
            trace.calls.push(call);
        }
        let mut out = Vec::new();
        write(&mut out, &trace, &About::default()).unwrap();
        let calls: Vec<_> = trace.calls.iter().collect();
        let mut found = 0;
        for at in (0..out.len()).step_by(3) {
            let mut other = out.clone();
            other[at] ^= 1 << (at % 8);
            match store::expecting_panics(|| read(Bytes::from(other))) {
                Err(_) | Ok(Err(_)) => found += 1,
                Ok(Ok((back, about))) => {
                    assert_eq!(back.calls.iter().collect::<Vec<_>>(), calls, "byte {at}");
                    assert_eq!((back.threads, about), (trace.threads.clone(), About::default()), "byte {at}");
                }
            }
        }
        assert!(6 * found > out.len(), "{found} of {}", out.len());
    }

    #[test]
    fn a_thread_of_no_process_is_damage() {
        let mut trace = Trace { format: "test".into(), ..Trace::default() };
        trace.threads.push(Thread { id: 7, process: 1, name: "app".into(), part: 0 });
        trace.calls.push(Call::new(Op::Exit, 0, 50, 0));
        let mut out = Vec::new();
        write(&mut out, &trace, &About::default()).unwrap();
        let refused = read(Bytes::from(out)).map(drop).unwrap_err();
        assert!(refused.to_string().contains("of a process that it does not name"), "{refused}");
    }

    #[test]
    fn a_small_file_is_not_unpacked_into_gigabytes() {
        let mut trace = Trace { format: "test".into(), ..Trace::default() };
        trace.threads.push(Thread { id: 7, process: 0, name: "app".into(), part: 0 });
        for _ in 0..3_000_000 {
            trace.calls.push(Call::new(Op::Exit, 0, 5, 0));
        }
        let mut out = Vec::new();
        write(&mut out, &trace, &About::default()).unwrap();
        assert!(out.len() < 1_000_000, "{}", out.len());
        let refused = read(Bytes::from(out)).map(drop).unwrap_err();
        assert!(refused.to_string().contains("no such number of calls"), "{refused}");
    }
}
