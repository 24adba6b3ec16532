//! Stands in for the crate `mpi` in a build without it: no communicator, no file, no job is ever made.
//!
//! What is never made is an enum without variants, so its methods have nothing to do.

use std::path::Path;

use ranks::communication::Communication;
use ranks::job::ForkError;
use ranks::launcher::{refuse_alone, this_launcher};
use ranks::{Comm, Launch, LaunchError, RankEnds, RanksView, Single};
use samples::Outcome;
use serde::Serialize;

pub use ranks::launcher::{MpiChoice, local_ranks};

/// A communicator of MPI.
#[derive(Debug)]
pub enum Mpi {}

impl Mpi {
    /// The library's handle, as a name of the communicator.
    pub fn handle(&self) -> usize {
        match *self {}
    }

    /// Sends bytes between ranks.
    pub fn communicate(
        &self,
        _what: Communication,
        _size: u64,
        _send: &mut [u8],
        _receive: &mut [u8],
    ) -> Outcome {
        match *self {}
    }
}

/// The MPI communicator behind `comm`: there is none.
pub fn of(_comm: &dyn Comm) -> Option<&Mpi> {
    None
}

/// What surrounds this process.
#[derive(Clone, Debug)]
pub enum Surroundings {
    /// No launcher: ranks are to be forked.
    Alone,
    /// A job of MPI.
    Job(Job),
}

/// Finds out whether a launcher started this process as one of several ranks.
///
/// # Errors
/// [`LaunchError::BuiltWithoutMpi`] where one did, or where the user names an MPI library.
pub fn surroundings(choice: &MpiChoice) -> Result<Surroundings, LaunchError> {
    let evidence = match choice {
        MpiChoice::None => {
            refuse_alone(this_launcher().as_ref())?;
            None
        }
        MpiChoice::Path(path) => Some(format!("--mpi {}", path.display())),
        MpiChoice::Auto => {
            let several = this_launcher().filter(|launcher| launcher.is_of_several());
            several.map(|launcher| launcher.evidence)
        }
    };
    match evidence {
        None => Ok(Surroundings::Alone),
        Some(evidence) => Err(LaunchError::BuiltWithoutMpi { evidence }),
    }
}

/// One process of a job.
#[derive(Clone, Debug)]
pub enum Job {}

impl Job {
    /// Our rank.
    pub fn rank(&self) -> u32 {
        match *self {}
    }

    /// Number of ranks.
    pub fn ranks(&self) -> Option<u32> {
        match *self {}
    }

    /// Runs the one rank of this process.
    ///
    /// # Errors
    /// None: there is no job.
    pub fn run(
        &self,
        _launch: &Launch,
        _directory: &Path,
        _body: impl FnMut(&Single) -> Result<(), String>,
        _save: impl FnOnce(&RankEnds),
        _watch: impl FnMut(&RanksView),
    ) -> Result<RankEnds, LaunchError> {
        match *self {}
    }
}

/// What there is of MPI: nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// The variable that shows that a launcher started this process.
    pub launcher: Option<String>,
    /// Libraries: none.
    pub choices: [(); 0],
}

impl Survey {
    /// One line for a terminal.
    pub fn lines(&self) -> Vec<String> {
        vec!["MPI not in this build: install lastrank with the feature `mpi`".into()]
    }

    /// A copy that holds no path.
    #[must_use]
    pub fn redact(&self) -> Self {
        self.clone()
    }
}

/// Finds out which library would be used: none.
///
/// # Errors
/// None.
pub fn survey(_choice: &MpiChoice) -> Result<Survey, ForkError> {
    Ok(Survey { launcher: this_launcher().map(|launcher| launcher.evidence), choices: [] })
}

/// Files of MPI-IO.
pub mod io {
    use std::ffi::CStr;

    use ranks::layout::{Blocks, Direction, Layout, ParallelMode};
    use samples::Outcome;

    use super::Mpi;

    /// Hints for the MPI library, which nobody reads.
    pub type Hints = [(String, String)];

    /// The MPI library's text for the failure that came last: none.
    pub fn take_error() -> Option<String> {
        None
    }

    /// A file opened by the ranks of an MPI communicator.
    #[derive(Debug)]
    pub enum File {}

    /// The library's description of a layout.
    #[derive(Clone, Copy)]
    pub enum LayoutTypes {}

    /// What files and transfers of a communicator need.
    pub enum FileTools {}

    impl FileTools {
        /// For the ranks of `mpi`.
        ///
        /// # Errors
        /// None: there is no communicator.
        pub fn new(mpi: &Mpi, _hints: &Hints) -> Result<Self, Outcome> {
            match *mpi {}
        }

        /// The types that a transfer of `layout` needs.
        ///
        /// # Errors
        /// None: there is no communicator.
        pub fn types(&mut self, _layout: &Layout) -> Result<LayoutTypes, i32> {
            match *self {}
        }
    }

    /// Removes a file.
    pub fn delete(mpi: &Mpi, _path: &CStr) -> Outcome {
        match *mpi {}
    }

    impl File {
        /// Opens `path`.
        ///
        /// # Errors
        /// None: there is no communicator.
        pub fn open(
            mpi: &Mpi,
            _path: &CStr,
            _mode: ParallelMode,
            _with: &FileTools,
        ) -> Result<Self, Outcome> {
            match *mpi {}
        }

        /// Makes `path`.
        pub fn make(mpi: &Mpi, _path: &CStr, _with: &FileTools) -> Outcome {
            match *mpi {}
        }

        /// Moves the bytes of a layout.
        pub fn transfer(
            &mut self,
            _layout: &Layout,
            _types: LayoutTypes,
            _direction: Direction,
            _blocks: &Blocks,
        ) -> Outcome {
            match *self {}
        }

        /// The hints that the library uses for this file.
        pub fn hints(&self) -> Vec<(String, String)> {
            match *self {}
        }

        /// Closes it.
        pub fn close(self) -> Outcome {
            match self {}
        }
    }
}
