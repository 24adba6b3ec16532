//! Reads what the preloaded library wrote: records of each thread, merged by their times, become events.

mod asked;
pub(crate) mod files;

use std::collections::{HashMap, HashSet};

use trace::event::{Asked, Event, From, Given};
use trace::follow::Follower;
use trace::model::{Sighting, Was};

use crate::recorded::Seen;
pub use files::ThreadFile;

/// Bytes of a record without its names.
const HEAD: usize = 64;
/// Files grow by so many bytes; no record lies in two chunks.
const CHUNK: usize = 1 << 20;
/// What makes a new file only.
const NEW: i32 = libc::O_CREAT | libc::O_EXCL;
/// The first record of a file lies behind so many bytes: see `preload.rs`.
pub const RING: usize = 576;

macro_rules! kinds {
    ($($kind:ident)*) => {
        /// What a record says, in the order of the numbers of `preload.rs`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum RecordKind { $($kind,)* }
        const KINDS: &[RecordKind] = &[$(RecordKind::$kind,)*];
    };
}

kinds! {
    Begin Forked Thread ThreadEnd End Executes Inherit Sight Open Close Read Write Copy Seek Sync Truncate Allocate
    Duplicate CloseOnExec Stat StatOpen Lookup Unlink Rmdir Mkdir Readdir Rename Link Symlink Readlink Chmod ChmodOpen
    Map Chdir ChdirOpen Wait Pipe Socket CloseRange Spawn Calibration SocketPair Bind Own Chown ChownOpen Utimes UtimesOpen Clone
    TruncateName Submitted Entry
}

impl RecordKind {
    /// Whether an [`RecordKind::Own`] tells what it cost to write it: the library begins then.
    fn is_in_own_time(self) -> bool {
        use RecordKind::{Begin, Calibration, Forked, Inherit, Own, Thread};
        matches!(self, Begin | Forked | Thread | Inherit | Calibration | Own)
    }
}

/// One record.
#[derive(Clone, Copy)]
struct Record<'a> {
    kind: RecordKind,
    thread: u32,
    process: u32,
    start: u64,
    end: u64,
    result: i64,
    errno: u16,
    numbers: [i64; 4],
    one: &'a [u8],
    two: &'a [u8],
}

impl Record<'_> {
    /// When it comes among those of other threads: a call has a descriptor at its end, whose number was that of another file at
    /// its beginning.
    fn moment(&self) -> u64 {
        use RecordKind::{Duplicate, Open, Pipe, Socket, SocketPair};
        match self.kind {
            Open | Duplicate | Pipe | Socket | SocketPair => self.end.max(self.start),
            _ => self.start,
        }
    }
}

/// What was read.
#[derive(Debug)]
pub struct Spooled {
    /// The calls, and what is known of files and threads.
    pub follower: Follower,
    /// Reads and writes that were seen.
    pub seen: Seen,
    /// What a record cost, in nanoseconds.
    pub cost_ns: u64,
    /// Programs that were started and that the library did not enter.
    pub unseen: u64,
    /// Threads whose last calls are not recorded, since there was no room for records.
    pub cut: u64,
}

/// Reads the files of all threads of an application ([`files::read`]), as far as they hold whole records; the application began
/// in `directory`, and to load the library took a program `load_ns` nanoseconds that no record tells.
pub fn read_files(files: &[ThreadFile], directory: &[u8], load_ns: u64) -> Spooled {
    let mut records: Vec<Record<'_>> = files.iter().flat_map(records).collect();
    records.sort_by_key(Record::moment);
    let mut reader = Reader::new(directory, records.first().map_or(0, |first| first.start));
    reader.load_ns = load_ns;
    let costs = records.iter().filter(|record| record.kind == RecordKind::Begin);
    reader.cost_ns = costs.map(|record| u64::try_from(record.numbers[2]).unwrap_or(0)).min();
    for record in &records {
        reader.take(record);
    }
    let cut = files.iter().filter(|file| is_cut(file)).count() as u64;
    Spooled { cut, ..reader.finish() }
}

