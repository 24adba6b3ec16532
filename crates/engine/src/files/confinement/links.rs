//! Where links lead that a program makes or moves.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::Confinement;
use crate::files::real_path::real_path;
use crate::files::refusal::{Reason, Refusal};

impl Confinement {
    /// Checks what the new link `path` is to lead to: what programs of the user find there later must be inside as well.
    pub fn check_target(&self, target: &CStr, path: &CStr) -> Result<(), Refusal> {
        const WHAT: &str = "make a link to";
        let written = Path::new(OsStr::from_bytes(target.to_bytes()));
        if self.free || self.links {
            return Ok(());
        }
        let base = Path::new(OsStr::from_bytes(path.to_bytes())).parent().unwrap_or(Path::new(""));
        let leads = base.join(written);
        match real_path(&leads) {
            // Where a name leads before `..` may change, and with it where that leads.
            Some(real) if self.allowing(&real).is_some() && !goes_up_behind_a_name(written) => Ok(()),
            real => Err(self.refuse(WHAT, target, Reason::Outside, &real.unwrap_or(leads))),
        }
    }

    /// As [`Confinement::check_target`], of the link `from` that gets the name `to`.
    ///
    /// # Errors
    /// Where it would lead outside from there.
    pub fn check_moved_link(&self, from: &CStr, to: &CStr) -> Result<(), Refusal> {
        match rustix::fs::readlink(from, Vec::new()) {
            Ok(target) if !self.free && !self.links => self.check_target(&target, to),
            _ => Ok(()),
        }
    }

    /// As [`Confinement::check_target`], of the links in the directory `from` that lead out of it, when it gets the name `to`.
    ///
    /// # Errors
    /// Where one of them would lead outside from there, and where a directory in it cannot be read.
    pub fn check_moved_directory(&self, from: &CStr, to: &CStr) -> Result<(), Refusal> {
        let mut targets = Vec::new();
        let tree = Path::new(OsStr::from_bytes(from.to_bytes()));
        if self.free || self.links {
            return Ok(());
        }
        match leading_out(tree, 0, &mut targets) {
            Ok(()) => targets.iter().try_for_each(|target| {
                let target = CString::new(target.as_os_str().as_bytes()).unwrap_or_default();
                self.check_target(&target, to)
            }),
            Err(_) => Err(self.refusal("move links in", to, Reason::Outside)),
        }
    }
}

/// Targets of the links below `directory`, `depth` directories below the one that is moved, as they are seen from that
/// directory's name.
fn leading_out(directory: &Path, depth: usize, targets: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            leading_out(&entry.path(), depth + 1, targets)?;
        } else if kind.is_symlink() {
            let target = std::fs::read_link(entry.path())?;
            let parts = target.components().filter(|part| *part != Component::CurDir);
            let up = parts.clone().take_while(|part| *part == Component::ParentDir).count();
            if up > depth {
                targets.push(parts.skip(depth + 1).collect());
            }
        }
    }
    Ok(())
}

/// Is there a `..` behind a name?
fn goes_up_behind_a_name(target: &Path) -> bool {
    let parts = target.components().skip_while(|part| !matches!(part, Component::Normal(_)));
    parts.into_iter().any(|part| part == Component::ParentDir)
}
