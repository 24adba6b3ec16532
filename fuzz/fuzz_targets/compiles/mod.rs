//! Checks that a program which lastrank made is one.

use ppl::diagnostic::has_errors;
use ppl::{Source, check, syntax};

/// Panics where the text has mistakes.
pub fn without_mistakes(text: &str) {
    let mut source = Source::new("made.ppl", text);
    let parsed = syntax::parse_with(&mut source, false, None);
    let checked = check::check(&parsed.tree, &source);
    assert!(!has_errors(&parsed.diagnostics), "{:?}\n{text}", parsed.diagnostics);
    assert!(!has_errors(&checked.diagnostics), "{:?}\n{text}", checked.diagnostics);
}
