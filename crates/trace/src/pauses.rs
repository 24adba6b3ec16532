//! How long the application paused before its calls, or when they began.

use std::collections::{BTreeMap, BTreeSet};

use crate::lanes::Lanes;
use crate::model::column::{DURATION, FILE, OP, START, THREAD};
use crate::model::{CallReader, NONE, Op, Trace};
use crate::order::Order;
use crate::packed::Packed;
use crate::undisturbed::Undisturbed;

/// Times of a program fit 64 bits of nanoseconds. Stamps of a damaged trace may lie further apart.
pub const LONGEST: u64 = 9_000_000_000_000_000_000;

/// A time of each call that a program does: by strand, in the order of its calls.
pub type Times = Vec<Packed>;

/// When a call began, and how it followed the one before, as [`Times`] hold both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// In microseconds.
    pub us: u64,
    /// The pause before it.
    pub pause: Pause,
}

/// A pause before a call, by its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Shorter than the least one that counts.
    None,
    /// Shorter than a hundred of these.
    Short,
    /// Longer.
    Long,
}

/// A pause is long from so many times the least one on.
const LONG: u64 = 100;

impl Start {
    fn packed(self) -> u64 {
        self.us << 2 | self.pause as u64
    }

    /// That of a time.
    pub fn of(packed: u64) -> Self {
        let pause = match packed & 3 {
            0 => Pause::None,
            1 => Pause::Short,
            _ => Pause::Long,
        };
        Self { us: packed >> 2, pause }
    }
}

/// When each call would have begun without the recorder, since the first one that a program does: a [`Start`] of each.
pub fn starts(trace: &Trace, lanes: &Lanes, order: &Order, least_gap: u64) -> Times {
    let pause = |gap: u64| match gap {
        gap if gap < least_gap => Pause::None,
        gap if gap < least_gap.saturating_mul(LONG) => Pause::Short,
        _ => Pause::Long,
    };
    let all = begins(trace, lanes).into_iter().zip(gaps(trace, lanes, order));
    let packed = |(begin, gap): (u64, u64)| Start { us: begin / 1000, pause: pause(gap) }.packed();
    all.map(|(begins, gaps)| begins.iter().zip(gaps.iter()).map(packed).collect()).collect()
}

/// When each call would have begun, in nanoseconds.
fn begins(trace: &Trace, lanes: &Lanes) -> Times {
    let times = Undisturbed::of(trace);
    let start = |at: u64| times.begin(at as u32, trace.calls.start(at as usize));
    let calls = lanes.strands.iter().flat_map(|strand| strand.calls.iter());
    let first = calls.map(start).min().unwrap_or(0);
    let since = |at: u64| start(at).saturating_sub(first).min(LONGEST);
    lanes.strands.iter().map(|strand| strand.calls.iter().map(since).collect()).collect()
}

/// How long the application paused before each call, in nanoseconds, without the time in which the recorder held it. A call
/// comes behind the one before of its strand, those of other strands for which a program waits, and the segments before: what
/// passed since then is a pause, also where the application waited for what no program does (a process without calls on
/// files, a socket). What opened, read on and closed a directory is no pause: the `readdir` of a program does it.
pub fn gaps(trace: &Trace, lanes: &Lanes, order: &Order) -> Times {
    let mut gaps = vec![Packed::default(); lanes.strands.len()];
    let times = Undisturbed::of(trace);
    let strand_of_thread = strands_of_threads(trace, lanes);
    let listed = listed(trace, lanes);
    let mut reader = CallReader::of(&[START, DURATION, THREAD, OP, FILE]);
    // How long calls took since the last one of each strand that one of its own does as well.
    let mut within: Vec<u64> = vec![0; lanes.strands.len()];
    // Until when each strand was at work; `None` before its first call.
    let mut state: Vec<Option<u64>> = vec![None; lanes.strands.len()];
    let begin = (0..).zip(trace.calls.starts()).map(|(at, start)| times.begin(at, start)).min().unwrap_or(0);
    for at in trace.calls.by_start() {
        let call = reader.get(&trace.calls, at);
        let strand = lanes.strand_of(at);
        let (start, end) = (times.start(at, &call), times.end(at, &call));
        if strand == NONE {
            if matches!(call.op, Op::Open | Op::Close | Op::Readdir)
                && listed.contains(&call.file)
                && let Some(own) = strand_of_thread.get(&call.thread)
            {
                within[*own as usize] += end.saturating_sub(start);
            }
            continue;
        }
        let mut until = state[strand as usize].unwrap_or_else(|| {
            // A process that was started begins behind what it waits for: who started it may have paused since then.
            let before = lanes.before(strand).iter().filter_map(|before| state[*before as usize]);
            before.fold(begin, u64::max)
        });
        for (other, count) in order.waits.get(&at).into_iter().flatten() {
            let awaited = lanes.strands[*other as usize].calls.get(*count as usize - 1) as u32;
            until = until.max(times.end(awaited, &trace.calls.get(awaited as usize)));
        }
        let within = std::mem::take(&mut within[strand as usize]);
        gaps[strand as usize].push(start.saturating_sub(until).saturating_sub(within).min(LONGEST));
        state[strand as usize] = Some(until.max(end));
    }
    gaps
}

