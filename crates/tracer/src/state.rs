//! The state of a recording: running threads, calls in progress, counts of Linux.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

use operations::Operation;
use trace::asked::from;
use trace::event::{Asked, Concerns, Event, Given};
use trace::follow::Follower;

use crate::calls::{self, Begun, Submitted};
use crate::live::{self, Live};
use crate::look::look;
use crate::one_processor::OneProcessor;
use crate::ptrace;
use crate::rings::{Entered, Rings};
use crate::stops::{StopCosts, Stops};
use crate::task::{closes_on_exec, counts, group_of, loses_rights};

/// What is known while the application runs.
pub struct State {
    pub follower: Follower,
    begun: Instant,
    /// Calls under way, by thread.
    pub under_way: HashMap<libc::pid_t, Begun>,
    /// Calls that a signal interrupted and that Linux makes again, by thread.
    interrupted: HashMap<libc::pid_t, Begun>,
    /// Threads that stopped before their start was reported.
    pub early: HashSet<libc::pid_t>,
    /// Threads whose start was reported.
    pub known: HashSet<libc::pid_t>,
    /// Calls that read or write of threads that ended, recorded and as Linux counted them.
    pub transfers: u64,
    pub counted: u64,
    /// The counts of threads that are in `execve`.
    before_exec: HashMap<libc::pid_t, u64>,
    /// Whether the application was started: its first `execve` succeeded.
    pub started: bool,
    sighted: HashSet<u32>,
    /// OfThread in flight, by process and context of AIO.
    in_flight: HashMap<(u32, u64), u32>,
    rings: Rings,
    /// What threads are submitting to io_uring.
    entered: HashMap<libc::pid_t, Entered>,
    /// The processes of threads.
    groups: HashMap<libc::pid_t, u32>,
    pub stops: Stops,
    /// Stops during which recorder and application shared a processor.
    together: u64,
    processor: OneProcessor,
    /// `None`: a calibration finds out.
    costs: Option<StopCosts>,
    /// What is left where this process is killed.
    pub live: Option<Live>,
    /// Whether a thread may have another name since that was kept.
    renamed: bool,
    /// Is told of programs that do not do under a recorder what they would do alone.
    tell: fn(&str),
    told_of_tracers: bool,
    /// Reads and writes of each thread that were recorded, and those that Linux did for it.
    of_thread: HashMap<libc::pid_t, OfThread>,
}

/// Calls of a thread that read or write.
#[derive(Clone, Copy, Debug, Default)]
struct OfThread {
    recorded: u64,
    own: u64,
}

/// When a call began and ended, for how long its thread had been held until it began, and by how much the recorder made the
/// call longer; in nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    start: u64,
    end: u64,
    held: u64,
    longer: u64,
}

impl State {
    /// Nothing happened yet. Without `costs` this is a calibration. `processor`: where recorder and application run.
    pub fn new(directory: &Path, costs: Option<StopCosts>, processor: OneProcessor) -> Self {
        Self {
            stops: Stops::new(costs.map(|costs| costs.apart)),
            together: 0,
            processor,
            costs,
            follower: Follower::new(live::FORMAT, Some(directory.as_os_str().as_bytes())),
            begun: Instant::now(),
            under_way: HashMap::new(),
            interrupted: HashMap::new(),
            early: HashSet::new(),
            known: HashSet::new(),
            transfers: 0,
            counted: 0,
            before_exec: HashMap::new(),
            started: false,
            sighted: HashSet::new(),
            in_flight: HashMap::new(),
            rings: Rings::default(),
            entered: HashMap::new(),
            groups: HashMap::new(),
            live: None,
            renamed: false,
            tell: |_| {},
            told_of_tracers: false,
            of_thread: HashMap::new(),
        }
    }

    /// Keeps what is recorded for a recorder that is killed, and tells at once what is not as without it.
    pub fn keeping(self, live: Option<Live>, tell: fn(&str)) -> Self {
        Self { live, tell, ..self }
    }

    /// What is recorded is kept: before the application goes on, so that it has nothing that a kill of the recorder loses.
    fn keep(&mut self) {
        if let Some(live) = &mut self.live {
            live.keep(&self.follower.trace, std::mem::take(&mut self.renamed));
        }
    }

    /// Nanoseconds since the recording began.
    pub fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Resumes a thread that stopped; at the end of its call it stops again.
    pub fn resume(&mut self, thread: libc::pid_t, signal: i32) {
        self.keep();
        let in_call = self.under_way.contains_key(&thread);
        self.stops.end(thread, self.now(), in_call);
        self.together += u64::from(self.processor.is_shared());
        ptrace::resume(thread, in_call, signal);
    }

