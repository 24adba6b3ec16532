//! Reads a Parquet file as a run, and says why a file is not one.

use std::cell::Cell;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::file::reader::{FileReader as _, RowGroupReader};
use parquet::schema::types::SchemaDescriptor;
use samples::{Facts, Run, Sample, Site, Warning};

use crate::Error;
use crate::columns::{
    CHECKSUM_KEY, COLUMNS, Column, FACTS_KEY, NEEDED, RECORDING_KEY, SCHEMA, SCHEMA_KEY, SITES_KEY,
    add_values, blank, sum_of_texts,
};
use crate::sound::{check_pages, open_parquet};

const MAGIC: &[u8; 4] = b"PAR1";

/// Code of the warning in the facts of a run whose file is not one of this version: a column is missing, or another
/// tool wrote it anew.
pub const OTHER_FILE: &str = "other-file";

/// Whether `path` looks like a run: a directory, or a file that begins as Parquet.
///
/// A pipe is not opened: what is read from it would be missing when its numbers are read.
pub fn is_run(path: &Path) -> bool {
    let begins_as_parquet = || {
        let mut magic = [0; 4];
        File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == MAGIC
    };
    path.is_dir() || (path.is_file() && begins_as_parquet())
}

/// Whether `path` is a Parquet file that another tool made, which is no run of any version.
pub fn is_foreign(path: &Path) -> bool {
    path.is_file() && is_run(path) && matches!(facts_of_file(path), Err(Error::Foreign { .. }))
}

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Is a panic of this thread, now, an answer of the Parquet library to a damaged file, and no defect of ours? For the
/// hook of a program that reports panics.
pub fn panic_is_expected() -> bool {
    EXPECTED.get()
}

/// Does what reads Parquet, where a panic of the library is an answer to a damaged file.
///
/// # Errors
/// The panic.
pub fn expecting_panics<T>(read: impl FnOnce() -> T) -> std::thread::Result<T> {
    let before = EXPECTED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(read));
    EXPECTED.set(before);
    done
}

/// Takes the samples of a row group, and the sites that they name.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&[Site], &mut [Sample]);

pub(crate) fn read_file(path: &Path) -> Result<Run, Error> {
    read_file_into(path, None)
}

/// Reads a run file; with a sink the samples go there, a row group at a time, and the run is left without.
///
/// # Errors
/// As [`crate::read`]. What the sink was given until then is to be forgotten.
pub(crate) fn read_file_into(path: &Path, sink: Option<Sink>) -> Result<Run, Error> {
    let file = open(path)?;
    // The Parquet library answers some damage with a panic: report it as damage, too.
    expecting_panics(|| read_open(path, file, sink)).unwrap_or_else(|_| {
        Err(Error::Damaged { path: path.into(), what: "the Parquet library cannot make sense of it".into() })
    })
}

/// The facts of a run file, without its samples.
pub(crate) fn facts_of_file(path: &Path) -> Result<samples::Facts, Error> {
    let damaged = |what: String| Error::Damaged { path: path.into(), what };
    let file = open(path)?;
    let read = expecting_panics(|| open_parquet(file))
        .map_err(|_| damaged("the Parquet library cannot make sense of it".into()))?;
    let reader = read.map_err(|error| Error::parquet("read", path, error))?;
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let value =
        |key: &str| pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == key)?.value.as_deref());
    let text = value(FACTS_KEY);
    if text.is_none() && value(RECORDING_KEY).is_some() {
        return Err(Error::Recording { path: path.into() });
    }
    serde_json::from_str(text.ok_or_else(|| Error::Foreign { path: path.into() })?)
        .map_err(|cause| damaged(format!("its facts are not what this version expects ({cause})")))
}

pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let io = |cause| Error::io("read", path, cause);
    let not_parquet = |why: &str| Error::NotParquet { path: path.into(), why: why.into() };
    // Who opens a pipe waits for its other end.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(Error::Special { action: "read", path: path.into() });
    }
    let mut file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    if length == 0 {
        return Err(not_parquet("it is empty"));
    }
    let mut head = [0; 4];
    let mut tail = [0; 4];
    if length < 4 {
        return Err(not_parquet("it is shorter than four bytes"));
    }
    file.read_exact(&mut head).map_err(io)?;
    if &head != MAGIC {
        return Err(not_parquet("it does not begin with PAR1"));
    }
    file.seek(SeekFrom::End(-4)).map_err(io)?;
    file.read_exact(&mut tail).map_err(io)?;
    if length < 12 || &tail != MAGIC {
        return Err(Error::Truncated { path: path.into() });
    }
    file.rewind().map_err(io)?;
    Ok(file)
}

/// What the footer of a run file says besides its columns.
pub(crate) struct Footer {
    pub(crate) facts: String,
    pub(crate) sites: String,
    pub(crate) checksums: Option<String>,
    pub(crate) writer: String,
    pub(crate) rows: i64,
}

impl Footer {
    pub(crate) fn of(path: &Path, footer: &FileMetaData) -> Result<Self, Error> {
        let value = |key: &str| {
            footer
                .key_value_metadata()?
                .iter()
                .find(|pair| pair.key == key)
                .and_then(|pair| pair.value.clone())
        };
        let schema = value(SCHEMA_KEY).ok_or_else(|| match value(RECORDING_KEY) {
            Some(_) => Error::Recording { path: path.into() },
            None => Error::Foreign { path: path.into() },
        })?;
        if schema != SCHEMA {
            return Err(Error::Newer { path: path.into(), found: schema });
        }
        let needed = |key: &str| {
            value(key).ok_or_else(|| Error::Damaged {
                path: path.into(),
                what: format!("its footer has no `{key}`"),
            })
        };
        Ok(Self {
            facts: needed(FACTS_KEY)?,
            sites: needed(SITES_KEY)?,
            checksums: value(CHECKSUM_KEY),
            writer: footer.created_by().unwrap_or("an unknown tool").to_owned(),
            rows: footer.num_rows(),
        })
    }

    fn is_ours(&self) -> bool {
        self.writer.starts_with("lastrank ")
    }

    /// The checksums of facts and values that hold for this file, after a check of its data; a file that
    /// another tool wrote anew has none that do, and gets a note.
    pub(crate) fn checked(&self, path: &Path, notes: &mut Vec<String>) -> Result<Option<(u32, u32)>, Error> {
        let damaged = |what: String| Error::Damaged { path: path.into(), what };
        let checksums = match &self.checksums {
            Some(words) => {
                Some(Checksums::of(words).ok_or_else(|| damaged("its checksums are unreadable".into()))?)
            }
            None if self.is_ours() => return Err(damaged(format!("its footer has no `{CHECKSUM_KEY}`"))),
            None => None,
        };
        let data = checksums.as_ref().map_or(Ok(()), |checksums| check_data(path, checksums));
        // Another tool that wrote the file anew has kept the checksums of the file that it read.
        let checksums = match data {
            Err(error) if self.is_ours() || matches!(error, Error::Io { .. }) => return Err(error),
            Ok(()) if checksums.is_some() => checksums,
            _ => {
                notes.push(format!(
                    "it was written anew by {}, so that no checksum tells damage",
                    self.writer
                ));
                return Ok(None);
            }
        };
        let footer = checksums.and_then(|checksums| checksums.footer);
        if footer.is_none() {
            notes.push("an earlier lastrank wrote it, without a checksum of its facts".into());
        }
        if footer.is_some_and(|(texts, _)| texts != sum_of_texts(&self.facts, &self.sites)) {
            return Err(damaged(
                "its facts and sites are not those that were written (checksum differs)".into(),
            ));
        }
        Ok(footer)
    }
}

