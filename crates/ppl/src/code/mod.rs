//! Compiled programs: compact steps with resolved variables and pre-split strings.
//!
//! [`Code`] is what the check makes of a tree: it knows neither ranks nor parameters.

mod spell;

use samples::SiteKind;

use crate::commands::{Command, Function};
use crate::diagnostic::Span;
use crate::syntax::{BinaryOp, UnaryOp};
use crate::value::Value;

pub(crate) use spell::spell;

/// A variable: the top bit set means that it is local to the function that runs.
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
/// No expression: a stonewall without a time.
pub const NO_LIMIT: ExprIndex = u32::MAX;
/// A block: an index into [`Code::blocks`].
pub type BlockIndex = u32;

/// An expression, in 8 bytes. Operands of an operator stand next to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    /// A small integer.
    Int(i32),
    /// Any other constant: an index into [`Code::constants`].
    Constant(u32),
    /// A string without anything to fill in: an index into [`Code::texts`].
    Text(u32),
    /// A string with something to fill in: an index into [`Code::templates`].
    Template(u32),
    /// A variable.
    Slot(Slot),
    /// `$$rank` and its kin.
    Builtin(Builtin),
    /// `$$env(NAME)`: an index into `plan::Plan::environment`.
    Environment(u32),
    /// The operand is the expression named.
    Unary(UnaryOp, ExprIndex),
    /// The operands are the expression named and the next one.
    Binary(BinaryOp, ExprIndex),
    /// Condition, then, else: three in a row.
    Choice(ExprIndex),
    /// A command: an index into [`Code::calls`].
    Command(u32),
    /// A built-in function: an index into [`Code::calls`].
    Function(u32),
    /// A function of the program: an index into [`Code::calls`].
    Call(u32),
    /// `[a, b]`: an index into [`Code::calls`] for its items.
    List(u32),
    /// The list and, behind it, the index.
    Index(ExprIndex),
}

const _: () = assert!(size_of::<Expr>() == 8);

/// A built-in value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Builtin {
    /// This rank, from 0.
    Rank,
    /// How many ranks there are.
    Size,
    /// The name of the group around this place; `world` outside of all.
    Group,
    /// This rank's place in that group, from 0.
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
    /// Which of the workers of `parallel`, from 0.
    Worker,
}

impl Builtin {
    /// All with their names and a line of documentation.
    pub const ALL: &[(Builtin, &str, &str)] = &[
        (Builtin::Rank, "rank", "This rank, from 0."),
        (Builtin::Size, "size", "How many ranks there are."),
        (Builtin::Group, "group", "The name of the group around this place; `world` outside of all groups."),
        (Builtin::GroupRank, "grank", "This rank's place in that group, from 0."),
        (Builtin::Time, "time", "Time since the start of the run."),
        (Builtin::Errno, "errno", "The errno of the last command, 0 where it succeeded."),
        (Builtin::Bytes, "bytes", "Bytes that the last command moved."),
        (Builtin::Rand, "rand", "A random integer from 0 to 2⁶³-1, from this rank's own seeded sequence."),
        (Builtin::CommonRand, "crand", "A random integer that is the same on all ranks."),
        (Builtin::Worker, "worker", "Which of the workers of `parallel`, from 0."),
    ];

    /// The built-in with this name; capitals do not matter.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| known.eq_ignore_ascii_case(name)).map(|(builtin, ..)| *builtin)
    }
}

/// A call of a command or function: what, and which expressions are its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// [`Command`], [`Function`] or function of the program, by number.
    pub target: u32,
    /// First argument; the others follow.
    pub first: ExprIndex,
    /// How many.
    pub count: u32,
    /// The site of a command.
    pub site: SiteId,
}

impl Call {
    /// The command that is called.
    pub fn command(&self) -> Command {
        Command::from_index(self.target as usize)
    }

    /// The built-in function that is called.
    pub fn function(&self) -> Function {
        Function::from_index(self.target as usize)
    }
}

