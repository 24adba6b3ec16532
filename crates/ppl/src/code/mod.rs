//! Defines compiled programs: compact steps with resolved variables and pre-split strings.
//!
//! The check compiles a tree to [`Code`], which is independent of ranks and parameters.

mod spell;

use samples::SiteKind;

use crate::commands::{Command, Function};
use crate::diagnostic::Span;
use crate::syntax::{BinaryOp, UnaryOp};
use crate::value::Value;

pub(crate) use spell::spell;

/// The number of a variable; the top bit marks variables that are local to the running function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) const LOCAL: u32 = 1 << 31;
    pub(crate) const NONE: Slot = Slot(u32::MAX);
}

/// The number of a static site: an index into `plan::Plan::sites`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteId(pub u32);

impl SiteId {
    /// As an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of a group: an index into `plan::Plan::groups`; 0 is the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u32);

impl GroupId {
    /// All ranks.
    pub const WORLD: GroupId = GroupId(0);

    /// As an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An expression: an index into [`Code::exprs`].
pub type ExprIndex = u32;
/// In place of an expression: a stonewall without a time.
pub const NO_LIMIT: ExprIndex = u32::MAX;
/// A block: an index into [`Code::blocks`].
pub type BlockIndex = u32;

/// An expression, in 8 bytes. Operands of an operator are consecutive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    /// A small integer.
    Int(i32),
    /// Any other constant: an index into [`Code::constants`].
    Constant(u32),
    /// A string without variables: an index into [`Code::texts`].
    Text(u32),
    /// A string with variables: an index into [`Code::templates`].
    Template(u32),
    /// A variable.
    Slot(Slot),
    /// `$$rank` and the other built-in values.
    Builtin(Builtin),
    /// `$$env(NAME)`: an index into `plan::Plan::environment`.
    Environment(u32),
    /// The operator and its operand.
    Unary(UnaryOp, ExprIndex),
    /// The operator and its first operand; the second follows.
    Binary(BinaryOp, ExprIndex),
    /// Three consecutive expressions: condition, then, else.
    Choice(ExprIndex),
    /// A command: an index into [`Code::calls`].
    Command(u32),
    /// A built-in function: an index into [`Code::calls`].
    Function(u32),
    /// A function of the program: an index into [`Code::calls`].
    Call(u32),
    /// `[a, b]`: an index into [`Code::calls`] for its items.
    List(u32),
    /// The list; the index follows.
    Index(ExprIndex),
}

const _: () = assert!(size_of::<Expr>() == 8);

/// A built-in value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Builtin {
    /// This rank, from 0.
    Rank,
    /// The number of ranks.
    Size,
    /// The name of the enclosing group; `world` outside of all groups.
    Group,
    /// This rank's index in that group, from 0.
    GroupRank,
    /// Time since the start of the run.
    Time,
    /// The errno of the last command, 0 where it succeeded.
    Errno,
    /// Bytes that the last command moved.
    Bytes,
    /// A random integer from 0 to 2⁶³-1, of this rank's own sequence.
    Rand,
    /// A random integer that is the same on all ranks.
    CommonRand,
    /// The number of the worker of `parallel`, from 0.
    Worker,
    /// What the names of files carry that this run makes and removes.
    Run,
}

impl Builtin {
    /// All built-in values, with their names and a line of documentation.
    pub const ALL: &[(Builtin, &str, &str)] = &[
        (Builtin::Rank, "rank", "This rank, from 0."),
        (Builtin::Size, "size", "The number of ranks."),
        (Builtin::Group, "group", "The name of the enclosing group; `world` outside of all groups."),
        (Builtin::GroupRank, "grank", "This rank's index in that group, from 0."),
        (Builtin::Time, "time", "Time since the start of the run."),
        (Builtin::Errno, "errno", "The errno of the last command, 0 if it succeeded."),
        (Builtin::Bytes, "bytes", "Bytes that the last command moved."),
        (Builtin::Rand, "rand", "A random integer from 0 to 2⁶³-1, from this rank's own seeded sequence."),
        (Builtin::CommonRand, "crand", "A random integer that is the same on all ranks."),
        (Builtin::Worker, "worker", "The number of the worker of `parallel`, from 0."),
        (
            Builtin::Run,
            "run",
            "A name of this run, the same on all ranks and of no other run: eight letters and digits.",
        ),
    ];

