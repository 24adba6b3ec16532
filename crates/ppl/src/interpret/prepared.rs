//! Statements that are executed again and again: their arguments are taken apart once.
//!
//! Each prepared statement has arguments of its own, in which constants stay where the command finds them; open files, names
//! with variables in them, and formulas of integers, integer variables and one `uniform`, are evaluated without a [`Value`] in
//! between. Where a variable holds something else, or a result is out of its bounds, nothing has happened, and the statement is
//! evaluated as any other.

use crate::code::{Builtin, Code, Expr, ExprIndex, Piece, Slot, Template};
use crate::commands::{ArgumentSpec, Command, CommandByClass, Function, Kind};
use crate::quantity;
use crate::syntax::BinaryOp;
use crate::value::{LONGEST_TEXT, Value, integer};

use super::arguments::{self, Argument, Arguments};
use super::random::RandomSequence;

/// Programs of more steps are seldom loops; they are not looked at.
const MOST_STEPS: usize = 1 << 16;

/// Of a step that was not executed yet, once, and that cannot be prepared; what is between is a number of a prepared
/// statement and [`FIRST`].
const NEW: u32 = 0;
const ONCE: u32 = 1;
const FIRST: u32 = 2;
const NEVER: u32 = u32::MAX;

/// The statements of a program that were prepared so far.
#[derive(Debug, Default)]
pub(super) struct PreparedStatements {
    /// By step.
    marks: Vec<u32>,
    statements: Vec<PreparedStatement>,
}

/// The arguments of a statement.
#[derive(Debug)]
struct PreparedStatement {
    /// What is always the same is in its place.
    arguments: Arguments,
    moving: Box<[(u8, MovingArgument)]>,
    /// Bytes of the texts that are always the same; the others are rendered behind them.
    fixed_text: usize,
    /// One of them is drawn.
    draws: bool,
}

/// Evaluated each time.
#[derive(Debug)]
enum MovingArgument {
    File(Slot),
    /// A file, or the name of one.
    FileOrName(Slot),
    /// A number of bytes within bounds, or memory.
    Amount(Slot, (i64, i64)),
    /// A text with variables.
    Text(Box<[NamePart]>),
    Integer {
        formula: Formula,
        least: i64,
        most: i64,
    },
    /// An integer of a list in a variable.
    Item {
        list: Slot,
        at: Formula,
        least: i64,
        most: i64,
    },
}

/// A part of a text.
#[derive(Debug)]
enum NamePart {
    Constant(Box<[u8]>),
    /// Of a variable that holds a text or an integer.
    Variable(Slot),
    Rank,
}

/// `first`, and then each operator with its right operand.
#[derive(Debug)]
struct Formula {
    first: Operand,
    rest: Box<[(BinaryOp, Operand)]>,
}

#[derive(Clone, Copy, Debug)]
enum Operand {
    Constant(i64),
    Variable(Slot),
    /// `uniform(from, to)`: from where on, and how many.
    Uniform(i64, u64),
}

/// Where values come from.
pub(super) struct ValueSources<'v> {
    pub(super) variables: &'v [Value],
    pub(super) locals: &'v [Value],
    /// The first local of the innermost function.
    pub(super) base: usize,
    pub(super) rank: u32,
    pub(super) random: &'v mut RandomSequence,
}

