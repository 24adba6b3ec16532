//! The outcome of a call: value, errno and causes.

use crate::Causes;

/// The outcome of a call.
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

    /// Whether it succeeded.
    pub fn ok(&self) -> bool {
        self.errno == 0
    }
}
