//! How does a run become a Parquet file without ever leaving half a file under the final name?

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use samples::{Facts, Run, Sample, Site};

use crate::Error;
use crate::columns::{CHECKSUM_KEY, COLUMNS, Column, FACTS_KEY, SCHEMA, SCHEMA_KEY, SITES_KEY};
use crate::columns::{add_values, properties, schema, sum_of_texts};

/// Rows of a row group: what the writer holds in memory besides the run (about 100 bytes a row).
const GROUP_ROWS: usize = 1 << 18;

/// Writes `run` to `path`, replacing a file of that name only when everything is on disk.
///
/// Samples are put in the order rank, site, time: the durations of one operation then stand
/// together, compress better and are found faster. Within a rank and a site their order is kept,
/// and `start_ns` keeps the time order of the whole.
///
/// # Errors
/// [`Error::Io`] where the disk is full or the folder cannot be written; [`Error::NoSuchSite`].
pub fn write(path: &Path, run: &Run) -> Result<(), Error> {
    let mut writer = Writer::create(path, &run.sites)?;
    let key = |sample: &Sample| (sample.rank, sample.site);
    if run.samples.is_sorted_by_key(key) {
        writer.append(&run.samples)?;
    } else {
        let mut order: Vec<usize> = (0..run.samples.len()).collect();
        order.sort_by_key(|&index| key(&run.samples[index]));
        let mut chunk = Vec::with_capacity(GROUP_ROWS.min(order.len()));
        for indices in order.chunks(GROUP_ROWS) {
            chunk.clear();
            chunk.extend(indices.iter().map(|&index| run.samples[index]));
            writer.append(&chunk)?;
        }
    }
    writer.finish(&run.facts)
}

/// Writes a run file piece by piece, in bounded memory.
///
/// The file appears under its name with [`Writer::finish`]; a writer dropped before that removes
/// its temporary file (`.NAME.PID.partial` in the same folder).
pub struct Writer {
    path: PathBuf,
    temporary: Temporary,
    file: SerializedFileWriter<Summed>,
    sites: Vec<Site>,
    iterations: HashMap<(u32, u32), i64>,
    pending: Vec<Sample>,
    rows: u64,
    of_values: crc32fast::Hasher,
}

