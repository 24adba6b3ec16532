//! Formats programs in one layout.
//!
//! Tokens and comments keep their text and order; only blanks, line ends and the case of keywords and
//! commands change. So the formatted text is the same program, and formatting is idempotent.
//!
//! - four blanks a level; lines up to [`WIDTH`] columns, broken after commas and `&& || +`
//! - a body without braces is on the line of its statement if it fits
//! - a block of one statement stays on one line if the author wrote it so and it fits
//! - at most one empty line in a row, none after `{` or before `}`
//! - columns of `define param` and trailing comments are aligned

mod columns;
mod lines;
mod marks;
mod printer;
mod spacing;
mod tokens;

use crate::diagnostic::{Diagnostic, has_errors};
use crate::source::Source;
use crate::syntax;

/// Lines longer than this are broken; strings and comments never are.
pub const WIDTH: usize = 100;
/// Columns of one level.
const INDENT: usize = 4;

/// Formats a program.
///
/// ```
/// let text = "REPEAT ($i,3){write ( \"f-$i\",4*1k ) ;}  # all\n";
/// assert_eq!(ppl::format::format(text).unwrap(), "repeat ($i, 3) { write(\"f-$i\", 4 * 1k); }  # all\n");
/// ```
///
/// # Errors
/// The syntax errors of a program that cannot be parsed.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    format_as(text, false)
}

/// As [`format()`]; with `classic` also for a program with words and characters that the original ignored.
///
/// # Errors
/// The syntax errors of a program that cannot be parsed.
pub fn format_as(text: &str, classic: bool) -> Result<String, Vec<Diagnostic>> {
    let parse = syntax::parse_with(&mut Source::new("", text), classic, None);
    if has_errors(&parse.diagnostics) {
        return Err(parse.diagnostics);
    }
    Ok(printer::print(text, &parse.tree))
}

/// Whether two texts are the same program except for layout and comments; `false` if either cannot be parsed.
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
