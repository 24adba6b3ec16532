//! Estimates when each call would have begun and ended without the recorder.
//!
//! A recorder stops a thread at its calls, so that everything behind them begins later. What a thread was held until a
//! call began is taken off its beginning; a thread that was started begins as late as the one that started it; what waits
//! for the end of another process, or for the bytes of a pipe, ends when the other one would have been there. Waits that are
//! in no trace (locks, sockets) keep what their own thread was held.

use crate::maps::HashMap;
use crate::model::column::{DURATION, FILE, HELD, OP, START, THREAD};
use crate::model::{Call, CallReader, Op, Trace};
use crate::packed::Scattered;
use crate::sorted::in_order;

/// The times of a trace without its recorder, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Undisturbed {
    /// How much earlier each call would have begun; empty where the recorder cost nothing, or did not tell.
    earlier: Scattered,
    /// When calls that wait for other threads would have ended.
    ends: HashMap<u32, u64>,
    /// By how much a duration is longer.
    added: u64,
    /// How much earlier the last call would have ended.
    total: u64,
}

/// A thread while the trace is walked.
#[derive(Clone, Copy, Default)]
struct Walked {
    /// How much earlier it would have been at its last call.
    earlier: u64,
    /// How long it had been held by then.
    held: u64,
    /// When its last call would have ended, and when it did.
    until: u64,
    was_until: u64,
    /// When it would have ended, and when it did.
    ended: Option<(u64, u64)>,
}

impl Undisturbed {
    /// The times of a trace.
    pub fn of(trace: &Trace) -> Self {
        let tells = trace.calls.tell_of_stops();
        let cost = trace.cost_ns.unwrap_or(0);
        if !tells && cost == 0 {
            return Self::default();
        }
        let added = if tells { trace.added_ns.unwrap_or(0) } else { 0 };
        let mut times = Self { earlier: Scattered::zeros(trace.calls.len()), added, ..Self::default() };
        let mut threads = vec![Walked::default(); trace.threads.len()];
        // When the last bytes of each pipe would have been written, and when they were.
        let mut pipes: HashMap<u32, (u64, u64)> = HashMap::default();
        let mut last = 0;
        let mut reader = CallReader::of(&[START, DURATION, THREAD, OP, FILE, HELD]);
        for at in in_order_of_effect(trace) {
            let call = reader.get(&trace.calls, at);
            let own = &mut threads[call.thread as usize];
            let more = if tells { call.held.saturating_sub(own.held) } else { cost };
            own.held = own.held.max(call.held);
            // No call begins before the end of the one before, whatever the recorder thought that it cost.
            // Several calls of the model that are one of the system have one time.
            let most =
                if call.start >= own.was_until { call.start.saturating_sub(own.until) } else { call.start };
            let earlier = (own.earlier + more).min(most);
            own.earlier = earlier;
            times.earlier.put(at as usize, earlier);
            let start = call.start - earlier;
            let end = start + call.duration.saturating_sub(added);
            (own.until, own.was_until) = (end, call.end());
            match call.op {
                Op::Spawn => {
                    if let Some(child) = threads.get_mut(call.file as usize) {
                        (child.earlier, child.until) = (earlier, start);
                    }
                }
                Op::Exit => own.ended = Some((start, call.start)),
                Op::PipeWrite => drop(pipes.insert(call.file, (end, call.end()))),
                Op::Wait | Op::PipeRead => {
                    let other = match call.op {
                        Op::Wait => threads.get(call.file as usize).and_then(|child| child.ended),
                        _ => pipes.get(&call.file).copied(),
                    };
                    let end = other.map_or(end, |other| waited(&call, start, end, other));
                    times.ends.insert(at, end);
                    let own = &mut threads[call.thread as usize];
                    (own.until, own.earlier) = (end, call.end().saturating_sub(end));
                }
                _ => {}
            }
            if call.end() >= last {
                let until = threads[call.thread as usize].until;
                (last, times.total) = (call.end(), call.end().saturating_sub(until));
            }
        }
        times
    }

    /// When a call would have begun.
    pub fn start(&self, at: u32, call: &Call) -> u64 {
        self.begin(at, call.start)
    }

    /// When a call would have begun that began at `start`.
    pub fn begin(&self, at: u32, start: u64) -> u64 {
        start - self.earlier.get(at as usize)
    }

    /// How long it would have taken, apart from waits for other threads.
    pub fn duration(&self, call: &Call) -> u64 {
        call.duration.saturating_sub(self.added)
    }

    /// When it would have ended.
    pub fn end(&self, at: u32, call: &Call) -> u64 {
        self.ends
            .get(&at)
            .copied()
            .unwrap_or_else(|| self.start(at, call).saturating_add(self.duration(call)))
    }

