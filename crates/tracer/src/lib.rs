//! Records every file call of an application and its children.
//!
//! - [`record()`]: runs a command under seccomp-filtered ptrace. Calls that have nothing to do with files run freely; the
//!   others stop twice, at their beginning and at their end. Static programs, Go and musl are seen as well.
//! - [`record_quietly`]: runs a command with a preloaded library (`preload/preload.rs`, which the binary carries) that stands
//!   before the C library's functions. Programs without the C library of GNU are refused.
//! - [`spool`]: what the preloaded library wrote becomes calls.
//! - [`left`]: what recorders that were killed left.
//! - [`Recorded`]: what it did, how much of its reads and writes was seen by the counts of Linux, what a call cost.

mod calls;
mod child;
mod folder;
pub mod left;
mod live;
mod look;
mod manifest;
mod memory;
mod one_processor;
mod ptrace;
mod quiet;
mod record;
mod recorded;
mod rings;
mod signals;
pub mod spool;
mod state;
mod stops;
mod task;
mod tree;

pub use manifest::Manifest;
pub use quiet::record as record_quietly;
pub use record::record;
pub use recorded::{Kept, RecordError, Recorded, Seen, Unseen};
