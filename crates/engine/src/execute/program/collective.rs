//! The commands that a group's ranks do together.

use ppl::commands::Command;
use ppl::interpret::{Arguments, Reply};
use ppl::plan::{GroupId, SiteId};

use super::answer::Answer;
use super::rank::Rank;
use crate::execute::call::{Collective, Target};
use crate::execute::session::Stop;
use ranks::layout::{Direction, Layout, ParallelMode, ViewKind};

impl Rank<'_, '_> {
    /// The commands that a group's ranks do together.
    #[inline(never)]
    pub(super) fn collective(&mut self, command: Command, site: SiteId, arguments: &Arguments) -> Reply {
        let path = arguments.c_str(0);
        let pattern = match command {
            Command::Pfread | Command::Pfwrite | Command::Pread | Command::Pwrite => {
                arguments.int(1).and_then(|number| self.plan.patterns.get(usize::try_from(number).ok()?))
            }
            _ => None,
        };
        // The group that opened the file goes before one named in the call, that before the pattern's
        // own, and that before the one around.
        let named = match command {
            Command::Pread | Command::Pwrite | Command::Pfopen => {
                arguments.int(2).and_then(|number| u32::try_from(number).ok()).map(GroupId)
            }
            _ => None,
        };
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
        let comm = self.groups.get(group.index()).and_then(Option::as_deref);
        let layout = pattern.map(|pattern| Layout {
            kind: if pattern.kind == 1 { ViewKind::Row } else { ViewKind::Table },
            blocks: pattern.iterations,
            element: pattern.element,
            level: pattern.level,
        });
        let direction = match command {
            Command::Pwrite | Command::Pfwrite => Direction::Write,
            _ => Direction::Read,
        };
        let (what, answer) = match (command, layout, arguments.file(0)) {
            (Command::Pwrite | Command::Pread, Some(layout), _) => {
                (Collective::Transfer(Target::Path(path), direction, layout), Answer::Bytes)
            }
            (Command::Pfwrite | Command::Pfread, Some(layout), Some(file)) => {
                (Collective::Transfer(Target::File(file), direction, layout), Answer::Bytes)
            }
            (Command::Pfopen, ..) => match ParallelMode::parse(arguments.text(1)) {
                Some(mode) => (Collective::Open(path, mode), Answer::File),
                None => {
                    let why = format!("unknown mode \"{}\": any of c r w", arguments.text(1));
                    self.stop(Stop::Program(format!("line {line}: pfopen: {why}")));
                    return Reply::failed(libc::EINVAL);
                }
            },
            (Command::Pfclose, _, Some(file)) => (Collective::Close(file), Answer::Nothing),
            (Command::Pdelete, ..) => (Collective::Delete(path), Answer::Nothing),
            _ => return Reply::failed(libc::EINVAL),
        };
        let done = self.session.together(site.index(), what, comm);
        match done {
            Ok(outcome) => {
                if command == Command::Pfopen && outcome.ok() {
                    self.opened_by.insert(outcome.value as u32, group);
                }
                let reply = answer.reply(outcome);
                match command {
                    Command::Pread | Command::Pfread => self.verified(reply),
                    _ => reply,
                }
            }
            Err(stop) => {
                self.stop(stop);
                Reply::failed(libc::ECANCELED)
            }
        }
    }
}
