//! Confines the threads that make a program's file calls.
//!
//! [`kernel`] restricts a thread by Landlock to the directories of [`Rules`]; [`descriptor`] holds directories and
//! files by descriptor, so that nobody can change where a name leads between a check and its use.

pub mod descriptor;
pub mod kernel;

pub use descriptor::{Anchor, Held};
pub use kernel::{ConfineError, KernelSupport, Rules, restrict_thread, support};
