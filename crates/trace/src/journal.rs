//! A trace that grows, as bytes: what was added is written behind what was there, so that of a writer that is killed a reader has
//! all but what it was about to write.

use std::collections::BTreeMap;

use crate::model::{Call, NONE, Op, Sighting, Thread, Trace, UNKNOWN, Unrepeated, Was};

macro_rules! parts {
    ($($(#[$doc:meta])* $part:ident)*) => {
        /// What a part of a journal tells, by its first byte.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Part { $($(#[$doc])* $part,)* }
        const PARTS: &[Part] = &[$(Part::$part,)*];
    };
}

parts! {
    /// A name, with the next number.
    Name
    /// A thread, which may be told again: it became another program.
    Thread
    /// A call.
    Call
    /// What was seen of a name.
    Sighting
    /// What a call is that no program repeats, with the next number.
    Unrepeated
    /// How many calls are left out for a reason.
    LeftOut
    /// The words of operations in the order of their numbers, which another version of the program may have otherwise.
    Operations
}

/// What of a trace was written.
#[derive(Debug, Default)]
pub struct Journal {
    has_operations: bool,
    names: usize,
    threads: usize,
    calls: usize,
    unrepeated: usize,
    left_out: BTreeMap<String, u64>,
    bytes: Vec<u8>,
}

impl Journal {
    /// The bytes of what a trace has since it was asked for last. `again`: what its threads are called may have changed.
    pub fn since(&mut self, trace: &Trace, again: bool) -> &[u8] {
        if !std::mem::replace(&mut self.has_operations, true) {
            self.part(Part::Operations);
            let words: Vec<&str> = Op::ALL.iter().map(|op| op.word()).collect();
            self.text(words.join(",").as_bytes());
        }
        if again {
            self.threads = 0;
        }
        for number in self.names..trace.names.len() {
            self.part(Part::Name);
            self.text(trace.names.get(number as u32));
        }
        for (number, thread) in trace.threads.iter().enumerate().skip(self.threads) {
            self.part(Part::Thread);
            let Thread { id, process, name, part } = thread;
            self.numbers([number as u64, u64::from(*id), u64::from(*process), u64::from(*part)]);
            self.text(name.as_bytes());
        }
        for known in trace.unrepeated.iter().skip(self.unrepeated) {
            self.part(Part::Unrepeated);
            self.number(u64::from(known.changes) | u64::from(known.reads) << 1);
            self.text(known.what.as_bytes());
        }
        for at in self.calls..trace.calls.len() {
            self.call(&trace.calls.get(at));
        }
        (self.names, self.threads) = (trace.names.len(), trace.threads.len());
        (self.unrepeated, self.calls) = (trace.unrepeated.len(), trace.calls.len());
        if self.left_out != trace.left_out {
            let told = std::mem::replace(&mut self.left_out, trace.left_out.clone());
            for (why, count) in trace.left_out.iter().filter(|(why, count)| told.get(*why) != Some(count)) {
                self.part(Part::LeftOut);
                self.number(*count);
                self.text(why.as_bytes());
            }
        }
        &self.bytes
    }

    /// What was seen of a name of the trace.
    pub fn sighted(&mut self, trace: &Trace, name: u32, sighting: Sighting) {
        self.since(trace, false);
        self.part(Part::Sighting);
        let (kind, value) = match sighting.was {
            Was::Nothing => (0, 0),
            Was::Directory => (1, 0),
            Was::File(size) => (2, size),
            Was::Link(text) => (3, u64::from(text)),
        };
        let permissions = sighting.permissions.map_or(0, |bits| u64::from(bits) + 1);
        self.numbers([u64::from(name), kind, value, permissions]);
    }

    /// The bytes are kept.
    pub fn kept(&mut self) {
        self.bytes.clear();
    }

    fn part(&mut self, part: Part) {
        self.bytes.push(part as u8);
    }

    /// Seven bits a byte, the lowest ones first; a byte with the eighth bit is not the last one.
    fn number(&mut self, mut number: u64) {
        while number >= 1 << 7 {
            self.bytes.push(number as u8 | 1 << 7);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn numbers<const COUNT: usize>(&mut self, numbers: [u64; COUNT]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    fn call(&mut self, call: &Call) {
        self.part(Part::Call);
        let of = |number: u32| u64::from(number.wrapping_add(1));
        let numbers = [
            call.start,
            call.duration,
            u64::from(call.thread),
            call.op as u64,
            u64::from(call.errno),
            u64::from(call.flags),
            of(call.file),
            of(call.path),
            of(call.other),
            call.bytes.wrapping_add(1),
            call.offset.wrapping_add(1),
            call.held,
        ];
        self.numbers(numbers);
    }
}

/// The trace of a journal, as far as its bytes are whole and make sense.
pub fn read(format: &str, bytes: &[u8]) -> Trace {
    let mut trace = Trace { format: format.to_owned(), ..Trace::default() };
    let mut rest = bytes;
    // Of a journal that does not tell them: as they were.
    let mut operations: Vec<Option<Op>> =
        Op::ALL.iter().copied().filter(|op| *op != Op::Create).map(Some).collect();
    while read_part(&mut rest, &mut trace, &mut operations).is_some() {}
    let threads = trace.threads.len() as u32;
    trace.threads.iter_mut().for_each(|thread| thread.process = thread.process.min(threads - 1));
    trace
}

fn read_part(rest: &mut &[u8], trace: &mut Trace, operations: &mut Vec<Option<Op>>) -> Option<()> {
    let (first, behind) = rest.split_first()?;
    *rest = behind;
    match PARTS.get(usize::from(*first))? {
        Part::Name => {
            let name = text(rest)?;
            trace.names.intern(name);
        }
        Part::Thread => {
            let [at, id, process, part] = numbers(rest)?;
            let name = String::from_utf8_lossy(text(rest)?).into_owned();
            let thread = Thread { id: id as u32, process: process as u32, name, part: part as u32 };
            match trace.threads.get_mut(usize::try_from(at).ok()?) {
                Some(known) => *known = thread,
                None => trace.threads.push(thread),
            }
        }
        Part::Call => {
            let call = call(numbers(rest)?, trace, operations)?;
            trace.calls.push(call);
        }
        Part::Sighting => {
            let [name, kind, value, permissions] = numbers(rest)?;
            let was = match kind {
                0 => Was::Nothing,
                1 => Was::Directory,
                2 => Was::File(value),
                _ => Was::Link(value as u32),
            };
            let permissions = permissions.checked_sub(1).map(|bits| bits as u32);
            trace.sightings.insert(name as u32, Sighting { was, permissions });
        }
        Part::Unrepeated => {
            let [changes] = numbers(rest)?;
            let what = String::from_utf8_lossy(text(rest)?).into_owned();
            trace.unrepeated.push(Unrepeated { what, changes: changes & 1 != 0, reads: changes & 2 != 0 });
        }
        Part::LeftOut => {
            let [count] = numbers(rest)?;
            trace.left_out.insert(String::from_utf8_lossy(text(rest)?).into_owned(), count);
        }
        Part::Operations => {
            let of = |word: &[u8]| Op::ALL.iter().copied().find(|op| op.word().as_bytes() == word);
            *operations = text(rest)?.split(|byte| *byte == b',').map(of).collect();
        }
    }
    Some(())
}

/// A call that a recording may hold; none of a thread, a name or a reason that was not told.
fn call(numbers: [u64; 12], trace: &Trace, operations: &[Option<Op>]) -> Option<Call> {
    let back = |number: u64| (number as u32).wrapping_sub(1);
    let call = Call {
        start: numbers[0],
        duration: numbers[1],
        thread: numbers[2] as u32,
        op: (*operations.get(usize::try_from(numbers[3]).ok()?)?)?,
        errno: numbers[4] as u16,
        flags: numbers[5] as u32,
        file: back(numbers[6]),
        path: back(numbers[7]),
        other: back(numbers[8]),
        bytes: numbers[9].wrapping_sub(1),
        offset: numbers[10].wrapping_sub(1),
        held: numbers[11],
    };
    let is_thread = |number: u32| (number as usize) < trace.threads.len();
    let is_name = |number: u32| number == NONE || (number as usize) < trace.names.len();
    let is_whole = is_thread(call.thread)
        && is_name(call.path)
        && is_name(call.other)
        && match call.op {
            Op::Spawn | Op::Wait => is_thread(call.file),
            Op::Unrepeated => (call.flags as usize) < trace.unrepeated.len(),
            Op::Read => call.bytes != UNKNOWN,
            _ => true,
        };
    is_whole.then_some(call)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn numbers<const COUNT: usize>(rest: &mut &[u8]) -> Option<[u64; COUNT]> {
    let mut out = [0; COUNT];
    for place in &mut out {
        *place = number(rest)?;
    }
    Some(out)
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(number(rest)?).ok()?;
    let (text, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace that grows in steps, and the bytes of each.
    fn grown() -> (Trace, Vec<Vec<u8>>) {
        let (mut trace, mut journal) =
            (Trace { format: "a recorder".into(), ..Trace::default() }, Journal::default());
        let mut steps = Vec::new();
        let mut keep = |journal: &mut Journal, trace: &Trace, again| {
            steps.push(journal.since(trace, again).to_vec());
            journal.kept();
        };
        trace.threads.push(Thread { id: 7, process: 0, name: "sh".into(), part: 0 });
        let name = trace.names.intern(b"/a\xff");
        let seen = Sighting { was: Was::File(1 << 40), permissions: Some(0o640) };
        trace.sightings.insert(name, seen);
        journal.sighted(&trace, name, seen);
        keep(&mut journal, &trace, false);
        let open = Call { path: name, file: 0, bytes: UNKNOWN, ..Call::new(Op::Open, 0, 5, 6) };
        trace.calls.push(open);
        keep(&mut journal, &trace, false);
        trace.threads[0].name = "app".into();
        trace.leave_out("calls with an empty name");
        keep(&mut journal, &trace, true);
        let flags = trace.unrepeated("setxattr", true);
        trace.calls.push(Call { flags, offset: 1, held: u64::MAX, ..Call::new(Op::Unrepeated, 0, 9, 1) });
        trace.leave_out("calls with an empty name");
        keep(&mut journal, &trace, false);
        keep(&mut journal, &trace, false);
        assert!(steps.pop().unwrap().is_empty());
        (trace, steps)
    }

    fn same(one: &Trace, other: &Trace) -> bool {
        one.calls.iter().eq(other.calls.iter())
            && one.names.iter().eq(other.names.iter())
            && (&one.threads, &one.sightings) == (&other.threads, &other.sightings)
            && (&one.unrepeated, &one.left_out) == (&other.unrepeated, &other.left_out)
            && one.format == other.format
    }

    #[test]
    fn a_trace_comes_back_as_it_was() {
        let (trace, steps) = grown();
        assert!(same(&read("a recorder", &steps.concat()), &trace));
    }

    #[test]
    fn operations_that_another_version_numbered_otherwise_are_what_they_were() {
        let (trace, steps) = grown();
        let bytes = steps.concat();
        let part = bytes.iter().position(|byte| *byte == b',').unwrap();
        let begin = part - Op::ALL[0].word().len();
        let words = Op::ALL.iter().map(|op| op.word()).collect::<Vec<_>>().join(",");
        // The first word changes its place with another of the same length.
        let other = Op::ALL.iter().position(|op| *op == Op::Stat).unwrap();
        let mut moved: Vec<&str> = words.split(',').collect();
        moved.swap(0, other);
        let mut journal = bytes.clone();
        journal[begin..begin + words.len()].copy_from_slice(moved.join(",").as_bytes());
        assert_eq!(read("a recorder", &journal).calls.get(0).op, Op::ALL[other]);
        assert_eq!(read("a recorder", &bytes).calls.get(0).op, trace.calls.get(0).op);
        // Journals were without them once, and knew no `create`.
        let before = &bytes[begin + words.len()..];
        let number = |op: Op| Op::ALL.iter().filter(|one| **one != Op::Create).position(|one| *one == op);
        let found = read("a recorder", before);
        assert_eq!(number(found.calls.get(0).op), Some(Op::Open as usize));
    }

    #[test]
    fn of_bytes_that_end_anywhere_whole_parts_are_read_and_what_makes_no_sense_ends_them() {
        let (trace, steps) = grown();
        let bytes = steps.concat();
        let mut calls = Vec::new();
        for end in 0..=bytes.len() {
            let found = read("a recorder", &bytes[..end]);
            assert!(found.calls.iter().zip(trace.calls.iter()).all(|(one, other)| one == other));
            calls.push(found.calls.len());
        }
        assert!(calls.is_sorted() && calls.last() == Some(&2));
        for at in 0..bytes.len() {
            let mut strange = bytes.clone();
            strange[at] = 0xff;
            let found = read("a recorder", &strange);
            let (threads, names) = (found.threads.len() as u32, found.names.len() as u32);
            assert!(
                found
                    .calls
                    .iter()
                    .all(|call| call.thread < threads && (call.path == NONE || call.path < names))
            );
            assert!(found.threads.iter().all(|thread| thread.process < threads));
        }
    }
}
