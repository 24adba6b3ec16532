//! What the table of formats says of each: how it is recognised, where its values or bins are, in which unit, what failed.

use serde_json::Value;

use crate::Unit;
use crate::bins::{BinLines, Collected};
use crate::error::LineError;
use crate::row::{Push, Row, RowLines};
use crate::wanted::How;

/// A format.
#[derive(Debug)]
pub(crate) struct Format {
    /// What it is called.
    pub name: &'static str,
    /// How such a file is made.
    pub made_by: &'static str,
    pub(crate) mark: Mark,
    pub(crate) take: Take,
}

/// How a format is recognised.
#[derive(Debug)]
pub(crate) enum Mark {
    /// Columns that the header names.
    Columns(&'static [&'static str]),
    /// Paths that a JSON value has.
    Paths(&'static [&'static str]),
    /// By the first lines and the name of the file.
    Lines(fn(&[&str], &str) -> bool),
}

/// Where the values are.
#[derive(Debug)]
pub(crate) enum Take {
    Column(Column),
    Json(Json),
    Lines(LineTake),
    Sections(Sections),
    JsonRows(JsonRows),
    Bins(Bins),
    JsonBins(JsonBins),
    /// It holds no single values, or none that are read here: the way out.
    Refused(&'static str),
}

/// The values of a table with a header.
#[derive(Debug)]
pub(crate) struct Column {
    pub value: &'static str,
    /// The column that names the series.
    pub series: Option<&'static str>,
    pub default: Option<&'static str>,
    pub unit: UnitOf,
    /// What a row that failed has; the first whose column is there counts.
    pub failed: &'static [(&'static str, How, &'static str)],
}

/// The values of JSON. Keys are separated by points; arrays are gone through.
#[derive(Debug)]
pub(crate) struct Json {
    /// The items, each with its values.
    pub each: &'static str,
    /// Other items say nothing.
    pub only: Option<(&'static str, &'static str)>,
    /// Paths in an item whose texts name its series.
    pub series: &'static [&'static str],
    pub default: Option<&'static str>,
    pub values: &'static str,
    /// What each value is divided by.
    pub per: Option<&'static str>,
    pub unit: UnitOf,
    pub failed: Option<(&'static str, How, &'static str)>,
    /// What to do where an item of this format has no values.
    pub without: &'static str,
}

/// Lines of a text, each with a value or nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineTake {
    pub read: for<'a> fn(&'a str, &str) -> Option<Row<'a>>,
    /// What is taken, for the page.
    pub what: &'static str,
}

/// The unit of values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnitOf {
    Fixed(Unit),
    /// By the name of the series.
    Series(fn(&str) -> Option<Unit>),
    /// A field of the item names it.
    Field(&'static str),
    /// No time.
    Other(&'static str),
}

/// Lines of a text that say what they mean together: sections, headers, a begin and its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sections {
    pub make: fn() -> Box<dyn RowLines>,
    /// What is taken, for the page.
    pub what: &'static str,
    /// What is left out or meant, said with what was taken.
    pub note: Option<&'static str>,
    /// What to do where a file of this format has no values.
    pub without: &'static str,
}

/// Values of JSON that no path names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonRows {
    pub read: fn(&Value, &mut Push) -> Result<(), LineError>,
    pub what: &'static str,
    pub note: Option<&'static str>,
    pub without: &'static str,
}

/// Lines that count the values of bins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bins {
    pub make: fn() -> Box<dyn BinLines>,
    pub what: &'static str,
    /// What keeps the single values.
    pub out: &'static str,
}

/// JSON that counts the values of bins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonBins {
    pub read: fn(&Value, &mut Collected) -> Result<(), String>,
    pub what: &'static str,
    pub out: &'static str,
}

/// No values, for rows to begin with.
pub(crate) const NONE: Json = Json {
    each: "",
    only: None,
    series: &[],
    default: None,
    values: "",
    per: None,
    unit: UnitOf::Other("no unit"),
    failed: None,
    without: "this file holds no single values",
};
