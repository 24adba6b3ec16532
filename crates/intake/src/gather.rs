//! Gathers the rows of a file: the values of one series, how many were left out and why.

use std::collections::HashMap;

use crate::error::{LineError, listed, shown};
use crate::lines::finite;
use crate::row::{Fate, Row};
use crate::value::Value;
use crate::{Filter, Unit, Wanted};

/// Most values that are taken: 2 GiB of them.
const MOST_VALUES: usize = 1 << 28;

/// Most series whose names are kept for an error.
const MOST_SERIES: usize = 1 << 16;

/// What was taken of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// In the order of the file, in [`Taken::unit`].
    pub values: Vec<f64>,
    /// The unit, where the values, the header or the format say it.
    pub unit: Option<Unit>,
    /// The column or series; empty where a file has one only.
    pub series: String,
    /// The format, where it is one that has a name.
    pub format: Option<&'static str>,
    /// The texts of [`Wanted::beside`], one for each value.
    pub beside: Vec<String>,
    /// Rows that the file has.
    pub rows: u64,
    /// One line that says what was taken, and what was left out; none where a file holds plain numbers and all were.
    pub told: Option<String>,
    /// Of values that a condition about themselves left out: what that means for their tail.
    pub cut: Option<String>,
}

/// Gathers rows.
pub(crate) struct Gather<'w> {
    wanted: &'w Wanted,
    default: Option<&'static str>,
    /// Whether `--column` names a series of the format.
    by_series: bool,
    names: HashMap<String, usize>,
    order: Vec<String>,
    chosen: Option<String>,
    taken: Taken,
    others: u64,
    failed: u64,
    missing: u64,
    filtered: u64,
    /// Units that are no times.
    pub other_unit: Option<&'static str>,
    pub note: Option<String>,
    /// What is taken is told, though it is plain.
    pub is_told: bool,
}

impl<'w> Gather<'w> {
    pub fn new(wanted: &'w Wanted, by_series: bool, default: Option<&'static str>) -> Self {
        Gather {
            wanted,
            default,
            by_series,
            names: HashMap::new(),
            order: Vec::new(),
            chosen: wanted.column.clone().filter(|_| by_series),
            taken: Taken::default(),
            others: 0,
            failed: 0,
            missing: 0,
            filtered: 0,
            other_unit: None,
            note: None,
            is_told: false,
        }
    }

    /// Rows that came.
    pub fn rows(&self) -> u64 {
        self.taken.rows
    }

    /// Says so with what was taken.
    pub fn also(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.note = Some(match self.note.take() {
            Some(note) => format!("{note}; {what}"),
            None => what,
        });
    }

    /// Whether no row came.
    pub fn is_empty(&self) -> bool {
        self.taken.rows == 0
    }

    /// One more row.
    pub fn push(&mut self, row: &Row) -> Result<(), LineError> {
        self.taken.rows += 1;
        if row.fate == Fate::Broken {
            return finite(row).map(|_| ());
        }
        if self.by_series && !self.is_chosen(row.series)? {
            self.others += 1;
            return Ok(());
        }
        match row.fate {
            Fate::Failed => self.failed += 1,
            Fate::Filtered => self.filtered += 1,
            Fate::Taken if row.value == Value::Missing && self.wanted.drop_missing => self.missing += 1,
            Fate::Broken => {}
            Fate::Taken => self.take(row)?,
        }
        Ok(())
    }

    /// Whether rows may be numbers of one series, with nothing beside them.
    pub fn takes_plain(&self) -> bool {
        !self.by_series && self.wanted.beside.is_none() && !self.wanted.dates && !self.taken.values.is_empty()
    }

    /// One more row, of a finite number in the unit of those before it; whether it was taken.
    pub fn push_plain(&mut self, number: f64, unit: Option<Unit>) -> bool {
        let is_taken = self.taken.unit == unit && self.taken.values.len() < MOST_VALUES;
        if is_taken {
            self.taken.rows += 1;
            self.taken.values.push(number);
        }
        is_taken
    }

    fn is_chosen(&mut self, series: &str) -> Result<bool, LineError> {
        if !self.names.contains_key(series) {
            if self.order.len() == MOST_SERIES {
                return Err(LineError::Layout("it holds too many series".into()));
            }
            self.names.insert(series.into(), self.order.len());
            self.order.push(series.into());
        }
        let chosen = self.chosen.get_or_insert_with(|| self.default.unwrap_or(series).into());
        Ok(chosen == series)
    }

    fn take(&mut self, row: &Row) -> Result<(), LineError> {
        let (number, unit) = finite(row)?;
        let number = match (self.taken.values.is_empty(), self.taken.unit, unit) {
            (true, _, unit) => {
                self.taken.unit = unit;
                number
            }
            (_, Some(known), Some(unit)) if known != unit => number * (unit.seconds() / known.seconds()),
            (_, known, unit) if known == unit => number,
            (_, known, unit) => {
                let symbol = |unit: Option<Unit>| unit.map_or("no unit", Unit::symbol);
                let what = format!("is in {}, where values before it have {}", symbol(unit), symbol(known));
                return Err(LineError::Value { text: shown(row.text), what });
            }
        };
        if !number.is_finite() {
            return Err(LineError::Value { text: shown(row.text), what: "is too large for a double".into() });
        }
        if self.taken.values.len() == MOST_VALUES {
            return Err(LineError::Layout(
                "it holds more values than fit into memory: take a part of it".into(),
            ));
        }
        self.taken.values.push(number);
        if self.wanted.beside.is_some() || self.wanted.dates {
            self.taken.beside.push(row.beside.into());
        }
        Ok(())
    }

