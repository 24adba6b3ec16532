//! What a program may change, and what it is refused, in words.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Confinement;
use crate::files::object::Object;
use crate::files::others::Maker;
use crate::files::place::{ParentFacts, Place};
use crate::files::real_path::real_path;
use crate::files::refusal::{Reason, Refusal, WayOut};

impl Confinement {
    /// May this be removed, renamed, replaced or given another name or attributes? What the user named as a place may only
    /// be written to.
    pub fn may_change(&self, around: ParentFacts, object: &Object) -> bool {
        around.trusted || self.own.is_ours(object)
    }

    /// A refusal for another reason than where `path` lies.
    pub fn refusal(&self, what: &'static str, path: &CStr, reason: Reason) -> Refusal {
        // The name of a program is no path.
        let real = if reason == Reason::Starts { PathBuf::new() } else { self.real_of(path.to_bytes()) };
        self.refuse(what, path, reason, &real)
    }

    /// Why nothing allows `real`.
    pub(super) fn reason_against(&self, real: &Path) -> Reason {
        let whole = std::path::absolute(real).unwrap_or_else(|_| real.into());
        let is_below = |place: &Place| whole.starts_with(&place.path);
        if self.places.iter().any(is_below) { Reason::Hidden } else { Reason::Outside }
    }

    pub(super) fn real_of(&self, path: &[u8]) -> PathBuf {
        let written = Path::new(OsStr::from_bytes(path));
        real_path(written).unwrap_or_else(|| written.into())
    }

    pub(super) fn refuse(&self, what: &'static str, path: &CStr, reason: Reason, real: &Path) -> Refusal {
        let places: Vec<String> = self.places.iter().map(|place| place.path.display().to_string()).collect();
        // A look at the file system, only for what a message says.
        let maker = match reason {
            Reason::NotMade => Maker::of(real, self.own.others(), self.own.forgotten()),
            _ => Maker::Unknown,
        };
        Refusal {
            what,
            path: path.to_string_lossy().into_owned(),
            real: real.into(),
            reason,
            maker: Box::new(maker),
            places: places.join(", ").into(),
            way: WayOut::of(self.in_room, self.rooted, real),
        }
    }
}
