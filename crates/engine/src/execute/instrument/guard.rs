//! What a program may touch, and what it created, where files are those of this machine.

mod links;
mod making;
mod open;
mod room;
mod together;

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use confine::Held;

pub(super) use making::GroupMaker;
pub(super) use together::Opened;

use crate::driver::Handle;
use crate::files::{
    Confinement, EarlierNames, Evidence, FoundFile, Moment, Object, Ownership, ParentFacts, READ, Reached,
    Reason, Refusal, Registry, look, look_at, look_without_links,
};

/// Confinement, ownership and registry. Elsewhere the server's export confines, and nothing is registered.
///
/// One rule: what the run, or an earlier one of the same user, did not make stays as it is, unless the user named it. It is
/// kept by looking at the object, which only a call of the run can make its own: an open file by its descriptor
/// (`OpenJudge`), anything else by its name while nobody can change where that leads ([`Guard::own`]).
pub(super) struct Guard {
    confinement: Confinement,
    registry: Registry,
    own: Ownership,
    earlier: EarlierNames,
    /// The last file that was opened to be made if need be was there.
    was_there: std::cell::Cell<bool>,
    local: bool,
    /// No name leads elsewhere than when the run began: nothing was renamed, no link made, and nobody else is at work.
    names_stay: bool,
    /// The name at which an ordinary file was when it was last looked at.
    ordinary: Vec<u8>,
}

pub(super) const ELSEWHERE: ParentFacts =
    ParentFacts { birth_times: false, place: 0, device: 0, trusted: true, replaceable: false };

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
    /// It makes nothing.
    Nothing,
}

impl Guard {
    pub(super) fn new(
        confinement: Confinement,
        (registry, own): (Registry, Ownership),
        local: bool,
        ranks: u32,
    ) -> Self {
        let mut confinement = confinement.owning(own.clone());
        if ranks > 1 {
            confinement.set_concurrent();
        }
        let (earlier, was_there) = (EarlierNames::default(), std::cell::Cell::default());
        let (names_stay, ordinary) = (ranks <= 1, Vec::new());
        Self { confinement, registry, own, earlier, was_there, local, names_stay, ordinary }
    }

    /// The same for a worker, which shares nothing with others while it works but what the run owns.
    pub(super) fn of_worker(&mut self) -> Self {
        self.set_concurrent();
        Self {
            confinement: self.confinement.clone(),
            registry: self.registry.of_worker(),
            own: self.own.clone(),
            earlier: self.earlier.clone(),
            was_there: std::cell::Cell::default(),
            local: self.local,
            names_stay: false,
            ordinary: Vec::new(),
        }
    }

    /// What the run owns.
    pub(super) fn ownership(&self) -> Ownership {
        self.own.clone()
    }

    /// Operations will be under way while others are done.
    pub(super) fn set_concurrent(&mut self) {
        self.names_stay = false;
        self.confinement.set_concurrent();
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
        self.confinement.check(what, path)
    }

