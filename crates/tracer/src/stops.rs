//! For how long the recorder keeps threads from their work.
//!
//! While a stop is handled, a thread stands still. Beside that each stop costs the way to the recorder and back, mostly
//! until idle processors run again. Linux counts how often a thread came to a processor, and for how long it ran: a thread
//! that came to one once between two stops ran without a break, so that without the recorder it would have taken its
//! processor time, less what the stop itself took of it. A thread that slept in between would have taken the time that
//! passed, less what the ways of other stops took on average, and less the time for which the recorder kept other threads from
//! their work meanwhile: between its calls a thread sleeps for others (locks, sockets), unless it asked to sleep for a time.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Stops over which the cost of the way is averaged.
const AVERAGED: f64 = 64.0;

/// Stops whose cost is taken off later, at most.
const MOST_OWED: u64 = 64;

/// Threads of which Linux's counts are read: for each, a file is held open.
const MOST_COUNTED: usize = 128;

/// Times during which threads stood still that are kept: a thread that sleeps longer is compared with the last ones.
const MOST_KEPT: usize = 1 << 16;

/// Of the stops of a calibration, this part is left out: those that took longest, by interrupts.
const LEFT_OUT: usize = 50;

/// Processor time of the thread that a stop takes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopCost {
    /// From the beginning of a call to its end.
    pub in_call: u64,
    /// Elsewhere.
    pub elsewhere: u64,
}

/// What stops cost where recorder and thread share a processor, and where they do not.
#[derive(Clone, Copy, Debug)]
pub struct StopCosts {
    /// On one processor.
    pub together: StopCost,
    /// On several.
    pub apart: StopCost,
}

/// Processor time of a thread in nanoseconds, and how often it came to a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turns {
    processor: u64,
    /// For how long it was ready to run and did not.
    delay: u64,
    count: u64,
}

/// When any thread stood still because of the recorder: times that do not overlap, in order, each with the sum of those
/// before it.
#[derive(Debug, Default)]
struct StoodStill {
    times: VecDeque<(u64, u64, u64)>,
}

impl StoodStill {
    fn total(&self) -> u64 {
        self.times.back().map_or(0, |(start, end, before)| before + end - start)
    }

    /// A thread stood still from `start` to `end`, which is no earlier than all ends so far.
    fn add(&mut self, mut start: u64, end: u64) {
        let mut before = self.total();
        while let Some((first, last, earlier)) = self.times.back().copied()
            && start <= last
        {
            (start, before) = (start.min(first), earlier);
            self.times.pop_back();
        }
        self.times.push_back((start, end, before));
        if self.times.len() > MOST_KEPT {
            self.times.pop_front();
        }
    }

    /// For how long since `from` at least one thread stood still.
    fn since(&self, from: u64) -> u64 {
        let at = self.times.partition_point(|(_, end, _)| *end <= from);
        let Some((start, _, before)) = self.times.get(at) else { return 0 };
        self.total() - before - from.saturating_sub(*start)
    }
}

/// A thread under the recorder.
#[derive(Debug, Default)]
struct HeldThread {
    /// For how long it was kept from its work so far.
    total: u64,
    /// When it was resumed, and whether it was in a call then.
    resumed: Option<(u64, bool)>,
    /// For how long it was kept from its work when it was resumed last.
    before: u64,
    /// Whether it asked to sleep for some time, for which it needs no other thread.
    sleeps: bool,
    /// What stops cost on average, beyond what its processor time since then had room for.
    owed: u64,
    turns: Option<Turns>,
    schedule: Option<File>,
}

/// All threads under the recorder.
#[derive(Debug, Default)]
pub struct Stops {
    cost: StopCost,
    /// What the way to the recorder and back takes on average, beside the processor time of the thread.
    way: Option<f64>,
    /// When the recorder was told of the stop that it handles now.
    woke: u64,
    held: HashMap<libc::pid_t, HeldThread>,
    stood_still: StoodStill,
    /// How many stops there were, when the first began and the last ended.
    pub count: u64,
    pub first: Option<u64>,
    pub last: u64,
    /// For how long the thread that stopped last was ready to run since its stop before, and did not.
    pub delay: u64,
    /// Processor time between stops of a calibration, in calls and elsewhere.
    observed: Option<[Vec<u64>; 2]>,
}

impl Stops {
    /// Of threads of which a stop costs so much; of a calibration where that is not known.
    pub fn new(cost: Option<StopCost>) -> Self {
        let observed = cost.is_none().then(Default::default);
        Self { cost: cost.unwrap_or_default(), observed, ..Self::default() }
    }

