//! What does the tree of a program look like?
//!
//! Two arrays of small fixed-size rows, so that a program of a million statements stays small:
//! 20 bytes a statement, 12 an expression. Children of a row stand next to each other. Rows are
//! read through [`Statement`] and [`Expr`], which decode them into enums.

use crate::commands::{Command, Function};
use crate::diagnostic::Span;
use crate::value::Value;

use super::names::{Names, Symbol};

/// An expression in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExprId(pub(crate) u32);

/// A statement in a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatementId(pub(crate) u32);

/// Expressions that stand next to each other: the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exprs {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Exprs {
    /// How many.
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// None?
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The `index`-th.
    pub fn get(self, index: usize) -> Option<ExprId> {
        ((index as u64) < u64::from(self.count)).then(|| ExprId(self.first + index as u32))
    }

    /// One after the other.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = ExprId> + Clone {
        (self.first..self.first + self.count).map(ExprId)
    }
}

/// Statements that stand next to each other: the inside of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Statements {
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Statements {
    /// How many.
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// None?
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// One after the other.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = StatementId> + Clone {
        (self.first..self.first + self.count).map(StatementId)
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
    const ALL: [BinaryOp; 14] = {
        use BinaryOp::*;
        [
            Or, And, Equal, NotEqual, Less, AtMost, Greater, AtLeast, Add, Subtract, Modulo, Multiply,
            Divide, Power,
        ]
    };

    /// As it is written.
    pub fn sign(self) -> &'static str {
        ["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "%", "*", "/", "^"][self as usize]
    }

    /// How tightly it binds: `||` 1, `&&` 2, comparisons 3, `+ -` 4, `%` 5, `* /` 6, `^` 7.
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

/// What is called in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    /// A command such as `fopen`.
    Command(Command),
    /// A built-in function such as `mod`.
    Function(Function),
    /// A function of the program.
    Named(Symbol),
}

/// An expression, decoded.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// Something that could not be read; it was complained about.
    Error,
    /// A number, float or duration.
    Number(Value),
    /// A string; [`Tree::raw_text`] gives what stands between its quotes.
    Text,
    /// `$name`
    Variable(Symbol),
    /// `$$name`, without `(…)`.
    Builtin(Symbol),
    /// `$$env(NAME)`
    Environment(Symbol),
    /// A bare word where one is allowed: the tag of a group, the name of a function or an errno.
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
    /// `(a)`: kept for printing.
    Parens(ExprId),
}

/// A statement, decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum StatementKind {
    /// Something that could not be read; it was complained about.
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
    /// `command(…);` `parentheses`: were the arguments in them?
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
    /// `def name($a, $b = 4k) { … }`: names and defaults take turns; a missing default is
    /// [`ExprKind::Error`] without a span.
    Def { name: ExprId, parameters: Exprs, body: StatementId },
    /// `include "file";` with the statements that came from it, where a loader was given.
    Include { path: ExprId, statements: Statements },
    /// `define param "name" $v default [from a] [to b] [in [list]]`
    DefineParam { name: ExprId, variable: ExprId, default: ExprId, range: Range },
    /// `define groups {"a":S, "b":D/1, "c"}`: name, tag, sub-tag take turns; what is missing is
    /// [`ExprKind::Error`] without a span.
    DefineGroups(Exprs),
    /// `define pattern {…}`
    DefinePattern(Exprs),
    /// `define report {"key": "value"}`: keys and values take turns.
    DefineReport(Exprs),
    /// `define hints {"key": "value"}`: keys and values take turns.
    DefineHints(Exprs),
    /// `define ranks e`
    DefineRanks(ExprId),
    /// `define space ["dir"] e`
    DefineSpace { directory: Option<ExprId>, bytes: ExprId },
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
    /// `expect errno == ENOENT S`: the expression is the errno.
    Expect { errno: ExprId, body: StatementId },
    /// `assert e;` `assert each e;`: does each rank judge its own samples?
    Assert { condition: ExprId, each: bool },
    /// `on_error stop;` `on_error continue;`
    OnError { stop: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Tag {
    Error,
    Int,
    Wide,
    Text,
    Variable,
    Builtin,
    Environment,
    Word,
    Unary,
    Binary,
    Choice,
    CallCommand,
    CallFunction,
    CallNamed,
    List,
    Index,
    Parens,
    Count,
}

/// An expression, packed into 12 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub tag: Tag,
    pub small: u8,
    /// Length in bytes; `u16::MAX` stands for that or more.
    pub length: u16,
    pub start: u32,
    pub data: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Form {
    Error,
    Empty,
    Block,
    Assign,
    AssignItem,
    Let,
    Command,
    Call,
    Repeat,
    Time,
    Group,
    Master,
    Barrier,
    If,
    While,
    ForRange,
    ForEach,
    ForTime,
    Break,
    Continue,
    Return,
    Def,
    Include,
    DefineParam,
    DefineGroups,
    DefinePattern,
    DefineReport,
    DefineHints,
    DefineRanks,
    DefineSpace,
    Rate,
    At,
    Think,
    Choose,
    Parallel,
    Async,
    Phase,
    Verify,
    Expect,
    Assert,
    OnError,
}

/// A statement, packed into 20 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub form: Form,
    pub flag: u8,
    pub count: u16,
    pub start: u32,
    pub end: u32,
    pub a: u32,
    pub b: u32,
}

