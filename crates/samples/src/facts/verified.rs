//! How much of what a run read was compared with what was written there.

use serde::{Deserialize, Serialize};

/// What `verify` compared and found right. Reads of other content are judgements, and not among these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifiedFacts {
    /// Reads of which at least a byte was compared, and whose content is what was written.
    pub operations: u64,
    /// Bytes of them that were compared.
    pub bytes: u64,
    /// Bytes of reads that are not wrong of which nobody knows what was written there.
    pub unknown_bytes: u64,
}

impl VerifiedFacts {
    /// Counts those of another read, rank or part as well.
    pub fn add(&mut self, other: Self) {
        self.operations = self.operations.saturating_add(other.operations);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.unknown_bytes = self.unknown_bytes.saturating_add(other.unknown_bytes);
    }

    /// Was nothing compared, nor found that could not be?
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
