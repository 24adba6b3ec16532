//! Lists the definitions of a program, for editors.

use crate::diagnostic::Span;

use super::ast::{Define, ExprId, ExprKind, StatementKind};
use super::tree::Tree;

/// The kind of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Defined {
    /// `define param`
    Parameter,
    /// Assigned, counted with, or a parameter of a function.
    Variable,
    /// `def`
    Function,
    /// In `define groups`.
    Group,
    /// In `define pattern`.
    Pattern,
}

/// A definition of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its kind.
    pub kind: Defined,
    /// The name, without dollar sign or quotes.
    pub name: String,
    /// The span of the name.
    pub span: Span,
    /// The statement that defines it.
    pub statement: Span,
}

/// Every definition, in the order of the text; a variable once for each assignment.
pub fn outline(tree: &Tree, text: &str) -> Vec<Definition> {
    let mut out = Vec::new();
    for id in tree.all_statements() {
        let statement = tree.statement(id);
        let mut add = |kind, name: &str, span| {
            let name = name.trim().to_owned();
            out.push(Definition { kind, name, span, statement: statement.span });
        };
        let variable = |id: ExprId| match tree.expr_kind(id) {
            ExprKind::Variable(symbol) => Some((tree.names().text(symbol), tree.span(id))),
            _ => None,
        };
        match statement.kind {
            StatementKind::Define(Define::Param { variable: id, .. }) => {
                if let Some((name, span)) = variable(id) {
                    add(Defined::Parameter, name, span);
                }
            }
            StatementKind::Assign { variable, .. } => {
                let name = tree.names().text(variable);
                let start = statement.span.start;
                add(Defined::Variable, name, Span::new(start, start + 1 + name.len() as u32));
            }
            StatementKind::Let { variable: id, .. }
            | StatementKind::ForRange { variable: id, .. }
            | StatementKind::ForEach { variable: id, .. }
            | StatementKind::Repeat { variable: Some(id), .. } => {
                if let Some((name, span)) = variable(id) {
                    add(Defined::Variable, name, span);
                }
            }
            StatementKind::Def { name, parameters, .. } => {
                if let ExprKind::Word(symbol) = tree.expr_kind(name) {
                    add(Defined::Function, tree.names().text(symbol), tree.span(name));
                }
                for (name, span) in parameters.iter().step_by(2).filter_map(variable) {
                    add(Defined::Variable, name, span);
                }
            }
            StatementKind::Define(Define::Groups(items)) => {
                for id in items.iter().step_by(3) {
                    add(Defined::Group, tree.raw_text(id, text).0, tree.span(id));
                }
            }
            StatementKind::Define(Define::Pattern(items)) => {
                if let Some(id) = items.get(0) {
                    add(Defined::Pattern, tree.raw_text(id, text).0, tree.span(id));
                }
            }
            // The other kinds define nothing themselves.
            _ => {}
        }
    }
    out.sort_by_key(|definition| definition.span.start);
    out
}