impl Writer {
    /// Begins a file for samples of `sites`.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder does not exist or cannot be written; [`Error::Special`].
    pub fn create(path: &Path, sites: &[Site]) -> Result<Self, Error> {
        let name = path
            .file_name()
            .ok_or_else(|| Error::io("create", path, std::io::ErrorKind::InvalidFilename.into()))?;
        // The rename at the end would put a file in the place of a device: of /dev/null, say.
        if path.symlink_metadata().is_ok_and(|found| !found.is_file() && !found.is_symlink()) {
            return Err(Error::Special { action: "write", path: path.into() });
        }
        let temporary =
            path.with_file_name(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
        let file = File::create(&temporary).map_err(|cause| Error::io("create", path, cause))?;
        let temporary = Temporary(temporary);
        let failed = |error| Error::parquet("write", path, error);
        let file = SerializedFileWriter::new(
            Summed { file, length: 0, crc: crc32fast::Hasher::new() },
            schema().map_err(failed)?,
            Arc::new(properties()),
        )
        .map_err(failed)?;
        Ok(Self {
            path: path.into(),
            temporary,
            file,
            sites: sites.into(),
            iterations: HashMap::new(),
            pending: Vec::new(),
            rows: 0,
            of_values: crc32fast::Hasher::new(),
        })
    }

    /// Adds samples; those of one site and rank must come in time order.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk is full; [`Error::NoSuchSite`].
    pub fn append(&mut self, samples: &[Sample]) -> Result<(), Error> {
        for sample in samples {
            if sample.site as usize >= self.sites.len() {
                return Err(Error::NoSuchSite {
                    path: self.path.clone(),
                    index: self.rows,
                    site: sample.site,
                    sites: self.sites.len(),
                });
            }
            self.rows += 1;
            self.pending.push(*sample);
            if self.pending.len() == GROUP_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the footer with the facts, forces the file to disk and gives it its name.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk is full or the name is taken by a folder.
    pub fn finish(mut self, facts: &Facts) -> Result<(), Error> {
        if !self.pending.is_empty() {
            self.flush()?;
        }
        // Everything but the footer is out now; what the sum covers is known before the footer is.
        self.file.flush().map_err(|cause| Error::io("write", &self.path, cause))?;
        let data = self.file.inner();
        let json = |value: serde_json::Result<String>| {
            value.map_err(|cause| Error::io("write", &self.path, cause.into()))
        };
        let facts = json(serde_json::to_string(facts))?;
        let sites = json(serde_json::to_string(&self.sites))?;
        let of_texts = sum_of_texts(&facts, &sites);
        let of_values = self.of_values.clone().finalize();
        let of_data = data.crc.clone().finalize();
        let checksum = format!("{}:{of_data:08x}:{of_texts:08x}:{of_values:08x}", data.length);
        let pairs = [
            (SCHEMA_KEY, SCHEMA.to_string()),
            (FACTS_KEY, facts),
            (SITES_KEY, sites),
            (CHECKSUM_KEY, checksum),
        ];
        for (key, value) in pairs {
            self.file.append_key_value_metadata(KeyValue::new(key.to_string(), value));
        }
        let path = self.path;
        let io = |cause| Error::io("write", &path, cause);
        let summed = self.file.into_inner().map_err(|error| Error::parquet("write", &path, error))?;
        summed.file.sync_all().map_err(io)?;
        std::fs::rename(&self.temporary.0, &path).map_err(io)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.pending);
        let first: Vec<i64> = rows
            .iter()
            .map(|sample| {
                let next = self.iterations.entry((sample.rank, sample.site)).or_default();
                *next += 1;
                *next - 1
            })
            .collect();
        let mut group =
            self.file.next_row_group().map_err(|error| Error::parquet("write", &self.path, error))?;
        write_group(&mut group, &rows, &first, &self.sites, &mut self.of_values)
            .and_then(|()| group.close().map(drop))
            .map_err(|error| Error::parquet("write", &self.path, error))?;
        self.pending = rows;
        self.pending.clear();
        Ok(())
    }
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, Summed>,
    rows: &[Sample],
    iterations: &[i64],
    sites: &[Site],
    sum: &mut crc32fast::Hasher,
) -> Result<(), ParquetError> {
    for (_, column) in &COLUMNS {
        let Some(mut out) = group.next_column()? else {
            return Err(ParquetError::General("the schema has fewer columns than the writer".into()));
        };
        match column {
            Column::Text(text) => {
                let texts: Vec<ByteArray> =
                    sites.iter().map(|site| ByteArray::from(text(site).into_bytes())).collect();
                let values: Vec<_> = rows.iter().map(|row| texts[row.site as usize].clone()).collect();
                out.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            Column::Line => {
                let values: Vec<_> = rows.iter().map(|row| sites[row.site as usize].line as i32).collect();
                out.typed::<Int32Type>().write_batch(&values, None, None)?;
            }
            Column::Iteration => {
                out.typed::<Int64Type>().write_batch(iterations, None, None)?;
            }
            Column::Narrow(get, _) => {
                let values: Vec<_> = rows.iter().map(get).collect();
                add_values(sum, values.iter().map(|value| value.to_le_bytes()));
                out.typed::<Int32Type>().write_batch(&values, None, None)?;
            }
            Column::Wide(get, _) => {
                let values: Vec<_> = rows.iter().map(get).collect();
                add_values(sum, values.iter().map(|value| value.to_le_bytes()));
                out.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
        }
        out.close()?;
    }
    Ok(())
}

/// A file and the checksum of what went into it. The Parquet writer buffers before it.
struct Summed {
    file: File,
    length: u64,
    crc: crc32fast::Hasher,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// A file that is removed when it goes out of use, unless it was renamed away.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is nothing of this name; after a failure there is nothing better to do.
        let _ = std::fs::remove_file(&self.0);
    }
}
