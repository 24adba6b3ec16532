//! The calls of a trace in columns.

use crate::call::{COPY, Call, Op};
use crate::packed::{self, Packed};
use crate::sorted::in_order;

/// Durations in 32 bits: exact below 2³¹ ns, above in steps of 2²⁰ ns.
fn pack(duration: u64) -> u32 {
    if duration < 1 << 31 { duration as u32 } else { (1 << 31) | (duration >> 20).min((1 << 31) - 1) as u32 }
}

fn unpack(packed: u32) -> u64 {
    if packed < 1 << 31 { u64::from(packed) } else { u64::from(packed & !(1 << 31)) << 20 }
}

/// Numbers of the columns.
pub mod column {
    #![allow(missing_docs, reason = "named after the fields of a call")]
    pub const START: usize = 0;
    pub const DURATION: usize = 1;
    pub const THREAD: usize = 2;
    pub const OP: usize = 3;
    pub const ERRNO: usize = 4;
    pub const FLAGS: usize = 5;
    pub const FILE: usize = 6;
    pub const PATH: usize = 7;
    pub const OTHER: usize = 8;
    pub const BYTES: usize = 9;
    pub const OFFSET: usize = 10;
    pub const HELD: usize = 11;
    /// How many there are.
    pub const COUNT: usize = 12;
}

/// Calls in columns, packed: some bytes each of a trace that repeats itself, and never more than 60.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    columns: [Packed; column::COUNT],
    /// When the last one began, and whether one began before the one before.
    last: u64,
    is_jumbled: bool,
}

/// A number of 32 bits as a column keeps it: [`NONE`] is the least, since few bits hold what lies close together.
fn shifted(number: u32) -> u64 {
    u64::from(number.wrapping_add(1))
}

fn back(number: u64) -> u32 {
    (number as u32).wrapping_sub(1)
}

impl Calls {
    /// Bytes that one call takes at most: its numbers as they are, and the heads of packed blocks.
    pub const BYTES_A_CALL: usize = 8 * 4 + 4 * 6 + 2 + 1 + 1;

    /// How many there are.
    pub fn len(&self) -> usize {
        self.columns[column::START].len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds one.
    pub fn push(&mut self, call: Call) {
        self.is_jumbled |= call.start < self.last;
        self.last = call.start;
        let numbers = [
            call.start,
            u64::from(pack(call.duration)),
            u64::from(call.thread),
            call.op as u64,
            u64::from(call.errno),
            u64::from(call.flags),
            shifted(call.file),
            shifted(call.path),
            shifted(call.other),
            call.bytes.wrapping_add(1),
            call.offset.wrapping_add(1),
            call.held,
        ];
        for (column, number) in self.columns.iter_mut().zip(numbers) {
            column.push(number);
        }
    }

    /// The call at `at`, which is below [`Calls::len`]. A [`CallReader`] is quicker for one after the other.
    pub fn get(&self, at: usize) -> Call {
        let mut call = Call::new(Op::Open, 0, 0, 0);
        for (number, column) in self.columns.iter().enumerate() {
            call.put(number, column.get(at));
        }
        call
    }

    /// When the call at `at` began.
    pub fn start(&self, at: usize) -> u64 {
        self.columns[column::START].get(at)
    }

    /// The thread of the call at `at`.
    pub fn thread(&self, at: usize) -> u32 {
        self.columns[column::THREAD].get(at) as u32
    }

    /// The beginnings of all calls.
    pub fn starts(&self) -> packed::PackedIter<'_> {
        self.columns[column::START].iter()
    }

