//! One row for each part of a run's answer, appended to a file that gathers many runs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, bail};
use report::Report;
use results::{AnswerNumbers, AnswerPart, AnswerValue, ResultRow, phases, quantity};
use samples::{field, visible_json};
use serde::Serialize;

/// The names of the columns stay: scripts read them.
#[derive(Clone, Debug, Default, Serialize)]
struct Row {
    started: String,
    host: String,
    program: String,
    tags: String,
    note: String,
    ranks: u32,
    /// The label of the part, such as that of a phase.
    phase: String,
    operation: String,
    operations: u64,
    bytes: u64,
    errors: u64,
    status: u8,
    seconds: Option<f64>,
    operations_per_second: Option<f64>,
    bytes_per_second: Option<f64>,
    p50_seconds: Option<f64>,
    p99_seconds: Option<f64>,
    p999_seconds: Option<f64>,
    max_seconds: Option<f64>,
    run_file: String,
    /// What the quantiles are of: `operation`, `response`, `safe`, `step`. A file that was begun before has no column for it,
    /// and none for those that follow.
    value: Option<AnswerValue>,
    /// The upper end of the interval of p99; none where it may be any longer.
    p99_upper_seconds: Option<f64>,
    /// Of all that the run measured, as on its first screen.
    run_operations: u64,
    run_bytes: u64,
    /// Where a rule of steadiness was given: what came of it, in words.
    steady: String,
}

/// Columns of files that earlier versions began, the latest first.
const EARLIER: [usize; 2] = [24, 20];

impl Row {
    /// With texts that a table of text may hold.
    fn of_fields(&self) -> Self {
        let mut row = self.clone();
        let (note, file, steady) = (&mut row.note, &mut row.run_file, &mut row.steady);
        let texts = [
            &mut row.host,
            &mut row.program,
            &mut row.tags,
            note,
            &mut row.phase,
            &mut row.operation,
            file,
            steady,
        ];
        texts.into_iter().for_each(|text| *text = field(text).into_owned());
        row
    }
}

/// Appends the rows of a run: as JSON lines to a file `*.json`, `*.jsonl` or `*.ndjson`, else as CSV, whose header is
/// written with the first run.
///
/// # Errors
/// A file that cannot be written, and one whose columns are others.
pub fn append(report: &Report, run_file: &Path, path: &Path) -> anyhow::Result<()> {
    let place = || format!("cannot append to {}; name another file with `--append FILE`", path.display());
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).open(path).with_context(place)?;
    // Runs that end at the same time append one after the other; where a file system has no locks, rows are whole still.
    let _ = file.lock();
    let rows = rows(report, run_file);
    let text =
        if is_json(path) { visible_json(&lines(&rows)?).into_owned() } else { csv(&rows, &mut file, path)? };
    // The last line may lack its end: an editor, or another program, left it so.
    let ends = last_line(&mut file).with_context(place)?;
    let text = if ends.is_empty() { text } else { format!("\n{text}") };
    file.write_all(text.as_bytes()).with_context(place)
}

/// The last line, where it lacks its end; at most a MiB of it.
fn last_line(file: &mut File) -> std::io::Result<Vec<u8>> {
    const MOST: u64 = 1 << 20;
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut end = Vec::new();
    file.take(MOST).read_to_end(&mut end)?;
    let begin = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    Ok(end.split_off(begin))
}

/// Whether a line without its end is a whole row of the file.
fn is_whole(line: &[u8], path: &Path) -> anyhow::Result<bool> {
    if is_json(path) {
        return Ok(serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok());
    }
    // A quote that is open would take the next rows as well.
    let quotes = line.iter().filter(|byte| **byte == b'"').count();
    let mut fields = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_path(path)?;
    let columns = fields.records().next().transpose()?.map_or(0, |record| record.len());
    let mut last = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    let found = last.records().next().transpose()?.map_or(0, |record| record.len());
    Ok(quotes % 2 == 0 && found == columns)
}

fn lines(rows: &[Row]) -> anyhow::Result<String> {
    let rows: Result<Vec<String>, _> = rows.iter().map(serde_json::to_string).collect();
    Ok(rows?.into_iter().map(|row| row + "\n").collect())
}

/// Refuses a file whose columns are others, before anything is measured.
///
/// # Errors
/// Such a file, and one that cannot be read.
pub fn check(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // What is not there yet, the program may make: a link, for example.
    if !folder.is_dir() {
        bail!("cannot append to {}: there is no directory {}", path.display(), folder.display());
    }
    match path.symlink_metadata() {
        // An earlier program may have laid it there; no program of this run can, since the name is one of its results.
        Ok(found) if found.is_symlink() => {
            bail!("{} is a symbolic link; name the file itself with `--append FILE`", path.display())
        }
        Ok(found) if !found.is_file() => {
            bail!("{} is not an ordinary file; name one with `--append FILE`", path.display())
        }
        Ok(_) if is_json(path) && !begins_as_json(path)? => {
            bail!("{} holds no JSON lines; name another file with `--append FILE`", path.display())
        }
        Ok(_) | Err(_) => {}
    }
    if !path.exists() {
        return Ok(());
    }
    let cannot_read = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(cannot_read)?;
    if !is_json(path) {
        csv(&[Row::default()], &mut file, path)?;
    }
    let last = last_line(&mut file).with_context(cannot_read)?;
    if !last.is_empty() && !is_whole(&last, path)? {
        bail!(
            "the last line of {} is cut: mend or remove it, or name another file with `--append FILE`",
            path.display()
        );
    }
    Ok(())
}

