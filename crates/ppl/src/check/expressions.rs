//! Checks expressions and compiles them.

use crate::code::{Builtin, CompiledCall, Expr, SiteId};
use crate::commands::{Function, FunctionKind};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, find_word, nearest};
use crate::errno;
use crate::number::Number;
use crate::syntax::{BinaryOp, BoundUnit, Callee, ExprId, ExprKind, Exprs, Symbol, UnaryOp};
use crate::value::Value;

use super::checker::Checker;

impl Checker<'_> {
    /// Compiles an expression and appends it to the code.
    pub(super) fn expression_pushed(&mut self, id: ExprId) -> u32 {
        let expr = self.expression(id);
        self.push_expr(expr)
    }

    /// Compiles an expression.
    pub(super) fn expression(&mut self, id: ExprId) -> Expr {
        match self.tree.expr_kind(id) {
            ExprKind::Error => Expr::Int(0),
            ExprKind::Number(number) => self.constant(Number::from(number).into()),
            ExprKind::Text => self.string(id),
            ExprKind::Variable(symbol) => match self.variable(symbol) {
                Some(slot) => Expr::Slot(slot),
                None => {
                    self.unknown_variable(symbol, self.tree.span(id));
                    Expr::Int(0)
                }
            },
            ExprKind::Builtin(symbol) => match Builtin::find(self.name(symbol)) {
                Some(builtin) => Expr::Builtin(builtin),
                None => {
                    let name = self.name(symbol).to_owned();
                    self.unknown_builtin(&name, self.tree.span(id));
                    Expr::Int(0)
                }
            },
            ExprKind::Environment(symbol) => {
                let name = self.name(symbol).to_owned();
                Expr::Environment(self.environment(&name, self.tree.span(id)))
            }
            ExprKind::Word(symbol) => self.word(symbol, self.tree.span(id)),
            ExprKind::Unary(op, inner) => {
                self.constant_operands(id);
                let inner = self.expression(inner);
                if let (UnaryOp::Negate, Expr::Int(value)) = (op, inner) {
                    return Expr::Int(value.wrapping_neg());
                }
                Expr::Unary(op, self.push_expr(inner))
            }
            ExprKind::Binary(op, left, right) => {
                let right_id = right;
                let left_id = left;
                let [left, right] = self.operands(op, left, right);
                self.constant_operands(id);
                if matches!(op, BinaryOp::Divide | BinaryOp::Modulo)
                    && self.known(left_id).is_none()
                    && self.known(right_id) == Some(Value::Int(0))
                {
                    let message = "division by zero";
                    self.push(Diagnostic::error(
                        DiagnosticCode::Evaluation,
                        self.tree.span(right_id),
                        message,
                    ));
                }
                let first = self.push_exprs(&[left, right]);
                // The right side of `&&` and `||` is evaluated under the condition of the left one.
                if matches!(op, BinaryOp::And | BinaryOp::Or) {
                    self.place_of_condition(first, left_id);
                }
                Expr::Binary(op, first)
            }
            ExprKind::Choice(condition, yes, no) => {
                let three = [condition, yes, no].map(|part| self.expression(part));
                let first = self.push_exprs(&three);
                self.place_of_condition(first, condition);
                Expr::Choice(first)
            }
            ExprKind::Call(callee, arguments) => self.call(id, callee, arguments),
            ExprKind::List(items) => {
                let first = self.expressions(items);
                self.code.calls.push(CompiledCall {
                    target: 0,
                    first,
                    count: items.len() as u32,
                    site: SiteId(0),
                });
                Expr::List(self.code.calls.len() as u32 - 1)
            }
            ExprKind::Index(list, index) => {
                let two = [self.expression(list), self.expression(index)];
                Expr::Index(self.push_exprs(&two))
            }
            ExprKind::Parens(inner) => self.expression(inner),
            ExprKind::Estimate(word, name) => self.estimate(word, name, self.tree.span(id)),
            ExprKind::Unit(unit, number) => self.bound(id, unit, number),
        }
    }

    /// Compiles expressions to consecutive indices.
    pub(super) fn expressions(&mut self, items: Exprs) -> u32 {
        let base = self.pending_exprs.len();
        for item in items.iter() {
            let expr = self.expression(item);
            self.pending_exprs.push(expr);
        }
        self.push_pending_exprs(base)
    }

    pub(super) fn push_pending_exprs(&mut self, base: usize) -> u32 {
        let first = self.code.exprs.len() as u32;
        self.code.exprs.extend_from_slice(&self.pending_exprs[base..]);
        self.pending_exprs.truncate(base);
        first
    }

    /// Reports a variable that is not defined here.
    pub(super) fn unknown_variable(&mut self, symbol: Symbol, span: Span) {
        let name = self.name(symbol).to_owned();
        let first = self.survey.first_assigned[symbol.0 as usize];
        let mut diagnostic =
            Diagnostic::error(DiagnosticCode::UnknownVariable, span, format!("unknown variable `${name}`"));
        if let Some(near) = self.meant(&name) {
            let place = find_word(self.text, span, &format!("${name}"));
            diagnostic = diagnostic.did_you_mean(&format!("${near}"), place);
        }
        if first != u32::MAX && first > span.start {
            diagnostic.message = format!("the variable `${name}` is used before it is assigned");
            diagnostic =
                diagnostic.label(Span::new(first, first + name.len() as u32 + 1), "first assigned here");
        } else if diagnostic.help.is_none() {
            diagnostic.help = Some(format!(
                "assign it first (`${name} = …;`) or make it a parameter (`define param \"{name}\" ${name} \"…\"`)"
            ));
        }
        self.push(diagnostic);
    }

    /// Compiles a bare word: the name of an errno or of a position.
    fn word(&mut self, symbol: Symbol, span: Span) -> Expr {
        let name = self.name(symbol).to_owned();
        if let Some(number) = errno::number(&name) {
            return Expr::Int(number);
        }
        if name.starts_with("SEEK_") || name.starts_with("O_") {
            return Expr::Text(self.add_text(&name));
        }
        let error =
            Diagnostic::error(DiagnosticCode::UnknownWord, span, format!("`{name}` has no meaning here"));
        self.push(match nearest(&name, errno::names()) {
            Some(near) => error.did_you_mean(near, Some(span)),
            None => error.help(format!("a variable begins with a dollar sign: `${name}`")),
        });
        Expr::Int(0)
    }

    fn call(&mut self, id: ExprId, callee: Callee, arguments: Exprs) -> Expr {
        let span = self.tree.span(id);
        match callee {
            Callee::Command(command) => {
                let (first, count, site) = self.command_call(command, arguments, span);
                if command.spec().yields == crate::commands::Yields::Nothing {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::NoResult,
                            span,
                            format!("`{}` has no value", command.name()),
                        )
                        .help("use it as a statement of its own"),
                    );
                }
                self.code.calls.push(CompiledCall { target: command as u32, first, count, site });
                Expr::Command(self.code.calls.len() as u32 - 1)
            }
            Callee::Function(function) => {
                if let Some(found) = self.estimate_of_function(function, arguments, span) {
                    return found;
                }
                let spec = function.spec();
                if arguments.len() < spec.least || arguments.len() > spec.most {
                    self.push(
                        Diagnostic::error(
                            DiagnosticCode::MissingArgument,
                            span,
                            format!(
                                "`{}` takes {}, not {}",
                                spec.name,
                                count_text(spec.least as u32, spec.most as u32),
                                arguments.len()
                            ),
                        )
                        .help(format!("the form is `{}`", spec.form)),
                    );
                    return Expr::Int(0);
                }
                let label = usize::from(function == Function::Quantile);
                match (spec.kind, arguments.get(label)) {
                    (FunctionKind::Samples, Some(label)) => {
                        self.ask_for(label);
                        self.asked_statistic(function, arguments);
                    }
                    (FunctionKind::Pure, _) => self.constant_operands(id),
                    (FunctionKind::Draws | FunctionKind::Samples, _) => {}
                }
                let first = self.expressions(arguments);
                let count = arguments.len() as u32;
                self.code.calls.push(CompiledCall { target: function as u32, first, count, site: SiteId(0) });
                Expr::Function(self.code.calls.len() as u32 - 1)
            }
            Callee::Named(symbol) => self.procedure_call(symbol, arguments, span),
        }
    }

    fn procedure_call(&mut self, symbol: Symbol, arguments: Exprs, span: Span) -> Expr {
        let name = self.name(symbol).to_owned();
        let Some(&number) = self.survey.function_numbers.get(&symbol) else {
            if let Some(found) = self.estimate_of_call(&name.to_ascii_lowercase(), arguments, span) {
                return found;
            }
            let functions = crate::commands::Function::all().map(|function| function.spec().name);
            let commands = crate::commands::Command::all().map(|command| command.name());
            let own = self.survey.functions.iter().map(|(symbol, _)| self.tree.names().text(*symbol));
            let error = Diagnostic::error(
                DiagnosticCode::UnknownFunction,
                span,
                format!("unknown function `{name}`"),
            );
            let error = match nearest(&name, functions.chain(commands).chain(own)) {
                Some(near) => error.did_you_mean(near, find_word(self.text, span, &name)),
                None => error.help(format!("define it: `def {name}(…) {{ … }}`")),
            };
            self.push(error);
            return Expr::Int(0);
        };
        let procedure = self.code.procedures[number as usize].clone();
        let (given, most) = (arguments.len() as u32, procedure.parameters);
        let place = self.survey.functions[number as usize].1.span;
        if given < procedure.required || given > most {
            self.push(
                Diagnostic::error(
                    DiagnosticCode::MissingArgument,
                    span,
                    format!("`{name}` takes {}, not {given}", count_text(procedure.required, most)),
                )
                .label(place, "defined here"),
            );
            return Expr::Int(0);
        }
        let base = self.pending_exprs.len();
        for argument in arguments.iter() {
            let expr = self.expression(argument);
            self.pending_exprs.push(expr);
        }
        // Omitted arguments are the defaults, which are constant and can be shared.
        for index in given..most {
            let expr = self.code.exprs[(procedure.defaults + index - procedure.required) as usize];
            self.pending_exprs.push(expr);
        }
        let first = self.push_pending_exprs(base);
        self.code.calls.push(CompiledCall { target: number, first, count: most, site: SiteId(0) });
        Expr::Call(self.code.calls.len() as u32 - 1)
    }

    /// Whether it is a literal string.
    pub(super) fn is_literal_text(&self, id: ExprId) -> bool {
        match self.tree.expr_kind(id) {
            ExprKind::Text => true,
            ExprKind::Parens(inner) => self.is_literal_text(inner),
            _ => false,
        }
    }

    /// The kind of a literal; `None` if the kind is only known at run time.
    pub(super) fn literal_kind(&self, id: ExprId) -> Option<LiteralKind> {
        match self.tree.expr_kind(id) {
            ExprKind::Text => Some(LiteralKind::Text),
            ExprKind::Number(number) => Some(match Number::from(number) {
                Number::Duration(_) => LiteralKind::Duration,
                Number::Float(_) => LiteralKind::Float,
                Number::Int(_) => LiteralKind::Int,
            }),
            ExprKind::List(_) => Some(LiteralKind::List),
            ExprKind::Parens(inner) => self.literal_kind(inner),
            ExprKind::Unit(BoundUnit::PerSecond, number) => self.literal_kind(number),
            ExprKind::Unit(BoundUnit::Percent, _) => Some(LiteralKind::Share),
            ExprKind::Error
            | ExprKind::Variable(_)
            | ExprKind::Builtin(_)
            | ExprKind::Environment(_)
            | ExprKind::Word(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Choice(..)
            | ExprKind::Call(..)
            | ExprKind::Estimate(..)
            | ExprKind::Index(..) => None,
        }
    }

    /// Reports a literal that is not a time where one is needed.
    pub(super) fn needs_time(&mut self, id: ExprId, what: &str, help: &str) {
        if let Some(found) = self.literal_kind(id).filter(|found| *found != LiteralKind::Duration) {
            let message = format!("`{what}` needs a time, not {}", found.name());
            let error = Diagnostic::error(DiagnosticCode::WrongKind, self.tree.span(id), message);
            self.push(error.help(help));
        }
    }
}

/// The kind of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiteralKind {
    Text,
    Int,
    Float,
    Duration,
    List,
    Share,
}

impl LiteralKind {
    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            LiteralKind::Text => "a string",
            LiteralKind::Int => "a number",
            LiteralKind::Float => "a float",
            LiteralKind::Duration => "a duration",
            LiteralKind::List => "a list",
            LiteralKind::Share => "a share",
        }
    }
}

pub(super) fn count_text(least: u32, most: u32) -> String {
    match (least, most) {
        (1, 1) => "1 argument".into(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    }
}
