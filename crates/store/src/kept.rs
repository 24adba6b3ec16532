//! Reads what the footer of a large run says besides its facts ([`crate::summary`]), and fills the place for its answer.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::FileReader as _;
use samples::{Facts, Reduced, Run};

use crate::Error;
use crate::parts::{part_files, read_by};
use crate::read::{Footer, Sink, expecting_panics, open};
use crate::sound::open_parquet;
use crate::summary::{ANSWER_KEY, EMPTY, PLACE, REDUCED_KEY};

/// Who else may have written what this version reads computed numbers in another way.
const WRITER: &str = concat!("lastrank ", env!("CARGO_PKG_VERSION"));
/// Rises with every change of how a number of the answer is computed: what is kept is then computed anew.
const NUMBERS: &str = "5";

/// The sums of a run's samples, where its footer has them, or those of all its parts; only these are read. `None` also of a
/// file that another tool or another version wrote, and of a damaged one, which whoever reads the samples is told.
pub fn reduced(path: &Path) -> Option<Reduced> {
    let mut all = Reduced::default();
    for file in files_of(path)? {
        let (_, metadata) = parsed(open(&file).ok()?)?;
        if metadata.file_metadata().created_by() != Some(WRITER) {
            return None;
        }
        let bytes = BASE64.decode(value(&metadata, REDUCED_KEY)?).ok()?;
        all.merge(&Reduced::decode(&bytes).ok()?);
    }
    Some(all)
}

/// The file of a run, or its parts.
fn files_of(path: &Path) -> Option<Vec<PathBuf>> {
    let files = if path.is_dir() { part_files(path).ok()? } else { vec![path.into()] };
    (!files.is_empty()).then_some(files)
}

/// Keeps the numbers of an answer in the footer of a run that [`crate::write`] has just written with these facts, of a run in
/// parts in that of the first; says whether there was a place for it.
pub fn keep_answer(path: &Path, facts: &Facts, answer: &str) -> bool {
    keep_in_place(path, facts, answer).is_some()
}

fn keep_in_place(path: &Path, facts: &Facts, answer: &str) -> Option<()> {
    let files = files_of(path)?;
    let of_files = footers(&files)?;
    // Somebody may have put another file there.
    let is_it = |(of_file, _): &(Footer, ParquetMetaData)| {
        let found = serde_json::from_str::<Facts>(&of_file.facts).ok()?;
        let is_same = if path.is_dir() { found.job == facts.job } else { found == *facts };
        (is_same && of_file.writer == WRITER).then_some(())
    };
    of_files.iter().try_for_each(is_it)?;
    let empty = EMPTY.repeat(PLACE);
    if value(&of_files.first()?.1, ANSWER_KEY)? != empty || answer.len() + 8 > PLACE {
        return None;
    }
    let mut file = File::options().read(true).write(true).open(files.first()?).ok()?;
    let (footer, _) = parsed(file.try_clone().ok()?)?;
    file.seek(SeekFrom::Start(footer)).ok()?;
    let mut bytes = Vec::new();
    file.try_clone().ok()?.read_to_end(&mut bytes).ok()?;
    // It is the last one: other texts may look like it.
    let begin = bytes.windows(PLACE).rposition(|found| found == empty.as_bytes())?;
    let seal = seal(&of_files, answer);
    file.seek(SeekFrom::Start(footer + begin as u64)).ok()?;
    // So many bytes, not characters: what stands behind the place stays.
    let mut filled = format!("{seal:08x}{answer}").into_bytes();
    filled.resize(PLACE, b' ');
    file.write_all(&filled).ok()
}

/// A run without its samples and the numbers of its answer, where its footer has them and nothing is wrong with the file:
/// its data are those that were written (they are read for their checksum, and not unpacked), and so are facts and sites; of a
/// run in parts all of them are those of which the answer is. Whoever gets `None` reads the samples, and is told what is wrong.
pub fn kept_answer(path: &Path) -> Option<(Run, String)> {
    let files = files_of(path)?;
    // Most runs without an answer are told by one footer.
    let (_, first) = parsed(open(files.first()?).ok()?)?;
    let (sum, answer) = value(&first, ANSWER_KEY)?.trim_end_matches(' ').split_at_checked(8)?;
    if sum.starts_with(EMPTY) {
        return None;
    }
    let of_files = footers(&files)?;
    let is_ours = of_files.iter().all(|(of_file, _)| of_file.writer == WRITER);
    if !is_ours || sum != format!("{:08x}", seal(&of_files, answer)) {
        return None;
    }
    let mut notes = Vec::new();
    for (file, (of_file, _)) in files.iter().zip(&of_files) {
        of_file.checked(file, &mut notes).ok()??;
    }
    let one = |at: usize| {
        let (facts, sites) = (&of_files.get(at)?.0.facts, &of_files[at].0.sites);
        let (facts, sites) = (serde_json::from_str(facts).ok()?, serde_json::from_str(sites).ok()?);
        Some(Run { facts, sites, samples: Vec::new() })
    };
    let run = match path.is_dir() {
        false => one(0)?,
        true => {
            let missing = |part: &Path| Error::Parts { path: part.into(), what: "it changed".into() };
            let part = |part: &Path, _: Option<Sink<'_>>| {
                let at = files.iter().position(|file| file == part);
                at.and_then(one).ok_or_else(|| missing(part))
            };
            read_by(path, None, &part).ok()?
        }
    };
    notes.is_empty().then(|| (run, answer.to_owned()))
}

/// The footers of some files.
fn footers(files: &[PathBuf]) -> Option<Vec<(Footer, ParquetMetaData)>> {
    let footer = |file: &PathBuf| {
        let (_, metadata) = parsed(open(file).ok()?)?;
        Some((Footer::of(file, metadata.file_metadata()).ok()?, metadata))
    };
    files.iter().map(footer).collect()
}

/// Where the footer of a file begins, and what is in it.
fn parsed(file: File) -> Option<(u64, ParquetMetaData)> {
    let mut tail = [0; 8];
    let mut own = file.try_clone().ok()?;
    let end = own.seek(SeekFrom::End(-8)).ok()?;
    own.read_exact(&mut tail).ok()?;
    let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let begin = end.checked_sub(u64::from(length))?;
    let reader = expecting_panics(|| open_parquet(file)).ok()?.ok()?;
    Some((begin, reader.metadata().clone()))
}

fn value<'a>(metadata: &'a ParquetMetaData, key: &str) -> Option<&'a str> {
    let pairs = metadata.file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
}

/// Of an answer with all that it is of: the checksums of each file, and where its columns are.
fn seal(of_files: &[(Footer, ParquetMetaData)], answer: &str) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    let number = |sum: &mut crc32fast::Hasher, value: i64| sum.update(&value.to_le_bytes());
    [WRITER, NUMBERS, "\n", answer, "\n"].iter().for_each(|text| sum.update(text.as_bytes()));
    for (of_file, metadata) in of_files {
        sum.update(of_file.checksums.as_deref().unwrap_or("").as_bytes());
        sum.update(b"\n");
        number(&mut sum, of_file.rows);
        for group in metadata.row_groups() {
            number(&mut sum, group.num_rows());
            for column in group.columns() {
                let (begin, length) = (column.data_page_offset(), column.compressed_size());
                let dictionary = column.dictionary_page_offset().unwrap_or(0);
                [begin, length, dictionary, column.num_values()]
                    .iter()
                    .for_each(|value| number(&mut sum, *value));
                sum.update(column.column_path().string().as_bytes());
            }
        }
    }
    sum.finalize()
}
