//! Keeps assertions about samples during a run and judges them afterwards.
//!
//! A rank cannot evaluate an `assert` about `p99("read")` and the like alone, since the samples of the other
//! ranks count too. It therefore keeps a [`Claim`]: the parts of the condition that it can evaluate, with
//! their values. The collector of all samples judges it with [`judge`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arithmetic;
use crate::code::{Code, Expr, ExprIndex, Step, spell};
use crate::commands::{Function, FunctionKind};
use crate::plan::Plan;
use crate::statistic::{Statistic, Times};
use crate::syntax::BinaryOp;
use crate::value::Value;

/// An assertion about samples, recorded by one rank when it reached it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// The condition: an index into [`Code::exprs`].
    pub condition: ExprIndex,
    /// The step of the `assert`, for its position.
    pub step: u32,
    /// The enclosing group: an index into [`Plan::groups`].
    pub group: u32,
    /// The parts of the condition that do not refer to samples, with their values.
    pub parts: Vec<(ExprIndex, Part)>,
}

/// A value that can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Part {
    /// No value.
    Nothing,
    /// An integer.
    Int(i64),
    /// The bits of a float.
    Float(u64),
    /// Nanoseconds.
    Duration(i64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Part>),
    /// The reason why there is no value.
    Fault(String),
}

impl From<&Value> for Part {
    fn from(value: &Value) -> Self {
        match value {
            Value::Unset => Part::Nothing,
            Value::Int(v) => Part::Int(*v),
            Value::Float(v) => Part::Float(v.to_bits()),
            Value::Duration(v) => Part::Duration(*v),
            Value::Text(text) => Part::Text(text.to_string()),
            Value::File(v) | Value::Buffer(v) => Part::Int(i64::from(*v)),
            Value::List(items) => Part::List(items.iter().map(Part::from).collect()),
        }
    }
}

impl Part {
    fn value(&self) -> Result<Value, String> {
        Ok(match self {
            Part::Nothing => Value::Unset,
            Part::Int(v) => Value::Int(*v),
            Part::Float(bits) => Value::Float(f64::from_bits(*bits)),
            Part::Duration(v) => Value::Duration(*v),
            Part::Text(text) => Value::Text(text.as_str().into()),
            Part::List(items) => {
                Value::List(Arc::new(items.iter().map(Part::value).collect::<Result<_, _>>()?))
            }
            Part::Fault(why) => return Err(why.clone()),
        })
    }
}

/// A statistic that the judgement of an assertion used.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimEvidence {
    /// The expression in the program: `p99("read")`.
    pub words: String,
    /// Which statistic that is.
    pub statistic: Statistic,
    /// Its value.
    pub value: Value,
    /// Its value for service times, if response times were requested and operations began late.
    pub service: Option<Value>,
    /// The number of samples.
    pub samples: u64,
}

/// A statistic that a function refers to.
pub(crate) struct Asked {
    pub(crate) statistic: Statistic,
    pub(crate) times: Times,
    /// The label or operation.
    pub(crate) name: String,
}

/// The statistic that a function refers to; `None` if it refers to none.
pub(crate) fn asked(function: Function, values: &[Value]) -> Option<Result<Asked, String>> {
    let (statistic, first) = match function {
        Function::Quantile => match values[0].float() {
            Some(q) if (0.0..=1.0).contains(&q) => (Statistic::Quantile(q), 1),
            _ => return Some(Err(no_share(&values[0]))),
        },
        Function::P50 => (Statistic::Quantile(0.5), 0),
        Function::P90 => (Statistic::Quantile(0.9), 0),
        Function::P99 => (Statistic::Quantile(0.99), 0),
        Function::P999 => (Statistic::Quantile(0.999), 0),
        Function::Mean => (Statistic::Mean, 0),
        Function::Slowest => (Statistic::Slowest, 0),
        Function::Count => (Statistic::Count, 0),
        _ => return None,
    };
    let text = |at: usize| values.get(at).map(ToString::to_string);
    let name = text(first).unwrap_or_default();
    let times = match text(first + 1) {
        None => Times::default(),
        Some(word) => match Times::find(&word) {
            Some(times) => times,
            None => return Some(Err(unknown_times(function, &word))),
        },
    };
    Some(Ok(Asked { statistic, times, name }))
}

