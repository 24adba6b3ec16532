//! Writes the folded statements of a trace as the text of a program.

mod expressions;
mod paths;
mod render;
mod strands;
mod thinks;

pub use paths::Paths;
pub use strands::{Parts, Program, program};

/// The label of operations that the application did not do: they make what existed before, and open what a process got
/// from another one.
pub const SETUP: &str = "setup";
