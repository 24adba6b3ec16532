//! Assertions about samples: what a rank keeps of them, and how they are judged when the run is over.
//!
//! Where an `assert` asks for `p99("read")` and its kin, a rank cannot answer alone: the samples of the
//! others count as well. So the rank keeps a [`Claim`]: everything in the condition that has a value
//! there and then. Whoever has all samples judges it with [`judge`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arithmetic;
use crate::code::{Code, Expr, ExprIndex, spell};
use crate::commands::Function;
use crate::plan::Plan;
use crate::statistic::Statistic;
use crate::syntax::BinaryOp;
use crate::value::Value;

/// An assertion about samples, as one rank came to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Claim {
    /// The condition: an index into [`Code::exprs`].
    pub condition: ExprIndex,
    /// The step of the `assert`, for its place.
    pub step: u32,
    /// The group around it: an index into [`Plan::groups`].
    pub group: u32,
    /// The parts of the condition that ask for no samples, with their values.
    pub parts: Vec<(ExprIndex, Part)>,
}

/// A value that can be kept.
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
    /// Why there is none.
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

/// What an assertion rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// As the program asks for it: `p99("read")`.
    pub words: String,
    /// What it is.
    pub value: Value,
    /// Over how many samples.
    pub samples: u64,
}

/// The statistic that a function asks for, and of which samples; `None`: it asks for none.
pub(crate) fn statistic_of(
    function: Function,
    values: &[Value],
) -> Option<Result<(Statistic, String), String>> {
    let name = |at: usize| values.get(at).map(ToString::to_string).unwrap_or_default();
    let statistic = match function {
        Function::Quantile => {
            return Some(match values[0].float() {
                Some(q) if (0.0..=1.0).contains(&q) => Ok((Statistic::Quantile(q), name(1))),
                _ => Err(format!("`quantile` needs a number from 0 to 1, not {}", values[0])),
            });
        }
        Function::P50 => Statistic::Quantile(0.5),
        Function::P90 => Statistic::Quantile(0.9),
        Function::P99 => Statistic::Quantile(0.99),
        Function::P999 => Statistic::Quantile(0.999),
        Function::Mean => Statistic::Mean,
        Function::Slowest => Statistic::Slowest,
        Function::Count => Statistic::Count,
        _ => return None,
    };
    Some(Ok((statistic, name(0))))
}

/// A statistic as a value: times are durations, counts integers. `None`: no samples.
pub(crate) fn statistic_value(statistic: Statistic, found: Option<f64>) -> Option<Value> {
    match (statistic, found) {
        (Statistic::Count, found) => Some(Value::Int(found.unwrap_or(0.0) as i64)),
        (_, found) => found.map(|seconds| Value::Duration((seconds * 1e9).round() as i64)),
    }
}

/// Does the function ask for samples?
fn asks(function: Function) -> bool {
    use Function as F;
    matches!(function, F::Quantile | F::P50 | F::P90 | F::P99 | F::P999 | F::Mean | F::Slowest | F::Count)
}

/// What an expression needs to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// A rank knows its value.
    Nothing,
    /// Samples, and operators that anyone can apply.
    Samples,
    /// Samples inside something that only a rank can do, such as a call of a function of the program.
    Both,
}