/// Message for an unknown kind of times of a statistic.
pub(crate) fn unknown_times(function: Function, word: &str) -> String {
    format!("`{}` accepts \"response\" or \"service\" times, not \"{word}\"", function.spec().name)
}

/// Message for a probability out of range.
pub(crate) fn no_share(value: &Value) -> String {
    format!("`quantile` needs a number from 0 to 1, not {value}")
}

/// A statistic as a value: times are durations, counts are integers. `None` without samples.
pub(crate) fn statistic_value(statistic: Statistic, found: Option<f64>) -> Option<Value> {
    match (statistic, found) {
        (Statistic::Count, found) => Some(Value::Int(found.unwrap_or(0.0) as i64)),
        (_, found) => found.map(|seconds| Value::Duration((seconds * 1e9).round() as i64)),
    }
}

/// What the evaluation of an expression needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Only what a rank knows.
    Nothing,
    /// Samples and operators.
    Samples,
    /// Samples inside something that only a rank can evaluate, such as a call of a function of the program.
    Both,
}

fn needs(code: &Code, index: ExprIndex) -> Needs {
    let operands = code.operands(index).map(|at| needs(code, at)).fold(Needs::Nothing, |a, b| match (a, b) {
        (Needs::Both, _) | (_, Needs::Both) => Needs::Both,
        (Needs::Samples, _) | (_, Needs::Samples) => Needs::Samples,
        (Needs::Nothing, Needs::Nothing) => Needs::Nothing,
    });
    let on_rank = if operands == Needs::Nothing { Needs::Nothing } else { Needs::Both };
    match code.exprs[index as usize] {
        Expr::Function(at) => match (code.calls[at as usize].function().spec().kind, operands) {
            (FunctionKind::Samples, Needs::Nothing) => Needs::Samples,
            (FunctionKind::Samples, Needs::Samples | Needs::Both) => Needs::Both,
            (FunctionKind::Draws, _) => on_rank,
            (FunctionKind::Pure, operands) => operands,
        },
        Expr::Command(_) | Expr::Call(_) => on_rank,
        Expr::Int(_)
        | Expr::Constant(_)
        | Expr::Text(_)
        | Expr::Template(_)
        | Expr::Slot(_)
        | Expr::Builtin(_)
        | Expr::Environment(_)
        | Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Choice(_)
        | Expr::List(_)
        | Expr::Index(_) => operands,
    }
}

/// Whether the condition is a claim about samples that can be judged after the run.
pub(crate) fn is_claim(code: &Code, condition: ExprIndex) -> bool {
    needs(code, condition) == Needs::Samples
}

/// All assertions of a program: the step of each and its text.
pub fn assertions(code: &Code) -> Vec<(u32, String)> {
    let asserted = |(at, step): (usize, &Step)| match step {
        Step::Assert { condition, .. } => {
            Some((at as u32, spell(code, *condition, false, &|_| "the variable".into())))
        }
        _ => None,
    };
    code.steps.iter().enumerate().filter_map(asserted).collect()
}

/// The largest parts of the condition that do not refer to samples, in the order of the text.
pub(crate) fn parts_of(code: &Code, condition: ExprIndex) -> Vec<ExprIndex> {
    let mut out = Vec::new();
    collect(code, condition, &mut out);
    out
}

fn collect(code: &Code, index: ExprIndex, out: &mut Vec<ExprIndex>) {
    if needs(code, index) == Needs::Nothing {
        out.push(index);
        return;
    }
    code.operands(index).for_each(|at| collect(code, at, out));
}

/// Returns a statistic of samples by label or operation, in seconds; `None` if there are no such samples.
pub type Look<'a> = dyn FnMut(&str, Statistic, Times) -> Option<f64> + 'a;

/// Judges whether the claim holds. `look` returns statistics of the samples, times in seconds, by label or
/// operation, and `None` if there are no such samples.
///
/// # Errors
/// Why it cannot be judged: no such samples, or kinds that cannot be combined.
pub fn judge(plan: &Plan, claim: &Claim, look: &mut Look<'_>) -> Result<(bool, Vec<ClaimEvidence>), String> {
    let mut judge = Judge { code: &plan.code, claim, look, evidence: Vec::new() };
    let holds = judge.value(claim.condition)?.truth();
    Ok((holds, judge.evidence))
}

