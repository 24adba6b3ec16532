//! The formatter: one layout for every program, whoever wrote it.
//!
//! Tokens and comments stay what they are and where they are; blanks, line ends and the capitals
//! of keywords and commands are chosen anew. So the formatted text is the same program, and
//! formatting it again changes nothing.
//!
//! - four blanks a level; lines up to [`WIDTH`] columns, broken behind commas and `&& || +`
//! - a body without braces stands on the line of its statement where it fits
//! - a block of one statement stays on one line where its author wrote it so and it fits
//! - at most one empty line in a row, none behind `{` or before `}`
//! - columns of `define param` and of comments at the ends of lines stand below each other

mod columns;
mod lines;
mod marks;
mod printer;
mod spacing;
mod tokens;

use crate::diagnostic::{Diagnostic, has_errors};
use crate::source::Source;
use crate::syntax;

/// Lines are broken where they would pass so many columns; strings and comments never are.
pub const WIDTH: usize = 100;
/// Columns of one level.
const INDENT: usize = 4;

/// The program in its one layout.
///
/// ```
/// let text = "REPEAT ($i,3){write ( \"f-$i\",4*1k ) ;}  # all\n";
/// assert_eq!(ppl::format::format(text).unwrap(), "repeat ($i, 3) { write(\"f-$i\", 4 * 1k); }  # all\n");
/// ```
///
/// # Errors
/// What is wrong with the syntax of a program that cannot be read.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    format_as(text, false)
}

/// As [`format()`]; with `classic` also a program with words and characters that the original ignored.
///
/// # Errors
/// What is wrong with the syntax of a program that cannot be read.
pub fn format_as(text: &str, classic: bool) -> Result<String, Vec<Diagnostic>> {
    let parse = syntax::parse_with(&mut Source::new("", text), classic, None);
    if has_errors(&parse.diagnostics) {
        return Err(parse.diagnostics);
    }
    Ok(printer::print(text, &parse.tree))
}

/// Are two texts the same program, but for their layout and comments? `false` where one of them
/// cannot be read.
pub fn is_same_program(left: &str, right: &str) -> bool {
    is_same_program_as(left, right, false)
}

/// As [`is_same_program`], for programs that are read as the original read them.
pub fn is_same_program_as(left: &str, right: &str, classic: bool) -> bool {
    let read = |text: &str| syntax::parse_with(&mut Source::new("", text), classic, None);
    let (one, other) = (read(left), read(right));
    !has_errors(&one.diagnostics)
        && !has_errors(&other.diagnostics)
        && one.tree.is_same(left, &other.tree, right)
}
