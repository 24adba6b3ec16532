//! How a file is opened to write.

use std::ffi::CStr;

use samples::Outcome;

use super::guard::Makes;
use super::space_watch::OF_A_NAME;
use crate::driver::Driver;
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

/// How a name is opened that was checked before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    /// `O_NOFOLLOW`, or nothing.
    pub(super) no_follow: i32,
    /// A link on the way is not followed either.
    pub(super) straight: bool,
}

impl Way {
    /// As open(2); ELOOP where there is a link that is not followed.
    #[inline(always)]
    pub(super) fn open<D: Driver + ?Sized>(
        self,
        driver: &mut D,
        path: &CStr,
        open_flags: i32,
        mode: u32,
    ) -> Outcome {
        match self.straight {
            true => driver.open_straight(path, open_flags | self.no_follow, mode),
            false => driver.open(path, open_flags | self.no_follow, mode),
        }
    }
}
