//! Decides which rank, and which worker of it, does the calls of each thread.
//!
//! Threads of a process are workers of one rank, processes are ranks. A process for whose end its parent waits without
//! doing anything meanwhile is written where it was waited for, and a rank whose process has ended takes the next one:
//! a shell that starts a thousand commands one after the other is one rank.

use std::collections::BTreeMap;

use crate::model::column::{DURATION, START, THREAD};
use crate::model::{CallReader, Op, Trace};
use crate::packed::{NumberTable, Packed};

/// The calls that one rank, or one worker of it in a `parallel` block, does one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strand {
    /// Its rank.
    pub rank: u32,
    /// Which of the rank's segments it belongs to.
    pub segment: u32,
    /// Its worker in the segment.
    pub worker: u32,
    /// Indices of its calls, in the order of their beginning.
    pub calls: Packed,
}

/// A rank of the program: segments one after the other; one with several strands is a `parallel` block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankPlan {
    /// The programs that its processes ran.
    pub names: Vec<String>,
    /// Strands of each segment, by number.
    pub segments: Vec<Vec<u32>>,
}

/// Who does what.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    /// All strands.
    pub strands: Vec<Strand>,
    /// All ranks.
    pub ranks: Vec<RankPlan>,
    /// The strand of each call of the trace, and 1; 0 of those that no program does.
    strand_of: NumberTable,
}

/// A process, or a thread of one, as an interval of time.
#[derive(Clone, Debug, Default)]
struct Interval {
    /// When it was started.
    spawn: u64,
    /// When its last call ended.
    last: u64,
    /// When it was waited for, or ended; `None`: the trace does not tell.
    done: Option<u64>,
    /// Who started it.
    parent: Option<usize>,
    /// Whether it may take the calls of others while it waits.
    hosts: bool,
    /// Indices of its calls, in the order of their beginning.
    calls: Packed,
    /// The recording that it is in.
    part: u32,
}

/// Distributes the calls `kept`, which are in the order of their beginning.
pub fn lanes(trace: &Trace, kept: &Packed) -> Lanes {
    let (threads, processes) = intervals(trace, kept);
    let mut lanes = Lanes { strand_of: NumberTable::zeros(trace.calls.len()), ..Lanes::default() };
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (thread, of) in trace.threads.iter().enumerate() {
        if !threads[thread].calls.is_empty() {
            members.entry(of.process as usize).or_default().push(thread);
        }
    }
    let process_of = |thread: u32| trace.threads[thread as usize].process as usize;
    let ranks = place(trace, &processes, members.keys().copied());
    let mut rank_of: BTreeMap<usize, usize> = BTreeMap::new();
    for (rank, placed) in ranks.iter().enumerate() {
        let mut names: Vec<String> = Vec::new();
        for process in placed {
            rank_of.insert(*process, rank);
            let name = &trace.threads[*process].name;
            if !name.is_empty() && !names.contains(name) {
                names.push(name.clone());
            }
        }
        lanes.ranks.push(RankPlan { names, segments: Vec::new() });
    }
    let mut calls_of: Vec<Packed> = vec![Packed::default(); ranks.len()];
    let mut reader = CallReader::of(&[THREAD]);
    for at in kept.iter() {
        let thread = reader.get(&trace.calls, at as u32).thread;
        calls_of[rank_of[&process_of(thread)]].push(at);
    }
    for (rank, calls) in calls_of.into_iter().enumerate() {
        let periods: Vec<Period> =
            ranks[rank].iter().filter_map(|process| Period::of(trace, &threads, &members[process])).collect();
        lanes.divide(trace, rank as u32, calls, periods);
    }
    lanes
}

/// Each thread and each process as an interval of time.
fn intervals(trace: &Trace, kept: &Packed) -> (Vec<Interval>, Vec<Interval>) {
    let count = trace.threads.len();
    let mut threads = vec![Interval { hosts: true, ..Interval::default() }; count];
    for (interval, thread) in threads.iter_mut().zip(&trace.threads) {
        interval.part = thread.part;
    }
    let mut processes = threads.clone();
    let process_of = |thread: u32| trace.threads[thread as usize].process as usize;
    let mut reader = CallReader::of(&[START, DURATION, THREAD]);
    for at in kept.iter() {
        let call = reader.get(&trace.calls, at as u32);
        for one in [&mut threads[call.thread as usize], &mut processes[process_of(call.thread)]] {
            if one.calls.is_empty() && one.spawn == 0 {
                one.spawn = call.start;
            }
            one.calls.push(at);
            one.last = one.last.max(call.end());
        }
    }
    for (_, call) in trace.calls.having(|op| matches!(op, Op::Spawn | Op::Exit | Op::Wait)) {
        match call.op {
            Op::Spawn => {
                let child = call.file;
                threads[child as usize].spawn = call.start;
                threads[child as usize].parent = Some(call.thread as usize);
                if process_of(child) != process_of(call.thread) {
                    processes[process_of(child)].spawn = call.start;
                    processes[process_of(child)].parent = Some(process_of(call.thread));
                }
            }
            Op::Exit => {
                threads[call.thread as usize].done = Some(call.start);
            }
            Op::Wait if call.errno == 0 => processes[process_of(call.file)].done = Some(call.end()),
            _ => {}
        }
    }
    let mut with_calls = vec![0_u32; count];
    for (thread, interval) in threads.iter().enumerate() {
        with_calls[process_of(thread as u32)] += u32::from(!interval.calls.is_empty());
    }
    for (process, interval) in processes.iter_mut().enumerate() {
        interval.hosts = with_calls[process] <= 1;
    }
    (threads, processes)
}