    /// The built-in with this name, in any case.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name)).map(|(builtin, ..)| *builtin)
    }
}

/// A call of a command or function, with its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompiledCall {
    /// [`Command`], [`Function`] or function of the program, by number.
    pub target: u32,
    /// The first argument; the others follow.
    pub first: ExprIndex,
    /// Their number.
    pub count: u32,
    /// The site of a command.
    pub site: SiteId,
}

impl CompiledCall {
    /// The command that is called.
    pub fn command(&self) -> Command {
        Command::from_index(self.target as usize)
    }

    /// The built-in function that is called.
    pub fn function(&self) -> Function {
        Function::from_index(self.target as usize)
    }
}

/// A string with variables: consecutive pieces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Template {
    /// First piece.
    pub first: u32,
    /// Their number.
    pub count: u32,
}

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    /// Text: an index into [`Code::texts`].
    Text(u32),
    /// A variable.
    Slot(Slot),
    /// A built-in value.
    Builtin(Builtin),
    /// An environment variable: an index into `plan::Plan::environment`.
    Environment(u32),
}

/// One statement, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Step {
    /// Assigns to an item of a list: the index, then the value.
    AssignItem { list: Slot, first: ExprIndex },
    /// Assigns to a variable.
    Assign(Slot, ExprIndex),
    /// A command whose value is not used.
    Command { command: Command, count: u8, first: ExprIndex, site: SiteId },
    /// An expression whose value is not used: a call of a function of the program.
    Evaluate(ExprIndex),
    /// Repeats the body, counting from 0 in `slot` unless that is `Slot::NONE`.
    Repeat { slot: Slot, count: ExprIndex, body: BlockIndex },
    /// Counts from the first expression up to, but not including, the second, in steps of the third.
    ForRange { slot: Slot, first: ExprIndex, body: BlockIndex },
    /// Runs the body for each item of a list.
    ForEach { slot: Slot, list: ExprIndex, body: BlockIndex },
    /// Repeats the body until the time has passed. `together`: the ranks of the enclosing group meet before
    /// each round and agree whether to continue.
    ForTime { duration: ExprIndex, body: BlockIndex, together: bool },
    /// Repeats the body while the condition is true.
    While { condition: ExprIndex, body: BlockIndex },
    /// Runs the first block if the condition is true, otherwise the next one.
    If { condition: ExprIndex, then: BlockIndex },
    /// A timed block: `time`, `ctime`. The label is rendered on entry.
    Time { site: SiteId, label: ExprIndex, body: BlockIndex },
    /// A barrier, the timed body, a barrier. Both barriers have the site after `site`.
    Phase { site: SiteId, label: ExprIndex, body: BlockIndex },
    /// Runs the body on the ranks of a group only.
    Group { group: GroupId, body: BlockIndex },
    /// Runs the body on the first rank of the enclosing group only.
    Master(BlockIndex),
    /// All ranks of a group wait for each other.
    Barrier { site: SiteId, group: GroupId },
    /// Waits, outside of every sample.
    Think(ExprIndex),
    /// Starts the body at the next intended time; `state` is the number of the pace.
    Rate { rate: ExprIndex, state: u32, body: BlockIndex },
    /// As `Rate`, with exponential gaps.
    Poisson { rate: ExprIndex, state: u32, body: BlockIndex },
    /// Starts the body at a time since the start of the run.
    At { time: ExprIndex, body: BlockIndex },
    /// Runs one of `count` weighted bodies; weights are consecutive expressions, bodies consecutive blocks.
    Choose { weights: ExprIndex, count: u32, bodies: BlockIndex },
    /// Runs the body in several concurrent workers of this rank.
    Parallel { count: ExprIndex, body: BlockIndex },
    /// Starts commands in the body without waiting, up to `depth` at a time.
    Async { depth: ExprIndex, body: BlockIndex },
    /// Reads in the body compare what they read with what was written.
    Verify(BlockIndex),
    /// Commands in the body are expected to fail with this errno.
    Expect { errno: ExprIndex, body: BlockIndex },
    /// Ends the loops inside for all ranks of the enclosing group when the first rank has completed the body,
    /// or when the time has passed ([`NO_LIMIT`]: no time). Only directly inside a [`Step::Phase`].
    Stonewall { limit: ExprIndex, body: BlockIndex },
    /// Fails the run if the condition is false; `each`: each rank judges its own samples.
    Assert { condition: ExprIndex, each: bool },
    /// Sets whether a failed command ends the program.
    OnError { stop: bool },
    /// Leaves the innermost loop.
    Break,
    /// Continues with the next iteration of the innermost loop.
    Continue,
    /// Leaves the function with a value.
    Return(ExprIndex),
}