/// Samples of so many bytes are unpacked from any file.
const FREELY_UNPACKED: u64 = 256 << 20;
/// More than that only where the file has at least this part of it: real times do not repeat themselves, and take more
/// than a byte a sample.
const MOST_UNPACKED: u64 = 64;

/// Bytes of memory that the samples of a file will take, which its groups and columns agree on.
fn unpacked_bytes(metadata: &ParquetMetaData, rows: i64) -> Result<u64, String> {
    let mut total = 0_u64;
    let mut pages = 0_u64;
    for group in metadata.row_groups() {
        let count = u64::try_from(group.num_rows()).map_err(|_| "a group of less than no rows".to_owned())?;
        total = total.saturating_add(count);
        for column in group.columns() {
            if u64::try_from(column.num_values()) != Ok(count) {
                return Err(format!("a column of {} values in a group of {count} rows", column.num_values()));
            }
            pages = pages.saturating_add(u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX));
        }
    }
    if u64::try_from(rows) != Ok(total) {
        return Err(format!("its groups hold {total} samples, its footer says {rows}"));
    }
    Ok(total.saturating_mul(size_of::<Sample>() as u64).max(pages))
}

fn read_open(path: &Path, file: File, mut sink: Option<Sink>) -> Result<Run, Error> {
    let parquet = |error| Error::parquet("read", path, error);
    let damaged = |what: String| Error::Damaged { path: path.into(), what };
    let pages = file.try_clone().map_err(|cause| Error::io("read", path, cause))?;
    let reader = open_parquet(file).map_err(parquet)?;
    let metadata = reader.metadata().file_metadata();
    let footer = Footer::of(path, metadata)?;
    let mut notes = Vec::new();
    let columns = FileColumns::of(metadata.schema_descr()).map_err(damaged)?;
    if !columns.missing.is_empty() {
        // A version of ours that drops or renames a column names a new schema, so this is damage.
        if let (true, Some(other)) = (footer.is_ours(), columns.unknown.first()) {
            return Err(damaged(format!(
                "it has no column `{}`, and an odd one `{other}`",
                columns.missing[0]
            )));
        }
        let names: Vec<String> = columns.missing.iter().map(|name| format!("`{name}`")).collect();
        notes.push(format!("it has no column {}, which reads as not known", names.join(", ")));
    }
    let unpacked = unpacked_bytes(reader.metadata(), footer.rows).map_err(damaged)?;
    let length = path.metadata().map_err(|cause| Error::io("read", path, cause))?.len();
    if unpacked > FREELY_UNPACKED.max(length.saturating_mul(MOST_UNPACKED)) {
        return Err(Error::Bomb { path: path.into(), length, unpacked });
    }
    let checksums = footer.checked(path, &mut notes)?;
    let mut run = Run {
        facts: serde_json::from_str(&footer.facts)
            .or_else(|cause| readable_facts(&footer.facts, &mut notes).ok_or(cause))
            .map_err(|cause| damaged(format!("its facts are not what this version expects ({cause})")))?,
        sites: serde_json::from_str(&footer.sites)
            .map_err(|cause| damaged(format!("its sites are not what this version expects ({cause})")))?,
        samples: Vec::new(),
    };
    if sink.is_none() {
        run.samples.reserve_exact(usize::try_from(footer.rows).unwrap_or(0));
    }
    let mut of_values = crc32fast::Hasher::new();
    let mut total = 0;
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(parquet)?;
        let first = run.samples.len();
        read_group(&pages, group.as_ref(), &columns, &mut run.samples, &mut of_values).map_err(parquet)?;
        let samples = &mut run.samples[first..];
        total += samples.len() as i64;
        if let Some(sample) = samples.iter().find(|sample| sample.site as usize >= run.sites.len()) {
            let sites = run.sites.len();
            return Err(damaged(format!("a sample names site {}, and there are {sites}", sample.site)));
        }
        if let Some(sink) = &mut sink {
            sink(&run.sites, samples);
            run.samples.clear();
        }
    }
    if checksums.is_some_and(|(_, values)| values != of_values.finalize()) {
        return Err(damaged("its footer leads to other numbers than were written (checksum differs)".into()));
    }
    if total != footer.rows {
        return Err(damaged(format!("it holds {total} samples, its footer says {}", footer.rows)));
    }
    if !notes.is_empty() {
        run.facts.warnings.push(Warning {
            code: OTHER_FILE.into(),
            text: format!("The run file is not one of this version: {}.", notes.join("; ")),
            advice: "what is not known is left out; numbers that are there are as they were written".into(),
        });
    }
    Ok(run)
}

