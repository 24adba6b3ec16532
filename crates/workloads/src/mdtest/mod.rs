//! mdtest's command line becomes a program: a tree of directories, and items in it that are created, asked for, read
//! and removed.
//!
//! `options.rs` says which options are carried out, `program.rs` writes the program.

mod options;
mod program;

pub use options::Mdtest;

/// Whether the first word of a line is mdtest, perhaps behind a launcher, and its options.
pub fn options_of_line(words: &[String]) -> Option<&[String]> {
    let is_mdtest = |word: &String| word.rsplit('/').next() == Some("mdtest");
    words.iter().position(is_mdtest).map(|at| &words[at + 1..])
}
