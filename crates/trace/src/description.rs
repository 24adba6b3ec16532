//! Descriptions of traces that are of no known format: which column, or group of a regular expression, is what.
//!
//! A description is a small text: `key = value` on each line, `#` begins a comment.

use std::collections::BTreeMap;

use regex_lite::Regex;

use crate::input::shown;
use crate::model::Op;

/// Why a description cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("description, line {line}: {what}")]
pub struct DescriptionError {
    /// The line, from 1; 0 of the description as a whole.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// How the fields of a line are found.
#[derive(Clone, Debug)]
enum Fields {
    /// Between separators; `None`: blanks.
    Columns(Option<char>, Vec<String>),
    /// By the named groups of a regular expression.
    Pattern(Regex),
}

/// What the lines of a trace mean.
#[derive(Clone, Debug)]
pub struct Description {
    fields: Fields,
    /// Lines at the head that are no calls.
    pub(crate) skip: u64,
    /// Nanoseconds of one unit of `time` and `duration`.
    pub(crate) units: [f64; 2],
    /// By what offsets and sizes are multiplied.
    pub(crate) block: u64,
    /// Operations by their words in the trace.
    pub(crate) words: BTreeMap<String, Meaning>,
    /// The file of lines that name none.
    pub(crate) path: String,
}

/// What a field may be.
const FIELDS: [&str; 8] = ["time", "duration", "thread", "operation", "path", "offset", "bytes", "other"];

/// What a word of a trace means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// One call.
    Call(Op),
    /// A write behind what the file holds.
    Append,
    /// What `path` holds is written to `other`.
    Copy,
}

/// The operations that a description can name.
const OPERATIONS: [(&str, Meaning); 16] = [
    ("read", Meaning::Call(Op::Read)),
    ("write", Meaning::Call(Op::Write)),
    ("append", Meaning::Append),
    ("open", Meaning::Call(Op::Open)),
    ("create", Meaning::Call(Op::Create)),
    ("close", Meaning::Call(Op::Close)),
    ("sync", Meaning::Call(Op::Sync)),
    ("truncate", Meaning::Call(Op::Truncate)),
    ("copy", Meaning::Copy),
    ("rename", Meaning::Call(Op::Rename)),
    ("stat", Meaning::Call(Op::Stat)),
    ("lookup", Meaning::Call(Op::Lookup)),
    ("unlink", Meaning::Call(Op::Unlink)),
    ("mkdir", Meaning::Call(Op::Mkdir)),
    ("rmdir", Meaning::Call(Op::Rmdir)),
    ("readdir", Meaning::Call(Op::Readdir)),
];

impl Description {
    /// Reads a description.
    ///
    /// # Errors
    /// The first line that is not understood.
    pub fn read(text: &str) -> Result<Self, DescriptionError> {
        let mut made = Self {
            fields: Fields::Columns(None, Vec::new()),
            skip: 0,
            units: [1e9, 1e9],
            block: 1,
            words: OPERATIONS.iter().map(|(word, meaning)| ((*word).to_owned(), *meaning)).collect(),
            path: "/trace".to_owned(),
        };
        let (mut separator, mut columns) = (None, Vec::new());
        let mut pattern = None;
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what: String| DescriptionError { line: at + 1, what };
            let (key, value) = line
                .split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()))
                .ok_or_else(|| wrong(format!("`{}` is not `key = value`", shown(line.as_bytes()))))?;
            match key {
                "separator" => separator = separated(value).map_err(wrong)?,
                "columns" => columns = value.split_whitespace().map(str::to_owned).collect(),
                "pattern" => pattern = Some(Regex::new(value).map_err(|error| wrong(error.to_string()))?),
                "skip" => {
                    made.skip =
                        value.parse().map_err(|_| wrong(format!("`{value}` is no number of lines")))?
                }
                "time_unit" => made.units[0] = unit(value).map_err(wrong)?,
                "duration_unit" => made.units[1] = unit(value).map_err(wrong)?,
                "block" => {
                    made.block =
                        value.parse().map_err(|_| wrong(format!("`{value}` is no number of bytes")))?;
                }
                "path" => made.path = value.to_owned(),
                key => {
                    let meaning =
                        OPERATIONS.iter().find(|(word, _)| *word == key).map(|(_, meaning)| *meaning);
                    let meaning =
                        meaning.ok_or_else(|| wrong(format!("`{key}` is no key of a description")))?;
                    made.words.extend(value.split_whitespace().map(|word| (word.to_lowercase(), meaning)));
                }
            }
        }
        let whole = |what: &str| DescriptionError { line: 0, what: what.to_owned() };
        made.fields = match pattern {
            Some(pattern) => Fields::Pattern(pattern),
            None if columns.is_empty() => return Err(whole("it needs `columns` or `pattern`")),
            None => Fields::Columns(separator, columns),
        };
        let names: Vec<&str> = match &made.fields {
            Fields::Columns(_, names) => {
                names.iter().map(String::as_str).filter(|name| *name != "-").collect()
            }
            Fields::Pattern(pattern) => pattern.capture_names().flatten().collect(),
        };
        if let Some(odd) = names.iter().find(|name| !FIELDS.contains(name)) {
            return Err(whole(&format!("`{odd}` is no field; fields are {}, and `-`", FIELDS.join(", "))));
        }
        match names.contains(&"operation") {
            true => Ok(made),
            false => Err(whole("no field is the operation")),
        }
    }

    /// The fields of a line, in the order of [`FIELDS`]; `None` where the line is of another kind.
    pub(crate) fn fields<'a>(&self, line: &'a str) -> Option<[Option<&'a str>; 8]> {
        let mut found = [None; 8];
        match &self.fields {
            Fields::Columns(separator, names) => {
                let values: Vec<&str> = match separator {
                    Some(separator) => line.split(*separator).map(str::trim).collect(),
                    None => line.split_whitespace().collect(),
                };
                if values.len() < names.len() {
                    return None;
                }
                for (name, value) in names.iter().zip(values) {
                    if let Some(at) = FIELDS.iter().position(|field| field == name) {
                        found[at] = Some(value.trim_matches('"'));
                    }
                }
            }
            Fields::Pattern(pattern) => {
                let captures = pattern.captures(line)?;
                for (at, field) in FIELDS.iter().enumerate() {
                    found[at] = captures.name(field).map(|group| group.as_str());
                }
            }
        }
        Some(found)
    }
}

fn separated(value: &str) -> Result<Option<char>, String> {
    match value {
        "blank" => Ok(None),
        "comma" => Ok(Some(',')),
        "tab" => Ok(Some('\t')),
        one if one.chars().count() == 1 => Ok(one.chars().next()),
        other => Err(format!("`{other}` is no separator: blank, comma, tab or one sign")),
    }
}

/// Nanoseconds of a unit of time.
fn unit(value: &str) -> Result<f64, String> {
    match value {
        "s" => Ok(1e9),
        "ms" => Ok(1e6),
        "us" => Ok(1e3),
        "100ns" => Ok(100.0),
        "ns" => Ok(1.0),
        other => Err(format!("`{other}` is no unit of time: s, ms, us, 100ns or ns")),
    }
}
