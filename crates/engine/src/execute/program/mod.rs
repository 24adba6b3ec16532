//! The machine that the interpreter drives: one rank.

use std::collections::HashMap;

use ppl::claim::Claim;
use ppl::commands::Command;
use ppl::interpret::{Arguments, Failure, Machine, Reply, Statistic, Stop as Halt, Wait, Work};
use ppl::plan::{GroupId, Plan, SiteId};
use ppl::source::Position;
use samples::Warning;

mod calls;
mod kernels;

use super::call::Call;
use super::session::{Judgement, Session, Stop};
use crate::flags::{errno_name, errno_text};
use ranks::Comm;

use calls::Answer;

/// A rank as the interpreter sees it.
pub(super) struct Rank<'m, 's> {
    pub(super) session: &'m mut Session<'s>,
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
    stonewall: Option<Stonewall>,
    /// How many phases with a stonewall each group has begun.
    phases: Vec<u64>,
    /// How often each assertion about samples was reached, by step.
    claims: HashMap<u32, u32>,
    /// The last files that could not be opened: errno, path, line.
    unopened: Vec<(i32, String, u32)>,
}

/// The phase with a stonewall that this rank is in.
#[derive(Clone, Copy)]
struct Stonewall {
    place: usize,
    group: usize,
    /// Its number in the group.
    phase: u64,
    /// What was done before.
    since: (u64, u64, u64),
}

/// So often an assertion about the samples of all ranks is kept for the judgement at the end.
const CLAIMS: u32 = 1000;

impl<'m, 's> Rank<'m, 's> {
    /// Makes the communicators of all groups, which every rank does in the same order.
    pub(super) fn new(session: &'m mut Session<'s>, plan: &'m Plan) -> Result<Self, Stop> {
        let rank = session.rank();
        let mut groups = vec![None];
        for group in plan.groups.iter().skip(1) {
            let color = group.place(rank).map(|_| 0);
            groups.push(session.comm.split(color, rank)?);
        }
        if plan.code.steps.iter().any(|step| matches!(step, ppl::plan::Step::Verify(_))) {
            session.instrument.set_verifying();
        }
        session.instrument.set_hints(&plan.hints);
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
            stonewall: None,
            phases: vec![0; plan.groups.len()],
            claims: HashMap::new(),
            unopened: Vec::new(),
        })
    }

    /// A worker, which belongs to no group.
    fn of_worker(
        session: &'m mut Session<'s>,
        plan: &'m Plan,
        verify: bool,
        judgement: Judgement,
        stonewall: Option<Stonewall>,
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
            stonewall,
            phases: Vec::new(),
            claims: HashMap::new(),
            unopened: Vec::new(),
        }
    }

    /// The communicator of a group; that of the session for the world.
    fn comm(&self, group: usize) -> &dyn Comm {
        self.groups.get(group).and_then(Option::as_deref).unwrap_or(self.session.comm)
    }

    /// What phases with a stonewall sent around has come everywhere. Collective in each group.
    pub(super) fn settle(&self) -> Result<(), Stop> {
        for (group, phase) in self.phases.iter().enumerate() {
            if *phase > 0 {
                self.comm(group).settle(*phase)?;
            }
        }
        Ok(())
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
            && let Some(at) = self.session.instrument.verify()
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
            Some(buffer) => (self.session.instrument.buffer_length(buffer), Some(buffer)),
            None => (arguments.size(index, 0), None),
        }
    }

    /// What could not be opened is named where it is used all the same.
    fn keep_unopened(&mut self, failure: &Failure<'_>) {
        /// An errno names the last file that gave it: more than these are never needed.
        const KEPT: usize = 16;
        if !matches!(failure.command, Command::Fopen | Command::Fcreat | Command::Pfopen) {
            return;
        }
        self.unopened.retain(|(errno, ..)| *errno != failure.errno);
        if self.unopened.len() >= KEPT {
            self.unopened.remove(0);
        }
        let path = failure.arguments.text(0).to_owned();
        self.unopened.push((failure.errno, path, self.plan.site(failure.site).line));
    }

    /// The command with the names in it, for a message.
    fn words(&self, failure: &Failure<'_>) -> String {
        let named = match (failure.arguments.file(0), &failure.no_file) {
            (Some(file), _) => match self.session.instrument.path_of(file) {
                Some(path) => format!("\"{}\"", path.to_string_lossy()),
                None => "a file that is not open".into(),
            },
            (None, Some((argument, held))) => {
                let unopened = self.unopened.iter().rev().find(|(errno, ..)| i64::from(-errno) == *held);
                match unopened {
                    Some((_, path, line)) => {
                        format!("{argument}: \"{path}\", which line {line} did not open")
                    }
                    None => format!("{argument}, which holds {held} and no file"),
                }
            }
            (None, None) => failure.arguments.describe(),
        };
        format!("{}({named})", failure.command.name())
    }
}

impl Machine for Rank<'_, '_> {
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
                self.read(site, Call::Read { file, length, offset: offset() })
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