    /// What a stop cost on average, of what one costs where recorder and application share a processor, and where they do not.
    pub fn mean_cost(&self, together: u64, apart: u64) -> u64 {
        let (all, shared) = (self.stops.count.max(1), self.together.min(self.stops.count));
        (together * shared + apart * (all - shared)) / all
    }

    /// The application has one thread.
    pub fn alone(&mut self, thread: libc::pid_t) {
        if self.processor.join(thread)
            && let Some(costs) = self.costs
        {
            self.stops.set_cost(costs.together);
        }
    }

    fn apart(&mut self, were_together: bool) {
        if were_together && let Some(costs) = self.costs {
            self.stops.set_cost(costs.apart);
        }
    }

    /// The application, or another one, works with processors: it must not see that the recorder did.
    pub fn leave_processors_alone(&mut self) {
        let were_together = self.processor.give_up();
        self.apart(were_together);
    }

    /// The recorder was told of a stop or end of a thread at `now`.
    pub fn stopped(&mut self, thread: libc::pid_t, now: u64) {
        self.stops.begin(thread, now);
        if self.processor.delayed(self.stops.delay) {
            self.leave_processors_alone();
        }
    }

    /// A call begins: examines the files behind its names before it changes them.
    pub fn begin(&mut self, thread: libc::pid_t, number: u64, arguments: [u64; 6]) -> bool {
        let Some(entry) = operations::by_number(number) else { return false };
        let operation = entry.operation;
        if operation == Operation::Exec {
            self.before_exec.insert(thread, counts(thread));
        }
        let call = calls::begun(thread, entry, arguments);
        for (at, name) in calls::names(entry).into_iter().zip([&call.one, &call.two]) {
            let Some(at) = at.filter(|at| at.is_file && !name.is_empty()) else { continue };
            let base = at.base.map_or(operations::AT_FDCWD, |base| arguments[usize::from(base)] as i32);
            self.sight(thread, Given { from: from(base), name });
        }
        if operation == Operation::RingEnter && !self.rings.is_empty() {
            let process = self.group(thread);
            let entered = self.rings.entering(thread, process, arguments[0] as i32, arguments[1]);
            self.entered.extend(entered.map(|entered| (thread, entered)));
        }
        if operation == Operation::Close {
            self.follower.begin_close(thread as u32, arguments[0] as i32);
        }
        let now = self.now();
        // A recorder makes even signals that are ignored interrupt a wait: made again, it is still the same call.
        let (start, held) = match self.interrupted.remove(&thread) {
            Some(first) if first.entry.name == entry.name && first.arguments == call.arguments => {
                (first.start, first.held)
            }
            _ => (now, self.stops.until(thread, now)),
        };
        self.under_way.insert(thread, Begun { start, held, ..call });
        true
    }

    /// Records what a name refers to at its first use.
    fn sight(&mut self, thread: libc::pid_t, given: Given<'_>) {
        let Some(name) = self.follower.name(thread as u32, given) else { return };
        if !self.sighted.insert(name) {
            return;
        }
        let path = self.follower.trace.names.get(name).to_vec();
        let sighting = look(&path, &mut self.follower.trace.names);
        self.follower.sight(name, sighting);
        if let Some(live) = &mut self.live {
            live.sighted(&self.follower.trace, name, sighting);
        }
    }

    /// A call ended.
    pub fn end(&mut self, thread: libc::pid_t, result: i64) {
        let end = self.now();
        let Some(call) = self.under_way.remove(&thread) else { return };
        let longer = self.stops.until(thread, end).saturating_sub(call.held);
        let times = Times { start: call.start, end, held: call.held, longer };
        let transfers = match call.entry.operation {
            // Linux counts none of what is not open.
            Operation::Read | Operation::Write => u64::from(result != -i64::from(libc::EBADF)),
            // It counts a read and a write if bytes were copied.
            Operation::Copy if result > 0 => 2,
            _ => 0,
        };
        let of_thread = self.of_thread.entry(thread).or_default();
        of_thread.recorded += transfers;
        // What Linux read of a program that it did not start then.
        if let (Operation::Exec, Some(before)) = (call.entry.operation, self.before_exec.remove(&thread)) {
            of_thread.own += counts(thread).saturating_sub(before);
        }
        // The kernel restarts a call that a signal interrupted (ERESTARTSYS and similar).
        if (-516..=-512).contains(&result) {
            self.interrupted.insert(thread, call);
            return;
        }
        match (call.entry.operation, u32::try_from(result)) {
            (Operation::Submit | Operation::Reap, Ok(count)) => {
                return self.submitted(thread, &call, count, times);
            }
            (Operation::RingSetup, Ok(_)) => {
                let process = self.group(thread);
                self.rings.set_up(thread, process, result as i32, call.arguments[1]);
            }
            (Operation::RingEnter, Ok(count)) => {
                if let Some(entered) = self.entered.remove(&thread) {
                    return self.entered(thread, &call, (entered, count), times);
                }
            }
            (Operation::Map, _) if result > 0 && !self.rings.is_empty() => {
                let (process, file) = (self.group(thread), call.arguments[4] as i32);
                self.rings.mapped(process, file, call.arguments[5], result.cast_unsigned());
            }
            _ => {}
        }
        let mut target = Vec::new();
        let Some(asked) = calls::asked(thread, &call, result, &mut target) else { return };
        let errno = if result < 0 { u16::try_from(-result).unwrap_or(0) } else { 0 };
        self.take(thread, times, (result, errno), asked);
    }

