//! Ranks of one machine: start, shared memory, barriers, supervision, end.
//!
//! - [`Comm`]: what ranks do together. [`Single`] and [`Processes`] implement it on one machine, the crate
//!   `mpi` across machines.
//! - [`processes`]: forks ranks and supervises them; [`RankEnds`]: how each ended.
//! - [`launcher`]: the MPI launcher that started this process, from its environment.
//! - [`meeting`]: which meeting of the program a rank has come to.
//! - [`ancestors`]: the launcher's terminal.
//! - [`board`]: signals between ranks and workers.
//! - [`layout`]: which bytes of a shared file belong to which rank.
//! - [`job`]: the parts from which `mpi` builds the parent of a single rank.

pub mod ancestors;
mod announcement;
mod barrier;
#[cfg(not(loom))]
pub mod board;
mod comm;
pub mod communication;
mod control;
mod ends;
mod entropy;
mod error;
mod fork;
mod futex;
mod launch;
pub mod launcher;
pub mod layout;
pub mod meeting;
mod message;
mod pieces;
mod placement;
mod processes;
mod rank;
mod signals;
mod single;
mod stack;
mod status;
mod stop_signals;
mod stuck;
mod supervise;

pub use comm::Comm;
pub use control::{ControlBlock, StopFlag};
pub use ends::{RankEnd, RankEnds};
pub use entropy::{random_number, random_numbers};
pub use error::CommError;
pub use launch::{Launch, LaunchError};
pub use placement::{Pin, Placement};
pub use processes::Processes;
pub use rank::{divert_output, print};
pub use signals::{HeldSignals, await_user_signal, hold_signals, ignore_file_size_signal};
pub use single::Single;
pub use stack::provide_stack;
pub use status::{Activity, RankStatus};
pub use stop_signals::StopSignals;
pub use supervise::{RanksView, processes};

/// The parts of [`processes`], for a parent that has one rank of a larger job.
pub mod job {
    pub use crate::announcement::Announcement;
    pub use crate::control::JobIdentity;
    pub use crate::ends::ExitStatus;
    pub use crate::fork::{ForkError, Forked, fork};
    pub use crate::signals::SignalSet;
    pub use crate::supervise::{Abort, JobLink, Supervisor, start};
}