/// The facts that this version can read, where others have another form; none where nothing can be read.
fn readable_facts(facts: &str, notes: &mut Vec<String>) -> Option<Facts> {
    let all: serde_json::Map<String, serde_json::Value> = serde_json::from_str(facts).ok()?;
    let alone = |key: &String, value: &serde_json::Value| {
        let one = serde_json::Map::from_iter([(key.clone(), value.clone())]);
        serde_json::from_value::<Facts>(one.into()).is_ok()
    };
    let (known, odd): (Vec<_>, Vec<_>) = all.into_iter().partition(|(key, value)| alone(key, value));
    let names: Vec<String> = odd.iter().map(|(key, _)| format!("`{key}`")).collect();
    notes.push(format!("its facts {} are of another form and left out", names.join(", ")));
    serde_json::from_value(serde_json::Map::from_iter(known).into()).ok()
}

/// `LENGTH:CRC32:CRC32:CRC32` of the footer, or `LENGTH:CRC32` of an early version.
struct Checksums {
    length: u64,
    data: u32,
    /// Of the texts, of the values.
    footer: Option<(u32, u32)>,
}

impl Checksums {
    fn of(words: &str) -> Option<Self> {
        let (length, sums) = words.split_once(':')?;
        let sums: Vec<u32> =
            sums.split(':').map(|sum| u32::from_str_radix(sum, 16)).collect::<Result<_, _>>().ok()?;
        let (data, footer) = match sums.as_slice() {
            [data] => (*data, None),
            [data, texts, values] => (*data, Some((*texts, *values))),
            _ => return None,
        };
        Some(Self { length: length.parse().ok()?, data, footer })
    }
}

/// Checks that the bytes before the footer are those that were written.
fn check_data(path: &Path, sums: &Checksums) -> Result<(), Error> {
    let io = |cause| Error::io("read", path, cause);
    let damaged = |what: &str| Error::Damaged { path: path.into(), what: what.into() };
    let length = sums.length;
    let mut data = File::open(path).map_err(io)?.take(length);
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 18];
    let mut total = 0;
    loop {
        let count = data.read(&mut buffer).map_err(io)?;
        if count == 0 {
            break;
        }
        total += count as u64;
        hasher.update(&buffer[..count]);
    }
    match (total == length, hasher.finalize() == sums.data) {
        (true, true) => Ok(()),
        (false, _) => Err(damaged("it is shorter than its footer says")),
        (true, false) => Err(damaged("its data are not those that were written (checksum differs)")),
    }
}

/// The columns of a file.
struct FileColumns {
    /// Columns of numbers in the order of the file, with their positions; also those that this version does not
    /// know, since their numbers belong to the checksum.
    numbers: Vec<(usize, Content)>,
    /// Known columns that are missing.
    missing: Vec<&'static str>,
    /// Columns that this version does not know.
    unknown: Vec<String>,
}

/// What a column of a file holds.
#[derive(Clone, Copy)]
enum Content {
    Known(Column),
    Narrow,
    Wide,
}