    /// From now on a stop costs so much.
    pub fn set_cost(&mut self, cost: StopCost) {
        (self.cost, self.way) = (cost, None);
    }

    /// The recorder was told at `now` that a thread stopped or ended.
    pub fn begin(&mut self, thread: libc::pid_t, now: u64) {
        self.woke = now;
        self.first.get_or_insert(now);
        let counted = self.held.len() <= MOST_COUNTED;
        let held = self.held.entry(thread).or_default();
        if held.schedule.is_none() && counted {
            held.schedule = File::open(format!("/proc/{thread}/task/{thread}/schedstat")).ok();
        }
        let turns = held.schedule.as_ref().and_then(turns);
        let before = std::mem::replace(&mut held.turns, turns);
        let Some((resumed, in_call)) = held.resumed.take() else { return };
        let passed = now.saturating_sub(resumed);
        let cost = if in_call { self.cost.in_call } else { self.cost.elsewhere };
        let ran = turns.zip(before).map(|(now, before)| Turns {
            processor: now.processor.saturating_sub(before.processor),
            delay: now.delay.saturating_sub(before.delay),
            count: now.count.saturating_sub(before.count),
        });
        self.delay = ran.map_or(0, |ran| ran.delay);
        let way = self.way.unwrap_or(0.0) as u64;
        // Between its calls it slept for others: those stood still meanwhile.
        let others = match in_call || std::mem::take(&mut held.sleeps) {
            true => 0,
            false => self.stood_still.since(resumed),
        };
        let spent = match ran {
            Some(Turns { processor, count: 0 | 1, .. }) => {
                let way = passed.saturating_sub(processor) as f64;
                let known = self.way.unwrap_or(way);
                self.way = Some(known + (way - known) / AVERAGED);
                if let Some(observed) = &mut self.observed {
                    observed[usize::from(!in_call)].push(processor);
                }
                processor
            }
            Some(Turns { processor, .. }) => passed.saturating_sub(way.max(others)).max(processor),
            None => passed.saturating_sub(way),
        };
        // Some stops cost less than the average and some more: what is too much for one is taken off later.
        let owed = cost + held.owed;
        held.owed = owed.saturating_sub(spent).min(MOST_OWED * cost);
        held.total += passed.saturating_sub(spent.saturating_sub(owed));
    }

    /// The thread is resumed at `now`, in a call or elsewhere.
    pub fn end(&mut self, thread: libc::pid_t, now: u64, in_call: bool) {
        let held = self.held.entry(thread).or_default();
        held.total += now.saturating_sub(self.woke);
        held.resumed = Some((now, in_call));
        let stood_still = held.total.saturating_sub(held.before);
        held.before = held.total;
        self.stood_still.add(now.saturating_sub(stood_still), now);
        self.count += 1;
        self.last = now;
    }

    /// The thread, which stopped, asks to sleep for some time.
    pub fn sleeps(&mut self, thread: libc::pid_t) {
        self.held.entry(thread).or_default().sleeps = true;
    }

    /// A thread that was not told of stopped before: it is resumed at `now`.
    pub fn end_early(&mut self, thread: libc::pid_t, now: u64) {
        self.held.entry(thread).or_default().resumed = Some((now, false));
    }

    /// For how long a thread was kept from its work until `now`, which is within its stop.
    pub fn until(&self, thread: libc::pid_t, now: u64) -> u64 {
        self.held.get(&thread).map_or(0, |held| held.total) + now.saturating_sub(self.woke)
    }

    /// A thread ended.
    pub fn forget(&mut self, thread: libc::pid_t) {
        self.held.remove(&thread);
    }

    /// What a stop takes of its thread, by the calibration, whose calls themselves take `call` nanoseconds, and the work
    /// between them `work`.
    pub fn cost(&self, (call, work): (u64, u64)) -> StopCost {
        let mean = |values: &[u64]| {
            let mut values = values.to_vec();
            values.sort_unstable();
            let kept = &values[..values.len() - values.len() / LEFT_OUT];
            kept.iter().sum::<u64>() / kept.len().max(1) as u64
        };
        let [in_call, elsewhere] = self.observed.as_ref().map_or([0, 0], |[one, two]| [mean(one), mean(two)]);
        StopCost { in_call: in_call.saturating_sub(call), elsewhere: elsewhere.saturating_sub(work) }
    }
}

