//! Keeps assertions about samples during a run and judges them afterwards.
//!
//! A rank cannot evaluate an `assert` about `p99("read")` and the like alone, since the samples of the other
//! ranks count too. It therefore keeps a [`Claim`]: the parts of the condition that it can evaluate, with
//! their values. The collector of all samples judges it with [`judge`].

mod words;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arithmetic;
use crate::code::{Code, Expr, ExprIndex, Step, spell};
use crate::commands::{Function, FunctionKind};
use crate::condition::{AskedAnswer, Compared, Estimate, Scope, estimate_of};
use crate::plan::Plan;
use crate::statistic::{Statistic, Times};
use crate::syntax::BinaryOp;
use crate::value::Value;

pub use words::words;

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
    /// Its value.
    pub value: Value,
    /// Its value for service times, if response times were requested and operations began late.
    pub service: Option<Value>,
    /// What it is of: the samples of a name, or of a part of the answer.
    pub of: EvidenceOf,
}

/// What a value of evidence is of.
#[derive(Clone, Debug, PartialEq)]
pub enum EvidenceOf {
    /// It counts samples itself.
    Counted,
    /// So many samples.
    Samples(u64),
    /// So many samples of a block, with all that is done in it.
    Blocks(u64),
    /// The answer of a run.
    Answer {
        /// The quantity.
        quantity: Compared,
        /// Whether the value is a share.
        share: bool,
        /// The part of the answer: `read / fread`.
        part: String,
        /// The values that it is of.
        values: u64,
    },
}

/// What the answer of a run says.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The value, times in seconds; infinite where an interval has no end.
    pub value: f64,
    /// The part of the answer: `read / fread`.
    pub part: String,
    /// The values that it is of.
    pub values: u64,
}

/// What assertions are judged by: samples, and the answer that is made of them.
pub trait Measured {
    /// A statistic of the samples with a label or of an operation, times in seconds; `None` if there are none.
    fn statistic(&mut self, name: &str, statistic: Statistic, times: Times) -> Option<f64>;

    /// Whether that label is one of a block: its samples are of all that is done in it.
    fn is_block(&self, _name: &str) -> bool {
        false
    }

    /// A quantity of the answer.
    ///
    /// # Errors
    /// Why there is none.
    fn answer(&mut self, asked: &AskedAnswer) -> Result<Answered, String> {
        Err(format!("`{}` is only known when the run ends", asked.quantity))
    }
}

impl<F: FnMut(&str, Statistic, Times) -> Option<f64>> Measured for F {
    fn statistic(&mut self, name: &str, statistic: Statistic, times: Times) -> Option<f64> {
        self(name, statistic, times)
    }
}

/// What a function refers to.
pub(crate) enum Asked {
    /// A statistic of samples.
    Samples {
        statistic: Statistic,
        times: Times,
        /// The label or operation.
        name: String,
    },
    /// A quantity of the answer.
    Answer(AskedAnswer),
}

/// What `p99`, `iops of read` and the like refer to.
fn asked_estimate(values: &[Value]) -> Result<Asked, String> {
    let text = |at: usize| values.get(at).map(ToString::to_string).unwrap_or_default();
    let found = estimate_of(&text(0), &text(1)).ok_or("an unknown quantity")?;
    let (quantity, share, scope) = found;
    let name = text(2);
    let statistic = match (quantity, scope) {
        (Compared::Value(Estimate::Quantile(q)), Scope::Named) => Some(Statistic::Quantile(q)),
        (Compared::Value(Estimate::Mean | Estimate::Latency), Scope::Named) => Some(Statistic::Mean),
        (Compared::Value(Estimate::Slowest), Scope::Named) => Some(Statistic::Slowest),
        (Compared::Value(Estimate::Count), Scope::Named) => Some(Statistic::Count),
        _ => None,
    };
    Ok(match statistic {
        Some(statistic) => Asked::Samples { statistic, times: Times::default(), name },
        None => Asked::Answer(AskedAnswer { quantity, share, scope, name }),
    })
}

/// What a function refers to; `None` if it refers to none.
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
        Function::Estimate => return Some(asked_estimate(values)),
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
    Some(Ok(Asked::Samples { statistic, times, name }))
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

/// Judges whether the claim holds by what was measured.
///
/// # Errors
/// Why it cannot be judged: no such samples, or kinds that cannot be combined.
pub fn judge(
    plan: &Plan,
    claim: &Claim,
    measured: &mut dyn Measured,
) -> Result<(bool, Vec<ClaimEvidence>), String> {
    let mut judge = Judge { code: &plan.code, claim, measured, evidence: Vec::new() };
    let holds = judge.value(claim.condition)?.truth();
    Ok((holds, judge.evidence))
}

struct Judge<'a> {
    code: &'a Code,
    claim: &'a Claim,
    measured: &'a mut dyn Measured,
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
        let (statistic, times, name) = match asked {
            Asked::Samples { statistic, times, name } => (statistic, times, name),
            Asked::Answer(asked) => return self.ask_answer(index, asked),
        };
        let mut look = |statistic: Statistic, times: Times| {
            statistic_value(statistic, self.measured.statistic(name, statistic, times))
        };
        let Some(value) = look(*statistic, *times) else {
            return Err(format!("there is no sample of \"{name}\" that succeeded"));
        };
        let service = look(*statistic, Times::Service).filter(|service| *service != value);
        let samples = match look(Statistic::Count, *times) {
            Some(Value::Int(count)) => count.max(0) as u64,
            _ => 0,
        };
        let of = match statistic {
            Statistic::Count => EvidenceOf::Counted,
            _ if self.measured.is_block(name) => EvidenceOf::Blocks(samples),
            _ => EvidenceOf::Samples(samples),
        };
        self.keep(index, &value, service, of);
        Ok(value)
    }

    fn ask_answer(&mut self, index: ExprIndex, asked: &AskedAnswer) -> Result<Value, String> {
        let Answered { value, part, values } = self.measured.answer(asked)?;
        let AskedAnswer { quantity, share, .. } = *asked;
        let is_time = !matches!(quantity, Compared::EffectiveN(_)) && quantity.estimate().is_time();
        let value = match quantity {
            Compared::Value(Estimate::Count) => Value::Int(value as i64),
            _ if is_time && !share => Value::Duration((value * 1e9).round() as i64),
            _ => Value::Float(value),
        };
        self.keep(index, &value, None, EvidenceOf::Answer { quantity, share, part, values });
        Ok(value)
    }

    fn keep(&mut self, index: ExprIndex, value: &Value, service: Option<Value>, of: EvidenceOf) {
        let words = spell(self.code, index, false, &|_| "…".into());
        if !self.evidence.iter().any(|known| known.words == words) {
            self.evidence.push(ClaimEvidence { words, value: value.clone(), service, of });
        }
    }
}

/// Whether the program asks anywhere for what its samples came to, so that every one must be kept.
pub fn needs_samples(plan: &Plan) -> bool {
    plan.code.exprs.iter().any(|expr| match expr {
        Expr::Function(at) => plan.code.calls[*at as usize].function().spec().kind == FunctionKind::Samples,
        _ => false,
    })
}

/// What is asserted, as program text.
pub fn text(plan: &Plan, claim: &Claim) -> String {
    spell(&plan.code, claim.condition, false, &|_| "the variable".into())
}
