//! A table: which line is its header, which column is wanted, and its rows.

use crate::Unit;
use crate::error::{LineError, listed, shown};
use crate::format::{Column, Format, Mark, Take, UnitOf};
use crate::pairs::place;
use crate::row::{Fate, Row};
use crate::split::{Separator, Splitter, separator};
use crate::value::{self, Signs, Value};
use crate::wanted::{How, Wanted, compare};

/// Fewest lines below a first line of numbers that can show it to be a header.
const FEWEST_BELOW: usize = 3;

/// How the lines of a table are read.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub split: Splitter,
    pub fields: usize,
    pub value: usize,
    pub series: Option<usize>,
    pub beside: Option<usize>,
    pub conditions: Vec<(usize, How, String)>,
    pub failed: Option<(usize, How, &'static str)>,
    /// Its header is the next line.
    pub header_ahead: bool,
    /// A header of numbers, as a table of numbers writes it.
    pub doubtful_header: bool,
    /// No row was read yet.
    pub fresh: bool,
    /// The unit that the header, or a row of units, gives.
    pub unit: Option<Unit>,
    pub name: String,
    pub format: Option<&'static Format>,
    pub signs: Signs,
    /// Lines of a title that are still to come.
    pub titles_ahead: usize,
    /// Lines of a title above the table.
    pub titles: usize,
    /// The only column that holds numbers, which nobody asked for by name.
    pub is_alone: bool,
}

/// Most lines of a title above a table.
const MOST_TITLES: usize = 10;

/// Fewest lines of a table that show what is above it to be a title.
const FEWEST_BELOW_TITLES: usize = 3;

/// What the first field of a line is called that sums up the lines above it.
const SUMS: [&str; 14] = [
    "total",
    "totals",
    "grand total",
    "sum",
    "mean",
    "average",
    "avg",
    "median",
    "min",
    "max",
    "std",
    "stdev",
    "count",
    "summary",
];

/// How many lines above the table are its title: a table is even, with at least two columns.
fn titles(lines: &[&str], signs: Signs) -> usize {
    let count = |separator, line: &str| Splitter::new(separator).split(line);
    let is_table = |lines: &[&str]| {
        let separator = separator(lines[0], &lines[1..], signs, true);
        let columns = count(separator, lines[0]);
        let is_even = lines.iter().all(|line| count(separator, line) == columns);
        (matches!(separator, Separator::Sign(_)) && columns > 1 && is_even).then_some((separator, columns))
    };
    let most = lines.len().saturating_sub(FEWEST_BELOW_TITLES).min(MOST_TITLES);
    if most == 0 || is_table(lines).is_some() {
        return 0;
    }
    let is_above = |at: &usize| {
        is_table(&lines[*at..]).is_some_and(|(separator, columns)| {
            lines[..*at].iter().all(|line| count(separator, line) < columns)
        })
    };
    (1..=most).find(is_above).unwrap_or(0)
}

impl Table {
    /// The table that begins with these lines; of a stream there is the first one only.
    pub fn of(first: &str, rest: &[&str], wanted: &Wanted) -> Result<Table, LineError> {
        let lines: Vec<&str> = std::iter::once(first).chain(rest.iter().copied()).collect();
        let titles = titles(&lines, Signs::of(wanted));
        let table = Self::below_titles(lines[titles], &lines[titles + 1..], wanted)?;
        Ok(Table { titles, titles_ahead: titles, ..table })
    }

