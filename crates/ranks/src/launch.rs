//! How many ranks to start and how patient to be; why ranks could not be started.

use std::time::Duration;

use crate::fork::ForkError;

/// How many ranks to start, and how patient to be.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// Number of ranks.
    pub ranks: u32,
    /// How long a rank waits at a barrier before it gives up; `None` for ever.
    pub timeout: Option<Duration>,
    /// How long ranks that were told to stop may take to finish the operation they are in.
    pub grace: Duration,
}

impl Launch {
    /// `ranks` ranks, ten minutes at a barrier, ten seconds to stop.
    pub fn new(ranks: u32) -> Self {
        Self { ranks, timeout: Some(Duration::from_secs(600)), grace: Duration::from_secs(10) }
    }
}

/// Why ranks could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No rank at all was asked for.
    #[error("a run needs at least one rank")]
    NoRanks,
    /// No shared memory for the ranks to meet in.
    #[error("cannot map shared memory for {ranks} ranks: {error}; start fewer, or raise `ulimit -v`")]
    Memory {
        /// Ranks that were asked for.
        ranks: u32,
        /// The system's reason.
        error: std::io::Error,
    },
    /// MPI could not start. Every process of the job has this error: one should report it.
    #[error("{0}")]
    Mpi(String),
    /// A launcher started several ranks, and this build has no MPI to connect them.
    #[error(
        "this is one of several ranks ({evidence}), but this lastrank was built without MPI: install one with \
         the feature `mpi`, or start without a launcher (`lastrank run -n RANKS`)"
    )]
    BuiltWithoutMpi {
        /// The variable by which we know the launcher, or the option that asks for MPI.
        evidence: String,
    },
    /// A launcher started several processes, each of which is to run alone.
    #[error(
        "this is one of several processes of a launcher ({evidence}): with `--mpi none` each would run the whole \
         program and write the same files; leave `--mpi none` out, or start without the launcher (where one process \
         alone calls lastrank, `env -u {variable} lastrank run …`)"
    )]
    EachAlone {
        /// The variable by which we know the launcher, and its value.
        evidence: String,
        /// The variable.
        variable: String,
    },
    /// This process has several threads, or they cannot be counted.
    #[error("cannot start ranks: {0}")]
    NotAlone(ForkError),
    /// `fork` failed; the ranks already started were ended.
    #[error("cannot start rank {rank} of {ranks}: {error}; try fewer ranks, or see `ulimit -u`")]
    Fork {
        /// The rank that did not start.
        rank: u32,
        /// Ranks that were asked for.
        ranks: u32,
        /// The system's reason.
        error: std::io::Error,
    },
}

impl LaunchError {
    /// Of a fork that failed for rank `rank` of `ranks`.
    pub fn of_fork(error: ForkError, rank: u32, ranks: u32) -> Self {
        match error {
            ForkError::System(error) => Self::Fork { rank, ranks, error },
            error @ (ForkError::Threads { .. } | ForkError::Uncounted(_)) => Self::NotAlone(error),
        }
    }
}