    /// OfThread that were submitted, or have completed.
    fn submitted(&mut self, thread: libc::pid_t, call: &Begun, count: u32, times: Times) {
        let context = (self.group(thread), call.arguments[0]);
        let in_flight = self.in_flight.entry(context).or_default();
        if call.entry.operation == Operation::Reap {
            *in_flight = in_flight.saturating_sub(count);
            return;
        }
        *in_flight = in_flight.saturating_add(count);
        let depth = *in_flight;
        for one in call.submitted.iter().take(count as usize) {
            self.transfer(thread, times, one, depth);
        }
    }

    /// OfThread that were submitted to io_uring.
    fn entered(&mut self, thread: libc::pid_t, call: &Begun, (entered, count): (Entered, u32), times: Times) {
        let process = self.group(thread);
        self.rings.entered(process, call.arguments[0] as i32, count);
        for one in entered.transfers.iter().take(count as usize) {
            match one {
                Some(one) => self.transfer(thread, times, one, entered.in_flight.saturating_add(count)),
                None => {
                    let what = "submissions to io_uring that are no transfers by descriptor".into();
                    let asked = Asked::Unrepeated {
                        what,
                        place: Concerns::Unknown,
                        changes: true,
                        count: 1,
                        bytes: 0,
                    };
                    self.take(thread, times, (0, 0), asked);
                }
            }
        }
    }

    fn transfer(&mut self, thread: libc::pid_t, times: Times, one: &Submitted, depth: u32) {
        let Submitted { descriptor, writes, bytes, offset } = *one;
        let asked = Asked::Submit { descriptor, writes, offset, depth };
        self.take(thread, times, (i64::try_from(bytes).unwrap_or(0), 0), asked);
    }

    /// A call of another architecture begins. Its number and its arguments mean other things: it is counted alone.
    pub fn other_architecture(&mut self, thread: libc::pid_t) {
        let times = self.at_once(thread);
        let what = "calls of another architecture (32 bits), of which none is recorded".into();
        let asked = Asked::Unrepeated { what, place: Concerns::Unknown, changes: true, count: 1, bytes: 0 };
        self.take(thread, times, (0, 0), asked);
    }

    /// The process of a thread.
    fn group(&mut self, thread: libc::pid_t) -> u32 {
        *self.groups.entry(thread).or_insert_with(|| group_of(thread).unwrap_or(thread.cast_unsigned()))
    }

    fn take(&mut self, thread: libc::pid_t, times: Times, (result, errno): (i64, u16), asked: Asked<'_>) {
        (self.follower.held, self.follower.longer) = (times.held, times.longer);
        self.follower.take(&Event {
            thread: thread as u32,
            start: times.start,
            duration: times.end - times.start,
            result: if errno == 0 { result } else { -1 },
            errno,
            leads_to: None,
            asked,
        });
    }

    /// An event of a thread that takes no time.
    fn at_once(&mut self, thread: libc::pid_t) -> Times {
        let now = self.now();
        Times { start: now, end: now, held: self.stops.until(thread, now), longer: 0 }
    }

    /// A thread started another one.
    pub fn spawned(&mut self, parent: libc::pid_t, child: libc::pid_t) {
        let now = self.at_once(parent);
        let shares = group_of(child) == group_of(parent);
        let asked =
            Asked::Spawn { shares_memory: shares, shares_descriptors: shares, shares_directory: shares };
        self.take(parent, now, (i64::from(child), 0), asked);
        self.known.insert(child);
        let were_together = self.processor.part_with(child);
        self.apart(were_together);
        if self.early.remove(&child) {
            self.stops.end_early(child, self.now());
            ptrace::resume(child, false, 0);
        }
    }

