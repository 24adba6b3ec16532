//! What can be changed of a file besides its content and its name.

/// A change of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeChange {
    /// Its permissions become these.
    Mode(u32),
    /// It becomes the user's and the group's of the run.
    Owner,
    /// The times of its last access and change become now.
    Times,
}
