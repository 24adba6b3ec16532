//! Facts of the MPI library of a run, and of the hints it was given.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::other::OtherFacts;

/// Which MPI library ran the ranks: the facts' `mpi` section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiFacts {
    /// The file, with symbolic links followed.
    pub library: PathBuf,
    /// What it calls itself: `MPICH 4.0.2`.
    pub version: String,
    /// Its binary interface: `MPICH ABI`, `Open MPI ABI`, `MPI-5 standard ABI`.
    pub abi: String,
    /// Why it was tried before the others.
    pub why: String,
    /// What the launcher left in the environment, where there was one.
    pub launcher: Option<String>,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// Hints to MPI-IO: the facts' `hints` section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiHints {
    /// Those that the program asked for, by key.
    pub asked: BTreeMap<String, String>,
    /// Those that the library uses, for each file.
    pub used: Vec<HintsOfFile>,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// The hints that MPI-IO uses for a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintsOfFile {
    /// Its name.
    pub file: String,
    /// By key.
    pub hints: BTreeMap<String, String>,
}
