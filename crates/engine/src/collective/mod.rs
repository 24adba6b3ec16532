//! Files that the ranks of a group write and read together.
//!
//! Through MPI-IO where the group's communicator is MPI's and files are those of this machine, otherwise by calls of
//! the driver that put the same bytes at the same places (`calls`). What goes where says a [`Layout`].

mod agree;
mod calls;
mod hints;
mod maker;
mod memory;
mod messages;
mod prepared;

use std::ffi::CStr;

pub use crate::mpi::io::{Hints, take_error};
pub use hints::HintsReadBack;
pub use maker::{FileMaker, REFUSED};
pub use memory::TransferMemory;
pub use messages::MessageMemory;
pub use prepared::{GroupTools, Preparations};
pub use ranks::layout::{Blocks, Direction, Layout, ParallelMode, ViewKind};

use confine::Held;

use crate::driver::Driver;
use crate::mpi::io as library;
use agree::{agreed, agreed_mark};
use calls::CallsFile;
use ranks::Comm;
use samples::Outcome;

/// A file that all ranks of a communicator opened together.
#[derive(Debug)]
pub enum GroupFile {
    /// By calls of the driver.
    Calls(CallsFile),
    /// By the MPI library, which may use the name again: its directory, where that is held.
    Library(library::File, Option<Held>),
}

/// Are files of the ranks of `comm` opened and moved by the MPI library?
pub fn is_of_library(driver: &dyn Driver, comm: &dyn Comm) -> bool {
    driver.capabilities().local_files && crate::mpi::of(comm).is_some()
}

/// Opens a file on `comm`, with what was prepared for it; collective.
///
/// Where it is to be made and there is a `maker`, that makes it before a library opens it, which then makes nothing: as the
/// library would, on rank 0 before the others open it. The names of the others must lead to the same.
///
/// # Errors
/// The outcome of a failure; where one rank fails all do. MPI's words: [`take_error`].
pub fn open(
    driver: &mut dyn Driver,
    comm: &dyn Comm,
    (path, mode): (&CStr, ParallelMode),
    prepared: &GroupTools<'_>,
    maker: Option<&dyn FileMaker>,
) -> Result<GroupFile, Outcome> {
    let (Some(mpi), Some(with)) = (crate::mpi::of(comm), prepared.library) else {
        return CallsFile::open(driver, comm, (path, mode), maker).map(GroupFile::Calls);
    };
    let maker = maker.filter(|_| mode.create);
    if let Some(maker) = maker {
        let by_library = |at: &CStr| library::File::make(mpi, at, with);
        let by_library: Option<&dyn Fn(&CStr) -> Outcome> =
            if prepared.makes { Some(&by_library) } else { None };
        let mine = (comm.rank() == 0).then(|| maker.make(driver, by_library));
        let known = agreed(comm, maker.is_made(agreed_mark(comm, mine)?));
        if !known.ok() {
            return Err(Outcome { value: 0, ..known });
        }
    }
    let mode = ParallelMode { create: mode.create && maker.is_none(), ..mode };
    library::File::open(mpi, path, mode, with).map(|file| GroupFile::Library(file, None))
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
    /// Moves the bytes of `layout`; the value is how many. `driver` and `comm` are those of `open`; what was
    /// prepared is for this layout.
    ///
    /// Setting the view is collective for every level, as MPI has it.
    /// EFAULT where `blocks` is less memory than the layout needs.
    #[inline]
    pub fn transfer(
        &mut self,
        driver: &mut dyn Driver,
        comm: &dyn Comm,
        (layout, direction): (&Layout, Direction),
        (blocks, prepared): (&Blocks, &GroupTools<'_>),
    ) -> Outcome {
        match (self, prepared.types) {
            (Self::Calls(file), _) => file.transfer(driver, comm, (layout, direction), blocks),
            (Self::Library(file, _), Some(types)) => file.transfer(layout, types, direction, blocks),
            (Self::Library(..), None) => Outcome::error(libc::EINVAL),
        }
    }

    /// Holds the directory of its name as long as it is open.
    pub fn hold(&mut self, directory: Option<Held>) {
        if let Self::Library(_, held) = self {
            *held = directory;
        }
    }

    /// The descriptor of what this rank opened by a call.
    pub fn descriptor(&self) -> Option<i32> {
        match self {
            Self::Calls(file) => Some(file.descriptor()),
            Self::Library(..) => None,
        }
    }

    /// The number of the directory that is held.
    pub fn around(&self) -> Option<i32> {
        match self {
            Self::Library(_, held) => held.as_ref().map(Held::number),
            Self::Calls(_) => None,
        }
    }

    /// The hints that the MPI library uses for this file; empty without MPI. Not collective.
    pub fn hints(&self) -> Vec<(String, String)> {
        match self {
            Self::Calls(_) => Vec::new(),
            Self::Library(file, _) => file.hints(),
        }
    }

    /// Closes it; collective.
    pub fn close(self, driver: &mut dyn Driver, comm: &dyn Comm) -> Outcome {
        match self {
            Self::Calls(file) => agreed(comm, file.close(driver)),
            Self::Library(file, _held) => file.close(),
        }
    }
}
