//! Runs a command and records its calls.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Instant;

use crate::calls::{PROCESSORS, TRACES};
use crate::child::{self, MOST_ARGUMENTS, Task};
use crate::live::Live;
use crate::look::look_after;
use crate::manifest::Manifest;
use crate::one_processor::OneProcessor;
use crate::ptrace::{self, Change, Stopped};
use crate::recorded::{Kept, RecordError, Recorded, Seen};
use crate::signals::SignalsPassedOn;
use crate::state::State;
use crate::stops::{StopCost, StopCosts, Stops};
use crate::tree::TreeBefore;

/// Calls that the calibration makes.
const CALIBRATION: u32 = 2000;

/// Runs a command until it and all its children have ended, and records their calls. Its input and output are ours. `output`: the
/// file for which it is done; where this process is killed the command is as well, and [`crate::left::recordings`] finds what
/// was recorded. `tell` is told of programs that do not do under it what they would do alone, when they begin.
///
/// # Errors
/// Where it cannot be started or traced.
pub fn record(command: &[OsString], output: &Path, tell: fn(&str)) -> Result<Recorded, RecordError> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        return Err(RecordError::Threads(threads));
    }
    let program = command.first().ok_or(RecordError::Command("it is empty"))?;
    let shown = program.to_string_lossy().into_owned();
    let file = child::find(program).ok_or_else(|| RecordError::NotFound(shown.clone()))?;
    if command.len() > MOST_ARGUMENTS {
        return Err(RecordError::Command("it has too many words"));
    }
    let words: Vec<CString> = command
        .iter()
        .map(|word| CString::new(word.as_bytes()).map_err(|_| RecordError::Command("a word holds a NUL")))
        .collect::<Result<_, _>>()?;
    let filter = child::filter();
    let bare = bare();
    let (together, one) = calibrated(&filter, OneProcessor::new(), bare)?;
    let (apart, other) = calibrated(&filter, OneProcessor::none(), bare)?;
    let costs = StopCosts { together, apart };
    let directory = std::env::current_dir().unwrap_or_default();
    let tree = TreeBefore::of(&directory, output);
    let live = Live::begin(&Manifest::new(command, output, &directory, Some(one)));
    if live.is_none() {
        tell(
            "neither TMPDIR nor /dev/shm can be written to: what is recorded is lost where this recorder is killed",
        );
    }
    let signals = SignalsPassedOn::begin();
    let begun = Instant::now();
    let task = Task::Command(&file, &words, &signals);
    let done =
        run(&task, &filter, State::new(&directory, Some(costs), OneProcessor::new()).keeping(live, tell));
    let elapsed_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    drop(signals);
    let (mut state, status) = done?;
    if !state.started {
        let errno = io::Error::from_raw_os_error(libc::WEXITSTATUS(status));
        return Err(RecordError::Start(shown, errno));
    }
    let cost_ns = state.mean_cost(one, other);
    let seen = Seen { recorded: state.transfers, counted: state.counted };
    let kept = Kept(state.live.take().map_or_else(Vec::new, Live::into_folders));
    let mut trace = state.follower.finish();
    look_after(&mut trace);
    let tree = tree.compare(&mut trace);
    trace.cost_ns = Some(cost_ns);
    Ok(Recorded { trace, seen, unseen: 0, cut: 0, cost_ns, elapsed_ns, status, tree, kept })
}

/// What a stop costs of its thread, and a call of two stops in all, in nanoseconds, where recorder and thread run on these
/// processors; `bare`: as [`bare()`] says.
fn calibrated(
    filter: &[libc::sock_filter],
    processor: OneProcessor,
    bare: (u64, u64),
) -> Result<(StopCost, u64), RecordError> {
    let state = State::new(Path::new("/"), None, processor);
    let stops: Stops = run(&Task::Calibration(CALIBRATION), filter, state)?.0.stops;
    let call_ns = 2 * stops.last.saturating_sub(stops.first.unwrap_or(0)) / stops.count.max(1);
    Ok((stops.cost(bare), call_ns))
}

