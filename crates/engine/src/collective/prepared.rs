//! What MPI-IO needs for a file or a transfer, made before the clock is read.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ranks::Comm;
use ranks::layout::Layout;
use samples::Outcome;

use super::Hints;
use crate::driver::Driver;
use crate::mpi::io as library;

/// What was made so far, for each communicator by its handle.
#[derive(Default)]
pub struct Preparations {
    known: HashMap<usize, library::FileTools>,
}

/// What one call of a group needs; nothing where it is by calls of the driver.
pub struct GroupTools<'a> {
    pub(super) library: Option<&'a library::FileTools>,
    pub(super) types: Option<library::LayoutTypes>,
}

impl Preparations {
    /// Makes what is missing for the ranks of `comm`, with these hints, and for a layout. Not collective.
    ///
    /// # Errors
    /// The outcome of a failure, which is the same on all ranks: EINVAL for sizes that the library cannot express.
    pub fn of(
        &mut self,
        driver: &dyn Driver,
        comm: &dyn Comm,
        hints: &Hints,
        layout: Option<&Layout>,
    ) -> Result<GroupTools<'_>, Outcome> {
        let Some(mpi) = crate::mpi::of(comm).filter(|_| driver.capabilities().local_files) else {
            return Ok(GroupTools { library: None, types: None });
        };
        let known = match self.known.entry(mpi.handle()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(library::FileTools::new(mpi, hints)?),
        };
        let types = layout.map(|layout| known.types(layout)).transpose().map_err(Outcome::error)?;
        Ok(GroupTools { library: Some(known), types })
    }
}
