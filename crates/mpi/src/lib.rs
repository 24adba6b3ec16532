//! MPI through a library found at run time: search, communicator, MPI-IO, keeper and relay.
//!
//! - [`surroundings`]: whether a launcher started this process; [`Job::run`] then runs its one rank.
//! - [`Mpi`]: the communicator; [`of`] finds it behind a [`ranks::Comm`].
//! - [`io`]: files that the ranks of a communicator share.
//! - [`survey`]: reports which library would be used, and why.
//!
//! `find` chooses the library, `library` opens it, `abi` holds the constants that differ between families.
//! Waiting polls a non-blocking reduction, so that a rank can leave if another one is lost or after a
//! timeout; the reason is sent as a message on a separate communicator (`world`). Ranks that wait for each other in
//! different communicators find out by messages (`question`); those inside of MPI-IO are watched by their keepers.
//! `find_nodes` finds which ranks share a machine (`nodes`), `clocks` compares their clocks.
//! Signals of the program are messages to all other ranks (`signals`).

mod abi;
mod clocks;
mod communication;
mod communicator;
mod error;
mod find;
mod find_nodes;
pub mod io;
mod job;
mod keeper;
mod library;
mod link;
mod loss_board;
mod nodes;
mod phase_news;
mod question;
mod relay;
mod signals;
mod survey;
mod world;

pub use communicator::{Mpi, of};
pub use error::MpiError;
pub use find::FoundLibrary;
pub use job::{Job, Surroundings, surroundings};
pub use ranks::launcher::{MpiChoice, local_ranks};
pub use survey::{Survey, SurveyedChoice, survey};
