//! How do the ranks of a group write and read one file together?
//!
//! Through MPI-IO where the group's communicator is MPI's ([`library`]), otherwise by system calls
//! that put the same bytes at the same places ([`calls`]). What goes where says a [`Layout`].

mod calls;
mod hints;
mod layout;
mod library;

use std::ffi::CStr;

use super::posix::{self, Outcome};
use crate::comm::Comm;

pub use layout::{Kind, Layout};

/// What a parallel file is opened for: any of the letters `c r w`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mode {
    /// Make it where it is not there; never empties it.
    pub create: bool,
    /// Reading.
    pub read: bool,
    /// Writing.
    pub write: bool,
}

impl Mode {
    /// The mode of `letters`, in any order; `None` for other letters. Neither `r` nor `w` means both.
    pub fn parse(letters: &str) -> Option<Self> {
        let mut mode = Self::default();
        for letter in letters.trim().chars() {
            match letter.to_ascii_lowercase() {
                'c' => mode.create = true,
                'r' => mode.read = true,
                'w' => mode.write = true,
                _ => return None,
            }
        }
        if !mode.read && !mode.write {
            (mode.read, mode.write) = (true, true);
        }
        Some(mode)
    }

    /// What `pread` opens with.
    pub const READ: Self = Self { create: false, read: true, write: false };
    /// What `pwrite` opens with: reading as well, since a library may fill the gaps between blocks.
    pub const WRITE: Self = Self { create: true, read: true, write: true };
}

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From memory to the file.
    Write,
    /// From the file to memory.
    Read,
}

/// Hints for the MPI library (`MPI_Info`), such as `cb_nodes`; unknown ones are ignored by it.
pub type Hints = [(String, String)];

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
    match comm.mpi() {
        Some(mpi) => library::File::open(mpi, path, mode, hints).map(Parallel::Library),
        None => calls::File::open(comm, path, mode).map(Parallel::Calls),
    }
}

/// Removes `path`: rank 0 of `comm` does it, then all go on; collective. Every rank gets the outcome.
pub fn delete(comm: &dyn Comm, path: &CStr) -> Outcome {
    let mut outcome = Outcome::default();
    if comm.rank() == 0 {
        outcome = match comm.mpi() {
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
fn together(comm: &dyn Comm, outcome: Outcome) -> Outcome {
    match comm.barrier(outcome.errno as u64) {
        Ok(errno) => Outcome { errno: if outcome.ok() { errno as i32 } else { outcome.errno }, ..outcome },
        Err(_) => Outcome::error(libc::ECANCELED),
    }
}

thread_local! {
    static ERROR: std::cell::RefCell<Option<String>> = const { std::cell::RefCell::new(None) };
}

/// The MPI library's words for the failure that came last, once.
pub fn take_error() -> Option<String> {
    ERROR.take()
}

/// The failure at hand is one that the library has no words for.
#[cold]
fn forget_error() {
    ERROR.take();
}

fn keep_error(words: String) {
    ERROR.set(Some(words));
}
