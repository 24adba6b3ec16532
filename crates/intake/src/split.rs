//! Splits the lines of a table into fields.

use csv_core::{ReadRecordResult, ReaderBuilder};

/// What stands between fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Separator {
    Sign(u8),
    Blanks,
    /// The whole line is one field.
    None,
}

/// Signs that separate, the surest first: a comma may be the decimal one where something else separates.
const SIGNS: [u8; 4] = [b'\t', b';', b',', b'|'];

/// Fields of one line at a time; where a line has no quotes, they are parts of it.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    pub separator: Separator,
    ranges: Vec<(usize, usize)>,
    unquoted: Vec<u8>,
    is_unquoted: bool,
}

impl Splitter {
    pub fn new(separator: Separator) -> Self {
        Self { separator, ranges: Vec::new(), unquoted: Vec::new(), is_unquoted: false }
    }

    /// Splits a line; how many fields it has.
    pub fn split(&mut self, line: &str) -> usize {
        self.ranges.clear();
        self.is_unquoted = line.contains('"');
        match self.separator {
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

    fn split_quoted(&mut self, line: &str) {
        let delimiter = match self.separator {
            Separator::Sign(sign) => sign,
            Separator::Blanks => b' ',
            // No text has this byte.
            Separator::None => 0xff,
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
            false => &line[from..to],
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
    let (mut from, mut to) = (0, line.len());
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
pub(crate) fn separator(first: &str, rest: &[&str], decimal: char, words: bool) -> Separator {
    let count = |separator, line: &str| Splitter::new(separator).split(line);
    let several: Vec<Separator> = SIGNS
        .into_iter()
        .filter(|sign| char::from(*sign) != decimal)
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
    let is_value = matches!(crate::value::read(first.trim(), decimal), crate::value::Value::Number(..));
    if fields > 1 && in_words && !is_value { Separator::Blanks } else { Separator::None }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let of = |first: &str, rest: &[&str]| separator(first, rest, '.', false);
        assert_eq!(of("a,b;c", &["1;2", "3;4"]), Separator::Sign(b';'));
        assert_eq!(of("time, in s", &["1.5", "2.5"]), Separator::Sign(b','));
        assert_eq!(of("T(s) PID LAT(ms)", &["1 7 0.5", "2 8 0.6"]), Separator::Blanks);
        assert_eq!(of("time in s", &["1.5", "2.5"]), Separator::None);
        assert_eq!(of("10.5 ms", &["11.5 ms"]), Separator::None);
        assert_eq!(of("no numbers", &["at all"]), Separator::None);
        assert_eq!(separator("10,5", &["11,5"], ',', false), Separator::None);
    }
}
