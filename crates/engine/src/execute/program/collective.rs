//! The commands that a group's ranks do together: to files, and with each other.

use ppl::commands::{CollectiveCommand, Command, Kind, MessageCommand};
use ppl::interpret::{Arguments, Reply};
use ppl::plan::{GroupId, SiteId};

use super::answer::Answer;
use super::rank::Rank;
use crate::execute::call::{Collective, Target};
use crate::execute::session::Stop;
use ranks::communication::Communication;
use ranks::layout::{Direction, Layout, ParallelMode};
use samples::Outcome;

impl Rank<'_, '_> {
    /// The commands that a group's ranks do together.
    #[inline(never)]
    pub(super) fn collective(
        &mut self,
        collective: CollectiveCommand,
        command: Command,
        site: SiteId,
        arguments: &Arguments,
    ) -> Reply {
        let path = arguments.c_str(0);
        let spec = command.spec();
        let number = |kind| spec.position(kind).and_then(|at| arguments.int(at));
        let pattern =
            number(Kind::Pattern).and_then(|number| self.plan.patterns.get(usize::try_from(number).ok()?));
        // The group that opened the file goes before one named in the call, that before the pattern's
        // own, and that before the one around.
        let named = number(Kind::Group).and_then(|number| u32::try_from(number).ok()).map(GroupId);
        let around = self.plan.site(site).group;
        let opened = arguments.file(0).and_then(|file| self.opened_by.get(&file).copied());
        let group = opened.or(named).or(pattern.and_then(|pattern| pattern.group)).unwrap_or(around);
        let Some(members) = self.plan.groups.get(group.index()) else { return Reply::failed(libc::EINVAL) };
        let line = self.plan.site(site).line;
        if members.place(self.session.rank()).is_none() {
            let why = format!("this rank does not belong to the group \"{}\"", members.name);
            self.stop(Stop::Program(format!("line {line}: {}: {why}", command.name())));
            return Reply::failed(libc::EINVAL);
        }
        let offset = spec.offset().filter(|at| arguments.is_given(*at)).map(|at| arguments.size(at, 0));
        let layout = match pattern.map(|pattern| self.layout(pattern, group)).transpose() {
            Ok(layout) => layout.map(|layout| Layout { base: offset, ..layout }),
            Err(why) => {
                self.stop(Stop::Program(format!("line {line}: {}: {why}", command.name())));
                return Reply::failed(libc::EINVAL);
            }
        };
        let comm = self.groups.get(group.index()).and_then(Option::as_deref);
        let direction = if spec.moves.writes() { Direction::Write } else { Direction::Read };
        let what = match (collective, &layout, arguments.file(0)) {
            (CollectiveCommand::Pwrite | CollectiveCommand::Pread, Some(layout), _) => {
                Collective::Transfer(Target::Path(path), direction, layout)
            }
            (CollectiveCommand::Pfwrite | CollectiveCommand::Pfread, Some(layout), Some(file)) => {
                Collective::Transfer(Target::File(file), direction, layout)
            }
            (CollectiveCommand::Pfopen, ..) => match ParallelMode::parse(arguments.text(1)) {
                Some(mode) => Collective::Open(path, mode),
                None => {
                    let why = format!("unknown mode \"{}\": any of c r w", arguments.text(1));
                    self.stop(Stop::Program(format!("line {line}: {}: {why}", command.name())));
                    return Reply::failed(libc::EINVAL);
                }
            },
            (CollectiveCommand::Pfclose, _, Some(file)) => Collective::Close(file),
            (CollectiveCommand::Pdelete, ..) => Collective::Delete(path),
            // Without a pattern of the plan, or of a file that is none.
            (
                CollectiveCommand::Pwrite
                | CollectiveCommand::Pread
                | CollectiveCommand::Pfwrite
                | CollectiveCommand::Pfread
                | CollectiveCommand::Pfclose,
                ..,
            ) => return Reply::failed(libc::EINVAL),
        };
        let done = self.session.together(site.index(), what, comm);
        self.answered(command, done, |rank, file| {
            if collective == CollectiveCommand::Pfopen {
                rank.opened_by.insert(file, group);
            }
        })
    }

    /// The commands in which a group's ranks send each other bytes.
    #[inline(never)]
    pub(super) fn message(
        &mut self,
        message: MessageCommand,
        command: Command,
        site: SiteId,
        arguments: &Arguments,
    ) -> Reply {
        let named = command.spec().position(Kind::Group).and_then(|at| arguments.int(at));
        let named = named.and_then(|number| u32::try_from(number).ok()).map(GroupId);
        let group = named.unwrap_or(self.plan.site(site).group);
        let Some(members) = self.plan.groups.get(group.index()) else { return Reply::failed(libc::EINVAL) };
        if members.place(self.session.rank()).is_none() {
            let (line, name) = (self.plan.site(site).line, command.name());
            let why = format!("this rank does not belong to the group \"{}\"", members.name);
            self.stop(Stop::Program(format!("line {line}: {name}: {why}")));
            return Reply::failed(libc::EINVAL);
        }
        let what = match message {
            MessageCommand::Broadcast => {
                let root = u32::try_from(arguments.size(1, 0)).unwrap_or(u32::MAX);
                Communication::Broadcast { root }
            }
            MessageCommand::Allreduce => Communication::AllReduce,
            MessageCommand::Alltoall => Communication::AllToAll,
            MessageCommand::Exchange => Communication::Neighbours,
        };
        let comm = self.groups.get(group.index()).and_then(Option::as_deref);
        let what = Collective::Communicate(what, arguments.size(0, 0));
        let done = self.session.together(site.index(), what, comm);
        self.answered(command, done, |_, _| {})
    }

    /// What the program gets of a call; `opened` hears of its value.
    fn answered(
        &mut self,
        command: Command,
        done: Result<Outcome, Stop>,
        opened: impl FnOnce(&mut Self, u32),
    ) -> Reply {
        match done {
            Ok(outcome) => {
                if outcome.ok() {
                    opened(self, outcome.value as u32);
                }
                Answer::of(command).reply(outcome)
            }
            Err(stop) => {
                self.stop(stop);
                Reply::failed(libc::ECANCELED)
            }
        }
    }
}
