//! Splits the lines of a table into fields.

use csv_core::{ReadRecordResult, ReaderBuilder};

use crate::value::{self, Signs, Value};

/// What stands between fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Sign(u8),
    Blanks,
    /// Columns at the same places of each line.
    Places,
    /// The whole line is one field.
    None,
}

/// Signs that separate, the surest first: a comma may be the decimal one where something else separates.
const SIGNS: [u8; 4] = [b'\t', b';', b',', b'|'];

/// Fields of one line at a time; where a line has no quotes, they are parts of it.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    pub separator: Separator,
    /// Where the columns are, of [`Separator::Places`].
    places: Vec<(usize, usize)>,
    ranges: Vec<(usize, usize)>,
    unquoted: Vec<u8>,
    is_unquoted: bool,
}

impl Splitter {
    pub fn new(separator: Separator) -> Self {
        Self { separator, places: Vec::new(), ranges: Vec::new(), unquoted: Vec::new(), is_unquoted: false }
    }

    /// Splits at places that are blank in all of these lines.
    pub fn at_places(lines: &[&str]) -> Option<Self> {
        let places = places(lines)?;
        Some(Self { places, ..Self::new(Separator::Places) })
    }

    /// Splits a line; how many fields it has.
    pub fn split(&mut self, line: &str) -> usize {
        self.ranges.clear();
        self.is_unquoted = line.contains('"');
        match self.separator {
            Separator::Places => {
                self.is_unquoted = false;
                self.split_at_places(line);
            }
            _ if self.is_unquoted => self.split_quoted(line),
            Separator::None => self.ranges.push((0, line.len())),
            Separator::Blanks => {
                let start = line.as_ptr() as usize;
                let at = |word: &str| word.as_ptr() as usize - start;
                self.ranges
                    .extend(line.split_ascii_whitespace().map(|word| (at(word), at(word) + word.len())));
            }
            Separator::Sign(sign) => {
                let (from, to) = framed(line, sign);
                let mut begin = from;
                for (at, _) in line.as_bytes()[from..to].iter().enumerate().filter(|(_, byte)| **byte == sign)
                {
                    self.ranges.push((begin, from + at));
                    begin = from + at + 1;
                }
                self.ranges.push((begin, to));
            }
        }
        self.ranges.len()
    }

    /// A longer field reaches into the gap next to it; what fills a gap, or stands in its middle, makes a field of its own,
    /// so that the line is refused.
    fn split_at_places(&mut self, line: &str) {
        let bytes = line.as_bytes();
        let within = |at: usize| at.min(bytes.len());
        let mut begin = 0;
        for (index, &(_, to)) in self.places.iter().enumerate() {
            let end = within(to);
            let Some(&(next, _)) = self.places.get(index + 1) else {
                self.ranges.push((begin, bytes.len()));
                continue;
            };
            let gap = &bytes[end..within(next)];
            let ahead = gap.iter().take_while(|byte| **byte != b' ').count();
            let behind = gap.iter().rev().take_while(|byte| **byte != b' ').count();
            let is_blank = |part: &[u8]| part.iter().all(|byte| *byte == b' ');
            if end == within(next) || ahead < gap.len() && is_blank(&gap[ahead..gap.len() - behind]) {
                self.ranges.push((begin, end + ahead));
                begin = within(next) - behind;
            } else {
                self.ranges.extend([(begin, end), (end, within(next))]);
                begin = within(next);
            }
        }
    }

