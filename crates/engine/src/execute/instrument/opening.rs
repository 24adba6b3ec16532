//! How a file is opened to write.

use super::guard::Makes;
use super::space_watch::OF_A_NAME;
use crate::execute::call::Meaning;

/// What surrounds a call that opens a file to write, and may make it.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    /// What is said where it is refused.
    pub(super) what: &'static str,
    pub(super) meaning: Meaning,
    pub(super) makes: Makes,
    /// Bytes that it takes of its file system.
    pub(super) bytes: u64,
}

impl Opening {
    /// Of `fopen`.
    pub(super) fn to_write(makes: Makes) -> Self {
        let bytes = if makes == Makes::Nothing { 0 } else { OF_A_NAME };
        Self { what: "write to", meaning: Meaning::Value, makes, bytes }
    }

    /// Of `create`.
    pub(super) fn to_create() -> Self {
        Self { what: "create", ..Self::to_write(Makes::Perhaps) }
    }

    /// Of `write` and `append` of so many bytes.
    pub(super) fn whole(append: bool, bytes: u64) -> Self {
        let makes = if append { Makes::Keeps } else { Makes::Perhaps };
        Self { meaning: Meaning::Bytes, bytes: bytes.max(OF_A_NAME), ..Self::to_write(makes) }
    }
}
