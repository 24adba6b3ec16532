//! Files that the ranks of a group write and read together.
//!
//! Through MPI-IO where the group's communicator is MPI's and files are those of this machine, otherwise by calls of
//! the driver that put the same bytes at the same places (`calls`). What goes where says a [`Layout`].

mod agree;
mod calls;
mod hints;
mod memory;

use std::ffi::CStr;

pub use crate::mpi::io::{Hints, take_error};
pub use hints::HintsReadBack;
pub use memory::TransferMemory;
pub use ranks::layout::{Blocks, Direction, Layout, ParallelMode, ViewKind};

use crate::driver::Driver;
use crate::mpi::io as library;
use agree::agreed;
use calls::CallsFile;
use ranks::Comm;
use samples::Outcome;

/// A file that all ranks of a communicator opened together.
#[derive(Debug)]
pub enum GroupFile {
    /// By calls of the driver.
    Calls(CallsFile),
    /// By the MPI library.
    Library(library::File),
}

/// Opens a file on `comm`; collective.
///
/// # Errors
/// The outcome of a failure; where one rank fails all do. MPI's words: [`take_error`].
pub fn open(
    driver: &mut dyn Driver,
    comm: &dyn Comm,
    (path, mode): (&CStr, ParallelMode),
    hints: &Hints,
) -> Result<GroupFile, Outcome> {
    match crate::mpi::of(comm).filter(|_| driver.capabilities().local_files) {
        Some(mpi) => library::File::open(mpi, path, mode, hints).map(GroupFile::Library),
        None => CallsFile::open(driver, comm, path, mode).map(GroupFile::Calls),
    }
}

/// Removes `path`: rank 0 of `comm` does it, then all go on; collective. Every rank gets the outcome.
pub fn delete(driver: &mut dyn Driver, comm: &dyn Comm, path: &CStr) -> Outcome {
    let capabilities = driver.capabilities();
    let mut outcome = Outcome::default();
    if !capabilities.content {
        // Each rank has names of its own.
        driver.unlink(path);
    } else if comm.rank() == 0 {
        outcome = match crate::mpi::of(comm).filter(|_| capabilities.local_files) {
            Some(mpi) => library::delete(mpi, path),
            None => driver.unlink(path),
        };
    }
    agreed(comm, outcome)
}

impl GroupFile {
    /// Makes ready what `transfer` needs, so that it need not be timed.
    ///
    /// # Errors
    /// The errno: EINVAL for sizes that the library cannot express.
    pub fn prepare(&mut self, layout: &Layout) -> Result<(), i32> {
        match self {
            Self::Calls(_) => Ok(()),
            Self::Library(file) => file.prepare(layout),
        }
    }

    /// Moves the bytes of `layout`; the value is how many. `driver` and `comm` are those of `open`.
    ///
    /// Setting the view is collective for every level, as MPI has it.
    /// EFAULT where `blocks` is less memory than the layout needs.
    #[inline]
    pub fn transfer(
        &mut self,
        driver: &mut dyn Driver,
        comm: &dyn Comm,
        (layout, direction): (&Layout, Direction),
        blocks: &Blocks,
    ) -> Outcome {
        match self {
            Self::Calls(file) => file.transfer(driver, comm, (layout, direction), blocks),
            Self::Library(file) => file.transfer(layout, direction, blocks),
        }
    }

    /// The hints that the MPI library uses for this file; empty without MPI. Not collective.
    pub fn hints(&self) -> Vec<(String, String)> {
        match self {
            Self::Calls(_) => Vec::new(),
            Self::Library(file) => file.hints(),
        }
    }

    /// Closes it; collective.
    pub fn close(self, driver: &mut dyn Driver, comm: &dyn Comm) -> Outcome {
        match self {
            Self::Calls(file) => agreed(comm, file.close(driver)),
            Self::Library(file) => file.close(),
        }
    }
}
