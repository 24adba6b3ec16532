//! Reads a whole file, whatever it is.

use std::fs::File;
use std::io::{BufRead, Read};
use std::path::Path;

use crate::bins::Collected;
use crate::error::{LineError, refuse_columns, shown};
use crate::format::{Bins, Format, Sections};
use crate::gather::{Gather, Taken};
use crate::lines::{Layout, Lines};
use crate::row::{Fate, Row};
use crate::source::{self, Source};
use crate::{Error, Wanted, array, json, parquet};

/// Bytes of the longest line; `/dev/zero` has one without end.
const LONGEST_LINE: u64 = 1 << 20;

/// First lines that decide how all are read.
const HEAD_LINES: usize = 64;

/// The numbers of a file; see [`read_from`].
///
/// # Errors
/// As [`read_from`], and [`Error::Io`].
pub fn read(path: &Path, wanted: &Wanted) -> Result<Taken, Error> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|cause| Error::io(&name, cause))?;
    let source = source::open(file, &name)?;
    match source {
        Source::Parquet => parquet::read(path, wanted),
        Source::Array(reader) => array::read(reader, &name, wanted),
        Source::Text(reader, head) => of_text(reader, &head, &name, wanted),
    }
}

/// The numbers of what is read; `name` is what errors call it, and what tells formats apart whose content does not.
///
/// # Errors
/// [`Error::Value`] names line and value of what is no finite number; [`Error::Table`] lists the columns or series where
/// the choice is unclear; [`Error::Refused`] says what a file is that holds no values, and which option keeps them;
/// [`Error::Binned`] has the bins of one that counted its values.
pub fn read_from(reader: impl Read, name: &str, wanted: &Wanted) -> Result<Taken, Error> {
    match source::open(reader, name)? {
        Source::Parquet => Err(Error::Refused {
            name: name.into(),
            what: "Parquet, which is read from a file, not from a pipe".into(),
        }),
        Source::Array(reader) => array::read(reader, name, wanted),
        Source::Text(reader, head) => of_text(reader, &head, name, wanted),
    }
}

fn of_text(reader: Box<dyn BufRead + '_>, head: &[u8], name: &str, wanted: &Wanted) -> Result<Taken, Error> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    // A bracket may begin a line of a log as well.
    let is_json = match first {
        Some(b'{') => true,
        Some(b'[') => {
            let after = head.iter().filter(|byte| !byte.is_ascii_whitespace()).nth(1);
            after.is_some_and(|byte| b"[{]\"-0123456789nN".contains(byte)) && !begins_with_a_stamp(head)
        }
        _ => false,
    };
    if !is_json {
        return of_lines(reader, name, wanted);
    }
    let mut reader = reader;
    let mark = reader.fill_buf().map_err(|cause| Error::io(name, cause))?.starts_with(b"\xef\xbb\xbf");
    reader.consume(if mark { 3 } else { 0 });
    json::read(reader, name, wanted)
}

/// `[1700000000.5] 64 bytes …`: a stamp in brackets, and more on the line.
fn begins_with_a_stamp(head: &[u8]) -> bool {
    let line =
        head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let after = line.iter().position(|byte| *byte == b']').map(|at| line[at + 1..].trim_ascii());
    after.is_some_and(|after| after.first().is_some_and(u8::is_ascii_alphanumeric))
}

/// One line after another, its end left on.
struct Numbered<R> {
    reader: R,
    line: Vec<u8>,
    number: usize,
    /// How many lines belong to quoted fields that began on lines before.
    joined: usize,
    name: String,
}

