//! The machine that a program runs on, as a trait, and what passes between it and the interpreter.

use std::fmt;

use crate::claim::Claim;
use crate::code::{GroupId, SiteId};
use crate::commands::Command;
use crate::source::Position;
use crate::statistic::{Statistic, Times};
use crate::value::Value;

use super::arguments::Arguments;

/// What a command gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The value for an assignment; `Unset` means [`Reply::bytes`] as an integer, or the negative
    /// errno of a failure.
    pub value: Value,
    /// The positive errno of a failure, 0 for success.
    pub errno: i32,
    /// Bytes that were moved.
    pub bytes: u64,
    /// The command is under way (in an `async` block): the machine judges its result when it comes.
    pub started: bool,
}

impl Reply {
    /// Success without a value.
    #[inline]
    pub fn done() -> Self {
        Self::default()
    }

    /// Success; so many bytes were moved.
    #[inline]
    pub fn moved(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Success with a value.
    #[inline]
    pub fn value(value: Value) -> Self {
        Self { value, ..Self::default() }
    }

    /// Under way; the result comes later.
    #[inline]
    pub fn started() -> Self {
        Self { started: true, ..Self::default() }
    }

    /// Failure with a positive errno.
    #[inline]
    pub fn failed(errno: i32) -> Self {
        Self { errno, ..Self::default() }
    }
}

/// Why the program waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// `sleep`; `--skip-sleep` leaves it out.
    Sleep,
    /// `think`
    Think,
    /// `rate` and `at`: until the next intended start.
    Pace,
}

/// A command that failed.
#[derive(Debug)]
pub struct Failure<'a> {
    /// Where in the program.
    pub site: SiteId,
    /// Which command.
    pub command: Command,
    /// Its arguments; `arguments.describe()` names the path.
    pub arguments: &'a Arguments,
    /// The positive errno.
    pub errno: i32,
    /// Bytes that were moved nevertheless (a short read).
    pub bytes: u64,
    /// Where the command needs an open file and has none: its argument as the program says it (`$f`), and
    /// what that holds.
    pub no_file: Option<(String, i64)>,
    /// Why the command was not even tried: an argument is outside of its bounds.
    pub refused: Option<String>,
}