    /// The threads of all calls.
    pub fn threads(&self) -> impl Iterator<Item = u32> + '_ {
        self.columns[column::THREAD].iter().map(|thread| thread as u32)
    }

    /// Whether all calls are of one thread.
    pub fn are_of_one_thread(&self) -> bool {
        self.is_empty() || self.columns[column::THREAD].constant().is_some()
    }

    /// The read at `at` and the write behind it, where they are such, are parts of one copy.
    pub fn join(&mut self, at: usize) {
        let is = |at: usize, op: Op| at < self.len() && self.columns[column::OP].get(at) == op as u64;
        if is(at, Op::Read) && is(at + 1, Op::Write) {
            let flags = &mut self.columns[column::FLAGS];
            (at..at + 2).for_each(|at| flags.set(at, flags.get(at) | u64::from(COPY)));
        }
    }

    /// The call at `at` is no part of a copy any more.
    pub fn part(&mut self, at: usize) {
        let flags = self.columns[column::FLAGS].get(at);
        let op = self.columns[column::OP].get(at);
        if flags & u64::from(COPY) != 0 && (op == Op::Read as u64 || op == Op::Write as u64) {
            self.columns[column::FLAGS].set(at, flags & !u64::from(COPY));
        }
    }

    /// Through the mapping at `at` nothing was stored: it is as one that is only read.
    pub fn only_reads(&mut self, at: usize) {
        if self.columns[column::OP].get(at) == Op::Map as u64 {
            self.columns[column::FLAGS].set(at, 0);
        }
    }

    /// Whether the recorder told how long it stopped the threads.
    pub fn tell_of_stops(&self) -> bool {
        self.columns[column::HELD].constant().is_none_or(|held| held != 0) && !self.is_empty()
    }

    /// All, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Call> + '_ {
        let mut reader = CallReader::default();
        (0..self.len()).map(move |at| reader.get(self, at as u32))
    }

    /// Those that did what `is` says, each with its index.
    pub fn having(&self, is: impl Fn(Op) -> bool) -> impl Iterator<Item = (u32, Call)> {
        let mut reader = CallReader { patience: CallReader::FEW, ..CallReader::default() };
        let ops = self.columns[column::OP].iter().map(|op| Op::ALL.get(op as usize).copied());
        let at = (0..).zip(ops).filter(move |(_, op)| op.is_some_and(&is));
        at.map(move |(at, _)| (at, reader.get(self, at)))
    }

    /// Gives names other numbers: `map` by the old one.
    pub fn rename(&mut self, map: &[u32]) {
        for names in [column::PATH, column::OTHER] {
            let old = std::mem::take(&mut self.columns[names]);
            let new = |name: u64| map.get(back(name) as usize).map_or(name, |new| shifted(*new));
            self.columns[names] = match old.constant() {
                Some(name) => std::iter::once(new(name)).cycle().take(old.len()).collect(),
                None => old.iter().map(new).collect(),
            };
        }
    }

    /// The indices of all calls in the order of their beginning; calls that began together keep their order.
    pub fn by_start(&self) -> impl Iterator<Item = u32> + '_ {
        let in_order = self.is_jumbled.then(|| in_order(|| self.starts().zip(0..)));
        let as_they_are = if self.is_jumbled { 0 } else { self.len() as u32 };
        (0..as_they_are).chain(in_order.into_iter().flatten())
    }

    /// Whether no call began before the one before it.
    pub fn are_by_start(&self) -> bool {
        !self.is_jumbled
    }
}

impl Call {
    /// Sets what a column holds.
    #[inline(always)]
    fn put(&mut self, number: usize, value: u64) {
        match number {
            column::START => self.start = value,
            column::DURATION => self.duration = unpack(value as u32),
            column::THREAD => self.thread = value as u32,
            column::OP => self.op = Op::ALL.get(value as usize).copied().unwrap_or(Op::Unrepeated),
            column::ERRNO => self.errno = value as u16,
            column::FLAGS => self.flags = value as u32,
            column::FILE => self.file = back(value),
            column::PATH => self.path = back(value),
            column::OTHER => self.other = back(value),
            column::BYTES => self.bytes = value.wrapping_sub(1),
            column::OFFSET => self.offset = value.wrapping_sub(1),
            _ => self.held = value,
        }
    }
}

