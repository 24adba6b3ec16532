//! Errors of starting MPI.

use ranks::CommError;

/// Reason why MPI could not be started, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MpiError {
    /// A launcher started this process and no library can be used.
    #[error(
        "this is one of several ranks ({evidence}), but no MPI library can be opened:\n  {refusals}\n\
         name one with --mpi PATH, or start without a launcher: lastrank run -n RANKS"
    )]
    NoLibrary {
        /// The variable that identifies the launcher.
        evidence: String,
        /// The libraries that were tried and why each was refused, one a line.
        refusals: String,
    },
    /// The library that `--mpi` names cannot be used.
    #[error("--mpi {refusals}")]
    Unusable {
        /// The path and the reason.
        refusals: String,
    },
    /// The library did not find the other ranks.
    #[error(
        "{evidence} says that there are {expected} ranks, but {library} sees {found}: it does not belong to \
         this launcher; name the right library with --mpi PATH, or use its own mpirun"
    )]
    SizeMismatch {
        /// The variable that identifies the launcher.
        evidence: String,
        /// Ranks according to the launcher.
        expected: u32,
        /// Ranks according to the library.
        found: u32,
        /// The library.
        library: String,
    },
    /// The run was planned for another number of ranks.
    #[error(
        "the run is planned for {planned} ranks, but {library} sees {found}, and the launcher ({evidence}) \
         does not say how many it started: pass -n {found}"
    )]
    Unplanned {
        /// The variable that identifies the launcher.
        evidence: String,
        /// Ranks according to the plan.
        planned: u32,
        /// Ranks according to the library.
        found: u32,
        /// The library.
        library: String,
    },
    /// A call failed while starting.
    #[error(transparent)]
    Call(#[from] CommError),
}
