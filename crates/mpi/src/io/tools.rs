//! Prepares hints and datatypes for the files of a communicator, outside of the timing.

use std::collections::HashMap;

use ranks::Comm;
use ranks::layout::Layout;
use samples::Outcome;

use super::datatype::LayoutTypes;
use super::hints::{Hints, Info};
use super::units::RankPosition;
use crate::abi::Handle;
use crate::communicator::Mpi;
use crate::library::MpiLibrary;

/// The `MPI_Info` of the hints and the datatypes of each layout.
pub struct FileTools {
    library: &'static MpiLibrary,
    position: RankPosition,
    info: Info,
    types: HashMap<Layout, LayoutTypes>,
}

impl FileTools {
    /// Prepares for the ranks of `mpi`; not collective.
    ///
    /// # Errors
    /// The outcome of a failure; the library's text: [`super::take_error`].
    pub fn new(mpi: &Mpi, hints: &Hints) -> Result<Self, Outcome> {
        let library = mpi.link().library();
        let position = RankPosition { rank: mpi.rank(), ranks: mpi.size() };
        Ok(Self { library, position, info: Info::new(library, hints)?, types: HashMap::new() })
    }

    pub(super) fn info(&self) -> Handle {
        self.info.handle()
    }

    /// The types for transfers of `layout`; `self` owns them.
    ///
    /// # Errors
    /// The errno: EINVAL for sizes that the library cannot express.
    pub fn types(&mut self, layout: &Layout) -> Result<LayoutTypes, i32> {
        // They are the same wherever the pattern begins.
        let layout = Layout { base: None, ..layout.clone() };
        if let Some(types) = self.types.get(&layout) {
            return Ok(*types);
        }
        let types = LayoutTypes::new(self.library, self.position, &layout)?;
        self.types.insert(layout, types);
        Ok(types)
    }
}

impl Drop for FileTools {
    fn drop(&mut self) {
        for types in self.types.values() {
            types.free(self.library);
        }
    }
}
