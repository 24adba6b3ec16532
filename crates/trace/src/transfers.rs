//! Builds a trace of formats that name a file with each transfer: files are opened at their first use.

use crate::flags::O_RDWR;
use crate::maps::HashMap;
use crate::model::{COPY, Call, EXPLICIT, IMPLIED, Op, Thread, Trace, UNKNOWN};
use crate::names::resolve;

/// One transfer, or another call on a file; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    pub thread: u32,
    pub path: &'a [u8],
    pub op: Op,
    pub offset: u64,
    pub bytes: u64,
    pub start: u64,
    pub duration: u64,
}

/// A trace that grows by transfers.
pub struct Transfers {
    trace: Trace,
    directory: Vec<u8>,
    threads: HashMap<u32, u32>,
    open: HashMap<(u32, u32), u32>,
    /// What is open under a name that it no longer has.
    orphans: Vec<((u32, u32), u32)>,
    files: u32,
}

impl Transfers {
    /// Nothing yet; relative names count from `directory`.
    pub fn new(format: &str, directory: Option<&[u8]>) -> Self {
        Self {
            trace: Trace { format: format.to_owned(), ..Trace::default() },
            directory: directory.unwrap_or(b"/").to_vec(),
            threads: HashMap::default(),
            open: HashMap::default(),
            orphans: Vec::new(),
            files: 0,
        }
    }

    /// The trace, to count what has no place in it.
    pub fn trace(&mut self) -> &mut Trace {
        &mut self.trace
    }

    /// The thread of a number, a process of its own.
    pub fn thread(&mut self, id: u32, name: &str) -> u32 {
        if let Some(known) = self.threads.get(&id) {
            return *known;
        }
        let number = self.trace.threads.len() as u32;
        self.trace.threads.push(Thread { id, process: number, name: name.to_owned(), part: 0 });
        self.threads.insert(id, number);
        number
    }

    /// The number of a name, absolute.
    pub fn name(&mut self, path: &[u8]) -> u32 {
        let whole = resolve(&self.directory, path);
        self.trace.names.intern(&whole)
    }

    /// A file is open from now on, for reading and writing; its number.
    pub fn open(&mut self, thread: u32, path: &[u8], times: (u64, u64)) -> u32 {
        self.open_as(thread, path, (O_RDWR, 0), times)
    }

    /// A file is open from now on, with flags and permissions of `open`, unless it was before; its number.
    pub fn open_as(
        &mut self,
        thread: u32,
        path: &[u8],
        (flags, permissions): (u32, u64),
        (start, duration): (u64, u64),
    ) -> u32 {
        let path = self.name(path);
        if let Some(file) = self.open.get(&(thread, path)) {
            return *file;
        }
        let file = self.files;
        self.files += 1;
        self.open.insert((thread, path), file);
        let opened = Call::new(Op::Open, thread, start, duration);
        self.trace.calls.push(Call { file, path, flags, bytes: UNKNOWN, offset: permissions, ..opened });
        file
    }

    /// Adds a call on a file.
    pub fn push(&mut self, one: &Transfer<'_>) {
        let path = self.name(one.path);
        if one.op == Op::Close {
            if let Some(file) = self.open.remove(&(one.thread, path)) {
                let closed = Call::new(Op::Close, one.thread, one.start, one.duration);
                self.trace.calls.push(Call { file, path, ..closed });
            }
            return;
        }
        let file = self.open(one.thread, one.path, (one.start, 0));
        let made = Call::new(one.op, one.thread, one.start, one.duration);
        let flags = if matches!(one.op, Op::Read | Op::Write) { EXPLICIT } else { 0 };
        self.trace.calls.push(Call { file, path, flags, bytes: one.bytes, offset: one.offset, ..made });
    }

    /// Adds a copy of so many bytes from the beginning of one file to that of another.
    pub fn copy(&mut self, one: &Transfer<'_>, other: &[u8]) {
        let Transfer { thread, path, bytes, start, duration, .. } = *one;
        let files = [path, other].map(|path| (self.open(thread, path, (start, 0)), self.name(path)));
        // The read and the write share the time.
        let half = duration / 2;
        let parts = [(Op::Read, start, half), (Op::Write, start + half, duration - half)];
        for ((op, start, duration), (file, path)) in parts.into_iter().zip(files) {
            let made = Call::new(op, thread, start, duration);
            self.trace.calls.push(Call { file, path, flags: EXPLICIT | COPY, bytes, offset: 0, ..made });
        }
    }

    /// A name is none of what is open from now on: its file was removed, or has another one. The thread closes it; what
    /// others have open under it is closed at the end.
    pub fn forget(&mut self, thread: u32, path: u32, at: u64) {
        for other in 0..self.trace.threads.len() as u32 {
            let key = (other, path);
            let Some(file) = self.open.remove(&key) else { continue };
            match other == thread {
                true => {
                    let closed = Call::new(Op::Close, thread, at, 0);
                    self.trace.calls.push(Call { file, path, flags: IMPLIED, ..closed });
                }
                false => self.orphans.push((key, file)),
            }
        }
    }

    /// Adds calls of which the trace tells that they were there, but not what they did: `what` they are, and how many. Those
    /// that are no reads are taken to have changed the file.
    pub fn lost(&mut self, (thread, at): (u32, u64), path: &[u8], (what, reads): (&str, bool), count: u64) {
        if count == 0 {
            return;
        }
        let path = self.name(path);
        let flags = self.trace.unrepeated_kind(what, !reads, reads);
        self.trace.calls.push(Call {
            path,
            flags,
            offset: count,
            ..Call::new(Op::Unrepeated, thread, at, 0)
        });
    }

    /// Adds a call of the model as it is.
    pub fn call(&mut self, call: Call) {
        self.trace.calls.push(call);
    }

    /// The trace; what is still open is closed.
    pub fn finish(mut self) -> Trace {
        let mut ends: HashMap<u32, u64> = HashMap::default();
        for call in self.trace.calls.iter() {
            let end = ends.entry(call.thread).or_default();
            *end = (*end).max(call.end());
        }
        let mut open: Vec<_> = self.open.into_iter().chain(self.orphans).collect();
        open.sort_unstable_by_key(|(_, file)| *file);
        for ((thread, path), file) in open {
            let at = ends.get(&thread).copied().unwrap_or(0);
            let closed = Call::new(Op::Close, thread, at, 0);
            self.trace.calls.push(Call { file, path, flags: IMPLIED, ..closed });
        }
        self.trace
    }
}
