//! What the footer of a large run says besides its facts, so that its samples need not be read: their sums
//! ([`samples::Reduced`]), and the numbers of its answer.
//!
//! The samples are safe before anybody computes the answer. So its place is written with them, empty, and filled in later:
//! its bytes lie in the footer alone, which no checksum of data or facts covers, and a seal says whether they are whole.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::FileReader as _;
use samples::{Facts, Reduced, Run};

use crate::read::{Footer, expecting_panics, open};
use crate::sound::open_parquet;

/// Footer key of the sums.
const REDUCED_KEY: &str = "lastrank.reduced";
/// Footer key of the answer's numbers.
const ANSWER_KEY: &str = "lastrank.answer";

/// Runs of so many samples have both: fewer are read in the time that a command takes to begin.
const LARGE: usize = 1 << 16;
/// Bytes of the place for an answer; a longer one is not kept.
const PLACE: usize = 16 << 10;
/// What an empty place is full of.
const EMPTY: &str = "~";
/// Who else may have written what this version reads computed numbers in another way.
const WRITER: &str = concat!("lastrank ", env!("CARGO_PKG_VERSION"));
/// Rises with every change of how a number of the answer is computed: what is kept is then computed anew.
const NUMBERS: &str = "4";

/// The footer's further keys of a run; the place for an answer is the last.
pub(crate) fn pairs(run: &Run) -> Vec<(&'static str, String)> {
    if run.samples.len() < LARGE || !run.facts.counted.is_empty() {
        return Vec::new();
    }
    // They are to take a small part of the file.
    let most = run.samples.len();
    let mut reduced = Reduced::of(run);
    let mut bytes = reduced.encode();
    if bytes.len() > most {
        reduced.leave_out_steps();
        bytes = reduced.encode();
    }
    let sums = (bytes.len() <= most).then(|| (REDUCED_KEY, BASE64.encode(bytes)));
    sums.into_iter().chain([(ANSWER_KEY, EMPTY.repeat(PLACE))]).collect()
}

/// The sums of a run's samples, where its footer has them; only this is read. `None` also of a file that another tool or
/// another version wrote, and of a damaged one, which whoever reads the samples is told.
pub fn reduced(path: &Path) -> Option<Reduced> {
    let (_, metadata) = parsed(open(path).ok()?)?;
    if metadata.file_metadata().created_by() != Some(WRITER) {
        return None;
    }
    let bytes = BASE64.decode(value(&metadata, REDUCED_KEY)?).ok()?;
    Reduced::decode(&bytes).ok()
}

/// Keeps the numbers of an answer in the footer of a run that [`crate::write`] has just written with these facts; says
/// whether there was a place for it.
pub fn keep_answer(path: &Path, facts: &Facts, answer: &str) -> bool {
    keep_in_place(path, facts, answer).is_some()
}

fn keep_in_place(path: &Path, facts: &Facts, answer: &str) -> Option<()> {
    drop(open(path).ok()?);
    let mut file = File::options().read(true).write(true).open(path).ok()?;
    let (footer, metadata) = parsed(file.try_clone().ok()?)?;
    let of_file = Footer::of(path, metadata.file_metadata()).ok()?;
    // Somebody may have put another file there.
    let is_it = of_file.writer == WRITER && serde_json::from_str::<Facts>(&of_file.facts).ok()? == *facts;
    let empty = EMPTY.repeat(PLACE);
    if !is_it || value(&metadata, ANSWER_KEY)? != empty || answer.len() + 8 > PLACE {
        return None;
    }
    file.seek(SeekFrom::Start(footer)).ok()?;
    let mut bytes = Vec::new();
    file.try_clone().ok()?.read_to_end(&mut bytes).ok()?;
    // It is the last one: other texts may look like it.
    let begin = bytes.windows(PLACE).rposition(|found| found == empty.as_bytes())?;
    let seal = seal(&of_file, &metadata, answer);
    file.seek(SeekFrom::Start(footer + begin as u64)).ok()?;
    file.write_all(format!("{:<PLACE$}", format!("{seal:08x}{answer}")).as_bytes()).ok()
}

/// A run without its samples and the numbers of its answer, where its footer has them and nothing is wrong with the file:
/// its data are those that were written (they are read for their checksum, and not unpacked), and so are facts and sites.
/// Whoever gets `None` reads the samples, and is told what is wrong.
pub fn kept_answer(path: &Path) -> Option<(Run, String)> {
    let (_, metadata) = parsed(open(path).ok()?)?;
    let answer = value(&metadata, ANSWER_KEY)?;
    let of_file = Footer::of(path, metadata.file_metadata()).ok()?;
    let (sum, answer) = answer.trim_end_matches(' ').split_at_checked(8)?;
    if of_file.writer != WRITER || sum != format!("{:08x}", seal(&of_file, &metadata, answer)) {
        return None;
    }
    let mut notes = Vec::new();
    of_file.checked(path, &mut notes).ok()??;
    let facts = serde_json::from_str(&of_file.facts).ok()?;
    let sites = serde_json::from_str(&of_file.sites).ok()?;
    notes.is_empty().then(|| (Run { facts, sites, samples: Vec::new() }, answer.to_owned()))
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

/// Of an answer with all that it is of: the checksums of the file, and where its columns are.
fn seal(of_file: &Footer, metadata: &ParquetMetaData, answer: &str) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    for text in [WRITER, NUMBERS, "\n", of_file.checksums.as_deref().unwrap_or(""), "\n", answer, "\n"] {
        sum.update(text.as_bytes());
    }
    let number = |sum: &mut crc32fast::Hasher, value: i64| sum.update(&value.to_le_bytes());
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
    sum.finalize()
}