fn begins_as_json(path: &Path) -> anyhow::Result<bool> {
    let mut first = [0];
    let read = File::open(path).and_then(|mut file| file.read(&mut first));
    Ok(read.with_context(|| format!("cannot read {}", path.display()))? == 0 || first == [b'{'])
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|kind| ["json", "jsonl", "ndjson"].iter().any(|one| kind == *one))
}

/// The rows, with their header where the file is empty; a file that an earlier version began keeps its columns.
fn csv(rows: &[Row], file: &mut File, path: &Path) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row.of_fields()))?;
    let text = writer.into_inner().context("the row cannot be written")?;
    let cut = |columns: usize| -> anyhow::Result<String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_slice());
        let mut writer = csv::Writer::from_writer(Vec::new());
        for record in reader.records() {
            writer.write_record(record?.iter().take(columns))?;
        }
        Ok(String::from_utf8(writer.into_inner().context("the row cannot be written")?)?)
    };
    let whole = String::from_utf8(text.clone())?;
    let earlier = EARLIER.into_iter().map(cut).collect::<anyhow::Result<Vec<String>>>()?;
    let header = |text: &str| text.find('\n').map_or(text.len(), |end| end + 1);
    let mut begins = Vec::new();
    let read = file.take(header(&whole) as u64).read_to_end(&mut begins);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if begins.is_empty() {
        return Ok(whole);
    }
    let of_file =
        [whole].into_iter().chain(earlier).find(|text| begins.starts_with(&text.as_bytes()[..header(text)]));
    match of_file {
        Some(text) => Ok(text[header(&text)..].to_owned()),
        None => bail!("{} has other columns than the rows of --append; name another file", path.display()),
    }
}

/// A row for each part; where the answer is a table of labels, for each operation of a label; else one with the sums.
fn rows(report: &Report, run_file: &Path) -> Vec<Row> {
    let (facts, numbers) = (&report.facts, &report.numbers);
    let tags: Vec<String> = facts.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let common = |numbers: &AnswerNumbers| Row {
        // A simulated run is of no date.
        started: facts.began().unwrap_or_default().to_owned(),
        host: facts.machine.as_ref().and_then(|machine| machine.host.clone()).unwrap_or_default(),
        program: facts.name.clone(),
        tags: tags.join(" "),
        note: facts.note.clone(),
        ranks: facts.ranks,
        operations: numbers.operations,
        bytes: numbers.bytes,
        errors: numbers.errors,
        status: report.judgements.status(),
        run_file: run_file.display().to_string(),
        run_operations: numbers.operations,
        run_bytes: numbers.bytes,
        steady: facts.steady.as_ref().map(report::words::steady::in_short).unwrap_or_default(),
        ..Row::default()
    };
    if numbers.parts.is_empty() {
        let rows = phases(&report.results).into_iter().flat_map(|phase| phase.operations);
        let rows: Vec<Row> = rows.map(|row| of_phase(row, report, common(numbers))).collect();
        return if rows.is_empty() { vec![common(numbers)] } else { rows };
    }
    numbers.parts.iter().map(|part| of_part(part, report, common(numbers))).collect()
}

fn of_phase(row: &ResultRow, report: &Report, common: Row) -> Row {
    let common = Row {
        phase: row.label.clone().unwrap_or_default(),
        operation: row.operation.clone(),
        operations: quantity(row),
        bytes: row.bytes,
        ..common
    };
    if !report::are_shown(&report.judgements) {
        return common;
    }
    let quantiles = row.quantiles_seconds.as_ref();
    Row {
        value: quantiles.map(|_| AnswerValue::Operation),
        seconds: row.wall_seconds,
        operations_per_second: row.operations_per_second,
        bytes_per_second: row.bytes_per_second,
        p50_seconds: quantiles.map(|quantiles| quantiles.p50),
        p99_seconds: quantiles.and_then(|quantiles| quantiles.p99),
        p999_seconds: quantiles.and_then(|quantiles| quantiles.p999),
        max_seconds: quantiles.map(|quantiles| quantiles.max),
        ..common
    }
}

fn of_part(part: &AnswerPart, report: &Report, common: Row) -> Row {
    let row = report.results.get(part.row);
    let common = Row {
        phase: part.label.clone().unwrap_or_default(),
        operation: part.operation.clone(),
        operations: part.operations,
        bytes: row.map_or(0, |row| row.bytes),
        ..common
    };
    // As on the screen: no rate and no time of a run with wrong data.
    if !report::are_shown(&report.judgements) {
        return common;
    }
    let quantiles = part.quantiles_seconds.as_ref();
    Row {
        value: quantiles.map(|_| part.value),
        p99_upper_seconds: part.interval(0.99).and_then(|interval| interval.upper_seconds),
        seconds: part.wall_seconds,
        operations_per_second: part.operations_per_second,
        bytes_per_second: part.bytes_per_second,
        p50_seconds: quantiles.map(|quantiles| quantiles.p50),
        p99_seconds: quantiles.and_then(|quantiles| quantiles.p99),
        p999_seconds: quantiles.and_then(|quantiles| quantiles.p999),
        max_seconds: quantiles.map(|quantiles| quantiles.max),
        ..common
    }
}
