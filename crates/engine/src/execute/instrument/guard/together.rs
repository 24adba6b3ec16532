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
        let real = CString::new(real.as_os_str().as_bytes()).unwrap_or_default();
        match look(&real) {
            Some(found) if !self.may_change(path, around, found.object()) => {
                // Another rank of the group may have made it just now.
                let just_made = match around.birth_times {
                    true => found.is_born_since(self.registry.begun()),
                    false => !self.confinement.must_hold(around) && self.earlier.was_free(path, around),
                };
                match just_made {
                    true => Ok(Some(found)),
                    false => Err(self.confinement.refusal(what, path, Reason::NotMade)),
                }
            }
            found => Ok(found),
        }
    }

    /// As [`Guard::own_open`], of a file that ranks of a group opened to write: one of them may have made it just now.
    pub(in super::super) fn own_group(
        &self,
        what: &'static str,
        path: &CStr,
        (around, descriptor): (ParentFacts, i32),
    ) -> Result<(), Refusal> {
        let begun = self.registry.begun();
        match look_at(descriptor) {
            Some(found) if around.birth_times && found.is_born_since(begun) => Ok(()),
            // Nothing had the name before.
            Some(_) if !around.birth_times && self.registry.knows(path) => Ok(()),
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

    /// The ranks of a group made it, or found it as theirs.
    pub(in super::super) fn made_together(&self, path: &CStr) {
        if self.judges()
            && let Ok(real) = self.confinement.check_followed("write to", path)
            && let Ok(real) = CString::new(real.as_os_str().as_bytes())
            && let Some(found) = look(&real)
        {
            self.own.made(found.object());
        }
    }
}
