//! Who makes the file of a group.

use std::ffi::CStr;

use samples::Outcome;

use crate::driver::Driver;

/// Makes the file of a group where it is missing, so that no library makes it by name, and knows what it is.
pub trait FileMaker {
    /// As open(2), of a rank that opens the file by calls of the driver, and makes it where that is asked for.
    fn open(&self, driver: &mut dyn Driver, access: i32, makes: bool) -> Outcome;
    /// Of the rank that makes it for all: by the driver, or by a call of the `library` that fails where something is there.
    /// A mark of what it is.
    ///
    /// # Errors
    /// [`REFUSED`], or as open(2).
    fn make(
        &self,
        driver: &mut dyn Driver,
        library: Option<&dyn Fn(&CStr) -> Outcome>,
    ) -> Result<u64, Outcome>;
    /// It has this mark: of every rank. Fails with [`REFUSED`] where the name leads this rank to something else.
    fn is_made(&self, mark: u64) -> Outcome;
}

/// Instead of an errno: what is there is not the run's.
pub const REFUSED: i32 = i32::MAX;
