//! Defines plans: a compiled program with ranks, groups, parameters and a seed.
//!
//! A [`Plan`] is all that the interpreter needs, and is shared by all ranks (`Send + Sync`, read-only). It
//! keeps the text only to report the line of a run-time error.

mod constants;
mod groups;
mod make;
mod shape;
mod sizes;
mod uses;

use std::collections::BTreeMap;
use std::sync::Arc;

use samples::SiteKind;

use crate::commands::Command;
use crate::source::Source;
use crate::value::Value;

pub use crate::check::{ShapeForm, ShapeWord};
pub use crate::code::{
    BlockIndex, Builtin, Code, CompiledCall, Expr, ExprIndex, GroupId, NO_LIMIT, Piece, Procedure, SiteId,
    Slot, Step, Template,
};
pub use make::{Environment, Settings, plan};
pub use shape::{FilePiece, MOST_PIECES, PatternShape, ShapeError};
pub(crate) use uses::{any_pattern_in, pattern_uses};

/// A static site: a place in the program that produces samples, without labels.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteSpec {
    /// The file it is in.
    pub file: Arc<str>,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// `fwrite`, …; `time`, `ctime`, `phase` or `barrier`.
    pub operation: &'static str,
    /// The command, for an operation.
    pub command: Option<Command>,
    /// The kind of interval of its samples.
    pub kind: SiteKind,
    /// The innermost enclosing group.
    pub group: GroupId,
    /// The errno with which the innermost `expect` around it wants it to fail, where that is a constant.
    pub expects: Option<i32>,
}

/// A named set of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name; `world` for all ranks.
    pub name: String,
    /// Its ranks, ascending.
    pub ranks: Vec<u32>,
}

impl Group {
    /// The index of a rank in the group, from 0.
    pub fn place(&self, rank: u32) -> Option<u32> {
        self.ranks.binary_search(&rank).ok().map(|place| place as u32)
    }
}

/// The layout of data for MPI-IO: without a shape, block i of rank r is at offset `(i * P + r) * element` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Its name.
    pub name: String,
    /// The type number of the 2013 grammar; only round robin (2) is known.
    pub kind: i64,
    /// Blocks a rank.
    pub iterations: u64,
    /// Bytes a block.
    pub element: u64,
    /// 0: independent transfers, one a block; 1: the same, collective; 2: one independent
    /// transfer through the view; 3: the same, collective.
    pub level: u8,
    /// Where the blocks lie, unless they are dealt out in turn; then there are no iterations.
    pub shape: Option<ShapeForm>,
    /// The group, where the definition names one.
    pub group: Option<GroupId>,
}

impl Pattern {
    /// Whether the transfer itself is collective.
    pub fn is_collective(&self) -> bool {
        matches!(self.level, 1 | 3)
    }

    /// The offset of block `block` of the `place`-th of `ranks` ranks, in bytes.
    pub fn offset(&self, block: u64, place: u32, ranks: u32) -> u64 {
        (block * u64::from(ranks) + u64::from(place)) * self.element
    }

    /// Bytes that one rank moves.
    pub fn bytes(&self) -> u64 {
        self.iterations.saturating_mul(self.element)
    }
}

/// Free space that the program requires before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Space {
    /// The directory; `None`: the parameter `dir` if there is one, otherwise the working directory.
    pub directory: Option<String>,
    /// The space in bytes.
    pub bytes: u64,
}

/// What writes without a buffer contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WrittenContent {
    /// What encodes run, file, offset and rank.
    #[default]
    Own,
    /// What the rank read just before, where that is enough.
    Copied,
}

/// Whether `define space` names memory in place of a directory.
pub fn is_memory(directory: Option<&str>) -> bool {
    directory == Some("memory:")
}

/// All that a run needs of the program.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The steps.
    pub code: Arc<Code>,
    /// The number of ranks.
    pub ranks: u32,
    /// The value of `define ranks`, even if it was overridden.
    pub defined_ranks: Option<i64>,
    /// The groups; the first is the world.
    pub groups: Vec<Group>,
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// The values of parameters, defaults included.
    pub parameters: BTreeMap<String, String>,
    /// Parameters whose value came from the command line or the environment.
    pub given: Vec<String>,
    /// Those of `given` that the program declares as places: the user chose them.
    pub places: Vec<String>,
    /// `define report {…}`
    pub report: BTreeMap<String, String>,
    /// `define hints {…}`: hints for MPI-IO when it opens a file, in the order of the program.
    pub hints: Vec<(String, String)>,
    /// `define space …`
    pub space: Vec<Space>,
    /// `define content …`
    pub content: WrittenContent,
    /// Values of the environment variables, in the order of [`Code::environment`].
    pub environment: Vec<String>,
    /// Values of global variables before the first step.
    pub(crate) initial: Vec<Value>,
    /// The seed of all random draws.
    pub seed: u64,
    /// Notes for the user, such as how ranks were shared among groups.
    pub notes: Vec<String>,
    pub(crate) sites: Arc<Vec<SiteSpec>>,
    /// Line of each step's statement, for run-time errors.
    pub(crate) source: Arc<Source>,
}

impl Plan {
    /// Does the program compare what it reads with what belongs there?
    pub fn verifies(&self) -> bool {
        self.code.steps.iter().any(|step| matches!(step, Step::Verify(_)))
    }

    /// Every static site: index with [`SiteId::index`].
    pub fn sites(&self) -> &[SiteSpec] {
        &self.sites
    }

    /// One static site.
    pub fn site(&self, id: SiteId) -> &SiteSpec {
        &self.sites[id.index()]
    }

    /// The group with this name, ignoring blanks at its ends.
    pub fn group(&self, name: &str) -> Option<GroupId> {
        self.groups.iter().position(|group| group.name == name.trim()).map(|at| GroupId(at as u32))
    }

    /// The initial value of the parameter's variable, as text.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// File, line and column of a step.
    pub fn place(&self, step: u32) -> crate::source::Position {
        self.source.position(self.code.origins.get(step as usize).copied().unwrap_or(0))
    }
}