const _: () = assert!(size_of::<Step>() <= 16);

impl Step {
    /// The expressions in it, outside of its blocks.
    pub(crate) fn expressions(self) -> std::ops::Range<ExprIndex> {
        match self {
            Self::Assign(_, expr)
            | Self::Evaluate(expr)
            | Self::Repeat { count: expr, .. }
            | Self::ForEach { list: expr, .. }
            | Self::ForTime { duration: expr, .. }
            | Self::While { condition: expr, .. }
            | Self::If { condition: expr, .. }
            | Self::Time { label: expr, .. }
            | Self::Phase { label: expr, .. }
            | Self::Think(expr)
            | Self::Rate { rate: expr, .. }
            | Self::Poisson { rate: expr, .. }
            | Self::At { time: expr, .. }
            | Self::Parallel { count: expr, .. }
            | Self::Async { depth: expr, .. }
            | Self::Expect { errno: expr, .. }
            | Self::Assert { condition: expr, .. }
            | Self::Return(expr) => expr..expr + 1,
            Self::Stonewall { limit, .. } if limit != NO_LIMIT => limit..limit + 1,
            Self::AssignItem { first, .. } => first..first + 2,
            Self::ForRange { first, .. } => first..first + 3,
            Self::Command { first, count, .. } => first..first + u32::from(count),
            Self::Choose { weights, count, .. } => weights..weights + count,
            Self::Stonewall { .. }
            | Self::Group { .. }
            | Self::Master(_)
            | Self::Barrier { .. }
            | Self::Verify(_)
            | Self::OnError { .. }
            | Self::Break
            | Self::Continue => 0..0,
        }
    }

    /// The blocks in it.
    pub(crate) fn bodies(self) -> std::ops::Range<BlockIndex> {
        match self {
            Self::Repeat { body, .. }
            | Self::ForRange { body, .. }
            | Self::ForEach { body, .. }
            | Self::ForTime { body, .. }
            | Self::While { body, .. }
            | Self::Time { body, .. }
            | Self::Phase { body, .. }
            | Self::Group { body, .. }
            | Self::Master(body)
            | Self::Rate { body, .. }
            | Self::Poisson { body, .. }
            | Self::At { body, .. }
            | Self::Parallel { body, .. }
            | Self::Async { body, .. }
            | Self::Verify(body)
            | Self::Expect { body, .. }
            | Self::Stonewall { body, .. } => body..body + 1,
            Self::If { then, .. } => then..then + 2,
            Self::Choose { count, bodies, .. } => bodies..bodies + count,
            Self::AssignItem { .. }
            | Self::Assign(..)
            | Self::Command { .. }
            | Self::Evaluate(_)
            | Self::Barrier { .. }
            | Self::Think(_)
            | Self::Assert { .. }
            | Self::OnError { .. }
            | Self::Break
            | Self::Continue
            | Self::Return(_) => 0..0,
        }
    }
}

/// A function of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Procedure {
    /// Its name.
    pub name: String,
    /// Number of parameters; the other `locals` are `let` variables.
    pub parameters: u32,
    /// Number of parameters that are required.
    pub required: u32,
    /// Defaults of the last ones, consecutive expressions.
    pub defaults: ExprIndex,
    /// Number of local variables.
    pub locals: u32,
    /// Its body.
    pub body: BlockIndex,
}

/// A site whose position is not resolved to file, line and column yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RawSite {
    pub offset: u32,
    pub command: Option<Command>,
    pub kind: SiteKind,
    pub group: u16,
    /// The errno that the innermost `expect` around it names as a constant, 0 where there is none.
    pub expects: u16,
}

impl RawSite {
    /// The operation that its samples time, as written in the program.
    pub fn operation(&self) -> &'static str {
        match (self.command, self.kind) {
            (Some(command), _) => command.name(),
            (None, SiteKind::CommandTime) => "ctime",
            (None, SiteKind::Phase) => "phase",
            (None, SiteKind::Barrier) => "barrier",
            (None, SiteKind::Time | SiteKind::Operation) => "time",
        }
    }
}

