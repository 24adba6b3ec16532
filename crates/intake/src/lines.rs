//! Reads a text a line at a time, for instance while it grows.

use crate::error::{LineError, listed, shown};
use crate::format::{Bins, Format, LineTake, Mark, Sections, Take};
use crate::formats;
use crate::pairs;
use crate::row::{Fate, Row};
use crate::split::is_rule;
use crate::table::Table;
use crate::value::{self, Value};
use crate::wanted::Wanted;

/// How the lines are read, once the first of them were seen.
#[derive(Clone, Debug)]
pub(crate) enum Layout {
    Unknown,
    Table(Box<Table>),
    /// Lines that name their numbers: the wanted name.
    Pairs(String),
    Text(&'static Format, LineTake),
    /// Lines that are read together, from the first to the last.
    Sections(&'static Format, Sections),
    Bins(&'static Format, Bins),
}

/// The rows of a text, line by line.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    wanted: Wanted,
    file: String,
    pub layout: Layout,
    skip: usize,
}

const NOT_NAMED: &str = "does not name the number that is wanted";

/// The line without what surrounds it; none of one that says nothing.
pub(crate) fn content(line: &str) -> Option<&str> {
    indented(line).map(|line| line.trim_start_matches(' '))
}

/// As [`content`], with the blanks before it, by which columns may have their places.
fn indented(line: &str) -> Option<&str> {
    // A blank field at the end of a line is one.
    let line = line.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r']).trim_end_matches(' ');
    let text = line.trim_start_matches(' ');
    (!text.trim().is_empty() && !text.starts_with('#') && !is_rule(text)).then_some(line)
}

impl Lines {
    /// Nothing read yet; `file` is the name of the file.
    pub fn new(wanted: &Wanted, file: &str) -> Self {
        Lines { wanted: wanted.clone(), file: file.into(), layout: Layout::Unknown, skip: wanted.skip }
    }

    /// Learns from the first lines how all are read.
    pub fn learn(&mut self, head: &[&str]) -> Result<(), LineError> {
        let head: Vec<&str> = head.iter().skip(self.skip).filter_map(|line| indented(line)).collect();
        let Some((first, rest)) = head.split_first() else { return Ok(()) };
        self.layout = self.layout_of(first, rest)?;
        Ok(())
    }

    fn layout_of(&self, first: &str, rest: &[&str]) -> Result<Layout, LineError> {
        let lines = std::iter::once(first).chain(rest.iter().copied());
        let lines: Vec<&str> = lines.map(|line| line.trim_start_matches(' ')).collect();
        let is = |format: &&Format| matches!(format.mark, Mark::Lines(is) if is(&lines, &self.file));
        match formats::all().find(is) {
            Some(Format { take: Take::Refused(why), name, .. }) => {
                return Err(LineError::Refused(format!("{name}: {why}")));
            }
            Some(format) => match &format.take {
                Take::Lines(take) => return Ok(Layout::Text(format, *take)),
                Take::Sections(take) => return Ok(Layout::Sections(format, *take)),
                Take::Bins(take) => return Ok(Layout::Bins(format, *take)),
                _ => {}
            },
            None => {}
        }
        if let Some(pairs) = pairs::of(lines[0]) {
            let found = pairs::choose(&pairs, self.wanted.column.as_deref()).map_err(LineError::Layout)?;
            return Ok(Layout::Pairs(found));
        }
        Table::of(first, rest, &self.wanted).map(|table| Layout::Table(Box::new(table)))
    }

    /// The row of the next line; none where it is blank, a comment, or the header.
    pub fn row<'a>(&'a mut self, line: &'a str) -> Result<Option<Row<'a>>, LineError> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(None);
        }
        let Some(whole) = indented(line) else { return Ok(None) };
        let line = whole.trim_start_matches(' ');
        if matches!(self.layout, Layout::Unknown) {
            self.layout = self.layout_of(whole, &[])?;
        }
        match &mut self.layout {
            Layout::Unknown => Ok(None),
            Layout::Sections(format, _) | Layout::Bins(format, _) => Err(LineError::Refused(format!(
                "{}, which is read as a whole: give the finished file to `lastrank fit`",
                format.name
            ))),
            Layout::Table(table) => table.row(whole),
            Layout::Text(_, LineTake { read, .. }) => Ok(read(line, &self.file).map(|mut row| {
                if self.wanted.failed && row.fate == Fate::Failed {
                    row.fate = Fate::Taken;
                }
                row
            })),
            Layout::Pairs(name) => {
                let pairs = pairs::of(line).unwrap_or_default();
                let named =
                    |name: &str| pairs.iter().find(|(found, _)| *found == name).map(|(_, text)| *text);
                let beside = self.wanted.beside.as_deref().map_or(Some(""), named);
                let (Some(text), Some(beside)) = (named(name), beside) else {
                    return Err(LineError::Value { text: shown(line), what: NOT_NAMED.into() });
                };
                Ok(Some(Row { text, beside, value: value::read(text, '.'), ..Row::number("", 0.0, None) }))
            }
        }
    }

    /// The series that is taken where none is asked for.
    pub fn default_series(&self) -> Option<&'static str> {
        match &self.layout {
            Layout::Table(table) => match table.format.map(|format| &format.take) {
                Some(Take::Column(column)) => column.default,
                _ => None,
            },
            _ => None,
        }
    }

    pub fn format(&self) -> Option<&'static Format> {
        match &self.layout {
            Layout::Table(table) => table.format,
            Layout::Text(format, _) | Layout::Sections(format, _) | Layout::Bins(format, _) => Some(format),
            _ => None,
        }
    }
}