    fn agree(&mut self, group: GroupId, value: u64) -> Result<u64, Halt> {
        if let Some(halt) = self.halted() {
            return Err(halt);
        }
        let comm = self.groups.get(group.index()).and_then(Option::as_deref);
        let agreed = self.session.agree(comm, value);
        agreed.map_err(|stop| {
            let halt = Halt::Machine(stop.to_string());
            self.stop(stop);
            halt
        })
    }

    fn enter_stonewall(&mut self, site: SiteId, group: GroupId) -> Result<(), Halt> {
        let at = group.index();
        let before = self.phases[at];
        if before > 0 {
            let settled = self.comm(at).settle(before).map_err(Stop::from);
            self.note(settled);
        }
        self.phases[at] += 1;
        let since = self.session.done();
        self.stonewall = Some(Stonewall { place: site.index(), group: at, phase: before + 1, since });
        if self.session.instrument.is_virtual() && self.session.rank_count() > 1 {
            let warned = self.session.warn(Warning {
                code: "stonewall-simulated".into(),
                text: "in virtual time no rank sees that another one is through with its phase: only the \
                       time of a stonewall ends loops"
                    .into(),
                advice: "give it a time (`stonewall 30s`), or measure".into(),
            });
            self.note(warned);
        }
        self.halted().map_or(Ok(()), Err)
    }

    fn stonewall_fell(&mut self) -> bool {
        let Some(wall) = self.stonewall else { return false };
        !self.session.instrument.is_virtual() && self.comm(wall.group).raised(wall.phase)
    }

    fn leave_stonewall(&mut self, cut: bool) -> Result<(), Halt> {
        let Some(wall) = self.stonewall.take() else { return Ok(()) };
        self.comm(wall.group).raise(wall.phase);
        let kept = self.session.stonewalled(wall.place, wall.since, cut);
        self.note(kept);
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
        let now = self.session.instrument.now();
        self.session.instrument.since_epoch_ns(now)
    }

    fn intended_start(&mut self, ns: Option<u64>) {
        self.session.set_intended(ns);
    }

    fn expected(&mut self, failure: &Failure<'_>) {
        self.keep_unopened(failure);
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        if self.stop.is_some() {
            return;
        }
        let (place, errno) = (failure.site.index(), failure.errno);
        let wrong = self.wrong.take();
        self.keep_unopened(failure);
        let stops = self.judgement.stop_on_error;
        let mut words = String::new();
        if stops || self.session.words_wanted(place, errno) {
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
                errno_text(errno)
            );
        }
        self.note(told);
    }

    fn unexpected(&mut self, failure: &Failure<'_>, wanted: i32) {
        if self.stop.is_some() {
            return;
        }
        let name = |errno| errno_name(errno).map_or(format!("errno {errno}"), str::to_owned);
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
        statistic.of(&mut durations)
    }

    fn claimed(&mut self, claim: Claim, each: bool) {
        let place = self.plan.place(claim.step);
        if each {
            let rank = self.session.rank();
            let plan = self.plan;
            let judged =
                ppl::claim::judge(plan, &claim, &mut |name, statistic| self.statistic(name, statistic));
            let words = |evidence: &[_]| format!(": {} of rank {rank}", ppl::claim::words(evidence));
            let text = match judged {
                Ok((true, _)) => return,
                Ok((false, evidence)) => format!("the assertion does not hold{}", words(&evidence)),
                Err(why) => {
                    let why = format!("{}:{}:{}: {why} on rank {rank}", place.file, place.line, place.column);
                    return self.stop(Stop::Program(why));
                }
            };
            let text = format!("{}:{}:{}: {text}", place.file, place.line, place.column);
            let noted = self.session.assertion_failed(text);
            return self.note(noted);
        }
        let reached = self.claims.entry(claim.step).or_default();
        *reached += 1;
        let noted = if *reached <= CLAIMS {
            self.session.claimed(claim)
        } else {
            self.session.warn(Warning {
                code: "many-assertions".into(),
                text: format!(
                    "line {}: the assertion was reached more than {CLAIMS} times; those after are not judged",
                    place.line
                ),
                advice: "put it behind the loop, or let each rank judge at once: `assert each …`".into(),
            })
        };
        self.note(noted);
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
        let (plan, verify, judgement, wall) = (self.plan, self.verify, self.judgement, self.stonewall);
        let groups = &self.groups;
        let world = self.session.comm;
        let fell = || {
            wall.is_some_and(|wall| {
                let comm = groups.get(wall.group).and_then(Option::as_deref).unwrap_or(world);
                comm.raised(wall.phase)
            })
        };
        let done = self.session.workers(count, &fell, |index, session| {
            let mut rank = Rank::of_worker(session, plan, verify, judgement, wall);
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
        self.session.instrument.glob(pattern)
    }
}

/// Runs the plan as the rank of `session`.
///
/// # Errors
/// Why the rank ended before the end of the program.
pub fn interpret(plan: &Plan, session: &mut Session<'_>) -> Result<(), Stop> {
    let number = session.rank();
    let mut rank = Rank::new(session, plan)?;
    let ended = ppl::interpret::run(plan, number, &mut rank);
    if ended.is_ok() && rank.stop.is_none() {
        let settled = rank.settle();
        rank.note(settled);
    }
    rank.result(ended)
}