    fn below_titles(first: &str, rest: &[&str], wanted: &Wanted) -> Result<Table, LineError> {
        let column = wanted.column.as_deref();
        let separator = separator(first, rest, Signs::of(wanted), column.is_some());
        let lines: Vec<&str> = std::iter::once(first).chain(rest.iter().copied()).collect();
        let at_places = if separator == Separator::None { Splitter::at_places(&lines) } else { None };
        let mut split = at_places.unwrap_or_else(|| Splitter::new(separator));
        let names = split.fields(first);
        let below: Vec<Vec<String>> = rest.iter().map(|line| split.fields(line)).collect();
        let below = if below.first().is_some_and(|row| is_rdb(row)) { &below[1..] } else { &below[..] };
        let even = below.iter().all(|row| is_in_halves(row));
        if wanted.header.is_none()
            && separator == Separator::Sign(b',')
            && !first.contains(", ")
            && is_in_halves(&names)
            && even
        {
            return Err(LineError::Layout(format!(
                "`{}` may be one number with a decimal comma or two columns: --decimal , reads the one, --no-header (or a \
                 header line) the other",
                shown(first)
            )));
        }
        let heading = Heading { names: &names, below, signs: Signs::of(wanted) };
        let (has_header, doubtful_header) = match wanted.header {
            Some(header) => (header, false),
            None => heading.is_header(column),
        };
        let format = if has_header { format_of(&names, column) } else { None };
        if let Some(Format { take: Take::Refused(why), name, .. }) = format {
            return Err(LineError::Refused(format!("{name}: {why}")));
        }
        let at = |name: &str| find(&names, has_header, Some(name)).map_err(LineError::Layout);
        let row =
            format.and_then(|format| if let Take::Column(row) = &format.take { Some(row) } else { None });
        let alone = heading.only_numbers().filter(|_| column.is_none() && has_header && names.len() > 1);
        let value = match row {
            Some(row) => at(row.value)?,
            None => match alone {
                Some(at) => at,
                None if wanted.bare && !has_header && names.len() == 1 => 0,
                None => find(&names, has_header, column).map_err(LineError::Layout)?,
            },
        };
        let conditions =
            wanted.filters.iter().map(|filter| Ok((at(&filter.column)?, filter.how, filter.value.clone())));
        let marks = row.filter(|_| !wanted.failed).map_or(&[][..], |row: &Column| row.failed);
        let failed = marks.iter().find_map(|(name, how, value)| Some((at(name).ok()?, *how, *value)));
        Ok(Table {
            fields: names.len(),
            value,
            series: row.and_then(|row| row.series).map(at).transpose()?,
            beside: match (&wanted.beside, wanted.dates) {
                (Some(name), _) => Some(at(name)?),
                (None, true) => Some(heading.dates(value, has_header)?),
                (None, false) => None,
            },
            conditions: conditions.collect::<Result<_, LineError>>()?,
            failed,
            header_ahead: has_header,
            doubtful_header,
            fresh: true,
            unit: if has_header { Unit::of_name(&names[value]) } else { None },
            name: if has_header { names[value].clone() } else { String::new() },
            format,
            signs: Signs::of(wanted),
            titles_ahead: 0,
            titles: 0,
            is_alone: row.is_none() && alone.is_some(),
            split,
        })
    }

    /// Whether a column of its format names the series.
    pub fn has_series(&self) -> bool {
        self.series.is_some()
    }

    /// The row of a line; none of one that belongs to the header.
    pub fn row<'a>(&'a mut self, line: &'a str) -> Result<Option<Row<'a>>, LineError> {
        if self.titles_ahead > 0 {
            self.titles_ahead -= 1;
            return Ok(None);
        }
        if std::mem::take(&mut self.header_ahead) {
            return Ok(None);
        }
        let found = self.split.split(line);
        if found != self.fields {
            return Err(LineError::Fields { found, expected: self.fields, line: shown(line) });
        }
        if std::mem::take(&mut self.fresh) && self.is_of_header(line) {
            return Ok(None);
        }
        let get = |at: usize| self.split.get(line, at);
        let mut row = Row {
            series: self.series.map_or("", get),
            value: Value::Missing,
            text: get(self.value),
            unit: self.unit,
            beside: self.beside.map_or("", get),
            fate: Fate::Taken,
            sums_up: self.value > 0 && is_sum(get(0)),
        };
        if self.conditions.iter().any(|(at, how, value)| !compare(get(*at), *how, value)) {
            row.fate = Fate::Filtered;
        } else if self.failed.iter().any(|(at, how, value)| compare(get(*at), *how, value)) {
            row.fate = Fate::Failed;
        } else {
            row.value = value::read_with(row.text, self.signs);
        }
        if let Some(Format { take: Take::Column(Column { unit, .. }), .. }) = self.format {
            row.unit = unit.of_series(row.series);
        }
        Ok(Some(row))
    }

