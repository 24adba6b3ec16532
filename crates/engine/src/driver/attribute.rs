//! What can be changed of a file besides its content and its name.

use std::ffi::CStr;

/// A change of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeChange<'a> {
    /// Its permissions become these.
    Mode(u32),
    /// It becomes the user's and the group's of the run.
    Owner,
    /// The times of its last access and change become now.
    Times,
    /// An extended attribute gets a value of so many bytes.
    Set {
        /// What the attribute is called.
        key: &'a CStr,
        /// Bytes of the value.
        size: u64,
    },
    /// An extended attribute is removed.
    Remove {
        /// What the attribute is called.
        key: &'a CStr,
    },
}
