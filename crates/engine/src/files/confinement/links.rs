//! Where links lead that a program makes or moves.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Confinement;
use crate::files::real_path::real_path;
use crate::files::refusal::{Reason, Refusal};

impl Confinement {
    /// Checks what the new link `path` is to lead to, for an early message: the link may be moved, so what lies behind it is
    /// judged when it is opened.
    pub fn check_target(&self, target: &CStr, path: &CStr) -> Result<(), Refusal> {
        const WHAT: &str = "make a link to";
        let written = Path::new(OsStr::from_bytes(target.to_bytes()));
        if self.free {
            return Ok(());
        }
        let base = Path::new(OsStr::from_bytes(path.to_bytes())).parent().unwrap_or(Path::new(""));
        let leads = base.join(written);
        match real_path(&leads) {
            Some(real) if self.allowing(&real).is_some() => Ok(()),
            real => Err(self.refuse(WHAT, target, Reason::Outside, &real.unwrap_or(leads))),
        }
    }
}
