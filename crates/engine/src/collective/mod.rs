//! How do the ranks of a group write and read one file together?
//!
//! Through MPI-IO where the group's communicator is MPI's ([`library`]), otherwise by system calls
//! that put the same bytes at the same places ([`calls`]). What goes where says a [`Layout`].

use std::ffi::CStr;

use mpi::io as library;
pub use mpi::io::{Hints, take_error};
use ranks::Comm;
pub use ranks::layout::{Direction, Kind, Layout, Mode};
use samples::Outcome;

use super::collective_calls as calls;
use super::posix;

/// A file that all ranks of a communicator opened together.
#[derive(Debug)]
pub enum Parallel {
    /// By system calls.
    Calls(calls::File),
    /// By the MPI library.
    Library(library::File),
}

/// Opens `path` on `comm`; collective.
///
/// # Errors
/// The outcome of a failure; where one rank fails all do. MPI's words: [`take_error`].
pub fn open(comm: &dyn Comm, path: &CStr, mode: Mode, hints: &Hints) -> Result<Parallel, Outcome> {
    match mpi::of(comm) {
        Some(mpi) => library::File::open(mpi, path, mode, hints).map(Parallel::Library),
        None => calls::File::open(comm, path, mode).map(Parallel::Calls),
    }
}

/// Removes `path`: rank 0 of `comm` does it, then all go on; collective. Every rank gets the outcome.
pub fn delete(comm: &dyn Comm, path: &CStr) -> Outcome {
    let mut outcome = Outcome::default();
    if comm.rank() == 0 {
        outcome = match mpi::of(comm) {
            Some(mpi) => library::delete(mpi, path),
            None => posix::unlink(path),
        };
    }
    together(comm, outcome)
}

impl Parallel {
    /// Makes ready what `transfer` needs, so that it need not be timed.
    ///
    /// # Errors
    /// The errno: EINVAL for sizes that the library cannot express.
    pub fn prepare(&mut self, comm: &dyn Comm, layout: &Layout) -> Result<(), i32> {
        match self {
            Self::Calls(_) => Ok(()),
            Self::Library(file) => file.prepare(comm.rank(), comm.size(), layout),
        }
    }

    /// Moves the bytes of `layout`; the value is how many. `comm` is the one of `open`.
    ///
    /// Setting the view is collective for every level, as MPI has it.
    ///
    /// # Safety
    /// `block(i)` is valid for one block (levels 0 and 1), and `block(0)` for all blocks, one behind
    /// the other (levels 2 and 3): readable for a write, writable for a read.
    #[inline]
    pub unsafe fn transfer(
        &mut self,
        comm: &dyn Comm,
        layout: &Layout,
        direction: Direction,
        block: &dyn Fn(u64) -> *mut u8,
    ) -> Outcome {
        match self {
            // SAFETY: the caller's promise.
            Self::Calls(file) => unsafe { file.transfer(comm, layout, direction, block) },
            // SAFETY: the caller's promise.
            Self::Library(file) => unsafe {
                file.transfer(comm.rank(), comm.size(), layout, direction, block)
            },
        }
    }

    /// Waits until what was written is on the device; collective.
    pub fn sync(&mut self, comm: &dyn Comm) -> Outcome {
        match self {
            Self::Calls(file) => together(comm, file.sync()),
            Self::Library(file) => file.sync(),
        }
    }

    /// The size in bytes.
    pub fn size(&self) -> Outcome {
        match self {
            Self::Calls(file) => file.size(),
            Self::Library(file) => file.size(),
        }
    }

    /// Sets the size in bytes; collective.
    pub fn set_size(&mut self, comm: &dyn Comm, bytes: u64) -> Outcome {
        match self {
            Self::Calls(file) => {
                let outcome = if comm.rank() == 0 { file.set_size(bytes) } else { Outcome::default() };
                together(comm, outcome)
            }
            Self::Library(file) => file.set_size(bytes),
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
    pub fn close(self, comm: &dyn Comm) -> Outcome {
        match self {
            Self::Calls(file) => together(comm, file.close()),
            Self::Library(file) => file.close(),
        }
    }
}

/// Where one rank failed all did; the errno is the largest.
pub(super) fn together(comm: &dyn Comm, outcome: Outcome) -> Outcome {
    match comm.barrier(outcome.errno as u64) {
        Ok(errno) => Outcome { errno: if outcome.ok() { errno as i32 } else { outcome.errno }, ..outcome },
        Err(_) => Outcome::error(libc::ECANCELED),
    }
}
