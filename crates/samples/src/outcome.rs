//! What one call gave back: value, errno, and what happened on the way.

use crate::Causes;

/// What a call gave back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes moved, or the value of the call (a descriptor).
    pub value: u64,
    /// The positive errno; 0: success.
    pub errno: i32,
    /// Short transfers and interruptions.
    pub causes: Causes,
}

impl Outcome {
    /// A success that moved or returned `value`.
    pub fn value(value: u64) -> Self {
        Self { value, ..Self::default() }
    }

    /// A failure.
    pub fn error(errno: i32) -> Self {
        Self { errno, ..Self::default() }
    }

    /// Did it work?
    pub fn ok(&self) -> bool {
        self.errno == 0
    }
}
