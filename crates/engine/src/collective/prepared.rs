//! What MPI-IO needs for a file or a transfer, made before the clock is read.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::path::Path;

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
    makes: Option<bool>,
}

/// What one call of a group needs; nothing where it is by calls of the driver.
pub struct GroupTools<'a> {
    pub(super) library: Option<&'a library::FileTools>,
    pub(super) types: Option<library::LayoutTypes>,
    /// A hint says where on the disks of its file system a file is to lie, which only a library that makes it can heed.
    pub(super) makes: bool,
}

/// Does one of them say where a file is to lie, or may one that the user gave to the library?
fn places_files(hints: &Hints) -> bool {
    const PLACE: [&str; 5] = ["striping_", "start_iodevice", "lustre_", "panfs_", "pvfs2_"];
    let is_place = |hint: &String| PLACE.iter().any(|begin| hint.starts_with(begin));
    let by_variable = |name: &OsStr| {
        let name = name.as_encoded_bytes();
        name == b"ROMIO_HINTS" || name.starts_with(b"OMPI_MCA_fs_lustre_stripe")
    };
    hints.iter().any(|(hint, _)| is_place(hint))
        || std::env::vars_os().any(|(name, _)| by_variable(&name))
        || Path::new("/etc/romio-hints").exists()
}

impl Preparations {
    fn makes(&mut self, hints: &Hints) -> bool {
        *self.makes.get_or_insert_with(|| places_files(hints))
    }

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
            return Ok(GroupTools { library: None, types: None, makes: false });
        };
        let makes = self.makes(hints);
        let known = match self.known.entry(mpi.handle()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(library::FileTools::new(mpi, hints)?),
        };
        let types = layout.map(|layout| known.types(layout)).transpose().map_err(Outcome::error)?;
        Ok(GroupTools { library: Some(known), types, makes })
    }
}
