//! Reads a trace of `strace -f -ttt -T`, also with `-y`, `-xx` and `-ff`.
//!
//! [`mod@line`] cuts a line into its parts, [`cut`] does that by several threads, [`calls`] says what each system call asks
//! for; [`parts`] merges the files of `-ff`.

mod calls;
mod clock;
mod cut;
mod line;
mod parts;

pub use parts::{MergedParts, merge_parts};

use crate::event::{Asked, Event};
use crate::follow::Follower;
use crate::format::{Format, Reading};
use crate::input::{Input, TraceError};
use crate::maps::HashMap;
use crate::model::{CUT_CALLS, NO_CALLS, Trace};
use clock::SteppedClock;
use cut::{CutLine, Cutting, each_line};
use line::{Head, Line, LineParts};

pub(super) const FORMAT: Format = Format {
    name: "strace",
    made_by: "strace -f -ttt -T -o FILE COMMAND",
    detect: |head| head.split(|byte| *byte == b'\n').take(200).any(line::is_call),
    parse,
};

/// What is said behind the word of a call that may have read or changed files.
const UNTOLD: &str = "whose result the trace does not tell";
const CUT: &str = "whose line is cut";

/// Calls that start a thread, and may be under way when its first line comes.
const STARTING: [&[u8]; 5] = [b"clone", b"clone3", b"fork", b"vfork", b"clone2"];

/// A line that waits for the call that started its thread.
struct Waiting {
    time: u64,
    text: Vec<u8>,
}

/// Reads lines in the order of the file.
struct Reader {
    follower: Follower,
    /// The beginning of calls during which another thread ran.
    unfinished: HashMap<u32, (u64, Vec<u8>)>,
    /// Lines of threads whose start is under way.
    waiting: HashMap<u32, Vec<Waiting>>,
    /// How many calls that start a thread are under way.
    starting: usize,
    /// Time of the line before, of traces without times.
    now: u64,
    without_times: bool,
    restarted: u64,
    /// Lines whose end was cut off.
    cut_off: u64,
    /// Those of them that neither read nor change files, as far as they tell.
    harmless: u64,
    clock: SteppedClock,
    /// Calls say how long they took: one that does not was cut.
    has_durations: bool,
}

fn parse(input: &mut Input<'_>, reading: &Reading) -> Result<Trace, TraceError> {
    parse_by(input, reading, Cutting::here())
}

/// What comes of it does not depend on how the lines are cut.
fn parse_by(input: &mut Input<'_>, reading: &Reading, cutting: Cutting) -> Result<Trace, TraceError> {
    let mut reader = Reader {
        follower: Follower::new(FORMAT.name, reading.directory.as_deref()),
        unfinished: HashMap::default(),
        waiting: HashMap::default(),
        starting: 0,
        now: 0,
        without_times: false,
        restarted: 0,
        cut_off: 0,
        harmless: 0,
        clock: SteppedClock::default(),
        has_durations: false,
    };
    let (mut lines, mut calls) = (0_u64, 0_u64);
    each_line(input, cutting, &mut |line| match line {
        CutLine::Other(is_text) => lines += u64::from(is_text),
        CutLine::Known(head, call) => {
            lines += 1;
            calls += u64::from(reader.line(&head, call.as_ref()));
        }
    })?;
    if calls == 0 && lines > 0 {
        return Err(TraceError::File(format!("none of its {lines} lines is a call of strace")));
    }
    reader.release_all();
    let cut = reader.unfinished.len();
    let mut trace = reader.follower.finish();
    if cut > 0 {
        trace.left_out.insert("calls under way when the trace ends".to_owned(), cut as u64);
    }
    if reader.restarted > 0 {
        trace.left_out.insert("calls that a signal broke off".to_owned(), reader.restarted);
    }
    if reader.without_times {
        trace
            .notes
            .push("lines without times: only their order is known (strace -ttt -T gives times)".to_owned());
    }
    if lines > calls + reader.cut_off {
        trace.left_out.insert(NO_CALLS.to_owned(), lines - calls - reader.cut_off);
    }
    if reader.harmless > 0 {
        trace.left_out.insert(CUT_CALLS.to_owned(), reader.harmless);
    }
    trace.notes.extend(reader.clock.note());
    Ok(trace)
}

