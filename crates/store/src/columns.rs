//! The columns of a run file, their encoding, and the checksums.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use samples::{Sample, SiteKind};

/// Footer key whose value is [`SCHEMA`].
pub(crate) const SCHEMA_KEY: &str = "lastrank.schema";
/// Footer key of the facts (JSON of [`samples::Facts`]).
pub const FACTS_KEY: &str = "lastrank.facts";
/// The key of the footer of a recording, which is no run.
pub const RECORDING_KEY: &str = "lastrank.recording/1";
/// Footer key of the sites (JSON list of [`samples::Site`]); column `site` is an index into it.
pub(crate) const SITES_KEY: &str = "lastrank.sites";
/// Footer key of `LENGTH:CRC32:CRC32:CRC32`: over the first LENGTH bytes of the file, which are all its
/// data; over facts and sites; over the numbers of all samples as read from the columns, since a damaged
/// footer can point at the wrong ones of undamaged bytes. (The Parquet writer fills in no page checksums.)
pub(crate) const CHECKSUM_KEY: &str = "lastrank.crc32";
/// Name and version of the columns and the footer; a change that old readers would misread adds one.
pub(crate) const SCHEMA: &str = "lastrank.run/1";

/// What a column holds: text of the site, or a number of the sample.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    Text(fn(&samples::Site) -> String),
    /// The line of the site.
    Line,
    /// The n-th sample of its site on its rank, from 0.
    Iteration,
    Narrow(fn(&Sample) -> i32, fn(&mut Sample, i32)),
    /// 64 bits; the sign bit is kept as it is, so that every value survives.
    Wide(fn(&Sample) -> i64, fn(&mut Sample, i64)),
}

/// Columns without which there is no sample. Any other may be missing in a file of an earlier version, and then
/// reads as in [`blank`].
pub(crate) const NEEDED: [&str; 4] = ["site", "rank", "start_ns", "duration_ps"];

/// A sample of which nothing is known: a batch of 1 on an unknown processor.
pub(crate) fn blank() -> Sample {
    Sample { batch: 1, cpu: u16::MAX, ..Sample::default() }
}

/// An unknown processor reads -1 in the file.
fn cpu(sample: &Sample) -> i32 {
    if sample.cpu == u16::MAX { -1 } else { i32::from(sample.cpu) }
}

/// All columns in the order of the file.
pub(crate) const COLUMNS: [(&str, Column); 17] = [
    ("label", Column::Text(|site| site.labels.last().cloned().unwrap_or_default())),
    ("operation", Column::Text(|site| site.operation.clone())),
    ("kind", Column::Text(|site| kind_name(site.kind).into())),
    ("line", Column::Line),
    ("site", Column::Narrow(|s| s.site as i32, |s, v| s.site = v as u32)),
    ("rank", Column::Narrow(|s| s.rank as i32, |s, v| s.rank = v as u32)),
    ("iteration", Column::Iteration),
    ("start_ns", Column::Wide(|s| s.start_ns as i64, |s, v| s.start_ns = v as u64)),
    ("duration_ps", Column::Wide(|s| s.duration_ps as i64, |s, v| s.duration_ps = v as u64)),
    ("late_ns", Column::Wide(|s| s.late_ns as i64, |s, v| s.late_ns = v as u64)),
    ("bytes", Column::Wide(|s| s.bytes as i64, |s, v| s.bytes = v as u64)),
    ("errno", Column::Narrow(|s| s.errno, |s, v| s.errno = v)),
    ("batch", Column::Narrow(|s| s.batch as i32, |s, v| s.batch = v as u32)),
    ("cpu", Column::Narrow(cpu, |s, v| s.cpu = u16::try_from(v).unwrap_or(u16::MAX))),
    ("causes", Column::Narrow(|s| i32::from(s.causes), |s, v| s.causes = v as u16)),
    ("queue_ns", Column::Wide(|s| s.queue_ns as i64, |s, v| s.queue_ns = v as u64)),
    ("blocked_ns", Column::Wide(|s| i64::from(s.blocked_ns), |s, v| s.blocked_ns = v as u32)),
];

/// The kind of a site as the `kind` column spells it.
pub(crate) fn kind_name(kind: SiteKind) -> &'static str {
    match kind {
        SiteKind::Operation => "operation",
        SiteKind::Time => "time",
        SiteKind::CommandTime => "command_time",
        SiteKind::Barrier => "barrier",
        SiteKind::Phase => "phase",
    }
}

/// The Parquet schema: every column is required and flat.
pub(crate) fn schema() -> Result<TypePtr, parquet::errors::ParquetError> {
    let fields = COLUMNS
        .iter()
        .map(|(name, column)| {
            let (physical, logical) = match column {
                Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Column::Line | Column::Narrow(..) => (Physical::INT32, None),
                Column::Iteration | Column::Wide(..) => (Physical::INT64, None),
            };
            Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(logical)
                .build()
                .map(Arc::new)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder("sample").with_fields(fields).build()?))
}

/// Numbers are bit-packed deltas: most columns hardly change within a site, and no value is hashed. Texts go
/// through a dictionary, without minimum and maximum: nobody filters by them, and they took most of the time.
pub(crate) fn properties() -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by(concat!("lastrank ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for (name, column) in COLUMNS {
        let path = ColumnPath::from(name);
        builder = match column {
            Column::Text(_) => builder.set_column_statistics_enabled(path, EnabledStatistics::None),
            _ => builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    builder.build()
}

/// The checksum of the footer's own texts.
pub(crate) fn sum_of_texts(facts: &str, sites: &str) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for text in [facts, "\n", sites] {
        sum.update(text.as_bytes());
    }
    sum.finalize()
}

/// Adds the values of one column of a row group to the checksum of all values.
pub(crate) fn add_values<const N: usize>(sum: &mut crc32fast::Hasher, values: impl Iterator<Item = [u8; N]>) {
    let mut piece = Vec::with_capacity(1 << 14);
    for value in values {
        piece.extend_from_slice(&value);
        if piece.len() >= 1 << 14 {
            sum.update(&piece);
            piece.clear();
        }
    }
    sum.update(&piece);
}
