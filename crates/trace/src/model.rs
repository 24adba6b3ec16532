//! The columnar model of a trace: what each format gives, at most 64 bytes a call.

use crate::maps::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Stands where a call has no name, file or offset.
pub const NONE: u32 = u32::MAX;
/// Stands where an offset or a size is not known.
pub const UNKNOWN: u64 = u64::MAX;

macro_rules! ops {
    (
        replayed { $($(#[$doc:meta])* $name:ident $word:literal $command:literal)* }
        only_orders { $($(#[$order_doc:meta])* $order:ident $order_word:literal)* }
    ) => {
        /// What a call did.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $($(#[$doc])* $name,)* $($(#[$order_doc])* $order,)* }

        impl Op {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Op] = &[$(Op::$name,)* $(Op::$order,)*];

            /// Its word in recordings and tables.
            pub fn word(self) -> &'static str {
                match self { $(Op::$name => $word,)* $(Op::$order => $order_word,)* }
            }

            /// The command of the language that repeats it; `None` for what is in no program, and only orders the calls
            /// that are.
            pub fn command(self) -> Option<&'static str> {
                match self { $(Op::$name => Some($command),)* $(Op::$order => None,)* }
            }
        }

        /// The pattern of what is in no program.
        macro_rules! only_orders {
            () => { $($crate::model::Op::$order)|* };
        }
        pub(crate) use only_orders;
    };
}

ops! {
    replayed {
        /// `path` was opened as `file`; `bytes`: its size then, `offset`: permissions, `flags`: how.
        Open "open" "fopen"
        /// The last descriptor of `file` was closed.
        Close "close" "fclose"
        /// `bytes` came from `offset`; with [`EXPLICIT`] in `flags` the call named the offset.
        Read "read" "fread"
        /// `bytes` went to `offset`.
        Write "write" "fwrite"
        /// The position of `file` became `offset`.
        Seek "seek" "fseek"
        /// `fsync`
        Sync "fsync" "fsync"
        /// `fdatasync`
        DataSync "fdatasync" "fdatasync"
        /// `file` became `bytes` long.
        Truncate "ftruncate" "ftruncate"
        /// `bytes` from `offset` on were reserved.
        Allocate "fallocate" "fallocate"
        /// Attributes of `path`; `bytes`: its size, `offset`: its mode (`st_mode`).
        Stat "stat" "stat"
        /// Whether `path` exists (`access`).
        Lookup "lookup" "lookup"
        /// The file `path` was removed.
        Unlink "unlink" "unlink"
        /// The directory `path` was removed.
        Rmdir "rmdir" "rmdir"
        /// The directory `path` was made; `offset`: permissions.
        Mkdir "mkdir" "mkdir"
        /// The entries of `path` were read; `bytes`: as the system gave them.
        Readdir "readdir" "readdir"
        /// `path` became `other`.
        Rename "rename" "rename"
        /// `other` became a second name of `path`.
        Link "link" "link"
        /// `path` became a symbolic link to the text `other`.
        Symlink "symlink" "symlink"
        /// Permissions of `path` became `offset`.
        Chmod "chmod" "chmod"
    }
    only_orders {
        /// Where the symbolic link `path` leads was read: to `other`.
        Readlink "readlink"
        /// `bytes` of `file` were mapped; what is read and written there is in no trace.
        Map "mmap"
        /// The thread started another: `file` is its number.
        Spawn "spawn"
        /// The thread ended.
        Exit "exit"
        /// The thread waited for the end of thread `file`.
        Wait "wait"
        /// `bytes` came from pipe `file`; 0: no writer is left.
        PipeRead "pipe-read"
        /// `bytes` went into pipe `file`.
        PipeWrite "pipe-write"
        /// `bytes` came from a socket.
        Receive "receive"
        /// `bytes` went to a socket.
        Send "send"
    }
}

/// In [`Call::flags`] of a read or write: the call named its offset.
pub const EXPLICIT: u32 = 1;
/// In [`Call::flags`] of a read or write that was submitted and completed later: from this bit on, how many were in flight.
pub const DEPTH_SHIFT: u32 = 8;
/// In [`Call::flags`] of a stat: the link itself was asked about, not what it leads to.
pub const NO_FOLLOW: u32 = 2;
/// In [`Call::flags`] of a stat: asked about an open file, not by a name.
pub const BY_FILE: u32 = 4;
/// In [`Call::flags`] of a readdir: a further call of one reading of a directory, which is one command.
pub const AGAIN: u32 = 8;
/// In [`Call::flags`] of a read and of the write behind it: one call of the system copied these bytes from file to file.
pub const COPY: u32 = 16;

/// In [`Call::flags`] of a close: the system closed the file, by `execve`, `dup2` or at the end of the process.
pub const IMPLIED: u32 = 1;

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When it began, in nanoseconds since an origin that the trace shares.
    pub start: u64,
    /// How long it took, in nanoseconds; at most 4.29 s are kept exactly, longer ones in steps of 2²⁰ ns.
    pub duration: u64,
    /// Index into [`Trace::threads`].
    pub thread: u32,
    /// What it did.
    pub op: Op,
    /// The errno with which it failed, 0 where it succeeded.
    pub errno: u16,
    /// By `op`.
    pub flags: u32,
    /// Number of the open file, pipe or thread, or [`NONE`].
    pub file: u32,
    /// Name, as an index into [`Trace::names`], or [`NONE`].
    pub path: u32,
    /// Second name, or [`NONE`].
    pub other: u32,
    /// Bytes moved, or by `op`.
    pub bytes: u64,
    /// Offset, or by `op`; [`UNKNOWN`].
    pub offset: u64,
    /// For how long the recorder had kept the thread from its work since its start until the call began, in nanoseconds.
    pub held: u64,
}

impl Call {
    /// A call without anything but its times.
    pub fn new(op: Op, thread: u32, start: u64, duration: u64) -> Self {
        Self {
            start,
            duration,
            thread,
            op,
            errno: 0,
            flags: 0,
            file: NONE,
            path: NONE,
            other: NONE,
            bytes: 0,
            offset: UNKNOWN,
            held: 0,
        }
    }

    /// Whether it is the read, or the write, of a copy from file to file by one call of the system.
    pub fn is_copy(&self, half: Op) -> bool {
        self.op == half && matches!(half, Op::Read | Op::Write) && self.flags & COPY != 0
    }

    /// The command of the language that repeats it. That of the read of a copy does the write as well.
    pub fn command(&self) -> Option<&'static str> {
        if self.is_copy(Op::Read) { Some("fcopy") } else { self.op.command() }
    }

    /// When it ended, in nanoseconds.
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// Durations in 32 bits: exact below 2³¹ ns, above in steps of 2²⁰ ns.
fn pack(duration: u64) -> u32 {
    if duration < 1 << 31 { duration as u32 } else { (1 << 31) | (duration >> 20).min((1 << 31) - 1) as u32 }
}

fn unpack(packed: u32) -> u64 {
    if packed < 1 << 31 { u64::from(packed) } else { u64::from(packed & !(1 << 31)) << 20 }
}

/// Calls in columns: 51 bytes each, 59 where the recorder told how long it stopped the threads.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    start: Vec<u64>,
    duration: Vec<u32>,
    thread: Vec<u32>,
    op: Vec<Op>,
    errno: Vec<u16>,
    flags: Vec<u32>,
    file: Vec<u32>,
    path: Vec<u32>,
    other: Vec<u32>,
    bytes: Vec<u64>,
    offset: Vec<u64>,
    /// Empty where all are 0.
    held: Vec<u64>,
}

impl Calls {
    /// Bytes that one call takes, at most.
    pub const BYTES_A_CALL: usize = 8 * 4 + 4 * 6 + 2 + 1;

    /// How many there are.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Adds one.
    pub fn push(&mut self, call: Call) {
        if call.held > 0 || !self.held.is_empty() {
            self.held.resize(self.start.len(), 0);
            self.held.push(call.held);
        }
        self.start.push(call.start);
        self.duration.push(pack(call.duration));
        self.thread.push(call.thread);
        self.op.push(call.op);
        self.errno.push(call.errno);
        self.flags.push(call.flags);
        self.file.push(call.file);
        self.path.push(call.path);
        self.other.push(call.other);
        self.bytes.push(call.bytes);
        self.offset.push(call.offset);
    }

    /// The call at `at`, which is below [`Calls::len`].
    pub fn get(&self, at: usize) -> Call {
        Call {
            start: self.start[at],
            duration: unpack(self.duration[at]),
            thread: self.thread[at],
            op: self.op[at],
            errno: self.errno[at],
            flags: self.flags[at],
            file: self.file[at],
            path: self.path[at],
            other: self.other[at],
            bytes: self.bytes[at],
            offset: self.offset[at],
            held: self.held.get(at).copied().unwrap_or(0),
        }
    }

    /// The read at `at` and the write behind it, where they are such, are parts of one copy.
    pub fn join(&mut self, at: usize) {
        if let (Some([Op::Read, Op::Write]), Some(flags)) =
            (self.op.get(at..at + 2), self.flags.get_mut(at..at + 2))
        {
            flags.iter_mut().for_each(|flags| *flags |= COPY);
        }
    }

    /// The call at `at` is no part of a copy any more.
    pub fn part(&mut self, at: usize) {
        if let (Some(flags), Some(Op::Read | Op::Write)) = (self.flags.get_mut(at), self.op.get(at)) {
            *flags &= !COPY;
        }
    }

    /// Whether the recorder told how long it stopped the threads.
    pub fn tell_of_stops(&self) -> bool {
        !self.held.is_empty()
    }

    /// All, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Call> + '_ {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Gives names other numbers: `map` by the old one.
    pub fn rename(&mut self, map: &[u32]) {
        for name in self.path.iter_mut().chain(&mut self.other) {
            if let Some(new) = map.get(*name as usize) {
                *name = *new;
            }
        }
    }

    /// The indices of all calls in the order of their beginning; calls that began together keep their order.
    pub fn by_start(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        if !self.start.is_sorted() {
            order.sort_by_key(|at| self.start[*at as usize]);
        }
        order
    }
}

/// Names, each kept once, as bytes.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    names: Vec<Arc<[u8]>>,
    numbers: HashMap<Arc<[u8]>, u32>,
}