impl<R: BufRead> Numbered<R> {
    /// The next line, with the lines that a quoted field goes on in; none at the end.
    fn next(&mut self) -> Result<Option<&str>, Error> {
        self.line.clear();
        let table = |what: String| Error::Table { name: self.name.clone(), what };
        let mut read = (&mut self.reader).take(LONGEST_LINE + 1).read_until(b'\n', &mut self.line);
        self.number += 1;
        let begin = self.number;
        // A quoted field may hold ends of lines.
        while read.as_ref().is_ok_and(|read| *read > 0) && is_open(&self.line) {
            let room = (LONGEST_LINE + 1).saturating_sub(self.line.len() as u64);
            let more = (&mut self.reader).take(room).read_until(b'\n', &mut self.line);
            if matches!(more, Ok(0)) && room > 0 {
                return Err(table(format!("line {begin}: a quote begins there and does not end")));
            }
            if !matches!(more, Ok(1..)) {
                read = more.map(|_| self.line.len());
                break;
            }
            self.number += 1;
        }
        if self.number > begin {
            self.joined += self.number - begin;
            if !ends_its_quotes(&self.line) {
                return Err(table(format!(
                    "line {begin}: a quote begins there, and does not end before another one on line {}",
                    self.number
                )));
            }
        }
        match read {
            Ok(0) => return Ok(None),
            Ok(_) if self.line.len() as u64 > LONGEST_LINE => {
                return Err(table(format!(
                    "line {} is longer than a MiB; one number a line is expected, or a table",
                    self.number
                )));
            }
            Ok(_) => {}
            Err(cause) if cause.raw_os_error().is_none() => {
                let what = format!("line {} cannot be unpacked ({cause})", self.number);
                return Err(Error::Damaged { name: self.name.clone(), what });
            }
            Err(cause) => return Err(Error::io(&self.name, cause)),
        }
        match std::str::from_utf8(&self.line) {
            Ok(line) => Ok(Some(line)),
            Err(_) => Err(table(format!("line {} is not text (UTF-8)", self.number))),
        }
    }
}

impl<R: BufRead> Numbered<R> {
    /// Takes the lines that are whole in the buffer, up to the first one that has to be looked at.
    fn take_plain(&mut self, taker: &mut impl LineTaker) -> Result<(), Error> {
        if !taker.takes_plain() {
            return Ok(());
        }
        loop {
            let Ok(buffer) = self.reader.fill_buf() else { return Ok(()) };
            let mut from = 0;
            while let Some(length) = memchr::memchr(b'\n', &buffer[from..]) {
                if !taker.plain(&buffer[from..from + length]) {
                    break;
                }
                from += length + 1;
                self.number += 1;
            }
            let is_through = from == buffer.len() && from > 0;
            self.reader.consume(from);
            if !is_through {
                return Ok(());
            }
        }
    }
}

/// Takes lines, one after another.
trait LineTaker {
    fn line(&mut self, line: &str, number: usize) -> Result<(), Error>;

    /// Whether some lines may be taken by [`LineTaker::plain`].
    fn takes_plain(&self) -> bool {
        false
    }

    /// Takes a line without its end, if it is one of many that hold nothing but a number where one is wanted.
    fn plain(&mut self, _line: &[u8]) -> bool {
        false
    }
}

struct EachLine<F>(F);

impl<F: FnMut(&str, usize) -> Result<(), Error>> LineTaker for EachLine<F> {
    fn line(&mut self, line: &str, number: usize) -> Result<(), Error> {
        (self.0)(line, number)
    }
}

/// Whether a field begins with a quote that does not end on this line.
fn is_open(line: &[u8]) -> bool {
    let quotes = line.iter().filter(|byte| **byte == b'"').count();
    let begins = || {
        line.first() == Some(&b'"') || line.windows(2).any(|two| matches!(two, [b',' | b';' | b'\t', b'"']))
    };
    quotes % 2 == 1 && begins()
}

/// Whether quotes begin and end fields; others were left open, and took the lines that follow.
fn ends_its_quotes(line: &[u8]) -> bool {
    let is_border = |byte: Option<&u8>| {
        byte.is_none_or(|byte| matches!(byte, b',' | b';' | b'\t' | b'|' | b' ' | b'\r' | b'\n'))
    };
    let (mut at, mut is_inside) = (0, false);
    while let Some(byte) = line.get(at) {
        let after = line.get(at + 1);
        match (byte, is_inside) {
            (b'\\', true) => at += 1,
            // A quote that is written twice is one.
            (b'"', true) if after == Some(&b'"') => at += 1,
            (b'"', true) if !is_border(after) => return false,
            (b'"', true) => is_inside = false,
            (b'"', false) => is_inside = at == 0 || is_border(line.get(at - 1)),
            _ => {}
        }
        at += 1;
    }
    !is_inside
}

/// A text of which the first lines were seen.
struct Seen<'r> {
    head: Vec<String>,
    /// What is wrong with the line after them.
    later: Option<Error>,
    input: Numbered<Box<dyn BufRead + 'r>>,
}

