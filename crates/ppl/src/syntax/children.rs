//! Returns the children of each node and iterates over descendants.
//!
//! A walk over the tree calls [`StatementKind::children`] and [`ExprKind::children`] for the kinds that it
//! does not handle itself. Both match every kind, so a new kind is a compile error here and is then reached
//! by every walk.

use super::ast::{Define, ExprId, ExprKind, Exprs, StatementId, StatementKind, Statements, Stonewall};
use super::tree::Tree;

/// The children of a statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Children {
    exprs: [Option<ExprId>; 6],
    list: Exprs,
    bodies: [Option<StatementId>; 2],
    block: Statements,
}

impl Children {
    /// Its expressions, in the order of the text.
    pub fn exprs(self) -> impl Iterator<Item = ExprId> {
        self.exprs.into_iter().flatten().chain(self.list.iter())
    }

    /// Its statements, in the order of the text.
    pub fn statements(self) -> impl DoubleEndedIterator<Item = StatementId> {
        self.bodies.into_iter().flatten().chain(self.block.iter())
    }

    fn of<const N: usize>(exprs: [ExprId; N]) -> Self {
        let mut children = Self::default();
        for (place, expr) in children.exprs.iter_mut().zip(exprs) {
            *place = Some(expr);
        }
        children
    }

    fn list(list: Exprs) -> Self {
        Self { list, ..Self::default() }
    }

    /// Adds an expression after the others.
    fn and(mut self, expr: Option<ExprId>) -> Self {
        if let Some(place) = self.exprs.iter_mut().find(|place| place.is_none()) {
            *place = expr;
        }
        self
    }

    fn and_list(self, list: Exprs) -> Self {
        Self { list, ..self }
    }

    fn body(self, body: StatementId) -> Self {
        Self { bodies: [Some(body), None], ..self }
    }

    fn bodies(self, first: StatementId, second: Option<StatementId>) -> Self {
        Self { bodies: [Some(first), second], ..self }
    }

    fn block(self, block: Statements) -> Self {
        Self { block, ..self }
    }
}

impl StatementKind {
    /// Its children.
    pub fn children(self) -> Children {
        let none = Children::default();
        match self {
            Self::Error | Self::Empty | Self::Break | Self::Continue | Self::OnError { .. } => none,
            Self::Block(list) => none.block(list),
            Self::Assign { variable: _, value } => Children::of([value]),
            Self::AssignItem { list, index, value } => Children::of([list, index, value]),
            Self::Let { variable, value } => Children::of([variable, value]),
            Self::Command { arguments, .. } => Children::list(arguments),
            Self::Call(call) => Children::of([call]),
            Self::Repeat { variable, count, body, .. } => none.and(variable).and(Some(count)).body(body),
            Self::Time { label, body, .. } => none.and(label).body(body),
            Self::Group { name, body } => Children::of([name]).body(body),
            Self::Master(body) | Self::Verify(body) => none.body(body),
            Self::Barrier(name) => none.and(name),
            Self::If { condition, then, otherwise } => Children::of([condition]).bodies(then, otherwise),
            Self::While { condition, body } => Children::of([condition]).body(body),
            Self::ForRange { variable, from, to, step, body } => {
                Children::of([variable, from, to]).and(step).body(body)
            }
            Self::ForEach { variable, list, body } => Children::of([variable, list]).body(body),
            Self::ForTime { duration, body } => Children::of([duration]).body(body),
            Self::Return(value) => none.and(value),
            Self::Def { name, parameters, body } => Children::of([name]).and_list(parameters).body(body),
            Self::Include { path, statements } => Children::of([path]).block(statements),
            Self::Define(define) => define.children(),
            Self::Rate { rate, body, .. } => Children::of([rate]).body(body),
            Self::At { time, body } => Children::of([time]).body(body),
            Self::Think(time) => Children::of([time]),
            Self::Choose { weights, bodies } => Children::list(weights).block(bodies),
            Self::Parallel { count, body } => Children::of([count]).body(body),
            Self::Async { depth, body } => Children::of([depth]).body(body),
            Self::Phase { name, stonewall, body } => {
                let limit = match stonewall {
                    Stonewall::None | Stonewall::First => None,
                    Stonewall::Time(limit) => Some(limit),
                };
                Children::of([name]).and(limit).body(body)
            }
            Self::Expect { errno, body } => Children::of([errno]).body(body),
            Self::Assert { condition, .. } => Children::of([condition]),
        }
    }
}

