//! One trace of the files that `strace -ff` writes, a line of each at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufRead, Read, Result, Write};

use super::line;
use crate::input::LONGEST;

/// A file of one thread.
struct TracePart<R> {
    thread: u32,
    reader: R,
    /// The line that comes next, without its end.
    line: Vec<u8>,
    /// The latest time of its lines so far.
    time: u64,
}

impl<R: BufRead> TracePart<R> {
    /// Goes on to the next line that is not empty; whether there is one.
    fn advance(&mut self) -> Result<bool> {
        loop {
            self.line.clear();
            // A longer line is one that the reader of the whole refuses.
            let mut some = (&mut self.reader).take(LONGEST as u64 + 2);
            if some.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(false);
            }
            if self.line.last() == Some(&b'\n') {
                self.line.pop();
            }
            if !self.line.is_empty() {
                break;
            }
        }
        let head = line::head(&self.line);
        let time = head.and_then(|head| Some(head.time? + line::gives_descriptor_after(head.rest)));
        self.time = time.unwrap_or(0).max(self.time);
        Ok(true)
    }
}

/// The lines of all parts, each behind the number of its thread.
pub struct MergedParts<R> {
    parts: Vec<Option<TracePart<R>>>,
    /// The parts by the times of their next lines.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Text that was not read yet, from a place on.
    text: Vec<u8>,
    at: usize,
}

/// One trace of the files that `strace -ff` writes: thread and text of each. Lines are merged by their times, those of calls that
/// give a descriptor by their ends: at the beginning its number may be that of a file which another thread closes.
///
/// # Errors
/// Where a file cannot be read.
pub fn merge_parts<R: BufRead>(parts: impl IntoIterator<Item = (u32, R)>) -> Result<MergedParts<R>> {
    let mut all = MergedParts { parts: Vec::new(), next: BinaryHeap::new(), text: Vec::new(), at: 0 };
    for (thread, reader) in parts {
        all.parts.push(Some(TracePart { thread, reader, line: Vec::new(), time: 0 }));
        all.go_on(all.parts.len() - 1)?;
    }
    Ok(all)
}

impl<R: BufRead> MergedParts<R> {
    /// Reads the next line of a part.
    fn go_on(&mut self, at: usize) -> Result<()> {
        if let Some(part) = &mut self.parts[at] {
            match part.advance()? {
                true => self.next.push(Reverse((part.time, at))),
                // Its buffer is given back.
                false => self.parts[at] = None,
            }
        }
        Ok(())
    }
}

impl<R: BufRead> BufRead for MergedParts<R> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        if self.at == self.text.len() {
            self.text.clear();
            self.at = 0;
            // MergedParts of which lines have equal times come one behind the other.
            if let Some(Reverse((_, at))) = self.next.pop() {
                if let Some(part) = &self.parts[at] {
                    write!(self.text, "{} ", part.thread)?;
                    self.text.extend_from_slice(&part.line);
                    self.text.push(b'\n');
                }
                self.go_on(at)?;
            }
        }
        Ok(&self.text[self.at..])
    }

    fn consume(&mut self, count: usize) {
        self.at = (self.at + count).min(self.text.len());
    }
}

impl<R: BufRead> Read for MergedParts<R> {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        let count = self.fill_buf()?.read(to)?;
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All lines at once, sorted by their times.
    fn sorted(parts: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut lines: Vec<(u64, String)> = Vec::new();
        for (thread, text) in parts {
            let mut before = 0;
            for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                before = line::head(line).and_then(|head| head.time).unwrap_or(before).max(before);
                lines.push((before, format!("{thread} {}\n", String::from_utf8_lossy(line))));
            }
        }
        lines.sort_by_key(|(time, _)| *time);
        lines.into_iter().flat_map(|(_, line)| line.into_bytes()).collect()
    }

    proptest! {
        #[test]
        fn lines_come_by_their_times(
            times in prop::collection::vec(prop::collection::vec((0_u32..9, 0_u32..5), 0..12), 0..5)
        ) {
            let line = |at: usize, (time, kind): &(u32, u32)| match kind {
                0 => "\n".to_owned(),
                1 => format!("no call {at}\n"),
                _ => format!("{time}.5 close({at}) = 0\n"),
            };
            let text = |(thread, all): (u32, &Vec<(u32, u32)>)| {
                let whole: String = all.iter().enumerate().map(|(at, one)| line(at, one)).collect();
                (thread, whole.trim_end_matches('x').as_bytes().to_vec())
            };
            let parts: Vec<(u32, Vec<u8>)> = (7..).zip(&times).map(text).collect();
            let mut merged = Vec::new();
            let readers = parts.iter().map(|(thread, text)| (*thread, text.as_slice()));
            merge_parts(readers).unwrap().read_to_end(&mut merged).unwrap();
            prop_assert_eq!(merged, sorted(&parts));
        }
    }
}
