//! Holds what is checked by descriptor until it is used.

use std::borrow::Cow;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use confine::Held;

use super::Confinement;
use crate::files::place::{ParentFacts, Reached};
use crate::files::real_path::real_path;
use crate::files::refusal::{Reason, Refusal};
use crate::files::written::{directory_of, here};

impl Confinement {
    pub(super) fn reach_held<'p>(
        &self,
        what: &'static str,
        path: &'p CStr,
        around: ParentFacts,
    ) -> Result<Reached<'p>, Refusal> {
        let bytes = path.to_bytes();
        let bytes = bytes.strip_suffix(b"/").filter(|rest| !rest.is_empty()).unwrap_or(bytes);
        let directory = directory_of(bytes);
        let real = real_path(here(directory));
        let name = CString::new(&bytes[directory.len()..]).unwrap_or_default();
        let held = real.as_deref().map(|real| {
            let whole = real.join(OsStr::from_bytes(name.to_bytes()));
            let place = self.allowing(real).or_else(|| self.allowing(&whole));
            match place.and_then(|place| place.anchor.as_ref()) {
                Some(anchor) => anchor.hold(real),
                None => Err(std::io::ErrorKind::NotFound.into()),
            }
        });
        // What is held lies where that says, wherever the name led a moment ago.
        let trusted = real.as_deref().is_some_and(|real| {
            self.trusts(real) || self.trusts(&real.join(OsStr::from_bytes(name.to_bytes())))
        });
        if around.trusted && !trusted && matches!(held, Some(Ok(_))) {
            return Err(self.refuse(what, path, Reason::Changed, &real.unwrap_or_default()));
        }
        let device = held.as_ref().and_then(|held| held.as_ref().ok()?.device_of_directory());
        match (held, device) {
            (Some(Ok(held)), Some(device)) => {
                // Of what is held, not of what the name led to when it was checked.
                let around = ParentFacts { device, ..around };
                Ok(Reached { path: Cow::Owned(held.path_of(&name)), around, held: Some(held), mode: None })
            }
            (Some(Err(error)), _) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::EXDEV)) => {
                let real = real.unwrap_or_default();
                Err(self.refuse(what, path, Reason::Changed, &real))
            }
            // Calls answer as they would: one of these names has nothing in it, the other is no directory.
            (Some(Ok(_)), None) => Ok(Reached::unchecked(c"/dev/null/none", around)),
            _ => Ok(Reached::unchecked(c"/proc/none/none", around)),
        }
    }

    /// As [`Confinement::reach_fixed`], of a file that is used for long, while directories may change: the directory is held
    /// where this run can put something else in its place at any time.
    ///
    /// # Errors
    /// As [`Confinement::reach`].
    pub fn reach_for_long<'p>(&mut self, what: &'static str, path: &'p CStr) -> Result<Reached<'p>, Refusal> {
        let around = self.check(what, path)?;
        let steady =
            self.free || !self.by_descriptor && !self.may_move(directory_of(path.to_bytes()), around);
        match steady {
            true => Ok(Reached::unchecked(path, around)),
            false => self.reach_held(what, path, around),
        }
    }

    /// May the run move a directory of this path away? In a place that the user opened, any below it.
    fn may_move(&self, directory: &[u8], around: ParentFacts) -> bool {
        around.trusted || self.is_replaceable(here(directory))
    }

    /// A path by which a call reaches exactly what `path` leads to now, links at its end followed, and its mode. None
    /// where there is nothing; the call then fails under its own name.
    ///
    /// # Errors
    /// Where it leads outside.
    pub fn hold(&mut self, what: &'static str, path: &CStr) -> Result<Option<(CString, u32, Held)>, Refusal> {
        if let Some(held) = self.hold_as_written(path) {
            return Ok(Some(held));
        }
        let real = self.check_followed(what, path)?;
        if !self.free {
            let inside = CString::new(real.as_os_str().as_bytes()).unwrap_or_default();
            self.check(what, &inside)?;
        }
        let place = self.allowing(&real);
        let held = place.and_then(|place| place.anchor.as_ref()?.hold(&real).ok());
        let Some(held) = held else { return Ok(None) };
        let mode = held.mode().unwrap_or(0);
        if mode & libc::S_IFMT == libc::S_IFLNK {
            return Err(self.refuse(what, path, Reason::Changed, &real));
        }
        Ok(Some((held.path_of(c""), mode, held)))
    }

    /// As [`Confinement::hold`], of a path without links: where it leads is where it says, and only the call that holds it
    /// looks. None where it has a link, or where what it says is not allowed.
    fn hold_as_written(&self, path: &CStr) -> Option<(CString, u32, Held)> {
        let written = Path::new(OsStr::from_bytes(path.to_bytes()));
        let whole = match written.is_absolute() {
            true => Cow::Borrowed(written),
            false => Cow::Owned(std::env::current_dir().ok()?.join(written)),
        };
        self.allowing(&whole)?;
        let held = Held::without_links(path).ok()?;
        let mode = held.mode().ok()?;
        Some((held.path_of(c""), mode, held))
    }
}