    /// All that was gathered; an error says what the file has where it is not clear what was wanted.
    pub fn finish(mut self, format: Option<&'static str>, column: &str) -> Result<Taken, String> {
        let all = || listed(self.order.iter().map(String::as_str));
        let is_open = self.by_series && self.wanted.column.is_none() && self.order.len() > 1;
        if is_open && self.default.is_none_or(|default| !self.names.contains_key(default)) {
            return Err(format!(
                "{} holds several series: choose one with --column: {}",
                known(format),
                all()
            ));
        }
        if let Some(wanted) = self.wanted.column.as_ref().filter(|_| self.by_series)
            && !self.names.contains_key(wanted)
            && !self.order.is_empty()
        {
            return Err(format!("it has no series `{wanted}`; it has {}", all()));
        }
        if self.taken.values.is_empty() {
            return Err(match self.left_out().as_str() {
                "" => "it holds no numbers".into(),
                why => format!("no row is left ({why})"),
            });
        }
        if let Some(note) = sentinel(&self.taken.values) {
            self.also(note);
        }
        self.taken.format = format;
        self.taken.series = self.chosen.clone().filter(|_| self.by_series).unwrap_or_else(|| column.into());
        self.taken.told = self.told();
        self.taken.cut = self.cut();
        Ok(self.taken)
    }

    /// A sample that ends where its user cut it has no tail that could be judged.
    fn cut(&self) -> Option<String> {
        let is_cut = |filter: &&Filter| filter.how.has_upper_end() && filter.column == self.taken.series;
        let filter = self.wanted.filters.iter().filter(|_| self.filtered > 0).find(is_cut)?;
        let left_out = samples::units::count(self.filtered);
        let (column, sign, value) = (&filter.column, filter.how.sign(), &filter.value);
        Some(format!(
            "--where {column}{sign}{value} cut {left_out} values off: how rare slow ones are cannot be told from the rest"
        ))
    }

    fn left_out(&self) -> String {
        let count = samples::units::count;
        let mut parts = Vec::new();
        if let Some(note) = &self.note {
            parts.push(note.clone());
        }
        match self.order.len().saturating_sub(1) {
            0 => {}
            1 => parts.push("1 other series".into()),
            others => parts.push(format!("{} other series", count(others as u64))),
        }
        if self.filtered > 0 {
            parts.push(format!("{} left out by --where", count(self.filtered)));
        }
        if self.failed > 0 {
            parts.push(format!("{} failed left out: --failed keeps them", count(self.failed)));
        }
        if self.missing > 0 {
            parts.push(format!("{} without a value left out", count(self.missing)));
        }
        parts.join("; ")
    }

    fn told(&self) -> Option<String> {
        let left_out = self.left_out();
        let taken = &self.taken;
        if taken.format.is_none() && taken.unit.is_none() && left_out.is_empty() && !self.is_told {
            return None;
        }
        let count = samples::units::count;
        let unit = taken.unit.map(Unit::symbol).or(self.other_unit);
        let n = taken.values.len() as u64;
        let mut text = known(taken.format).to_owned();
        let name = if taken.series.is_empty() { "values" } else { &taken.series };
        text += &format!(": {}", shown(name));
        if let Some(unit) = unit {
            text += &format!(" in {unit}");
        }
        let rows = if taken.rows == 1 { "row" } else { "rows" };
        text += &match n == taken.rows {
            true => format!(", {} {rows}", count(n)),
            false => format!(", {} of {} {rows}", count(n), count(taken.rows)),
        };
        if !left_out.is_empty() {
            text += &format!(" ({left_out})");
        }
        Some(text)
    }
}

/// What tools write where there is no value.
const SENTINELS: [f64; 12] = [
    -1.0,
    -9.0,
    -99.0,
    -999.0,
    -9999.0,
    -99_999.0,
    999.0,
    9999.0,
    99_999.0,
    999_999.0,
    -32_768.0,
    -2_147_483_648.0,
];

/// What may be meant as no value: one of those numbers, several times, and far from all others.
fn sentinel(values: &[f64]) -> Option<String> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [low, high].into_iter().find_map(|end| {
        if !SENTINELS.contains(&end) {
            return None;
        }
        let others = || values.iter().copied().filter(|value| *value != end);
        let (least, most) =
            (others().fold(f64::INFINITY, f64::min), others().fold(f64::NEG_INFINITY, f64::max));
        let times = values.len() - others().count();
        let gap = if end == low { least - end } else { end - most };
        // Durations are not below 0; else the gap is wider than all others together.
        let is_far = (end < 0.0 && least >= 0.0) || gap > 2.0 * (most - least);
        let is_doubtful = times > 1 && 2 * times < values.len() && is_far;
        is_doubtful.then(|| {
            format!("{times} values are {end}: does that mean none? `--where COLUMN!={end}` leaves them out")
        })
    })
}

fn known(format: Option<&'static str>) -> &'static str {
    format.unwrap_or("table")
}