impl ValueSources<'_> {
    #[inline(always)]
    fn get(&self, slot: Slot) -> Option<&Value> {
        if slot.0 & Slot::LOCAL == 0 {
            self.variables.get(slot.0 as usize)
        } else {
            self.locals.get(self.base + (slot.0 & !Slot::LOCAL) as usize)
        }
    }

    /// An integer of a list.
    #[inline]
    fn item(&self, list: Slot, at: i64) -> Option<i64> {
        match self.get(list) {
            Some(Value::List(items)) => match items.get(usize::try_from(at).ok()?)? {
                Value::Int(number) => Some(*number),
                _ => None,
            },
            _ => None,
        }
    }

    /// Renders a text into its arguments; `None` where a variable holds something else than a text or an integer, or where it
    /// becomes too long.
    #[inline]
    fn text(&self, parts: &[NamePart], arguments: &mut Arguments) -> Option<Argument> {
        let start = arguments.text.len();
        for part in parts {
            match part {
                NamePart::Constant(bytes) => arguments.text.extend_from_slice(bytes),
                NamePart::Rank => integer(i64::from(self.rank), &mut arguments.text),
                NamePart::Variable(slot) => match self.get(*slot) {
                    Some(Value::Text(text)) => arguments.text.extend_from_slice(text.as_bytes()),
                    Some(Value::Int(number)) => integer(*number, &mut arguments.text),
                    _ => return None,
                },
            }
        }
        (arguments.text.len() - start <= LONGEST_TEXT).then(|| arguments.end_text(start))
    }

    #[inline(always)]
    fn integer(&mut self, operand: Operand) -> Option<i64> {
        match operand {
            Operand::Constant(number) => Some(number),
            Operand::Variable(slot) => match self.get(slot) {
                Some(Value::Int(number)) => Some(*number),
                _ => None,
            },
            Operand::Uniform(from, width) => Some(from.wrapping_add(self.random.below(width) as i64)),
        }
    }
}

/// Where the arguments of a statement stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// In their places among those of the prepared statement with this number.
    InPlace(u32),
    /// They are to be evaluated.
    Unevaluated,
    /// The same, and the statement is to be prepared for the next time.
    Again,
}

impl PreparedStatements {
    /// None is prepared.
    pub(super) fn new(code: &Code) -> Self {
        let steps = if code.steps.len() <= MOST_STEPS { code.steps.len() } else { 0 };
        Self { marks: vec![NEW; steps], statements: Vec::new() }
    }

    /// Puts the arguments of the statement at `step` in their places, if it was prepared.
    #[inline(always)]
    pub(super) fn arguments(&mut self, step: u32, mut sources: ValueSources<'_>) -> Readiness {
        let Some(mark) = self.marks.get_mut(step as usize) else { return Readiness::Unevaluated };
        let number = mark.wrapping_sub(FIRST);
        let Some(prepared) = self.statements.get_mut(number as usize) else {
            let before = *mark;
            *mark = before.max(ONCE);
            return if before == ONCE { Readiness::Again } else { Readiness::Unevaluated };
        };
        let before = prepared.draws.then(|| sources.random.clone());
        prepared.arguments.text.truncate(prepared.fixed_text);
        for (index, moving) in &prepared.moving {
            let argument = match moving {
                MovingArgument::File(slot) => match sources.get(*slot) {
                    Some(Value::File(file)) => Some(Argument::File(*file)),
                    _ => None,
                },
                MovingArgument::Amount(slot, (least, most)) => match sources.get(*slot) {
                    Some(Value::Buffer(buffer)) => Some(Argument::Buffer(*buffer)),
                    Some(Value::Int(number)) if least <= number && number <= most => {
                        Some(Argument::Int(*number))
                    }
                    _ => None,
                },
                MovingArgument::FileOrName(slot) => match sources.get(*slot) {
                    Some(Value::File(file)) => Some(Argument::File(*file)),
                    Some(Value::Text(_)) => {
                        sources.text(&[NamePart::Variable(*slot)], &mut prepared.arguments)
                    }
                    _ => None,
                },
                MovingArgument::Text(parts) => sources.text(parts, &mut prepared.arguments),
                MovingArgument::Item { list, at, least, most } => {
                    match at.value(&mut sources).and_then(|at| sources.item(*list, at)) {
                        Some(number) if *least <= number && number <= *most => Some(Argument::Int(number)),
                        _ => None,
                    }
                }
                MovingArgument::Integer { formula, least, most } => match formula.value(&mut sources) {
                    Some(number) if *least <= number && number <= *most => Some(Argument::Int(number)),
                    _ => None,
                },
            };
            let Some(argument) = argument else {
                // It is drawn again.
                if let Some(before) = before {
                    *sources.random = before;
                }
                return Readiness::Unevaluated;
            };
            prepared.arguments.set(usize::from(*index), argument);
        }
        Readiness::InPlace(number)
    }

    /// The arguments of the prepared statement with this number.
    #[inline(always)]
    pub(super) fn of(&self, number: u32) -> &Arguments {
        &self.statements[number as usize].arguments
    }