/// Whether the thread went on when there was no room for further records.
fn is_cut(file: &ThreadFile) -> bool {
    file.bytes.first_chunk::<8>().is_some_and(|first| *first != [0; 8])
}

/// The records of a file, until the first that is not whole.
fn records(file: &ThreadFile) -> Vec<Record<'_>> {
    let mut all = Vec::new();
    for (number, chunk) in file.bytes.chunks(CHUNK).enumerate() {
        let mut rest = chunk.get(if number == 0 { RING } else { 0 }..).unwrap_or(&[]);
        while let Some((record, length)) = record(file, rest) {
            all.push(record);
            rest = rest.get(length..).unwrap_or(&[]);
        }
    }
    only_last_end(&mut all);
    // A thread is announced when its first call has ended, and was there when that began.
    let earliest = all.iter().map(|record| record.start).min();
    if let Some(first) = all.first_mut().filter(|first| first.kind == RecordKind::Thread) {
        first.start = earliest.unwrap_or(first.start);
    }
    all
}

/// Streams are flushed behind what the library takes for the end of a process, which is then recorded once more: the last one
/// counts. Each read the counts of Linux, which those behind it count.
fn only_last_end(records: &mut Vec<Record<'_>>) {
    let Some(last) = records.iter().rposition(|record| record.kind == RecordKind::End) else { return };
    let before = records[..last].iter().filter(|record| record.kind == RecordKind::End).count() as i64;
    if records[last].numbers[0] >= 0 {
        records[last].numbers[0] -= before;
    }
    let mut at = 0;
    records.retain(|record| {
        at += 1;
        record.kind != RecordKind::End || at > last
    });
}

fn record<'a>(file: &ThreadFile, bytes: &'a [u8]) -> Option<(Record<'a>, usize)> {
    let head = bytes.get(..HEAD)?;
    let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
    let kind = *KINDS.get(usize::from(short(0)).checked_sub(1)?)?;
    let (one, two) = (usize::from(short(4)), usize::from(short(6)));
    let names = bytes.get(HEAD..HEAD + one + two)?;
    let record = Record {
        kind,
        thread: file.thread,
        process: file.process,
        start: long(8),
        end: long(16),
        result: long(24).cast_signed(),
        errno: short(2),
        numbers: [32, 40, 48, 56].map(|at| long(at).cast_signed()),
        one: &names[..one],
        two: &names[one..],
    };
    Some((record, (HEAD + one + two).next_multiple_of(8)))
}

/// Calls of a thread that read or write: what the library did itself or could not see, and what it recorded.
#[derive(Default)]
struct Transfers {
    own: i64,
    recorded: u64,
    /// Counts of Linux before the thread became another program.
    before: Option<i64>,
    ended: bool,
}

struct Reader {
    follower: Follower,
    origin: u64,
    transfers: HashMap<u32, Transfers>,
    /// Names that calls have used: what is seen of them later does not tell what was before.
    touched: HashSet<u32>,
    seen: Seen,
    cost_ns: Option<u64>,
    /// The mode of what a thread looked at before its next call.
    looked_at: HashMap<u32, u32>,
    /// How long the library takes to load, beside what its records tell.
    load_ns: u64,
    /// For how many nanoseconds each thread was at work for the recorder.
    own_ns: HashMap<u32, u64>,
    unseen: u64,
}

impl Reader {
    fn new(directory: &[u8], origin: u64) -> Self {
        Self {
            follower: Follower::new("lastrank record --quiet", Some(directory)),
            origin,
            transfers: HashMap::new(),
            touched: HashSet::new(),
            seen: Seen { recorded: 0, counted: 0 },
            cost_ns: None,
            looked_at: HashMap::new(),
            load_ns: 0,
            own_ns: HashMap::new(),
            unseen: 0,
        }
    }

