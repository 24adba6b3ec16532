//! The operations of one side of a comparison.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::import::DoneCalls;
use crate::maps::HashMap;
use crate::model::{AGAIN, IMPLIED, NONE, Op, Trace};
use crate::undisturbed::Undisturbed;

/// Operations of one kind of one side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many operations.
    pub calls: u64,
    /// How many of them failed with which errno.
    pub failed: BTreeMap<i32, u64>,
    /// Bytes that they moved.
    pub bytes: u64,
    /// How long each took, in nanoseconds; sorted when it is compared.
    pub durations: Vec<u64>,
    /// The same of reads and copies that found the end of the file and moved nothing: they say nothing of how long one takes.
    pub at_end: Vec<u64>,
}

impl Tally {
    /// The durations that are compared, sorted.
    pub(super) fn typical(&self) -> &[u64] {
        if self.durations.is_empty() { &self.at_end } else { &self.durations }
    }

    /// All of them together, in nanoseconds.
    pub(super) fn total(&self) -> u64 {
        self.durations.iter().chain(&self.at_end).fold(0, |sum: u64, one| sum.saturating_add(*one))
    }
}

/// The operations of one side: the application or a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// By the language's command.
    pub operations: BTreeMap<String, Tally>,
    /// From the beginning of the first operation to the end of the last, in nanoseconds.
    pub elapsed: u64,
    /// How much of the time it took was the recorder's, which is not in `elapsed`; in nanoseconds.
    pub recorder: u64,
    /// How long its busiest rank read the clock around operations, in nanoseconds.
    pub clock: u64,
    first: Option<u64>,
    last: u64,
    /// Beginning, duration and bytes of each operation.
    spans: Vec<(u64, u64, u64)>,
    /// By rank: beginning, duration and hash of each operation.
    ranks: BTreeMap<u32, Vec<(u64, u64, u64)>>,
}

/// Bins of a side over time, at most.
const MOST_BINS: usize = 10_000;

/// A side over time, in bins of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverTime {
    /// Operations that began.
    pub operations: Vec<u64>,
    /// Bytes of the operations that began.
    pub bytes: Vec<u64>,
    /// Operations in flight on average.
    pub in_flight: Vec<f64>,
}

/// One operation of a side; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Done<'a> {
    /// The language's command.
    pub command: &'a str,
    /// When it began.
    pub start: u64,
    /// How long it took; `None` where that is not known.
    pub duration: Option<u64>,
    /// Bytes that it moved.
    pub bytes: u64,
    /// With which errno it failed, 0 where it did not.
    pub errno: i32,
    /// The rank that did it.
    pub rank: u32,
}

impl Side {
    /// Adds an operation.
    pub fn add(&mut self, done: &Done<'_>) {
        if !self.operations.contains_key(done.command) {
            self.operations.insert(done.command.to_owned(), Tally::default());
        }
        let Some(tally) = self.operations.get_mut(done.command) else { return };
        tally.calls += 1;
        if done.errno != 0 {
            *tally.failed.entry(done.errno).or_default() += 1;
        }
        tally.bytes += done.bytes;
        let is_at_end = done.bytes == 0 && done.errno == 0 && matches!(done.command, "fread" | "fcopy");
        if is_at_end { &mut tally.at_end } else { &mut tally.durations }.extend(done.duration);
        let end = done.start.saturating_add(done.duration.unwrap_or(0));
        let first = self.first.map_or(done.start, |first| first.min(done.start));
        self.first = Some(first);
        self.last = self.last.max(end);
        self.elapsed = self.last.saturating_sub(first);
        self.spans.push((done.start, done.duration.unwrap_or(0), done.bytes));
        let mut hasher = DefaultHasher::new();
        (done.command, done.bytes).hash(&mut hasher);
        let one = (done.start, done.duration.unwrap_or(0), hasher.finish());
        self.ranks.entry(done.rank).or_default().push(one);
    }

    /// How many operations were in flight on average.
    pub fn in_flight(&self) -> f64 {
        let busy: u64 = self.spans.iter().map(|(_, duration, _)| duration).sum();
        busy as f64 / self.elapsed.max(1) as f64
    }

    /// For how long at least one operation was in flight, in nanoseconds.
    pub fn busy(&self) -> u64 {
        let mut spans: Vec<(u64, u64)> =
            self.spans.iter().map(|(start, duration, _)| (*start, *duration)).collect();
        spans.sort_unstable();
        let (mut busy, mut until) = (0, 0);
        for (start, duration) in spans {
            let end = start.saturating_add(duration);
            busy += end.saturating_sub(start.max(until));
            until = until.max(end);
        }
        busy
    }

