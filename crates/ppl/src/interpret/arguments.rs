//! Holds the evaluated arguments of a command for the machine.

use std::ffi::{CStr, CString};

use crate::literal;
use crate::value::Value;

/// The largest number of arguments of a command that reaches the machine.
pub const MAX: usize = 8;

/// One argument, evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Argument {
    #[default]
    Absent,
    Int(i64),
    Float(f64),
    Duration(i64),
    /// First byte and length in the buffer; a NUL follows.
    Text(u32, u32),
    File(u32),
    Buffer(u32),
}

/// The evaluated arguments of a command: a fixed inline array and the buffer that paths are rendered into.
/// The interpreter reuses it, so that a call allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    pub(crate) values: [Argument; MAX],
    pub(crate) count: usize,
    pub(crate) text: Vec<u8>,
    /// Of a prepared statement whose first argument is always the same text: that text, whose end need not be looked for.
    pub(crate) name: Option<CString>,
}

impl Arguments {
    /// Arguments from values, for tests of a machine.
    pub fn of(values: &[Value]) -> Self {
        let mut out = Self::default();
        for value in values.iter().take(MAX) {
            out.push(value);
        }
        out
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.text.clear();
        self.name = None;
    }

    pub(crate) fn push(&mut self, value: &Value) {
        let argument = match value {
            Value::Int(v) => Argument::Int(*v),
            Value::Float(v) => Argument::Float(*v),
            Value::Duration(v) => Argument::Duration(*v),
            Value::File(v) => Argument::File(*v),
            Value::Buffer(v) => Argument::Buffer(*v),
            Value::Unset => Argument::Absent,
            Value::Text(_) | Value::List(_) => {
                let start = self.text.len();
                value.render(&mut self.text);
                self.end_text(start)
            }
        };
        self.put(argument);
    }

    #[inline]
    fn put(&mut self, argument: Argument) {
        self.set(self.count, argument);
        self.count = MAX.min(self.count + 1);
    }

    /// Keeps an argument; it counts once `count` says so.
    #[inline(always)]
    pub(crate) fn set(&mut self, index: usize, argument: Argument) {
        if let Some(place) = self.values.get_mut(index) {
            *place = argument;
        }
    }

    /// Terminates the text rendered from `start` on with a NUL.
    #[inline]
    pub(crate) fn end_text(&mut self, start: usize) -> Argument {
        let length = self.text.len() - start;
        self.text.push(0);
        Argument::Text(start as u32, length as u32)
    }

    #[inline]
    fn get(&self, index: usize) -> Argument {
        if index < self.count { self.values[index] } else { Argument::Absent }
    }

    /// Whether the argument was given.
    #[inline]
    pub fn is_given(&self, index: usize) -> bool {
        self.get(index) != Argument::Absent
    }

    /// Number of arguments given.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no argument was given.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// An integer: a float is truncated, a duration counts in nanoseconds, a string is its leading number.
    /// `None` if omitted.
    #[inline]
    pub fn int(&self, index: usize) -> Option<i64> {
        match self.get(index) {
            Argument::Int(value) => Some(value),
            _ => self.converted(index),
        }
    }

    #[inline(never)]
    fn converted(&self, index: usize) -> Option<i64> {
        match self.get(index) {
            Argument::Int(value) | Argument::Duration(value) => Some(value),
            Argument::Float(value) => Some(value as i64),
            Argument::File(value) | Argument::Buffer(value) => Some(i64::from(value)),
            Argument::Text(..) => literal::leading(self.text(index)).and_then(|v| Value::from(v).integer()),
            Argument::Absent => None,
        }
    }

    /// An integer of 0 or more, or `otherwise` if omitted; negative values count as 0.
    #[inline]
    pub fn size(&self, index: usize, otherwise: u64) -> u64 {
        self.int(index).map_or(otherwise, |value| value.max(0) as u64)
    }

    /// As [`Arguments::size`], or `None` if omitted.
    #[inline]
    pub fn given_size(&self, index: usize) -> Option<u64> {
        match self.get(index) {
            Argument::Absent => None,
            Argument::Int(value) => Some(value.max(0) as u64),
            _ => Some(self.size(index, 0)),
        }
    }

    /// A string; empty if the argument is not a string.
    #[inline]
    pub fn text(&self, index: usize) -> &str {
        match self.get(index) {
            Argument::Text(start, length) => self
                .text
                .get(start as usize..(start + length) as usize)
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .unwrap_or(""),
            _ => "",
        }
    }

    /// A NUL-terminated string for a system call, without copying; empty if the argument is not a string, or has a NUL in it:
    /// no file has an empty name, while what stands before the NUL may be the name of another one.
    #[inline]
    pub fn c_str(&self, index: usize) -> &CStr {
        match &self.name {
            Some(name) if index == 0 => name,
            _ => self.c_str_of(index),
        }
    }

    /// As [`Arguments::c_str`], from where texts are rendered.
    #[inline]
    pub(crate) fn c_str_of(&self, index: usize) -> &CStr {
        match self.get(index) {
            Argument::Text(start, length) => self
                .text
                .get(start as usize..(start + length) as usize + 1)
                .and_then(|bytes| CStr::from_bytes_with_nul(bytes).ok())
                .unwrap_or(c""),
            _ => c"",
        }
    }

    /// A file: an index into the machine's table; `None` if the argument is not a file. The interpreter
    /// itself fails calls whose file is missing (EBADF), so the machine always finds one.
    #[inline]
    pub fn file(&self, index: usize) -> Option<u32> {
        match self.get(index) {
            Argument::File(value) => Some(value),
            _ => None,
        }
    }

    /// A buffer: an index into the machine's table; `None` if the argument is not a buffer.
    #[inline]
    pub fn buffer(&self, index: usize) -> Option<u32> {
        match self.get(index) {
            Argument::Buffer(value) => Some(value),
            _ => None,
        }
    }

    /// The strings among the arguments, such as paths, for messages.
    pub fn describe(&self) -> String {
        (0..self.count)
            .filter(|&index| matches!(self.get(index), Argument::Text(..)))
            .map(|index| format!("\"{}\"", self.text(index).replace('\0', "\\0")))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_ready_for_a_system_call() {
        let arguments = Arguments::of(&[Value::Text("a/b".into()), Value::Int(4096)]);
        assert_eq!(arguments.c_str(0), c"a/b");
        assert_eq!(arguments.text(0), "a/b");
        assert_eq!(arguments.size(1, 0), 4096);
        assert_eq!(arguments.int(2), None);
    }

    #[test]
    fn a_nul_in_a_name_does_not_cut_it_to_that_of_another_file() {
        let arguments = Arguments::of(&[Value::Text("a\0b.dat".into()), Value::Text("a\0".into())]);
        assert_eq!((arguments.c_str(0), arguments.c_str(1)), (c"", c""));
        assert_eq!(arguments.text(0), "a\0b.dat");
    }
}