    fn finish(mut self) -> Spooled {
        if self.seen.counted == 0 {
            // Nothing ended by itself: there are no counts of Linux.
            self.seen.recorded = self.transfers.values().map(|one| one.recorded).sum();
        }
        self.unseen += self.transfers.values().filter(|one| one.before.is_some()).count() as u64;
        Spooled {
            follower: self.follower,
            seen: self.seen,
            cost_ns: self.cost_ns.unwrap_or(0),
            unseen: self.unseen,
            cut: 0,
        }
    }

    fn event<'a>(&self, record: &Record<'_>, result: i64, asked: Asked<'a>) -> Event<'a> {
        Event {
            thread: record.thread,
            start: record.start.saturating_sub(self.origin),
            duration: record.end.saturating_sub(record.start),
            result: if record.errno == 0 { result } else { -1 },
            errno: record.errno,
            leads_to: None,
            asked,
        }
    }

    /// A thread that nobody announced begins: its parent started it.
    fn spawn(&mut self, record: &Record<'_>, parent: u32, shares: bool) {
        if self.follower.knows(record.thread) || !self.follower.knows(parent) {
            return;
        }
        let asked =
            Asked::Spawn { shares_memory: shares, shares_descriptors: shares, shares_directory: shares };
        let event = Event { thread: parent, ..self.event(record, i64::from(record.thread), asked) };
        self.follower.held = self.own_ns.get(&parent).copied().unwrap_or(0);
        self.follower.take(&Event { result: i64::from(record.thread), errno: 0, ..event });
        // A number comes again; what its last thread was held is not this one's.
        self.own_ns.insert(record.thread, 0);
        self.follower.held = 0;
    }

    /// A thread was at work for the recorder.
    fn own(&mut self, thread: u32, ns: i64) {
        let own = self.own_ns.entry(thread).or_default();
        *own = own.saturating_add(u64::try_from(ns).unwrap_or(0));
    }

    /// The counts of Linux at the end of a thread.
    fn counted(&mut self, record: &Record<'_>) {
        let transfers = self.transfers.entry(record.thread).or_default();
        let failed = transfers.before.take().is_some();
        transfers.own = transfers.own.saturating_add(i64::from(failed));
        if !transfers.ended && record.numbers[0] >= 0 {
            // The dynamic linker reads once from each library that it loads later.
            let loaded = if record.kind == RecordKind::End { record.numbers[2].max(0) } else { 0 };
            let counted = record.numbers[0].saturating_sub(transfers.own).saturating_sub(loaded);
            self.seen.recorded += transfers.recorded;
            self.seen.counted = self.seen.counted.saturating_add(u64::try_from(counted).unwrap_or(0));
        }
        transfers.ended = true;
    }

    fn take(&mut self, record: &Record<'_>) {
        let [a, b, _, d] = record.numbers;
        match record.kind {
            // Asked before its record was written.
            RecordKind::ThreadEnd | RecordKind::End | RecordKind::Executes => self.own(record.thread, b),
            _ => {}
        }
        self.follower.held = self.own_ns.get(&record.thread).copied().unwrap_or(0);
        self.record(record);
        match record.kind {
            RecordKind::Begin => self.own(record.thread, i64::try_from(self.load_ns).unwrap_or(0)),
            RecordKind::Own => self.own(record.thread, a),
            RecordKind::Sight => self.own(record.thread, d),
            _ => {}
        }
        if !record.kind.is_in_own_time() {
            self.own(record.thread, self.cost_ns.unwrap_or(0).cast_signed());
        }
    }

