//! What a program may touch, and what it created, where files are those of this machine.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use confine::Held;

use super::space_watch::Free;
use crate::driver::Handle;
use crate::files::{
    Confinement, EarlierNames, Evidence, MAKE, ParentFacts, READ, Reached, Reason, Refusal, Registry, look,
    look_at, name_in,
};

/// Confinement and registry. Elsewhere the server's export confines, and nothing is registered.
pub(super) struct Guard {
    confinement: Confinement,
    registry: Registry,
    earlier: EarlierNames,
    /// Names that a pattern found and that were there before the run.
    found: HashSet<u64>,
    /// Names under which something may have been before the run, and lost nothing.
    kept: HashSet<Box<[u8]>>,
    local: bool,
}

const ELSEWHERE: ParentFacts = ParentFacts { birth_times: false, place: 0, trusted: true };

/// What the success of a call says about the name that it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Makes {
    /// It made it: a directory, a link, a file by `O_EXCL`.
    Surely,
    /// It made it, or it was there and is empty now.
    #[default]
    Perhaps,
    /// It made it, or it was there and keeps its content.
    Keeps,
}

impl Guard {
    pub(super) fn new(confinement: Confinement, registry: Registry, local: bool) -> Self {
        Self {
            confinement,
            registry,
            earlier: EarlierNames::default(),
            found: HashSet::new(),
            kept: HashSet::new(),
            local,
        }
    }

    /// The same for a worker, which shares nothing with others while it works.
    pub(super) fn of_worker(&mut self) -> Self {
        Self {
            confinement: self.confinement.clone(),
            registry: self.registry.of_worker(),
            earlier: self.earlier.clone(),
            found: self.found.clone(),
            kept: self.kept.clone(),
            local: self.local,
        }
    }

    /// All workers are gone: what they made is known here.
    pub(super) fn joined(&mut self) {
        self.registry.joined();
    }

    /// Are files those of this machine?
    pub(super) fn is_local(&self) -> bool {
        self.local
    }

    /// Flags for an `open` that must not follow a link.
    pub(super) fn no_follow(&self) -> i32 {
        if self.local { libc::O_NOFOLLOW } else { 0 }
    }

    pub(super) fn check(&mut self, what: &'static str, path: &CStr) -> Result<ParentFacts, Refusal> {
        if !self.local {
            return Ok(ELSEWHERE);
        }
        let around = self.confinement.check(what, path)?;
        self.not_found(what, path, around)?;
        Ok(around)
    }