/// The first strand that does calls of each thread.
fn strands_of_threads(trace: &Trace, lanes: &Lanes) -> BTreeMap<u32, u32> {
    let mut of: BTreeMap<u32, u32> = BTreeMap::new();
    for (at, thread) in (0..).zip(trace.calls.threads()) {
        let strand = lanes.strand_of(at);
        if strand != NONE {
            of.entry(thread).and_modify(|first| *first = strand.min(*first)).or_insert(strand);
        }
    }
    of
}

/// Open directories that a program reads.
fn listed(trace: &Trace, lanes: &Lanes) -> BTreeSet<u32> {
    let read = trace.calls.having(|op| op == Op::Readdir).filter(|(at, _)| lanes.strand_of(*at) != NONE);
    read.map(|(_, call)| call.file).filter(|file| *file != NONE).collect()
}

#[cfg(test)]
mod replayed;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::O_DIRECTORY;
    use crate::lanes::lanes;
    use crate::model::{AGAIN, Call, Thread};
    use crate::order::order;

    /// The pauses before the calls on files, of a process that starts two others and waits for them.
    fn found(calls: &[Call], kept: &[u32]) -> Vec<u64> {
        let mut trace = Trace::default();
        for process in 0..3 {
            trace.threads.push(Thread { id: process, process, name: String::new(), part: 0 });
        }
        let name = trace.names.intern(b"/d/f");
        for call in calls {
            let path = if call.op == Op::Stat { name } else { call.path };
            trace.calls.push(Call { path, ..*call });
        }
        let lanes = lanes(&trace, &kept.iter().map(|at| u64::from(*at)).collect());
        let order = order(&trace, &lanes);
        let mut gaps: Vec<_> =
            gaps(&trace, &lanes, &order).into_iter().map(|of| of.iter().collect::<Vec<_>>()).collect();
        gaps.iter_mut().for_each(|of| of.reverse());
        let strand = |at: &u32| lanes.strand_of(*at) as usize;
        kept.iter().filter_map(|at| gaps[strand(at)].pop()).collect()
    }

    #[test]
    fn a_wait_for_a_process_that_a_program_does_not_do_is_a_pause() {
        let spawn = Call { file: 1, ..Call::new(Op::Spawn, 0, 1100, 0) };
        let wait = Call { file: 1, ..Call::new(Op::Wait, 0, 1200, 7000) };
        let calls = [
            Call::new(Op::Stat, 0, 1000, 50),
            spawn,
            wait,
            Call::new(Op::Exit, 1, 8100, 0),
            Call::new(Op::Stat, 0, 9000, 50),
        ];
        assert_eq!(found(&calls, &[0, 4]), [0, 9000 - 1050]);
    }

    #[test]
    fn what_a_process_did_behind_its_last_call_is_a_pause_of_the_one_that_waited() {
        let spawn = Call { file: 1, ..Call::new(Op::Spawn, 0, 1100, 0) };
        let wait = Call { file: 1, ..Call::new(Op::Wait, 0, 1200, 7000) };
        let calls = [
            Call::new(Op::Stat, 0, 1000, 50),
            spawn,
            wait,
            Call::new(Op::Stat, 1, 2000, 100),
            Call::new(Op::Exit, 1, 8100, 0),
            Call::new(Op::Stat, 0, 9000, 50),
        ];
        assert_eq!(found(&calls, &[0, 3, 5]).iter().sum::<u64>(), 9050 - 1000 - 50 - 100 - 50);
    }

    #[test]
    fn what_passed_before_a_process_was_started_is_its_pause() {
        // The parent itself has no calls on files.
        let child = |op, which, start, took| Call { file: which, ..Call::new(op, 0, start, took) };
        let calls = [
            child(Op::Spawn, 1, 1000, 0),
            Call::new(Op::Stat, 1, 1100, 50),
            child(Op::Wait, 1, 1200, 10),
            Call::new(Op::Receive, 0, 1250, 5000),
            child(Op::Spawn, 2, 6300, 0),
            Call::new(Op::Stat, 2, 6400, 50),
        ];
        assert_eq!(found(&calls, &[1, 5]).iter().sum::<u64>(), 100 + 6400 - 1150);
    }

    #[test]
    fn what_a_readdir_does_itself_is_no_pause() {
        let of = |op, start, flags| Call { file: 4, flags, ..Call::new(op, 0, start, 100) };
        let calls = [
            Call::new(Op::Stat, 0, 1000, 50),
            of(Op::Open, 1100, O_DIRECTORY),
            of(Op::Readdir, 1250, 0),
            of(Op::Readdir, 1400, AGAIN),
            of(Op::Close, 1600, 0),
            Call::new(Op::Stat, 0, 1770, 50),
        ];
        assert_eq!(found(&calls, &[0, 2, 5]), [0, 100, 220]);
    }

    #[test]
    fn what_a_socket_brought_late_is_a_pause() {
        let calls = [
            Call::new(Op::Stat, 0, 1000, 50),
            Call::new(Op::Receive, 0, 1100, 500),
            Call::new(Op::Stat, 0, 1700, 50),
        ];
        assert_eq!(found(&calls, &[0, 2]), [0, 650]);
    }
}
