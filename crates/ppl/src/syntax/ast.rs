//! Defines the nodes of the syntax tree: expressions and statements.
//!
//! Nodes are small and `Copy`: 24 bytes an expression, 36 a statement. They refer to each other by number; a
//! [`Tree`](super::Tree) holds them.

use std::num::NonZeroU32;

use crate::commands::{Command, Function};
use crate::diagnostic::Span;
use crate::number::PackedNumber;

use super::names::Symbol;

/// The number of an expression in a [`Tree`](super::Tree).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExprId(NonZeroU32);

/// The number of a statement in a [`Tree`](super::Tree).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatementId(NonZeroU32);

impl ExprId {
    pub(super) fn new(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }

    pub(super) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl StatementId {
    pub(super) fn new(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }

    pub(super) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Expressions with consecutive numbers: the arguments of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Exprs {
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Exprs {
    /// Their number.
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The `index`-th one.
    pub fn get(self, index: usize) -> Option<ExprId> {
        (index < self.len()).then(|| ExprId::new(self.first as usize + index))
    }

    /// Iterates over them in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = ExprId> + Clone {
        (self.first..self.first + self.count).map(|index| ExprId::new(index as usize))
    }
}

/// Statements with consecutive numbers: the inside of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Statements {
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Statements {
    /// Their number.
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Iterates over them in order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = StatementId> + Clone {
        (self.first..self.first + self.count).map(|index| StatementId::new(index as usize))
    }
}

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Add,
    Subtract,
    Modulo,
    Multiply,
    Divide,
    Power,
}

impl BinaryOp {
    /// Its spelling.
    pub fn sign(self) -> &'static str {
        ["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "%", "*", "/", "^"][self as usize]
    }

    /// Its precedence: `||` 1, `&&` 2, comparisons 3, `+ -` 4, `%` 5, `* /` 6, `^` 7.
    pub fn binding(self) -> u8 {
        [1, 2, 3, 3, 3, 3, 3, 3, 4, 4, 5, 6, 6, 7][self as usize]
    }
}

/// An operator before an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `!`
    Not,
}

/// What stands behind a number of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BoundUnit {
    /// `%`
    Percent,
    /// `/s`
    PerSecond,
}

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// A command such as `fopen`.
    Command(Command),
    /// A built-in function such as `mod`.
    Function(Function),
    /// A function of the program.
    Named(Symbol),
}

/// The kind of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExprKind {
    /// A syntax error, which was reported.
    Error,
    /// A number, float or duration.
    Number(PackedNumber),
    /// A string; [`Tree::raw_text`](super::Tree::raw_text) returns the text between its quotes.
    Text,
    /// `$name`
    Variable(Symbol),
    /// `$$name`, without `(…)`.
    Builtin(Symbol),
    /// `$$env(NAME)`
    Environment(Symbol),
    /// A bare word where one is permitted: the tag of a group, the name of a function or an errno.
    Word(Symbol),
    /// `-a`, `!a`
    Unary(UnaryOp, ExprId),
    /// `a + b`
    Binary(BinaryOp, ExprId, ExprId),
    /// `a ? b : c`
    Choice(ExprId, ExprId, ExprId),
    /// `name(…)`
    Call(Callee, Exprs),
    /// `[a, b]`
    List(Exprs),
    /// `$l[0]`
    Index(ExprId, ExprId),
    /// `(a)`, kept for printing.
    Parens(ExprId),
    /// `p99`, `iops of read`: a quantity of an `assert`, with the label or operation whose samples count.
    Estimate(Symbol, Option<ExprId>),
    /// `5%`, `1000/s`: a number of an `assert` with what stands behind it.
    Unit(BoundUnit, ExprId),
}

