//! How one rank runs the program, and what it records.
//!
//! [`Instrument`] does and times operations through a driver. [`Session`] stands around each: labels, samples,
//! failures. `program` is the interpreter's machine, `parallel_block` runs the workers of `parallel`.

mod call;
mod instrument;
mod parallel_block;
mod program;
mod session;
mod start_latch;

pub use call::{Call, Collective, Completed, Meaning, NoKernel, Patience, Started, Target, Timed};
pub use instrument::{Instrument, InstrumentSettings};
pub use program::interpret;
pub use session::{Failed, JudgedBy, Named, OnError, Session, Stop};