    /// Prepares the command at `step` with `count` arguments from `first` on, if that can be done.
    #[cold]
    #[inline(never)]
    pub(super) fn prepare(
        &mut self,
        code: &Code,
        step: u32,
        command: Command,
        (first, count): (ExprIndex, usize),
    ) {
        let prepared = PreparedStatement::of(code, command, (first, count));
        if let Some(mark) = self.marks.get_mut(step as usize) {
            *mark = if prepared.is_some() { self.statements.len() as u32 + FIRST } else { NEVER };
            self.statements.extend(prepared);
        }
    }
}

impl PreparedStatement {
    fn of(code: &Code, command: Command, (first, count): (ExprIndex, usize)) -> Option<Self> {
        if matches!(command.by_class(), CommandByClass::Language(_)) || count > arguments::MAX {
            return None;
        }
        let given = code.exprs.get(first as usize..first as usize + count)?;
        let (mut arguments, mut moving) = (Arguments::default(), Vec::new());
        for (index, (spec, expr)) in command.spec().arguments.iter().zip(given).enumerate() {
            match (fixed_argument(code, spec, *expr, &mut arguments), moving_argument(code, spec, *expr)) {
                (Some(argument), _) => arguments.set(index, argument),
                (None, Some(argument)) => moving.push((index as u8, argument)),
                (None, None) => return None,
            }
        }
        let drawn: usize = moving.iter().map(|(_, moving)| moving.draws()).sum();
        arguments.count = count;
        arguments.name =
            matches!(arguments.values[0], Argument::Text(..)).then(|| arguments.c_str_of(0).into());
        // Of several the order would count.
        let whole = given.len() <= command.spec().arguments.len() && drawn <= 1;
        let fixed_text = arguments.text.len();
        whole.then(|| Self { arguments, moving: moving.into(), fixed_text, draws: drawn > 0 })
    }
}

/// An argument that is always the same; a text is laid into `out`.
fn fixed_argument(code: &Code, spec: &ArgumentSpec, expr: Expr, out: &mut Arguments) -> Option<Argument> {
    match expr {
        Expr::Text(at) if is_plain_text(spec) => {
            let start = out.text.len();
            out.text.extend_from_slice(code.text(at).as_bytes());
            Some(out.end_text(start))
        }
        Expr::Text(_) => None,
        _ => {
            let ((least, most), formula) = (spec.bounds?, Formula::of(code, expr)?);
            let Formula { first: Operand::Constant(number), rest } = formula else { return None };
            (rest.is_empty() && least <= number && number <= most).then_some(Argument::Int(number))
        }
    }
}

/// Is a text passed as it is? Others are looked at before.
fn is_plain_text(spec: &ArgumentSpec) -> bool {
    matches!(spec.kind, Kind::Path | Kind::PathOrFile | Kind::Text | Kind::Mode)
}

/// The parts of a text with variables; `None` where it has other ones.
fn parts_of(code: &Code, template: Template) -> Option<Box<[NamePart]>> {
    let first = template.first as usize;
    let part = |piece: &Piece| match *piece {
        Piece::Text(at) => Some(NamePart::Constant(code.text(at).as_bytes().into())),
        Piece::Slot(slot) => Some(NamePart::Variable(slot)),
        Piece::Builtin(Builtin::Rank) => Some(NamePart::Rank),
        Piece::Builtin(_) | Piece::Environment(_) => None,
    };
    code.pieces.get(first..first + template.count as usize)?.iter().map(part).collect()
}

fn moving_argument(code: &Code, spec: &ArgumentSpec, expr: Expr) -> Option<MovingArgument> {
    match (spec.bounds, expr) {
        (Some(bounds), Expr::Slot(slot)) if spec.kind == Kind::BytesOrBuffer => {
            Some(MovingArgument::Amount(slot, bounds))
        }
        (Some((least, most)), Expr::Index(first)) => {
            let [Expr::Slot(list), at] = *code.exprs.get(first as usize..)?.first_chunk()? else {
                return None;
            };
            Formula::of(code, at).map(|at| MovingArgument::Item { list, at, least, most })
        }
        (Some((least, most)), _) => {
            Formula::of(code, expr).map(|formula| MovingArgument::Integer { formula, least, most })
        }
        (None, Expr::Template(at)) if is_plain_text(spec) => {
            parts_of(code, *code.templates.get(at as usize)?).map(MovingArgument::Text)
        }
        (None, Expr::Slot(slot)) if spec.kind == Kind::File => Some(MovingArgument::File(slot)),
        (None, Expr::Slot(slot)) if spec.kind == Kind::PathOrFile => Some(MovingArgument::FileOrName(slot)),
        (None, Expr::Slot(slot)) if is_plain_text(spec) => {
            Some(MovingArgument::Text([NamePart::Variable(slot)].into()))
        }
        _ => None,
    }
}

