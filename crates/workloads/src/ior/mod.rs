//! IOR's command line becomes a program: many ranks write and read one file, or one each.
//!
//! `options.rs` says which options are carried out, `program.rs` writes the program.

mod options;
mod program;

pub use crate::command_line::words;
pub use options::{Api, Ior};

/// Whether the first word of a line is IOR, perhaps behind a launcher (`mpirun -n 4 ior …`), and its options.
pub fn options_of_line(words: &[String]) -> Option<&[String]> {
    let is_ior = |word: &String| word.rsplit('/').next() == Some("ior");
    words.iter().position(is_ior).map(|at| &words[at + 1..])
}
