//! Facts of confinement: by the OS kernel, by lastrank's checks of paths, or none.

use serde::{Deserialize, Serialize};

use super::other::OtherFacts;

/// The mechanism that confines a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfinedBy {
    /// None: `--unconfined`, or the run is from a version that checked names only.
    #[default]
    Nobody,
    /// lastrank's checks of paths, with directories held by descriptors.
    Paths,
    /// The OS kernel (Landlock), and lastrank's checks.
    Kernel,
}

/// The confinement of a run: section `confinement` of the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConfinementFacts {
    /// The mechanism.
    pub by: ConfinedBy,
    /// The version of Landlock's interface; 0 if not used.
    pub landlock: u32,
    /// Reason why the OS kernel did not confine the run; empty if it did.
    pub why: String,
    /// Whether starting programs and making files executable was permitted.
    pub spawn: bool,
    /// TCP ports that the program was permitted to connect to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect: Vec<u16>,
    /// Keys that another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}
