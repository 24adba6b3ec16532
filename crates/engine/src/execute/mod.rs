//! How does one rank run the program, and what does it record?
//!
//! [`Backend`] does operations and has the clock: [`Posix`] for real, [`Simulated`] in virtual time.
//! [`Session`] stands around each operation: labels, samples, failures.

mod backend;
mod flights;
mod parallel;
mod posix;
mod program;
mod session;
mod simulated;
mod workers;

pub use backend::{
    Backend, Call, Collective, Completed, Meaning, NoKernel, Patience, Started, Target, Timed,
};
pub use flights::Judgement;
pub use posix::Posix;
pub use program::interpret;
pub use session::{OnError, Session, Stop};
pub use simulated::Simulated;