    fn split_quoted(&mut self, line: &str) {
        let delimiter = match self.separator {
            Separator::Sign(sign) => sign,
            Separator::Blanks => b' ',
            // No text has this byte.
            Separator::None | Separator::Places => 0xff,
        };
        // A blank before a quote, as people type it, would make the quote a part of the field.
        let mut line = line.trim().to_owned();
        if let Separator::Sign(sign) = self.separator {
            let sign = char::from(sign);
            while line.contains(&format!("{sign} \"")) {
                line = line.replace(&format!("{sign} \""), &format!("{sign}\""));
            }
        }
        let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
        self.unquoted.resize(line.len() + 1, 0);
        let mut ends = vec![0; line.len() + 2];
        let (_, read, mut written, mut found) =
            reader.read_record(line.as_bytes(), &mut self.unquoted, &mut ends);
        // The end of the input ends the record.
        while read == line.len() {
            let (result, _, more, fields) =
                reader.read_record(&[], &mut self.unquoted[written..], &mut ends[found..]);
            written += more;
            found += fields;
            if matches!(result, ReadRecordResult::Record | ReadRecordResult::End)
                || (more == 0 && fields == 0)
            {
                break;
            }
        }
        let mut begin = 0;
        for end in &ends[..found] {
            if self.separator != Separator::Blanks || *end > begin {
                self.ranges.push((begin, *end));
            }
            begin = *end;
        }
        if self.ranges.is_empty() {
            self.ranges.push((0, 0));
        }
    }

    /// Field `at` of the line that was split last.
    pub fn get<'a>(&'a self, line: &'a str, at: usize) -> &'a str {
        let Some(&(from, to)) = self.ranges.get(at) else { return "" };
        let field = match self.is_unquoted {
            true => std::str::from_utf8(&self.unquoted[from..to]).unwrap_or_default(),
            // A sign of several bytes may lie across a place.
            false => line.get(from..to).unwrap_or_default(),
        };
        field.trim()
    }

    /// All fields of a line.
    pub fn fields(&mut self, line: &str) -> Vec<String> {
        let count = self.split(line);
        (0..count).map(|at| self.get(line, at).to_owned()).collect()
    }
}

/// The part of a line within the bars of a table that is framed by them.
fn framed(line: &str, sign: u8) -> (usize, usize) {
    let trimmed = line.trim_start_matches(' ');
    let (mut from, mut to) = (line.len() - trimmed.len(), line.len());
    let line = trimmed;
    if sign == b'|' {
        from += usize::from(line.starts_with('|'));
        to -= usize::from(line.ends_with('|') && to > from);
    }
    (from, to)
}

/// Whether a line only draws: `|---|---|`, `-----+-----`.
pub(crate) fn is_rule(line: &str) -> bool {
    line.contains("--") && line.bytes().all(|byte| b"|-+:= ".contains(&byte))
}

/// The separator that the first lines show; `words` says whether blanks separate where the lines leave it open.
pub(crate) fn separator(first: &str, rest: &[&str], signs: Signs, words: bool) -> Separator {
    let is_quoted = || first.contains('"') || rest.iter().any(|line| line.contains('"'));
    let separates = |sign: char| sign != signs.decimal && (Some(sign) != signs.thousands || is_quoted());
    let count = |separator, line: &str| Splitter::new(separator).split(line);
    let several: Vec<Separator> = SIGNS
        .into_iter()
        .filter(|sign| separates(char::from(*sign)))
        .map(Separator::Sign)
        .filter(|separator| count(*separator, first) > 1)
        .collect();
    let even = |separator: &Separator| {
        let fields = count(*separator, first);
        rest.iter().all(|line| count(*separator, line) == fields)
    };
    if let Some(found) = several.iter().find(|separator| even(separator)).or(several.first()) {
        return *found;
    }
    let fields = count(Separator::Blanks, first);
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let in_words = match rest {
        [] => words || first.split_ascii_whitespace().all(is_number),
        _ => even(&Separator::Blanks) && rest.iter().any(|line| line.split_ascii_whitespace().any(is_number)),
    };
    // `10.5 ms` is a value.
    let is_value = matches!(value::read_with(first.trim(), signs), Value::Number(..));
    if fields > 1 && in_words && !is_value { Separator::Blanks } else { Separator::None }
}

/// Fewest lines that show columns by their places.
const FEWEST_OF_PLACES: usize = 8;

