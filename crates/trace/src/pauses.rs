//! How long the application paused before its calls, or when they began.

use std::collections::BTreeMap;

use crate::lanes::Lanes;
use crate::model::{NONE, Op, Trace};
use crate::order::Order;
use crate::undisturbed::Undisturbed;

/// Times of a program fit 64 bits of nanoseconds. Stamps of a damaged trace may lie further apart.
pub const LONGEST: u64 = 9_000_000_000_000_000_000;

/// When each call would have begun without the recorder, in nanoseconds since the first one that a program does.
pub fn starts(trace: &Trace, lanes: &Lanes) -> Vec<u64> {
    let times = Undisturbed::of(trace);
    let mut starts: Vec<u64> =
        (0..).zip(trace.calls.iter()).map(|(at, call)| times.start(at, &call)).collect();
    let done = |(start, strand): (&u64, &u32)| (*strand != NONE).then_some(*start);
    let first = starts.iter().zip(&lanes.strand_of).filter_map(done).min().unwrap_or(0);
    starts.iter_mut().for_each(|start| *start = start.saturating_sub(first).min(LONGEST));
    starts
}

/// How long the application paused before each call, in nanoseconds: without the time in which it waited for others, or in
/// which the recorder held it.
pub fn gaps(trace: &Trace, lanes: &Lanes, order: &Order) -> Vec<u64> {
    let mut gaps = vec![0; trace.calls.len()];
    let times = Undisturbed::of(trace);
    let mut strand_of_thread: BTreeMap<u32, u32> = BTreeMap::new();
    for strand in 0..lanes.strands.len() {
        for at in &lanes.strands[strand].calls {
            strand_of_thread.entry(trace.calls.get(*at as usize).thread).or_insert(strand as u32);
        }
    }
    // Until when each strand was at work, and what it paused before that.
    let mut state: Vec<Option<(u64, u64)>> = vec![None; lanes.strands.len()];
    let begin = (0..).zip(trace.calls.iter()).map(|(at, call)| times.start(at, &call)).min().unwrap_or(0);
    for at in trace.calls.by_start() {
        let call = trace.calls.get(at as usize);
        let strand = lanes.strand_of[at as usize];
        let (start, end) = (times.start(at, &call), times.end(at, &call));
        if strand == NONE {
            let Some(own) = strand_of_thread.get(&call.thread) else { continue };
            let waits_for_itself = call.op == Op::Wait && strand_of_thread.get(&call.file) == Some(own);
            let blocks = matches!(call.op, Op::Wait | Op::PipeRead | Op::Receive) && !waits_for_itself;
            if let (true, Some((until, paused))) = (blocks, &mut state[*own as usize]) {
                *paused = paused.saturating_add(start.saturating_sub(*until));
                *until = (*until).max(end);
            }
            if call.op == Op::Spawn
                && let Some(child) = strand_of_thread.get(&call.file)
            {
                state[*child as usize].get_or_insert((start, 0));
            }
            continue;
        }
        let (mut until, paused) = state[strand as usize].unwrap_or((begin, 0));
        for (other, count) in order.waits.get(&at).into_iter().flatten() {
            let awaited = lanes.strands[*other as usize].calls[*count as usize - 1];
            until = until.max(times.end(awaited, &trace.calls.get(awaited as usize)));
        }
        gaps[at as usize] = paused.saturating_add(start.saturating_sub(until)).min(LONGEST);
        state[strand as usize] = Some((until.max(end), 0));
    }
    gaps
}
