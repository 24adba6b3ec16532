//! Reads numbers from text: one a line, or a column of a CSV table.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::{Error, pairs};

/// The numbers of a text file: see [`numbers_from`].
///
/// # Errors
/// As [`numbers_from`], and [`Error::Io`].
pub fn numbers(path: &Path, column: Option<&str>) -> Result<Vec<f64>, Error> {
    let file = std::fs::File::open(path).map_err(|cause| Error::io("read", path, cause))?;
    numbers_from(BufReader::new(file), &path.display().to_string(), column)
}

/// The numbers of a text: one a line, or one column of a table with a header.
///
/// Blank lines and lines that begin with `#` are skipped. A table has commas, semicolons or tabs
/// between its fields (quotes `"…"` are understood); its first line names the columns, and
/// `column` is such a name or a position from 1. It may be left out where there is one column only.
/// `name` is what errors call the text.
///
/// # Errors
/// [`Error::Value`] names line and value of anything that is not a finite number;
/// [`Error::Table`] lists the columns where the choice is unclear, and says where nothing was found.
///
/// ```
/// let text = "node,write_s\na,1.5\nb,2.25\n";
/// assert_eq!(store::numbers_from(text.as_bytes(), "t.csv", Some("write_s")).unwrap(), [1.5, 2.25]);
/// ```
pub fn numbers_from(reader: impl BufRead, name: &str, column: Option<&str>) -> Result<Vec<f64>, Error> {
    let table = |what: String| Error::Table { name: name.into(), what };
    let mut values = Vec::new();
    let mut lines = NumberLines::new(column);
    for (index, line) in bounded_lines(reader).enumerate() {
        let line = line.map_err(|cause| match cause.kind() {
            std::io::ErrorKind::FileTooLarge => table(format!(
                "line {} is longer than a MiB; one number a line is expected, or a table",
                index + 1
            )),
            std::io::ErrorKind::InvalidData => table(format!("line {} is not text (UTF-8)", index + 1)),
            _ => Error::io("read", Path::new(name), cause),
        })?;
        match lines.number(&line) {
            Ok(number) => values.extend(number),
            Err(LineError::Layout(what)) => return Err(table(what)),
            Err(error @ LineError::Fields { .. }) => {
                return Err(table(format!("line {} {error}", index + 1)));
            }
            Err(LineError::Value { text, what }) => {
                return Err(Error::Value { name: name.into(), line: index + 1, value: text, what });
            }
        }
    }
    if values.is_empty() {
        return Err(table("it holds no numbers".into()));
    }
    Ok(values)
}

/// The texts of one column of a table with a header, one for each row; see [`numbers_from`] for what a table is.
///
/// # Errors
/// [`Error::Io`], and [`Error::Table`] where the file is no table or has no such column.
pub fn texts(path: &Path, column: &str) -> Result<Vec<String>, Error> {
    let file = std::fs::File::open(path).map_err(|cause| Error::io("read", path, cause))?;
    let table = |what: String| Error::Table { name: path.display().to_string(), what };
    let mut lines = NumberLines::new(Some(column));
    let mut found = Vec::new();
    for (index, line) in bounded_lines(BufReader::new(file)).enumerate() {
        let line = line.map_err(|cause| Error::io("read", path, cause))?;
        match lines.field(&line) {
            Ok(text) => found.extend(text),
            Err(LineError::Layout(what)) => return Err(table(what)),
            Err(error) => return Err(table(format!("line {} {error}", index + 1))),
        }
    }
    Ok(found)
}

/// Bytes of the longest line; `/dev/zero` has one without end.
const LONGEST_LINE: u64 = 1 << 20;

fn bounded_lines(mut reader: impl BufRead) -> impl Iterator<Item = std::io::Result<String>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) if line.len() as u64 > LONGEST_LINE => Some(Err(std::io::ErrorKind::FileTooLarge.into())),
            Ok(_) => Some(String::from_utf8(line).map_err(|_| std::io::ErrorKind::InvalidData.into())),
            Err(error) => Some(Err(error)),
        }
    })
}