    /// A row of units or of widths below the names; the unit of the value is learnt from it.
    fn is_of_header(&mut self, line: &str) -> bool {
        let fields: Vec<&str> = (0..self.fields).map(|at| self.split.get(line, at)).collect();
        if self.name.is_empty() {
            return false;
        }
        let bare = fields[self.value].trim_matches(['(', ')', '[', ']']);
        let unit = Unit::of_word(bare);
        let is_row_of_widths = is_rdb(&fields);
        self.unit = unit.or(self.unit);
        unit.is_some() || is_row_of_widths
    }
}

/// Whether a field says that its line sums up others.
pub(crate) fn is_sum(field: &str) -> bool {
    let word = field.trim_end_matches([':', '.']);
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && SUMS.iter().any(|sum| word.eq_ignore_ascii_case(sum))
}

/// The row of widths and kinds below the header of an RDB table: `5s 15s 20d`.
fn is_rdb(fields: &[impl AsRef<str>]) -> bool {
    let is_width = |field: &str| {
        field
            .strip_suffix(['s', 'd', 'n'])
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    fields.len() > 1 && fields.iter().all(|field| is_width(field.as_ref()))
}

/// The format whose columns these are; none where a column of the table itself was asked for.
fn format_of(names: &[String], column: Option<&str>) -> Option<&'static Format> {
    let found = crate::formats::all().find(|format| match format.mark {
        Mark::Columns(marks) => marks.iter().all(|mark| names.iter().any(|name| name == mark)),
        _ => false,
    })?;
    let own = match found.take {
        Take::Column(Column { value, .. }) => Some(value),
        _ => None,
    };
    let another = column.is_some_and(|column| Some(column) != own && place_or_name(names, column));
    (!another).then_some(found)
}

fn place_or_name(names: &[String], column: &str) -> bool {
    names.iter().any(|name| name == column) || place(column, names.len()).is_some()
}

/// Whether the first line names the column, in letters.
fn named(names: &[String], wanted: Option<&str>) -> bool {
    wanted.is_some_and(|wanted| wanted.parse::<f64>().is_err() && names.iter().any(|name| name == wanted))
}

/// `10,5` alone on a line is one number of half the world, and two columns of the other half.
fn is_in_halves(fields: &[String]) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let [whole, fraction] = fields else { return false };
    digits(whole.trim_start_matches(['+', '-'])) && digits(fraction)
}

/// The column that is wanted: by name where there are names, else by place.
fn find(names: &[String], has_header: bool, wanted: Option<&str>) -> Result<usize, String> {
    let listed = || listed(names.iter().map(String::as_str));
    let count = names.len();
    let Some(wanted) = wanted else {
        return match (count, has_header) {
            (1, _) => Ok(0),
            (_, true) => Err(format!("choose one of its columns: {}", listed())),
            (_, false) => {
                Err(format!("it has {count} columns and no header: choose one by position, from 1"))
            }
        };
    };
    let mut by_name = (0..count).filter(|at| has_header && names[*at] == wanted);
    match (by_name.next(), by_name.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => {
            Err(format!("several of its columns are called `{wanted}`: choose one by place, such as #1"))
        }
        (None, _) => place(wanted, count).ok_or_else(|| match has_header {
            true => format!("it has no column `{wanted}`; its columns are {}", listed()),
            false if count == 1 => {
                format!("it has one column and no header, so `{wanted}` names nothing: leave --column out")
            }
            false => {
                format!(
                    "it has no header, so `{wanted}` names nothing: choose a column by position, 1 to {count}"
                )
            }
        }),
    }
}

/// The first line of a table, and fields of the lines below it.
struct Heading<'a> {
    names: &'a [String],
    below: &'a [Vec<String>],
    signs: Signs,
}

