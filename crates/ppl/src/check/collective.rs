//! Finds collective statements and records their spans for the check of meetings.

use crate::code::{ExprIndex, SiteId};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::syntax::{Callee, ExprId, ExprKind, StatementId, StatementKind};

use super::checker::Checker;

impl Checker<'_> {
    /// Records a meeting; it is an error inside `parallel`.
    pub(super) fn meeting(&mut self, span: Span, what: &str) {
        if let Some(place) = self.workers {
            self.push(
                Diagnostic::error(
                    DiagnosticCode::Collective,
                    span,
                    format!("{what} is not permitted in `parallel`"),
                )
                .label(place, "several workers of each rank execute this")
                .help("move it out of `parallel`"),
            );
        }
    }

    /// Records the span of a meeting's site.
    pub(super) fn place_of_meeting(&mut self, site: SiteId, span: Span) {
        self.code.places.add_site(site, span);
    }

    /// Records an expression that decides which ranks reach a place, or how often.
    pub(super) fn place_of_condition(&mut self, expr: ExprIndex, id: ExprId) {
        if self.survey.collective {
            self.code.places.add_expression(expr, self.tree.span(id));
        }
    }

    /// Whether ranks meet in the statement, directly or in a function that it calls.
    pub(super) fn meets(&self, id: StatementId) -> bool {
        self.survey.collective
            && self.tree.statements_in(id).any(|(_, kind)| {
                matches!(kind, StatementKind::Barrier(_) | StatementKind::Phase { .. })
                    || matches!(kind, StatementKind::Command { command, .. } if command.is_collective())
                    || kind.children().exprs().any(|expr| self.calls_collective(expr))
            })
    }

    /// Whether the expression calls something collective.
    fn calls_collective(&self, id: ExprId) -> bool {
        self.tree.exprs_in(id).any(|(_, kind)| match kind {
            ExprKind::Call(Callee::Command(command), _) => command.is_collective(),
            ExprKind::Call(Callee::Named(symbol), _) => self
                .survey
                .function_numbers
                .get(&symbol)
                .is_some_and(|number| self.survey.functions[*number as usize].1.collective),
            _ => false,
        })
    }
}
