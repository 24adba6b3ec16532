//! Writes the folded statements of a trace as the text of a program.

mod expressions;
mod paths;
mod render;
mod strands;

pub use paths::Paths;
pub use strands::{Parts, Program, SETUP, program};
