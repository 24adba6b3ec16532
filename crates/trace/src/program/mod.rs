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
///
/// It is the label whose operations stay out of the totals of a run.
pub const SETUP: &str = "lay out";

/// Whether a label is that of what the application did not do; earlier imports wrote `setup`.
pub fn is_setup(label: &str) -> bool {
    [SETUP, "setup"].contains(&label)
}
