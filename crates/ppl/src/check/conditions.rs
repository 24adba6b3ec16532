//! Compiles what only the condition of an `assert` has: quantities of the run's answer, and bounds in per cent.

use crate::code::{CompiledCall, Expr, SiteId};
use crate::commands::Function;
use crate::condition::{Compared, Estimate, Scope, is_quantity};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::syntax::{BinaryOp, BoundUnit, Callee, ExprId, ExprKind, Exprs, Symbol, template};

use super::checker::{Assertion, Checker};
use super::expressions::LiteralKind;

/// The quantiles of an answer.
const OF_ANSWERS: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// Why a quantity is not judged in a program, and what to write.
fn judged_elsewhere(estimate: Estimate) -> Option<&'static str> {
    match estimate {
        Estimate::Factor => Some("it is of two runs: `lastrank compare OLD NEW --fail-if 'factor > 1.05'`"),
        Estimate::Location | Estimate::Scale | Estimate::Shape | Estimate::ReturnLevel(_) => Some(
            "it is of a distribution that is fitted afterwards: `lastrank fit RUN`, or a quantile such as `p99.9 < 5ms`",
        ),
        _ => None,
    }
}

impl Checker<'_> {
    /// The condition of an `assert`.
    pub(super) fn condition_of_assert(&mut self, condition: ExprId, each: bool) -> u32 {
        self.assertion = Some(Assertion { each, share: false });
        let compiled = self.expression_pushed(condition);
        self.assertion = None;
        compiled
    }

    /// Compiles a labelled block: what is asserted in it and after it without a name is about it.
    pub(super) fn labelled<R>(&mut self, label: Option<ExprId>, inside: impl FnOnce(&mut Self) -> R) -> R {
        let Some(label) = label else { return inside(self) };
        self.block_before = Some(label);
        let done = inside(self);
        self.block_before = Some(label);
        done
    }

    /// Both sides of an operator; a width beside a share is a share itself.
    pub(super) fn operands(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> [Expr; 2] {
        let Some(outer) = self.assertion else { return [left, right].map(|side| self.expression(side)) };
        let compares = op.binding() == BinaryOp::Less.binding();
        if compares {
            self.fitting_bound(left, right);
            self.fitting_bound(right, left);
        }
        // As in other conditions, `width(p99) < 0.05` is five per cent.
        let is_share = |width: ExprId, side: ExprId| match self.literal_kind(side) {
            Some(LiteralKind::Share) => self.compared(width).is_some(),
            Some(LiteralKind::Float | LiteralKind::Int) => {
                matches!(self.compared(width), Some(Compared::Width(_)))
            }
            _ => false,
        };
        let share = compares && (is_share(left, right) || is_share(right, left));
        self.assertion = Some(Assertion { share, ..outer });
        let both = [left, right].map(|side| self.expression(side));
        self.assertion = Some(outer);
        both
    }

    /// Reports a bound that is of another kind than the quantity.
    fn fitting_bound(&mut self, quantity: ExprId, bound: ExprId) {
        let (Some(compared), Some(kind)) = (self.compared(quantity), self.literal_kind(bound)) else {
            return;
        };
        let told = compared.to_string();
        let is_time = !matches!(compared, Compared::EffectiveN(_)) && compared.estimate().is_time();
        let is_width = matches!(compared, Compared::Width(_));
        let help = match kind {
            LiteralKind::Share if is_width => return,
            LiteralKind::Share => format!("only a width is compared with a share: `width({told}) < 5%`"),
            LiteralKind::Duration if is_time => return,
            LiteralKind::Duration => format!("`{told}` is a number: `{told} > 1000`"),
            LiteralKind::Int | LiteralKind::Float if !is_time => return,
            LiteralKind::Int | LiteralKind::Float if is_width => {
                let share = self.known(bound).and_then(|value| value.float()).unwrap_or(0.0);
                if share < 1.0 {
                    return;
                }
                format!("as a share {share} is {}%; write `{told} < {share}%`", 100.0 * share)
            }
            _ if is_width => format!("write a share, `{told} < 5%`, or a time, `{told} < 5ms`"),
            _ if is_time => format!("`{told}` is a time, and a time needs a unit: `{told} < 5ms`"),
            _ => format!("write a number: `{told} > 1000`"),
        };
        let message = format!("`{told}` cannot be compared with {}", kind.name());
        self.push(Diagnostic::error(DiagnosticCode::WrongKind, self.tree.span(bound), message).help(help));
    }

    /// What an expression is of the quantities of conditions.
    pub(super) fn compared(&self, id: ExprId) -> Option<Compared> {
        match self.tree.expr_kind(id) {
            ExprKind::Estimate(word, _) => Compared::of_word(self.name(word)),
            ExprKind::Call(Callee::Function(Function::Max), arguments) => {
                self.is_name_alone(arguments).then_some(Compared::Value(Estimate::Slowest))
            }
            ExprKind::Call(Callee::Function(function), arguments) if arguments.len() == 1 => {
                Compared::of_word(function.spec().name)
            }
            ExprKind::Call(Callee::Named(word), arguments) if !self.is_function(word) => {
                let inner = || self.compared(arguments.get(0)?).map(Compared::estimate);
                match self.name(word) {
                    "width" => inner().map(Compared::Width),
                    "n_eff" if arguments.get(0).is_some_and(|id| self.compared(id).is_some()) => {
                        inner().map(Compared::EffectiveN)
                    }
                    other => Compared::of_word(other),
                }
            }
            ExprKind::Parens(inner) => self.compared(inner),
            _ => None,
        }
    }

    fn is_function(&self, word: Symbol) -> bool {
        self.survey.function_numbers.contains_key(&word)
    }

    fn is_name_alone(&self, arguments: Exprs) -> bool {
        arguments.len() == 1 && arguments.get(0).is_some_and(|only| self.is_literal_text(only))
    }

    /// `p99`, `iops of read`
    pub(super) fn estimate(&mut self, word: Symbol, name: Option<ExprId>, span: Span) -> Expr {
        match Compared::of_word(self.name(word)) {
            Some(quantity) => self.estimated(quantity, name, span),
            None => Expr::Int(0),
        }
    }

    /// `max("read")` in an `assert`: the function `max` of one text means nothing else.
    pub(super) fn estimate_of_function(
        &mut self,
        function: Function,
        arguments: Exprs,
        span: Span,
    ) -> Option<Expr> {
        let is_longest =
            function == Function::Max && self.assertion.is_some() && self.is_name_alone(arguments);
        is_longest.then(|| self.estimated(Compared::Value(Estimate::Slowest), arguments.get(0), span))
    }

    /// `iops("read")`, `p99.9("read")`, `width(p99 of read)`: what is no function of the program.
    pub(super) fn estimate_of_call(&mut self, name: &str, arguments: Exprs, span: Span) -> Option<Expr> {
        let about: Option<fn(Estimate) -> Compared> = match name {
            "width" => Some(Compared::Width),
            "n_eff" => Some(Compared::EffectiveN),
            _ => None,
        };
        let only = arguments.get(0).filter(|_| arguments.len() == 1);
        if let Some((about, inner)) = about.zip(only)
            && let Some(Compared::Value(estimate)) = self.compared(inner)
        {
            let of = match self.tree.expr_kind(inner) {
                ExprKind::Estimate(_, of) => of,
                ExprKind::Call(_, arguments) => arguments.get(0),
                _ => None,
            };
            return Some(self.estimated(about(estimate), of, span));
        }
        if name == "width" {
            let message = "`width` needs one quantity in its parentheses";
            let error = Diagnostic::error(DiagnosticCode::MissingArgument, span, message);
            self.push(error.help("for instance `width(p99) < 5%`, `width(p99 of read) < 100us`"));
            return Some(Expr::Int(0));
        }
        if !is_quantity(name) {
            return None;
        }
        let quantity = Compared::of_word(name)?;
        if only.is_none() {
            let message = format!("`{name}` takes one label or operation, not {}", arguments.len());
            let error = Diagnostic::error(DiagnosticCode::MissingArgument, span, message);
            self.push(
                error.help(format!("for instance `{name}(\"read\")`; `{name}` alone is of the block before")),
            );
            return Some(Expr::Int(0));
        }
        Some(self.estimated(quantity, only, span))
    }

    fn refused(&mut self, span: Span, message: String, help: String) -> Expr {
        self.push(Diagnostic::error(DiagnosticCode::Misplaced, span, message).help(help));
        Expr::Int(0)
    }

    fn estimated(&mut self, quantity: Compared, name: Option<ExprId>, span: Span) -> Expr {
        let estimate = quantity.estimate();
        if let Some(help) = judged_elsewhere(estimate) {
            return self.refused(span, format!("`{quantity}` is not judged in a program"), help.into());
        }
        let is_interval = !matches!(quantity, Compared::Value(_));
        if is_interval && !matches!(estimate, Estimate::Quantile(_)) {
            let help = "of p50, p90, p99, p99.9 and p99.99: `width(p99) < 5%`".to_owned();
            return self.refused(span, format!("`{estimate}` has no interval"), help);
        }
        if let Estimate::Quantile(probability) = estimate
            && (is_interval || name.is_none())
            && !OF_ANSWERS.contains(&probability)
        {
            let help = match is_interval {
                true => "the answer has p50, p90, p99, p99.9 and p99.99".to_owned(),
                false => format!(
                    "name what it is of: `{quantity}(\"read\")`; the answer has p50, p90, p99, p99.9 and p99.99"
                ),
            };
            return self.refused(span, format!("the answer has no `{quantity}`"), help);
        }
        let Some(Assertion { each, share }) = self.assertion else {
            let help = format!("`assert {quantity} …;` is judged then");
            return self.refused(span, format!("`{quantity}` is known when the run ends"), help);
        };
        let by_rank = !is_interval && (estimate.is_time() || estimate == Estimate::Count);
        if each && !(by_rank && name.is_some()) {
            let help = match by_rank {
                true => format!("name what it is of: `{quantity}(\"read\")`"),
                false => "leave `each` out: it is of all ranks together".to_owned(),
            };
            return self.refused(span, format!("`{quantity}` is not judged by each rank alone"), help);
        }
        let text = if share && matches!(quantity, Compared::Width(_)) {
            format!("{quantity} %")
        } else {
            quantity.to_string()
        };
        let Some((scope, name)) = self.scope(quantity, name, span) else { return Expr::Int(0) };
        let mut arguments = vec![Expr::Text(self.add_text(&text)), Expr::Text(self.add_text(scope.word()))];
        arguments.extend(name);
        let (first, count) = (self.push_exprs(&arguments), arguments.len() as u32);
        let target = Function::Estimate as u32;
        self.code.calls.push(CompiledCall { target, first, count, site: SiteId(0) });
        Expr::Function(self.code.calls.len() as u32 - 1)
    }

    /// What a quantity is of: what is named, the block before, or the run.
    fn scope(
        &mut self,
        quantity: Compared,
        name: Option<ExprId>,
        span: Span,
    ) -> Option<(Scope, Option<Expr>)> {
        let Some(name) = name else {
            let Some(label) = self.block_before else { return Some((Scope::Run, None)) };
            let raw = self.tree.raw_text(label, self.text).0;
            if self.tree.expr_kind(label) != ExprKind::Text || !template::is_plain(raw) {
                let help = format!("name what it is of: `{quantity} of \"label\"`");
                self.refused(span, "the label of the block before is only known in the run".into(), help);
                return None;
            }
            return Some((Scope::Block, Some(self.expression(label))));
        };
        let named = match self.tree.expr_kind(name) {
            ExprKind::Word(word) => {
                let text = self.name(word).to_owned();
                self.asked.push((self.tree.span(name), text.clone()));
                Expr::Text(self.add_text(&text))
            }
            _ => {
                self.ask_for(name);
                self.expression(name)
            }
        };
        Some((Scope::Named, Some(named)))
    }

    /// `5%`, `1000/s`
    pub(super) fn bound(&mut self, id: ExprId, unit: BoundUnit, number: ExprId) -> Expr {
        let share = self.assertion.is_some_and(|assertion| assertion.share);
        if unit == BoundUnit::PerSecond {
            return self.expression(number);
        }
        let value = self.known(id);
        match value.filter(|_| share) {
            Some(value) => self.constant(value),
            None => {
                let help = "in a program it stands beside a width: `width(p99) < 5%`".to_owned();
                self.refused(self.tree.span(id), "this share is compared with nothing".into(), help)
            }
        }
    }
}