    /// As [`Guard::check`], with the path by which the call is to be made.
    pub(super) fn reach<'p>(&mut self, what: &'static str, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        if !self.local {
            return Ok(Reached::unchecked(path, ELSEWHERE));
        }
        let reached = self.confinement.reach(what, path)?;
        self.not_found(what, path, reached.around)?;
        Ok(reached)
    }

    /// Did no pattern find it, made before the run? To read it is free, and to make it fails where it is there.
    fn not_found(&self, what: &'static str, path: &CStr, around: ParentFacts) -> Result<(), Refusal> {
        if self.found.is_empty() || matches!(what, READ | MAKE) || around.trusted || self.registry.knows(path)
        {
            return Ok(());
        }
        match self.found.contains(&name_in(around, path)) {
            true => Err(self.confinement.refusal(what, path, Reason::NotMade)),
            false => Ok(()),
        }
    }

    /// May `path` be removed or renamed, or be given other permissions? What this rank made or emptied may. What is
    /// called so otherwise is looked at: it must be of this run. Where files have no birth times nothing is asked.
    pub(super) fn own(
        &mut self,
        what: &'static str,
        path: &CStr,
        around: ParentFacts,
    ) -> Result<(), Refusal> {
        if !self.local || around.trusted || !around.birth_times {
            return Ok(());
        }
        if self.registry.knows(path) && !self.kept.contains(path.to_bytes()) {
            return Ok(());
        }
        match look(path) {
            Some(found) if !found.is_born_since(self.registry.begun()) => {
                Err(self.confinement.refusal(what, path, Reason::NotMade))
            }
            _ => Ok(()),
        }
    }

    /// May something be written into the open file, which kept its content? Not where it can be executed and the run did
    /// not make it: its next user would execute what was written.
    pub(super) fn no_script(
        &mut self,
        path: &CStr,
        around: ParentFacts,
        file: Handle,
    ) -> Result<(), Refusal> {
        if !self.local || around.trusted || self.confinement.spawns() {
            return Ok(());
        }
        match look_at(file.0 as i32) {
            Some(found) if found.can_be_executed() && !found.is_born_since(self.registry.begun()) => {
                Err(self.confinement.refusal("write to", path, Reason::Script))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what is done to an open file that this run neither made nor emptied.
    pub(super) fn made(&mut self, what: &'static str, path: &CStr, file: Handle) -> Result<(), Refusal> {
        if !self.local {
            return Ok(());
        }
        let around = self.check(what, path)?;
        if around.trusted {
            return Ok(());
        }
        let Some(found) = look_at(file.0 as i32) else { return Ok(()) };
        let emptied = || {
            let known = self.registry.knows(path) && !self.kept.contains(path.to_bytes());
            known && look(path).is_some_and(|named| named.is(&found))
        };
        match found.is_born_since(self.registry.begun()) || emptied() {
            true => Ok(()),
            false => Err(self.confinement.refusal(what, path, Reason::NotMade)),
        }
    }

    /// May something be made with this mode? Not a file that can be executed, and nothing that runs with the rights of
    /// its owner.
    pub(super) fn may_have_mode(
        &self,
        what: &'static str,
        path: &CStr,
        mode: u32,
        directory: bool,
    ) -> Result<(), Refusal> {
        let forbidden = if directory { libc::S_ISUID | libc::S_ISGID } else { 0o7111 };
        if !self.local || self.confinement.spawns() || mode & forbidden == 0 {
            return Ok(());
        }
        Err(self.confinement.refusal(what, path, Reason::Executable))
    }

    /// What `path` leads to, held: by which path a call reaches it, and its mode. None where there is nothing, and
    /// where files are elsewhere.
    pub(super) fn hold(
        &mut self,
        what: &'static str,
        path: &CStr,
    ) -> Result<Option<(CString, u32, Held)>, Refusal> {
        if self.local && !self.confinement.is_free() { self.confinement.hold(what, path) } else { Ok(None) }
    }

    /// What is free for the file `path`, which may be new; `None` where it may be filled, where nobody can say, and of
    /// devices.
    pub(super) fn room_at(&self, path: &CStr) -> Option<Free> {
        if !self.local || self.confinement.fills() {
            return None;
        }
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let place = match path.metadata() {
            Ok(found) if !found.is_file() => return None,
            Ok(_) => path,
            Err(_) => path.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        };
        let found = rustix::fs::statvfs(place).ok()?;
        Some(Free {
            file_system: found.f_fsid,
            bytes: found.f_bavail.saturating_mul(found.f_frsize),
            // Where inodes are made as they are needed, their number is 0.
            files: (found.f_files > 0).then_some(found.f_favail),
        })
    }

    /// May a program be started?
    pub(super) fn may_start(&self, program: &CStr) -> Result<(), Refusal> {
        match self.confinement.spawns() {
            true => Ok(()),
            false => Err(self.confinement.refusal("start", program, Reason::Starts)),
        }
    }

    /// The names that a pattern found, without those that may not be read. Those that were there before the run are
    /// remembered.
    pub(super) fn sifted(&mut self, mut names: Vec<String>) -> Vec<String> {
        if !self.local || self.confinement.is_free() {
            return names;
        }
        let begun = self.registry.begun();
        names.retain(|name| {
            let Ok(path) = CString::new(name.as_bytes()) else { return false };
            let Ok(around) = self.confinement.check(READ, &path) else { return false };
            if !around.trusted
                && !self.registry.knows(&path)
                && look(&path).is_some_and(|found| !found.is_born_since(begun))
            {
                self.found.insert(name_in(around, &path));
            }
            true
        });
        names
    }

    /// Checks where `path` leads when the link at its end is followed; that place, where it is of this machine.
    pub(super) fn check_followed(&self, what: &'static str, path: &CStr) -> Result<Option<PathBuf>, Refusal> {
        if self.local { self.confinement.check_followed(what, path).map(Some) } else { Ok(None) }
    }

    /// As [`Guard::check`], of what is on this machine whatever the driver: the directory of a kernel's files.
    pub(super) fn check_local_directory(&mut self, what: &'static str, path: &CStr) -> Result<(), Refusal> {
        self.confinement.check(what, path).map(drop)
    }

    /// A kernel will make `path` on this machine, whatever the driver, and nobody else.
    pub(super) fn register_local(&mut self, path: &CStr) {
        self.registry.intend(path, Evidence::Certain);
        self.registry.settle(path, 0);
    }

    pub(super) fn check_target(&self, target: &CStr, path: &CStr) -> Result<(), Refusal> {
        if self.local { self.confinement.check_target(target, path) } else { Ok(()) }
    }

    /// May the program ask about anything? That opens nothing.
    #[inline(always)]
    pub(super) fn may_ask_freely(&self) -> bool {
        !(self.local && self.confinement.confines_questions())
    }

    /// May the program ask about it?
    #[inline(always)]
    pub(super) fn may_ask(&mut self, path: &CStr) -> Result<(), Refusal> {
        if !self.may_ask_freely() {
            self.confinement.check(READ, path)?;
            self.confinement.check_followed(READ, path)?;
        }
        Ok(())
    }

    /// May the program open it to read? By which path. A link at its end is followed.
    pub(super) fn reach_to_read<'p>(&mut self, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        match self.local {
            true => self.confinement.reach_to_read(path),
            false => Ok(Reached::unchecked(path, ELSEWHERE)),
        }
    }

    /// May the program open this very name to read, if what it names is no link? Where not, [`Guard::reach_to_read`] says
    /// why, or by which path.
    #[inline]
    pub(super) fn may_read_unfollowed(&mut self, path: &CStr) -> Result<bool, Refusal> {
        if self.local { self.confinement.may_read_unfollowed(path) } else { Ok(false) }
    }

    /// Is it the name that [`Guard::may_read_unfollowed`] allowed last?
    #[inline(always)]
    pub(super) fn was_read_last(&self, path: &CStr) -> bool {
        self.local && self.confinement.was_read_last(path)
    }

    /// As [`Guard::reach_to_read`], of a call that fails where a link is at the end.
    pub(super) fn reach_unfollowed<'p>(&mut self, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        match self.local {
            true => self.confinement.reach(READ, path),
            false => Ok(Reached::unchecked(path, ELSEWHERE)),
        }
    }

    /// Must a directory be held between its check and its use?
    pub(super) fn holds_names(&self) -> bool {
        self.local && self.confinement.holds_names()
    }

    /// As [`Guard::reach_to_read`], of a file that a library opens.
    pub(super) fn may_read_followed(&self, path: &CStr) -> Result<(), Refusal> {
        if self.local && !self.confinement.is_free() {
            self.confinement.check_followed(READ, path)?;
        }
        Ok(())
    }

    /// Directories may lead elsewhere now.
    pub(super) fn forget_directories(&mut self) {
        self.confinement.forget();
        self.earlier.forget();
    }

    /// The next call may create `path`. Asks nobody about it.
    pub(super) fn intend(&mut self, path: &CStr, around: ParentFacts, makes: Makes) {
        if !self.local || self.registry.knows(path) {
            return;
        }
        if makes == Makes::Keeps {
            self.kept.insert(path.to_bytes().into());
        }
        if around.birth_times {
            self.registry.intend(path, Evidence::Birth);
        } else if makes != Makes::Surely && self.earlier.was_free(path, around) {
            self.registry.intend(path, Evidence::Certain);
        }
    }

    /// The call is over, with this errno.
    pub(super) fn settle(&mut self, path: &CStr, around: ParentFacts, makes: Makes, errno: i32) {
        if !self.local {
            return;
        }
        // Without birth times only its success tells: something of that name may have been there.
        if makes == Makes::Surely && errno == 0 && !around.birth_times {
            self.registry.intend(path, Evidence::Certain);
        }
        self.registry.settle(path, errno);
    }

    /// This rank made the directory `path`.
    pub(super) fn made_directory(&mut self, path: &CStr, around: ParentFacts) {
        self.earlier.made_directory(path, around);
    }

    /// `path` is gone.
    pub(super) fn removed(&mut self, path: &CStr) {
        if self.local {
            self.kept.remove(path.to_bytes());
            self.registry.forget(path);
        }
    }

    pub(super) fn renamed(&mut self, from: &CStr, to: &CStr, around: ParentFacts) {
        if self.local {
            self.registry.renamed(from, to, around.birth_times);
        }
        self.forget_directories();
    }
}
