//! Takes from the tree the properties of tokens that their spacing depends on.

use std::collections::HashMap;

use crate::syntax::{Callee, ExprKind, StatementKind, Tree};

/// A minus or an exclamation mark before a value.
const UNARY: u8 = 1;
/// A word whose case is significant.
const KEPT: u8 = 2;
/// A name directly followed by its bracket.
const TIGHT: u8 = 4;
/// A number with what stands behind it: `5%`, `1000/s`.
const BOUND: u8 = 8;

/// Properties of tokens, by start offset.
pub(super) struct Marks(HashMap<u32, u8>);

impl Marks {
    pub fn of(tree: &Tree) -> Self {
        let mut marks: HashMap<u32, u8> = HashMap::new();
        let mut mark = |start: u32, mark: u8| *marks.entry(start).or_default() |= mark;
        for id in tree.all_exprs() {
            let start = tree.span(id).start;
            match tree.expr_kind(id) {
                ExprKind::Unary(..) => mark(start, UNARY),
                ExprKind::Word(_) => mark(start, KEPT),
                ExprKind::Unit(..) => mark(start, BOUND),
                ExprKind::Call(Callee::Command(_) | Callee::Function(_), _) => mark(start, TIGHT),
                ExprKind::Call(Callee::Named(_), _) => mark(start, TIGHT | KEPT),
                ExprKind::Error
                | ExprKind::Number(_)
                | ExprKind::Text
                | ExprKind::Variable(_)
                | ExprKind::Builtin(_)
                | ExprKind::Environment(_)
                | ExprKind::Binary(..)
                | ExprKind::Choice(..)
                | ExprKind::List(_)
                | ExprKind::Index(..)
                | ExprKind::Estimate(..)
                | ExprKind::Parens(_) => {}
            }
        }
        for id in tree.all_statements() {
            let statement = tree.statement(id);
            if let StatementKind::Command { parentheses: true, .. } | StatementKind::Barrier(_) =
                statement.kind
            {
                mark(statement.span.start, TIGHT);
            }
            // The name keeps its case, and its parameters follow directly.
            if let StatementKind::Def { name, .. } = statement.kind {
                mark(tree.span(name).start, TIGHT);
            }
        }
        Self(marks)
    }

    fn has(&self, start: u32, mark: u8) -> bool {
        self.0.get(&start).is_some_and(|marks| marks & mark != 0)
    }

    pub fn is_unary(&self, start: u32) -> bool {
        self.has(start, UNARY)
    }

    pub fn is_bound(&self, start: u32) -> bool {
        self.has(start, BOUND)
    }

    pub fn is_kept(&self, start: u32) -> bool {
        self.has(start, KEPT)
    }

    pub fn is_tight(&self, start: u32) -> bool {
        self.has(start, TIGHT)
    }
}