/// Columns by the places that are blank in all of these lines, where blanks alone do not separate them; none where the
/// lines have no such places.
fn places(lines: &[&str]) -> Option<Vec<(usize, usize)>> {
    let width = lines.iter().map(|line| line.len()).max()?;
    if lines.len() < FEWEST_OF_PLACES || !lines.iter().all(|line| line.is_ascii() && !line.contains('\t')) {
        return None;
    }
    let is_blank =
        |at: usize| lines.iter().all(|line| line.as_bytes().get(at).is_none_or(|byte| *byte == b' '));
    let (mut found, mut begin) = (Vec::new(), None);
    for at in 0..=width {
        match (begin, at == width || is_blank(at)) {
            (Some(from), true) => {
                found.push((from, at));
                begin = None;
            }
            (None, false) => begin = Some(at),
            _ => {}
        }
    }
    (found.len() > 1).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: Signs = Signs { decimal: '.', thousands: None };

    fn fields(separator: Separator, line: &str) -> Vec<String> {
        Splitter::new(separator).fields(line)
    }

    #[test]
    fn fields_are_quoted_framed_or_separated_by_blanks() {
        let comma = Separator::Sign(b',');
        assert_eq!(fields(comma, "a, b ,,"), ["a", "b", "", ""]);
        assert_eq!(fields(comma, "\"a,b\", \"say \"\"x\"\"\",3"), ["a,b", "say \"x\"", "3"]);
        assert_eq!(fields(comma, "1,\"\""), ["1", ""]);
        assert_eq!(fields(Separator::None, "\"0\""), ["0"]);
        assert_eq!(fields(Separator::Sign(b'|'), "| a | b |"), ["a", "b"]);
        assert_eq!(fields(Separator::Blanks, "  1   x\t2.5 "), ["1", "x", "2.5"]);
        assert!(is_rule("|---|:--:|") && is_rule("----+----") && !is_rule("-1.5") && !is_rule("--x"));
    }

    #[test]
    fn the_first_lines_show_the_separator() {
        let of = |first: &str, rest: &[&str]| separator(first, rest, POINT, false);
        assert_eq!(of("a,b;c", &["1;2", "3;4"]), Separator::Sign(b';'));
        assert_eq!(of("time, in s", &["1.5", "2.5"]), Separator::Sign(b','));
        assert_eq!(of("T(s) PID LAT(ms)", &["1 7 0.5", "2 8 0.6"]), Separator::Blanks);
        assert_eq!(of("time in s", &["1.5", "2.5"]), Separator::None);
        assert_eq!(of("10.5 ms", &["11.5 ms"]), Separator::None);
        assert_eq!(of("no numbers", &["at all"]), Separator::None);
        assert_eq!(separator("10,5", &["11,5"], Signs { decimal: ',', ..POINT }, false), Separator::None);
        let grouped = Signs { thousands: Some(','), ..POINT };
        assert_eq!(separator("1,234", &["2,345"], grouped, false), Separator::None);
        assert_eq!(separator("a,b", &["\"1,234\",5"], grouped, false), Separator::Sign(b','));
    }

    #[test]
    fn columns_lie_at_the_same_places() {
        let rows = ["name      value", "a b       10.25", "c         11.50", "d e f      9.75"];
        let rows: Vec<&str> = rows.iter().chain(&rows[1..]).chain(&rows[1..]).copied().collect();
        let mut split = Splitter::at_places(&rows).expect("blank places");
        assert_eq!(split.fields("a b       10.25"), ["a b", "10.25"]);
        assert_eq!(split.fields("d e f     "), ["d e f", ""]);
        assert_eq!(split.fields("abcdefg   10.25"), ["abcdefg", "10.25"], "longer than above");
        assert_eq!(split.fields("a b    1010.25"), ["a b", "1010.25"], "longer than above");
        assert_eq!(split.fields("abcdefghij10.25").len(), 3, "fills the gap");
        assert_eq!(split.fields("a b    x  10.25").len(), 3, "stands in the gap");
        assert_eq!(split.fields("a b"), ["a b", ""]);
        assert_eq!(split.fields("d e f      9.750"), ["d e f", "9.750"]);
        assert!(Splitter::at_places(&rows[..4]).is_none());
    }
}