impl<'r> Seen<'r> {
    fn of(reader: Box<dyn BufRead + 'r>, name: &str, most: usize) -> Seen<'r> {
        let mut input = Numbered { reader, line: Vec::new(), number: 0, joined: 0, name: name.into() };
        let (mut head, mut later) = (Vec::new(), None);
        while head.len() < most {
            match input.next() {
                Ok(Some(line)) => head.push(line.into()),
                Ok(None) => break,
                // What is before a bad line is read first.
                Err(error) => {
                    later = Some(error);
                    break;
                }
            }
        }
        Seen { head, later, input }
    }

    /// All lines, with their numbers; how many of them belong to lines before.
    fn each(mut self, taker: &mut impl LineTaker) -> Result<usize, Error> {
        for (index, line) in self.head.iter().enumerate() {
            taker.line(line, index + 1)?;
        }
        if let Some(error) = self.later {
            return Err(error);
        }
        loop {
            self.input.take_plain(taker)?;
            let number = self.input.number + 1;
            let Some(line) = self.input.next()? else { return Ok(self.input.joined) };
            taker.line(line, number)?;
        }
    }

    /// All lines but those that are left out before the table.
    fn each_after(
        self,
        skip: usize,
        mut take: impl FnMut(&str, usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.each(&mut EachLine(|line: &str, number: usize| {
            if number > skip { take(line.trim_start_matches('\u{feff}'), number) } else { Ok(()) }
        }))
        .map(drop)
    }
}

fn of_lines(reader: Box<dyn BufRead + '_>, name: &str, wanted: &Wanted) -> Result<Taken, Error> {
    let mut seen = Seen::of(reader, name, HEAD_LINES + wanted.skip);
    let mut lines = Lines::new(wanted, name);
    let borrowed: Vec<&str> = seen.head.iter().map(String::as_str).collect();
    if let Err(error) = lines.learn(&borrowed) {
        return Err(seen.later.take().unwrap_or_else(|| explained(error, name, 1)));
    }
    let by_series = match &lines.layout {
        Layout::Text(..) => true,
        Layout::Table(table) => table.has_series(),
        Layout::Sections(format, take) => return of_sections(seen, (format, take), name, wanted),
        Layout::Bins(format, take) => return of_bins(seen, (format, take), name, wanted),
        _ => false,
    };
    let mut gather = Gather::new(wanted, by_series, lines.default_series());
    if let Layout::Table(table) = &lines.layout {
        if table.doubtful_header {
            gather.also("its first line names the columns: --no-header takes it as values");
        }
        gather.is_told = table.is_alone;
        if table.titles > 0 {
            gather.also(format!("{} above the table left out", lines_of(table.titles)));
        }
    }
    if matches!(lines.layout, Layout::Text(..)) {
        refuse_columns(wanted, name)?;
    }
    let mut rows = RowTaker { lines, gather, footers: Footers::default(), name };
    let joined = seen.each(&mut rows)?;
    let RowTaker { mut lines, mut gather, mut footers, .. } = rows;
    if joined > 0 {
        gather.also(format!("{} inside of quoted fields", lines_of(joined)));
    }
    let held = footers.release();
    if gather.rows() < FEWEST_ABOVE_FOOTERS {
        for (line, number) in held {
            let row = lines.row(&line).and_then(|row| row.map_or(Ok(()), |row| gather.push(&row)));
            row.map_err(|error| explained(error, name, number))?;
        }
    } else if let Some((first, _)) = held.first() {
        gather.also(format!("{} below the table left out: `{}`", lines_of(held.len()), shown(first.trim())));
    }
    let column = match &lines.layout {
        Layout::Table(table) => table.name.clone(),
        Layout::Pairs(name) => name.clone(),
        _ => String::new(),
    };
    let format = lines.format().map(|format| format.name);
    gather.finish(format, &column).map_err(|what| Error::Table { name: name.into(), what })
}

/// Takes the rows of a table, or of lines that each are one.
struct RowTaker<'w> {
    lines: Lines,
    gather: Gather<'w>,
    footers: Footers,
    name: &'w str,
}

impl LineTaker for RowTaker<'_> {
    fn line(&mut self, line: &str, number: usize) -> Result<(), Error> {
        let RowTaker { lines, gather, footers, name } = self;
        let no_row = |error| explained(error, name, number);
        match lines.row(line) {
            Ok(None) => return Ok(()),
            Err(LineError::Fields { .. }) if footers.hold(line, number) => return Ok(()),
            Ok(Some(row)) if row.sums_up && footers.hold(line, number) => return Ok(()),
            Err(error) => return Err(no_row(error)),
            Ok(Some(row)) if footers.held.is_empty() => return gather.push(&row).map_err(no_row),
            Ok(Some(_)) => {}
        }
        // What a row follows is none of them.
        let held = footers.release().into_iter().chain([(line.to_owned(), number)]);
        held.into_iter().try_for_each(|(line, number)| {
            let row = lines.row(&line).and_then(|row| row.map_or(Ok(()), |row| gather.push(&row)));
            row.map_err(|error| explained(error, name, number))
        })
    }