impl Heading<'_> {
    fn is_number(&self, text: &str) -> bool {
        matches!(value::read_with(text, self.signs), Value::Number(..))
    }

    /// Whether this can be the name of a column: what begins as a number does is a number or a mistake.
    fn is_name(&self, text: &str) -> bool {
        let begins_as_number =
            text.trim_start_matches(['+', '-', '.']).starts_with(|c: char| c.is_ascii_digit());
        let is_no_number =
            text.parse::<f64>().is_err() && matches!(value::read_with(text, self.signs), Value::Wrong(_));
        is_no_number && !begins_as_number
    }

    /// Whether the column holds numbers below the first line.
    fn has_numbers(&self, at: usize) -> bool {
        self.below.iter().any(|row| row.get(at).is_some_and(|field| self.is_number(field)))
    }

    /// The only column that holds numbers.
    fn only_numbers(&self) -> Option<usize> {
        let mut all = (0..self.names.len()).filter(|at| self.has_numbers(*at));
        all.next().filter(|_| all.next().is_none())
    }

    /// The only column of dates besides the values.
    fn dates(&self, value: usize, has_header: bool) -> Result<usize, LineError> {
        let is_date = |field: &str| field.trim().is_empty() || crate::days(field).is_some();
        let has_dates = |at: &usize| {
            let rows = self.below.iter().filter_map(|row| row.get(*at));
            let (mut some, mut all) = (false, true);
            for field in rows {
                some |= crate::days(field).is_some();
                all &= is_date(field);
            }
            some && all && *at != value
        };
        let all: Vec<usize> = (0..self.names.len()).filter(has_dates).collect();
        let names = |all: &[usize]| {
            let named = all.iter().map(|at| match has_header {
                true => self.names[*at].clone(),
                false => format!("#{}", at + 1),
            });
            let named: Vec<String> = named.collect();
            listed(named.iter().map(String::as_str))
        };
        match all[..] {
            [only] => Ok(only),
            [] => {
                let others: Vec<usize> = (0..self.names.len()).filter(|at| *at != value).collect();
                let more = match others.is_empty() {
                    true => String::new(),
                    false => format!("; --dates reads numbers since 1970 of one of {}", names(&others)),
                };
                Err(LineError::Layout(format!("it has no column of dates such as 2026-03-02 09:30:00{more}")))
            }
            _ => Err(LineError::Layout(format!(
                "it has several columns of dates: choose one with --dates: {}",
                names(&all)
            ))),
        }
    }

    /// Whether the first line names the columns, and whether that is in doubt.
    fn is_header(&self, wanted: Option<&str>) -> (bool, bool) {
        let names = self.names;
        if named(names, wanted) {
            return (true, false);
        }
        if self.below.is_empty() {
            return (self.alone(wanted), false);
        }
        let numbers: Vec<usize> = (0..names.len()).filter(|at| self.has_numbers(*at)).collect();
        if numbers.iter().any(|at| self.is_name(&names[*at])) {
            return (true, false);
        }
        if numbers.is_empty() {
            return (names.iter().any(|name| self.is_name(name)), false);
        }
        let doubtful = self.counts_columns(&numbers);
        (doubtful, doubtful)
    }

    /// Of a stream there is no second line yet. Only the wanted field tells a header from a first row: others may be
    /// names of hosts.
    fn alone(&self, wanted: Option<&str>) -> bool {
        let names = self.names;
        match wanted.and_then(|wanted| place(wanted, names.len())) {
            Some(at) => self.is_name(&names[at]),
            None => names.iter().any(|name| self.is_name(name)),
        }
    }

    /// Names as a table of numbers has them: `0`, `,0`, `1,2,4` above numbers that are all written with a fraction.
    fn counts_columns(&self, numbers: &[usize]) -> bool {
        let is_whole = |text: &str| (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let below = |at: usize| self.below.iter().filter_map(move |row| row.get(at));
        let counting: Vec<usize> = numbers.iter().copied().filter(|at| !self.names[*at].is_empty()).collect();
        let mut seen: Vec<&str> = counting.iter().map(|at| self.names[*at].as_str()).collect();
        let has_index = counting.len() < numbers.len();
        let enough = self.below.len() >= FEWEST_BELOW && (counting.len() > 1 || has_index || seen == ["0"]);
        let distinct = {
            seen.sort_unstable();
            seen.windows(2).all(|pair| pair[0] != pair[1])
        };
        enough
            && !counting.is_empty()
            && distinct
            && seen.iter().all(|name| is_whole(name))
            && counting.iter().all(|at| below(*at).all(|field| !is_whole(field)))
            && (has_index || numbers.len() == self.names.len())
    }
}

impl UnitOf {
    /// The unit of the values of a series.
    pub(crate) fn of_series(self, series: &str) -> Option<Unit> {
        match self {
            UnitOf::Fixed(unit) => Some(unit),
            UnitOf::Series(unit) => unit(series),
            UnitOf::Field(_) | UnitOf::Other(_) => None,
        }
    }
}
