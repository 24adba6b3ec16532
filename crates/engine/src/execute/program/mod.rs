//! How does a program of the language drive a rank?

use std::collections::HashMap;

use ppl::commands::Command;
use ppl::interpret::{Arguments, Failure, Machine, Reply, Statistic, Stop as Halt, Wait, Work};
use ppl::plan::{GroupId, Plan, SiteId};
use ppl::source::Position;

mod calls;

use super::backend::{Backend, Call};
use super::flights::Judgement;
use super::session::{Session, Stop};
use crate::comm::Comm;
use crate::ops::names;

use calls::Answer;

/// A rank as the interpreter sees it.
pub(super) struct Rank<'m, 's, B: Backend> {
    session: &'m mut Session<'s, B>,
    plan: &'m Plan,
    /// One communicator a group that this rank belongs to; the world's place stays empty.
    groups: Vec<Option<Box<dyn Comm>>>,
    /// By which group each parallel file was opened.
    opened_by: HashMap<u32, GroupId>,
    /// Why the rank is about to leave; the interpreter asks for it at each loop.
    stop: Option<Stop>,
    /// The text of the failure told last.
    told: String,
    verify: bool,
    /// Where verified data was wrong.
    wrong: Option<u64>,
    /// By what commands under way are judged.
    judgement: Judgement,
    /// The value of the command is wanted: it is done before the program goes on.
    wanted: bool,
}

impl<'m, 's, B: Backend> Rank<'m, 's, B> {
    /// Makes the communicators of all groups, which every rank does in the same order.
    pub(super) fn new(session: &'m mut Session<'s, B>, plan: &'m Plan) -> Result<Self, Stop> {
        let rank = session.rank();
        let mut groups = vec![None];
        for group in plan.groups.iter().skip(1) {
            let color = group.place(rank).map(|_| 0);
            groups.push(session.comm.split(color, rank)?);
        }
        if plan.code.steps.iter().any(|step| matches!(step, ppl::plan::Step::Verify(_))) {
            session.backend.set_verifying();
        }
        session.backend.set_hints(&plan.hints);
        let opened_by = HashMap::new();
        Ok(Self {
            session,
            plan,
            groups,
            opened_by,
            stop: None,
            told: String::new(),
            verify: false,
            wrong: None,
            judgement: Judgement::default(),
            wanted: false,
        })
    }

    /// A worker, which belongs to no group.
    fn of_worker(
        session: &'m mut Session<'s, B>,
        plan: &'m Plan,
        verify: bool,
        judgement: Judgement,
    ) -> Self {
        Self {
            session,
            plan,
            groups: Vec::new(),
            opened_by: HashMap::new(),
            stop: None,
            told: String::new(),
            verify,
            wrong: None,
            judgement,
            wanted: false,
        }
    }

    /// The reason of an early end, in our words.
    pub(super) fn result(self, halted: Result<(), Halt>) -> Result<(), Stop> {
        match (self.stop, halted) {
            (Some(stop), _) => Err(stop),
            (None, Ok(())) => Ok(()),
            (None, Err(Halt::CommandFailed(_))) => Err(Stop::Failed(self.told)),
            (None, Err(fault @ Halt::Fault(_))) => Err(Stop::Program(fault.to_string())),
            (None, Err(Halt::Machine(why))) => Err(Stop::Failed(why)),
        }
    }

    fn stop(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
    }

