//! One row of a file, as every kind of reader gives it.

use crate::Unit;
use crate::error::LineError;
use crate::value::Value;

/// Whether a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Taken,
    /// Its format says that it failed.
    Failed,
    /// A condition of the user leaves it out.
    Filtered,
    /// Its line is no row, and of which series it was is not known: an error whatever was asked for.
    Broken,
}

/// A value, the series that it belongs to, and what else was asked of its row.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub series: &'a str,
    pub value: Value,
    /// The value as the file writes it.
    pub text: &'a str,
    /// As the format or the header says; a unit of the value itself comes before it.
    pub unit: Option<Unit>,
    pub beside: &'a str,
    pub fate: Fate,
    /// Its first field is a word for a sum: at the end of a table it is no row.
    pub sums_up: bool,
}

impl<'a> Row<'a> {
    pub fn number(series: &'a str, number: f64, unit: Option<Unit>) -> Self {
        Row {
            series,
            value: Value::Number(number, None),
            text: "",
            unit,
            beside: "",
            fate: Fate::Taken,
            sums_up: false,
        }
    }
}

/// Takes a row.
pub(crate) type Push<'p> = dyn FnMut(&Row) -> Result<(), LineError> + 'p;

/// Reads lines that say together what their values are.
pub(crate) trait RowLines {
    /// The next line, as it is.
    fn line(&mut self, line: &str, push: &mut Push) -> Result<(), LineError>;
}
