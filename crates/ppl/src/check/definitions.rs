//! Holds what a program defines: parameters, groups, patterns, ranks, content, space, hints.

use crate::code::{ExprIndex, Slot};
use crate::diagnostic::Span;

/// `define param "name" $variable default`, or `define place …`
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name on the command line.
    pub name: String,
    /// Its variable.
    pub(crate) slot: Slot,
    /// The default: a literal string or a constant expression.
    pub(crate) default: ExprIndex,
    /// Whether the default is a number, so that values are read as numbers with units.
    pub numeric: bool,
    /// The least value, the greatest value, the list of permitted values.
    pub(crate) range: [Option<ExprIndex>; 3],
    /// `define place`: a directory or a file, which the program may use where its user gives it.
    pub place: bool,
    /// Span of its definition.
    pub span: Span,
}

/// How ranks are assigned to a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupTag {
    /// `S`: ranks of its own, from 0 on.
    Exclusive,
    /// `D`, `D/1`: disjoint from the groups with the same sub-tag.
    Disjoint(String),
    /// No tag: from the first rank after the `S` groups; may overlap.
    Free,
}

/// One group of `define groups`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDefinition {
    /// Its name.
    pub name: String,
    /// Assignment of its ranks.
    pub tag: GroupTag,
    /// A sub-tag that is an expression, evaluated by the plan.
    pub(crate) sub: Option<ExprIndex>,
    /// Span of its definition.
    pub span: Span,
}

/// `define pattern {…}`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternDefinition {
    /// Its name.
    pub name: String,
    /// Type, iterations, element, level, as expressions.
    pub(crate) numbers: [ExprIndex; 4],
    /// Where the blocks lie, unless they are dealt out in turn.
    pub(crate) shape: Option<ShapeForm>,
    /// Its group, if it names one.
    pub(crate) group: Option<u32>,
    /// Span of its definition.
    pub span: Span,
}

/// Where a pattern's blocks lie, as expressions that may depend on the rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeForm {
    /// Which shape.
    pub word: ShapeWord,
    /// Its parts, in the order of [`ShapeWord::parts`].
    pub(crate) parts: Vec<ExprIndex>,
    /// Span of the pattern's name.
    pub(crate) span: Span,
}

/// The word of a shape in `define pattern`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeWord {
    /// A part of an array of any dimension.
    Subarray,
    /// An array dealt out in blocks, in turn in each dimension.
    Darray,
    /// Strides within strides.
    Nested,
    /// An array of which each rank has one block in every slab, on a diagonal.
    Diagonal,
    /// Offsets and lengths.
    List,
}

impl ShapeWord {
    /// All, with the words of the language.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Subarray, "subarray"),
        (Self::Darray, "darray"),
        (Self::Nested, "nested"),
        (Self::Diagonal, "diagonal"),
        (Self::List, "list"),
    ];

    /// The word.
    pub fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The shape of this word, in any case.
    pub fn find(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| known.eq_ignore_ascii_case(word.trim())).map(|(shape, _)| *shape)
    }

    /// What its parts are called.
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Subarray => &["sizes", "subsizes", "starts"],
            Self::Darray => &["sizes", "blocks", "ranks"],
            Self::Nested => &["start", "counts", "strides"],
            Self::Diagonal => &["sizes"],
            Self::List => &["offsets", "lengths"],
        }
    }

    /// How a definition is written.
    pub fn form(self) -> &'static str {
        match self {
            Self::Subarray => {
                "{\"p\", \"subarray\", [sizes], [subsizes], [starts], element, level[, \"group\"]}"
            }
            Self::Darray => "{\"p\", \"darray\", [sizes], [blocks], [ranks], element, level[, \"group\"]}",
            Self::Nested => "{\"p\", \"nested\", start, [counts], [strides], element, level[, \"group\"]}",
            Self::Diagonal => "{\"p\", \"diagonal\", [sizes], element, level[, \"group\"]}",
            Self::List => "{\"p\", \"list\", [offsets], [lengths], level[, \"group\"]}",
        }
    }
}

/// Everything that a program defines.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// In the order of the program.
    pub parameters: Vec<Parameter>,
    /// In the order of the program; the world is not among them.
    pub groups: Vec<GroupDefinition>,
    /// In the order of the program.
    pub patterns: Vec<PatternDefinition>,
    pub(crate) report: Vec<(String, ExprIndex)>,
    /// Hints to MPI-IO with the span of the key.
    pub(crate) hints: Vec<(String, ExprIndex, Span)>,
    pub(crate) ranks: Option<(ExprIndex, Span)>,
    pub(crate) content: Option<(ExprIndex, Span)>,
    pub(crate) space: Vec<(Option<ExprIndex>, ExprIndex, Span)>,
}

/// The digits of a text such as `"4k"`, a number with a suffix that is ignored in strings.
pub(crate) fn classic_suffix(text: &str) -> Option<&str> {
    let text = text.trim();
    let digits = text.strip_suffix(['k', 'm', 'g'])?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}