    /// Operations, bytes and operations in flight in bins of `bin` nanoseconds from the first operation on.
    pub fn over_time(&self, bin: u64) -> OverTime {
        let bin = bin.max(1);
        let bins = usize::try_from(self.elapsed / bin).unwrap_or(0).min(MOST_BINS) + 1;
        let mut out =
            OverTime { operations: vec![0; bins], bytes: vec![0; bins], in_flight: vec![0.0; bins] };
        let first = self.first.unwrap_or(0);
        for (start, duration, bytes) in &self.spans {
            let from = start.saturating_sub(first);
            let at = ((from / bin) as usize).min(bins - 1);
            out.operations[at] += 1;
            out.bytes[at] += bytes;
            let (mut here, mut left) = (from, *duration);
            for at in at..bins {
                let part = left.min((at as u64 + 1).saturating_mul(bin).saturating_sub(here));
                out.in_flight[at] += part as f64 / bin as f64;
                (here, left) = (here + part, left - part);
                if left == 0 {
                    break;
                }
            }
        }
        out
    }

    /// By rank: a hash of what it did in order, of ranks without operations that overlap.
    pub(super) fn sequences(&mut self, overlaps: &dyn Fn(u32) -> bool) -> HashMap<u32, u64> {
        let mut out = HashMap::default();
        for (rank, operations) in self.ranks.iter_mut().filter(|(rank, _)| !overlaps(**rank)) {
            operations.sort_by_key(|(start, ..)| *start);
            let mut hasher = DefaultHasher::new();
            operations.iter().for_each(|(.., what)| what.hash(&mut hasher));
            out.insert(*rank, hasher.finish());
        }
        out
    }

    /// How long ranks computed right behind operations that waited, in nanoseconds; of the rank that did so longest.
    pub fn computed_behind_waits(&self) -> u64 {
        /// An operation that took so long waited for a device, a server or another process: its processor did other things.
        const WAITED_NS: u64 = 20_000;
        /// So much is computed until the processor has everything at hand again.
        const COLD_NS: u64 = 100_000;
        let behind_waits = |operations: &Vec<(u64, u64, u64)>| {
            let mut spans: Vec<(u64, u64)> =
                operations.iter().map(|(start, took, _)| (*start, *took)).collect();
            spans.sort_unstable();
            let (mut sum, mut cold) = (0, 0);
            for ((start, took), (next, _)) in spans.iter().zip(spans.iter().skip(1)) {
                cold = if *took >= WAITED_NS { COLD_NS } else { cold };
                let computed = next.saturating_sub(start + took).min(cold);
                (sum, cold) = (sum + computed, cold - computed);
            }
            sum
        };
        self.ranks.values().map(behind_waits).max().unwrap_or(0)
    }

    /// What the calls `done` of an application were, by their indices and ranks, at the times at which they would have
    /// been without the recorder.
    pub fn of_trace(trace: &Trace, done: &DoneCalls) -> Self {
        let mut side = Self::default();
        let times = Undisturbed::of(trace);
        let (mut first, mut last) = (u64::MAX, 0);
        let listings = listings(trace, done, &times);
        for (at, rank) in done.iter() {
            let call = trace.calls.get(at as usize);
            (first, last) = (first.min(call.start), last.max(call.end()));
            let implied = call.op == Op::Close && call.flags & IMPLIED != 0;
            let further = if call.op == Op::Readdir { listings.get(&call.file).copied() } else { None };
            side.add(&Done {
                command: call.command().unwrap_or(call.op.word()),
                start: times.start(at, &call),
                duration: (!implied).then_some(times.duration(&call).saturating_add(further.unwrap_or(0))),
                bytes: if matches!(call.op, Op::Read | Op::Write) { call.bytes } else { 0 },
                errno: i32::from(call.errno),
                rank,
            });
        }
        side.recorder = last.saturating_sub(first).saturating_sub(side.elapsed);
        side
    }
}

/// How long the further calls took, in nanoseconds, by which the application read each directory that it opened: one
/// `readdir` of a program stands for all of them.
fn listings(trace: &Trace, done: &DoneCalls, times: &Undisturbed) -> HashMap<u32, u64> {
    let mut out: HashMap<u32, u64> = HashMap::default();
    for (at, _) in done.iter() {
        let call = trace.calls.get(at as usize);
        if call.op == Op::Readdir && call.file != NONE {
            out.insert(call.file, 0);
        }
    }
    for call in trace.calls.iter() {
        let further = match call.op {
            Op::Readdir => call.flags & AGAIN != 0,
            Op::Open => true,
            Op::Close => call.flags & IMPLIED == 0,
            _ => false,
        };
        if further && let Some(sum) = out.get_mut(&call.file) {
            *sum = sum.saturating_add(times.duration(&call));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Call, Thread};

    #[test]
    fn the_calls_that_read_a_directory_are_one_operation() {
        let of = |op, start, flags| Call { file: 4, flags, ..Call::new(op, 0, start, 100) };
        let mut trace = Trace::default();
        trace.threads.push(Thread { id: 0, process: 0, name: String::new(), part: 0 });
        for call in [
            of(Op::Open, 1100, 0),
            of(Op::Readdir, 1250, 0),
            of(Op::Readdir, 1400, AGAIN),
            of(Op::Close, 1600, 0),
            Call::new(Op::Readdir, 0, 2000, 70),
        ] {
            trace.calls.push(call);
        }
        let side = Side::of_trace(&trace, &DoneCalls::from_iter([(1, 0), (4, 0)]));
        assert_eq!(side.operations["readdir"].durations, [400, 70]);
    }
}
