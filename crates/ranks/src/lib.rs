//! Ranks of one machine: how they start, meet in shared memory, are supervised and end.
//!
//! [`Comm`] is what a rank meets others through; [`Single`] and [`Processes`] are its implementations
//! on one machine (MPI's is the crate `mpi`). [`launch::processes`] forks ranks and supervises them.
//! [`layout`] says which bytes of a shared file belong to which rank.

mod comm;
mod futex;
pub mod launch;
pub mod layout;
mod outcome;
mod placement;
mod processes;
pub mod rank;
pub mod shared;
pub mod signals;
mod single;
mod standing;
mod stop;
pub mod supervise;

pub use comm::{Comm, CommError, StopFlag};
pub use processes::Processes;
pub use single::Single;
pub use standing::{Standing, State};
