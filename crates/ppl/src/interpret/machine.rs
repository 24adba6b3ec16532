//! Defines the machine that a program runs on, as a trait, and the types exchanged with it.

use std::fmt;

use crate::claim::Claim;
use crate::code::{GroupId, SiteId};
use crate::commands::Command;
use crate::source::Position;
use crate::statistic::{Statistic, Times};
use crate::value::Value;

use super::arguments::Arguments;

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The value for an assignment; `Unset` means [`Reply::bytes`] as an integer, or the negative
    /// errno of a failure.
    pub value: Value,
    /// The positive errno of a failure, 0 for success.
    pub errno: i32,
    /// Bytes moved.
    pub bytes: u64,
    /// The command is in flight (in an `async` block); the machine handles its result when it completes.
    pub started: bool,
}

impl Reply {
    /// Success without a value.
    #[inline]
    pub fn done() -> Self {
        Self::default()
    }

    /// Success, with the number of bytes moved.
    #[inline]
    pub fn moved(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Success with a value.
    #[inline]
    pub fn value(value: Value) -> Self {
        Self { value, ..Self::default() }
    }

    /// In flight; the result follows later.
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

/// The result of a command whose value is not needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementReply {
    /// Bytes moved.
    pub bytes: u64,
    /// The positive errno of a failure, 0 for success.
    pub errno: i32,
    /// As [`Reply::started`].
    pub started: bool,
}

impl From<&Reply> for StatementReply {
    fn from(reply: &Reply) -> Self {
        Self { bytes: reply.bytes, errno: reply.errno, started: reply.started }
    }
}

/// Why the program waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// `sleep`, which `--skip-sleep` skips.
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
    /// Bytes moved in spite of the failure (a short read).
    pub bytes: u64,
    /// If the command needs an open file and has none: its argument as written in the program (`$f`), and its
    /// value.
    pub no_file: Option<(String, i64)>,
    /// If the command was not tried: which argument is out of bounds.
    pub refused: Option<String>,
}

/// Why a rank ended before the end of its program.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// A run-time error: a division by zero, a negative count.
    Fault(Box<Fault>),
    /// A command failed under `on_error stop`; the machine has its failure.
    CommandFailed(SiteId),
    /// The machine stopped the program: Ctrl-C, another rank died, a time limit.
    Machine(String),
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Halt::Fault(fault) => write!(
                f,
                "{}:{}:{}: {}",
                fault.position.file, fault.position.line, fault.position.column, fault.message
            ),
            Halt::CommandFailed(_) => f.write_str("a command failed and the program says `on_error stop`"),
            Halt::Machine(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Halt {}

/// A run-time error of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Where in the program.
    pub position: Position,
    /// What went wrong, in a sentence that names the object.
    pub message: String,
}

/// Executes the effects of a program for one rank: commands, waits, output.
///
/// Only [`Machine::command`], [`Machine::statement`] and [`Machine::barrier`] are on the hot path; implementations mark them
/// `#[inline]`. All other methods have a default that does nothing, for machines that only count.
pub trait Machine: Sized {
    /// Executes a command. `site` is an index into [`crate::plan::Plan::sites`]; a sample belongs to that
    /// site under the current labels. A failure is a reply with an errno, after which the interpreter calls
    /// [`Machine::failed`] or [`Machine::expected`]. `print`, `sleep` and `glob` have separate methods.
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply;

