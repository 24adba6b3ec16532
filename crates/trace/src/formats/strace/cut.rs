//! Cuts lines into their parts, by several threads: no line depends on another one before its call is followed.

use std::sync::mpsc::{Receiver, sync_channel};

use super::line::{self, Head, Line, LineParts};
use crate::input::{Input, TraceError};

/// How lines are cut.
#[derive(Clone, Copy, Debug)]
pub struct Cutting {
    /// How many threads do it besides the one that takes the lines; 0: that one does it.
    pub threads: usize,
    /// Bytes that a thread gets at once, and the last line of them.
    pub block: usize,
}

/// Blocks that are read before they are cut.
const BLOCKS: usize = 16;
/// Blocks that a thread may be ahead.
const AHEAD: usize = 2;

impl Cutting {
    /// As this machine does it best: the calls are followed by one thread, which is as quick as one that cuts.
    pub fn here() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { threads: (processors - 1).min(2), block: 1 << 16 }
    }
}

/// A line.
#[allow(clippy::large_enum_variant, reason = "most lines are calls")]
pub enum CutLine<'a> {
    /// None of strace; whether there is anything in it.
    Other(bool),
    /// One of strace, with the parts of its call, if it is a whole one.
    Known(Head<'a>, Option<LineParts<'a>>),
}

impl<'a> CutLine<'a> {
    fn of(text: &'a [u8]) -> Self {
        let Some(head) = line::head(text) else { return Self::Other(!text.is_empty()) };
        let call = match line::kind(head.rest) {
            Line::Call => line::call(head.rest),
            Line::Unfinished(_) | Line::Resumed(_) | Line::Exited | Line::Signal => None,
        };
        Self::Known(head, call)
    }
}

/// Lines one behind the other.
#[derive(Default)]
struct LineBlock {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl LineBlock {
    /// Reads lines until they have so many bytes; whether the file goes on.
    fn read(&mut self, input: &mut Input<'_>, bytes: usize) -> Result<bool, TraceError> {
        self.text.clear();
        self.ends.clear();
        while self.text.len() < bytes {
            let Some(line) = input.line()? else { return Ok(false) };
            self.text.extend_from_slice(line);
            self.ends.push(self.text.len());
        }
        Ok(true)
    }

    fn lines(&self) -> impl Iterator<Item = CutLine<'_>> {
        let begins = std::iter::once(&0).chain(&self.ends);
        begins.zip(&self.ends).map(|(begin, end)| CutLine::of(&self.text[*begin..*end]))
    }
}

/// Gives all lines to `take`, in their order.
///
/// # Errors
/// Where the file cannot be read, or a line is too long.
pub fn each_line(
    input: &mut Input<'_>,
    cutting: Cutting,
    take: &mut dyn FnMut(CutLine<'_>),
) -> Result<(), TraceError> {
    let mut blocks: Vec<LineBlock> = Vec::new();
    let mut goes_on = true;
    while goes_on {
        let mut read = 0;
        while goes_on && read < BLOCKS {
            if blocks.len() == read {
                blocks.push(LineBlock::default());
            }
            goes_on = blocks[read].read(input, cutting.block)?;
            read += 1;
        }
        take_blocks(&blocks[..read], cutting.threads.min(read - 1), take);
    }
    Ok(())
}

/// Gives the lines of blocks to `take`; each of so many threads cuts every so many-th of them.
fn take_blocks(blocks: &[LineBlock], threads: usize, take: &mut dyn FnMut(CutLine<'_>)) {
    std::thread::scope(|scope| {
        let mut cut: Vec<Receiver<Vec<CutLine<'_>>>> = Vec::new();
        for first in 0..threads {
            let (to, from) = sync_channel(AHEAD);
            let cut_all = move || {
                for block in blocks.iter().skip(first).step_by(threads) {
                    if to.send(block.lines().collect()).is_err() {
                        return;
                    }
                }
            };
            // Without the thread the receiver ends at once, and its blocks are cut here.
            let _ = std::thread::Builder::new().spawn_scoped(scope, cut_all);
            cut.push(from);
        }
        for (number, block) in blocks.iter().enumerate() {
            let lines = if threads == 0 { None } else { cut[number % threads].recv().ok() };
            match lines {
                Some(lines) => lines.into_iter().for_each(&mut *take),
                None => block.lines().for_each(&mut *take),
            }
        }
    });
}