/// Reads calls one after the other: unpacks a block where some of its calls are wanted.
#[derive(Clone, Debug)]
pub struct CallReader {
    /// The block that is unpacked.
    block: usize,
    calls: Vec<Call>,
    /// The block of the last call that was in no unpacked one, and how often in a row it was that.
    missed: (usize, u32),
    /// A block of which so many calls in a row are wanted is unpacked.
    patience: u32,
    /// The columns that are read.
    columns: u16,
}

impl Default for CallReader {
    fn default() -> Self {
        Self {
            block: usize::MAX,
            calls: Vec::new(),
            missed: (usize::MAX, 0),
            patience: Self::MANY,
            columns: u16::MAX,
        }
    }
}

impl CallReader {
    /// Where most calls are wanted, or may be.
    const MANY: u32 = 24;
    /// Where few are wanted of most blocks.
    const FEW: u32 = 200;

    /// Reads only these columns; the others are those of a new call.
    pub fn of(columns: &[usize]) -> Self {
        Self { columns: columns.iter().fold(0, |all, column| all | 1 << column), ..Self::default() }
    }

    /// The call at `at`, which is below [`Calls::len`]; as it was when its block was unpacked.
    pub fn get(&mut self, calls: &Calls, at: u32) -> Call {
        let at = at as usize;
        let block = at / packed::BLOCK;
        if block != self.block {
            if self.missed.0 != block {
                self.missed = (block, 0);
            }
            self.missed.1 += 1;
            if self.missed.1 < self.patience {
                return self.one(calls, at);
            }
            self.unpack(calls, block);
        }
        match self.calls.get(at % packed::BLOCK) {
            Some(call) => *call,
            // Pushed since.
            None => self.one(calls, at),
        }
    }

    fn has(&self, column: usize) -> bool {
        self.columns >> column & 1 != 0
    }

    fn one(&self, calls: &Calls, at: usize) -> Call {
        let mut call = Call::new(Op::Open, 0, 0, 0);
        for (number, column) in calls.columns.iter().enumerate().filter(|(number, _)| self.has(*number)) {
            call.put(number, column.get(at));
        }
        call
    }

    fn unpack(&mut self, calls: &Calls, block: usize) {
        self.block = block;
        self.calls.clear();
        let constant = calls.columns.each_ref().map(|column| column.constant_of(block));
        let mut of_all = Call::new(Op::Open, 0, 0, 0);
        for (number, value) in (0..).zip(constant).filter(|(number, _)| self.has(*number)) {
            value.into_iter().for_each(|value| of_all.put(number, value));
        }
        let count = calls.len().saturating_sub(block * packed::BLOCK).min(packed::BLOCK);
        self.calls.resize(count, of_all);
        for (number, column) in calls.columns.iter().enumerate() {
            if constant[number].is_some() || !self.has(number) {
                continue;
            }
            let places = self.calls.iter_mut();
            match number {
                column::START => column.each_of_block(block, places, |call, value| call.start = value),
                column::DURATION => {
                    column.each_of_block(block, places, |call, value| call.duration = unpack(value as u32));
                }
                column::FILE => column.each_of_block(block, places, |call, value| call.file = back(value)),
                column::PATH => column.each_of_block(block, places, |call, value| call.path = back(value)),
                column::THREAD => {
                    column.each_of_block(block, places, |call, value| call.thread = value as u32);
                }
                column::FLAGS => column.each_of_block(block, places, |call, value| call.flags = value as u32),
                number => column.each_of_block(block, places, |call, value| call.put(number, value)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_comes_back_as_it_was_kept_and_takes_less_than_64_bytes() {
        let mut calls = Calls::default();
        let mut call = Call::new(Op::Read, 3, u64::MAX / 2, 2_000_000_000);
        (call.errno, call.bytes, call.offset, call.file) = (61, 1 << 40, 1 << 41, 9);
        calls.push(call);
        calls.push(Call { held: 77, ..call });
        assert_eq!(calls.iter().collect::<Vec<_>>(), [call, Call { held: 77, ..call }]);
        const { assert!(Calls::BYTES_A_CALL <= 64) };
        let long = 3600 * 1_000_000_000_u64;
        assert!(unpack(pack(long)).abs_diff(long) < 1 << 20);
    }
}