    /// As [`Machine::command`] where the program does not need the value.
    #[inline]
    fn statement(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> StatementReply {
        StatementReply::from(&self.command(command, site, arguments))
    }

    /// As [`Machine::command`], but the program needs the command's value immediately, also in an `async`
    /// block, so everything started before is completed first.
    #[inline]
    fn command_now(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        self.command(command, site, arguments)
    }

    /// Sets how results of commands in flight are judged from now on: the errno of `expect`, and whether a
    /// failure ends the program.
    fn judge_by(&mut self, expected: Option<i32>, stop_on_error: bool) {
        let _ = (expected, stop_on_error);
    }

    /// Waits for all ranks of a group; only called on ranks of that group.
    ///
    /// # Errors
    /// If the wait was interrupted.
    fn barrier(&mut self, site: SiteId, group: GroupId) -> Result<(), Halt>;

    /// Enters a `time`, `ctime` or `phase` block (the kind of the site says which). `label` is rendered, and
    /// empty if the block has none.
    fn enter_block(&mut self, site: SiteId, label: &str) {
        let _ = (site, label);
    }

    /// Leaves the innermost block.
    fn leave_block(&mut self, site: SiteId) {
        let _ = site;
    }

    /// Ends the time of a `phase`, then lets the ranks of the group meet. The wait belongs to the site
    /// `waits`.
    ///
    /// # Errors
    /// If the wait was interrupted.
    fn leave_phase(&mut self, site: SiteId, waits: SiteId, group: GroupId) -> Result<(), Halt> {
        self.barrier(waits, group)?;
        self.leave_block(site);
        Ok(())
    }

    /// Prints a line of text; the machine adds `[rank] `.
    fn print(&mut self, text: &str) {
        let _ = text;
    }

    /// Waits for `ns` nanoseconds.
    fn wait(&mut self, ns: u64, reason: Wait) {
        let _ = (ns, reason);
    }

    /// Waits until [`Machine::now_ns`] reaches `ns`; returns immediately if it has.
    fn wait_until(&mut self, ns: u64, reason: Wait) {
        let now = self.now_ns();
        if now < ns {
            self.wait(ns - now, reason);
        }
    }

    /// A name of the run, the same on all ranks. Where nothing runs it is what stands in the program.
    fn run_name(&mut self) -> String {
        "$$run".into()
    }

    /// Nanoseconds since the start of the run.
    fn now_ns(&mut self) -> u64 {
        0
    }

    /// Under `rate` and `at`: when the commands that follow should have started (ns since the
    /// start of the run), for the lateness in their samples; `None` afterwards: what counted before counts again.
    fn intended_start(&mut self, ns: Option<u64>) {
        let _ = ns;
    }

    /// A command is not tried, because an argument holds no open file or is out of bounds: it has failed with this errno.
    /// What judges it follows.
    fn untried(&mut self, site: SiteId, errno: i32) {
        let _ = (site, errno);
    }

    /// A command failed unexpectedly: counts it, and reports it once, with errno and path.
    fn failed(&mut self, failure: &Failure<'_>) {
        let _ = failure;
    }

    /// A command failed as expected by `expect`.
    fn expected(&mut self, failure: &Failure<'_>) {
        let _ = failure;
    }

    /// A command inside `expect` did not fail with that errno.
    fn unexpected(&mut self, failure: &Failure<'_>, wanted: i32) {
        let _ = wanted;
        self.failed(failure);
    }

    /// Why the program should end now, if it should. Polled at each iteration of a loop, so it must be one
    /// load.
    #[inline]
    fn interrupted(&mut self) -> Option<Halt> {
        None
    }

    /// A list or a string of this length was assigned: it may have been copied for that.
    #[inline]
    fn assigned(&mut self, length: usize) {
        let _ = length;
    }

    /// As [`Machine::interrupted`], asked before a statement outside of loops: nothing is counted by it.
    #[inline]
    fn stopped(&mut self) -> Option<Halt> {
        None
    }

    /// Enters a loop of `count` iterations. `Some(k)`: execute only the first `k` of them; the machine lets them stand for
    /// all until [`Machine::leave_loop`]. For machines that only count.
    #[inline]
    fn enter_loop(&mut self, count: u64, constant_body: bool) -> Option<u64> {
        let _ = (count, constant_body);
        None
    }

    /// Begins the next of the iterations that stand for all.
    #[inline]
    fn next_round(&mut self) {}

    /// Leaves a loop for which [`Machine::enter_loop`] returned a number.
    #[inline]
    fn leave_loop(&mut self) {}

    /// A statistic of this rank's samples whose label or operation is `name`, in seconds for times; `None` if
    /// there are no such samples.
    fn statistic(&mut self, name: &str, statistic: Statistic, times: Times) -> Option<f64> {
        let _ = (name, statistic, times);
        None
    }

    /// An `assert` that does not refer to samples does not hold: its text and place.
    fn not_held(&mut self, claim: &str, place: &Position) {
        let _ = (claim, place);
    }

    /// Was the run ended from outside, by a time limit, a condition or a signal?
    fn was_ended(&self) -> bool {
        false
    }

    /// The run was ended before this `assert`, and what it is about is not known: its text and place.
    fn not_evaluated(&mut self, claim: &str, place: &Position) {
        let _ = (claim, place);
    }

    /// An `assert` refers to samples: with `each` to those of this rank, otherwise to those of all ranks of
    /// the enclosing group, up to now.
    fn claimed(&mut self, claim: Claim, each: bool) {
        let _ = (claim, each);
    }

    /// Returns the maximum of `value` over the ranks of the group; only called on ranks of that group, all of
    /// which are at this step. Machines that run one rank after the other return `value`.
    ///
    /// # Errors
    /// If the wait was interrupted.
    fn agree(&mut self, step: u32, group: GroupId, value: u64) -> Result<u64, Halt> {
        let _ = (step, group);
        Ok(value)
    }

    /// As [`Machine::agree`], for a command of the program.
    ///
    /// # Errors
    /// If the wait was interrupted.
    fn largest(&mut self, step: u32, site: SiteId, group: GroupId, value: u64) -> Result<u64, Halt> {
        let _ = site;
        self.agree(step, group, value)
    }

    /// Enters the body of a phase with a stonewall, after its first barrier. `site` is that of the phase.
    ///
    /// # Errors
    /// If it cannot be entered.
    fn enter_stonewall(&mut self, site: SiteId, group: GroupId) -> Result<(), Halt> {
        let _ = (site, group);
        Ok(())
    }

    /// Whether the stonewall has fallen: another rank has completed the phase. Called at each iteration of a
    /// loop.
    #[inline]
    fn stonewall_fell(&mut self) -> bool {
        false
    }

    /// Lets the stonewall fall, since this rank has completed the phase or its time has passed. `cut`: a loop
    /// of this rank ended early.
    ///
    /// # Errors
    /// If the wait for the others was interrupted.
    fn leave_stonewall(&mut self, cut: bool) -> Result<(), Halt> {
        let _ = cut;
        Ok(())
    }

    /// Sets whether reads compare their data with what was written; whether they did before.
    fn verify(&mut self, on: bool) -> bool {
        let _ = on;
        false
    }

    /// Counts a signal once more. Machines that run one rank after the other do nothing.
    ///
    /// # Errors
    /// Where the ranks cannot give signals.
    fn signal(&mut self, name: &str) -> Result<(), Halt> {
        let _ = name;
        Ok(())
    }

    /// Waits until a signal was given so often by all ranks together.
    ///
    /// # Errors
    /// Where the wait was broken off.
    fn await_signal(&mut self, name: &str, count: u64) -> Result<(), Halt> {
        let _ = (name, count);
        Ok(())
    }

    /// Names that match a pattern with `*` and `?`, sorted.
    fn glob(&mut self, pattern: &str) -> Vec<String> {
        let _ = pattern;
        Vec::new()
    }

    /// From here on up to `depth` commands may be in flight; their reply is [`Reply::started`]. Blocks may be
    /// nested.
    fn enter_async(&mut self, depth: u32) {
        let _ = depth;
    }

    /// Waits for everything that was started since the last [`Machine::enter_async`].
    fn leave_async(&mut self) {}

    /// Runs `work` as workers 0 to `count - 1`, concurrently if the machine can, each with its own machine.
    /// The default runs them one after the other.
    ///
    /// # Errors
    /// The first error of a worker.
    fn parallel<W: Work>(&mut self, count: u32, work: &W) -> Result<(), Halt> {
        (0..count).try_for_each(|index| work.run(index, self))
    }
}

/// The work of the workers of `parallel`.
pub trait Work: Sync {
    /// Runs the work as worker `index` on a machine.
    ///
    /// # Errors
    /// If it ended early.
    fn run<M: Machine>(&self, index: u32, machine: &mut M) -> Result<(), Halt>;
}