impl FileColumns {
    fn of(schema: &SchemaDescriptor) -> Result<Self, String> {
        let mut found = FileColumns { numbers: Vec::new(), missing: Vec::new(), unknown: Vec::new() };
        for (at, field) in schema.columns().iter().enumerate() {
            let [name] = field.path().parts() else { continue };
            let (physical, plain) = (field.physical_type(), field.max_def_level() == 0);
            let known = COLUMNS.iter().find(|(known, _)| known == name).map(|(_, column)| *column);
            let wanted = match known {
                Some(Column::Narrow(..)) => Some(Int32Type::get_physical_type()),
                Some(Column::Wide(..)) => Some(Int64Type::get_physical_type()),
                Some(_) => continue,
                None => None,
            };
            match (known, wanted) {
                (Some(column), Some(wanted)) if wanted == physical && plain => {
                    found.numbers.push((at, Content::Known(column)));
                }
                (Some(_), _) => return Err(format!("its column `{name}` has another type")),
                (None, _) => {
                    found.unknown.push(name.clone());
                    if plain && physical == Int32Type::get_physical_type() {
                        found.numbers.push((at, Content::Narrow));
                    } else if plain && physical == Int64Type::get_physical_type() {
                        found.numbers.push((at, Content::Wide));
                    }
                }
            }
        }
        let has = |name: &str| schema.columns().iter().any(|field| field.path().parts() == [name]);
        for (name, column) in COLUMNS {
            let of_sample = matches!(column, Column::Narrow(..) | Column::Wide(..));
            if of_sample && !has(name) {
                if NEEDED.contains(&name) {
                    return Err(format!("it has no column `{name}`"));
                }
                found.missing.push(name);
            }
        }
        Ok(found)
    }
}

fn read_group(
    file: &File,
    group: &dyn RowGroupReader,
    columns: &FileColumns,
    samples: &mut Vec<Sample>,
    sum: &mut crc32fast::Hasher,
) -> Result<(), ParquetError> {
    let first = samples.len();
    for (index, (at, held)) in columns.numbers.iter().enumerate() {
        match held {
            Content::Known(Column::Narrow(_, set)) => {
                let values = values::<Int32Type>(file, group, *at)?;
                add_values(sum, values.iter().map(|value| value.to_le_bytes()));
                assign(&values, index == 0, first, samples, set)?;
            }
            Content::Known(Column::Wide(_, set)) => {
                let values = values::<Int64Type>(file, group, *at)?;
                add_values(sum, values.iter().map(|value| value.to_le_bytes()));
                assign(&values, index == 0, first, samples, set)?;
            }
            Content::Narrow => {
                let values = values::<Int32Type>(file, group, *at)?;
                add_values(sum, values.iter().map(|value| value.to_le_bytes()));
                assign(&values, index == 0, first, samples, &((|_, _| {}) as fn(&mut Sample, i32)))?;
            }
            Content::Wide => {
                let values = values::<Int64Type>(file, group, *at)?;
                add_values(sum, values.iter().map(|value| value.to_le_bytes()));
                assign(&values, index == 0, first, samples, &((|_, _| {}) as fn(&mut Sample, i64)))?;
            }
            Content::Known(_) => {}
        }
    }
    Ok(())
}

fn values<T: DataType>(
    file: &File,
    group: &dyn RowGroupReader,
    column: usize,
) -> Result<Vec<T::T>, ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    check_pages(file, group.metadata().column(column), rows)?;
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(column)?);
    let mut values = Vec::new();
    while reader.read_records((rows + 1 - values.len()).min(1 << 16), None, None, &mut values)?.0 > 0 {
        if values.len() > rows {
            return Err(ParquetError::General("a column holds more values than its group has rows".into()));
        }
    }
    Ok(values)
}

fn assign<T: Copy>(
    values: &[T],
    is_first: bool,
    first: usize,
    samples: &mut Vec<Sample>,
    set: &fn(&mut Sample, T),
) -> Result<(), ParquetError> {
    if is_first {
        samples.resize(first + values.len(), blank());
    }
    if samples.len() - first != values.len() {
        return Err(ParquetError::General("its columns differ in length".into()));
    }
    samples[first..].iter_mut().zip(values).for_each(|(sample, value)| set(sample, *value));
    Ok(())
}