    /// Keeps the reason to stop, if there is one, until the interpreter asks.
    fn note(&mut self, result: Result<(), Stop>) {
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    fn halted(&self) -> Option<Halt> {
        self.stop.as_ref().map(|stop| Halt::Machine(stop.to_string()))
    }

    #[inline(always)]
    fn perform(&mut self, site: SiteId, call: Call<'_>, answer: Answer) -> Reply {
        if self.session.is_async() && !self.wanted {
            return self.start(site, call, answer);
        }
        match self.session.operation(site.index(), call) {
            Ok(outcome) => answer.reply(outcome),
            Err(stop) => {
                self.stop(stop);
                Reply::failed(libc::ECANCELED)
            }
        }
    }

    /// Starts a command of an `async` block. One that cannot be started is done, and answers at once.
    #[inline(never)]
    fn start(&mut self, site: SiteId, call: Call<'_>, answer: Answer) -> Reply {
        let judgement = Judgement { verify: self.verify, ..self.judgement };
        match self.session.start(site.index(), call, judgement) {
            Ok(None) => Reply::started(),
            Ok(Some(outcome)) => answer.reply(outcome),
            Err(stop) => {
                self.stop(stop);
                Reply::failed(libc::ECANCELED)
            }
        }
    }

    #[inline(always)]
    fn read(&mut self, site: SiteId, call: Call<'_>) -> Reply {
        let reply = self.perform(site, call, Answer::Bytes);
        self.verified(reply)
    }

    /// Of a read inside `verify`: a failure where it gave other bytes than our writes put there.
    #[inline(always)]
    fn verified(&mut self, reply: Reply) -> Reply {
        if self.verify
            && reply.errno == 0
            && let Some(at) = self.session.backend.verify()
        {
            self.wrong = Some(at);
            return Reply { errno: libc::EBADMSG, ..reply };
        }
        reply
    }

    /// The length of a write and the buffer it comes from, if it names one.
    #[inline(always)]
    fn bytes(&self, arguments: &Arguments, index: usize) -> (u64, Option<u32>) {
        match arguments.buffer(index) {
            Some(buffer) => (self.session.backend.buffer_length(buffer), Some(buffer)),
            None => (arguments.size(index, 0), None),
        }
    }

    /// The command with the names in it, for a message.
    fn words(&self, failure: &Failure<'_>) -> String {
        let named = match failure.arguments.file(0) {
            Some(file) => match self.session.backend.path_of(file) {
                Some(path) => format!("\"{}\"", path.to_string_lossy()),
                None => "a file that is not open".into(),
            },
            None => failure.arguments.describe(),
        };
        format!("{}({named})", failure.command.name())
    }
}

impl<B: Backend> Machine for Rank<'_, '_, B> {
    #[inline]
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        if self.stop.is_some() {
            return Reply::failed(libc::ECANCELED);
        }
        let offset = || arguments.is_given(2).then(|| arguments.size(2, 0));
        match (command, arguments.file(0)) {
            (Command::Fwrite, Some(file)) => {
                let (length, buffer) = self.bytes(arguments, 1);
                let call = Call::Write { file, length, offset: offset(), buffer };
                self.perform(site, call, Answer::Bytes)
            }
            (Command::Fread, Some(file)) => {
                let length = arguments.is_given(1).then(|| arguments.size(1, 0));
                self.read(site, Call::Read { file, length, offset: offset(), buffer: None })
            }
            _ => self.other(command, site, arguments),
        }
    }

    #[inline]
    fn barrier(&mut self, site: SiteId, group: GroupId) -> Result<(), Halt> {
        if let Some(halt) = self.halted() {
            return Err(halt);
        }
        let comm = self.groups.get(group.index()).and_then(Option::as_deref);
        let met = self.session.barrier(site.index(), comm);
        self.note(met);
        self.halted().map_or(Ok(()), Err)
    }

    fn enter_block(&mut self, site: SiteId, label: &str) {
        let entered = self.session.enter(site.index(), label);
        self.note(entered);
    }

    fn leave_block(&mut self, site: SiteId) {
        let left = self.session.leave(site.index());
        self.note(left);
    }

    fn print(&mut self, text: &str) {
        let line = format!("[{}] {text}\n", self.session.rank());
        let printed = self.session.print(line.as_bytes());
        self.note(printed);
    }

    fn wait(&mut self, ns: u64, reason: Wait) {
        let waited = match reason {
            Wait::Sleep => self.session.sleep(ns),
            Wait::Think | Wait::Pace => self.session.pause(ns),
        };
        self.note(waited);
    }

    fn now_ns(&mut self) -> u64 {
        let now = self.session.backend.now();
        self.session.backend.since_epoch_ns(now)
    }