    /// A thread became another program.
    pub fn executed(&mut self, thread: libc::pid_t) {
        let now = self.at_once(thread);
        self.started = true;
        let before = ptrace::message(thread) as libc::pid_t;
        if before != thread {
            self.under_way.remove(&before);
            if let Some(of_thread) = self.of_thread.remove(&before) {
                self.of_thread.insert(thread, of_thread);
            }
        }
        let earlier = self.before_exec.remove(&before).or_else(|| self.before_exec.remove(&thread));
        self.of_thread.entry(thread).or_default().own +=
            earlier.map_or(0, |earlier| counts(thread).saturating_sub(earlier));
        let name = std::fs::read_link(format!("/proc/{thread}/exe")).unwrap_or_default();
        self.take(thread, now, (0, 0), Asked::Exec { path: name.as_os_str().as_bytes() });
        self.renamed = true;
        if loses_rights(&name) {
            let shown = name.display();
            (self.tell)(&format!(
                "{shown} runs without the rights of its owner or its capabilities while it is recorded"
            ));
        }
    }

    /// A program traces others.
    pub fn traces(&mut self) {
        if !std::mem::replace(&mut self.told_of_tracers, true) {
            (self.tell)(
                "a program calls ptrace, as debuggers and recorders do: Linux lets it trace no process that is recorded",
            );
        }
    }

    /// Handles a thread that is about to end: Linux still has its counts.
    pub fn ending(&mut self, thread: libc::pid_t) {
        let under_way = self.under_way.remove(&thread).map(|call| call.entry.operation);
        let OfThread { recorded, own } = self.of_thread.remove(&thread).unwrap_or_default();
        let mut counted = counts(thread).saturating_sub(own);
        // What a thread did that was killed in a call is not told to it: the call counts where it had its effect, as far as it
        // did, and what Linux read of the program that it was about to start is no read of its own.
        let of_the_last = match under_way {
            Some(Operation::Read | Operation::Write) => 1,
            Some(Operation::Copy) => 2,
            Some(Operation::Exec) => u64::MAX,
            _ => 0,
        };
        counted -= counted.saturating_sub(recorded).min(of_the_last);
        self.before_exec.remove(&thread);
        self.transfers += recorded;
        self.counted += counted;
    }

    /// A thread ended.
    pub fn ended(&mut self, thread: libc::pid_t) {
        let now = self.at_once(thread);
        self.under_way.remove(&thread);
        self.interrupted.remove(&thread);
        self.early.remove(&thread);
        self.groups.remove(&thread);
        self.entered.remove(&thread);
        self.stops.forget(thread);
        if self.known.remove(&thread) {
            self.take(thread, now, (0, 0), Asked::Exit);
            self.keep();
            self.processor.ended(thread);
            if let (1, Some(left)) = (self.known.len(), self.known.iter().next().copied()) {
                self.alone(left);
            }
        }
    }

    /// The descriptors that are open when the application starts.
    pub fn inherit(&mut self, thread: libc::pid_t) {
        self.known.insert(thread);
        for entry in std::fs::read_dir(format!("/proc/{thread}/fd")).into_iter().flatten().flatten() {
            let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let (Some(number), Ok(target)) = (number, std::fs::read_link(entry.path()))
                && !closes_on_exec(thread, number)
            {
                self.follower.inherit(thread as u32, number, target.as_os_str().as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stops::StopCost;
    use std::time::Duration;
    use trace::model::Op;

    #[test]
    fn a_read_that_a_signal_interrupted_is_one_read_from_its_first_beginning() {
        const THREAD: libc::pid_t = libc::pid_t::MAX;
        let (none, read) = (StopCost::default(), libc::SYS_read as u64);
        let costs = StopCosts { together: none, apart: none };
        let mut state = State::new(Path::new("/"), Some(costs), OneProcessor::none());
        state.follower.thread(THREAD as u32);
        state.follower.inherit(THREAD as u32, 3, b"pipe:[5]");
        let mut stops = |argument: u64, wait: u64, result: i64| {
            let now = state.now();
            state.stopped(THREAD, now);
            assert!(state.begin(THREAD, read, [3, 0, argument, 0, 0, 0]));
            state.resume(THREAD, 0);
            std::thread::sleep(Duration::from_millis(wait));
            let now = state.now();
            state.stopped(THREAD, now);
            state.end(THREAD, result);
            state.resume(THREAD, 0);
        };
        // ERESTARTSYS
        stops(10, 5, -512);
        stops(10, 0, 1);
        // Another call is not the one that was interrupted.
        stops(10, 5, -512);
        stops(11, 0, 2);
        let trace = state.follower.finish();
        let reads = trace.calls.iter().filter(|call| call.op == Op::PipeRead);
        let found: Vec<(u64, bool)> = reads.map(|call| (call.bytes, call.duration >= 5_000_000)).collect();
        assert_eq!(found, [(1, true), (2, false)]);
    }
}
