//! Writes a run as Parquet; the file gets its name when it is complete and on disk.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;
use samples::{Facts, Run, Sample, Site};

use crate::columns::{CHECKSUM_KEY, FACTS_KEY, SCHEMA, SCHEMA_KEY, SITES_KEY};
use crate::columns::{properties, schema, sum_of_texts};
use crate::group::{GroupWriter, RunOfRows, Table};
use crate::{Error, Replacement, summary};

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
/// See [`arrange`] for samples that are to be in that order afterwards.
pub fn write(path: &Path, run: &Run) -> Result<(), Error> {
    let mut writer = Writer::create(path, &run.sites)?;
    // Encoding leaves some of a second processor.
    let (written, further) = std::thread::scope(|scope| {
        let further = scope.spawn(|| summary::pairs(run));
        (writer.append_in_order(&run.samples), further.join())
    });
    written?;
    writer.further = further.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    writer.finish(&run.facts)
}

/// Puts samples into the order that they have in a run file, in place: sums over them are then, to the last digit, those
/// of the file.
pub fn arrange(samples: &mut [Sample]) {
    const MOVED: u64 = u64::MAX;
    if samples.is_sorted_by_key(key) {
        return;
    }
    let mut from = order(samples);
    for begin in 0..samples.len() {
        if from[begin] == MOVED {
            continue;
        }
        let first = samples[begin];
        let mut at = begin;
        loop {
            let source = std::mem::replace(&mut from[at], MOVED) as usize;
            if source == begin {
                samples[at] = first;
                break;
            }
            samples[at] = samples[source];
            at = source;
        }
    }
}

fn key(sample: &Sample) -> (u32, u32) {
    (sample.rank, sample.site)
}

/// The indices of the samples ordered by rank, then by site; those of one site keep their order. A counting
/// sort: two passes over the samples.
fn order(samples: &[Sample]) -> Vec<u64> {
    let mut places: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    for alike in samples.chunk_by(|a, b| key(a) == key(b)) {
        *places.entry(key(&alike[0])).or_default() += alike.len();
    }
    let mut next = 0;
    for place in places.values_mut() {
        next += std::mem::replace(place, next);
    }
    let mut order = vec![0; samples.len()];
    let mut at = 0;
    for alike in samples.chunk_by(|a, b| key(a) == key(b)) {
        let place = places.entry(key(&alike[0])).or_default();
        for slot in &mut order[*place..*place + alike.len()] {
            *slot = at;
            at += 1;
        }
        *place += alike.len();
    }
    order
}

/// Writes a run file piece by piece, in bounded memory.
///
/// The file appears under its name with [`Writer::finish`]; a writer dropped before that removes
/// what it wrote (a [`Replacement`]).
pub struct Writer {
    path: PathBuf,
    file: SerializedFileWriter<Checksummed>,
    groups: GroupWriter,
    sites: Vec<Site>,
    iterations: HashMap<(u32, u32), i64>,
    pending: Vec<Sample>,
    rows: u64,
    of_values: crc32fast::Hasher,
    /// Further keys of the footer.
    further: Vec<(&'static str, String)>,
}

impl Writer {
    /// Begins a file for samples of `sites`.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder does not exist or cannot be written; [`Error::Special`].
    pub fn create(path: &Path, sites: &[Site]) -> Result<Self, Error> {
        // The rename at the end would replace a device, such as /dev/null, by a file.
        if path.symlink_metadata().is_ok_and(|found| !found.is_file() && !found.is_symlink()) {
            return Err(Error::Special { action: "write", path: path.into() });
        }
        let file = Replacement::of(path).map_err(|cause| Error::io("create", path, cause))?;
        let failed = |error| Error::parquet("write", path, error);
        let schema = schema().map_err(failed)?;
        let properties = Arc::new(properties());
        let file = Checksummed { file, length: 0, crc: crc32fast::Hasher::new() };
        let file =
            SerializedFileWriter::new(file, Arc::clone(&schema), Arc::clone(&properties)).map_err(failed)?;
        Ok(Self {
            path: path.into(),
            file,
            groups: GroupWriter::new(SchemaDescriptor::new(schema), properties),
            sites: sites.into(),
            iterations: HashMap::new(),
            pending: Vec::new(),
            rows: 0,
            of_values: crc32fast::Hasher::new(),
            further: Vec::new(),
        })
    }

