//! A file of an earlier version, or one that another tool wrote anew, is read with a note of what it lacks.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use samples::Run;
use store::Error;

/// What a changed copy of a run file is like.
struct Copy<'a> {
    drop: &'a [&'a str],
    writer: &'a str,
    key: fn(&str, String) -> Option<String>,
}

fn keep(_: &str, value: String) -> Option<String> {
    Some(value)
}

/// Writes the run file again without some columns and with other keys in its footer.
fn copy(from: &Path, to: &Path, change: &Copy<'_>) {
    let reader = SerializedFileReader::new(std::fs::File::open(from).unwrap()).unwrap();
    let footer = reader.metadata().file_metadata();
    let root = footer.schema_descr().root_schema();
    let kept: Vec<usize> = (0..root.get_fields().len())
        .filter(|at| !change.drop.contains(&root.get_fields()[*at].name()))
        .collect();
    let fields = kept.iter().map(|at| Arc::clone(&root.get_fields()[*at])).collect();
    let schema = Arc::new(Type::group_type_builder("sample").with_fields(fields).build().unwrap());
    let properties = Arc::new(WriterProperties::builder().set_created_by(change.writer.into()).build());
    let out = std::fs::File::create(to).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, properties).unwrap();
    let whole = Bytes::from(std::fs::read(from).unwrap());
    for group in reader.metadata().row_groups() {
        let mut next = writer.next_row_group().unwrap();
        for at in &kept {
            let column = group.column(*at);
            let close = parquet::column::writer::ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            next.append_column(&whole, close).unwrap();
        }
        next.close().unwrap();
    }
    for pair in footer.key_value_metadata().unwrap() {
        if let Some(value) = (change.key)(&pair.key, pair.value.clone().unwrap_or_default()) {
            writer.append_key_value_metadata(KeyValue::new(pair.key.clone(), value));
        }
    }
    writer.close().unwrap();
}

fn read_changed(change: &Copy<'_>) -> (Run, Result<Run, Error>) {
    let folder = tempfile::tempdir().unwrap();
    let (whole, changed) = (folder.path().join("whole.parquet"), folder.path().join("changed.parquet"));
    store::write(&whole, &samples::example::parallel_write(3, 40, 1)).unwrap();
    copy(&whole, &changed, change);
    (store::read(&whole).unwrap(), store::read(&changed))
}

fn note(run: &Run) -> &str {
    let found = run.facts.warnings.iter().find(|warning| warning.code == store::OTHER_FILE);
    &found.expect("a note of what is missing").text
}

#[test]
fn columns_of_later_versions_read_as_not_known() {
    let change = Copy {
        drop: &["blocked_ns", "queue_ns", "batch", "cpu", "bytes"],
        writer: "some tool 1.0",
        key: keep,
    };
    let (whole, found) = read_changed(&change);
    let found = found.unwrap();
    assert!(
        note(&found).contains("no column `bytes`, `batch`, `cpu`, `queue_ns`, `blocked_ns`"),
        "{}",
        note(&found)
    );
    assert!(note(&found).contains("written anew by some tool 1.0"), "{}", note(&found));
    assert_eq!(found.samples.len(), whole.samples.len());
    for (a, b) in found.samples.iter().zip(&whole.samples) {
        assert_eq!((a.start_ns, a.duration_ps, a.rank, a.site), (b.start_ns, b.duration_ps, b.rank, b.site));
        assert_eq!((a.bytes, a.batch, a.cpu, a.queue_ns, a.blocked_ns), (0, 1, u16::MAX, 0, 0));
    }
}

#[test]
fn a_file_without_durations_is_no_run() {
    let (_, found) = read_changed(&Copy { drop: &["duration_ps"], writer: "some tool 1.0", key: keep });
    assert!(found.unwrap_err().to_string().ends_with("is damaged: it has no column `duration_ps`"));
}

#[test]
fn our_own_file_with_other_bytes_than_its_checksum_is_damaged() {
    let (_, found) = read_changed(&Copy { drop: &["blocked_ns"], writer: "lastrank 0.1.0", key: keep });
    assert!(matches!(found, Err(Error::Damaged { .. })), "{found:?}");
}

#[test]
fn facts_of_another_form_are_left_out_and_named() {
    let older = |key: &str, value: String| match key {
        store::FACTS_KEY => {
            let mut facts: serde_json::Value = serde_json::from_str(&value).unwrap();
            facts["clock_offsets"] = serde_json::json!([[0, 1], [2, 3]]);
            facts["a_fact_of_tomorrow"] = serde_json::json!(7);
            Some(facts.to_string())
        }
        "lastrank.crc32" => None,
        _ => Some(value),
    };
    let (whole, found) = read_changed(&Copy { drop: &[], writer: "some tool 1.0", key: older });
    let found = found.unwrap();
    assert!(note(&found).contains("`clock_offsets` are of another form"), "{}", note(&found));
    assert_eq!(
        (found.facts.name.as_str(), found.facts.ranks),
        (whole.facts.name.as_str(), whole.facts.ranks)
    );
    assert_eq!(found.samples, whole.samples);
}
