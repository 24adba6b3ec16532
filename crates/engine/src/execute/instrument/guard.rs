//! What a program may touch, and what it created, where files are those of this machine.

use std::ffi::CStr;
use std::path::PathBuf;

use crate::files::{Confinement, EarlierNames, Evidence, ParentFacts, Refusal, Registry};

/// Confinement and registry. Elsewhere the server's export confines, and nothing is registered.
pub(super) struct Guard {
    confinement: Confinement,
    registry: Registry,
    earlier: EarlierNames,
    local: bool,
}

const ELSEWHERE: ParentFacts = ParentFacts { birth_times: false, place: 0 };

/// What the success of a call says about the name that it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Makes {
    /// It made it: a directory, a link, a file by `O_EXCL`.
    Surely,
    /// It made it, or it was there.
    #[default]
    Perhaps,
}

impl Guard {
    pub(super) fn new(confinement: Confinement, registry: Registry, local: bool) -> Self {
        Self { confinement, registry, earlier: EarlierNames::default(), local }
    }

    /// The same for a worker, which shares nothing with others while it works.
    pub(super) fn of_worker(&mut self) -> Self {
        Self {
            confinement: self.confinement.clone(),
            registry: self.registry.of_worker(),
            earlier: self.earlier.clone(),
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
        if self.local { self.confinement.check(what, path) } else { Ok(ELSEWHERE) }
    }

    /// Checks where `path` leads when the link at its end is followed; that place, where it is of this machine.
    pub(super) fn check_followed(&self, what: &'static str, path: &CStr) -> Result<Option<PathBuf>, Refusal> {
        if self.local { self.confinement.check_followed(what, path).map(Some) } else { Ok(None) }
    }

    /// As [`Guard::check_followed`], of what is on this machine whatever the driver: a program that is started.
    pub(super) fn check_local(&self, what: &'static str, path: &CStr) -> Result<(), Refusal> {
        self.confinement.check_followed(what, path).map(drop)
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

    /// May the program read there?
    #[inline(always)]
    pub(super) fn may_read(&mut self, path: &CStr) -> Result<(), Refusal> {
        if self.local && self.confinement.reads_too() {
            self.confinement.check("read", path)?;
            self.confinement.check_followed("read", path)?;
        }
        Ok(())
    }

    /// As [`Guard::may_read`], of a file that a library opens, which follows links.
    pub(super) fn may_read_followed(&self, path: &CStr) -> Result<(), Refusal> {
        if self.local && self.confinement.reads_too() {
            self.confinement.check_followed("read", path)?;
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
        if around.birth_times {
            self.registry.intend(path, Evidence::Birth);
        } else if makes == Makes::Perhaps && self.earlier.was_free(path, around) {
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