    fn takes_plain(&self) -> bool {
        let is_plain = matches!(&self.lines.layout, Layout::Table(table) if table.is_plain());
        is_plain && self.footers.held.is_empty() && self.gather.takes_plain()
    }

    fn plain(&mut self, line: &[u8]) -> bool {
        let Layout::Table(table) = &self.lines.layout else { return false };
        table.plain(line).is_some_and(|number| self.gather.push_plain(number, table.plain_unit()))
    }
}

/// Most lines below a table, and fewest rows of it.
const MOST_FOOTERS: usize = 10;
const FEWEST_ABOVE_FOOTERS: u64 = 3;

/// Lines that are below a table, if no row follows: with other columns, or with a word for a sum.
#[derive(Default)]
struct Footers {
    held: Vec<(String, usize)>,
    /// A row followed such lines.
    is_over: bool,
}

impl Footers {
    fn hold(&mut self, line: &str, number: usize) -> bool {
        let may = !self.is_over && self.held.len() < MOST_FOOTERS;
        if may {
            self.held.push((line.to_owned(), number));
        }
        may
    }

    fn release(&mut self) -> Vec<(String, usize)> {
        self.is_over = true;
        std::mem::take(&mut self.held)
    }
}

fn lines_of(count: usize) -> String {
    if count == 1 { "1 line".into() } else { format!("{count} lines") }
}

/// The rows of lines that are read together.
fn of_sections(
    seen: Seen,
    (format, take): (&Format, &Sections),
    name: &str,
    wanted: &Wanted,
) -> Result<Taken, Error> {
    refuse_columns(wanted, name)?;
    let mut gather = Gather::new(wanted, true, None);
    gather.note = take.note.map(Into::into);
    let mut reader = (take.make)();
    seen.each_after(wanted.skip, |line, number| {
        let mut push = |row: &Row| match wanted.failed {
            true => gather.push(&Row { fate: Fate::Taken, ..row.clone() }),
            false => gather.push(row),
        };
        reader.line(line, &mut push).map_err(|error| explained(error, name, number))
    })?;
    let table = |what: String| Error::Table { name: name.into(), what };
    if gather.is_empty() {
        return Err(table(format!("it is {} {}", format.name, take.without)));
    }
    gather.finish(Some(format.name), "").map_err(table)
}

/// The bins of a text, which are no values.
fn of_bins(
    seen: Seen,
    (format, take): (&Format, &Bins),
    name: &str,
    wanted: &Wanted,
) -> Result<Taken, Error> {
    refuse_columns(wanted, name)?;
    let table = |what: String| Error::Table { name: name.into(), what };
    let mut reader = (take.make)();
    let mut to = Collected::default();
    seen.each_after(wanted.skip, |line, number| {
        reader.line(line, &mut to).map_err(|what| table(format!("line {number}: {what}")))
    })?;
    reader.end(&mut to).map_err(|what| table(format!("{}: {what}", format.name)))?;
    Err(Error::binned(name, to.finish(wanted, format.name, take.out).map_err(table)?))
}

fn explained(error: LineError, name: &str, number: usize) -> Error {
    let name = name.to_owned();
    match error {
        LineError::Layout(what) => Error::Table { name, what },
        LineError::Refused(what) => Error::Refused { name, what },
        error @ LineError::Fields { .. } => Error::Table { name, what: format!("line {number} {error}") },
        LineError::Value { text, what } => Error::Value { name, line: number, value: text, what },
    }
}
