//! What the ranks of a group do to one file, timed.

use std::ffi::{CStr, CString};

use samples::{Outcome, VerifiedFacts};

use super::guard::{ELSEWHERE, GroupMaker, Guard, Makes, Opened};
use super::layer::Layer;
use super::space_watch::{FileSystem, OF_A_NAME};
use super::table::OpenFile;
use crate::collective::{self, FileMaker, GroupFile, REFUSED, TransferMemory};
use crate::content::FileName;
use crate::driver::Driver;
use crate::execute::call::{Collective, Meaning, Target, Timed};
use crate::files::{FoundFile, ParentFacts, READ, Reached, Refusal};
use ranks::Comm;
use ranks::communication::Communication;
use ranks::layout::{Direction, Layout, ParallelMode};

/// Why a rank gives up a parallel file; it may be the only word that reaches the user before a launcher ends all.
const FILLS: &str = "a parallel file would fill its file system, of which a tenth stays free without --fill";

/// Does the MPI library get the name?
fn announced(driver: &dyn Driver, comm: &dyn Comm) -> bool {
    collective::is_of_library(driver, comm)
}

/// A file of a group that may be used: its directory, which stays held where it must be as long as the name is used.
struct Admitted<'p> {
    reached: Reached<'p>,
    named: CString,
    maker: Option<GroupMaker>,
}

impl Admitted<'_> {
    fn maker(&self) -> Option<&dyn FileMaker> {
        self.maker.as_ref().map(|maker| maker as &dyn FileMaker)
    }
}