/// A string with something to fill in: pieces in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Template {
    /// First piece.
    pub first: u32,
    /// How many.
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
    /// The item of a list: the index, then the value.
    AssignItem { list: Slot, first: ExprIndex },
    /// A variable gets a value.
    Assign(Slot, ExprIndex),
    /// A command whose value is not used.
    Command { command: Command, count: u8, first: ExprIndex, site: SiteId },
    /// An expression whose value is not used: a call of a function of the program.
    Evaluate(ExprIndex),
    /// So many times, counting from 0 in `slot` unless that is `Slot::NONE`.
    Repeat { slot: Slot, count: ExprIndex, body: BlockIndex },
    /// From the expression named up to, not including, the next one, by the one after.
    ForRange { slot: Slot, first: ExprIndex, body: BlockIndex },
    /// Each item of a list.
    ForEach { slot: Slot, list: ExprIndex, body: BlockIndex },
    /// Again and again until the time is over; `together`: the ranks of the group around meet before each
    /// round, and continue or end together.
    ForTime { duration: ExprIndex, body: BlockIndex, together: bool },
    /// As long as it is true.
    While { condition: ExprIndex, body: BlockIndex },
    /// The first block if it is true, otherwise the next one.
    If { condition: ExprIndex, then: BlockIndex },
    /// A timed block: `time`, `ctime`. The label is rendered on entering.
    Time { site: SiteId, label: ExprIndex, body: BlockIndex },
    /// A barrier, time, a barrier: the site of both barriers is the one behind `site`.
    Phase { site: SiteId, label: ExprIndex, body: BlockIndex },
    /// Only ranks of a group.
    Group { group: GroupId, body: BlockIndex },
    /// Only the first rank of the group around.
    Master(BlockIndex),
    /// All ranks of a group wait for each other.
    Barrier { site: SiteId, group: GroupId },
    /// Wait, outside of every latency.
    Think(ExprIndex),
    /// Start the body at the next intended time; the state of the pace is `state`.
    Rate { rate: ExprIndex, state: u32, body: BlockIndex },
    /// The same with exponential gaps.
    Poisson { rate: ExprIndex, state: u32, body: BlockIndex },
    /// Start the body at a time since the run's start.
    At { time: ExprIndex, body: BlockIndex },
    /// One of `count` weighted bodies: weights are consecutive expressions, bodies blocks.
    Choose { weights: ExprIndex, count: u32, bodies: BlockIndex },
    /// The body by several workers of this rank at once.
    Parallel { count: ExprIndex, body: BlockIndex },
    /// Commands in the body are started without waiting, so many at once.
    Async { depth: ExprIndex, body: BlockIndex },
    /// Reads in the body compare what they read with what was written.
    Verify(BlockIndex),
    /// Commands in the body are expected to fail with this errno.
    Expect { errno: ExprIndex, body: BlockIndex },
    /// The loops inside end for all ranks of the group around when the first is through, or when the time
    /// is over where one is given ([`NO_LIMIT`]: none). Stands directly in a [`Step::Phase`].
    Stonewall { limit: ExprIndex, body: BlockIndex },
    /// The run's answer is no where it is false; `each`: each rank judges its own samples.
    Assert { condition: ExprIndex, each: bool },
    /// Does a failed command end the program?
    OnError { stop: bool },
    /// Out of the innermost loop.
    Break,
    /// On to the next iteration of the innermost loop.
    Continue,
    /// Out of the function with a value.
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
    /// How many parameters it takes; the others of `locals` are `let` variables.
    pub parameters: u32,
    /// How many of them must be given.
    pub required: u32,
    /// Defaults of the last ones, consecutive expressions.
    pub defaults: ExprIndex,
    /// Variables of its own.
    pub locals: u32,
    /// What it does.
    pub body: BlockIndex,
}

/// A site before its place is resolved to file, line and column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RawSite {
    pub offset: u32,
    pub command: Option<Command>,
    pub kind: SiteKind,
    pub group: u16,
}

impl RawSite {
    /// What its samples time, as it is written in the program.
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

/// Where in the text the meetings of ranks stand, and what decides how often they come there. Filled only where
/// ranks meet at all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    expressions: Vec<(ExprIndex, Span)>,
    sites: Vec<(u32, Span)>,
}

impl Places {
    pub fn add_expression(&mut self, expr: ExprIndex, span: Span) {
        self.expressions.push((expr, span));
    }

    pub fn add_site(&mut self, site: SiteId, span: Span) {
        self.sites.push((site.0, span));
    }

    /// To be called when all were added.
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

/// What the checker makes of a tree; the same for every number of ranks and every parameter.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Statements; those of a block stand next to each other.
    pub steps: Vec<Step>,
    /// For each step the offset of its statement in the source.
    pub(crate) origins: Vec<u32>,
    /// First step and number of steps of each block.
    pub blocks: Vec<(u32, u32)>,
    /// Expressions.
    pub exprs: Vec<Expr>,
    /// Constants that do not fit an expression.
    pub constants: Vec<Value>,
    /// Calls inside expressions.
    pub calls: Vec<Call>,
    /// Strings with something to fill in.
    pub templates: Vec<Template>,
    /// Their pieces.
    pub pieces: Vec<Piece>,
    /// Strings without anything to fill in: first byte and length in `pool`.
    pub texts: Vec<(u32, u32)>,
    /// The bytes of all strings.
    pub pool: String,
    /// Names of the global variables, by slot.
    pub variables: Vec<String>,
    /// Functions of the program.
    pub procedures: Vec<Procedure>,
    /// Integers wrap, as those of the original do.
    pub classic: bool,
    /// How many `rate` statements there are.
    pub paces: u32,
    /// The whole program.
    pub main: BlockIndex,
    /// Names of environment variables.
    pub environment: Vec<(String, Span)>,
    pub(crate) sites: Vec<RawSite>,
    pub(crate) places: Places,
    /// For each block: does it do the same, whatever the counter of the loop around it?
    pub(crate) uniform: Vec<bool>,
}

impl Code {
    /// The operands, arguments or items of an expression, which stand in a row.
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

    /// Bytes of memory that it keeps.
    pub fn bytes(&self) -> usize {
        self.steps.capacity() * size_of::<Step>()
            + self.origins.capacity() * 4
            + self.blocks.capacity() * 8
            + self.exprs.capacity() * 8
            + self.constants.capacity() * size_of::<Value>()
            + self.calls.capacity() * size_of::<Call>()
            + self.templates.capacity() * 8
            + self.pieces.capacity() * size_of::<Piece>()
            + self.texts.capacity() * 8
            + self.pool.capacity()
            + self.sites.capacity() * size_of::<RawSite>()
    }
}
