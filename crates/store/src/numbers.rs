//! Which numbers stand in a text file: one a line, or a column of a CSV table?

use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::Error;

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
    let mut layout: Option<Layout> = None;
    for (index, line) in reader.lines().enumerate() {
        let line = line.map_err(|cause| match cause.kind() {
            std::io::ErrorKind::InvalidData => table(format!("line {} is not text (UTF-8)", index + 1)),
            _ => Error::io("read", Path::new(name), cause),
        })?;
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let layout = match &layout {
            Some(layout) => layout,
            None => {
                let (found, is_header) = Layout::of(line, column).map_err(table)?;
                let found = layout.insert(found);
                if is_header {
                    continue;
                }
                found
            }
        };
        let mut fields = fields(line, layout.separator);
        let count = fields.len();
        if count != layout.fields {
            return Err(table(format!(
                "line {} has {count} fields where the first has {}: `{line}`",
                index + 1,
                layout.fields
            )));
        }
        let text = fields.swap_remove(layout.column);
        values.push(number(&text).map_err(|what| Error::Value {
            name: name.into(),
            line: index + 1,
            value: text,
            what,
        })?);
    }
    if values.is_empty() {
        return Err(table("it holds no numbers".into()));
    }
    Ok(values)
}

fn number(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(value) if value.is_nan() => {
            Err("is a missing value; remove such lines, or say how they came about")
        }
        Ok(value) if value.is_infinite() => Err("is infinite (or too large for a double)"),
        Ok(value) => Ok(value),
        Err(_) if text.is_empty() => Err("is empty where a number is expected"),
        Err(_) => Err("is not a number"),
    }
}

/// How the lines of a text are split, and which field is wanted.
struct Layout {
    separator: Option<char>,
    fields: usize,
    column: usize,
}

impl Layout {
    /// Layout as the first line shows it, and whether that line is a header.
    fn of(line: &str, wanted: Option<&str>) -> Result<(Self, bool), String> {
        let separator = [',', ';', '\t'].into_iter().find(|&c| fields(line, Some(c)).len() > 1);
        let names = fields(line, separator);
        let is_header = names.iter().any(|name| name.parse::<f64>().is_err());
        let listed = || {
            let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            quoted.join(", ")
        };
        let position = |wanted: &str| {
            wanted.parse().ok().filter(|n| (1..=names.len()).contains(n)).map(|n: usize| n - 1)
        };
        let column = match wanted {
            None if names.len() == 1 => 0,
            None if is_header => return Err(format!("choose one of its columns: {}", listed())),
            None => {
                return Err(format!(
                    "it has {} columns and no header: choose one by position, from 1",
                    names.len()
                ));
            }
            Some(wanted) if is_header => names
                .iter()
                .position(|name| name == wanted)
                .or_else(|| position(wanted))
                .ok_or_else(|| format!("it has no column `{wanted}`; its columns are {}", listed()))?,
            Some(wanted) => position(wanted).ok_or_else(|| {
                format!(
                    "it has no header, so `{wanted}` names nothing: choose a column by position, 1 to {}",
                    names.len()
                )
            })?,
        };
        Ok((Self { separator, fields: names.len(), column }, is_header))
    }
}

/// The fields of a line, unquoted and trimmed.
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
