//! Errors of reading numbers: each names the file, the place and the way out.

use std::path::{Path, PathBuf};

use crate::Wanted;
use crate::histogram::Histogram;

/// Why the numbers of a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// A value that is not a finite number.
    #[error("{name}, line {line}: `{value}` {what}")]
    Value {
        /// The file, or `standard input`.
        name: String,
        /// From 1.
        line: usize,
        /// The text found.
        value: String,
        /// What is wrong with it.
        what: String,
    },
    /// A file whose shape does not say which numbers to take, or that holds none.
    #[error("{name}: {what}")]
    Table {
        /// The file, or `standard input`.
        name: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A packed file that cannot be unpacked to its end.
    #[error("{name}: {what}")]
    Damaged {
        /// The file, or `standard input`.
        name: String,
        /// What could not be unpacked, and why.
        what: String,
    },
    /// A format that is known, and holds no values or cannot be read here.
    #[error("{name} is {what}")]
    Refused {
        /// The file, or `standard input`.
        name: String,
        /// What it is, and the way out.
        what: String,
    },
    /// Counts of bins, which are no single values; what can be said of them is in here.
    #[error(
        "{name} is {}: it holds counts of bins, no single values: `lastrank fit` shows the bounds of its quantiles; {}",
        histogram.format,
        histogram.out
    )]
    Binned {
        /// The file, or `standard input`.
        name: String,
        /// Its bins.
        histogram: Box<Histogram>,
    },
}

impl Error {
    /// A histogram, which the callers that want single values refuse.
    pub(crate) fn binned(name: &str, histogram: Histogram) -> Self {
        Self::Binned { name: name.into(), histogram: Box::new(histogram) }
    }

    pub(crate) fn io(name: &str, source: std::io::Error) -> Self {
        Self::Io { path: Path::new(name).into(), source }
    }
}

/// What is wrong with one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The first line leaves open which column is meant.
    #[error("{0}")]
    Layout(String),
    /// A format that is known, and holds no values.
    #[error("it is {0}")]
    Refused(String),
    /// Another number of fields than in the first line.
    #[error("has {found} fields where the first has {expected}: `{line}`")]
    Fields {
        /// Fields of this line.
        found: usize,
        /// Fields of the first one.
        expected: usize,
        /// The line.
        line: String,
    },
    /// The field is no finite number.
    #[error("`{text}` {what}")]
    Value {
        /// The field.
        text: String,
        /// What is wrong with it.
        what: String,
    },
}

/// Text of a file as an error shows it: one short line without control characters.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).flat_map(escaped).collect();
    if text.chars().count() > LONGEST {
        short.push('…');
    }
    short
}

/// A sign as it is typed, where it can be.
fn escaped(sign: char) -> impl Iterator<Item = char> {
    let is_plain = matches!(sign, '"' | '\'' | '\\');
    let escaped = (!is_plain).then(|| sign.escape_debug());
    is_plain.then_some(sign).into_iter().chain(escaped.into_iter().flatten())
}

/// Names as an error lists them.
pub(crate) fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let all = names.len();
    let mut quoted: Vec<String> = names.take(MOST).map(|name| format!("`{}`", shown(name))).collect();
    if all > MOST {
        quoted.push(format!("… ({} in all)", samples::units::count(all as u64)));
    }
    quoted.join(", ")
}

/// Refuses conditions and columns of a file that has no columns.
pub(crate) fn refuse_columns(wanted: &Wanted, name: &str) -> Result<(), Error> {
    let what = match (wanted.filters.is_empty() && wanted.beside.is_none(), wanted.dates) {
        (true, false) => return Ok(()),
        (true, true) => "it has no column of dates",
        (false, _) => "it has no columns, which --where and --by choose by",
    };
    Err(Error::Table { name: name.into(), what: what.into() })
}
