//! Finds constants that a statement cannot use, which would otherwise stop the run.

use std::sync::Arc;

use crate::arithmetic;
use crate::claim;
use crate::commands::Function;
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::number::Number;
use crate::statistic::Times;
use crate::syntax::{BinaryOp, BoundUnit, Callee, ExprId, ExprKind, Exprs, template};
use crate::value::Value;

use super::checker::Checker;

impl Checker<'_> {
    /// The value of an expression of literals; `None` for any other expression, or if it has no value.
    pub(super) fn known(&self, id: ExprId) -> Option<Value> {
        self.evaluated(id)?.ok()
    }

    /// As [`Checker::known`], with the reason if it has no value.
    fn evaluated(&self, id: ExprId) -> Option<Result<Value, String>> {
        let classic = self.tree.classic;
        Some(match self.tree.expr_kind(id) {
            ExprKind::Number(number) => Ok(Number::from(number).into()),
            ExprKind::Text => {
                let raw = self.tree.raw_text(id, self.text).0;
                if !template::is_plain(raw) {
                    return None;
                }
                Ok(Value::Text(raw.into()))
            }
            ExprKind::Parens(inner) | ExprKind::Unit(BoundUnit::PerSecond, inner) => {
                return self.evaluated(inner);
            }
            ExprKind::Unit(BoundUnit::Percent, inner) => {
                Ok(Value::Float(self.known(inner)?.float()? / 100.0))
            }
            ExprKind::Unary(op, inner) => arithmetic::unary(op, &self.known(inner)?),
            // Their right side may never be evaluated.
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, ..) => return None,
            ExprKind::Binary(op, left, right) => {
                arithmetic::binary(op, &self.known(left)?, &self.known(right)?, classic).map_err(String::from)
            }
            // Of samples, not of the text.
            ExprKind::Call(..) if self.assertion.is_some() && self.compared(id).is_some() => return None,
            ExprKind::Call(Callee::Function(function), arguments) => {
                let spec = function.spec();
                if function == Function::Range || !(spec.least..=spec.most).contains(&arguments.len()) {
                    return None;
                }
                return arithmetic::function(function, &self.all_known(arguments)?);
            }
            ExprKind::List(items) => Ok(Value::List(Arc::new(self.all_known(items)?))),
            ExprKind::Error
            | ExprKind::Variable(_)
            | ExprKind::Builtin(_)
            | ExprKind::Environment(_)
            | ExprKind::Word(_)
            | ExprKind::Choice(..)
            | ExprKind::Estimate(..)
            | ExprKind::Call(..)
            | ExprKind::Index(..) => return None,
        })
    }

    fn all_known(&self, items: Exprs) -> Option<Vec<Value>> {
        items.iter().map(|item| self.known(item)).collect()
    }

    /// Reports an operator or function whose operands are literals that cannot be combined.
    pub(super) fn constant_operands(&mut self, id: ExprId) {
        if let Some(Err(message)) = self.evaluated(id) {
            self.push(Diagnostic::error(DiagnosticCode::Evaluation, self.tree.span(id), message));
        }
    }

    fn cannot_use(&mut self, id: ExprId, message: String, help: &str) {
        let error = Diagnostic::error(DiagnosticCode::BadConstant, self.tree.span(id), message);
        self.push(error.help(help));
    }

    /// Checks a constant that must be an integer within bounds.
    pub(super) fn whole(&mut self, id: ExprId, what: &str, (least, most): (i64, i64)) {
        let Some(value) = self.known(id) else { return };
        let number = value.integer().filter(|_| !matches!(value, Value::Duration(_)));
        let bounds = match most {
            i64::MAX => format!("{least} or more"),
            _ => format!("{least} to {most}"),
        };
        match number {
            Some(number) if (least..=most).contains(&number) => {}
            Some(number) => {
                self.cannot_use(id, format!("{what} must be {bounds}, not {number}"), "give another number")
            }
            None => {
                self.cannot_use(id, format!("{what} must be a number, not {}", value.kind()), "give a number")
            }
        }
    }

    /// Checks the three parts of a range: numbers, the step not 0.
    pub(super) fn range_parts(&mut self, from: ExprId, to: ExprId, step: Option<ExprId>) {
        self.whole(from, "the beginning of a range", (i64::MIN, i64::MAX));
        self.whole(to, "the end of a range", (i64::MIN, i64::MAX));
        let Some(step) = step else { return };
        self.whole(step, "the step of a range", (i64::MIN, i64::MAX));
        if self.known(step).and_then(|value| value.integer()) == Some(0) {
            self.cannot_use(step, "the step of a range must not be 0".into(), "omit `step` to count by 1");
        }
    }

    /// Checks the list of a `for`.
    pub(super) fn list(&mut self, id: ExprId) {
        if let Some(value) = self.known(id).filter(|value| !matches!(value, Value::List(_))) {
            let message = format!("`for` needs a list or a range, not {}", value.kind());
            self.cannot_use(id, message, "the forms are `for $i in 0..10 …` and `for $x in [1, 2] …`");
        }
    }

    /// Checks the operations per second of `rate`.
    pub(super) fn pace(&mut self, id: ExprId) {
        let Some(value) = self.known(id) else { return };
        let rate = value.float().filter(|_| !matches!(value, Value::Duration(_)));
        if !rate.is_some_and(|rate| rate > 0.0 && rate.is_finite()) {
            let message = format!("a rate must be a number above 0, not {value}");
            self.cannot_use(id, message, "the form is `rate 1000/s { … }`");
        }
    }

    /// Checks the probability of `quantile`, and the times (response or service) that a statistic names.
    pub(super) fn asked_statistic(&mut self, function: Function, arguments: Exprs) {
        let of_share = function == Function::Quantile;
        if let Some((share, value)) =
            arguments.get(0).filter(|_| of_share).and_then(|id| Some((id, self.known(id)?)))
            && !value.float().is_some_and(|share| (0.0..=1.0).contains(&share))
        {
            self.cannot_use(
                share,
                claim::no_share(&value),
                "the 99% quantile is `quantile(0.99, \"label\")`",
            );
        }
        let times = arguments.get(1 + usize::from(of_share));
        if let Some((times, value)) = times.and_then(|id| Some((id, self.known(id)?))) {
            let word = value.to_string();
            if Times::find(&word).is_none() {
                let message = claim::unknown_times(function, &word);
                self.cannot_use(times, message, "omit it for response times");
            }
        }
    }

    /// Checks the weights of `choose`.
    pub(super) fn weights(&mut self, weights: Exprs) {
        let mut sum = Some(0.0);
        for id in weights.iter() {
            let value = self.known(id);
            let weight = value.as_ref().and_then(Value::float);
            if let Some(value) = &value
                && !weight.is_some_and(|weight| weight >= 0.0 && weight.is_finite())
            {
                let message = format!("a weight must be a number of 0 or more, not {value}");
                self.cannot_use(id, message, "omit bodies that are never to be chosen");
                return;
            }
            sum = sum.zip(weight).map(|(sum, weight)| sum + weight);
        }
        if let (Some(0.0), Some(first)) = (sum, weights.get(0)) {
            let message = "the sum of the weights of `choose` is 0".to_owned();
            self.cannot_use(first, message, "give at least one of them a weight above 0");
        }
    }
}