    /// Adds samples; those of one site and rank must come in time order.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk is full; [`Error::NoSuchSite`].
    pub fn append(&mut self, samples: &[Sample]) -> Result<(), Error> {
        for alike in samples.chunk_by(|a, b| key(a) == key(b)) {
            self.append_alike(alike)?;
        }
        Ok(())
    }

    /// Adds samples in the order of a file.
    fn append_in_order(&mut self, samples: &[Sample]) -> Result<(), Error> {
        if samples.is_sorted_by_key(key) {
            return self.append(samples);
        }
        let order = order(samples);
        let mut chunk = Vec::with_capacity(GROUP_ROWS.min(order.len()));
        for indices in order.chunks(GROUP_ROWS) {
            chunk.clear();
            chunk.extend(indices.iter().map(|&index| samples[index as usize]));
            self.append(&chunk)?;
        }
        Ok(())
    }

    /// Adds samples of one site and rank. A row group ends with those of a rank and site where it is half full already:
    /// what all its rows have in common is then encoded once.
    fn append_alike(&mut self, mut samples: &[Sample]) -> Result<(), Error> {
        let Some(first) = samples.first() else { return Ok(()) };
        if first.site as usize >= self.sites.len() {
            return Err(Error::NoSuchSite {
                path: self.path.clone(),
                index: self.rows,
                site: first.site,
                sites: self.sites.len(),
            });
        }
        self.rows += samples.len() as u64;
        if self.pending.last().is_some_and(|last| key(last) != key(first))
            && 2 * self.pending.len() >= GROUP_ROWS
        {
            self.flush()?;
        }
        if self.pending.is_empty() {
            while let Some((group, rest)) = samples.split_at_checked(GROUP_ROWS) {
                self.write_group(group)?;
                samples = rest;
            }
        }
        while !samples.is_empty() {
            let (fits, rest) = samples.split_at(samples.len().min(GROUP_ROWS - self.pending.len()));
            self.pending.extend_from_slice(fits);
            if self.pending.len() == GROUP_ROWS {
                self.flush()?;
            }
            samples = rest;
        }
        Ok(())
    }

    /// Writes the footer with the facts, gives the file its name, and forces both to disk.
    ///
    /// # Errors
    /// [`Error::Io`] where the disk is full or the name is taken by a folder.
    pub fn finish(mut self, facts: &Facts) -> Result<(), Error> {
        if !self.pending.is_empty() {
            self.flush()?;
        }
        // All data are written now: the checksum that goes into the footer covers them.
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
        for (key, value) in pairs.into_iter().chain(std::mem::take(&mut self.further)) {
            self.file.append_key_value_metadata(KeyValue::new(key.to_string(), value));
        }
        let path = self.path;
        let io = |cause| Error::io("write", &path, cause);
        let file = self.file.into_inner().map_err(|error| Error::parquet("write", &path, error))?.file;
        file.commit_durably().map_err(io)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.pending);
        self.write_group(&rows)?;
        self.pending = rows;
        self.pending.clear();
        Ok(())
    }

    fn write_group(&mut self, rows: &[Sample]) -> Result<(), Error> {
        let mut runs = Vec::new();
        for alike in rows.chunk_by(|a, b| key(a) == key(b)) {
            let next = self.iterations.entry(key(&alike[0])).or_default();
            runs.push(RunOfRows { site: alike[0].site, first: *next, rows: alike.len() });
            *next += alike.len() as i64;
        }
        let table = Table { rows, runs: &runs, sites: &self.sites };
        let failed = |error| Error::parquet("write", &self.path, error);
        let mut group = self.file.next_row_group().map_err(failed)?;
        self.groups.write(&mut group, &table, &mut self.of_values).map_err(failed)?;
        group.close().map(drop).map_err(failed)
    }
}

/// A file and the checksum of what was written into it. The Parquet writer buffers before it.
struct Checksummed {
    file: Replacement,
    length: u64,
    crc: crc32fast::Hasher,
}

impl Write for Checksummed {
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