/// What a call of the calibration and the work before it take without a recorder, in nanoseconds: each the least of five
/// means.
fn bare() -> (u64, u64) {
    let least = |what: fn()| {
        let mean = || {
            let begun = Instant::now();
            (0..CALIBRATION).for_each(|_| what());
            begun.elapsed().as_nanos() / u128::from(CALIBRATION)
        };
        (0..5).map(|_| mean()).min().and_then(|least| u64::try_from(least).ok()).unwrap_or(0)
    };
    (least(child::call), least(child::work))
}

/// Runs a task to its end; returns what was recorded, and its status.
fn run(task: &Task<'_>, filter: &[libc::sock_filter], mut state: State) -> Result<(State, i32), RecordError> {
    // SAFETY: this process has one thread; the child makes system calls alone.
    let main = unsafe { libc::fork() };
    if main < 0 {
        return Err(RecordError::Refused(io::Error::last_os_error()));
    }
    if main == 0 {
        // SAFETY: in the child of a process with one thread.
        unsafe { child::run(task, filter) }
    }
    let signals = match task {
        Task::Command(_, _, signals) => Some(*signals),
        Task::Calibration(_) => None,
    };
    if let Some(signals) = signals {
        signals.pass_to(main);
    }
    let mut begun = false;
    let mut result = 0;
    while let Some((thread, change)) = ptrace::next().map_err(RecordError::Refused)? {
        let now = state.now();
        if matches!(change, Change::Stop(..)) {
            ptrace::settle(thread);
        }
        state.stopped(thread, now);
        match change {
            Change::Ended(status) => {
                if thread == main {
                    result = status;
                    signals.inspect(|signals| signals.application_ended());
                }
                state.ended(thread);
            }
            Change::Stop(..) if thread == main && !begun => {
                begun = true;
                ptrace::set_options(main).map_err(RecordError::Refused)?;
                state.inherit(main);
                state.alone(main);
                state.resume(main, 0);
            }
            Change::Stop(signal, event) => stop(&mut state, thread, signal, event),
        }
    }
    if !begun {
        let errno = io::Error::from_raw_os_error(libc::WEXITSTATUS(result));
        return Err(RecordError::Refused(errno));
    }
    Ok((state, result))
}

/// Handles the stop of a thread, and resumes it.
fn stop(state: &mut State, thread: libc::pid_t, signal: i32, event: i32) {
    let mut deliver = 0;
    match (signal, event) {
        (libc::SIGTRAP, libc::PTRACE_EVENT_SECCOMP) => match ptrace::stopped_at(thread) {
            Stopped::OtherArchitecture => state.other_architecture(thread),
            Stopped::Entry(number, arguments) if !state.begin(thread, number, arguments) => {
                match number as libc::c_long {
                    TRACES => state.traces(),
                    known if PROCESSORS.contains(&known) => state.leave_processors_alone(),
                    _ => state.stops.sleeps(thread),
                }
            }
            _ => {}
        },
        (libc::SIGTRAP, libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE) => {
            state.spawned(thread, ptrace::message(thread) as libc::pid_t);
        }
        (libc::SIGTRAP, libc::PTRACE_EVENT_EXEC) => state.executed(thread),
        (libc::SIGTRAP, libc::PTRACE_EVENT_EXIT) => state.ending(thread),
        (signal, 0) if signal == libc::SIGTRAP | 0x80 => {
            if let Stopped::Exit(result) = ptrace::stopped_at(thread) {
                state.end(thread, result);
            }
        }
        // The first stop of a thread: it stays stopped until its start has been reported.
        (libc::SIGSTOP, 0) if !state.known.contains(&thread) => {
            state.early.insert(thread);
            return;
        }
        (libc::SIGSTOP, 0) => {}
        (signal, 0) => deliver = signal,
        _ => {}
    }
    state.resume(thread, deliver);
}