    /// As [`Guard::check`], with the path by which the call is to be made.
    pub(super) fn reach<'p>(&mut self, what: &'static str, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        match self.local {
            true => self.confinement.reach(what, path),
            false => Ok(Reached::unchecked(path, ELSEWHERE)),
        }
    }

    /// As [`Guard::reach`], of a call that is made after a look at what lies there, or before one at what it made: the
    /// directory is held where another part of the run could put something else in its place meanwhile.
    pub(super) fn reach_fixed<'p>(
        &mut self,
        what: &'static str,
        path: &'p CStr,
    ) -> Result<Reached<'p>, Refusal> {
        match self.local {
            true => self.confinement.reach_fixed(what, path),
            false => Ok(Reached::unchecked(path, ELSEWHERE)),
        }
    }

    /// Can a name in this directory lead to something else in the next moment?
    pub(super) fn is_unsteady(&self, around: ParentFacts) -> bool {
        self.local && self.confinement.must_hold(around)
    }

    /// Is it asked what belongs to the run?
    pub(super) fn judges(&self) -> bool {
        self.local && !self.confinement.is_free()
    }

    /// May this be removed, renamed, replaced or given another name or attributes? What the user named as a place may only
    /// be written to.
    fn may_change(&self, around: ParentFacts, object: &Object) -> bool {
        self.confinement.may_change(around, object)
    }

    /// What `OpenJudge` did not let through.
    pub(super) fn refused(&self, what: &'static str, path: &CStr) -> Refusal {
        self.confinement.refusal(what, path, Reason::NotMade)
    }

    /// May `path`, as `reached`, be removed, renamed or replaced? What lies there.
    pub(super) fn own(
        &self,
        what: &'static str,
        path: &CStr,
        reached: &Reached<'_>,
    ) -> Result<Option<FoundFile>, Refusal> {
        if !self.judges() {
            return Ok(None);
        }
        match look(&reached.path) {
            Some(found) if !self.may_change(reached.around, found.object()) => {
                Err(self.confinement.refusal(what, path, Reason::NotMade))
            }
            found => Ok(found),
        }
    }

    /// A directory of an earlier run may be moved only where all in it was made by runs: the user may have put something
    /// there since.
    pub(super) fn own_whole(
        &self,
        what: &'static str,
        (path, reached): (&CStr, &Reached<'_>),
        found: Option<&FoundFile>,
    ) -> Result<(), Refusal> {
        let Some(found) = found else { return Ok(()) };
        let moves_others = found.is_directory()
            && !reached.around.trusted
            && !self.own.is_made(found.object())
            && !self.all_ours(Path::new(OsStr::from_bytes(reached.path.to_bytes())), &mut 4096);
        match moves_others {
            true => Err(self.confinement.refusal(what, path, Reason::HoldsOthers)),
            false => Ok(()),
        }
    }

    fn all_ours(&self, directory: &Path, left: &mut u32) -> bool {
        let Ok(entries) = std::fs::read_dir(directory) else { return false };
        entries.into_iter().all(|entry| {
            *left = left.saturating_sub(1);
            let Ok(path) = entry.map(|entry| entry.path()) else { return false };
            let found = CString::new(path.as_os_str().as_bytes()).ok().and_then(|path| look(&path));
            *left > 0
                && found.is_some_and(|found| {
                    self.own.is_ours(found.object()) && (!found.is_directory() || self.all_ours(&path, left))
                })
        })
    }

    /// May what this descriptor is be given other attributes?
    pub(super) fn own_open(&self, what: &'static str, path: &CStr, descriptor: i32) -> Result<(), Refusal> {
        if !self.judges() {
            return Ok(());
        }
        match look_at(descriptor) {
            Some(found) if !self.own.is_ours(found.object()) && !self.confinement.trusts_open(descriptor) => {
                Err(self.confinement.refusal(what, path, Reason::NotMade))
            }
            _ => Ok(()),
        }
    }

    /// A call has just made what is called `path`, as `reached`, and fails where something is there.
    pub(super) fn made(&self, reached: &Reached<'_>, since: Moment) {
        if !self.judges() {
            return;
        }
        let found = match reached.around.birth_times {
            true => look(&reached.path).filter(|found| found.is_born_since(since)),
            false if reached.is_held() => look(&reached.path),
            false => look_without_links(&reached.path),
        };
        if let Some(found) = found {
            self.own.made(found.object());
        }
    }

    /// The open file, where no name leads to it: when it is closed, its number may be another's in the same tick of the clock.
    #[cold]
    pub(super) fn without_name(&self, file: Handle) -> Option<FoundFile> {
        let found = if self.judges() { look_at(file.0 as i32) } else { None };
        found.filter(FoundFile::has_no_name)
    }

    /// It had this name, and it was removed.
    pub(super) fn gone(&self, found: Option<&FoundFile>) {
        if let Some(found) = found.filter(|found| found.has_one_name()) {
            self.own.gone(found.object());
        }
    }

    /// Refuses what is done to an open file that this run neither made nor emptied: what earlier runs left may have been
    /// written to by others since.
    pub(super) fn made_by_run(
        &mut self,
        what: &'static str,
        path: &CStr,
        file: Handle,
    ) -> Result<(), Refusal> {
        if !self.judges() {
            return Ok(());
        }
        self.confinement.check(what, path)?;
        match look_at(file.0 as i32) {
            Some(found)
                if !self.own.is_made(found.object()) && !self.confinement.trusts_open(file.0 as i32) =>
            {
                let earlier = self.own.is_ours(found.object());
                let reason = if earlier { Reason::NotThisRun } else { Reason::NotMade };
                Err(self.confinement.refusal(what, path, reason))
            }
            _ => Ok(()),
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

    /// May a program be started?
    pub(super) fn may_start(&self, program: &CStr) -> Result<(), Refusal> {
        match self.confinement.spawns() {
            true => Ok(()),
            false => Err(self.confinement.refusal("start", program, Reason::Starts)),
        }
    }

    /// The names that a pattern found, without those that may not be read.
    pub(super) fn sifted(&mut self, mut names: Vec<String>) -> Vec<String> {
        if self.judges() {
            names.retain(|name| {
                CString::new(name.as_bytes()).is_ok_and(|path| self.confinement.check(READ, &path).is_ok())
            });
        }
        names
    }

    /// Checks where `path` leads when the link at its end is followed; that place, where it is of this machine.
    pub(super) fn check_followed(&self, what: &'static str, path: &CStr) -> Result<Option<PathBuf>, Refusal> {
        if self.local { self.confinement.check_followed(what, path).map(Some) } else { Ok(None) }
    }

    /// Where a kernel may make files, which are on this machine whatever the driver: a path in that directory.
    pub(super) fn reach_for_kernel<'p>(&mut self, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        self.confinement.reach_for_long("make files in", path)
    }

    /// A kernel will make `path` on this machine, whatever the driver, and nobody else.
    pub(super) fn register_local(&mut self, path: &CStr) {
        // Nobody looks at what it made: to the end of the run it is what a call may have made.
        self.registry.intend(path, Evidence::Birth);
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

    /// Must a directory be held between its check and its use?
    pub(super) fn holds_names(&self) -> bool {
        self.local && self.confinement.holds_names()
    }

    /// Directories may lead elsewhere now.
    pub(super) fn forget_directories(&mut self) {
        self.names_stay = false;
        self.confinement.forget();
        self.earlier.forget();
    }

    /// The next call may create `path`. Asks nobody about it.
    pub(super) fn intend(&mut self, path: &CStr, around: ParentFacts, makes: Makes) {
        if !self.local || self.registry.knows(path) {
            return;
        }
        if around.birth_times {
            self.registry.intend(path, Evidence::Birth);
        } else if makes != Makes::Surely && self.earlier.was_free(path, around) {
            self.registry.intend(path, Evidence::Certain);
        }
    }

    /// The call is over, with this errno; what it made is owned by now.
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

    /// Did this rank make something of that name?
    pub(super) fn knows(&self, path: &CStr) -> bool {
        self.registry.knows(path)
    }

    /// `path` is gone.
    pub(super) fn removed(&mut self, path: &CStr) {
        if self.local {
            self.registry.forget(path);
        }
    }

    /// The next call may give `from` the name `to`; whether that was entered, and is to be taken back where it fails.
    pub(super) fn intend_rename(&mut self, from: &CStr, to: &CStr) -> bool {
        self.local && self.registry.intend_rename(from, to)
    }

    /// `path` is another name of what is called `from`.
    pub(super) fn linked(&mut self, from: &CStr, path: &CStr) {
        if self.local {
            self.registry.linked(from, path);
        }
    }

    pub(super) fn renamed(&mut self, from: &CStr, to: &CStr, around: ParentFacts) {
        if self.local {
            self.registry.renamed(from, to, around.birth_times);
        }
        self.forget_directories();
    }
}
