//! Lines of a trace, one at a time, and errors that name them.

use std::io::{BufRead, Read};

/// The longest line that is read, in bytes.
pub const LONGEST: usize = 1 << 24;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A line does not say what it should.
    #[error("line {line}: {what}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The file cannot be read.
    #[error("cannot read: {0}")]
    Read(#[from] std::io::Error),
    /// The file as a whole is not what it should be.
    #[error("{0}")]
    File(String),
}

/// A trace as lines.
pub struct Input<'a> {
    reader: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    line: u64,
}

impl<'a> Input<'a> {
    /// Reads lines from `reader`.
    pub fn new(reader: &'a mut dyn BufRead) -> Self {
        Self { reader, buffer: Vec::new(), line: 0 }
    }

    /// The next line without its end, `None` behind the last one.
    ///
    /// # Errors
    /// Where the file cannot be read, or a line is longer than 16 MiB.
    pub fn line(&mut self) -> Result<Option<&[u8]>, TraceError> {
        self.buffer.clear();
        self.line += 1;
        let mut reader = (&mut *self.reader).take(LONGEST as u64 + 2);
        reader.read_until(b'\n', &mut self.buffer)?;
        let ends = self.buffer.last() == Some(&b'\n');
        self.buffer.truncate(self.buffer.len() - usize::from(ends));
        if self.buffer.len() > LONGEST {
            return Err(self.wrong("the line is longer than 16 MiB"));
        }
        if ends && self.buffer.last() == Some(&b'\r') {
            self.buffer.pop();
        }
        Ok(if ends || !self.buffer.is_empty() { Some(&self.buffer) } else { None })
    }

    /// The line that was read last.
    pub fn last(&self) -> &[u8] {
        &self.buffer
    }

    /// Whether the line that was read last is empty.
    pub fn is_blank(&self) -> bool {
        self.buffer.trim_ascii().is_empty()
    }

    /// The number of the line that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.line
    }

    /// An error about the line that was read last.
    pub fn wrong(&self, what: impl Into<String>) -> TraceError {
        TraceError::Line { line: self.line, what: what.into() }
    }
}

/// A line for a message, shortened.
pub fn shown(bytes: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(&bytes[..bytes.len().min(60)])
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    if bytes.len() > 60 { format!("{text}…") } else { text }
}

/// A whole number in decimal, with blanks around it.
pub fn whole(bytes: &[u8]) -> Option<u64> {
    digits(bytes.trim_ascii())
}

/// A whole number of decimal digits alone.
pub fn digits(bytes: &[u8]) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let (first, rest) = bytes.split_first()?;
    rest.iter().try_fold(digit(*first)?, |number, byte| number.checked_mul(10)?.checked_add(digit(*byte)?))
}

/// Nanoseconds of a time in seconds such as `1595.000123`, exactly.
pub fn nanoseconds(bytes: &[u8]) -> Option<u64> {
    let text = bytes.trim_ascii();
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let fraction = text.get(point + 1..).unwrap_or(&[]);
    let fraction = &fraction[..fraction.len().min(9)];
    let part = if fraction.is_empty() { 0 } else { digits(fraction)? };
    digits(&text[..point])?
        .checked_mul(1_000_000_000)?
        .checked_add(part * 10_u64.pow(9 - fraction.len() as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(nanoseconds(b"1595.000123"), Some(1_595_000_123_000));
        assert_eq!(nanoseconds(b"2"), Some(2_000_000_000));
        assert_eq!(nanoseconds(b"0.1234567891"), Some(123_456_789));
        assert_eq!(nanoseconds(b"x.1"), None);
        assert_eq!(nanoseconds(b"99999999999999999999.0"), None);
    }

    #[test]
    fn lines_are_numbered() {
        let mut text: &[u8] = b"a\r\nb\n\nlast";
        let mut input = Input::new(&mut text);
        let mut seen = Vec::new();
        while let Some(line) = input.line().unwrap() {
            seen.push(line.to_vec());
        }
        assert_eq!(seen, [&b"a"[..], b"b", b"", b"last"]);
        let mut text: &[u8] = &[b'x'; LONGEST + 2];
        assert!(Input::new(&mut text).line().unwrap_err().to_string().starts_with("line 1:"));
    }
}
