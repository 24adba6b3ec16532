//! When calls took effect: a trace tells when each began and ended, not which of two that overlapped came first.
//!
//! A call takes effect at its beginning, a wait and a read of a pipe at their end. Calls on one name that ran at the same
//! time found it, missed it, made it or removed it, and that tells their order: who found a name that was made meanwhile
//! came behind, who missed it came before. So it is with the bytes of a file: a read of those that are written meanwhile comes
//! behind, one that met the end of the file where they begin before. Such calls take effect later, though not behind their
//! end.

use crate::ends::CallEnds;
use crate::flags::{O_CREAT, O_EXCL};
use crate::maps::HashMap;
use crate::model::column::{ERRNO, FILE, FLAGS, OFFSET, OP, OTHER, PATH, THREAD};
use crate::model::{Call, CallReader, NONE, Op, Trace, UNKNOWN, Was};
use crate::names::parent;
use crate::packed::NumberTable;
use crate::sorted::in_order;

/// A time in nanoseconds, and the place among calls that take effect at it.
type Moment = (u64, u32);

/// When calls of several threads took effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallMoments {
    /// By index: calls that did not take effect at their beginning.
    later: HashMap<u32, Moment>,
}

/// What a call shows of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    Found,
    Missed,
    /// It, or something in it, was missed.
    MissedHereOrBelow,
    Made,
    /// Made where it was missing.
    Ensured,
    Removed,
}

impl Shows {
    fn change(self) -> bool {
        matches!(self, Self::Made | Self::Ensured | Self::Removed)
    }
}

/// From when to when a call ran.
#[derive(Clone, Copy)]
struct CallSpan {
    at: u32,
    thread: u32,
    start: u64,
    end: u64,
}

impl CallSpan {
    /// Whether calls of two threads ran at the same time.
    fn is_beside(&self, other: &Self) -> bool {
        self.thread != other.thread && self.start < other.end && other.start < self.end
    }
}

/// Two calls that overlapped, of which the second came behind the first.
type Succession = (CallSpan, CallSpan);

/// A call, and what it did to a name or a file.
#[derive(Clone, Copy)]
struct Use<T> {
    span: CallSpan,
    what: T,
}

/// Bytes from the one offset to before the other.
#[derive(Clone, Copy)]
struct ByteRange {
    writes: bool,
    from: u64,
    to: u64,
}

impl CallMoments {
    /// From the calls of a trace.
    pub fn of(trace: &Trace) -> Self {
        let mut moments = Self::default();
        let mut late = trace.calls.having(|op| matches!(op, Op::Wait | Op::PipeRead)).peekable();
        let of_one_thread = trace.calls.are_of_one_thread();
        if of_one_thread && late.peek().is_none() {
            return moments;
        }
        let ends = CallEnds::of(trace);
        moments.later.extend(late.map(|(at, call)| (at, (ends.get(at, &call), 0))));
        if of_one_thread {
            return moments;
        }
        let mut successions = on_names(trace, &ends);
        successions.append(&mut on_bytes(trace, &ends));
        moments.settle(&successions);
        moments
    }

    /// When the call at `at` took effect.
    pub fn get(&self, at: u32, call: &Call) -> Moment {
        self.later.get(&at).copied().unwrap_or((call.start, 0))
    }

