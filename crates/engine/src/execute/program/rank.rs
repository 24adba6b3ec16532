//! A rank as the interpreter sees it.

use std::collections::HashMap;

use ppl::commands::{ArgumentSpec, Command, Kind, Yields};
use ppl::interpret::{Arguments, Failure, Halt, Reply, StatementReply};
use ppl::plan::{GroupId, Plan, SiteId};

use super::answer::Answer;
use crate::execute::call::Call;
use crate::execute::session::{JudgedBy, Named, Session, Stop};
use ranks::Comm;
use ranks::layout::Layout;
use samples::Outcome;

/// A rank as the interpreter sees it.
pub(super) struct Rank<'m, 's> {
    pub(super) session: &'m mut Session<'s>,
    pub(super) plan: &'m Plan,
    /// One communicator a group that this rank belongs to; the world's place stays empty.
    pub(super) groups: Vec<Option<Box<dyn Comm>>>,
    /// By which group each parallel file was opened.
    pub(super) opened_by: HashMap<u32, GroupId>,
    /// Why the rank is about to leave; the interpreter asks for it at each loop.
    pub(super) stop: Option<Stop>,
    /// What ends the program that says `on_error stop`.
    pub(super) told: Option<Stop>,
    /// By what commands under way are judged.
    pub(super) judgement: JudgedBy,
    /// The value of the command is wanted: it is done before the program goes on.
    pub(super) wanted: bool,
    pub(super) stonewall: Option<Stonewall>,
    /// How many phases with a stonewall each group has begun.
    pub(super) phases: Vec<u64>,
    /// How often each assertion about samples was reached, by step.
    pub(super) claims: HashMap<u32, u32>,
    /// The last files that could not be opened: errno, path, line.
    pub(super) unopened: Vec<(i32, String, u32)>,
    /// The step, and its line, at which ranks agreed last on another round.
    pub(super) agrees_at: (u32, u32),
    /// Open modes that were read, and their flags.
    pub(super) opened_as: Vec<(String, i32)>,
    /// The layouts of patterns with a shape, of the groups that used them.
    pub(super) layouts: HashMap<(String, GroupId), Layout>,
}

/// The phase with a stonewall that this rank is in.
#[derive(Clone, Copy)]
pub(super) struct Stonewall {
    pub(super) place: usize,
    pub(super) group: usize,
    /// Its number in the group.
    pub(super) phase: u64,
    /// What was done before.
    pub(super) since: (u64, u64, u64),
}

impl<'m, 's> Rank<'m, 's> {
    /// Makes the communicators of all groups, which every rank does in the same order.
    pub(super) fn new(session: &'m mut Session<'s>, plan: &'m Plan) -> Result<Self, Stop> {
        let rank = session.rank();
        let mut groups = vec![None];
        for group in plan.groups.iter().skip(1) {
            let color = group.place(rank).map(|_| 0);
            groups.push(session.comm.split(color, rank)?);
        }
        if plan.verifies() {
            session.instrument.set_verifying();
        }
        let has = |commands: &[Command]| {
            plan.sites().iter().filter_map(|site| site.command).any(|one| commands.contains(&one))
        };
        let workers = plan.code.steps.iter().any(|step| matches!(step, ppl::plan::Step::Parallel { .. }));
        let alone = plan.ranks == 1 && !workers;
        if alone {
            session.instrument.set_alone();
        }
        if !alone && has(&[Command::Fcopy]) {
            session.instrument.set_others_copy();
        }
        if !alone && has(&[Command::Rename, Command::Link, Command::Symlink]) {
            session.instrument.set_others_rename();
        }
        if !alone && has(&[Command::Append]) {
            session.instrument.set_others_append();
        }
        let write = [Command::Write, Command::Append, Command::Dwrite, Command::Fwrite];
        if has(&write) || has(&[Command::Pwrite, Command::Pfwrite]) {
            session.instrument.set_writes();
        }
        if !workers {
            session.instrument.set_appends_once();
        }
        let cut = [Command::Ftruncate, Command::Fallocate, Command::Fcopy];
        if !alone && (workers || has(&cut) || has(&[Command::Rename, Command::Link, Command::Symlink])) {
            session.instrument.set_others_cut();
        }
        session.instrument.set_hints(&plan.hints);
        let opened_by = HashMap::new();
        Ok(Self {
            session,
            plan,
            groups,
            opened_by,
            stop: None,
            told: None,
            judgement: JudgedBy::default(),
            wanted: false,
            stonewall: None,
            phases: vec![0; plan.groups.len()],
            claims: HashMap::new(),
            unopened: Vec::new(),
            agrees_at: (u32::MAX, 0),
            opened_as: Vec::new(),
            layouts: HashMap::new(),
        })
    }

