//! Facts of the MPI library of a run, and of the hints it was given.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::other::OtherFacts;

/// The MPI library of a run: the section `mpi` of the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiFacts {
    /// The file, with symbolic links followed.
    pub library: PathBuf,
    /// Its own name and version: `MPICH 4.0.2`.
    pub version: String,
    /// Its binary interface: `MPICH ABI`, `Open MPI ABI`, `MPI-5 standard ABI`.
    pub abi: String,
    /// Reason for the choice of this library.
    pub why: String,
    /// The environment variable that identifies the launcher, if there was one.
    pub launcher: Option<String>,
    /// Keys that another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// Hints to MPI-IO: the section `hints` of the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MpiHints {
    /// The hints that the program set, by key.
    pub asked: BTreeMap<String, String>,
    /// The hints that the library uses, for each file.
    pub used: Vec<HintsOfFile>,
    /// Keys that another version wrote.
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