impl NameTable {
    /// The number of a name.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let kept: Arc<[u8]> = name.into();
        self.names.push(Arc::clone(&kept));
        self.numbers.insert(kept, self.names.len() as u32 - 1);
        self.names.len() as u32 - 1
    }

    /// The number of a name that is there already.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The name of a number; nothing for [`NONE`].
    pub fn get(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).map_or(&[], |name| name)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All names in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| &**name)
    }
}

/// A thread of the application.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Thread {
    /// Its number in the traced system.
    pub id: u32,
    /// Which process it belongs to: equal for threads that share memory.
    pub process: u32,
    /// The program that it runs, as far as known.
    pub name: String,
    /// The number of its recording, where those of several MPI ranks were joined: its calls are done by other ranks than
    /// those of other recordings.
    #[serde(default)]
    pub part: u32,
}

/// What a name was before the first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Was {
    /// A file of so many bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A symbolic link to the name of that number.
    Link(u32),
    /// Nothing had that name.
    Nothing,
}

/// What was seen of a name at its first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sighting {
    /// Its type.
    pub was: Was,
    /// Its permissions, where known.
    pub permissions: Option<u32>,
}

/// A traced application.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The tool that made the trace, in one word.
    pub format: String,
    /// Its calls on files, and those by which its threads depend on each other.
    pub calls: Calls,
    /// Names of files, absolute where the working directory is known.
    pub names: NameTable,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// What the recorder saw of names before their first use, by number.
    pub sightings: BTreeMap<u32, Sighting>,
    /// What the recorder saw of names when the application had ended, by number.
    pub after: BTreeMap<u32, Sighting>,
    /// Calls that no program can repeat: their number by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Notes about the trace for the reader of the program.
    pub notes: Vec<String>,
    /// What recording one call cost, in nanoseconds, where the recorder measured it.
    pub cost_ns: Option<u64>,
    /// By how much recording makes the duration of a call longer, in nanoseconds, in recordings of earlier versions: later ones
    /// keep durations without that.
    pub added_ns: Option<u64>,
}

impl Trace {
    /// Counts a call that no program can repeat.
    pub fn leave_out(&mut self, why: &str) {
        match self.left_out.get_mut(why) {
            Some(count) => *count += 1,
            None => drop(self.left_out.insert(why.to_owned(), 1)),
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

    #[test]
    fn a_name_has_one_number() {
        let mut names = NameTable::default();
        assert_eq!((names.intern(b"/a"), names.intern(b"/b"), names.intern(b"/a")), (0, 1, 0));
        assert_eq!((names.get(1), names.get(NONE)), (&b"/b"[..], &b""[..]));
    }
}
