//! Checks a tree and compiles it to compact steps.
//!
//! One walk over the tree resolves names, checks kinds and counts of arguments, and emits
//! [`Code`]. A survey before it collects what may be used before its definition in the text: definitions,
//! functions, and the first assignment of each variable.

mod blocks;
mod calls;
mod checker;
mod collective;
mod conditions;
mod constants;
mod defines;
mod definitions;
mod expressions;
mod labels;
mod patterns;
mod statements;
mod strings;
mod survey;
mod uniform;

use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::source::Source;
use crate::syntax::Tree;

use checker::Checker;
pub(crate) use definitions::classic_suffix;
pub use definitions::{
    Definitions, GroupDefinition, GroupTag, Parameter, PatternDefinition, ShapeForm, ShapeWord,
};

/// A checked program.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The steps; only valid to run if there is no error.
    pub code: Code,
    /// The definitions of the program.
    pub definitions: Definitions,
    /// Errors, warnings and notes, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a tree against the text it came from. Never fails.
pub fn check(tree: &Tree, source: &Source) -> Checked {
    let mut checker = Checker::new(tree, source.text());
    checker.program();
    let Checker { mut code, definitions, mut diagnostics, asked, awaited, signalled, .. } = checker;
    diagnostics.extend(labels::unknown_labels(&code, &asked));
    diagnostics.extend(labels::never_given(&code, &awaited, &signalled));
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    code.places.sort();
    code.uniform = uniform::uniform_blocks(&code);
    code.steps.shrink_to_fit();
    code.origins.shrink_to_fit();
    code.exprs.shrink_to_fit();
    code.texts.shrink_to_fit();
    code.pieces.shrink_to_fit();
    code.templates.shrink_to_fit();
    code.sites.shrink_to_fit();
    code.pool.shrink_to_fit();
    Checked { code, definitions, diagnostics }
}
