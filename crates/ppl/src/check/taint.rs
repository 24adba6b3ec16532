//! Finds out which values can differ between ranks, and where ranks leave a loop differently.

use crate::code::Builtin;
use crate::commands::FunctionKind;
use crate::syntax::template::{self, TextPart, parts};
use crate::syntax::{Callee, ExprId, ExprKind, StatementId, StatementKind, Stonewall, Symbol};

use super::checker::Checker;
use super::restriction::Taint;
use super::survey::AssignedIn;

impl Checker<'_> {
    /// Can the value differ between ranks?
    pub(super) fn taint(&self, id: ExprId) -> Taint {
        if !self.survey.collective {
            return Taint::Same;
        }
        let own = self.tree.exprs_in(id).map(|(id, kind)| match kind {
            ExprKind::Variable(symbol) => self.taint_of(symbol),
            ExprKind::Builtin(symbol) => builtin_taint(self.name(symbol)),
            ExprKind::Text => self.taint_of_text(id),
            ExprKind::Call(Callee::Command(_) | Callee::Named(_), _) => Taint::Perhaps,
            ExprKind::Call(Callee::Function(function), _) => match function.spec().kind {
                FunctionKind::Pure => Taint::Same,
                FunctionKind::Draws | FunctionKind::Samples => Taint::Differs,
            },
            ExprKind::Error
            | ExprKind::Number(_)
            | ExprKind::Environment(_)
            | ExprKind::Word(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Choice(..)
            | ExprKind::List(_)
            | ExprKind::Index(..)
            | ExprKind::Parens(_) => Taint::Same,
        });
        own.max().unwrap_or_default()
    }

    /// Of a string: what its variables and built-in values are.
    fn taint_of_text(&self, id: ExprId) -> Taint {
        let raw = self.tree.raw_text(id, self.text).0;
        if template::is_plain(raw) {
            return Taint::Same;
        }
        let own = parts(raw, self.tree.classic).into_iter().map(|part| match part {
            TextPart::Builtin(name, _) => builtin_taint(name),
            TextPart::Variable(run, _) | TextPart::Braced(run, _) => {
                let symbol = (usize::from(!run.is_empty())..=run.len().min(self.longest_name))
                    .rev()
                    .find_map(|used| self.tree.names().find(run.get(..used)?));
                symbol.map_or(Taint::Same, |symbol| self.taint_of(symbol))
            }
            TextPart::Literal(_) | TextPart::Environment(..) => Taint::Same,
        });
        own.max().unwrap_or_default()
    }

    fn taint_of(&self, symbol: Symbol) -> Taint {
        let at = symbol.0 as usize;
        match self.survey.assigned_in.get(at) {
            Some(AssignedIn::Several) => return Taint::Differs,
            Some(AssignedIn::Group(group)) if *group != self.group => return Taint::Differs,
            Some(AssignedIn::Group(_) | AssignedIn::World) | None => {}
        }
        self.survey.taint.get(at).copied().unwrap_or_default()
    }

    /// Finds out which variables can differ between ranks: to a fixed point.
    pub(super) fn spread_taint(&mut self) {
        let names = self.tree.names().len();
        self.survey.taint = vec![Taint::Same; names];
        self.survey.assigned_in = vec![AssignedIn::World; names];
        if !self.survey.collective {
            return;
        }
        // Each round carries a taint one assignment further; few programs need more than three.
        for _ in 0..16 {
            let before = (self.survey.taint.clone(), self.survey.assigned_in.clone());
            self.tree.top().iter().for_each(|id| self.taint_statement(id, Taint::Same));
            if before == (self.survey.taint.clone(), self.survey.assigned_in.clone()) {
                break;
            }
        }
        self.group = 0;
    }

    fn taint_assign(&mut self, variable: ExprId, taint: Taint) {
        if let Some(symbol) = self.symbol(variable) {
            self.taint_symbol(symbol, taint);
        }
    }

    /// What is passed to functions of the program, anywhere in an expression, reaches their parameters.
    fn taint_parameters(&mut self, id: ExprId, context: Taint) {
        let tree = self.tree;
        for (_, kind) in tree.exprs_in(id) {
            let ExprKind::Call(Callee::Named(symbol), arguments) = kind else { continue };
            let Some(&number) = self.survey.function_numbers.get(&symbol) else { continue };
            let definition = self.survey.functions[number as usize].1.statement;
            let StatementKind::Def { parameters, .. } = tree.statement_kind(definition) else { continue };
            for (argument, parameter) in arguments.iter().zip(parameters.iter().step_by(2)) {
                let taint = self.taint(argument).max(context);
                self.taint_assign(parameter, taint);
            }
        }
    }

    fn taint_symbol(&mut self, symbol: Symbol, taint: Taint) {
        let at = symbol.0 as usize;
        self.survey.taint[at] = self.survey.taint[at].max(taint);
        if self.group != 0 {
            let seen = &mut self.survey.assigned_in[at];
            *seen = match *seen {
                AssignedIn::World => AssignedIn::Group(self.group),
                AssignedIn::Group(group) if group == self.group => *seen,
                AssignedIn::Group(_) | AssignedIn::Several => AssignedIn::Several,
            };
        }
    }

    fn taint_statement(&mut self, id: StatementId, context: Taint) {
        let kind = self.tree.statement_kind(id);
        let parts = kind.children();
        parts.exprs().for_each(|expr| self.taint_parameters(expr, context));
        let inner = match kind {
            StatementKind::Assign { variable, value } => {
                let taint = self.taint(value).max(context);
                self.taint_symbol(variable, taint);
                context
            }
            StatementKind::AssignItem { list, index, value } => {
                let taint = self.taint(index).max(self.taint(value)).max(context);
                self.taint_assign(list, taint);
                context
            }
            StatementKind::Let { variable, value } => {
                let taint = self.taint(value).max(context);
                self.taint_assign(variable, taint);
                context
            }
            StatementKind::Repeat { count: condition, .. }
            | StatementKind::While { condition, .. }
            | StatementKind::If { condition, .. } => context.max(self.taint(condition)),
            StatementKind::ForRange { variable, from, to, .. } => {
                let taint = self.taint(from);
                self.taint_assign(variable, taint);
                context.max(taint).max(self.taint(to))
            }
            StatementKind::ForEach { variable, list, .. } => {
                let taint = self.taint(list);
                self.taint_assign(variable, taint);
                context.max(taint)
            }
            StatementKind::ForTime { body, .. } if self.meets(body) => context,
            // The loops in a stonewall end differently often.
            StatementKind::ForTime { .. }
            | StatementKind::Master(_)
            | StatementKind::Parallel { .. }
            | StatementKind::Phase { stonewall: Stonewall::First | Stonewall::Time(_), .. }
            | StatementKind::Choose { .. } => Taint::Differs,
            StatementKind::Group { name, body } => {
                let outer = self.group;
                let raw = self.tree.raw_text(name, self.text).0.trim();
                self.group = self.survey.groups.get(raw).copied().unwrap_or(0) as u16;
                self.taint_statement(body, context);
                self.group = outer;
                return;
            }
            StatementKind::Error
            | StatementKind::Empty
            | StatementKind::Block(_)
            | StatementKind::Command { .. }
            | StatementKind::Call(_)
            | StatementKind::Time { .. }
            | StatementKind::Barrier(_)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Return(_)
            | StatementKind::Def { .. }
            | StatementKind::Include { .. }
            | StatementKind::Define(_)
            | StatementKind::Rate { .. }
            | StatementKind::At { .. }
            | StatementKind::Think(_)
            | StatementKind::Async { .. }
            | StatementKind::Phase { stonewall: Stonewall::None, .. }
            | StatementKind::Verify(_)
            | StatementKind::Expect { .. }
            | StatementKind::Assert { .. }
            | StatementKind::OnError { .. } => context,
        };
        parts.statements().for_each(|id| self.taint_statement(id, inner));
    }
}

fn builtin_taint(name: &str) -> Taint {
    match Builtin::find(name) {
        Some(Builtin::Size | Builtin::CommonRand) => Taint::Same,
        Some(Builtin::Errno | Builtin::Bytes) => Taint::Perhaps,
        Some(
            Builtin::Rank
            | Builtin::Group
            | Builtin::GroupRank
            | Builtin::Time
            | Builtin::Rand
            | Builtin::Worker,
        )
        | None => Taint::Differs,
    }
}
