//! How does a Parquet file become a run again, and what is said of a file that is none?

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;
use samples::{Run, Sample};

use crate::columns::{
    CHECKSUM_KEY, COLUMNS, Column, FACTS_KEY, SCHEMA, SCHEMA_KEY, SITES_KEY, add_values, sum_of_texts,
};
use crate::{Error, parts};

const MAGIC: &[u8; 4] = b"PAR1";

/// Reads a run: a run file, or a directory of parts as one logical run.
///
/// # Errors
/// An [`Error`] that says whether the file is missing, not Parquet, cut short, from another tool,
/// from a newer lastrank, or damaged (a checksum over all data is checked).
pub fn read(path: &Path) -> Result<Run, Error> {
    if path.is_dir() { parts::read(path) } else { read_file(path) }
}

/// Does `path` look like a run: a directory, or a file that begins as Parquet?
///
/// A pipe is none, and is not looked into: what is read from it is gone for the one who reads the numbers.
pub fn is_run(path: &Path) -> bool {
    let begins_as_parquet = || {
        let mut magic = [0; 4];
        File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && &magic == MAGIC
    };
    path.is_dir() || (path.is_file() && begins_as_parquet())
}

pub(crate) fn read_file(path: &Path) -> Result<Run, Error> {
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(Error::Special { action: "read", path: path.into() });
    }
    let file = open(path)?;
    // The Parquet library answers most damage with an error, some with a panic: both mean the same here.
    catch_unwind(AssertUnwindSafe(|| read_open(path, file))).unwrap_or_else(|_| {
        Err(Error::Damaged { path: path.into(), what: "the Parquet library cannot make sense of it".into() })
    })
}

/// The facts of a run file, without its samples.
pub(crate) fn facts_of_file(path: &Path) -> Result<samples::Facts, Error> {
    let damaged = |what: String| Error::Damaged { path: path.into(), what };
    let file = open(path)?;
    let read = catch_unwind(AssertUnwindSafe(|| SerializedFileReader::new(file)))
        .map_err(|_| damaged("the Parquet library cannot make sense of it".into()))?;
    let reader = read.map_err(|error| Error::parquet("read", path, error))?;
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let text = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == FACTS_KEY)?.value.as_deref());
    serde_json::from_str(text.ok_or_else(|| Error::Foreign { path: path.into() })?)
        .map_err(|cause| damaged(format!("its facts are not what this version expects ({cause})")))
}

fn open(path: &Path) -> Result<File, Error> {
    let io = |cause| Error::io("read", path, cause);
    let not_parquet = |why: &str| Error::NotParquet { path: path.into(), why: why.into() };
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

fn read_open(path: &Path, file: File) -> Result<Run, Error> {
    let parquet = |error| Error::parquet("read", path, error);
    let damaged = |what: String| Error::Damaged { path: path.into(), what };
    let reader = SerializedFileReader::new(file).map_err(parquet)?;
    let footer = reader.metadata().file_metadata();
    let value = |key: &str| {
        footer.key_value_metadata()?.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone())
    };
    let schema = value(SCHEMA_KEY).ok_or_else(|| Error::Foreign { path: path.into() })?;
    if schema != SCHEMA {
        return Err(Error::Newer { path: path.into(), found: schema });
    }
    let need = |key: &str| value(key).ok_or_else(|| damaged(format!("its footer has no `{key}`")));
    let (facts, sites) = (need(FACTS_KEY)?, need(SITES_KEY)?);
    let sums =
        Sums::of(&need(CHECKSUM_KEY)?).ok_or_else(|| damaged("its checksums are unreadable".into()))?;
    if sums.texts != sum_of_texts(&facts, &sites) {
        return Err(damaged("its facts and sites are not those that were written (checksum differs)".into()));
    }
    check_data(path, &sums)?;
    let mut run = Run {
        facts: serde_json::from_str(&facts)
            .map_err(|cause| damaged(format!("its facts are not what this version expects ({cause})")))?,
        sites: serde_json::from_str(&sites)
            .map_err(|cause| damaged(format!("its sites are not what this version expects ({cause})")))?,
        samples: Vec::new(),
    };
    let positions = positions(footer.schema_descr()).map_err(damaged)?;
    let mut of_values = crc32fast::Hasher::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(parquet)?;
        read_group(group.as_ref(), &positions, &mut run.samples, &mut of_values).map_err(parquet)?;
    }
    if of_values.finalize() != sums.values {
        return Err(damaged("its footer leads to other numbers than were written (checksum differs)".into()));
    }
    let expected = footer.num_rows();
    if run.samples.len() as i64 != expected {
        return Err(damaged(format!("it holds {} samples, its footer says {expected}", run.samples.len())));
    }
    if let Some(sample) = run.samples.iter().find(|sample| sample.site as usize >= run.sites.len()) {
        return Err(damaged(format!(
            "a sample names site {}, and there are {}",
            sample.site,
            run.sites.len()
        )));
    }
    Ok(run)
}

