//! What the ranks of a group do to one file: by name where a library opens it.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Guard;
use crate::files::{FoundFile, ParentFacts, Reached, Reason, Refusal, look, look_at};

impl Guard {
    /// May `path` be written to by who opens it by name? What a link at its end leads to is meant.
    pub(in super::super) fn own_followed(
        &mut self,
        what: &'static str,
        path: &CStr,
        around: ParentFacts,
    ) -> Result<Option<FoundFile>, Refusal> {
        if !self.judges() {
            return Ok(None);
        }
        let real = self.confinement.check_followed(what, path)?;
        // A link at its end may lead out of the place that the user opened.
        let around = ParentFacts { trusted: around.trusted && self.confinement.trusts(&real), ..around };
        // Asked first: when it is no longer so, what the call made is owned.
        let is_expected = self.own.expects(&real);
        let found = CString::new(real.as_os_str().as_bytes()).ok().and_then(|real| look(&real));
        match found {
            Some(found) if !self.may_change(around, found.object()) && !self.confinement.is_named(path) => {
                // Another rank of the group is just making it.
                let just_made = match around.birth_times {
                    true => is_expected && found.is_born_since(self.registry.begun()),
                    false => !self.confinement.must_hold(around) && self.earlier.was_free(path, around),
                };
                match just_made {
                    true => Ok(Some(found)),
                    false => Err(self.confinement.refusal(what, path, Reason::NotMade)),
                }
            }
            Some(found) => Ok(Some(found)),
            None => {
                self.own.expect(&real);
                Ok(None)
            }
        }
    }

    /// As [`Guard::own_open`], of a file that ranks of a group opened to write: one of them may be making it.
    pub(in super::super) fn own_group(
        &self,
        what: &'static str,
        path: &CStr,
        (around, descriptor): (ParentFacts, i32),
    ) -> Result<(), Refusal> {
        if !self.judges() {
            return Ok(());
        }
        let expects = || Some(self.own.expects(&self.confinement.check_followed(what, path).ok()?));
        // Asked last: it needs memory.
        let is_expected = || around.birth_times && expects().unwrap_or(false);
        match look_at(descriptor) {
            Some(found) if self.own.is_ours(found.object()) => Ok(()),
            Some(found) if found.is_born_since(self.registry.begun()) && is_expected() => Ok(()),
            // Nothing had the name before.
            Some(_) if !around.birth_times && self.registry.knows(path) => Ok(()),
            _ if self.confinement.is_named(path) => Ok(()),
            _ => self.own_open(what, path, descriptor),
        }
    }

    /// The name of what a group opens or removes, as it is to be used. A library gets an absolute path without a colon: of
    /// `ufs:/x` it would take `/x` for the name of the file.
    pub(in super::super) fn for_library(
        &self,
        what: &'static str,
        path: &CStr,
        (library, reached): (bool, &Reached<'_>),
    ) -> Result<CString, Refusal> {
        if !library || !self.local {
            return Ok(reached.path.clone().into_owned());
        }
        let written = path.to_bytes();
        let (directory, name) =
            written.split_at(crate::names::last_slash(written).map_or(0, |slash| slash + 1));
        let around =
            if directory.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(directory)) };
        // Where it does not exist the library says so, of a name that it cannot take for another.
        let absolute = around.canonicalize().or_else(|_| std::path::absolute(around)).unwrap_or_default();
        let absolute = absolute.join(OsStr::from_bytes(name));
        let bytes = absolute.into_os_string().into_encoded_bytes();
        match CString::new(bytes) {
            Ok(name) if name.to_bytes().starts_with(b"/") && !name.to_bytes().contains(&b':') => Ok(name),
            _ => Err(self.confinement.refusal(what, path, Reason::Colon)),
        }
    }

    /// The call of the group is over: where it succeeded (`done`), its ranks made the file, or found it as theirs.
    pub(in super::super) fn made_together(&self, path: &CStr, done: bool) {
        if !self.judges() {
            return;
        }
        let Ok(real) = self.confinement.check_followed("write to", path) else { return };
        let found = CString::new(real.as_os_str().as_bytes()).ok().and_then(|real| look(&real));
        // What was there before the run was put under this name by others, whatever the call did.
        let begun = self.registry.begun();
        if let Some(found) =
            found.filter(|found| done && (!found.tells_birth() || found.is_born_since(begun)))
        {
            self.own.made(found.object());
        }
        self.own.settled(&real);
    }
}
