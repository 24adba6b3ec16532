//! Run files: Parquet in and out.
//!
//! A run is one Parquet file with one row a sample, or a directory of such files, one a rank
//! (`run/part-00000.parquet`). Any Parquet reader opens it: the columns are those of
//! [`samples::Sample`] plus the text of the site (`label`, `operation`, `kind`, `line`), so nobody
//! needs a join. Facts and sites are JSON in the footer. `docs/run-file.md` describes the columns.
//!
//! ```
//! # fn main() -> Result<(), store::Error> {
//! let folder = tempfile::tempdir().unwrap();
//! let path = folder.path().join("run.parquet");
//! let run = samples::Run {
//!     sites: vec![samples::Site { operation: "fwrite".into(), line: 3, ..Default::default() }],
//!     samples: vec![samples::Sample { duration_ps: 12_000_000, batch: 1, ..Default::default() }],
//!     ..Default::default()
//! };
//! store::write(&path, &run)?;
//! assert_eq!(store::read(&path)?.samples, run.samples);
//! assert_eq!(store::facts(&path)?, run.facts);
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

mod columns;
mod error;
mod group;
mod held;
mod kept;
mod ordinary;
mod parts;
mod read;
mod replace;
mod sound;
mod summary;
mod thrift;
mod write;

pub use columns::{FACTS_KEY, RECORDING_KEY};
pub use error::Error;
pub use held::{HeldFolder, PrivateFolder};
pub use kept::{keep_answer, kept_answer, reduced};
pub use ordinary::{open_ordinary, read_ordinary};
pub use parts::{PartsFolder, has_parts, missing_parts, remove_other_parts, write_part};
pub use read::{OTHER_FILE, expecting_panics, is_foreign, is_run, panic_is_expected};
pub use replace::{Replacement, replace};
pub use sound::{check_pages, open_parquet};
pub use write::{Writer, arrange, write};

/// Reads a run: a run file, or a directory of parts as one logical run. What its facts call a warm-up is left out.
///
/// # Errors
/// An [`Error`] that says whether the file is missing, not Parquet, cut short, from another tool,
/// from a newer lastrank, or damaged (a checksum over all data is checked).
pub fn read(path: &std::path::Path) -> Result<samples::Run, Error> {
    let mut run = read_whole(path)?;
    run.leave_out_warm_up();
    Ok(run)
}

/// As [`read`], with the warm-up: all samples that the file has.
///
/// # Errors
/// As [`read`].
pub fn read_whole(path: &std::path::Path) -> Result<samples::Run, Error> {
    if path.is_dir() { parts::read(path, None) } else { read::read_file(path) }
}

/// Reads a run in pieces: `each` gets its samples as they come, a row group at a time, with the sites of the run that
/// is returned, which has none. So a run need not fit into memory. What its facts call a warm-up is left out.
///
/// # Errors
/// As [`read`]; what `each` was given until then is not to be used.
pub fn scan(path: &std::path::Path, each: &mut dyn FnMut(&[samples::Sample])) -> Result<samples::Run, Error> {
    let warm_up = match path.is_dir() {
        // Parts of a run are not judged.
        true => None,
        // Damage is told by the reader below.
        false => read::facts_of_file(path).ok().and_then(|facts| samples::WarmUp::of(&facts)),
    };
    match warm_up {
        None => scan_whole(path, each),
        Some(warm_up) => read::read_file_into(
            path,
            Some(&mut |sites, samples| {
                let kept = warm_up.sift(sites, samples);
                each(&samples[..kept]);
            }),
        ),
    }
}

/// As [`scan`], with the warm-up: all samples that the file has.
///
/// # Errors
/// As [`scan`].
pub fn scan_whole(
    path: &std::path::Path,
    each: &mut dyn FnMut(&[samples::Sample]),
) -> Result<samples::Run, Error> {
    if path.is_dir() {
        parts::read(path, Some(each))
    } else {
        read::read_file_into(path, Some(&mut |_, samples| each(samples)))
    }
}

/// The facts of a run. Of a run file only its footer is read: its samples are not checked.
///
/// # Errors
/// As [`read`].
pub fn facts(path: &std::path::Path) -> Result<samples::Facts, Error> {
    if path.is_dir() { scan(path, &mut |_| {}).map(|run| run.facts) } else { read::facts_of_file(path) }
}
