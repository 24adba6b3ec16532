//! Errors of reading and writing run files; each names the file and the cause.

use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

use crate::columns::{SCHEMA, SCHEMA_KEY};

/// Why a run could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused: no space, no permission, no such file.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read`, `write`, `create` …
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A pipe, a device, a socket, a directory.
    #[error("cannot {action} {}: it is not an ordinary file, and a run needs one", path.display())]
    Special {
        /// `read` or `write`.
        action: &'static str,
        /// What it is called.
        path: PathBuf,
    },
    /// A text that is longer than any of its kind.
    #[error("{} is refused: it is longer than {most} bytes", path.display())]
    Long {
        /// The file.
        path: PathBuf,
        /// The most bytes that are read.
        most: u64,
    },
    /// Not Parquet at all.
    #[error("{} is not a run file: it is not Parquet ({why})", path.display())]
    NotParquet {
        /// The file.
        path: PathBuf,
        /// How that was seen.
        why: String,
    },
    /// The beginning of a Parquet file without its end.
    #[error("{} is cut short: it begins as Parquet but its footer is missing; copy it again", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
    },
    /// Parquet, but not ours.
    #[error(
        "{} is Parquet but not a run of lastrank: its footer has no `{}` (was it rewritten by another tool?)",
        path.display(), SCHEMA_KEY
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A recording of an application, whose calls are no samples.
    #[error(
        "{0} is a recording of an application and no run: `lastrank replay {0}` replays it, and `lastrank import {0}` makes \
         a program of it",
        path.display()
    )]
    Recording {
        /// The file.
        path: PathBuf,
    },
    /// A run of a later version.
    #[error("{} was written by a newer lastrank (schema {found}; this one reads {})", path.display(), SCHEMA)]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema it names.
        found: String,
    },
    /// The library that writes Parquet refused.
    #[error("cannot write {}: {what}", path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// A run file whose content contradicts itself.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        what: String,
    },
    /// A small file whose samples would take far more memory than a run of its size can.
    #[error(
        "{} is refused: its {length} bytes would become {unpacked} bytes of samples, as no measured run's do",
        path.display()
    )]
    Bomb {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        length: u64,
        /// Bytes that its samples would take.
        unpacked: u64,
    },
    /// A directory that is not one run.
    #[error("{} is not a run: {what}", path.display())]
    Parts {
        /// The directory.
        path: PathBuf,
        /// What is wrong with its parts.
        what: String,
    },
    /// A sample that names a site the run does not have.
    #[error("cannot write {}: sample {index} names site {site}, and the run has {sites} sites", path.display())]
    NoSuchSite {
        /// The file that was to be written.
        path: PathBuf,
        /// Position of the sample in the run, from 0.
        index: u64,
        /// The site it names.
        site: u32,
        /// How many sites there are.
        sites: usize,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }

    /// What the Parquet library says, told apart: the operating system refused, or bad content.
    pub(crate) fn parquet(action: &'static str, path: &Path, error: ParquetError) -> Self {
        let what = match error {
            ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
                Ok(source) => return Self::Io { action, path: path.into(), source: *source },
                Err(cause) => cause.to_string(),
            },
            other => other.to_string(),
        };
        let path = path.into();
        if action == "write" { Self::Unwritten { path, what } } else { Self::Damaged { path, what } }
    }
}