/// Why a rank ended before the end of its program.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// A mistake that only shows when the program runs: a division by zero, a negative count.
    Fault(Box<Fault>),
    /// `on_error stop` and a command failed, which the machine knows.
    CommandFailed(SiteId),
    /// The machine wants to end: Ctrl-C, another rank died, time is over.
    Machine(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Fault(fault) => write!(
                f,
                "{}:{}:{}: {}",
                fault.position.file, fault.position.line, fault.position.column, fault.message
            ),
            Stop::CommandFailed(_) => f.write_str("a command failed and the program says `on_error stop`"),
            Stop::Machine(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Stop {}

/// A mistake in the program that only shows when it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Where in the program.
    pub position: Position,
    /// What went wrong, in a sentence that names the thing.
    pub message: String,
}

/// The world as a program sees it. One value of it serves one rank.
///
/// Only [`Machine::command`] and [`Machine::barrier`] stand on the hot path; implementations mark
/// them `#[inline]`. Everything else has a default that does nothing, for machines that only
/// count.
pub trait Machine: Sized {
    /// Does a command. `site` is an index into [`crate::plan::Plan::sites`]; the place of a sample
    /// is that site under the labels entered at the moment. A failure is a reply with an errno,
    /// after which the interpreter calls [`Machine::failed`] or [`Machine::expected`].
    /// `print`, `sleep` and `glob` never come here: they have methods of their own.
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply;

    /// As [`Machine::command`], but the program needs the command's value now, also in an `async` block:
    /// everything started before is done first.
    #[inline]
    fn command_now(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        self.command(command, site, arguments)
    }

    /// By what the results of commands that were only started are judged from now on: the errno that
    /// `expect` names, and whether a failure ends the program.
    fn judge_by(&mut self, expected: Option<i32>, stop_on_error: bool) {
        let _ = (expected, stop_on_error);
    }

    /// Waits for all ranks of a group; only called on ranks of that group.
    ///
    /// # Errors
    /// Where the wait was broken off.
    fn barrier(&mut self, site: SiteId, group: GroupId) -> Result<(), Stop>;

    /// A `time`, `ctime` or `phase` block begins (which one: the kind of the site). `label` is
    /// filled in already, and empty where the block has none.
    fn enter_block(&mut self, site: SiteId, label: &str) {
        let _ = (site, label);
    }

    /// The innermost block ends.
    fn leave_block(&mut self, site: SiteId) {
        let _ = site;
    }

    /// The work of a `phase` is done: its time ends here, and then the ranks of the group meet. The wait belongs to
    /// the site `waits`.
    ///
    /// # Errors
    /// Where the wait was broken off.
    fn leave_phase(&mut self, site: SiteId, waits: SiteId, group: GroupId) -> Result<(), Stop> {
        self.barrier(waits, group)?;
        self.leave_block(site);
        Ok(())
    }

    /// Shows a line of text; the machine adds `[rank] `.
    fn print(&mut self, text: &str) {
        let _ = text;
    }

    /// Waits so many nanoseconds.
    fn wait(&mut self, ns: u64, reason: Wait) {
        let _ = (ns, reason);
    }

    /// Waits until the clock of [`Machine::now_ns`] shows so much; comes back at once if it does.
    fn wait_until(&mut self, ns: u64, reason: Wait) {
        let now = self.now_ns();
        if now < ns {
            self.wait(ns - now, reason);
        }
    }

    /// Nanoseconds since the start of the run.
    fn now_ns(&mut self) -> u64 {
        0
    }

    /// Under `rate` and `at`: when the commands that follow should have started (ns since the
    /// start of the run), for the lateness in their samples; `None` afterwards.
    fn intended_start(&mut self, ns: Option<u64>) {
        let _ = ns;
    }

    /// A command failed and nobody expected it: count it, and report it once, with errno and path.
    fn failed(&mut self, failure: &Failure<'_>) {
        let _ = failure;
    }

    /// A command failed as `expect` said.
    fn expected(&mut self, failure: &Failure<'_>) {
        let _ = failure;
    }

    /// An `expect` whose commands did something else than fail with that errno.
    fn unexpected(&mut self, failure: &Failure<'_>, wanted: i32) {
        let _ = wanted;
        self.failed(failure);
    }

    /// Should the program end now? Polled at each iteration of a loop: keep it to one load.
    #[inline]
    fn interrupted(&mut self) -> Option<Stop> {
        None
    }

    /// A loop of `count` iterations begins. `Some(k)`: do only `k` of them, and multiply what
    /// happens by `count / k` until [`Machine::leave_loop`]. For machines that only count.
    #[inline]
    fn enter_loop(&mut self, count: u64, constant_body: bool) -> Option<u64> {
        let _ = (count, constant_body);
        None
    }

    /// The loop ends for which [`Machine::enter_loop`] gave a number.
    #[inline]
    fn leave_loop(&mut self) {}

    /// A statistic of this rank's samples whose label or operation is `name`; `None`: there are
    /// no such samples. Times are in seconds.
    fn statistic(&mut self, name: &str, statistic: Statistic, times: Times) -> Option<f64> {
        let _ = (name, statistic, times);
        None
    }

    /// `assert` was evaluated; nothing in it asked for samples.
    fn asserted(&mut self, holds: bool, place: &Position) {
        let _ = (holds, place);
    }

    /// `assert` asks for samples: with `each` for those of this rank, otherwise for those of all ranks of
    /// the group around it, up to now.
    fn claimed(&mut self, claim: Claim, each: bool) {
        let _ = (claim, each);
    }

    /// Brings a number and gets the largest that a rank of the group brought; only called on ranks of that
    /// group, all of which are at this step. Machines that run one rank after the other give it back.
    ///
    /// # Errors
    /// Where the wait was broken off.
    fn agree(&mut self, step: u32, group: GroupId, value: u64) -> Result<u64, Stop> {
        let _ = (step, group);
        Ok(value)
    }

    /// The body of a phase with a stonewall begins, behind its first barrier. `site` is the phase's.
    ///
    /// # Errors
    /// Where it cannot.
    fn enter_stonewall(&mut self, site: SiteId, group: GroupId) -> Result<(), Stop> {
        let _ = (site, group);
        Ok(())
    }

    /// Has the stonewall fallen: is another rank through? Asked at each iteration of a loop.
    #[inline]
    fn stonewall_fell(&mut self) -> bool {
        false
    }

    /// This rank is through, or its time is over: the stonewall falls. `cut`: one of its loops ended early.
    ///
    /// # Errors
    /// Where the wait for the others was broken off.
    fn leave_stonewall(&mut self, cut: bool) -> Result<(), Stop> {
        let _ = cut;
        Ok(())
    }

    /// Should reads compare what they read with what was written?
    fn verify(&mut self, on: bool) {
        let _ = on;
    }

    /// Counts a signal once more. Machines that run one rank after the other do nothing.
    ///
    /// # Errors
    /// Where the ranks cannot give signals.
    fn signal(&mut self, name: &str) -> Result<(), Stop> {
        let _ = name;
        Ok(())
    }

    /// Waits until a signal was given so often by all ranks together.
    ///
    /// # Errors
    /// Where the wait was broken off.
    fn await_signal(&mut self, name: &str, count: u64) -> Result<(), Stop> {
        let _ = (name, count);
        Ok(())
    }

    /// Names that match a pattern with `*` and `?`, sorted.
    fn glob(&mut self, pattern: &str) -> Vec<String> {
        let _ = pattern;
        Vec::new()
    }

    /// From here on commands may be started without waiting, so many at once: their replies say
    /// [`Reply::started`]. Blocks may be nested.
    fn enter_async(&mut self, depth: u32) {
        let _ = depth;
    }

    /// Waits for everything that was started since the last [`Machine::enter_async`].
    fn leave_async(&mut self) {}

    /// Runs `work` as worker 0 to `count - 1`, at once where the machine can: each with a machine of its
    /// own. The default runs them one after the other.
    ///
    /// # Errors
    /// The first that a worker gave.
    fn parallel<W: Work>(&mut self, count: u32, work: &W) -> Result<(), Stop> {
        (0..count).try_for_each(|index| work.run(index, self))
    }
}

/// What the workers of `parallel` do.
pub trait Work: Sync {
    /// Does it as worker `index` on a machine.
    ///
    /// # Errors
    /// Where it ended early.
    fn run<M: Machine>(&self, index: u32, machine: &mut M) -> Result<(), Stop>;
}
