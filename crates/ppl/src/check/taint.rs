//! Finds out which values can differ between ranks, and where ranks leave a loop differently.

use crate::arithmetic;
use crate::syntax::template::{self, TextPart, parts};
use crate::syntax::{Callee, ExprId, ExprKind, StatementId, StatementKind, Statements, Stonewall, Symbol};

use super::checker::Checker;

impl Checker<'_> {
    /// Can the value differ between ranks? 0 no, 1 perhaps, 2 surely.
    pub(super) fn taint(&self, id: ExprId) -> u8 {
        if !self.survey.collective {
            return 0;
        }
        let own = self.tree.exprs_in(id).map(|(id, kind)| match kind {
            ExprKind::Variable(symbol) => self.taint_of(symbol),
            ExprKind::Builtin(symbol) => builtin_taint(self.name(symbol)),
            ExprKind::Text => self.taint_of_text(id),
            ExprKind::Call(Callee::Command(_) | Callee::Named(_), _) => 1,
            ExprKind::Call(Callee::Function(function), _) => {
                if arithmetic::is_pure(function) {
                    0
                } else {
                    2
                }
            }
            ExprKind::Error
            | ExprKind::Number(_)
            | ExprKind::Environment(_)
            | ExprKind::Word(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Choice(..)
            | ExprKind::List(_)
            | ExprKind::Index(..)
            | ExprKind::Parens(_) => 0,
        });
        own.max().unwrap_or(0)
    }

    /// Of a string: what its variables and built-in values are.
    fn taint_of_text(&self, id: ExprId) -> u8 {
        let raw = self.tree.raw_text(id, self.text).0;
        if template::is_plain(raw) {
            return 0;
        }
        let own = parts(raw).into_iter().map(|part| match part {
            TextPart::Builtin(name, _) => builtin_taint(name),
            TextPart::Variable(run, _) | TextPart::Braced(run, _) => {
                let symbol = (1..=run.len().min(self.longest_name))
                    .rev()
                    .find_map(|used| self.tree.names().find(run.get(..used)?));
                symbol.map_or(0, |symbol| self.taint_of(symbol))
            }
            TextPart::Literal(_) | TextPart::Environment(..) => 0,
        });
        own.max().unwrap_or(0)
    }

    fn taint_of(&self, symbol: Symbol) -> u8 {
        let at = symbol.0 as usize;
        let elsewhere = self.survey.assigned_in.get(at).copied().unwrap_or(0);
        if elsewhere != 0 && elsewhere != self.group + 1 {
            return 2;
        }
        self.survey.taint.get(at).copied().unwrap_or(0)
    }

    /// Finds out which variables can differ between ranks: to a fixed point.
    pub(super) fn spread_taint(&mut self) {
        let names = self.tree.names().len();
        self.survey.taint = vec![0; names];
        self.survey.assigned_in = vec![0; names];
        if !self.survey.collective {
            return;
        }
        // Each round carries a taint one assignment further; programs by hand need two or three.
        for _ in 0..16 {
            let before = (self.survey.taint.clone(), self.survey.assigned_in.clone());
            self.taint_statements(self.tree.top(), 0);
            if before == (self.survey.taint.clone(), self.survey.assigned_in.clone()) {
                break;
            }
        }
        self.group = 0;
    }

    fn taint_statements(&mut self, list: Statements, context: u8) {
        for id in list.iter() {
            self.taint_statement(id, context);
        }
    }

    fn taint_assign(&mut self, variable: ExprId, taint: u8) {
        if let Some(symbol) = self.symbol(variable) {
            self.taint_symbol(symbol, taint);
        }
    }

    /// What is passed to functions of the program, anywhere in an expression, reaches their parameters.
    fn taint_parameters(&mut self, id: ExprId, context: u8) {
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

    fn taint_symbol(&mut self, symbol: Symbol, taint: u8) {
        let at = symbol.0 as usize;
        self.survey.taint[at] = self.survey.taint[at].max(taint);
        if self.group != 0 {
            let seen = &mut self.survey.assigned_in[at];
            *seen = if *seen == 0 || *seen == self.group + 1 { self.group + 1 } else { u16::MAX };
        }
    }

    fn taint_statement(&mut self, id: StatementId, context: u8) {
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
            | StatementKind::Choose { .. } => 2,
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

fn builtin_taint(name: &str) -> u8 {
    match name.to_ascii_lowercase().as_str() {
        "size" | "crand" => 0,
        "errno" | "bytes" => 1,
        _ => 2,
    }
}
