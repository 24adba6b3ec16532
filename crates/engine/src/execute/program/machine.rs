//! What a program may ask of a rank.

use ppl::claim::{Claim, Measured};
use ppl::commands::Command;
use ppl::interpret::{
    Arguments, Failure, Halt, Machine, Reply, StatementReply, Statistic, Times, Wait, Work,
};
use ppl::plan::{GroupId, SiteId};
use ppl::source::Position;
use record::FailedAssertion;
use samples::{Site, Warning, sites_called};

use super::answer::Answer;
use super::rank::{Rank, Stonewall};
use crate::execute::call::Call;
use crate::execute::session::{Failed, JudgedBy, Named, Stop};

/// So often an assertion about the samples of all ranks is kept for the judgement at the end.
const CLAIMS: u32 = 1000;

/// Of an assertion that nobody could judge, and why.
fn unevaluated(claim: &str, place: &Position, why: &str) -> FailedAssertion {
    let Position { file, line, column } = place;
    let text = format!("{file}:{line}:{column}: the assertion was not evaluated: {why}");
    FailedAssertion { line: *line, claim: claim.to_owned(), text }
}

/// What one rank measured.
struct OfRank<F> {
    sites: Vec<Site>,
    statistic: F,
}

impl<F: FnMut(&str, Statistic, Times) -> Option<f64>> Measured for OfRank<F> {
    fn statistic(&mut self, name: &str, statistic: Statistic, times: Times) -> Option<f64> {
        (self.statistic)(name, statistic, times)
    }

    fn is_block(&self, name: &str) -> bool {
        sites_called(&self.sites, name).1
    }
}

/// An assertion in the program that does not hold.
fn not_held(claim: &str, place: &Position, evidence: &str) -> FailedAssertion {
    let Position { file, line, column, .. } = place;
    let text = format!("{file}:{line}:{column}: the assertion does not hold{evidence}");
    FailedAssertion { line: *line, claim: claim.to_owned(), text }
}

impl Rank<'_, '_> {
    /// A command did not end as the program says.
    fn judged(&mut self, failure: &Failure<'_>, expected: Option<i32>) {
        if self.stop.is_some() {
            return;
        }
        let place = failure.site.index();
        let (errno, moved) = (failure.errno, failure.bytes);
        let failed = Failed { errno, expected, moved, wrong: self.session.wrong.take() };
        let stops = self.judgement.stop_on_error;
        let named = match stops || self.session.words_wanted_at(place, &failed) {
            true => self.words(failure),
            false => Named::default(),
        };
        let told = self.session.failed(place, &named, &failed);
        if stops {
            let line = self.plan.site(failure.site).line;
            self.told = Some(Stop::on_error(line, &failed.words(&named.operation, "")));
        }
        self.note(told);
    }
}

impl Machine for Rank<'_, '_> {
    #[inline]
    fn command(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        if self.stop.is_some() {
            return Reply::failed(libc::ECANCELED);
        }
        match self.transfer(command, site, arguments) {
            Some(StatementReply { bytes, errno, started }) => {
                Reply { bytes, errno, started, ..Reply::default() }
            }
            None if command == Command::Fopen => self.open(site, arguments),
            None => self.other(command, site, arguments),
        }
    }

