//! The Parabench Programming Language: parse, check, plan, interpret. Pure: no file, clock,
//! thread, environment or system call.
//!
//! | step | function | gives |
//! |---|---|---|
//! | parse | [`syntax::parse_with`] | a tree and diagnostics; never fails |
//! | check | [`check::check`] | [`plan::Code`], definitions and diagnostics |
//! | plan | [`plan::plan`] | [`plan::Plan`]: the only step that knows ranks and parameters |
//! | run | [`interpret::run`] | calls a [`interpret::Machine`] |
//!
//! ```
//! use ppl::plan::Settings;
//! use ppl::{Source, compile};
//!
//! let mut source = Source::new("hello.ppl", "repeat $i 3 write(\"f-$i\", 4KiB);");
//! let (plan, notes) = compile(&mut source, &Settings::default(), false, None).unwrap();
//! assert!(notes.is_empty());
//! let tally = ppl::count::count(&plan, 0, ppl::count::DEFAULT_BUDGET);
//! assert_eq!((tally.total, tally.written), (3, 3 * 4096));
//! ```
#![forbid(unsafe_code)]

pub mod arithmetic;
pub mod check;
pub mod claim;
pub mod code;
pub mod commands;
pub mod condition;
pub mod count;
mod counted_files;
pub mod diagnostic;
pub mod errno;
pub mod explain;
pub mod format;
pub mod interpret;
pub mod literal;
mod meeting;
pub mod number;
pub mod plan;
mod quantity;
mod shuffled;
pub mod source;
pub mod statistic;
pub mod syntax;
pub mod value;

pub use diagnostic::{Diagnostic, DiagnosticCode, Severity, Span};
pub use samples::commands_a_terminal;
pub use source::Source;
pub use value::Value;

/// Parses, checks and plans a program. Included files are read through
/// `loader` and appended to `source`.
///
/// # Errors
/// All its errors, in the order of the text.
pub fn compile(
    source: &mut Source,
    settings: &plan::Settings<'_>,
    classic: bool,
    loader: Option<source::Loader<'_>>,
) -> Result<(plan::Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let parse = syntax::parse_with(source, classic, loader);
    let mut found = parse.diagnostics;
    let checked = check::check(&parse.tree, source);
    drop(parse.tree);
    if diagnostic::has_errors(&found) {
        found.extend(checked.diagnostics);
        found.sort_by_key(|diagnostic| diagnostic.span.start);
        return Err(found);
    }
    match plan::plan(checked, source, settings) {
        Ok((plan, more)) => {
            found.extend(more);
            Ok((plan, found))
        }
        Err(more) => {
            found.extend(more);
            Err(found)
        }
    }
}