    /// Calls, which are in the order of their beginning or of their numbers, in the order in which they took effect.
    pub fn sort<'a>(
        &'a self,
        trace: &'a Trace,
        calls: impl Iterator<Item = u32> + Clone + 'a,
    ) -> impl Iterator<Item = u32> + 'a {
        let is_sorted = self.later.is_empty() && trace.calls.are_by_start();
        let moment = |at: u32| {
            let later = if self.later.is_empty() { None } else { self.later.get(&at).copied() };
            (later.unwrap_or_else(|| (trace.calls.start(at as usize), 0)), at)
        };
        let as_they_are = is_sorted.then(|| calls.clone());
        let sorted = (!is_sorted).then(move || in_order(move || calls.clone().map(moment)));
        as_they_are.into_iter().flatten().chain(sorted.into_iter().flatten())
    }

    /// Makes the second of each pair take effect behind the first, if it had not ended by then.
    fn settle(&mut self, successions: &[Succession]) {
        /// What contradicts itself is left.
        const ROUNDS: u32 = 16;
        let of = |later: &HashMap<u32, Moment>, one: &CallSpan| {
            later.get(&one.at).copied().unwrap_or((one.start, 0))
        };
        for _ in 0..ROUNDS {
            let mut moved = false;
            for (first, second) in successions {
                let (time, place) = of(&self.later, first);
                if of(&self.later, second) <= (time, place) && time < second.end {
                    self.later.insert(second.at, (time, place + 1));
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
    }
}

/// Uses of one name, or of the bytes of one file, of which each overlaps with others: what ended before the next began is
/// done with.
struct OverlappingUses<T> {
    uses: Vec<Use<T>>,
    /// When the last of them ended.
    until: u64,
    /// Whether the name was there before them, where that is known.
    there: Option<bool>,
}

impl<T> OverlappingUses<T> {
    fn new(there: Option<bool>) -> Self {
        Self { uses: Vec::new(), until: 0, there }
    }

    /// Takes a use; those before it, where none of them reaches into it.
    fn take(&mut self, one: Use<T>) -> Vec<Use<T>> {
        let done = if self.until < one.span.start { std::mem::take(&mut self.uses) } else { Vec::new() };
        self.until = self.until.max(one.span.end);
        self.uses.push(one);
        done
    }
}

/// The pairs of all names: name by name, as if there were only that one.
fn by_name(mut found: Vec<(u32, Succession)>) -> Vec<Succession> {
    found.sort_by_key(|(name, _)| *name);
    found.into_iter().map(|(_, succession)| succession).collect()
}

/// Calls that used the same names.
fn on_names(trace: &Trace, ends: &CallEnds) -> Vec<Succession> {
    /// Of a name: it was changed, several threads used it; above these bits the number of the first one from 1.
    const CHANGED: u64 = 1;
    const SHARED: u64 = 2;
    let parents: Vec<u32> =
        trace.names.iter().map(|name| trace.names.find(parent(name)).unwrap_or(NONE)).collect();
    let mut known = NumberTable::zeros(trace.names.len());
    let mut reader = CallReader::of(&[THREAD, OP, ERRNO, FLAGS, FILE, PATH, OTHER]);
    for at in 0..trace.calls.len() as u32 {
        let call = reader.get(&trace.calls, at);
        shown(&call, &parents, |name, shows| {
            let (at, own) = (name as usize, (u64::from(call.thread) + 1) << 2);
            let mut marks = known.get(at);
            marks |= if marks >> 2 == 0 { own } else { 0 };
            marks |= if marks & !3 == own { 0 } else { SHARED };
            marks |= if shows.change() { CHANGED } else { 0 };
            if marks != known.get(at) {
                known.set(at, marks);
            }
        });
    }
    let was = |name: &u32| trace.sightings.get(name).map(|seen| seen.was != Was::Nothing);
    let mut names: HashMap<u32, OverlappingUses<Shows>> = HashMap::default();
    if !(0..known.len()).any(|name| known.get(name) & 3 == CHANGED | SHARED) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut reader = CallReader::default();
    for at in trace.calls.by_start() {
        let call = reader.get(&trace.calls, at);
        let span = CallSpan { at, thread: call.thread, start: call.start, end: ends.get(at, &call) };
        shown(&call, &parents, |name, shows| {
            if known.get(name as usize) & 3 == CHANGED | SHARED {
                let together = names.entry(name).or_insert_with(|| OverlappingUses::new(was(&name)));
                let done = together.take(Use { span, what: shows });
                of_name(name, &done, &mut together.there, &mut found);
            }
        });
    }
    for (name, mut together) in names {
        of_name(name, &together.uses, &mut together.there, &mut found);
    }
    by_name(found)
}

/// Calls that wrote and read the same bytes.
fn on_bytes(trace: &Trace, ends: &CallEnds) -> Vec<Succession> {
    let is_use = |call: &Call| {
        matches!(call.op, Op::Read | Op::Write)
            && call.errno == 0
            && call.path != NONE
            && call.offset != UNKNOWN
    };
    // The thread that wrote, and that read, from 2 on, or that several did.
    const SEVERAL: u64 = 1;
    let mut threads = [NumberTable::zeros(trace.names.len()), NumberTable::zeros(trace.names.len())];
    let mut reader = CallReader::of(&[THREAD, OP, ERRNO, PATH, OFFSET]);
    for at in 0..trace.calls.len() as u32 {
        let call = reader.get(&trace.calls, at);
        if !is_use(&call) {
            continue;
        }
        let (known, own) = (&mut threads[usize::from(call.op == Op::Read)], u64::from(call.thread) + 2);
        match known.get(call.path as usize) {
            0 => known.set(call.path as usize, own),
            SEVERAL => {}
            one if one == own => {}
            _ => known.set(call.path as usize, SEVERAL),
        }
    }
    let is_shared = |name: u32| {
        let [writer, reader] = threads.each_ref().map(|known| known.get(name as usize));
        writer != 0 && reader != 0 && (writer != reader || writer == SEVERAL)
    };
    if !(0..trace.names.len() as u32).any(is_shared) {
        return Vec::new();
    }
    let mut files: HashMap<u32, OverlappingUses<ByteRange>> = HashMap::default();
    let mut found = Vec::new();
    let mut reader = CallReader::default();
    for at in trace.calls.by_start() {
        let call = reader.get(&trace.calls, at);
        if is_use(&call) && is_shared(call.path) {
            let span = CallSpan { at, thread: call.thread, start: call.start, end: ends.get(at, &call) };
            let (from, to) = (call.offset, call.offset.saturating_add(call.bytes));
            let what = ByteRange { writes: call.op == Op::Write, from, to };
            let together = files.entry(call.path).or_insert_with(|| OverlappingUses::new(None));
            of_bytes(call.path, &together.take(Use { span, what }), &mut found);
        }
    }
    for (name, together) in files {
        of_bytes(name, &together.uses, &mut found);
    }
    by_name(found)
}

/// Adds the pairs of the bytes of one file.
fn of_bytes(name: u32, uses: &[Use<ByteRange>], successions: &mut Vec<(u32, Succession)>) {
    let latest = latest_ends(uses);
    for write in uses.iter().filter(|one| one.what.writes) {
        let written = write.what;
        for read in beside(uses, &latest, write.span).filter(|other| !other.what.writes) {
            let got = read.what;
            if got.from < written.to && written.from < got.to {
                successions.push((name, (write.span, read.span)));
            } else if got.from == got.to && (written.from..written.to).contains(&got.from) {
                successions.push((name, (read.span, write.span)));
            }
        }
    }
}

/// Up to each call, the latest end of one.
fn latest_ends<T>(uses: &[Use<T>]) -> Vec<u64> {
    let mut latest = 0;
    let later = |one: &Use<T>| {
        latest = one.span.end.max(latest);
        latest
    };
    uses.iter().map(later).collect()
}

/// Those of `uses`, which are in the order of their beginning, that ran at the same time as `one`.
fn beside<'a, T>(
    uses: &'a [Use<T>],
    latest: &[u64],
    one: CallSpan,
) -> impl Iterator<Item = &'a Use<T>> + use<'a, T> {
    let from = latest.partition_point(|end| *end <= one.start);
    let to = uses.partition_point(|other| other.span.start < one.end);
    uses[from.min(to)..to].iter().filter(move |other| one.is_beside(&other.span))
}

/// The names that a call used, and what it shows of each.
fn shown(call: &Call, parents: &[u32], mut tell: impl FnMut(u32, Shows)) {
    use Shows::{Ensured, Found, Made, Missed, MissedHereOrBelow, Removed};
    if call.path == NONE || call.op.command().is_none() || call.file != NONE && call.op != Op::Open {
        return;
    }
    let mut tell = |name: u32, shows| {
        if name != NONE {
            tell(name, shows);
        }
    };
    let above = |name: u32| parents.get(name as usize).copied().unwrap_or(NONE);
    let second = if matches!(call.op, Op::Link | Op::Rename) { call.other } else { NONE };
    match call.errno {
        0 => {
            let (path, other) = match call.op {
                Op::Mkdir | Op::Symlink => (Made, Found),
                Op::Open if call.flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL => (Made, Found),
                Op::Open if call.flags & O_CREAT != 0 => (Ensured, Found),
                Op::Create => (Ensured, Found),
                Op::Link => (Found, Made),
                Op::Rename => (Removed, Ensured),
                Op::Unlink | Op::Rmdir => (Removed, Found),
                _ => (Found, Found),
            };
            tell(call.path, path);
            tell(second, other);
            tell(above(call.path), Found);
            tell(above(second), Found);
        }
        // ENOENT
        2 => {
            tell(call.path, Missed);
            tell(above(call.path), MissedHereOrBelow);
            tell(above(second), MissedHereOrBelow);
        }
        // EEXIST, EISDIR, ENOTEMPTY
        17 | 21 | 39 => tell(if second == NONE { call.path } else { second }, Found),
        _ => {}
    }
}

/// Adds the pairs of one name; its uses are in the order of their beginning. `was_there` tells whether it was there before
/// them, and then whether it is behind them.
fn of_name(
    name: u32,
    uses: &[Use<Shows>],
    was_there: &mut Option<bool>,
    successions: &mut Vec<(u32, Succession)>,
) {
    use Shows::{Ensured, Found, Made, Missed, MissedHereOrBelow, Removed};
    let latest = latest_ends(uses);
    let met =
        |one: CallSpan, what: &[Shows]| beside(uses, &latest, one).any(|other| what.contains(&other.what));
    // Whether the name was there before these two changes.
    let there = |one: CallSpan, other: CallSpan| {
        let begin = one.start.min(other.start);
        let earlier = &uses[..uses.partition_point(|known| known.span.start < begin)];
        match earlier.iter().rev().find(|known| known.what.change() && known.span.end <= begin) {
            Some(last) => Some(last.what != Removed),
            None => *was_there,
        }
    };
    for Use { span: change, what } in uses.iter().filter(|one| one.what.change()) {
        for Use { span: other, what: shows } in beside(uses, &latest, *change) {
            let is_behind = match (what, shows) {
                (Made | Ensured, Missed | MissedHereOrBelow) | (Removed, Found) => false,
                (Made, Found) if !met(*other, &[Removed]) => true,
                (Ensured, Found) if !met(*other, &[Removed]) && there(*change, *other) == Some(false) => true,
                (Removed, Missed) if !met(*other, &[Made, Ensured]) => true,
                (Removed, Made) => match there(*change, *other) {
                    Some(was_there) => was_there,
                    None => continue,
                },
                _ => continue,
            };
            let both = if is_behind { (*change, *other) } else { (*other, *change) };
            successions.push((name, both));
        }
    }
    if let Some(last) = uses.iter().rev().find(|one| one.what.change()) {
        *was_there = Some(last.what != Removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Thread;

    const FOLDER: u32 = 0;
    const FILE: u32 = 1;

    /// The order in which calls took effect, by their index.
    fn order(calls: &[Call]) -> Vec<u32> {
        let mut trace = Trace::default();
        for id in 0..4 {
            trace.threads.push(Thread { id, process: id, name: String::new(), part: 0 });
        }
        assert_eq!((trace.names.intern(b"/d"), trace.names.intern(b"/d/f")), (FOLDER, FILE));
        calls.iter().for_each(|call| trace.calls.push(*call));
        let moments = CallMoments::of(&trace);
        moments.sort(&trace, 0..calls.len() as u32).collect()
    }

    fn call(op: Op, path: u32, thread: u32, start: u64, duration: u64) -> Call {
        Call { path, ..Call::new(op, thread, start, duration) }
    }

    #[test]
    fn who_found_a_directory_came_behind_who_made_it() {
        let inner = call(Op::Mkdir, FILE, 1, 100, 50);
        let outer = call(Op::Mkdir, FOLDER, 0, 110, 50);
        assert_eq!(order(&[inner, outer]), [1, 0]);
        // Not where it had ended before.
        assert_eq!(order(&[Call { start: 50, ..inner }, outer]), [0, 1]);
    }

    #[test]
    fn what_follows_from_a_late_directory_is_late_as_well() {
        let missed = Call { errno: 2, ..call(Op::Mkdir, FILE, 2, 130, 5) };
        let outer = call(Op::Mkdir, FOLDER, 0, 100, 50);
        let inner = call(Op::Mkdir, FILE, 1, 110, 60);
        let exists = Call { errno: 17, ..call(Op::Mkdir, FILE, 3, 115, 70) };
        assert_eq!(order(&[outer, inner, exists, missed]), [3, 0, 1, 2]);
    }

    #[test]
    fn a_name_that_was_missed_was_removed_before_and_made_after() {
        let unlink = call(Op::Unlink, FILE, 0, 100, 50);
        let missed = Call { errno: 2, ..call(Op::Stat, FILE, 1, 90, 50) };
        assert_eq!(order(&[missed, unlink]), [1, 0]);
        let found = call(Op::Stat, FILE, 1, 110, 50);
        assert_eq!(order(&[unlink, found]), [1, 0]);
    }

    #[test]
    fn a_lock_is_taken_behind_its_release() {
        let take = |thread, start, duration| Call {
            flags: O_CREAT | O_EXCL,
            file: thread,
            ..call(Op::Open, FILE, thread, start, duration)
        };
        let release = call(Op::Unlink, FILE, 0, 100, 50);
        assert_eq!(order(&[take(0, 10, 5), take(1, 90, 50), release]), [0, 2, 1]);
    }

    #[test]
    fn time_that_a_recorder_took_off_a_call_is_part_of_it() {
        let found = Call { file: 1, ..call(Op::Open, FILE, 1, 100, 20) };
        let made = Call { file: 2, flags: O_CREAT | O_EXCL, ..call(Op::Open, FILE, 0, 150, 20) };
        let next = Call { held: 80, ..call(Op::Stat, FOLDER, 1, 300, 5) };
        assert_eq!(order(&[found, made, next]), [1, 0, 2]);
        assert_eq!(order(&[found, made, Call { held: 20, ..next }]), [0, 1, 2]);
    }

    #[test]
    fn bytes_are_read_behind_their_write_and_missed_before_it() {
        let bytes = |op, thread, start, bytes| Call {
            file: thread,
            bytes,
            offset: 0,
            ..call(op, FILE, thread, start, 50)
        };
        let write = bytes(Op::Write, 0, 100, 10);
        assert_eq!(order(&[bytes(Op::Read, 1, 90, 10), write]), [1, 0]);
        assert_eq!(order(&[write, bytes(Op::Read, 1, 110, 0)]), [1, 0]);
        assert_eq!(order(&[write, bytes(Op::Read, 1, 110, 10)]), [0, 1]);
    }

    #[test]
    fn calls_of_one_thread_keep_their_order() {
        let outer = call(Op::Mkdir, FOLDER, 0, 100, 50);
        let inner = call(Op::Mkdir, FILE, 1, 90, 30);
        let next = call(Op::Stat, FOLDER, 1, 120, 5);
        assert_eq!(order(&[inner, outer, next]), [1, 0, 2]);
    }
}