/// What was opened, if it may be written to where that is asked for.
fn judged(
    guard: &Guard,
    file: &GroupFile,
    (path, admitted): (&CStr, &Admitted<'_>),
    (write, before): (bool, Option<&[Opened]>),
) -> Result<Option<FoundFile>, Refusal> {
    let (around, maker) = (admitted.reached.around, admitted.maker.as_ref());
    match (file.descriptor(), before) {
        (Some(descriptor), _) => {
            if write {
                guard.own_group("write to", path, (around, descriptor), maker)?;
            }
            Ok(guard.opened(descriptor))
        }
        (None, Some(before)) => guard.own_of_library("write to", path, (around, maker), before),
        (None, None) => Ok(None),
    }
}

impl Layer {
    /// Does `what` with the other ranks of `comm`. Everything that may be refused, or needs memory, comes before the
    /// clock.
    pub(super) fn together(
        &mut self,
        driver: &mut dyn Driver,
        what: Collective<'_>,
        comm: &dyn Comm,
    ) -> Result<Timed, Refusal> {
        // A library waits by itself, so that the others learn from an announcement where this rank is. Messages take
        // microseconds, which an announcement under way would disturb: ranks meet before them.
        let announced = announced(driver, comm) && !matches!(what, Collective::Communicate(..));
        if announced && comm.announce().is_err() {
            return Ok(self.bracket.failed(driver, libc::ECANCELED));
        }
        let mut timed = self.one_together(driver, what, comm)?;
        if announced && comm.confirm().is_err() {
            timed.outcome = Outcome::error(libc::ECANCELED);
        }
        if !self.bracket.is_virtual() {
            return Ok(timed);
        }
        // In virtual time it ends when it has ended on the last rank.
        Ok(match self.bracket.barrier(comm) {
            Ok((_, end)) => Timed { end, ..timed },
            Err(_) => Timed { outcome: Outcome::error(libc::ECANCELED), ..timed },
        })
    }

    fn one_together(
        &mut self,
        driver: &mut dyn Driver,
        what: Collective<'_>,
        comm: &dyn Comm,
    ) -> Result<Timed, Refusal> {
        Ok(match what {
            Collective::Open(path, mode) => self.open_together(driver, path, mode, comm)?,
            Collective::Close(file) => match self.files.take_group(file) {
                Some(group) => self.bracket.time(driver, Meaning::Value, |driver| group.close(driver, comm)),
                None => self.bracket.failed(driver, libc::EBADF),
            },
            Collective::Delete(path) => {
                let reached = self.guard.reach_fixed("remove", path)?;
                let found = self.guard.own("remove", path, &reached)?;
                let named = self.guard.for_library("remove", path, (announced(driver, comm), &reached))?;
                let timed = self
                    .bracket
                    .time(driver, Meaning::Value, |driver| collective::delete(driver, comm, &named));
                if timed.outcome.ok() {
                    self.guard.gone(found.as_ref());
                }
                self.guard.removed(path);
                self.content_removed(path);
                timed
            }
            Collective::Transfer(target, direction, layout) => {
                self.transfer_together(driver, target, (direction, layout), comm)?
            }
            Collective::Communicate(what, size) => self.communicate(driver, (what, size), comm),
        })
    }

    /// Messages: all ranks begin together, and what came is compared after the clock.
    fn communicate(
        &mut self,
        driver: &mut dyn Driver,
        (what, size): (Communication, u64),
        comm: &dyn Comm,
    ) -> Timed {
        if self.bracket.is_virtual() {
            let moved = what.moved(size, comm.size());
            return self.bracket.time(driver, Meaning::Bytes, |_| Outcome::value(moved));
        }
        if let Err(errno) = self.messages.prepare(what, size, comm) {
            if errno == libc::ENOMEM {
                // The others have memory, and must not wait for this rank.
                comm.abandon("no memory for messages");
            }
            return self.bracket.failed(driver, errno);
        }
        if comm.barrier(0).is_err() {
            return self.bracket.failed(driver, libc::ECANCELED);
        }
        let messages = &mut self.messages;
        let mut timed = self.bracket.time(driver, Meaning::Bytes, |_| messages.communicate(what, size, comm));
        if timed.outcome.ok() && !self.messages.came(what, size, comm) {
            timed.outcome = Outcome::error(libc::EBADMSG);
        }
        timed
    }

    fn open_together(
        &mut self,
        driver: &mut dyn Driver,
        path: &CStr,
        mode: ParallelMode,
        comm: &dyn Comm,
    ) -> Result<Timed, Refusal> {
        let admitted = self.admit(driver, (path, mode), comm)?;
        if mode.create && comm.rank() == 0 && self.has_no_room_for((path, &admitted)) {
            comm.abandon(FILLS);
            self.settle((path, &admitted), (true, libc::EEXIST), None);
            return Ok(self.bracket.failed(driver, libc::ENOSPC));
        }
        let named = &admitted.named;
        let before = self.before_library(driver, comm, mode.write || mode.create);
        let mut opened = None;
        let prepared = match self.preparations.of(driver, comm, &self.hints.asked, None) {
            Ok(prepared) => prepared,
            Err(outcome) => {
                self.settle((path, &admitted), (mode.write || mode.create, libc::ENOENT), None);
                return Ok(self.bracket.failed(driver, outcome.errno));
            }
        };
        let mut timed = self.bracket.time(driver, Meaning::Value, |driver| {
            match collective::open(driver, comm, (named, mode), &prepared, admitted.maker()) {
                Ok(file) => {
                    opened = Some(file);
                    Outcome::default()
                }
                Err(outcome) => outcome,
            }
        });
        let judged = match &opened {
            Some(file) => judged(&self.guard, file, (path, &admitted), (mode.write, before.as_deref())),
            None if timed.outcome.errno == REFUSED => Err(self.guard.refused("write to", path)),
            None => Ok(None),
        };
        self.settle_judged((path, &admitted), (mode.write || mode.create, timed.outcome.errno), judged)?;
        if let Some(mut file) = opened {
            file.hold(admitted.reached.into_held());
            if self.hints.wanted(path, comm) {
                self.hints.keep(path, comm, || file.hints());
            }
            let named = self.opened_name(path);
            let open = OpenFile { group: Some(Box::new(file)), ..OpenFile::new(None, named, 0) };
            timed.outcome.value = u64::from(self.files.keep(open));
        }
        Ok(timed)
    }

    /// Would one more name fill the file system?
    fn has_no_room_for(&mut self, (path, admitted): (&CStr, &Admitted<'_>)) -> bool {
        let there = self.room.known(admitted.reached.around.device);
        self.room.must_look(there, OF_A_NAME) && self.would_fill((path, &admitted.reached.path), OF_A_NAME)
    }

    /// What is open before the library opens a file to write.
    fn before_library(&self, driver: &dyn Driver, comm: &dyn Comm, write: bool) -> Option<Vec<Opened>> {
        (write && announced(driver, comm)).then(|| self.guard.before_library()).flatten()
    }

    /// May this file be touched? One that may be made is registered. Under which name it is to be opened.
    fn admit<'p>(
        &mut self,
        driver: &dyn Driver,
        (path, mode): (&'p CStr, ParallelMode),
        comm: &dyn Comm,
    ) -> Result<Admitted<'p>, Refusal> {
        let library = announced(driver, comm);
        if mode.write || mode.create {
            let reached = self.guard.reach_fixed("write to", path)?;
            // Before a library comes in, one rank makes the file for all, or finds it.
            let decides = !(library && mode.create) || comm.rank() == 0;
            let maker = self.guard.own_followed("write to", (path, &reached), decides)?;
            if library {
                self.guard.opens_at_once("write to", path, &self.hints.asked)?;
            }
            let named = self.guard.for_library("write to", path, (library, &reached))?;
            self.guard.intend(path, reached.around, Makes::Keeps);
            return Ok(Admitted { reached, named, maker });
        }
        let reached = match library {
            true => {
                self.guard.may_read_followed(path)?;
                let around = ParentFacts { birth_times: true, trusted: false, ..ELSEWHERE };
                Reached::unchecked(path, around)
            }
            false => self.guard.reach_to_read(path)?,
        };
        self.guard.leave_special(READ, path, (&reached, true))?;
        let named = self.guard.for_library(READ, path, (library, &reached))?;
        Ok(Admitted { reached, named, maker: None })
    }

    fn settle(
        &mut self,
        (path, admitted): (&CStr, &Admitted<'_>),
        (write, errno): (bool, i32),
        opened: Option<FoundFile>,
    ) {
        if write {
            self.guard.made_together(opened.as_ref(), admitted.maker.as_ref());
            self.guard.settle(path, admitted.reached.around, Makes::Keeps, errno);
        }
    }

    /// As [`Layer::settle`], of what was judged: what is refused was not made by the call.
    fn settle_judged(
        &mut self,
        of: (&CStr, &Admitted<'_>),
        (write, errno): (bool, i32),
        judged: Result<Option<FoundFile>, Refusal>,
    ) -> Result<(), Refusal> {
        match judged {
            Ok(found) => self.settle(of, (write, errno), found),
            Err(refusal) => {
                self.settle(of, (write, libc::EEXIST), None);
                return Err(refusal);
            }
        }
        Ok(())
    }

    fn transfer_together(
        &mut self,
        driver: &mut dyn Driver,
        target: Target<'_>,
        (direction, layout): (Direction, &Layout),
        comm: &dyn Comm,
    ) -> Result<Timed, Refusal> {
        let write = direction == Direction::Write;
        let whole = self.verifying && !write;
        let name = match target {
            Target::Path(path) => self.file_name(path),
            Target::File(file) => self.files.get(file).map(|open| open.name).unwrap_or_default(),
        };
        let content = self.content.then_some((self.author, name));
        let memory = match TransferMemory::new(content, (direction, layout), whole, comm) {
            Ok(memory) => memory,
            Err(errno) => {
                // The other ranks must not wait for one that has no memory.
                comm.abandon("no memory for a transfer by pattern");
                return Ok(self.bracket.failed(driver, errno));
            }
        };
        let blocks = memory.blocks();
        let mode = if write { ParallelMode::WRITE } else { ParallelMode::READ };
        let admitted = match target {
            Target::Path(path) => Some(self.admit(driver, (path, mode), comm)?),
            Target::File(_) => None,
        };
        if write && self.would_fill_together((target, admitted.as_ref()), layout) {
            comm.abandon(FILLS);
            if let (Target::Path(path), Some(admitted)) = (target, &admitted) {
                self.settle((path, admitted), (write, libc::EEXIST), None);
            }
            return Ok(self.bracket.failed(driver, libc::ENOSPC));
        }
        let before = self.before_library(driver, comm, write && admitted.is_some());
        let prepared = match self.preparations.of(driver, comm, &self.hints.asked, Some(layout)) {
            Ok(prepared) => prepared,
            Err(outcome) => {
                if let (Target::Path(path), Some(admitted)) = (target, &admitted) {
                    self.settle((path, admitted), (write, outcome.errno), None);
                }
                return Ok(self.bracket.failed(driver, outcome.errno));
            }
        };
        let one = |driver: &mut dyn Driver, file: &mut GroupFile| {
            file.transfer(driver, comm, (layout, direction), (&blocks, &prepared))
        };
        let mut timed = match target {
            Target::File(file) => match self.files.group(file) {
                Some(group) => self.bracket.time(driver, Meaning::Bytes, |driver| one(driver, group)),
                None => self.bracket.failed(driver, libc::EBADF),
            },
            Target::Path(path) => {
                let Some(admitted) = &admitted else {
                    return Ok(self.bracket.failed(driver, libc::EINVAL));
                };
                let (guard, named) = (&self.guard, &admitted.named);
                let mut object = Ok(None);
                let timed = self.bracket.time(driver, Meaning::Bytes, |driver| {
                    match collective::open(driver, comm, (named, mode), &prepared, admitted.maker()) {
                        Ok(mut file) => {
                            object = judged(guard, &file, (path, admitted), (write, before.as_deref()));
                            if object.is_err() {
                                return Outcome::error(libc::EPERM);
                            }
                            let mut moved = one(driver, &mut file);
                            let closed = file.close(driver, comm);
                            if moved.ok() {
                                moved.errno = closed.errno;
                            }
                            moved
                        }
                        Err(outcome) => outcome,
                    }
                });
                if timed.outcome.errno == REFUSED {
                    object = Err(guard.refused("write to", path));
                }
                self.settle_judged((path, admitted), (write, timed.outcome.errno), object)?;
                self.read_hints_back(driver, (path, named), comm);
                timed
            }
        };
        if write && timed.outcome.ok() {
            self.know_blocks(name, layout, comm);
        }
        if !write && timed.outcome.ok() && timed.outcome.value < layout.bytes() {
            timed.outcome.errno = libc::ENODATA;
        }
        if whole && timed.outcome.ok() && self.content {
            // The blocks are this rank's own where it wrote them in the same way.
            let pattern = Some((layout.clone(), comm.size(), comm.rank()));
            let own = layout.is_apart() && self.catalogue.of(name).pattern == pattern;
            let owner = own.then_some(self.author.rank);
            self.compared = VerifiedFacts::default();
            let wrong = memory.parts().find_map(|part| self.differs(name, part, owner));
            self.wrong = Some(wrong);
        }
        Ok(timed)
    }

    /// This rank wrote its blocks of the file.
    fn know_blocks(&mut self, name: FileName, layout: &Layout, comm: &dyn Comm) {
        if !(self.verifying && self.content) {
            return;
        }
        let known = self.catalogue.of(name);
        for number in 0..layout.blocks {
            let begin = layout.offset(number, comm.rank(), comm.size());
            let end = begin + layout.length(number);
            known.own.add(begin, end);
            known.least = known.least.max(end);
        }
        known.out_of_turn();
        known.pattern = Some((layout.clone(), comm.size(), comm.rank()));
    }

    fn would_fill_together(
        &mut self,
        (target, admitted): (Target<'_>, Option<&Admitted<'_>>),
        layout: &Layout,
    ) -> bool {
        let bytes = layout.bytes();
        match target {
            // In which file system it lies is asked each time: a library takes long enough.
            Target::Path(path) => {
                let at = admitted.map_or(path, |admitted| &*admitted.reached.path);
                self.room.must_look(FileSystem::NOT_ASKED, bytes) && self.would_fill((path, at), bytes)
            }
            Target::File(file) => self.must_look_at(file, bytes) && self.would_fill_file(file, bytes),
        }
    }

    /// A file that was closed within the timing: its hints are asked for outside of it.
    fn read_hints_back(&mut self, driver: &mut dyn Driver, (path, named): (&CStr, &CStr), comm: &dyn Comm) {
        if self.hints.wanted(path, comm)
            && let Ok(prepared) = self.preparations.of(driver, comm, &self.hints.asked, None)
            && let Ok(file) = collective::open(driver, comm, (named, ParallelMode::READ), &prepared, None)
        {
            self.hints.keep(path, comm, || file.hints());
            file.close(driver, comm);
        }
    }
}