fn needs(code: &Code, index: ExprIndex) -> Needs {
    let all = |first: ExprIndex, count: u32| {
        (first..first + count).map(|at| needs(code, at)).fold(Needs::Nothing, |a, b| match (a, b) {
            (Needs::Both, _) | (_, Needs::Both) => Needs::Both,
            (Needs::Samples, _) | (_, Needs::Samples) => Needs::Samples,
            _ => Needs::Nothing,
        })
    };
    let alone = |found: Needs| if found == Needs::Nothing { found } else { Needs::Both };
    match code.exprs[index as usize] {
        Expr::Unary(_, operand) => needs(code, operand),
        Expr::Binary(_, first) | Expr::Index(first) => all(first, 2),
        Expr::Choice(first) => all(first, 3),
        Expr::List(at) => all(code.calls[at as usize].first, code.calls[at as usize].count),
        Expr::Function(at) => {
            let call = code.calls[at as usize];
            let arguments = all(call.first, call.count);
            if asks(call.function()) {
                if arguments == Needs::Nothing { Needs::Samples } else { Needs::Both }
            } else if call.function().spec().random {
                alone(arguments)
            } else {
                arguments
            }
        }
        Expr::Command(at) | Expr::Call(at) => {
            alone(all(code.calls[at as usize].first, code.calls[at as usize].count))
        }
        _ => Needs::Nothing,
    }
}

/// Is the condition a claim about samples that others can judge?
pub(crate) fn is_claim(code: &Code, condition: ExprIndex) -> bool {
    needs(code, condition) == Needs::Samples
}

/// The largest parts of the condition that ask for no samples, in the order of the text.
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
    let (first, count) = match code.exprs[index as usize] {
        Expr::Unary(_, operand) => (operand, 1),
        Expr::Binary(_, first) | Expr::Index(first) => (first, 2),
        Expr::Choice(first) => (first, 3),
        Expr::List(at) | Expr::Function(at) => (code.calls[at as usize].first, code.calls[at as usize].count),
        _ => (0, 0),
    };
    (first..first + count).for_each(|at| collect(code, at, out));
}

/// Does the claim hold? `look` gives statistics of the samples it is about, times in seconds, by label or
/// operation; `None` where there are no such samples.
///
/// # Errors
/// Why that cannot be said: no such samples, kinds that do not go together.
pub fn judge(
    plan: &Plan,
    claim: &Claim,
    look: &mut dyn FnMut(&str, Statistic) -> Option<f64>,
) -> Result<(bool, Vec<Evidence>), String> {
    let mut judge = Judge { code: &plan.code, claim, look, evidence: Vec::new() };
    let holds = judge.value(claim.condition)?.truth();
    Ok((holds, judge.evidence))
}

struct Judge<'a> {
    code: &'a Code,
    claim: &'a Claim,
    look: &'a mut dyn FnMut(&str, Statistic) -> Option<f64>,
    evidence: Vec<Evidence>,
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
                    _ => arithmetic::binary(op, &left, &self.value(first + 1)?, code.classic),
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
                match statistic_of(call.function(), &values) {
                    Some(asked) => {
                        let (statistic, name) = asked?;
                        self.ask(index, statistic, &name)
                    }
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

    fn ask(&mut self, index: ExprIndex, statistic: Statistic, name: &str) -> Result<Value, String> {
        let found = (self.look)(name, statistic);
        let samples = (self.look)(name, Statistic::Count).unwrap_or(0.0) as u64;
        let Some(value) = statistic_value(statistic, found) else {
            return Err(format!("there are no samples of \"{name}\""));
        };
        let words = spell(self.code, index, false, &|_| "…".into());
        if !self.evidence.iter().any(|known| known.words == words) {
            self.evidence.push(Evidence { words, value: value.clone(), samples });
        }
        Ok(value)
    }
}

/// What the claim rests on, in words: `p99("read") is 6.1ms over 4,000 samples`.
pub fn words(evidence: &[Evidence]) -> String {
    let one = |evidence: &Evidence| {
        let samples = samples::units::count(evidence.samples);
        if evidence.words.starts_with("count(") {
            return format!("{} is {}", evidence.words, evidence.value);
        }
        let value = match &evidence.value {
            Value::Duration(ns) => samples::units::duration(*ns as f64 * 1e-9),
            other => other.to_string(),
        };
        let plural = if evidence.samples == 1 { "" } else { "s" };
        format!("{} is {value} over {samples} sample{plural}", evidence.words)
    };
    evidence.iter().map(one).collect::<Vec<_>>().join(", ")
}
