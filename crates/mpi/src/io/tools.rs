//! What files and transfers of a communicator need, made before they are timed.

use std::collections::HashMap;

use ranks::Comm;
use ranks::layout::Layout;
use samples::Outcome;

use super::datatype::{LayoutTypes, Share};
use super::hints::{Hints, Info};
use crate::abi::Handle;
use crate::communicator::Mpi;
use crate::library::MpiLibrary;

/// The hints as the library wants them, and its description of each layout.
pub struct FileTools {
    library: &'static MpiLibrary,
    share: Share,
    info: Info,
    types: HashMap<Layout, LayoutTypes>,
}

impl FileTools {
    /// For the ranks of `mpi`; not collective.
    ///
    /// # Errors
    /// The outcome of a failure; the library's text: [`super::take_error`].
    pub fn new(mpi: &Mpi, hints: &Hints) -> Result<Self, Outcome> {
        let library = mpi.link().library();
        let share = Share { rank: mpi.rank(), ranks: mpi.size() };
        Ok(Self { library, share, info: Info::new(library, hints)?, types: HashMap::new() })
    }

    pub(super) fn info(&self) -> Handle {
        self.info.handle()
    }

    /// The types that a transfer of `layout` needs. They live as long as this.
    ///
    /// # Errors
    /// The errno: EINVAL for sizes that the library cannot express.
    pub fn types(&mut self, layout: &Layout) -> Result<LayoutTypes, i32> {
        if let Some(types) = self.types.get(layout) {
            return Ok(*types);
        }
        let types = LayoutTypes::new(self.library, self.share, layout)?;
        self.types.insert(*layout, types);
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
