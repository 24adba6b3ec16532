//! How a run was confined: by the kernel, by our own checks of paths, or not at all.

use serde::{Deserialize, Serialize};

use super::other::OtherFacts;

/// Who refuses a program what it may not touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfinedBy {
    /// Nobody: the user owns the program (`--unconfined`), or the run is of a version that confined by names.
    #[default]
    Nobody,
    /// Our own checks of paths, held by descriptor.
    Paths,
    /// The kernel (Landlock), and our own checks.
    Kernel,
}

/// How a run was confined: the facts' `confinement` section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfinementFacts {
    /// By whom.
    pub by: ConfinedBy,
    /// The version of Landlock's interface; 0 where it was not used.
    pub landlock: u32,
    /// Why the kernel did not confine; empty where it did.
    pub why: String,
    /// Might programs be started and files be made executable?
    pub spawn: bool,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}
