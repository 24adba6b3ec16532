//! Parses a program and the files that it includes.

use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::source::{Loader, Source};

use super::parser::{Include, Input, Parser};
use super::tree::Tree;

/// The largest number of includes of a program; repeated includes of a file count each time.
const MAX_INCLUDED: usize = 256;
/// The largest nesting of includes.
const MAX_INCLUDED_DEPTH: usize = 16;
/// The index of the program itself, which no file includes.
const ROOT: usize = usize::MAX;

/// The result of parsing: a tree and diagnostics.
#[derive(Clone, Debug)]
pub struct Parse {
    /// The tree; parts with syntax errors are `Error` nodes.
    pub tree: Tree,
    /// The diagnostics, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

/// Parses a program. Never fails. Files named by `include` are not read.
pub fn parse(text: &str) -> Parse {
    let mut source = Source::new("program", text);
    parse_with(&mut source, false, None)
}

/// Parses a program with the lexing of the original (`classic`), reading included files through
/// `loader`, whose text is appended to `source`.
pub fn parse_with(source: &mut Source, classic: bool, loader: Option<Loader<'_>>) -> Parse {
    let mut tree = Tree { classic, ..Tree::default() };
    let mut diagnostics = Vec::new();
    let input = Input { text: source.text(), base: 0, classic, loads: loader.is_some() };
    let (statements, includes) = Parser::new(input, &mut tree, &mut diagnostics).file();
    tree.push_top(statements);
    if let Some(load) = loader {
        let open = includes.into_iter().map(|include| (include, ROOT)).collect();
        Inclusion { source, load, files: Vec::new(), open }.run(&mut tree, &mut diagnostics);
    }
    tree.exprs.shrink_to_fit();
    tree.statements.shrink_to_fit();
    Parse { tree, diagnostics }
}

/// Reads included files recursively.
struct Inclusion<'a> {
    source: &'a mut Source,
    load: Loader<'a>,
    /// Files that were read: path and index of the including file.
    files: Vec<(String, usize)>,
    /// Files to read, with the index of the including file.
    open: Vec<(Include, usize)>,
}

impl Inclusion<'_> {
    fn run(mut self, tree: &mut Tree, diagnostics: &mut Vec<Diagnostic>) {
        while let Some((include, parent)) = self.open.pop() {
            match self.read(&include, parent) {
                Err(reason) => {
                    let message = format!("cannot include \"{}\": {reason}", include.path);
                    diagnostics.push(
                        Diagnostic::error(DiagnosticCode::IncludeFailed, include.span, message)
                            .help("the path is relative to the including program"),
                    );
                }
                Ok((text, base)) => {
                    let input = Input { text: &text, base, classic: tree.classic, loads: true };
                    let (statements, inner) = Parser::new(input, tree, diagnostics).file();
                    let block = tree.push_statements(&statements);
                    tree.fill_include(include.statement, block);
                    let own = self.files.len();
                    self.files.push((include.path, parent));
                    self.open.extend(inner.into_iter().map(|include| (include, own)));
                }
            }
        }
    }

    /// The text of a file and its offset in the source, or why it cannot be included.
    fn read(&mut self, include: &Include, parent: usize) -> Result<(String, u32), String> {
        let mut above = std::iter::successors(self.files.get(parent), |(_, parent)| self.files.get(*parent));
        if above.clone().any(|(path, _)| *path == include.path) {
            return Err("it includes itself, perhaps through other files".to_owned());
        }
        if above.nth(MAX_INCLUDED_DEPTH - 1).is_some() {
            return Err(format!("files include each other more than {MAX_INCLUDED_DEPTH} deep"));
        }
        if self.files.len() >= MAX_INCLUDED {
            return Err(format!("the program includes more than {MAX_INCLUDED} files"));
        }
        let text = (self.load)(&include.path)?;
        let base = self.source.append(&include.path, &text).ok_or("the program is too long")?;
        Ok((text, base))
    }
}
