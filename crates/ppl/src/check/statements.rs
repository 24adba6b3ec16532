//! Compiles statements: the whole program, functions, simple statements.

use samples::SiteKind;

use crate::code::{Expr, Procedure, Slot, Step};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::syntax::{ExprId, ExprKind, Exprs, Statement, StatementId, StatementKind, Statements, Symbol};

use super::checker::{Checker, Locals};

impl Checker<'_> {
    /// The whole program.
    pub(super) fn program(&mut self) {
        self.definitions_first(self.tree.top());
        self.procedures();
        let base = self.start_block();
        self.statements(self.tree.top());
        let block = self.finish_block(base);
        self.code.main = self.push_block(block);
    }

    /// Definitions may be anywhere at the top level, so they are compiled first.
    fn definitions_first(&mut self, list: Statements) {
        for id in list.iter() {
            let Statement { kind, span } = self.tree.statement(id);
            if let StatementKind::Include { statements, .. } = kind {
                self.definitions_first(statements);
            }
            if let StatementKind::Define(define) = kind {
                self.define(define, span);
            }
        }
    }

    /// Compiles the heads of all functions, then their bodies: a function may call a later one.
    fn procedures(&mut self) {
        let functions: Vec<(Symbol, StatementId, Span)> = self
            .survey
            .functions
            .iter()
            .map(|(symbol, function)| (*symbol, function.statement, function.span))
            .collect();
        for (at, (symbol, id, span)) in functions.iter().enumerate() {
            let StatementKind::Def { parameters, .. } = self.tree.statement(*id).kind else { continue };
            let first = self.survey.function_numbers.get(symbol).map(|number| *number as usize);
            if let Some((_, _, first)) =
                first.filter(|first| *first < at).and_then(|first| functions.get(first))
            {
                let name = self.name(*symbol).to_owned();
                self.push(
                    Diagnostic::error(
                        DiagnosticCode::Duplicate,
                        *span,
                        format!("the function `{name}` is defined twice"),
                    )
                    .label(*first, "first defined here"),
                );
            }
            let (required, defaults) = self.defaults(parameters);
            let name = self.name(*symbol).to_owned();
            self.code.procedures.push(Procedure {
                name,
                parameters: parameters.len() as u32 / 2,
                required,
                defaults,
                locals: 0,
                body: 0,
            });
        }
        for (at, (_, id, _)) in functions.iter().enumerate() {
            let StatementKind::Def { parameters, body, .. } = self.tree.statement(*id).kind else { continue };
            let mut names = Vec::new();
            for index in (0..parameters.len()).step_by(2) {
                let symbol = parameters.get(index).and_then(|id| self.symbol(id)).unwrap_or(Symbol(u32::MAX));
                names.push((symbol, names.len() as u32));
            }
            let most = names.len() as u32;
            self.locals = Some(Locals { names, most });
            let block = self.body_block(body);
            let body = self.push_block(block);
            let locals = self.locals.take().map_or(0, |locals| locals.most);
            self.code.procedures[at].body = body;
            self.code.procedures[at].locals = locals;
        }
    }

    fn defaults(&mut self, parameters: Exprs) -> (u32, u32) {
        let mut exprs = Vec::new();
        let mut required = 0;
        for index in (0..parameters.len()).step_by(2) {
            let Some(default) = parameters.get(index + 1) else { break };
            if matches!(self.tree.expr_kind(default), ExprKind::Error) {
                if exprs.is_empty() {
                    required += 1;
                } else {
                    let span = parameters.get(index).map(|id| self.tree.span(id)).unwrap_or_default();
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::BadDefine,
                            span,
                            "a parameter without a default follows one with a default",
                        )
                        .help("put the parameters with defaults last"),
                    );
                    exprs.push(Expr::Int(0));
                }
                continue;
            }
            let at = self.constant_expression(default);
            exprs.push(self.code.exprs[at as usize]);
        }
        (required, self.push_exprs(&exprs))
    }

    /// Compiles the body of another statement and returns its steps.
    pub(super) fn body_block(&mut self, id: StatementId) -> (u32, u32) {
        let base = self.start_block();
        self.scoped(|me| {
            let statement = me.tree.statement(id);
            match statement.kind {
                StatementKind::Block(list) => me.statements(list),
                _ => me.compile(id, statement),
            }
        });
        self.finish_block(base)
    }

    pub(super) fn body(&mut self, id: StatementId) -> u32 {
        let block = self.body_block(id);
        self.push_block(block)
    }

    fn statements(&mut self, list: Statements) {
        let mut ended = false;
        for id in list.iter() {
            let statement = self.tree.statement(id);
            if ended && !matches!(statement.kind, StatementKind::Empty) {
                self.push(Diagnostic::warning(
                    DiagnosticCode::Unreachable,
                    statement.span,
                    "this is never reached",
                ));
                ended = false;
            }
            self.compile(id, statement);
            ended |= matches!(
                statement.kind,
                StatementKind::Break | StatementKind::Continue | StatementKind::Return(_)
            );
        }
    }

    fn misplaced(&mut self, span: Span, what: &str, where_: &str) {
        let message = format!("`{what}` is outside of a {where_}");
        let help = format!("remove it, or move it into a {where_}");
        self.push(Diagnostic::error(DiagnosticCode::Misplaced, span, message).help(help));
    }

    /// Compiles the label of a block, which may contain variables.
    pub(super) fn label(&mut self, id: Option<ExprId>) -> u32 {
        match id {
            Some(id) => self.expression_pushed(id),
            None => {
                let empty = self.add_text("");
                self.push_expr(Expr::Text(empty))
            }
        }
    }

    /// Compiles a statement to a step of the current block.
    fn compile(&mut self, id: StatementId, statement: Statement) {
        let Statement { kind, span } = statement;
        let step = match kind {
            // Definitions and functions were compiled first.
            StatementKind::Error
            | StatementKind::Empty
            | StatementKind::Def { .. }
            | StatementKind::Define(_) => return,
            StatementKind::Block(list) => return self.scoped(|me| me.statements(list)),
            StatementKind::Include { statements, .. } => return self.statements(statements),
            StatementKind::Assign { variable, value } => {
                let value = self.expression_pushed(value);
                Step::Assign(self.assign(variable), value)
            }
            StatementKind::AssignItem { list, index, value } => {
                let [list, index, value] = [list, index, value].map(|part| self.expression(part));
                let first = self.push_exprs(&[index, value]);
                let Expr::Slot(list) = list else { return };
                Step::AssignItem { list, first }
            }
            StatementKind::Let { variable, value } => {
                let value = self.expression_pushed(value);
                let Some(symbol) = self.symbol(variable) else { return };
                let slot = self.declare(symbol);
                self.assigned[symbol.0 as usize] |= self.locals.is_none();
                Step::Assign(slot, value)
            }
            StatementKind::Command { command, arguments, .. } => {
                let (first, count, site) = self.command_call(command, arguments, span);
                Step::Command { command, count: count.min(255) as u8, first, site }
            }
            StatementKind::Call(call) => Step::Evaluate(self.expression_pushed(call)),
            StatementKind::Repeat { variable, count, body, .. } => self.repeat(id, variable, count, body),
            StatementKind::ForRange { variable, from, to, step, body } => {
                let first = self.range(from, to, step);
                self.for_range(id, variable, first, body)
            }
            StatementKind::ForEach { variable, list, body } => self.for_each(id, variable, list, body),
            StatementKind::ForTime { duration, body } => self.for_time(id, duration, body),
            StatementKind::While { condition, body } => self.while_loop(id, condition, body),
            StatementKind::If { condition, then, otherwise } => self.condition(condition, then, otherwise),
            StatementKind::Time { inside_calls, label: name, body } => {
                let label = self.label(name);
                let kind = if inside_calls { SiteKind::CommandTime } else { SiteKind::Time };
                let site = self.site(span, None, kind);
                Step::Time { site, label, body: self.labelled(name, |me| me.body(body)) }
            }
            StatementKind::Phase { name, stonewall, body } => {
                self.labelled(Some(name), |me| me.phase(span, name, stonewall, body))
            }
            StatementKind::Group { name, body } => self.in_group(name, body),
            StatementKind::Master(body) => Step::Master(self.body(body)),
            StatementKind::Barrier(name) => self.barrier(span, name),
            StatementKind::Break => {
                self.jump_out_of_loop(span, "break");
                Step::Break
            }
            StatementKind::Continue => {
                self.jump_out_of_loop(span, "continue");
                Step::Continue
            }
            StatementKind::Return(value) => self.return_value(span, value),
            StatementKind::Rate { rate, poisson, body } => self.rate(rate, poisson, body),
            StatementKind::At { time, body } => {
                let time = self.time(time, "at");
                Step::At { time, body: self.body(body) }
            }
            StatementKind::Think(time) => Step::Think(self.time(time, "think")),
            StatementKind::Choose { weights, bodies } => self.choose(span, weights, bodies),
            StatementKind::Parallel { count, body } => self.parallel(count, body),
            StatementKind::Async { depth, body } => {
                self.whole(depth, "the depth of `async`", (1, 4096));
                let depth = self.expression_pushed(depth);
                Step::Async { depth, body: self.body(body) }
            }
            StatementKind::Verify(body) => Step::Verify(self.body(body)),
            StatementKind::Expect { errno, body } => {
                self.whole(errno, "the errno of `expect`", (0, i64::MAX));
                let errno = self.expression_pushed(errno);
                let constant = match self.code.exprs[errno as usize] {
                    Expr::Int(constant) => u16::try_from(constant).unwrap_or(0),
                    _ => 0,
                };
                let outer = std::mem::replace(&mut self.expects, constant);
                let body = self.body(body);
                self.expects = outer;
                Step::Expect { errno, body }
            }
            StatementKind::Assert { condition, each } => {
                Step::Assert { condition: self.condition_of_assert(condition, each), each }
            }
            StatementKind::OnError { stop } => Step::OnError { stop },
        };
        self.push_step(step, span.start);
    }

    /// Ends the scope of variables that `inside` declares with `let`; their slots are reused.
    pub(super) fn scoped<R>(&mut self, inside: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.locals.as_ref().map(|locals| locals.names.len());
        let result = inside(self);
        if let (Some(locals), Some(before)) = (&mut self.locals, before) {
            locals.names.truncate(before);
        }
        result
    }

    /// `break` and `continue`
    fn jump_out_of_loop(&mut self, span: Span, word: &str) {
        if self.loops == 0 {
            self.misplaced(span, word, "loop");
        }
    }

    fn return_value(&mut self, span: Span, value: Option<ExprId>) -> Step {
        if self.locals.is_none() {
            self.misplaced(span, "return", "function");
        }
        let value = match value {
            Some(value) => self.expression(value),
            None => Expr::Int(0),
        };
        Step::Return(self.push_expr(value))
    }

    /// The slot that an assignment writes to.
    fn assign(&mut self, symbol: Symbol) -> Slot {
        if let Some(locals) = &self.locals {
            if let Some((_, slot)) = locals.names.iter().rev().find(|(name, _)| *name == symbol) {
                return Slot(slot | Slot::LOCAL);
            }
        } else if self.counting[symbol.0 as usize] == 0 {
            self.assigned[symbol.0 as usize] = true;
        }
        self.global(symbol)
    }
}