impl MovingArgument {
    /// So many of its operands are drawn.
    fn draws(&self) -> usize {
        match self {
            MovingArgument::File(_)
            | MovingArgument::FileOrName(_)
            | MovingArgument::Amount(..)
            | MovingArgument::Text(_) => 0,
            MovingArgument::Integer { formula, .. } | MovingArgument::Item { at: formula, .. } => {
                formula.draws()
            }
        }
    }
}

impl Formula {
    /// So many of its operands are drawn.
    fn draws(&self) -> usize {
        let operands = self.rest.iter().map(|(_, operand)| operand).chain([&self.first]);
        operands.filter(|operand| matches!(operand, Operand::Uniform(..))).count()
    }

    /// The formula of an expression, operators on constants carried out; `None` where it is none, or not one after the
    /// other.
    fn of(code: &Code, expr: Expr) -> Option<Self> {
        let alone = |first| Some(Self { first, rest: Box::default() });
        match expr {
            Expr::Int(number) => alone(Operand::Constant(i64::from(number))),
            Expr::Constant(at) => match code.constants.get(at as usize)? {
                Value::Int(number) => alone(Operand::Constant(*number)),
                _ => None,
            },
            Expr::Slot(slot) => alone(Operand::Variable(slot)),
            Expr::Function(at) => {
                let call = code.calls.get(at as usize)?;
                let bounds = code.exprs.get(call.first as usize..(call.first + call.count) as usize)?;
                let &[from, to] = bounds else { return None };
                let constant = |expr: Expr| match Self::of(code, expr)? {
                    Self { first: Operand::Constant(number), rest } if rest.is_empty() => Some(number),
                    _ => None,
                };
                match (call.function(), constant(from)?, constant(to)?) {
                    (Function::Uniform, from, to) if from < to => {
                        alone(Operand::Uniform(from, to.wrapping_sub(from) as u64))
                    }
                    _ => None,
                }
            }
            Expr::Binary(op, first) => {
                let [left, right] = *code.exprs.get(first as usize..)?.first_chunk()?;
                let (left, right) = (Self::of(code, left)?, Self::of(code, right)?);
                // The right side of these is not always evaluated, and what is drawn must not be drawn then.
                if matches!(op, BinaryOp::And | BinaryOp::Or) && right.draws() > 0 {
                    return None;
                }
                let commutes = matches!(op, BinaryOp::Add | BinaryOp::Multiply);
                let (left, right) = match (right.rest.is_empty(), left.rest.is_empty()) {
                    (true, _) => (left, right.first),
                    (false, true) if commutes => (right, left.first),
                    (false, _) => return None,
                };
                left.followed_by(op, right)
            }
            _ => None,
        }
    }

    fn followed_by(self, op: BinaryOp, right: Operand) -> Option<Self> {
        if let (Operand::Constant(left), true, Operand::Constant(right)) =
            (self.first, self.rest.is_empty(), right)
        {
            let first = Operand::Constant(quantity::integers(op, left, right)?);
            return Some(Self { first, rest: self.rest });
        }
        let mut rest = self.rest.into_vec();
        rest.push((op, right));
        Some(Self { first: self.first, rest: rest.into() })
    }

    /// Its value; `None` where a variable is no integer, or an operator has no integer result.
    #[inline(always)]
    fn value(&self, sources: &mut ValueSources<'_>) -> Option<i64> {
        let mut value = sources.integer(self.first)?;
        for (op, operand) in &self.rest {
            value = quantity::integers(*op, value, sources.integer(*operand)?)?;
        }
        Some(value)
    }
}