/// What Linux counted of a thread that stands still; `None` where it does not count, or the thread has ended.
fn turns(schedule: &File) -> Option<Turns> {
    let mut text = [0; 80];
    let count = schedule.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..count)?).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    let (Some(Ok(processor)), Some(Ok(delay)), Some(Ok(count))) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        return None;
    };
    // A kernel that does not count gives zeros.
    (count > 0).then_some(Turns { processor, delay, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: libc::pid_t = 7;

    /// A thread that was resumed at 1000, of which Linux counts what is in the file.
    fn resumed(in_call: bool) -> (Stops, File) {
        let mut stops = Stops::new(Some(StopCost { in_call: 300, elsewhere: 200 }));
        let path = std::env::temp_dir().join(format!("lastrank-stops-{:?}", std::thread::current().id()));
        std::fs::write(&path, "5000 0 3\n").unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let schedule = Some(file.try_clone().unwrap());
        stops.held.insert(THREAD, HeldThread { schedule, ..HeldThread::default() });
        stops.begin(THREAD, 900);
        stops.end(THREAD, 1000, in_call);
        assert_eq!(stops.until(THREAD, 900), 100);
        (stops, file)
    }

    #[test]
    fn a_thread_that_ran_without_a_break_would_have_taken_its_processor_time() {
        let (mut stops, file) = resumed(true);
        file.write_at(b"7000 0 4\n", 0).unwrap();
        stops.begin(THREAD, 31_000);
        // It ran for 2000, and 300 of them were for the stop; 30000 passed.
        assert_eq!(stops.until(THREAD, 31_050), 100 + 30_000 - 1700 + 50);
    }

    #[test]
    fn a_thread_that_slept_would_have_taken_what_passed_less_the_ways_of_other_stops() {
        let (mut stops, file) = resumed(false);
        file.write_at(b"7000 0 4\n", 0).unwrap();
        // The way took 8000.
        stops.begin(THREAD, 11_000);
        assert_eq!(stops.until(THREAD, 11_000), 100 + 10_000 - 1800);
        stops.end(THREAD, 11_000, false);
        file.write_at(b"8000 9 6\n", 0).unwrap();
        stops.begin(THREAD, 1_011_000);
        assert_eq!(stops.until(THREAD, 1_011_000), 100 + 8200 + 8000 + 200);
    }

    #[test]
    fn what_a_stop_cost_less_than_the_average_is_taken_off_later() {
        let (mut stops, file) = resumed(false);
        file.write_at(b"5050 0 4\n", 0).unwrap();
        stops.begin(THREAD, 2000);
        assert_eq!(stops.until(THREAD, 2000), 100 + 1000);
        stops.end(THREAD, 2000, false);
        file.write_at(b"6050 0 5\n", 0).unwrap();
        stops.begin(THREAD, 4000);
        // It ran for 1000, of which 200 were for this stop and 150 are those that the one before did not take.
        assert_eq!(stops.until(THREAD, 4000), 100 + 1000 + 2000 - 650);
    }

    #[test]
    fn a_thread_that_slept_for_others_would_have_slept_less_by_the_time_in_which_they_stood_still() {
        let (mut stops, file) = resumed(false);
        let other = libc::pid_t::MAX;
        for begun in [5000, 6000, 20_000] {
            stops.begin(other, begun);
            stops.end(other, begun + 800, false);
        }
        file.write_at(b"7000 0 5\n", 0).unwrap();
        let before = stops.until(THREAD, stops.woke);
        stops.begin(THREAD, 31_000);
        // The other one was stopped for 800 three times, and two stops cost 200 more.
        assert_eq!(stops.until(THREAD, 31_000) - before, 2800 + 200);
        stops.sleeps(THREAD);
        stops.end(THREAD, 31_000, false);
        stops.begin(other, 40_000);
        stops.end(other, 45_000, false);
        file.write_at(b"7400 0 7\n", 0).unwrap();
        let before = stops.until(THREAD, stops.woke);
        stops.begin(THREAD, 50_000);
        // It asked to sleep so long.
        assert_eq!(stops.until(THREAD, 50_000) - before, 200);
    }

    #[test]
    fn times_of_several_threads_that_overlap_count_once() {
        let mut still = StoodStill::default();
        for (start, end) in [(10, 20), (15, 30), (40, 50), (60, 70), (35, 75), (80, 90)] {
            still.add(start, end);
        }
        let since: Vec<u64> = [0, 12, 30, 37, 75, 85, 95].map(|from| still.since(from)).to_vec();
        assert_eq!(since, [70, 68, 50, 48, 10, 5, 0]);
    }

    #[test]
    fn where_linux_does_not_count_the_ways_of_other_stops_are_taken() {
        let (mut stops, file) = resumed(false);
        file.write_at(b"0000 0 0\n", 0).unwrap();
        stops.way = Some(4000.0);
        stops.begin(THREAD, 11_000);
        assert_eq!(stops.until(THREAD, 11_000), 100 + 4200);
    }
}