    #[inline(always)]
    fn statement(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> StatementReply {
        if self.stop.is_some() {
            return StatementReply { errno: libc::ECANCELED, ..StatementReply::default() };
        }
        if let Some(reply) = self.transfer(command, site, arguments) {
            return reply;
        }
        let call = match (command, arguments.file(0)) {
            (Command::Stat, _) => Some(super::calls::stat(arguments)),
            (Command::Fclose, Some(file)) => Some(Call::Close { file }),
            _ => None,
        };
        if let Some(call) = call {
            let reply = self.perform_statement(site, call, Answer::Nothing);
            return StatementReply { bytes: 0, ..reply };
        }
        StatementReply::from(&self.other(command, site, arguments))
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

    fn agree(&mut self, step: u32, group: GroupId, value: u64) -> Result<u64, Halt> {
        if let Some(halt) = self.halted() {
            return Err(halt);
        }
        if self.agrees_at.0 != step {
            self.agrees_at = (step, self.plan.place(step).line);
        }
        let comm = self.groups.get(group.index()).and_then(Option::as_deref);
        let agreed = self.session.agree(self.agrees_at, comm, value);
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

    fn leave_phase(&mut self, site: SiteId, waits: SiteId, group: GroupId) -> Result<(), Halt> {
        if let Some(halt) = self.halted() {
            return Err(halt);
        }
        let comm = self.groups.get(group.index()).and_then(Option::as_deref);
        let met = self.session.leave_phase(site.index(), waits.index(), comm);
        self.note(met);
        self.halted().map_or(Ok(()), Err)
    }

    fn print(&mut self, text: &str) {
        if self.stop.is_some() {
            return;
        }
        let line = format!("[{}] {text}\n", self.session.rank());
        let printed = self.session.print(line.as_bytes());
        self.note(printed);
    }

    fn wait(&mut self, ns: u64, reason: Wait) {
        // What was refused, or failed, ends the program: before it waits.
        if self.stop.is_some() {
            return;
        }
        let waited = match reason {
            Wait::Sleep => self.session.sleep(ns),
            Wait::Think => self.session.pause(ns),
            Wait::Pace => self.session.wait(ns),
        };
        self.note(waited);
    }

    fn run_name(&mut self) -> String {
        self.session.instrument.run_name()
    }

    fn now_ns(&mut self) -> u64 {
        let now = self.session.instrument.now();
        self.session.instrument.since_epoch_ns(now)
    }

    fn intended_start(&mut self, ns: Option<u64>) {
        self.session.set_intended(ns);
    }

    fn untried(&mut self, site: SiteId, errno: i32) {
        if self.stop.is_none() {
            let kept = self.session.untried(site.index(), errno);
            self.note(kept);
        }
    }

    fn expected(&mut self, failure: &Failure<'_>) {
        self.session.wrong = None;
        self.keep_unopened(failure);
        let counted = self.session.failed_as_expected(failure.site.index(), failure.errno);
        self.note(counted);
    }

    fn failed(&mut self, failure: &Failure<'_>) {
        self.keep_unopened(failure);
        self.judged(failure, None);
    }

    fn unexpected(&mut self, failure: &Failure<'_>, wanted: i32) {
        self.judged(failure, Some(wanted));
    }

    #[inline]
    fn stopped(&mut self) -> Option<Halt> {
        self.interrupted()
    }

    #[inline]
    fn interrupted(&mut self) -> Option<Halt> {
        match self.stop {
            None if !self.session.is_interrupted() => None,
            _ => self.halted_by_others(),
        }
    }

    fn statistic(&mut self, name: &str, statistic: Statistic, times: Times) -> Option<f64> {
        let found = self.session.durations(name, times);
        let mut durations = found.map_err(|stop| self.stop(stop)).unwrap_or_default();
        statistic.of(&mut durations)
    }

    fn claimed(&mut self, claim: Claim, each: bool) {
        let place = self.plan.place(claim.step);
        if each {
            let rank = self.session.rank();
            let plan = self.plan;
            let mut without = None;
            let sites = self.session.sites();
            let statistic = |name: &str, statistic, times| {
                let found = self.statistic(name, statistic, times);
                if found.is_none() {
                    without = Some(name.to_owned());
                }
                found
            };
            let judged = ppl::claim::judge(plan, &claim, &mut OfRank { sites, statistic });
            let evidence = match judged {
                Ok((true, _)) => return,
                Ok((false, evidence)) => format!(": {}, of rank {rank}", ppl::claim::words(&evidence)),
                // It is no fault of the program that nothing succeeded.
                Err(why) if without.is_some_and(|name| self.session.has_failed(&name)) => {
                    let claim = ppl::claim::text(plan, &claim);
                    let one = unevaluated(&claim, &place, &format!("{why} on rank {rank}"));
                    let noted = self.session.assertion_unevaluated(one);
                    return self.note(noted);
                }
                Err(why) => {
                    let why = format!("{}:{}:{}: {why} on rank {rank}", place.file, place.line, place.column);
                    return self.stop(Stop::Program(why));
                }
            };
            let noted =
                self.session.assertion_failed(not_held(&ppl::claim::text(plan, &claim), &place, &evidence));
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

    fn not_held(&mut self, claim: &str, place: &Position) {
        let on = format!(" on rank {}", self.session.rank());
        let noted = self.session.assertion_failed(not_held(claim, place, &on));
        self.note(noted);
    }

    fn was_ended(&self) -> bool {
        use ranks::CommError::{Signalled, Stopped};
        matches!(self.stop, Some(Stop::Comm(Signalled { .. } | Stopped { .. })))
    }

    fn not_evaluated(&mut self, claim: &str, place: &Position) {
        // The reason why the run ended stays.
        drop(self.session.assertion_unevaluated(unevaluated(claim, place, "the run was ended before it")));
    }

    fn command_now(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        if self.session.may_overlap() {
            let all = self.session.complete_all();
            self.note(all);
        }
        self.wanted = true;
        let reply = self.command(command, site, arguments);
        self.wanted = false;
        reply
    }

    fn judge_by(&mut self, expected: Option<i32>, stop_on_error: bool) {
        self.judgement = JudgedBy { expected, stop_on_error, verify: false };
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
        let (plan, judgement, wall) = (self.plan, self.judgement, self.stonewall);
        let verify = self.session.verify;
        let groups = &self.groups;
        let world = self.session.comm;
        let fell = || {
            wall.is_some_and(|wall| {
                let comm = groups.get(wall.group).and_then(Option::as_deref).unwrap_or(world);
                comm.raised(wall.phase)
            })
        };
        let done = self.session.workers(count, &fell, |index, session| {
            session.verify = verify;
            let mut rank = Rank::of_worker(session, plan, judgement, wall);
            let ended = work.run(index, &mut rank);
            rank.result(ended)
        });
        self.note(done);
        self.halted().map_or(Ok(()), Err)
    }

    fn signal(&mut self, name: &str) -> Result<(), Halt> {
        let all = self.session.complete_all();
        self.note(all);
        if let Err(error) = ranks::board::signal(name) {
            self.stop(Stop::Failed(error.to_string()));
        }
        let carried = self.session.comm.carry_signals();
        self.note(carried.map_err(Stop::Comm));
        self.halted().map_or(Ok(()), Err)
    }

    fn await_signal(&mut self, name: &str, count: u64) -> Result<(), Halt> {
        let all = self.session.complete_all();
        self.note(all);
        let mut stop = self.stop.take();
        let session = &self.session;
        let waited = ranks::board::wait(name, count, session.comm.carries_signals(), || {
            if stop.is_none() {
                let carried = session.comm.carry_signals().map_err(Stop::Comm);
                stop = carried.err().or_else(|| session.interrupted());
            }
            stop.is_some()
        });
        self.stop = stop;
        self.session.resumes();
        if let Err(error) = waited {
            self.stop(Stop::Failed(error.to_string()));
        }
        self.halted().map_or(Ok(()), Err)
    }

    fn verify(&mut self, on: bool) -> bool {
        std::mem::replace(&mut self.session.verify, on)
    }

    fn glob(&mut self, pattern: &str) -> Vec<String> {
        self.session.instrument.glob(pattern)
    }
}
