//! The MPI library, found and opened at run time: search, communicator, MPI-IO, keeper and relay.
//!
//! [`find`] chooses the library, `library` opens it, `abi` holds the few numbers that differ between
//! families. Waiting polls a non-blocking reduction, so that a rank can leave when another one is lost or
//! when the time is up; the news of a lost rank travels as a message on a communicator of its own.
//! [`Job::run`] runs the one rank of a process that a launcher started.

mod abi;
mod communicator;
pub mod find;
pub mod io;
mod job;
mod keeper;
mod library;
mod losses;
mod news;
mod relay;
mod survey;
mod world;

pub use abi::Abi;
pub use abi::Handle;
pub use communicator::{Mpi, of};
pub use find::local_ranks;
pub use find::{Candidate, Found, Launcher, MpiChoice, Search, this_launcher};
pub use job::{Job, Surroundings, surroundings};
pub use library::MpiLibrary;
pub use library::Status;
pub use survey::{Choice, Survey, survey};
pub use world::MpiError;