/// `LENGTH:CRC32:CRC32:CRC32` of the footer.
struct Sums {
    length: u64,
    data: u32,
    texts: u32,
    values: u32,
}

impl Sums {
    fn of(words: &str) -> Option<Self> {
        let words: Vec<&str> = words.split(':').collect();
        let [length, sums @ ..] = words.as_slice() else { return None };
        let [data, texts, values] =
            <[&str; 3]>::try_from(sums).ok()?.map(|sum| u32::from_str_radix(sum, 16).ok());
        Some(Self { length: length.parse().ok()?, data: data?, texts: texts?, values: values? })
    }
}

/// Are the bytes before the footer those that were written?
fn check_data(path: &Path, sums: &Sums) -> Result<(), Error> {
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

/// Where each column stands that a sample is made of.
fn positions(schema: &SchemaDescriptor) -> Result<Vec<(usize, Column)>, String> {
    COLUMNS
        .iter()
        .filter_map(|(name, column)| {
            let wanted = match column {
                Column::Narrow(..) => Int32Type::get_physical_type(),
                Column::Wide(..) => Int64Type::get_physical_type(),
                _ => return None,
            };
            let found = schema.columns().iter().position(|field| field.path().parts() == [*name]);
            Some(match found {
                None => Err(format!("it has no column `{name}`")),
                Some(at)
                    if schema.column(at).physical_type() != wanted
                        || schema.column(at).max_def_level() > 0 =>
                {
                    Err(format!("its column `{name}` has another type"))
                }
                Some(at) => Ok((at, *column)),
            })
        })
        .collect()
}

fn read_group(
    group: &dyn RowGroupReader,
    positions: &[(usize, Column)],
    samples: &mut Vec<Sample>,
    sum: &mut crc32fast::Hasher,
) -> Result<(), ParquetError> {
    let first = samples.len();
    for (index, (at, column)) in positions.iter().enumerate() {
        match column {
            Column::Narrow(_, set) => {
                let values = values::<Int32Type>(group, *at)?;
                add_values(sum, values.iter().map(|value| value.to_le_bytes()));
                assign(&values, index == 0, first, samples, set)?;
            }
            Column::Wide(_, set) => {
                let values = values::<Int64Type>(group, *at)?;
                add_values(sum, values.iter().map(|value| value.to_le_bytes()));
                assign(&values, index == 0, first, samples, set)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn values<T: DataType>(group: &dyn RowGroupReader, column: usize) -> Result<Vec<T::T>, ParquetError> {
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(column)?);
    let mut values = Vec::new();
    // In steps, so that a footer that lies about the number of rows cannot ask for all memory at once.
    while reader.read_records(1 << 16, None, None, &mut values)?.0 > 0 {}
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
        samples.resize(first + values.len(), Sample::default());
    }
    if samples.len() - first != values.len() {
        return Err(ParquetError::General("its columns differ in length".into()));
    }
    samples[first..].iter_mut().zip(values).for_each(|(sample, value)| set(sample, *value));
    Ok(())
}
