//! Where links lead that a program makes or moves.

use std::ffi::CStr;

use super::Guard;
use crate::files::{FoundFile, Reached, Refusal};

impl Guard {
    /// The program is to make the link `path`.
    pub(in super::super) fn check_target(&self, target: &CStr, path: &CStr) -> Result<(), Refusal> {
        if !self.local {
            return Ok(());
        }
        self.confinement.check_target(target, path)?;
        if target.to_bytes().split(|byte| *byte == b'/').any(|part| part == b"..") {
            self.own.expect_link_up();
        }
        Ok(())
    }

    /// What lies at `old` gets the name `to`: links lead to something else from there.
    pub(in super::super) fn check_moved(
        &self,
        moved: Option<&FoundFile>,
        old: &Reached<'_>,
        to: &CStr,
    ) -> Result<(), Refusal> {
        match moved {
            Some(link) if link.is_link() => self.confinement.check_moved_link(&old.path, to),
            Some(directory)
                if directory.is_directory()
                    && (self.own.has_links_up() || !self.own.is_made(directory.object())) =>
            {
                self.confinement.check_moved_directory(&old.path, to)
            }
            _ => Ok(()),
        }
    }
}
