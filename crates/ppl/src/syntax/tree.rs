//! Holds the syntax tree of a program: two arrays of nodes that refer to each other by index.

use crate::diagnostic::Span;

use super::ast::{ExprId, ExprKind, ExprNode, Exprs, Statement, StatementId, StatementKind, Statements};
use super::names::Names;

/// The syntax tree of a program. It does not own the text; methods that need the text take it as an argument.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(super) exprs: Vec<ExprNode>,
    pub(super) statements: Vec<Statement>,
    pub(super) names: Names,
    pub(super) top: Statements,
    /// Whether it was parsed with the rules of the original: integers wrap.
    pub(crate) classic: bool,
}

impl Tree {
    /// The statements of the top level.
    pub fn top(&self) -> Statements {
        self.top
    }

    /// The names in the program.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Every statement including nested ones, inner ones first.
    pub fn all_statements(&self) -> impl Iterator<Item = StatementId> + use<> {
        (0..self.statements.len()).map(StatementId::new)
    }

    /// Every expression, operands before their operator.
    pub fn all_exprs(&self) -> impl Iterator<Item = ExprId> + use<> {
        (0..self.exprs.len()).map(ExprId::new)
    }

    /// Bytes of memory that the tree occupies.
    pub fn bytes(&self) -> usize {
        self.exprs.capacity() * size_of::<ExprNode>()
            + self.statements.capacity() * size_of::<Statement>()
            + self.names.iter().map(|name| 2 * name.len() + 64).sum::<usize>()
    }

    /// Whether `other` is the same program, regardless of positions. The texts are those of the trees.
    pub fn is_same(&self, text: &str, other: &Tree, other_text: &str) -> bool {
        // Both are built in the order of the text, so equal programs have equal arrays.
        let kinds = |tree: &Tree| tree.statements.iter().map(|statement| statement.kind).collect::<Vec<_>>();
        let same_expr = |id: ExprId| {
            self.expr_kind(id) == other.expr_kind(id)
                && self.raw_text(id, text).0 == other.raw_text(id, other_text).0
        };
        self.top == other.top
            && self.exprs.len() == other.exprs.len()
            && self.names.iter().eq(other.names.iter())
            && kinds(self) == kinds(other)
            && self.all_exprs().all(same_expr)
    }

    /// The span of an expression.
    pub fn span(&self, id: ExprId) -> Span {
        self.exprs[id.index()].span
    }

    /// The kind of an expression.
    #[inline]
    pub fn expr_kind(&self, id: ExprId) -> ExprKind {
        self.exprs[id.index()].kind
    }

    /// The text between the quotes of a string, and its offset; empty for any other expression.
    pub fn raw_text<'a>(&self, id: ExprId, text: &'a str) -> (&'a str, u32) {
        let ExprNode { kind, span } = self.exprs[id.index()];
        if kind != ExprKind::Text {
            return ("", span.start);
        }
        (unquoted(text.get(span.start as usize..span.end as usize).unwrap_or("")), span.start + 1)
    }

    /// A statement.
    #[inline]
    pub fn statement(&self, id: StatementId) -> Statement {
        self.statements[id.index()]
    }

    /// The span of a statement.
    pub fn statement_span(&self, id: StatementId) -> Span {
        self.statements[id.index()].span
    }

    /// The kind of a statement.
    #[inline]
    pub fn statement_kind(&self, id: StatementId) -> StatementKind {
        self.statements[id.index()].kind
    }

    // --- building ---

    pub(super) fn push_expr(&mut self, expr: ExprNode) -> ExprId {
        self.exprs.push(expr);
        ExprId::new(self.exprs.len() - 1)
    }

    pub(super) fn push_exprs(&mut self, exprs: &[ExprNode]) -> Exprs {
        let first = self.exprs.len() as u32;
        self.exprs.extend_from_slice(exprs);
        Exprs { first, count: exprs.len() as u32 }
    }

    pub(super) fn push_statement(&mut self, statement: Statement) -> StatementId {
        self.statements.push(statement);
        StatementId::new(self.statements.len() - 1)
    }

    /// Adds the statements of a file to the `include` at the offset `start`.
    pub(super) fn fill_include(&mut self, start: u32, block: Statements) {
        for statement in self.statements.iter_mut().filter(|statement| statement.span.start == start) {
            if let StatementKind::Include { statements, .. } = &mut statement.kind {
                *statements = block;
            }
        }
    }

    /// Adds the statements of the top level.
    pub(super) fn push_top(&mut self, statements: Vec<Statement>) {
        self.top = Statements { first: self.statements.len() as u32, count: statements.len() as u32 };
        put_behind(&mut self.statements, statements);
    }

    pub(super) fn push_statements(&mut self, statements: &[Statement]) -> Statements {
        let first = self.statements.len() as u32;
        self.statements.extend_from_slice(statements);
        Statements { first, count: statements.len() as u32 }
    }
}

/// Puts `back` behind `front`, and copies the fewer of them.
pub(crate) fn put_behind<T>(front: &mut Vec<T>, mut back: Vec<T>) {
    if front.len() <= back.len() {
        back.splice(0..0, front.drain(..));
        *front = back;
    } else {
        front.append(&mut back);
    }
}

/// A string token without its quotes; the closing one may be missing.
pub(super) fn unquoted(token: &str) -> &str {
    let inside = token.strip_prefix('"').unwrap_or("");
    inside.strip_suffix('"').unwrap_or(inside)
}