/// Reads numbers a line at a time, for instance while a file grows: the first line that is neither blank nor a comment
/// decides how the lines are split, unless [`NumberLines::learn`] saw more of them.
///
/// ```
/// use intake::{NumberLines, Wanted};
/// let mut lines = NumberLines::new(&Wanted::column(Some("write_s")), "log.csv");
/// assert_eq!(lines.number("node,write_s").unwrap(), None);
/// assert_eq!(lines.number("a,1.5").unwrap(), Some(1.5));
/// assert!(lines.number("b,slow").is_err());
/// assert_eq!(lines.number("c,2.5").unwrap(), Some(2.5));
/// ```
#[derive(Clone, Debug)]
pub struct NumberLines {
    lines: Lines,
    header: Option<String>,
    unit: Option<crate::Unit>,
    /// The series that is taken, once a row showed it.
    series: Option<String>,
    /// Whether a number was given, after which it can be told what is taken.
    is_begun: bool,
    is_told: bool,
}

impl NumberLines {
    /// Nothing read yet; `file` is the name of what is read.
    pub fn new(wanted: &Wanted, file: &str) -> Self {
        Self {
            lines: Lines::new(wanted, file),
            header: None,
            unit: None,
            series: None,
            is_begun: false,
            is_told: false,
        }
    }

    /// Learns from the first lines of a file how all are read; they are given again to [`NumberLines::number`].
    ///
    /// # Errors
    /// A [`LineError`] where they leave open what is wanted.
    pub fn learn(&mut self, head: &[&str]) -> Result<(), LineError> {
        self.lines.learn(head)
    }

    /// The number of the next line; none where it is blank, a comment, the header, or of another series. The first one
    /// settles the unit of all.
    ///
    /// # Errors
    /// A [`LineError`]; the next line can be read nevertheless.
    pub fn number(&mut self, line: &str) -> Result<Option<f64>, LineError> {
        let had_header = self.header.is_some();
        let wanted = self.lines.wanted.column.clone();
        let drop_missing = self.lines.wanted.drop_missing;
        let default = self.lines.default_series();
        let Some(row) = self.lines.row(line)? else {
            let is_header = matches!(&self.lines.layout, Layout::Table(table) if !table.name.is_empty());
            if is_header && !had_header && content(line).is_some() {
                self.header = Some(line.trim().into());
            }
            return Ok(None);
        };
        if row.fate == Fate::Broken {
            return finite(&row).map(|_| None);
        }
        if !row.series.is_empty() {
            match wanted.as_deref().or(default) {
                Some(wanted) if wanted != row.series => return Ok(None),
                Some(_) => {}
                None if self.series.as_deref().is_some_and(|series| series != row.series) => {
                    let series = self.series.as_deref().unwrap_or_default();
                    return Err(LineError::Layout(format!(
                        "it holds several series: choose one of them: {}",
                        listed([series, row.series].into_iter())
                    )));
                }
                None => {}
            }
            if self.series.is_none() {
                self.series = Some(row.series.into());
            }
        }
        if row.fate != Fate::Taken || (drop_missing && row.value == Value::Missing) {
            return Ok(None);
        }
        let (number, unit) = finite(&row)?;
        self.is_begun = true;
        match (self.unit, unit) {
            (Some(known), Some(unit)) => Ok(Some(number * (unit.seconds() / known.seconds()))),
            (Some(known), None) => Err(LineError::Value {
                text: shown(row.text),
                what: format!("has no unit, where values before it are in {}", known.symbol()),
            }),
            (None, _) => {
                self.unit = unit;
                Ok(Some(number))
            }
        }
    }

    /// What is taken of a file of another tool: once, after the first number of it.
    pub fn took(&mut self) -> Option<String> {
        if !self.is_begun || std::mem::replace(&mut self.is_told, true) {
            return None;
        }
        let column = match &self.lines.layout {
            Layout::Table(table) => table.name.as_str(),
            _ => "",
        };
        let format = self.lines.format().map(|format| format.name);
        let series = self.series.as_deref().unwrap_or(column);
        let series = if series.is_empty() { "values".into() } else { shown(series) };
        let unit = self.unit.map_or(String::new(), |unit| format!(" in {}", unit.symbol()));
        let is_plain = format.is_none() && unit.is_empty();
        (!is_plain).then(|| format!("{}: {series}{unit}", format.unwrap_or("table")))
    }

    /// Whether a line has shown how the lines are split.
    pub fn is_ready(&self) -> bool {
        !matches!(self.lines.layout, Layout::Unknown)
    }

    /// The line that was taken for a header, where there was one.
    pub fn header(&self) -> Option<&str> {
        self.header.as_deref()
    }

    /// The unit of the numbers, where the values, the header or the format say it.
    pub fn unit(&self) -> Option<crate::Unit> {
        self.unit
    }
}

/// The number of a row and its unit.
pub(crate) fn finite(row: &Row) -> Result<(f64, Option<crate::Unit>), LineError> {
    let wrong = |what: &str| LineError::Value { text: shown(row.text), what: what.into() };
    match row.value {
        Value::Number(number, own) => Ok((number, own.or(row.unit))),
        Value::Missing if row.text.is_empty() => {
            Err(wrong("is empty where a number is expected (--missing drop leaves such rows out)"))
        }
        Value::Missing => Err(wrong("is a missing value: --missing drop leaves such rows out")),
        Value::Wrong(what) => Err(wrong(what)),
    }
}
