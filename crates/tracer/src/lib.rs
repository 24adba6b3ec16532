//! Records every file call of an application and its children.
//!
//! - [`record()`]: runs a command under seccomp-filtered ptrace. Calls that have nothing to do with files run freely; the
//!   others stop twice, at their beginning and at their end. Static programs, Go and musl are seen as well.
//! - [`Recorded`]: what it did, how much of its reads and writes was seen by the counts of Linux, what a call cost.

mod calls;
mod child;
mod memory;
mod ptrace;
mod record;
mod state;

pub use record::{RecordError, Recorded, Seen, record};
