//! How do ranks come to be, and who looks after them?
//!
//! [`surroundings`] tells whether an MPI launcher did it. If not, [`processes`] forks ranks on this
//! machine and supervises them until the last is gone; if so, [`Job::run`] does the same for the one
//! rank of this process.

use std::time::Duration;

pub use crate::outcome::{End, Outcome};
pub use crate::placement::{Pin, Placement};
pub use crate::rank::print;
pub use crate::signals::{Held, await_user_signal, endure_file_size_limit, hold_signals};
pub use crate::stop::Stop;
pub use crate::supervise::{Watch, processes};

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
    #[error("cannot map shared memory for {ranks} ranks: {error}")]
    Memory {
        /// Ranks that were asked for.
        ranks: u32,
        /// The system's reason.
        error: std::io::Error,
    },
    /// No MPI world could be made; every process of the job meets this, so that one should tell it.
    #[error("{0}")]
    Mpi(String),
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