/// The kind of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum StatementKind {
    /// A syntax error, which was reported.
    Error,
    /// `;`
    Empty,
    /// `{ … }`
    Block(Statements),
    /// `$v = e;`
    Assign { variable: Symbol, value: ExprId },
    /// `$l[i] = e;`
    AssignItem { list: ExprId, index: ExprId, value: ExprId },
    /// `let $v = e;`
    Let { variable: ExprId, value: ExprId },
    /// `command(…);` `parentheses`: whether the arguments were in parentheses.
    Command { command: Command, arguments: Exprs, parentheses: bool },
    /// `name(…);` for a function of the program: an [`ExprKind::Call`].
    Call(ExprId),
    /// `repeat $v n S`; `parentheses`: `repeat ($v, n) S`.
    Repeat { variable: Option<ExprId>, count: ExprId, body: StatementId, parentheses: bool },
    /// `time ["label"] S`, `ctime ["label"] S`
    Time { inside_calls: bool, label: Option<ExprId>, body: StatementId },
    /// `group "name" { … }`
    Group { name: ExprId, body: StatementId },
    /// `master S`
    Master(StatementId),
    /// `barrier;` `barrier("name");`
    Barrier(Option<ExprId>),
    /// `if c S else S`
    If { condition: ExprId, then: StatementId, otherwise: Option<StatementId> },
    /// `while c S`
    While { condition: ExprId, body: StatementId },
    /// `for $i in a..b step c S`
    ForRange { variable: ExprId, from: ExprId, to: ExprId, step: Option<ExprId>, body: StatementId },
    /// `for $x in list S`
    ForEach { variable: ExprId, list: ExprId, body: StatementId },
    /// `for 60s S`
    ForTime { duration: ExprId, body: StatementId },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return e;`
    Return(Option<ExprId>),
    /// `def name($a, $b = 4k) { … }`: names and defaults alternate; a missing default is
    /// [`ExprKind::Error`] without a span.
    Def { name: ExprId, parameters: Exprs, body: StatementId },
    /// `include "file";` with the statements of the file, if a loader was given.
    Include { path: ExprId, statements: Statements },
    /// `define …`
    Define(Define),
    /// `rate 1000/s [poisson] S`
    Rate { rate: ExprId, poisson: bool, body: StatementId },
    /// `at 1.25s S`
    At { time: ExprId, body: StatementId },
    /// `think e;`
    Think(ExprId),
    /// `choose { 70: S 30: S }`
    Choose { weights: Exprs, bodies: Statements },
    /// `parallel 8 S`
    Parallel { count: ExprId, body: StatementId },
    /// `async depth=32 S`
    Async { depth: ExprId, body: StatementId },
    /// `phase "name" [stonewall [time]] S`
    Phase { name: ExprId, stonewall: Stonewall, body: StatementId },
    /// `verify S`
    Verify(StatementId),
    /// `expect errno == ENOENT S`, with the errno.
    Expect { errno: ExprId, body: StatementId },
    /// `assert e;` `assert each e;` `each`: each rank judges its own samples.
    Assert { condition: ExprId, each: bool },
    /// `on_error stop;` `on_error continue;`
    OnError { stop: bool },
}

/// The kind of a `define`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Define {
    /// `define param "name" $v default [from a] [to b] [in [list]]`, or `define place …`
    Param { name: ExprId, variable: ExprId, default: ExprId, place: bool, range: Range },
    /// `define groups {"a":S, "b":D/1, "c"}`: name, tag and sub-tag alternate; a missing one is
    /// [`ExprKind::Error`] without a span.
    Groups(Exprs),
    /// `define pattern {…}`
    Pattern(Exprs),
    /// `define report {"key": "value"}`: keys and values alternate.
    Report(Exprs),
    /// `define hints {"key": "value"}`: keys and values alternate.
    Hints(Exprs),
    /// `define ranks e`
    Ranks(ExprId),
    /// `define content e`
    Content(ExprId),
    /// `define space ["dir"] e`
    Space { directory: Option<ExprId>, bytes: ExprId },
}

/// The permitted values of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The smallest value.
    pub from: Option<ExprId>,
    /// The largest value.
    pub to: Option<ExprId>,
    /// A list of all values.
    pub choices: Option<ExprId>,
}

/// Condition for the early end of the loops of a phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stonewall {
    /// Never.
    None,
    /// The first rank has completed the phase.
    First,
    /// The first rank has completed the phase or the time has passed.
    Time(ExprId),
}

/// A statement with its span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statement {
    /// Its kind.
    pub kind: StatementKind,
    /// From its first word to its end, the semicolon included.
    pub span: Span,
}

/// An expression with its span.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExprNode {
    /// Its kind.
    pub kind: ExprKind,
    /// Its span.
    pub span: Span,
}

// A program of a million statements is parsed and checked in less than half a second.
const _: () = assert!(size_of::<ExprNode>() == 24 && size_of::<Statement>() == 36);