/// Puts intervals into as few lanes as causes allow; gives the members of each lane.
fn place(trace: &Trace, intervals: &[Interval], which: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = which.collect();
    order.sort_by_key(|at| (intervals[*at].part, intervals[*at].spawn, *at));
    let mut lanes: Vec<Vec<usize>> = Vec::new();
    // Members that could still be in the way, by lane; those that are done by now are dropped.
    let mut busy: Vec<Vec<usize>> = Vec::new();
    for at in order {
        let own = &intervals[at];
        let fits = |other: &usize| lets_in(trace, intervals, *other, at);
        let same_part = |lane: usize| intervals[lanes[lane][0]].part == own.part;
        for members in &mut busy {
            members.retain(|member| intervals[*member].done.is_none_or(|done| done > own.spawn));
        }
        let free = (0..busy.len()).find(|lane| same_part(*lane) && busy[*lane].iter().all(fits));
        match free {
            Some(lane) => {
                lanes[lane].push(at);
                busy[lane].push(at);
            }
            None => {
                lanes.push(vec![at]);
                busy.push(vec![at]);
            }
        }
    }
    lanes
}

/// Whether `other`, which is in a lane already, leaves room for `at`.
fn lets_in(trace: &Trace, intervals: &[Interval], other: usize, at: usize) -> bool {
    let (own, other_one) = (&intervals[at], &intervals[other]);
    let Some(done) = own.done else { return false };
    let mut above = own.parent;
    let mut steps = 0;
    while let Some(ancestor) = above.filter(|ancestor| *ancestor != other) {
        above = intervals[ancestor].parent;
        steps += 1;
        if steps > 1000 {
            return false;
        }
    }
    if above.is_none() || !other_one.hosts {
        return false;
    }
    let next = other_one.calls.partition_point(|call| trace.calls.start(call as usize) <= own.spawn);
    let call = |number: usize| trace.calls.get(other_one.calls.get(number) as usize);
    // One that is in a call when the other is started cannot do its calls meanwhile.
    let is_free = next.checked_sub(1).is_none_or(|last| call(last).end() <= own.spawn);
    is_free && (next == other_one.calls.len() || call(next).start >= done.max(own.last))
}

/// The time in which several threads of a process were at work at once.
struct Period {
    begin: u64,
    end: u64,
    /// The threads of each worker.
    workers: Vec<Vec<usize>>,
}

impl Period {
    /// `None` where the threads work one after the other.
    fn of(trace: &Trace, threads: &[Interval], members: &[usize]) -> Option<Self> {
        let workers = place(trace, threads, members.iter().copied());
        let others = workers.iter().skip(1).flatten();
        let first = |thread: &usize| threads[*thread].calls.iter().next();
        let begin = others.filter_map(first).map(|call| trace.calls.start(call as usize)).min()?;
        // The first thread may work alone afterwards; any other one stays a worker until its last call.
        let end = workers.iter().flatten().skip(1).map(|thread| threads[*thread].last).max()?;
        Some(Self { begin, end, workers })
    }
}

impl Lanes {
    /// The strands of the segment before that of a strand.
    pub fn before(&self, strand: u32) -> &[u32] {
        let one = &self.strands[strand as usize];
        let segments = &self.ranks[one.rank as usize].segments;
        (one.segment as usize)
            .checked_sub(1)
            .and_then(|before| segments.get(before))
            .map_or(&[], Vec::as_slice)
    }

    /// The strand of a call, [`crate::model::NONE`] of one that no program does.
    pub fn strand_of(&self, at: u32) -> u32 {
        (self.strand_of.get(at as usize) as u32).wrapping_sub(1)
    }

    /// Divides the calls of a rank into segments.
    fn divide(&mut self, trace: &Trace, rank: u32, calls: Packed, mut periods: Vec<Period>) {
        if periods.is_empty() {
            return self.segment(rank, vec![calls]);
        }
        periods.sort_by_key(|period| period.begin);
        let start = |at: u64| trace.calls.start(at as usize);
        let part = |from: usize, to: usize| calls.range(from, to).collect::<Packed>();
        let mut from = 0;
        for period in periods {
            let first = calls.partition_point_behind(from, |at| start(at) < period.begin);
            self.segment(rank, vec![part(from, first)]);
            let after = calls.partition_point_behind(first, |at| start(at) < period.end);
            let mut workers = vec![Packed::default(); period.workers.len()];
            for at in calls.range(first, after) {
                let thread = trace.calls.thread(at as usize) as usize;
                let worker = period.workers.iter().position(|threads| threads.contains(&thread));
                workers[worker.unwrap_or(0)].push(at);
            }
            self.segment(rank, workers);
            from = after;
        }
        self.segment(rank, vec![part(from, calls.len())]);
    }

    fn segment(&mut self, rank: u32, workers: Vec<Packed>) {
        let workers: Vec<Packed> = workers.into_iter().filter(|calls| !calls.is_empty()).collect();
        if workers.is_empty() {
            return;
        }
        let segment = self.ranks[rank as usize].segments.len() as u32;
        let first = self.strands.len() as u32;
        self.ranks[rank as usize].segments.push((first..first + workers.len() as u32).collect());
        for (worker, calls) in workers.into_iter().enumerate() {
            let number = self.strands.len() as u64 + 1;
            calls.iter().for_each(|at| self.strand_of.set(at as usize, number));
            self.strands.push(Strand { rank, segment, worker: worker as u32, calls });
        }
    }
}