/// Reads a text of numbers a line at a time, for instance while it grows: the first line that is neither
/// blank nor a comment decides how the lines are split, as for [`numbers_from`].
///
/// ```
/// let mut lines = store::NumberLines::new(Some("write_s"));
/// assert_eq!(lines.number("node,write_s").unwrap(), None);
/// assert_eq!(lines.number("a,1.5").unwrap(), Some(1.5));
/// assert!(lines.number("b,slow").is_err());
/// assert_eq!(lines.number("c,2.5").unwrap(), Some(2.5));
/// ```
#[derive(Clone, Debug)]
pub struct NumberLines {
    column: Option<String>,
    layout: Option<LineLayout>,
    /// Where lines name their numbers: the name that is wanted.
    named: Option<String>,
    header: Option<String>,
}

/// What is wrong with one line of numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The first line leaves open which column is meant.
    #[error("{0}")]
    Layout(String),
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
        what: &'static str,
    },
}

impl NumberLines {
    /// Nothing read yet; `column` is a name of the header or a position from 1.
    pub fn new(column: Option<&str>) -> Self {
        Self { column: column.map(Into::into), layout: None, named: None, header: None }
    }

    /// The number of the next line; none where it is blank, a comment, or the header.
    ///
    /// # Errors
    /// A [`LineError`]; the next line can be read nevertheless.
    pub fn number(&mut self, line: &str) -> Result<Option<f64>, LineError> {
        let Some(text) = self.field(line)? else { return Ok(None) };
        number(&text).map(Some).map_err(|what| LineError::Value { text: shown(&text), what })
    }

    /// The field of the next line as text; none where it is blank, a comment, or the header.
    ///
    /// # Errors
    /// A [`LineError`] other than [`LineError::Value`]; the next line can be read nevertheless.
    pub fn field(&mut self, line: &str) -> Result<Option<String>, LineError> {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        if self.layout.is_none()
            && let Some(pairs) = pairs::of(line)
        {
            if self.named.is_none() {
                let found = pairs::choose(&pairs, self.column.as_deref()).map_err(LineError::Layout)?;
                self.named = Some(found);
            }
            return match pairs.iter().find(|(name, _)| Some(*name) == self.named.as_deref()) {
                Some((_, number)) => Ok(Some((*number).to_owned())),
                None => Err(LineError::Value { text: shown(line), what: NOT_NAMED }),
            };
        }
        if self.named.is_some() {
            return Err(LineError::Value { text: shown(line), what: NOT_NAMED });
        }
        let layout = match &self.layout {
            Some(layout) => layout,
            None => {
                let (found, is_header) =
                    LineLayout::of(line, self.column.as_deref()).map_err(LineError::Layout)?;
                let found = self.layout.insert(found);
                if is_header {
                    self.header = Some(line.into());
                    return Ok(None);
                }
                found
            }
        };
        let mut fields = fields(line, layout.separator);
        let found = fields.len();
        if found != layout.fields {
            return Err(LineError::Fields { found, expected: layout.fields, line: shown(line) });
        }
        Ok(Some(fields.swap_remove(layout.column)))
    }

    /// Whether a line has shown how the lines are split.
    pub fn is_ready(&self) -> bool {
        self.layout.is_some() || self.named.is_some()
    }

    /// The line that was taken for a header, where there was one.
    pub fn header(&self) -> Option<&str> {
        self.header.as_deref()
    }
}

const NOT_NAMED: &str = "does not name the number that is wanted";

fn number(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(value) if value.is_nan() => {
            Err("is a missing value; remove such lines, or say how they came about")
        }
        Ok(value) if value.is_infinite() => Err("is infinite (or too large for a double)"),
        Ok(value) => Ok(value),
        Err(_) if text.is_empty() => Err("is empty where a number is expected"),
        Err(_) if has_decimal_comma(text) => {
            Err("has a comma in it: write decimals with a point, and groups of digits without a mark")
        }
        Err(_) => Err("is not a number"),
    }
}

