//! What a program may touch, and what it created, where files are those of this machine.

use std::ffi::CStr;
use std::path::PathBuf;

use crate::files::{Confinement, ParentFacts, Refusal, SharedRegistry};

/// Confinement and registry. Elsewhere the server's export confines, and nothing is registered.
pub(super) struct Guard {
    confinement: Confinement,
    registry: SharedRegistry,
    local: bool,
}

const ELSEWHERE: ParentFacts = ParentFacts { birth_times: false };

impl Guard {
    pub(super) fn new(confinement: Confinement, registry: SharedRegistry, local: bool) -> Self {
        Self { confinement, registry, local }
    }

    /// The same for a worker.
    pub(super) fn of_worker(&self) -> Self {
        Self { confinement: self.confinement.clone(), registry: self.registry.clone(), local: self.local }
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
    }

    /// The next call may create `path`.
    pub(super) fn intend(&self, path: &CStr, around: ParentFacts) {
        if self.local {
            self.registry.intend(path, around.birth_times);
        }
    }

    /// The call is over.
    pub(super) fn settle(&self, path: &CStr, around: ParentFacts) {
        if self.local {
            self.registry.settle(path, around.birth_times);
        }
    }

    /// `path` is gone.
    pub(super) fn removed(&self, path: &CStr) {
        if self.local {
            self.registry.forget(path);
        }
    }

    pub(super) fn renamed(&mut self, from: &CStr, to: &CStr) {
        if self.local {
            self.registry.forget(from);
            self.registry.moved(from, to);
        }
        self.forget_directories();
    }
}
