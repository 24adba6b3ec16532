//! No time is lost: a closed replay whose operations take as long as those of the application begins none of them sooner.

use proptest::prelude::*;

use super::gaps;
use crate::flags::{O_CREAT, O_EXCL};
use crate::lanes::{Lanes, lanes};
use crate::model::{Call, Op, Thread, Trace};
use crate::order::{Order, order};

const PROCESSES: usize = 6;

/// What a process does next: which process, what, how long after its last call, how long it takes.
type Step = (usize, u8, u64, u64);

/// Processes that start others, wait for them, for pipes and for what is no file, and use files of common names.
struct Application {
    trace: Trace,
    /// When each process can go on; `None` where it does not run.
    clock: [Option<u64>; PROCESSES],
    parent: [usize; PROCESSES],
    ended: [bool; PROCESSES],
    /// When the bytes of a pipe were written that nobody has read.
    piped: Vec<u64>,
    calls: Vec<Call>,
}

impl Application {
    fn of(steps: &[Step]) -> Trace {
        let mut one = Self {
            trace: Trace::default(),
            clock: [None; PROCESSES],
            parent: [0; PROCESSES],
            ended: [false; PROCESSES],
            piped: Vec::new(),
            calls: Vec::new(),
        };
        for process in 0..PROCESSES as u32 {
            one.trace.threads.push(Thread { id: process, process, name: String::new(), part: 0 });
        }
        one.clock[0] = Some(1000);
        steps.iter().for_each(|step| one.step(*step));
        one.calls.sort_by_key(|call| call.start);
        for call in one.calls {
            one.trace.calls.push(call);
        }
        one.trace
    }

    fn step(&mut self, (which, what, after, took): Step) {
        let running: Vec<usize> = (0..PROCESSES).filter(|one| self.clock[*one].is_some()).collect();
        let process = running[which % running.len()];
        let start = self.clock[process].unwrap_or(0) + after;
        let mut end = start + took;
        let path = self.trace.names.intern(format!("/d/{}", which % 4).as_bytes());
        let mut call = Call { path, ..Call::new(Op::Stat, process as u32, start, took) };
        let other = |op| Call::new(op, process as u32, start, took);
        match what {
            0..3 => {}
            3 => call = Call { flags: O_CREAT | O_EXCL, file: self.calls.len() as u32, op: Op::Open, ..call },
            4 => call = Call { op: Op::Unlink, ..call },
            5 => {
                // A client of a server that nobody recorded.
                end = start + 20 * took;
                call = Call { duration: 20 * took, ..other(Op::Receive) };
            }
            6 => {
                let Some(child) = (1..PROCESSES).find(|one| self.clock[*one].is_none() && !self.ended[*one])
                else {
                    return;
                };
                (self.clock[child], self.parent[child]) = (Some(start), process);
                call = Call { file: child as u32, ..other(Op::Spawn) };
            }
            7 => {
                let own = |one: &usize| self.parent[*one] == process && self.clock[*one].is_some();
                let Some(child) = (1..PROCESSES).find(own) else { return };
                let exit = self.clock[child].take().unwrap_or(0);
                self.ended[child] = true;
                self.calls.push(Call::new(Op::Exit, child as u32, exit, 0));
                end = end.max(exit + 1);
                call = Call { file: child as u32, duration: end - start, ..other(Op::Wait) };
            }
            8 => {
                self.piped.push(end);
                call = Call { file: 77, bytes: 1, ..other(Op::PipeWrite) };
            }
            _ => {
                if self.piped.is_empty() {
                    return;
                }
                end = end.max(self.piped.remove(0) + 1);
                call = Call { file: 77, bytes: 1, duration: end - start, ..other(Op::PipeRead) };
            }
        }
        self.clock[process] = Some(end);
        self.calls.push(call);
    }
}

/// When each call of a program begins, by its index, where each takes as long as it was recorded.
fn replay(trace: &Trace, lanes: &Lanes, order: &Order) -> Vec<(u32, u64)> {
    let gaps = gaps(trace, lanes, order);
    let begin = trace.calls.starts().min().unwrap_or(0);
    let strands = lanes.strands.len();
    // Of each strand when its calls ended so far.
    let mut ends: Vec<Vec<u64>> = vec![Vec::new(); strands];
    let mut begins = Vec::new();
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        for strand in 0..strands {
            let done = ends[strand].len();
            if done == lanes.strands[strand].calls.len() {
                continue;
            }
            let at = lanes.strands[strand].calls.get(done) as u32;
            let mut from = Some(ends[strand].last().copied().unwrap_or(begin));
            let mut waits_for = |end: Option<u64>| from = from.zip(end).map(|(one, other)| one.max(other));
            for before in if done == 0 { lanes.before(strand as u32) } else { &[] } {
                let all = &ends[*before as usize];
                let over = all.len() == lanes.strands[*before as usize].calls.len();
                waits_for(all.last().copied().filter(|_| over));
            }
            for (other, count) in order.waits.get(&at).into_iter().flatten() {
                waits_for(ends[*other as usize].get(*count as usize - 1).copied());
            }
            if let Some(from) = from {
                let start = from + gaps[strand].get(done);
                begins.push((at, start));
                ends[strand].push(start + trace.calls.get(at as usize).duration);
                goes_on = true;
            }
        }
    }
    begins
}

/// The recorded beginning and that of the replay, of all calls of processes that are not `silent`.
fn recorded_and_replayed(steps: &[Step], silent: &[bool]) -> Result<Vec<(u64, u64)>, TestCaseError> {
    let trace = Application::of(steps);
    let kept = (0..).zip(trace.calls.iter()).filter(|(_, call)| {
        matches!(call.op, Op::Stat | Op::Open | Op::Unlink) && !silent[call.thread as usize]
    });
    let lanes = lanes(&trace, &kept.map(|(at, _)| at).collect());
    let begins = replay(&trace, &lanes, &order(&trace, &lanes));
    prop_assert_eq!(begins.len(), lanes.strands.iter().map(|strand| strand.calls.len()).sum::<usize>());
    Ok(begins.into_iter().map(|(at, start)| (trace.calls.start(at as usize), start)).collect())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0_usize..24, 0_u8..10, 1_u64..3000, 1_u64..400), 1..60)
}

proptest! {
    #[test]
    fn no_call_begins_sooner_than_it_did(
        steps in steps(),
        silent in prop::collection::vec(any::<bool>(), PROCESSES),
    ) {
        for (recorded, replayed) in recorded_and_replayed(&steps, &silent)? {
            prop_assert!(replayed >= recorded, "{} in place of {}", replayed, recorded);
        }
    }

    /// Calls that use one name may overlap, and wait for each other in a replay; others begin when they did.
    #[test]
    fn where_no_name_changes_each_call_begins_when_it_did(
        steps in steps(),
        silent in prop::collection::vec(any::<bool>(), PROCESSES),
    ) {
        let mut steps = steps;
        steps.iter_mut().filter(|(_, what, ..)| matches!(what, 3 | 4)).for_each(|(_, what, ..)| *what = 0);
        for (recorded, replayed) in recorded_and_replayed(&steps, &silent)? {
            prop_assert_eq!(replayed, recorded);
        }
    }
}