    /// How much earlier the last call would have ended, in nanoseconds.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// When a call that waits for another thread would have ended, which would have been there at `other.0` and was at `other.1`.
fn waited(call: &Call, start: u64, end: u64, other: (u64, u64)) -> u64 {
    let (there, was_there) = other;
    if was_there > call.start {
        start.max(there) + call.end().saturating_sub(was_there).min(call.duration)
    } else {
        end.max(there)
    }
}

/// Waits and reads of pipes take effect at their end, all other calls at their beginning.
fn in_order_of_effect(trace: &Trace) -> impl Iterator<Item = u32> {
    let time = |call: &Call| if matches!(call.op, Op::Wait | Op::PipeRead) { call.end() } else { call.start };
    in_order(move || {
        let mut reader = CallReader::of(&[START, DURATION, OP]);
        (0..trace.calls.len() as u32).map(move |at| (time(&reader.get(&trace.calls, at)), at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Thread;

    fn trace(threads: u32, calls: &[Call]) -> Trace {
        let mut trace = Trace { cost_ns: Some(90), added_ns: Some(40), ..Trace::default() };
        for process in 0..threads {
            trace.threads.push(Thread { id: process, process, name: String::new(), part: 0 });
        }
        calls.iter().for_each(|call| trace.calls.push(*call));
        trace
    }

    #[test]
    fn what_a_thread_was_held_is_taken_off() {
        let call = |start, held| Call { held, ..Call::new(Op::Read, 0, start, 100) };
        let trace = trace(1, &[call(1000, 50), call(2000, 150), call(3000, 250)]);
        let times = Undisturbed::of(&trace);
        let found: Vec<(u64, u64)> = (0..)
            .zip(trace.calls.iter())
            .map(|(at, call)| (times.start(at, &call), times.end(at, &call)))
            .collect();
        assert_eq!(found, [(950, 1010), (1850, 1910), (2750, 2810)]);
        // The last one ended at 3100.
        assert_eq!(times.total(), 290);
    }

    #[test]
    fn no_call_begins_before_the_one_before_has_ended() {
        let call = |start, held| Call { held, ..Call::new(Op::Read, 0, start, 100) };
        let trace = trace(1, &[call(1000, 50), call(1200, 900)]);
        let times = Undisturbed::of(&trace);
        assert_eq!(times.start(1, &trace.calls.get(1)), times.end(0, &trace.calls.get(0)));
        // What is one call of the system begins at one time, and what follows is as much earlier as before.
        let trace = self::trace(1, &[call(1000, 50), call(1000, 50), call(2000, 60)]);
        let times = Undisturbed::of(&trace);
        let starts: Vec<u64> =
            (0..).zip(trace.calls.iter()).map(|(at, call)| times.start(at, &call)).collect();
        assert_eq!(starts, [950, 950, 1940]);
    }

    #[test]
    fn recordings_that_tell_no_stops_cost_the_same_for_each_call() {
        let call = |start| Call::new(Op::Read, 0, start, 100);
        let trace = trace(1, &[call(1000), call(2000)]);
        let times = Undisturbed::of(&trace);
        assert_eq!(times.start(1, &trace.calls.get(1)), 1820);
        assert_eq!(times.duration(&trace.calls.get(1)), 100);
    }

    #[test]
    fn a_wait_ends_with_the_process_that_was_waited_for() {
        let spawn = Call { file: 1, held: 100, ..Call::new(Op::Spawn, 0, 1000, 0) };
        let inner = Call { held: 700, ..Call::new(Op::Read, 1, 3000, 0) };
        let exit = Call { held: 800, ..Call::new(Op::Exit, 1, 4000, 0) };
        let wait = Call { file: 1, held: 200, ..Call::new(Op::Wait, 0, 2000, 2100) };
        let after = Call { held: 300, ..Call::new(Op::Read, 0, 5000, 0) };
        let trace = trace(2, &[spawn, wait, inner, exit, after]);
        let times = Undisturbed::of(&trace);
        // The child begins 100 earlier and is held for 800: it ends at 3100, 100 before the wait does.
        assert_eq!(times.end(1, &wait), 3200);
        // The thread that waited is 900 earlier, and was held for 100 more.
        assert_eq!(times.start(4, &after), 4000);
    }

    #[test]
    fn what_was_held_in_a_read_of_a_pipe_is_taken_off_once() {
        let write = Call { file: 5, ..Call::new(Op::PipeWrite, 0, 1000, 10) };
        // It ended at 1040 under the recorder, which held its thread for 20 of them.
        let read = Call { file: 5, ..Call::new(Op::PipeRead, 1, 500, 520) };
        let after = Call { held: 20, ..Call::new(Op::Read, 1, 1050, 5) };
        let trace = Trace { added_ns: None, ..trace(2, &[write, read, after]) };
        let times = Undisturbed::of(&trace);
        assert_eq!(times.end(1, &read), 1020);
        assert_eq!(times.start(2, &after), 1030);
    }

    #[test]
    fn a_wait_for_what_would_have_ended_before_does_not_end_before_it_begins() {
        let exit = Call { held: 3000, ..Call::new(Op::Exit, 1, 4000, 0) };
        let wait = Call { file: 1, ..Call::new(Op::Wait, 0, 3900, 150) };
        let trace = trace(2, &[wait, exit]);
        let times = Undisturbed::of(&trace);
        assert_eq!((times.start(0, &wait), times.end(0, &wait)), (3900, 3950));
    }
}
