//! Files of other tools in a folder: a line each, with the numbers that are taken of it.

use std::path::{Path, PathBuf};

use intake::{Error, Histogram, Taken, Wanted};
use report::{Table, cut};
use serde::Serialize;
use tail::Series;

use super::in_one_line;
use crate::output;

/// Bytes of the largest file that is read: a list is to take seconds.
const LARGEST: u64 = 32 << 20;

/// Most files that are read.
const MOST_FILES: usize = 200;

/// Fewest numbers of a table that nothing but its name tells to be measured values.
const FEWEST_OF_TABLE: usize = 10;

/// Fewest values of which a 99% quantile is shown.
const FEWEST_OF_P99: usize = 100;

/// Columns of the widest note.
const WIDEST_NOTE: usize = 60;

/// What files of other tools are called.
const NAMES: [&str; 19] = [
    "csv", "tsv", "txt", "dat", "log", "json", "jsonl", "ndjson", "parquet", "npy", "hgrm", "hlog", "jtl",
    "xml", "prom", "out", "gz", "xz", "zst",
];

/// A file of another tool.
#[derive(Debug, Serialize)]
pub(super) struct ForeignFile {
    #[serde(serialize_with = "crate::output::path_in_json")]
    pub(super) file: PathBuf,
    /// "hyperfine JSON"; "table" of one without a name.
    format: String,
    /// The column or series.
    #[serde(skip_serializing_if = "String::is_empty")]
    series: String,
    /// Values that are taken; none where that is to be chosen.
    values: Option<u64>,
    /// `s` where the numbers are times.
    unit: Option<&'static str>,
    /// Lower and upper bound; of single values they are the same.
    median: Option<[f64; 2]>,
    p99: Option<[f64; 2]>,
    /// What is to be chosen.
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

/// Those of a folder that are known, by their names; the number of further ones that are not read.
pub(super) fn of_folder(directory: &Path) -> (Vec<ForeignFile>, usize) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_named = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = path.extension().unwrap_or_default().to_string_lossy();
        let is_hidden = name.starts_with('.');
        // A log of pgbench has the number of a process at its end.
        !is_hidden && (NAMES.contains(&&*kind) || name.starts_with("pgbench_log."))
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_named(path)).collect();
    paths.retain(|path| path.metadata().is_ok_and(|of| of.is_file()) && !crate::values::is_run(path));
    paths.sort();
    let all = paths.len();
    paths.retain(|path| path.metadata().is_ok_and(|of| of.len() <= LARGEST));
    paths.truncate(MOST_FILES);
    let unread = all - paths.len();
    (paths.into_iter().filter_map(|path| of_file(path, true)).collect(), unread)
}

/// What is known of a file; none of one that is none of another tool. Of a folder a table is one if it looks like it.
pub(super) fn of_file(file: PathBuf, is_of_folder: bool) -> Option<ForeignFile> {
    match intake::read(&file, &Wanted::default()) {
        Ok(taken) => {
            let is_known = taken.format.is_some_and(|format| format != "JSON");
            let is_doubtful = is_of_folder && !is_known && taken.values.len() < FEWEST_OF_TABLE;
            (!is_doubtful).then(|| of_values(file, taken))
        }
        Err(Error::Binned { histogram, .. }) => Some(of_bins(file, &histogram)),
        Err(error) => several(&error).map(|(format, names)| ForeignFile {
            format: format.into(),
            note: cut(&format!("choose a series: {names}"), WIDEST_NOTE),
            file,
            series: String::new(),
            values: None,
            unit: None,
            median: None,
            p99: None,
        }),
    }
}

/// The format of a file with several series, of which none is chosen, and what they are called.
fn several(error: &Error) -> Option<(&str, &str)> {
    let Error::Table { what, .. } = error else { return None };
    let (format, rest) = what.split_once(" holds several series: ")?;
    Some((format, rest.split_once("--column: ")?.1))
}

fn of_values(file: PathBuf, taken: Taken) -> ForeignFile {
    let factor = taken.unit.map_or(1.0, intake::Unit::seconds);
    let series = Series::clean(&taken.values);
    let quantile = |p: f64| Some([factor * series.measured(p); 2]);
    ForeignFile {
        file,
        format: taken.format.unwrap_or("table").into(),
        values: Some(taken.values.len() as u64),
        unit: taken.unit.map(|_| "s"),
        median: quantile(0.5),
        p99: quantile(0.99).filter(|_| taken.values.len() >= FEWEST_OF_P99),
        series: taken.series,
        note: String::new(),
    }
}

fn of_bins(file: PathBuf, found: &Histogram) -> ForeignFile {
    let factor = found.unit.map_or(1.0, intake::Unit::seconds);
    let quantile = |p: f64| found.quantile(p).map(|bounds| bounds.map(|bound| factor * bound));
    let finite = |bounds: &[f64; 2]| bounds.iter().all(|bound| bound.is_finite());
    ForeignFile {
        file,
        format: found.format.into(),
        series: found.series.clone(),
        values: Some(found.count),
        unit: found.unit.map(|_| "s"),
        median: quantile(0.5).filter(finite),
        p99: quantile(0.99).filter(|bounds| found.count >= FEWEST_OF_P99 as u64 && finite(bounds)),
        note: "bins".into(),
    }
}

/// The table of files.
pub(super) fn table(title: &str, files: &[ForeignFile], unread: usize) -> String {
    let has_notes = files.iter().any(|file| !file.note.is_empty());
    let heads = ["<file", "<format", "values", "median", "p99", "<note"];
    let mut table = Table::new(title, &heads[..heads.len() - usize::from(!has_notes)]);
    for file in files {
        let shown = |value: f64| match file.unit {
            Some(_) => samples::units::duration(value),
            None => report::significant(value, 3),
        };
        let cell = |bounds: Option<[f64; 2]>| match bounds.map(|bounds| bounds.map(shown)) {
            None => "–".to_owned(),
            Some([low, high]) if low == high => low,
            Some([low, high]) => format!("{low} to {high}"),
        };
        let name = file.file.file_name().unwrap_or_default().to_string_lossy();
        let values = file.values.map_or("–".into(), samples::units::count);
        let cells = [
            in_one_line(&name),
            file.format.clone(),
            values,
            cell(file.median),
            cell(file.p99),
            file.note.clone(),
        ];
        table.push(false, cells.into_iter().take(heads.len() - usize::from(!has_notes)));
    }
    let more = match unread {
        0 => String::new(),
        1 => "1 larger file is not read\n".into(),
        more => format!("{more} larger or further files are not read\n"),
    };
    let text = match output::columns() {
        Some(columns) => table.stacked(columns, &["file", "note"]),
        None => table.in_whole_lines(),
    };
    text + &more
}