    /// A worker, which belongs to no group.
    pub(super) fn of_worker(
        session: &'m mut Session<'s>,
        plan: &'m Plan,
        judgement: JudgedBy,
        stonewall: Option<Stonewall>,
    ) -> Self {
        Self {
            session,
            plan,
            groups: Vec::new(),
            opened_by: HashMap::new(),
            stop: None,
            told: None,
            judgement,
            wanted: false,
            stonewall,
            phases: Vec::new(),
            claims: HashMap::new(),
            unopened: Vec::new(),
            agrees_at: (u32::MAX, 0),
            opened_as: Vec::new(),
            layouts: HashMap::new(),
        }
    }

    /// The communicator of a group; that of the session for the world.
    pub(super) fn comm(&self, group: usize) -> &dyn Comm {
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
            (None, Err(halt @ Halt::CommandFailed(_))) => {
                Err(self.told.unwrap_or_else(|| Stop::Failed(halt.to_string())))
            }
            (None, Err(fault @ Halt::Fault(_))) => Err(Stop::Program(fault.to_string())),
            (None, Err(Halt::Machine(why))) => Err(Stop::Failed(why)),
        }
    }

    pub(super) fn stop(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
    }

    /// Keeps the reason to stop, if there is one, until the interpreter asks.
    pub(super) fn note(&mut self, result: Result<(), Stop>) {
        if let Err(stop) = result {
            self.stop(stop);
        }
    }

    pub(super) fn halted(&self) -> Option<Halt> {
        self.stop.as_ref().map(|stop| Halt::Machine(stop.to_string()))
    }

    /// The reason to stop, which may be that of another rank.
    #[cold]
    #[inline(never)]
    pub(super) fn halted_by_others(&mut self) -> Option<Halt> {
        if self.stop.is_none() {
            self.stop = self.session.interrupted();
        }
        self.halted()
    }

    /// Transfers of an open file, which are the most frequent commands; `None` of any other command.
    #[inline(always)]
    pub(super) fn transfer(
        &mut self,
        command: Command,
        site: SiteId,
        arguments: &Arguments,
    ) -> Option<StatementReply> {
        match (command, arguments.file(0)) {
            (Command::Fwrite, Some(file)) => {
                let (length, buffer) = self.bytes(arguments, 1);
                let call = Call::Write { file, length, offset: arguments.given_size(2), buffer };
                Some(self.perform_statement(site, call, Answer::Bytes))
            }
            (Command::Fread, Some(file)) => {
                let (length, offset) = (arguments.given_size(1), arguments.given_size(2));
                Some(self.perform_statement(site, Call::Read { file, length, offset }, Answer::Bytes))
            }
            _ => None,
        }
    }

    /// As [`Rank::perform`] where the value is not needed, or is the bytes moved.
    #[inline(always)]
    pub(super) fn perform_statement(
        &mut self,
        site: SiteId,
        call: Call<'_>,
        answer: Answer,
    ) -> StatementReply {
        if self.session.is_async() && !self.wanted {
            return StatementReply::from(&self.start(site, call, answer));
        }
        match self.session.operation(site.index(), call) {
            Ok(Outcome { value, errno, .. }) => StatementReply { bytes: value, errno, started: false },
            Err(stop) => {
                self.stop(stop);
                StatementReply { errno: libc::ECANCELED, ..StatementReply::default() }
            }
        }
    }

    #[inline(always)]
    pub(super) fn perform(&mut self, site: SiteId, call: Call<'_>, answer: Answer) -> Reply {
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
    pub(super) fn start(&mut self, site: SiteId, call: Call<'_>, answer: Answer) -> Reply {
        let judgement = JudgedBy { verify: self.session.verify, ..self.judgement };
        match self.session.start(site.index(), call, judgement) {
            Ok(None) => Reply::started(),
            Ok(Some(outcome)) => answer.reply(outcome),
            Err(stop) => {
                self.stop(stop);
                Reply::failed(libc::ECANCELED)
            }
        }
    }

    /// The length of a write and the buffer it comes from, if it names one.
    #[inline(always)]
    pub(super) fn bytes(&self, arguments: &Arguments, index: usize) -> (u64, Option<u32>) {
        match arguments.buffer(index) {
            Some(buffer) => (self.session.instrument.buffer_length(buffer), Some(buffer)),
            None => (arguments.size(index, 0), None),
        }
    }

    /// Keeps the name of a file that could not be opened, for the message where it is used.
    pub(super) fn keep_unopened(&mut self, failure: &Failure<'_>) {
        /// An errno names the last file that gave it: more than these are never needed.
        const KEPT: usize = 16;
        if failure.command.spec().yields != Yields::File {
            return;
        }
        self.unopened.retain(|(errno, ..)| *errno != failure.errno);
        if self.unopened.len() >= KEPT {
            self.unopened.remove(0);
        }
        let path = failure.arguments.text(0).to_owned();
        self.unopened.push((failure.errno, path, self.plan.site(failure.site).line));
    }

    /// What a program did wrong that the errno alone does not say.
    fn misuse(&self, failure: &Failure<'_>) -> Option<&'static str> {
        let spec = failure.command.spec();
        let names_nul = |(at, argument): (usize, &ArgumentSpec)| {
            matches!(argument.kind, Kind::Path | Kind::PathOrFile)
                && failure.arguments.text(at).contains('\0')
        };
        if spec.arguments.iter().enumerate().any(names_nul) {
            return Some("the name holds a NUL byte, which no file name may hold");
        }
        let is_limited = || rustix::process::getrlimit(rustix::process::Resource::Fsize).current.is_some();
        if failure.errno == libc::EFBIG && is_limited() {
            return Some("`ulimit -f` limits how large a file may be");
        }
        let is_of_group = |file: u32| self.session.instrument.is_of_group(file);
        let mut files = spec.files().filter_map(|at| failure.arguments.file(at));
        if failure.errno != libc::EBADF {
            return None;
        }
        match (failure.command, failure.command.is_collective()) {
            (Command::Fclose, _) if files.any(is_of_group) => {
                Some("`pfopen` opened it for a group: close it with `pfclose`")
            }
            (_, false) if files.any(is_of_group) => {
                Some("`pfopen` opened it for a group: use `pfread`, `pfwrite` and `pfclose`")
            }
            (_, true) if !files.any(is_of_group) && failure.arguments.file(0).is_some() => {
                Some("`fopen` opened it for one rank: use `fread`, `fwrite` and `fclose`")
            }
            _ => None,
        }
    }

    /// The command with the names in it, for a message.
    pub(super) fn words(&self, failure: &Failure<'_>) -> Named {
        let called = |file: u32| match self.session.instrument.path_of(file) {
            Some(path) => format!("\"{}\"", path.to_string_lossy()),
            None => "a file that is not open".into(),
        };
        let files = failure.command.spec().files().filter_map(|at| failure.arguments.file(at));
        let files: Vec<String> = files.map(called).collect();
        let open = failure.arguments.file(0).and_then(|file| self.session.instrument.path_of(file));
        let file = match open {
            Some(path) => path.to_string_lossy().into_owned(),
            None => failure.arguments.text(0).to_owned(),
        };
        let named = match (files.is_empty(), &failure.no_file) {
            (false, None) => files.join(", "),
            (_, Some((argument, held))) => {
                let unopened = self.unopened.iter().rev().find(|(errno, ..)| i64::from(-errno) == *held);
                match unopened {
                    // An expression that opens it has a path of its own, as written: the one on this rank is told.
                    Some((_, path, line)) => {
                        let variable = argument.starts_with('$').then(|| format!("{argument}: "));
                        format!("{}\"{path}\", which line {line} did not open", variable.unwrap_or_default())
                    }
                    None => format!("{argument}, which holds {held} and no file"),
                }
            }
            (true, None) => failure.arguments.describe(),
        };
        let why = failure.refused.clone().or_else(|| self.misuse(failure).map(str::to_owned));
        let why = why.map_or(String::new(), |why| format!(": {why}:"));
        let to_write = match failure.command {
            Command::Fwrite | Command::Write | Command::Append => Some(self.bytes(failure.arguments, 1).0),
            _ => None,
        };
        Named { operation: format!("{}({named}){why}", failure.command.name()), file, to_write }
    }
}
