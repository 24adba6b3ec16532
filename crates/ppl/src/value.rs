//! Defines the values of the language.

use std::fmt;
use std::sync::Arc;

use crate::literal;
use crate::number::Number;

/// A value of the language, in 24 bytes. Only strings and lists own memory, which is shared.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// No value yet.
    #[default]
    Unset,
    /// A 64-bit signed integer; also truth (0 is false).
    Int(i64),
    /// A 64-bit float.
    Float(f64),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A string.
    Text(Arc<str>),
    /// An open file: an index into a table of the machine.
    File(u32),
    /// Memory: an index into a table of the machine.
    Buffer(u32),
    /// Several values.
    List(Arc<Vec<Value>>),
}

/// The largest nesting of lists at run time. Values are dropped and printed recursively, and a loop could
/// nest without limit.
pub(crate) const MAX_LIST_DEPTH: u32 = 4;

/// The maximum size of a string in bytes and of a list in items: a loop that doubles one would otherwise use
/// all memory.
pub(crate) const LONGEST_TEXT: usize = 16 << 20;
pub(crate) const LONGEST_LIST: usize = 1 << 22;
/// The message for a longer string.
pub(crate) const TOO_LONG: &str = "a string has at most 16 MiB";

/// Appends to a vector, up to a length.
struct Limited<'v> {
    out: &'v mut Vec<u8>,
    most: usize,
}

impl fmt::Write for Limited<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.out.len() + text.len() > self.most {
            return Err(fmt::Error);
        }
        self.out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Int(v) => Value::Int(v),
            Number::Float(v) => Value::Float(v),
            Number::Duration(v) => Value::Duration(v),
        }
    }
}

impl Value {
    /// Whether lists are nested in it more than `levels` deep, itself included.
    pub(crate) fn is_deeper_than(&self, levels: u32) -> bool {
        match self {
            Value::List(items) => levels == 0 || items.iter().any(|item| item.is_deeper_than(levels - 1)),
            _ => false,
        }
    }

    /// The kind in a word, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Unset => "nothing",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Duration(_) => "a duration",
            Value::Text(_) => "a string",
            Value::File(_) => "a file",
            Value::Buffer(_) => "a buffer",
            Value::List(_) => "a list",
        }
    }

    /// Whether it counts as true: not zero, an empty string, an empty list or unset.
    pub fn truth(&self) -> bool {
        match self {
            Value::Unset => false,
            Value::Int(v) | Value::Duration(v) => *v != 0,
            Value::Float(v) => *v != 0.0,
            Value::Text(v) => !v.is_empty(),
            Value::File(_) | Value::Buffer(_) => true,
            Value::List(v) => !v.is_empty(),
        }
    }

    /// The value as an integer: a string is its leading number, a fraction is truncated. `None` if it is not
    /// a number, or does not fit 64 bits.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Value::Int(v) | Value::Duration(v) => Some(*v),
            // 2^63 is exact as a float, the largest integer is not.
            Value::Float(v) if (i64::MIN as f64..i64::MAX as f64).contains(v) => Some(*v as i64),
            Value::Text(text) => literal::leading(text).and_then(|number| Value::from(number).integer()),
            Value::File(v) | Value::Buffer(v) => Some(i64::from(*v)),
            _ => None,
        }
    }

    /// The value as a float: a duration counts in seconds.
    pub fn float(&self) -> Option<f64> {
        match self {
            Value::Int(v) => Some(*v as f64),
            Value::Float(v) => Some(*v),
            Value::Duration(v) => Some(*v as f64 * 1e-9),
            Value::Text(text) => literal::leading(text).and_then(|number| Value::from(number).float()),
            _ => None,
        }
    }

    /// Writes the value as in a string, without allocating for numbers. A list is truncated at the maximum
    /// size of a string.
    pub fn render(&self, out: &mut Vec<u8>) {
        match self {
            Value::Int(v) => integer(*v, out),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            other => {
                let most = out.len() + LONGEST_TEXT;
                // Truncation is the only possible error, and is intended.
                let _ = fmt::write(&mut Limited { out, most }, format_args!("{other}"));
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unset => f.write_str("(nothing)"),
            Value::Int(v) => write!(f, "{v}"),
            // Hundreds of digits are no number that anybody reads.
            Value::Float(v) if v.abs() >= 1e16 || (*v != 0.0 && v.abs() < 1e-5) => write!(f, "{v:e}"),
            Value::Float(v) => write!(f, "{v}"),
            Value::Duration(v) => duration(*v, f),
            Value::Text(v) => f.write_str(v),
            Value::File(v) | Value::Buffer(v) => write!(f, "{v}"),
            Value::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Exactly, in the largest unit that needs no fraction beyond three digits: `5ms`, `1.25s`.
fn duration(ns: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const UNITS: [(u64, &str); 4] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let magnitude = ns.unsigned_abs();
    if ns < 0 {
        f.write_str("-")?;
    }
    if magnitude == 0 {
        return f.write_str("0s");
    }
    for (factor, unit) in UNITS {
        let thousandths = factor / 1000;
        if magnitude >= factor && (thousandths == 0 || magnitude.is_multiple_of(thousandths)) {
            let rest = magnitude % factor;
            write!(f, "{}", magnitude / factor)?;
            if rest > 0 {
                let digits = format!("{:03}", rest / thousandths.max(1));
                write!(f, ".{}", digits.trim_end_matches('0'))?;
            }
            return f.write_str(unit);
        }
    }
    write!(f, "{magnitude}ns")
}

/// Writes an integer in decimal: the formatter of the standard library is several times slower.
pub(crate) fn integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_as_the_standard_library_writes_them() {
        for value in [0, 1, -1, 9, 10, 123_456_789, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            integer(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn durations_are_written_exactly() {
        let shown: Vec<_> = [0, 5_000_000, 1_250_000_000, 1_000_001, -2_000, 90_000_000_000]
            .map(|ns| Value::Duration(ns).to_string())
            .into();
        assert_eq!(shown, ["0s", "5ms", "1.25s", "1000.001us", "-2us", "90s"]);
    }
}