/// A program as a tree. It does not hold the text: most methods that show some want it.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) rows: Vec<Row>,
    pub(crate) wide: Vec<Value>,
    pub(crate) names: Names,
    pub(crate) top: Statements,
    /// Read as the original would: integers wrap.
    pub(crate) classic: bool,
}

/// Which values a parameter may have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The least.
    pub from: Option<ExprId>,
    /// The greatest.
    pub to: Option<ExprId>,
    /// A list of all.
    pub choices: Option<ExprId>,
}

/// When do the loops of a phase end before their time?
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stonewall {
    /// They do not.
    None,
    /// When the first rank is through.
    First,
    /// Then, or when the time is over.
    Time(ExprId),
}

/// A statement and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// From its first word to its end, the semicolon included.
    pub span: Span,
}

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where; an expression longer than 65,534 bytes shows only so much.
    pub span: Span,
}

impl Tree {
    /// The statements of the top level.
    pub fn top(&self) -> Statements {
        self.top
    }

    /// The names that appear.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// How many statements there are, nested ones included.
    pub fn statements(&self) -> usize {
        self.rows.len()
    }

    /// Bytes of memory that the tree keeps.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.rows.capacity() * size_of::<Row>()
            + self.wide.capacity() * size_of::<Value>()
            + self.names.iter().map(|name| 2 * name.len() + 64).sum::<usize>()
    }

    /// Is `other` the same program, wherever its parts stand? The texts are those of the trees.
    pub fn is_same(&self, text: &str, other: &Tree, other_text: &str) -> bool {
        // Both were built in the order of the text, so that equal programs have equal arrays.
        let same_node = |(index, (one, two)): (usize, (&Node, &Node))| {
            let id = ExprId(index as u32);
            (one.tag, one.small, one.data) == (two.tag, two.small, two.data)
                && (one.tag != Tag::Text || self.raw_text(id, text).0 == other.raw_text(id, other_text).0)
        };
        let parts = |row: &Row| (row.form, row.flag, row.count, row.a, row.b);
        self.nodes.len() == other.nodes.len()
            && self.top == other.top
            && self.wide == other.wide
            && self.names.iter().eq(other.names.iter())
            && self.rows.iter().map(parts).eq(other.rows.iter().map(parts))
            && self.nodes.iter().zip(&other.nodes).enumerate().all(same_node)
    }

    /// Where an expression stands.
    pub fn span(&self, id: ExprId) -> Span {
        let node = self.nodes[id.0 as usize];
        Span::new(node.start, node.start.saturating_add(u32::from(node.length)))
    }

    /// An expression, decoded.
    pub fn expr(&self, id: ExprId) -> Expr {
        Expr { kind: self.expr_kind(id), span: self.span(id) }
    }

    /// What an expression is.
    pub fn expr_kind(&self, id: ExprId) -> ExprKind {
        let node = self.nodes[id.0 as usize];
        let child = |offset: u32| ExprId(node.data + offset);
        let arguments = || Exprs { first: node.data + 1, count: u32::from(node.small) };
        match node.tag {
            Tag::Error | Tag::Count => ExprKind::Error,
            Tag::Int => ExprKind::Number(Value::Int(i64::from(node.data))),
            Tag::Wide => ExprKind::Number(self.wide[node.data as usize].clone()),
            Tag::Text => ExprKind::Text,
            Tag::Variable => ExprKind::Variable(Symbol(node.data)),
            Tag::Builtin => ExprKind::Builtin(Symbol(node.data)),
            Tag::Environment => ExprKind::Environment(Symbol(node.data)),
            Tag::Word => ExprKind::Word(Symbol(node.data)),
            Tag::Unary => {
                ExprKind::Unary(if node.small == 0 { UnaryOp::Negate } else { UnaryOp::Not }, child(0))
            }
            Tag::Binary => ExprKind::Binary(BinaryOp::ALL[usize::from(node.small)], child(0), child(1)),
            Tag::Choice => ExprKind::Choice(child(0), child(1), child(2)),
            Tag::CallCommand => {
                let command = Command::from_index(self.nodes[node.data as usize].data as usize);
                ExprKind::Call(Callee::Command(command), arguments())
            }
            Tag::CallFunction => {
                let function = Function::from_index(self.nodes[node.data as usize].data as usize);
                ExprKind::Call(Callee::Function(function), arguments())
            }
            Tag::CallNamed => {
                let symbol = Symbol(self.nodes[node.data as usize].data);
                ExprKind::Call(Callee::Named(symbol), arguments())
            }
            Tag::List => {
                let count = self.nodes[node.data as usize].data;
                ExprKind::List(Exprs { first: node.data + 1, count })
            }
            Tag::Index => ExprKind::Index(child(0), child(1)),
            Tag::Parens => ExprKind::Parens(child(0)),
        }
    }

    /// What stands between the quotes of a string, and where that begins; empty for anything else.
    pub fn raw_text<'a>(&self, id: ExprId, text: &'a str) -> (&'a str, u32) {
        let node = self.nodes[id.0 as usize];
        if node.tag != Tag::Text {
            return ("", node.start);
        }
        let start = node.start + 1;
        (text.get(start as usize..(start + node.data) as usize).unwrap_or(""), start)
    }

    /// Where a statement stands.
    pub fn statement_span(&self, id: StatementId) -> Span {
        let row = self.rows[id.0 as usize];
        Span::new(row.start, row.end)
    }

    /// May it be `define …` or `include …`? Of what programs are full of it is known without decoding.
    pub(crate) fn may_define(&self, id: StatementId) -> bool {
        !matches!(
            self.rows[id.0 as usize].form,
            Form::Command | Form::Assign | Form::Call | Form::Repeat | Form::Block | Form::Time | Form::If
        )
    }

    /// A statement, decoded.
    pub fn statement(&self, id: StatementId) -> Statement {
        let row = self.rows[id.0 as usize];
        let expr = |offset: u32| ExprId(row.a + offset);
        let exprs = Exprs { first: row.a, count: row.b };
        let body = StatementId(row.b);
        let set = |bit: u8| row.flag & bit != 0;
        let kind = match row.form {
            Form::Error => StatementKind::Error,
            Form::Empty => StatementKind::Empty,
            Form::Block => StatementKind::Block(Statements { first: row.a, count: row.b }),
            Form::Assign => StatementKind::Assign { variable: Symbol(row.b), value: expr(0) },
            Form::AssignItem => StatementKind::AssignItem { list: expr(0), index: expr(1), value: expr(2) },
            Form::Let => StatementKind::Let { variable: expr(0), value: expr(1) },
            Form::Command => StatementKind::Command {
                command: Command::from_index(usize::from(row.count)),
                arguments: exprs,
                parentheses: set(1),
            },
            Form::Call => StatementKind::Call(expr(0)),
            Form::Repeat => StatementKind::Repeat {
                variable: set(1).then(|| expr(1)),
                count: expr(0),
                body,
                parentheses: set(2),
            },
            Form::Time => StatementKind::Time { inside_calls: set(1), label: set(2).then(|| expr(0)), body },
            Form::Group => StatementKind::Group { name: expr(0), body },
            Form::Master => StatementKind::Master(body),
            Form::Barrier => StatementKind::Barrier(set(1).then(|| expr(0))),
            Form::If => StatementKind::If {
                condition: expr(0),
                then: body,
                otherwise: set(1).then(|| StatementId(row.b + 1)),
            },
            Form::While => StatementKind::While { condition: expr(0), body },
            Form::ForRange => StatementKind::ForRange {
                variable: expr(0),
                from: expr(1),
                to: expr(2),
                step: set(1).then(|| expr(3)),
                body,
            },
            Form::ForEach => StatementKind::ForEach { variable: expr(0), list: expr(1), body },
            Form::ForTime => StatementKind::ForTime { duration: expr(0), body },
            Form::Break => StatementKind::Break,
            Form::Continue => StatementKind::Continue,
            Form::Return => StatementKind::Return(set(1).then(|| expr(0))),
            Form::Def => StatementKind::Def {
                name: expr(0),
                parameters: Exprs { first: row.a + 1, count: u32::from(row.count) },
                body,
            },
            Form::Include => StatementKind::Include {
                path: expr(0),
                statements: Statements { first: row.b, count: u32::from(row.count) },
            },
            Form::DefineParam => {
                let bound = |bit: u8| {
                    let before = (row.flag & ((1 << bit) - 1)).count_ones();
                    set(1 << bit).then(|| expr(3 + before))
                };
                let range = Range { from: bound(0), to: bound(1), choices: bound(2) };
                StatementKind::DefineParam { name: expr(0), variable: expr(1), default: expr(2), range }
            }
            Form::DefineGroups => StatementKind::DefineGroups(exprs),
            Form::DefinePattern => StatementKind::DefinePattern(exprs),
            Form::DefineReport => StatementKind::DefineReport(exprs),
            Form::DefineHints => StatementKind::DefineHints(exprs),
            Form::DefineRanks => StatementKind::DefineRanks(expr(0)),
            Form::DefineSpace => {
                StatementKind::DefineSpace { directory: set(1).then(|| expr(1)), bytes: expr(0) }
            }
            Form::Rate => StatementKind::Rate { rate: expr(0), poisson: set(1), body },
            Form::At => StatementKind::At { time: expr(0), body },
            Form::Think => StatementKind::Think(expr(0)),
            Form::Choose => StatementKind::Choose {
                weights: Exprs { first: row.a, count: u32::from(row.count) },
                bodies: Statements { first: row.b, count: u32::from(row.count) },
            },
            Form::Parallel => StatementKind::Parallel { count: expr(0), body },
            Form::Async => StatementKind::Async { depth: expr(0), body },
            Form::Phase => {
                let stonewall = match (set(1), set(2)) {
                    (false, _) => Stonewall::None,
                    (true, false) => Stonewall::First,
                    (true, true) => Stonewall::Time(expr(1)),
                };
                StatementKind::Phase { name: expr(0), stonewall, body }
            }
            Form::Verify => StatementKind::Verify(body),
            Form::Expect => StatementKind::Expect { errno: expr(0), body },
            Form::Assert => StatementKind::Assert { condition: expr(0), each: set(1) },
            Form::OnError => StatementKind::OnError { stop: set(1) },
        };
        Statement { kind, span: Span::new(row.start, row.end) }
    }
}