    fn record(&mut self, record: &Record<'_>) {
        let [a, b, _, _] = record.numbers;
        match record.kind {
            RecordKind::Begin => {
                self.spawn(record, a as u32, false);
                if !self.follower.knows(record.thread) {
                    self.follower.thread(record.thread);
                }
                let exec = Asked::Exec { path: record.one };
                self.follower.take(&self.event(record, 0, exec));
                self.follower.take(&self.event(record, 0, Asked::WorkingDirectory { path: record.two }));
                let transfers = self.transfers.entry(record.thread).or_default();
                if transfers.ended {
                    *transfers = Transfers::default();
                }
                // The dynamic linker's reads, and the one that told the count.
                let before = transfers.before.take().unwrap_or(0);
                if before >= 0 {
                    let unseen = b.saturating_sub(before).saturating_add(1);
                    transfers.own = transfers.own.saturating_add(unseen);
                } else {
                    // Who has become another user is not told its counts: from here on they are known again.
                    *transfers = Transfers { own: b.saturating_add(1), ..Transfers::default() };
                }
            }
            RecordKind::Forked => {
                self.spawn(record, a as u32, false);
                self.transfers.insert(record.thread, Transfers::default());
            }
            RecordKind::Thread => {
                self.spawn(record, record.process, true);
                self.transfers.insert(record.thread, Transfers::default());
            }
            RecordKind::ThreadEnd | RecordKind::End => {
                self.counted(record);
                if self.follower.knows(record.thread) {
                    self.follower.take(&self.event(record, 0, Asked::Exit));
                }
            }
            RecordKind::Executes => {
                let transfers = self.transfers.entry(record.thread).or_default();
                // The one before failed; the library read the counts for it.
                let failed = transfers.before.replace(a).is_some();
                transfers.own = transfers.own.saturating_add(i64::from(failed));
            }
            RecordKind::Inherit => self.follower.inherit_missing(record.thread, a as i32, record.one),
            RecordKind::Sight => self.sight(record),
            RecordKind::Calibration | RecordKind::Own => {}
            _ => self.call(record),
        }
    }

    fn given<'a>(directory: i64, name: &'a [u8]) -> Given<'a> {
        let from =
            if directory as i32 == libc::AT_FDCWD { From::Here } else { From::Descriptor(directory as i32) };
        Given { from, name }
    }

    fn sight(&mut self, record: &Record<'_>) {
        let [directory, mode, size, _] = record.numbers;
        self.looked_at.insert(record.thread, mode as u32);
        let Some(name) = self.follower.name(record.thread, Self::given(directory, record.one)) else {
            return;
        };
        if !self.touched.insert(name) {
            return;
        }
        let mode = mode as u32;
        let was = match mode & libc::S_IFMT {
            0 => Was::Nothing,
            libc::S_IFDIR => Was::Directory,
            // Where it leads is told by a `readlink`, if there is one.
            libc::S_IFLNK => return,
            _ => Was::File(u64::try_from(size).unwrap_or(0)),
        };
        let permissions = (was != Was::Nothing).then_some(mode & 0o7777);
        self.follower.sight(name, Sighting { was, permissions });
    }

    fn call(&mut self, record: &Record<'_>) {
        let transfers = self.transfers.entry(record.thread).or_default();
        if transfers.ended {
            return;
        }
        transfers.recorded += match record.kind {
            RecordKind::Read | RecordKind::Write => 1,
            RecordKind::Copy if record.result > 0 => 2,
            _ => 0,
        };
        let mode = self.looked_at.remove(&record.thread).unwrap_or(0);
        let asked = match asked::asked(record) {
            // `remove` works on directories as well.
            Some(Asked::Unlink { path }) if record.result == 0 && mode & libc::S_IFMT == libc::S_IFDIR => {
                Some(Asked::Rmdir { path })
            }
            asked => asked,
        };
        if let Some(asked) = asked {
            for given in asked::names(&asked) {
                if let Some(name) = self.follower.name(record.thread, given) {
                    self.touched.insert(name);
                }
            }
            let event = self.event(record, record.result, asked);
            self.follower.take(&event);
        }
    }
}

#[cfg(test)]
mod tests;
