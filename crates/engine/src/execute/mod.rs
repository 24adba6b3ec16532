//! How does one rank run the program, and what does it record?
//!
//! [`Backend`] does operations and has the clock: [`Posix`] for real, [`Simulated`] in virtual time.
//! [`Session`] stands around each operation: labels, samples, failures.

mod backend;
mod posix;
mod session;
mod simulated;

pub use backend::{Backend, Call, Meaning, Timed};
pub use posix::Posix;
pub use session::{OnError, Session, Stop};
pub use simulated::Simulated;