/// Whether it would be a number with a point, or nothing, for each comma.
fn has_decimal_comma(text: &str) -> bool {
    text.contains(',') && text.replace(',', "").parse::<f64>().is_ok_and(f64::is_finite)
}

/// Columns that an error lists.
const MOST_LISTED: usize = 20;

/// Text of a file as an error shows it: one short line without control characters.
fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if text.chars().count() > LONGEST {
        short.push('…');
    }
    short
}

/// How the lines of a text are split, and which field is wanted.
#[derive(Clone, Debug)]
struct LineLayout {
    separator: Option<char>,
    fields: usize,
    column: usize,
}

impl LineLayout {
    /// Layout as the first line shows it, and whether that line is a header.
    fn of(line: &str, wanted: Option<&str>) -> Result<(Self, bool), String> {
        // A comma may be the decimal one where something else separates.
        let separator = ['\t', ';', ','].into_iter().find(|&c| fields(line, Some(c)).len() > 1);
        let names = fields(line, separator);
        let listed = || {
            let mut quoted: Vec<_> =
                names.iter().take(MOST_LISTED).map(|name| format!("`{}`", shown(name))).collect();
            if names.len() > MOST_LISTED {
                quoted.push(format!("… ({} in all)", names.len()));
            }
            quoted.join(", ")
        };
        // `10,5` alone on a line is one number of half the world, and two columns of the other half.
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let signed = |text: &str| digits(text.trim_start_matches(['+', '-']));
        if separator == Some(',')
            && names.len() == 2
            && !line.contains(", ")
            && signed(&names[0])
            && digits(&names[1])
        {
            return Err(format!(
                "`{}` may be one number with a decimal comma or two columns: write decimals with a point, or give the \
                 columns a header line (or a blank after each comma)",
                shown(line)
            ));
        }
        let all_numbers = names.iter().all(|name| name.parse::<f64>().is_ok());
        let position = |wanted: &str| {
            wanted.parse().ok().filter(|n| (1..=names.len()).contains(n)).map(|n: usize| n - 1)
        };
        // Only the wanted field tells a header from a first row: other fields may be host names.
        let by_its_field = |at: usize| (at, is_name(&names[at]));
        let (column, is_header) = match wanted {
            None if names.len() == 1 => by_its_field(0),
            None if all_numbers => {
                return Err(format!(
                    "it has {} columns and no header: choose one by position, from 1",
                    names.len()
                ));
            }
            None => return Err(format!("choose one of its columns: {}", listed())),
            Some(wanted) => match (position(wanted), names.iter().position(|name| name == wanted)) {
                (Some(at), _) => by_its_field(at),
                (None, Some(at)) if !all_numbers => (at, true),
                (None, _) if all_numbers => {
                    return Err(format!(
                        "it has no header, so `{wanted}` names nothing: choose a column by position, 1 to {}",
                        names.len()
                    ));
                }
                (None, _) => {
                    return Err(format!("it has no column `{wanted}`; its columns are {}", listed()));
                }
            },
        };
        Ok((Self { separator, fields: names.len(), column }, is_header))
    }
}

/// Whether this can be the name of a column: what begins as a number does is a number or a mistake.
fn is_name(text: &str) -> bool {
    let begins_as_number = text.trim_start_matches(['+', '-', '.']).starts_with(|c: char| c.is_ascii_digit());
    text.parse::<f64>().is_err() && !begins_as_number
}

/// The fields of a line, unquoted and trimmed.
///
/// Not the `csv` crate's reader: numbers are read a line at a time while a file grows, blanks may stand before a
/// quote, and the separator is found by trying.
fn fields(line: &str, separator: Option<char>) -> Vec<String> {
    let mut out = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' if quoted || field.trim().is_empty() => quoted = !quoted,
            c if Some(c) == separator && !quoted => out.push(std::mem::take(&mut field).trim().to_string()),
            c => field.push(c),
        }
    }
    out.push(field.trim().to_string());
    out
}