/// The spans of meetings, and of the expressions that decide how often ranks reach them. Empty if ranks never
/// meet.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeetingSpans {
    expressions: Vec<(ExprIndex, Span)>,
    sites: Vec<(u32, Span)>,
}

impl MeetingSpans {
    pub fn add_expression(&mut self, expr: ExprIndex, span: Span) {
        self.expressions.push((expr, span));
    }

    pub fn add_site(&mut self, site: SiteId, span: Span) {
        self.sites.push((site.0, span));
    }

    /// Sorts the entries. Call after adding all.
    pub fn sort(&mut self) {
        self.expressions.sort_unstable_by_key(|(expr, _)| *expr);
        self.sites.sort_unstable_by_key(|(site, _)| *site);
    }

    pub fn of_expression(&self, expr: ExprIndex) -> Option<Span> {
        let found = self.expressions.binary_search_by_key(&expr, |(expr, _)| *expr);
        found.ok().map(|at| self.expressions[at].1)
    }

    pub fn of_site(&self, site: SiteId) -> Option<Span> {
        self.sites.binary_search_by_key(&site.0, |(site, _)| *site).ok().map(|at| self.sites[at].1)
    }
}

/// A compiled program; independent of the number of ranks and of parameters.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Statements; those of a block are consecutive.
    pub steps: Vec<Step>,
    /// The offset of each step's statement in the source.
    pub(crate) origins: Vec<u32>,
    /// First step and number of steps of each block.
    pub blocks: Vec<(u32, u32)>,
    /// Expressions.
    pub exprs: Vec<Expr>,
    /// Constants that do not fit an expression.
    pub constants: Vec<Value>,
    /// Calls inside expressions.
    pub calls: Vec<CompiledCall>,
    /// Strings with variables.
    pub templates: Vec<Template>,
    /// Their pieces.
    pub pieces: Vec<Piece>,
    /// Strings without variables: first byte and length in `pool`.
    pub texts: Vec<(u32, u32)>,
    /// The bytes of all strings.
    pub pool: String,
    /// Names of the global variables, by slot.
    pub variables: Vec<String>,
    /// Functions of the program.
    pub procedures: Vec<Procedure>,
    /// Whether integers wrap, as in the original.
    pub classic: bool,
    /// Number of `rate` statements.
    pub paces: u32,
    /// The whole program.
    pub main: BlockIndex,
    /// Names of environment variables.
    pub environment: Vec<(String, Span)>,
    pub(crate) sites: Vec<RawSite>,
    pub(crate) places: MeetingSpans,
    /// For each block, whether its work is independent of the counter of the enclosing loop.
    pub(crate) uniform: Vec<bool>,
}

impl Code {
    /// The consecutive operands, arguments or items of an expression.
    pub(crate) fn operands(&self, index: ExprIndex) -> std::ops::Range<ExprIndex> {
        match self.exprs[index as usize] {
            Expr::Int(_)
            | Expr::Constant(_)
            | Expr::Text(_)
            | Expr::Template(_)
            | Expr::Slot(_)
            | Expr::Builtin(_)
            | Expr::Environment(_) => 0..0,
            Expr::Unary(_, operand) => operand..operand + 1,
            Expr::Binary(_, first) | Expr::Index(first) => first..first + 2,
            Expr::Choice(first) => first..first + 3,
            Expr::Command(at) | Expr::Function(at) | Expr::Call(at) | Expr::List(at) => {
                let call = self.calls[at as usize];
                call.first..call.first + call.count
            }
        }
    }

    /// A string without anything to fill in.
    #[inline]
    pub fn text(&self, index: u32) -> &str {
        let (start, length) = self.texts[index as usize];
        &self.pool[start as usize..(start + length) as usize]
    }

    /// Bytes of memory that it occupies.
    pub fn bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>()
            + self.origins.capacity() * 4
            + self.blocks.capacity() * 8
            + self.exprs.capacity() * 8
            + self.constants.capacity() * size_of::<Value>()
            + self.calls.capacity() * size_of::<CompiledCall>()
            + self.templates.capacity() * 8
            + self.pieces.capacity() * size_of::<Piece>()
            + self.texts.capacity() * 8
            + self.pool.capacity()
            + self.sites.capacity() * size_of::<RawSite>()
    }
}