struct Judge<'a> {
    code: &'a Code,
    claim: &'a Claim,
    look: &'a mut Look<'a>,
    evidence: Vec<ClaimEvidence>,
}

impl Judge<'_> {
    fn value(&mut self, index: ExprIndex) -> Result<Value, String> {
        if let Some((_, part)) = self.claim.parts.iter().find(|(at, _)| *at == index) {
            return part.value();
        }
        let code = self.code;
        match code.exprs[index as usize] {
            Expr::Unary(op, operand) => arithmetic::unary(op, &self.value(operand)?),
            Expr::Binary(op, first) => {
                let left = self.value(first)?;
                match op {
                    BinaryOp::And if !left.truth() => Ok(Value::Int(0)),
                    BinaryOp::Or if left.truth() => Ok(Value::Int(1)),
                    _ => arithmetic::binary(op, &left, &self.value(first + 1)?, code.classic)
                        .map_err(String::from),
                }
            }
            Expr::Choice(first) => {
                let chosen = if self.value(first)?.truth() { first + 1 } else { first + 2 };
                self.value(chosen)
            }
            Expr::List(at) => {
                let call = code.calls[at as usize];
                Ok(Value::List(Arc::new(self.values(call.first, call.count)?)))
            }
            Expr::Index(first) => match (self.value(first)?, self.value(first + 1)?.integer()) {
                (Value::List(items), Some(at)) if at >= 0 && (at as usize) < items.len() => {
                    Ok(items[at as usize].clone())
                }
                _ => Err("there is no such item in the list".into()),
            },
            Expr::Function(at) => {
                let call = code.calls[at as usize];
                let values = self.values(call.first, call.count)?;
                match asked(call.function(), &values) {
                    Some(asked) => self.ask(index, &asked?),
                    None => arithmetic::function(call.function(), &values)
                        .unwrap_or_else(|| Err("only a rank can evaluate it".into())),
                }
            }
            _ => Err("only a rank can evaluate it".into()),
        }
    }

    fn values(&mut self, first: ExprIndex, count: u32) -> Result<Vec<Value>, String> {
        (first..first + count).map(|at| self.value(at)).collect()
    }

    fn ask(&mut self, index: ExprIndex, asked: &Asked) -> Result<Value, String> {
        let Asked { statistic, times, name } = asked;
        let mut look = |statistic: Statistic, times: Times| {
            statistic_value(statistic, (self.look)(name, statistic, times))
        };
        let Some(value) = look(*statistic, *times) else {
            return Err(format!("there are no samples of \"{name}\""));
        };
        let service = look(*statistic, Times::Service).filter(|service| *service != value);
        let samples = match look(Statistic::Count, *times) {
            Some(Value::Int(count)) => count.max(0) as u64,
            _ => 0,
        };
        let words = spell(self.code, index, false, &|_| "…".into());
        if !self.evidence.iter().any(|known| known.words == words) {
            let (statistic, value) = (*statistic, value.clone());
            self.evidence.push(ClaimEvidence { words, statistic, value, service, samples });
        }
        Ok(value)
    }
}

/// What is asserted, as program text.
pub fn text(plan: &Plan, claim: &Claim) -> String {
    spell(&plan.code, claim.condition, false, &|_| "the variable".into())
}

/// The evidence of the claim in words: `p99("read") is 6.1ms over 4,000 samples`.
pub fn words(evidence: &[ClaimEvidence]) -> String {
    let one = |evidence: &ClaimEvidence| {
        let samples = samples::units::count(evidence.samples);
        if evidence.statistic == Statistic::Count {
            return format!("{} is {}", evidence.words, evidence.value);
        }
        let shown = |value: &Value| match value {
            Value::Duration(ns) => samples::units::duration(*ns as f64 * 1e-9),
            other => other.to_string(),
        };
        let value = shown(&evidence.value);
        let plural = if evidence.samples == 1 { "" } else { "s" };
        let service = evidence.service.as_ref().map(shown);
        let how = service
            .map_or(String::new(), |service| format!(" in response times ({service} in service times)"));
        format!("{} is {value}{how} over {samples} sample{plural}", evidence.words)
    };
    evidence.iter().map(one).collect::<Vec<_>>().join(", ")
}
