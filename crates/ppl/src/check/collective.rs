//! Checks that every rank reaches what all of them must do together.

use crate::commands::{Command, Effect};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::syntax::{Callee, ExprId, ExprKind, Statement, StatementId, StatementKind};

use super::checker::Checker;
use super::restriction::{Collective, Restriction, Taint};

impl Checker<'_> {
    pub(super) fn collective_command(
        &mut self,
        span: Span,
        command: Command,
        target: Option<u32>,
        pattern: Option<u32>,
    ) {
        let what = format!("`{}`", command.name());
        if command.spec().by_pattern {
            let restricted = self.restrictions.iter().rev().find_map(|restriction| match restriction {
                Restriction::Master(span)
                | Restriction::Workers(span)
                | Restriction::Differs(Taint::Differs, span) => Some(*span),
                Restriction::Group(..) | Restriction::Differs(Taint::Same | Taint::Perhaps, _) => None,
            });
            if let (Some(pattern), Some(_)) = (pattern, restricted) {
                self.definitions.collectives.push(Collective {
                    span,
                    what,
                    target: None,
                    inside: None,
                    pattern: Some(pattern),
                    restricted,
                });
            }
            return;
        }
        self.collective(span, &what, target, command.spec().effect == Effect::Closes);
    }

    /// A collective operation of the group `target` (`None`: it is not known).
    pub(super) fn collective(&mut self, span: Span, what: &str, target: Option<u32>, lenient: bool) {
        let restrictions = std::mem::take(&mut self.restrictions);
        let mut seen_groups = false;
        let mut perhaps = None;
        let before = self.diagnostics.len();
        for restriction in restrictions.iter().rev().copied().chain(self.left_loop).chain(self.returned) {
            match restriction {
                Restriction::Master(place) => {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::Collective,
                            span,
                            format!("only one rank reaches {what}, which waits for all"),
                        )
                        .label(place, "only the first rank comes in here")
                        .help("move it out of `master`"),
                    );
                    break;
                }
                Restriction::Workers(place) => {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::Collective,
                            span,
                            format!("{what} cannot stand in `parallel`"),
                        )
                        .label(place, "several workers of each rank come in here")
                        .help("move it out of `parallel`"),
                    );
                    break;
                }
                Restriction::Differs(Taint::Differs, place) if !lenient => {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::Collective,
                            span,
                            format!("not all ranks reach {what} equally often: the program would hang"),
                        )
                        .label(place, "this differs between ranks")
                        .help("move it out, or make the condition the same on all ranks"),
                    );
                    break;
                }
                Restriction::Differs(_, place) => perhaps = perhaps.or(Some(place)),
                Restriction::Group(group, place) => {
                    if target != Some(group) && target.is_some() && !seen_groups {
                        self.definitions.collectives.push(Collective {
                            span,
                            what: what.to_owned(),
                            target,
                            inside: Some((group, place)),
                            pattern: None,
                            restricted: None,
                        });
                    }
                    seen_groups = true;
                }
            }
        }
        if let (Some(place), true) = (perhaps, before == self.diagnostics.len()) {
            self.push(
                Diagnostic::warning(
                    DiagnosticCode::PerhapsCollective,
                    span,
                    format!("perhaps not all ranks reach {what} equally often"),
                )
                .label(place, "this can differ between ranks")
                .help("where the ranks disagree, the program hangs"),
            );
        }
        self.restrictions = restrictions;
    }

    /// The condition under which only some ranks take the jump at this place, within the loop or function
    /// around which `base` restrictions stand.
    pub(super) fn jump(&self, base: usize) -> Option<Restriction> {
        self.restrictions.get(base..)?.iter().rev().find_map(|restriction| match *restriction {
            Restriction::Differs(level, place) => Some(Restriction::Differs(level, place)),
            Restriction::Master(place) => Some(Restriction::Differs(Taint::Differs, place)),
            Restriction::Group(..) | Restriction::Workers(_) => None,
        })
    }

    /// Do ranks meet in the statement, directly or in a function that it calls?
    pub(super) fn meets(&self, id: StatementId) -> bool {
        self.survey.collective
            && self.tree.statements_in(id).any(|(_, kind)| {
                matches!(kind, StatementKind::Barrier(_) | StatementKind::Phase { .. })
                    || matches!(kind, StatementKind::Command { command, .. } if command.is_collective())
                    || kind.children().exprs().any(|expr| self.calls_collective(expr))
            })
    }

    /// Does the expression call something that ranks do together?
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

    /// The condition under which only some ranks leave the loop with this body by `break` or `return`;
    /// `inner`: inside a loop of its own, which a `break` leaves instead.
    pub(super) fn leaves(
        &self,
        id: StatementId,
        context: Option<Restriction>,
        inner: bool,
    ) -> Option<Restriction> {
        if !self.survey.collective {
            return None;
        }
        let Statement { kind, span } = self.tree.statement(id);
        let word = || Some(Restriction::Differs(Taint::Differs, Span::new(span.start, span.start + 6)));
        let (context, inner) = match kind {
            StatementKind::Break => return context.filter(|_| !inner),
            StatementKind::Return(_) => return context,
            // Neither their `break` nor their `return` leaves a loop around them.
            StatementKind::Parallel { .. } | StatementKind::Def { .. } => return None,
            StatementKind::If { condition, .. } => (self.differs(condition).or(context), inner),
            StatementKind::Choose { .. } | StatementKind::Master(_) => (word(), inner),
            StatementKind::Repeat { count: condition, .. } | StatementKind::While { condition, .. } => {
                (self.differs(condition).or(context), true)
            }
            StatementKind::ForRange { .. }
            | StatementKind::ForEach { .. }
            | StatementKind::ForTime { .. } => (context, true),
            StatementKind::Error
            | StatementKind::Empty
            | StatementKind::Block(_)
            | StatementKind::Assign { .. }
            | StatementKind::AssignItem { .. }
            | StatementKind::Let { .. }
            | StatementKind::Command { .. }
            | StatementKind::Call(_)
            | StatementKind::Time { .. }
            | StatementKind::Group { .. }
            | StatementKind::Barrier(_)
            | StatementKind::Continue
            | StatementKind::Include { .. }
            | StatementKind::Define(_)
            | StatementKind::Rate { .. }
            | StatementKind::At { .. }
            | StatementKind::Think(_)
            | StatementKind::Async { .. }
            | StatementKind::Phase { .. }
            | StatementKind::Verify(_)
            | StatementKind::Expect { .. }
            | StatementKind::Assert { .. }
            | StatementKind::OnError { .. } => (context, inner),
        };
        kind.children().statements().find_map(|id| self.leaves(id, context, inner))
    }
}
