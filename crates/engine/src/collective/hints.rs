//! What the program asked MPI-IO for, and what MPI-IO makes of it.

use std::collections::HashMap;
use std::ffi::{CStr, CString};

use ranks::Comm;
use record::HintsOfFile;

/// Files of a communicator whose hints are read back: what they are is mostly the same for all.
const READ_BACK: usize = 4;

/// What the program asked MPI-IO for, and what MPI-IO makes of it.
#[derive(Debug, Default)]
pub struct HintsReadBack {
    /// In the order of the program.
    pub asked: Vec<(String, String)>,
    /// By file; only the first rank of a group has them.
    used: Vec<HintsOfFile>,
    /// Files read back for each communicator, by its handle.
    known: HashMap<usize, Vec<CString>>,
}

impl HintsReadBack {
    /// Are the hints of this file to be read back? All ranks of `comm` answer alike.
    pub fn wanted(&mut self, path: &CStr, comm: &dyn Comm) -> bool {
        let Some(mpi) = crate::mpi::of(comm).filter(|_| !self.asked.is_empty()) else { return false };
        let known = self.known.entry(mpi.handle()).or_default();
        let new = known.len() < READ_BACK && !known.iter().any(|one| **one == *path);
        if new {
            known.push(path.to_owned());
        }
        new
    }

    /// Reads the hints of an open file back (`hints`), on the first rank.
    pub fn keep(&mut self, path: &CStr, comm: &dyn Comm, hints: impl FnOnce() -> Vec<(String, String)>) {
        if comm.rank() == 0 {
            let hints = hints().into_iter().collect();
            self.used.push(HintsOfFile { file: path.to_string_lossy().into_owned(), hints });
        }
    }

    /// What was read back since the last call.
    pub fn take_used(&mut self) -> Vec<HintsOfFile> {
        std::mem::take(&mut self.used)
    }
}
