//! The calls of each strand in the language's terms: which command, on which variable, with which names and numbers.

mod attributes;
mod shared;

use std::collections::BTreeSet;

use crate::access::Models;
use crate::file_facts::FileFacts;
use crate::flags::{EXECUTABLE, O_APPEND, O_CREAT, O_TMPFILE};
use crate::lanes::Lanes;
use crate::maps::HashMap;
use crate::model::{
    COPY, Call, CallReader, DEPTH_SHIFT, EXPLICIT, NEAREST, NONE, Op, Trace, UNKNOWN, only_orders,
};
use crate::names::link_text;
use crate::order::Order;
use crate::packed::Packed;
use crate::pauses::{gaps, starts};
use crate::sequence::{Sequence, Statement};

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// `$f = fopen(name, mode, permissions);`
    Open,
    /// An open that fails.
    OpenFails,
    /// `fclose($f);`
    Close,
    /// `fread($f, bytes[, offset]);`
    Read,
    /// A read at the end of the file.
    ReadEnd,
    /// `fwrite($f, bytes[, offset]);`
    Write,
    /// `fcopy($f, $g, bytes[, offset]);`
    Copy,
    /// `fcopy($f, $g, bytes, offset, offset);`: to the same place in the other file.
    CopyAlike,
    /// A copy at the end of the file that it comes from.
    CopyEnd,
    /// `fseek($f, offset);`
    Seek,
    /// `stat($f);`
    StatOpen,
    /// A change of an attribute of an open file: its word.
    ChangeOpen(&'static str),
    /// A change of an extended attribute, by its name, of a name: its word.
    Extended(&'static str),
    /// The same of an open file.
    ExtendedOpen(&'static str),
    /// `fsync($f);`
    Sync,
    /// `fdatasync($f);`
    DataSync,
    /// `ftruncate($f, bytes);`
    Truncate,
    /// `fallocate($f, bytes, offset);`, with its mode in the flags of the shape.
    Allocate,
    /// A command that takes a name: its word.
    Name(&'static str),
    /// A command that takes a name and permissions.
    NameAndMode(&'static str),
    /// A command that takes two names.
    TwoNames(&'static str),
    /// `write(name, bytes);`, of the files that existed before.
    Make,
    /// Signals to other strands how far this one has come.
    Signal,
    /// Waits until another strand has come that far.
    Await,
}

/// All of a statement but its names and numbers. Statements of one shape can be iterations of one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// What it does.
    pub verb: Verb,
    /// The number of its file variable, or of the strand that signals.
    pub variable: u32,
    /// Of a copy: the number of the variable of the file that it goes to.
    pub target: u32,
    /// Flags of an open, or the mode of `fallocate`.
    pub flags: u32,
    /// Permissions that it gives, where they are not the usual ones.
    pub permissions: Option<u32>,
    /// The errno with which it must fail, 0 where it must not.
    pub errno: u16,
    /// How many numbers it has.
    pub numbers: u8,
    /// The model from which its numbers are drawn, by its number in [`Statements::models`].
    pub drawn: Option<u32>,
    /// Of a transfer that completes later: how many are in flight at most, 0 of others.
    pub depth: u32,
    /// Whether the application did not do this: an open, or close, of a file that another process or thread opened.
    pub implied: bool,
}

/// Shapes by number.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    all: Vec<Shape>,
    numbers: HashMap<Shape, u32>,
    /// The number that was asked for last: most statements are like the one before.
    latest: u32,
}

impl Shapes {
    /// The number of a shape.
    pub fn number(&mut self, shape: Shape) -> u32 {
        if self.all.get(self.latest as usize) == Some(&shape) {
            return self.latest;
        }
        self.latest = *self.numbers.entry(shape).or_insert_with(|| {
            self.all.push(shape);
            self.all.len() as u32 - 1
        });
        self.latest
    }

    /// The shape of a number.
    pub fn get(&self, number: u32) -> &Shape {
        &self.all[number as usize]
    }
}

/// The statements of all strands.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    /// By number of the strand.
    pub strands: Vec<Sequence>,
    /// Their shapes.
    pub shapes: Shapes,
    /// Files that a strand opens although the application did not: another strand opened them.
    pub implied_opens: u64,
    /// How many calls of the trace became statements.
    pub calls: u64,
    /// Which.
    pub done: Packed,
    /// Distributions from which numbers are drawn.
    pub models: Models,
}

/// What a program says of the times of calls.
#[derive(Clone, Copy, Debug)]
pub enum TimesOfCalls {
    /// How long the application paused before them.
    Pauses,
    /// When they began, where the pause before them is not shorter than so many nanoseconds.
    Starts {
        /// The least pause.
        least_gap: u64,
    },
}

/// Makes statements of the calls of all strands; what cannot be said is counted in the trace.
pub fn statements(
    trace: &mut Trace,
    lanes: &Lanes,
    order: &Order,
    models: Models,
    times: TimesOfCalls,
) -> Statements {
    let (mut gaps, open_loop) = match times {
        TimesOfCalls::Pauses => (gaps(trace, lanes, order), false),
        TimesOfCalls::Starts { least_gap } => (starts(trace, lanes, order, least_gap), true),
    };
    let facts = FileFacts::of(trace, lanes);
    let strands = vec![Sequence::default(); lanes.strands.len()];
    let mut out = Statements { strands, models, ..Statements::default() };
    for (number, rank) in lanes.ranks.iter().enumerate() {
        let mut scope = Scope::default();
        let mut late = Vec::new();
        for segment in &rank.segments {
            let outer = scope.clone();
            for strand in segment {
                let mut own = outer.clone();
                own.alone = segment.len() == 1;
                own.own.clear();
                let mut maker = Maker {
                    trace,
                    lanes,
                    order,
                    facts: &facts,
                    out: &mut out,
                    scope: &mut own,
                    rank: number as u32,
                    strand: *strand,
                    segment,
                    reader: CallReader::default(),
                };
                if segment.len() == 1 {
                    late.drain(..).for_each(|(file, at)| maker.close_late(file, at));
                }
                maker.calls(&std::mem::take(&mut gaps[*strand as usize]), open_loop);
                late.append(&mut own.late);
                if segment.len() == 1 {
                    scope = own;
                }
            }
        }
        for _ in late {
            trace.leave_out("closes of files that several threads use to the end");
        }
    }
    out
}

/// The file variables of a rank at some place of its program.
#[derive(Clone, Default)]
struct Scope {
    variables: HashMap<u32, u32>,
    used: BTreeSet<u32>,
    /// Files that this rank opens although the application did not.
    implied: BTreeSet<u32>,
    /// Files that this strand opened itself.
    own: BTreeSet<u32>,
    /// Closes by this strand of files that other workers use as well: done when all workers have ended.
    late: Vec<(u32, u32)>,
    /// Whether this is no worker: what it opens stays open for later segments.
    alone: bool,
}

impl Scope {
    /// The lowest number that no open file has.
    fn take(&mut self, file: u32) -> u32 {
        let free = (0..).find(|number| !self.used.contains(number)).unwrap_or(0);
        self.used.insert(free);
        self.variables.insert(file, free);
        self.own.insert(file);
        free
    }

    fn give_back(&mut self, file: u32) -> Option<u32> {
        let variable = self.variables.remove(&file)?;
        self.used.remove(&variable);
        Some(variable)
    }
}

struct Maker<'a> {
    trace: &'a mut Trace,
    lanes: &'a Lanes,
    order: &'a Order,
    facts: &'a FileFacts,
    out: &'a mut Statements,
    scope: &'a mut Scope,
    rank: u32,
    strand: u32,
    /// The strands that run at the same time.
    segment: &'a [u32],
    reader: CallReader,
}

/// Whether a copy names the same place in both files.
fn is_alike(read: &Call, write: &Call) -> bool {
    read.bytes > 0 && read.flags & write.flags & EXPLICIT != 0 && read.offset == write.offset
}

/// A shape with nothing special.
pub fn plain(verb: Verb) -> Shape {
    Shape {
        verb,
        variable: 0,
        target: 0,
        flags: 0,
        permissions: None,
        errno: 0,
        numbers: 0,
        drawn: None,
        depth: 0,
        implied: false,
    }
}

/// Permissions that a program need not give: with the usual mask they give the same as its defaults.
fn unusual(permissions: u64, usual: [u32; 2]) -> Option<u32> {
    let permissions = u32::try_from(permissions).ok()?;
    (!usual.contains(&permissions)).then_some(permissions)
}

impl Maker<'_> {
    /// All calls of the strand, with the pauses before them, or the times at which they begin.
    fn calls(&mut self, gaps: &Packed, open_loop: bool) {
        let lanes = self.lanes;
        let calls = lanes.strands[self.strand as usize].calls.iter().map(|at| at as u32);
        let mut calls = (1..).zip(calls).zip(gaps.iter()).peekable();
        // The time of calls that no statement does is a pause of the next one.
        let mut passed = 0;
        while let Some(((done, at), own_gap)) = calls.next() {
            let before = self.out.calls;
            let gap = own_gap + passed;
            let call = self.reader.get(&self.trace.calls, at);
            match calls.next_if(|((_, next), _)| self.can_copy(&call, *next)) {
                Some(((last, write), _)) => self.copy((at, write), (done, last), gap),
                None => self.call(at, &call, done, gap),
            }
            passed = match self.out.calls > before || open_loop {
                true => 0,
                false => passed + own_gap + call.duration,
            };
        }
    }

    fn push(&mut self, shape: Shape, names: [u32; 2], numbers: [i64; 2], gap: u64) {
        let shape = self.out.shapes.number(shape);
        self.out.strands[self.strand as usize].push(Statement { shape, names, numbers, gap });
    }

    fn waits(&mut self, at: u32) {
        for (other, count) in self.order.waits.get(&at).into_iter().flatten() {
            let shape = Shape { variable: *other, numbers: 1, ..plain(Verb::Await) };
            let number = self.order.signal(*other, *count) as i64;
            self.push(shape, [NONE; 2], [number, 0], 0);
        }
    }

    fn call(&mut self, at: u32, call: &Call, done: u32, gap: u64) {
        // A copy that no statement says as such is a read and a write.
        let mut call = *call;
        if call.is_copy(Op::Read) || call.is_copy(Op::Write) {
            self.trace.calls.part(at as usize);
            call.flags &= !COPY;
        }
        self.waits(at);
        let before = self.out.calls;
        if call.op == Op::Close && self.is_for_all(call.file) {
            self.scope.late.push((call.file, at));
        } else {
            self.statement(&call, gap);
        }
        if self.out.calls > before {
            self.out.done.push(u64::from(at));
        }
        self.behind(at, &call, done);
    }

    /// Whether two calls are the read and the write of a copy that a statement can say. Where the write waits for another
    /// strand, that one may wait for the read.
    fn can_copy(&mut self, read: &Call, write: u32) -> bool {
        if !read.is_copy(Op::Read) || self.order.waits.contains_key(&write) {
            return false;
        }
        let write = self.reader.get(&self.trace.calls, write);
        let own = |call: &Call| {
            self.scope.variables.contains_key(&call.file) && !self.facts.shared.contains(&call.file)
        };
        let appends = self.facts.flags(write.file).is_some_and(|flags| flags & O_APPEND != 0);
        write.is_copy(Op::Write)
            && read.path != write.path
            && own(read)
            && own(&write)
            && !appends
            && (write.flags & EXPLICIT == 0 || is_alike(read, &write))
    }

    /// The read and the write of a copy, each with its number among the calls of its strand.
    fn copy(&mut self, (read_at, write_at): (u32, u32), done: (u32, u32), gap: u64) {
        let [read, write] = [read_at, write_at].map(|at| self.reader.get(&self.trace.calls, at));
        self.waits(read_at);
        let variable = |file: u32| self.scope.variables.get(&file).copied().unwrap_or(0);
        let numbers = if read.flags & EXPLICIT != 0 { 2 } else { 1 };
        let (verb, bytes) = match read.bytes {
            0 => (Verb::CopyEnd, 1),
            bytes if is_alike(&read, &write) => (Verb::CopyAlike, bytes as i64),
            bytes => (Verb::Copy, bytes as i64),
        };
        let offset = if numbers > 1 { read.offset as i64 } else { 0 };
        let (variable, target) = (variable(read.file), variable(write.file));
        self.push(Shape { variable, target, numbers, ..plain(verb) }, [NONE; 2], [bytes, offset], gap);
        self.out.calls += 1;
        self.out.done.push(u64::from(read_at));
        self.behind(read_at, &read, done.0);
        self.behind(write_at, &write, done.1);
    }

    /// What a call has behind it: the close of its file, and a signal.
    fn behind(&mut self, at: u32, call: &Call, done: u32) {
        let tells = self.order.tells.get(&self.strand).is_some_and(|tells| tells.contains(&done));
        if call.file != NONE && self.is_last_here(call.file, at) {
            self.close_for_another(call.file);
        }
        if tells {
            self.push(Shape { variable: self.strand, ..plain(Verb::Signal) }, [NONE; 2], [0; 2], 0);
        }
    }

    fn statement(&mut self, call: &Call, gap: u64) {
        let errno = call.errno;
        let name = [call.path, NONE];
        match call.op {
            Op::Open if errno != 0 => {
                let shape = Shape { errno, flags: call.flags & !NEAREST, ..plain(Verb::OpenFails) };
                self.push(shape, name, [0; 2], gap);
            }
            Op::Open => {
                let creates = call.flags & O_CREAT != 0 || call.flags & O_TMPFILE == O_TMPFILE;
                let bits = call.offset & !u64::from(EXECUTABLE);
                let permissions = if creates { unusual(bits, [0o666, 0o644]) } else { None };
                let variable = self.scope.take(call.file);
                let shape =
                    Shape { variable, flags: call.flags & !NEAREST, permissions, ..plain(Verb::Open) };
                self.push(shape, name, [0; 2], gap);
            }
            Op::Close => {
                if !self.scope.variables.contains_key(&call.file) {
                    return;
                }
                // A close of what only the program opened is none of the trace.
                let is_implied = self.scope.implied.contains(&call.file);
                self.close(call.file, gap);
                if is_implied {
                    return;
                }
            }
            Op::Read | Op::Write | Op::Seek | Op::Sync | Op::DataSync | Op::Truncate | Op::Allocate => {
                return self.transfer(call, gap);
            }
            Op::Stat | Op::Lookup | Op::Readdir => return self.asked(call, gap),
            Op::Chmod | Op::Chown | Op::Utimes => return self.changed(call, gap),
            Op::SetAttribute | Op::RemoveAttribute => return self.extended(call, gap),
            Op::Unlink => self.push(Shape { errno, ..plain(Verb::Name("unlink")) }, name, [0; 2], gap),
            Op::Create => self.push(Shape { errno, ..plain(Verb::Name("create")) }, name, [0; 2], gap),
            Op::Rmdir => self.push(Shape { errno, ..plain(Verb::Name("rmdir")) }, name, [0; 2], gap),
            Op::Mkdir => {
                let permissions = unusual(call.offset, [0o777, 0o755]);
                let shape = match permissions {
                    Some(_) => Shape { errno, permissions, ..plain(Verb::NameAndMode("mkdir")) },
                    None => Shape { errno, ..plain(Verb::Name("mkdir")) },
                };
                self.push(shape, name, [0; 2], gap);
            }
            Op::Rename | Op::Link => {
                let word = if call.op == Op::Rename { "rename" } else { "link" };
                let shape = Shape { errno, ..plain(Verb::TwoNames(word)) };
                self.push(shape, [call.path, call.other], [0; 2], gap);
            }
            Op::Symlink => {
                let shape = Shape { errno, ..plain(Verb::TwoNames("symlink")) };
                let text = link_text(self.trace.names.get(call.path), self.trace.names.get(call.other));
                let text = self.trace.names.intern(&text);
                self.push(shape, [text, call.path], [0; 2], gap);
            }
            only_orders!() => return,
        }
        self.out.calls += 1;
    }

    fn transfer(&mut self, call: &Call, gap: u64) {
        let shared = self.facts.shared.contains(&call.file);
        match call.op {
            Op::Seek if shared => return self.trace.leave_out("seeks in files that several processes share"),
            Op::Write if call.bytes == 0 => return self.trace.leave_out("writes of 0 bytes"),
            _ => {}
        }
        let known = self.scope.variables.contains_key(&call.file);
        let Some(variable) = self.variable(call) else { return };
        let appends = self.facts.flags(call.file).is_some_and(|flags| flags & O_APPEND != 0);
        let explicit = (call.flags & EXPLICIT != 0 || shared || !known && !appends) && call.offset != UNKNOWN;
        let (bytes, offset) = (call.bytes as i64, call.offset as i64);
        let placed = if explicit { 2 } else { 1 };
        let (verb, numbers, values) = match call.op {
            Op::Read if call.bytes == 0 => (Verb::ReadEnd, placed, [1, offset]),
            Op::Read => (Verb::Read, placed, [bytes, offset]),
            Op::Write => (Verb::Write, placed, [bytes, offset]),
            Op::Seek => (Verb::Seek, 1, [offset, 0]),
            Op::Sync => (Verb::Sync, 0, [0, 0]),
            Op::DataSync => (Verb::DataSync, 0, [0, 0]),
            Op::Truncate => (Verb::Truncate, 1, [bytes, 0]),
            _ => (Verb::Allocate, 2, [bytes, offset]),
        };
        let is_modelled = matches!(verb, Verb::Read | Verb::Write);
        let drawn = self.out.models.of(call.file, call.op).filter(|_| is_modelled);
        let model = drawn.map(|drawn| &self.out.models.all[drawn as usize]);
        let (size, offset) = model.map_or((false, false), |one| (one.size.is_some(), one.offset.is_some()));
        // What a shape does not have, or draws, must not tell its statements apart.
        let values = [
            if numbers > 0 && !size { values[0] } else { 0 },
            if numbers > 1 && !offset { values[1] } else { 0 },
        ];
        let submitted = is_modelled && call.flags >> DEPTH_SHIFT > 0;
        let depth = if submitted { self.facts.depth.get(&call.file).copied().unwrap_or(0) } else { 0 };
        let flags = if verb == Verb::Allocate { call.flags } else { 0 };
        let shape = Shape { variable, numbers, drawn, depth, flags, ..plain(verb) };
        self.push(shape, [NONE; 2], values, gap);
        self.out.calls += 1;
    }
}