impl Reader {
    /// Takes a line, with the parts of its call if it is a whole one; whether it is one of strace.
    fn line(&mut self, head: &Head<'_>, call: Option<&LineParts<'_>>) -> bool {
        let time = match head.time {
            Some(time) if head.is_relative => {
                self.now = self.now.saturating_add(time);
                self.now
            }
            Some(time) => self.clock.time(head.thread, time),
            None => {
                self.without_times |= call.is_some();
                self.now += 1000;
                self.now
            }
        };
        let known = self.follower.knows(head.thread);
        if !known && (self.starting > 0 || self.waiting.contains_key(&head.thread)) {
            let line = Waiting { time, text: head.rest.to_vec() };
            self.waiting.entry(head.thread).or_default().push(line);
            return true;
        }
        self.text((head.thread, time), head.rest, call)
    }

    fn text(&mut self, (thread, time): (u32, u64), rest: &[u8], call: Option<&LineParts<'_>>) -> bool {
        match line::kind(rest) {
            Line::Unfinished(begun) => {
                self.starting += usize::from(starts(begun));
                if let Some(descriptor) = line::closes(begun) {
                    self.follower.begin_close(thread, descriptor);
                }
                self.unfinished.insert(thread, (time, begun.to_vec()));
                true
            }
            Line::Resumed(tail) => {
                let Some((start, mut whole)) = self.unfinished.remove(&thread) else { return true };
                let starting = starts(&whole);
                whole.extend_from_slice(tail);
                let done = match line::call(&whole) {
                    Some(call) => self.call((thread, start), &whole, &call),
                    None => self.cut((thread, start), &whole),
                };
                if starting {
                    self.starting -= 1;
                    if self.starting == 0 {
                        self.release_all();
                    }
                }
                done
            }
            Line::Exited => {
                let event = Event {
                    thread,
                    start: time,
                    duration: 0,
                    result: 0,
                    errno: 0,
                    leads_to: None,
                    asked: Asked::Exit,
                };
                self.follower.take(&event);
                true
            }
            Line::Signal => true,
            Line::Call => match call {
                Some(call) => self.call((thread, time), rest, call),
                None => self.cut((thread, time), rest),
            },
        }
    }

    fn call(&mut self, (thread, start): (u32, u64), text: &[u8], call: &LineParts<'_>) -> bool {
        let Some(result) = call.result else {
            match call.broken_off {
                true => self.restarted += 1,
                false => drop(calls::lost(&mut self.follower, (thread, start), call, UNTOLD)),
            }
            return true;
        };
        self.has_durations |= call.has_duration;
        if self.has_durations && !call.has_duration {
            return self.cut_call((thread, start), call);
        }
        calls::take(&mut self.follower, (thread, start), call, result);
        if result > 0 && starts(text) {
            self.release(result as u32);
        }
        true
    }

    /// Takes a line that is no whole call; as [`Reader::line`].
    fn cut(&mut self, at: (u32, u64), text: &[u8]) -> bool {
        line::cut_call(text).is_some_and(|call| self.cut_call(at, &call))
    }

    fn cut_call(&mut self, at: (u32, u64), call: &LineParts<'_>) -> bool {
        self.cut_off += 1;
        self.harmless += u64::from(!calls::lost(&mut self.follower, at, call, CUT));
        false
    }

    /// Takes all lines that waited, those of the thread first that came first.
    fn release_all(&mut self) {
        let first = |(thread, lines): (&u32, &Vec<Waiting>)| (lines.first().map(|line| line.time), *thread);
        let mut left: Vec<(Option<u64>, u32)> = self.waiting.iter().map(first).collect();
        left.sort_unstable();
        for (_, thread) in left {
            self.release(thread);
        }
    }

    /// Takes the lines that waited for the start of a thread.
    fn release(&mut self, thread: u32) {
        for line in self.waiting.remove(&thread).unwrap_or_default() {
            let call = match line::kind(&line.text) {
                Line::Call => line::call(&line.text),
                _ => None,
            };
            self.text((thread, line.time), &line.text, call.as_ref());
        }
    }
}

fn starts(text: &[u8]) -> bool {
    let name = text.split(|byte| *byte == b'(').next().unwrap_or(text);
    STARTING.contains(&name)
}

#[cfg(test)]
mod tests;