    fn intended_start(&mut self, ns: Option<u64>) {
        self.session.set_intended(ns);
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        if self.stop.is_some() {
            return;
        }
        let (place, errno) = (failure.site.index(), failure.errno);
        let wrong = self.wrong.take();
        let stops = self.judgement.stop_on_error;
        let mut words = String::new();
        if stops || self.session.tells(place, errno) {
            words = self.words(failure);
            if let Some(at) = wrong {
                words += &format!(": byte {at} is not what was written there;");
            }
        }
        let told = self.session.failed(place, &words, errno, failure.bytes);
        if stops {
            self.told = format!(
                "line {}: {words} failed: {}; the program says `on_error stop`",
                self.plan.site(failure.site).line,
                crate::ops::flags::errno_text(errno)
            );
        }
        self.note(told);
    }

    fn unexpected(&mut self, failure: &Failure<'_>, wanted: i32) {
        if self.stop.is_some() {
            return;
        }
        let name =
            |errno| crate::ops::flags::errno_name(errno).map_or(format!("errno {errno}"), str::to_owned);
        let words = format!("{}, which was to fail with {},", self.words(failure), name(wanted));
        let told = self.session.failed(failure.site.index(), &words, failure.errno, failure.bytes);
        self.note(told);
    }

    #[inline]
    fn interrupted(&mut self) -> Option<Halt> {
        if self.stop.is_none() {
            self.stop = self.session.interrupted();
        }
        self.halted()
    }

    fn statistic(&mut self, name: &str, statistic: Statistic) -> Option<f64> {
        let found = self.session.durations(name);
        let mut durations = found.map_err(|stop| self.stop(stop)).unwrap_or_default();
        if durations.is_empty() {
            return (statistic == Statistic::Count).then_some(0.0);
        }
        let count = durations.len();
        Some(match statistic {
            Statistic::Count => count as f64,
            Statistic::Mean => durations.iter().sum::<f64>() / count as f64,
            Statistic::Slowest => durations.iter().copied().fold(0.0, f64::max),
            Statistic::Quantile(q) => {
                let at = (q * count as f64).ceil() as usize;
                let at = at.clamp(1, count) - 1;
                *durations.select_nth_unstable_by(at, f64::total_cmp).1
            }
        })
    }

    fn asserted(&mut self, holds: bool, place: &Position) {
        if !holds {
            let rank = self.session.rank();
            let text = format!(
                "{}:{}:{}: the assertion does not hold on rank {rank}",
                place.file, place.line, place.column
            );
            let noted = self.session.assertion_failed(text);
            self.note(noted);
        }
    }

    fn command_now(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        let all = self.session.complete_all();
        self.note(all);
        self.wanted = true;
        let reply = self.command(command, site, arguments);
        self.wanted = false;
        reply
    }

    fn judge_by(&mut self, expected: Option<i32>, stop_on_error: bool) {
        self.judgement = Judgement { expected, stop_on_error, verify: false };
    }

    fn enter_async(&mut self, depth: u32) {
        let entered = self.session.enter_async(depth);
        self.note(entered);
    }

    fn leave_async(&mut self) {
        let left = self.session.leave_async();
        self.note(left);
    }

    fn parallel<W: Work>(&mut self, count: u32, work: &W) -> Result<(), Halt> {
        if let Some(halt) = self.halted() {
            return Err(halt);
        }
        let (plan, verify, judgement) = (self.plan, self.verify, self.judgement);
        let done = self.session.workers(count, |index, session| {
            let mut rank = Rank::of_worker(session, plan, verify, judgement);
            let ended = work.run(index, &mut rank);
            rank.result(ended)
        });
        self.note(done);
        self.halted().map_or(Ok(()), Err)
    }

    fn verify(&mut self, on: bool) {
        self.verify = on;
    }

    fn glob(&mut self, pattern: &str) -> Vec<String> {
        names::glob(pattern)
    }
}

/// Runs the plan as the rank of `session`.
///
/// # Errors
/// Why the rank ended before the end of the program.
pub fn interpret<B: Backend>(plan: &Plan, session: &mut Session<'_, B>) -> Result<(), Stop> {
    let number = session.rank();
    let mut rank = Rank::new(session, plan)?;
    let ended = ppl::interpret::run(plan, number, &mut rank);
    rank.result(ended)
}