impl Define {
    fn children(self) -> Children {
        match self {
            Self::Param { name, variable, default, range, place: _ } => {
                let children = Children::of([name, variable, default]);
                children.and(range.from).and(range.to).and(range.choices)
            }
            Self::Groups(items) | Self::Pattern(items) | Self::Report(items) | Self::Hints(items) => {
                Children::list(items)
            }
            Self::Ranks(value) | Self::Content(value) => Children::of([value]),
            Self::Space { directory, bytes } => Children::default().and(directory).and(Some(bytes)),
        }
    }
}

impl ExprKind {
    /// Whether it has no operands, arguments or items.
    #[inline]
    pub fn is_leaf(self) -> bool {
        let (operands, list) = self.parts();
        operands[0].is_none() && list.is_empty()
    }

    /// Its operands, arguments or items, in the order of the text.
    pub fn children(self) -> impl DoubleEndedIterator<Item = ExprId> {
        let (operands, list) = self.parts();
        operands.into_iter().flatten().chain(list.iter())
    }

    #[inline]
    fn parts(self) -> ([Option<ExprId>; 3], Exprs) {
        match self {
            Self::Error
            | Self::Number(_)
            | Self::Text
            | Self::Variable(_)
            | Self::Builtin(_)
            | Self::Environment(_)
            | Self::Word(_) => ([None; 3], Exprs::default()),
            Self::Estimate(_, name) => ([name, None, None], Exprs::default()),
            Self::Unary(_, a) | Self::Parens(a) | Self::Unit(_, a) => {
                ([Some(a), None, None], Exprs::default())
            }
            Self::Binary(_, a, b) | Self::Index(a, b) => ([Some(a), Some(b), None], Exprs::default()),
            Self::Choice(a, b, c) => ([Some(a), Some(b), Some(c)], Exprs::default()),
            Self::Call(_, list) | Self::List(list) => ([None; 3], list),
        }
    }
}

impl Tree {
    /// An expression and everything in it, outer ones first, in the order of the text.
    pub fn exprs_in(&self, id: ExprId) -> impl Iterator<Item = (ExprId, ExprKind)> {
        // Most expressions have one or two leaves and need no allocation.
        let (mut next, mut open) = (Some(id), Vec::new());
        std::iter::from_fn(move || {
            let id = next.take().or_else(|| open.pop())?;
            let kind = self.expr_kind(id);
            let (operands, list) = kind.parts();
            open.extend(list.iter().rev());
            open.extend(operands[1..].iter().rev().flatten());
            next = operands[0];
            Some((id, kind))
        })
    }

    /// A statement and every statement in it, outer ones first, in the order of the text.
    pub fn statements_in(&self, id: StatementId) -> impl Iterator<Item = (StatementId, StatementKind)> {
        let mut open = vec![id];
        std::iter::from_fn(move || {
            let id = open.pop()?;
            let kind = self.statement_kind(id);
            open.extend(kind.children().statements().rev());
            Some((id, kind))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::syntax::parse;

    const EVERY_STATEMENT: &str = include_str!("../../tests/every_statement.ppl");

    #[test]
    fn every_node_is_a_child_of_another_one_or_at_the_top_level() {
        let parsed = parse(EVERY_STATEMENT);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let tree = parsed.tree;
        let top = || tree.top().iter();
        let statements: HashSet<_> = top().flat_map(|id| tree.statements_in(id)).map(|(id, _)| id).collect();
        let roots = statements.iter().flat_map(|id| tree.statement_kind(*id).children().exprs());
        let exprs: HashSet<_> = roots.flat_map(|id| tree.exprs_in(id)).map(|(id, _)| id).collect();
        for id in tree.all_statements() {
            assert!(statements.contains(&id), "{:?}", tree.statement(id));
        }
        for id in tree.all_exprs() {
            assert!(exprs.contains(&id), "{:?}", tree.expr_kind(id));
        }
    }

    #[test]
    fn descendants_of_an_expression_are_in_the_order_of_the_text() {
        let text = "$x = [1, 2 + 3][f(4) ? 5 : -6];";
        let tree = parse(text).tree;
        let StatementKind::Assign { value, .. } = tree.statement_kind(tree.top().iter().next().unwrap())
        else {
            panic!("an assignment");
        };
        let numbers: Vec<_> = tree
            .exprs_in(value)
            .filter(|(_, kind)| matches!(kind, ExprKind::Number(_)))
            .map(|(id, _)| &text[tree.span(id).start as usize..tree.span(id).end as usize])
            .collect();
        assert_eq!(numbers, ["1", "2", "3", "4", "5", "6"]);
    }
}
