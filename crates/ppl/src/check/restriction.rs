//! Why not all ranks come to a place, and what is collective there.

use crate::diagnostic::Span;

/// Why only some ranks come to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Restriction {
    /// `master`
    Master(Span),
    /// `group`
    Group(u32, Span),
    /// A condition or count that can differ: 1 perhaps, 2 surely.
    Differs(u8, Span),
    /// `parallel`
    Workers(Span),
}

/// A collective operation inside a group: whether all come depends on the ranks of the groups.
#[derive(Clone, Debug)]
pub(crate) struct Collective {
    /// Where.
    pub span: Span,
    /// What, in words.
    pub what: String,
    /// The group that must come; `None`: that of the file.
    pub target: Option<u32>,
    /// The group inside which it stands, and where that begins.
    pub inside: Option<(u32, Span)>,
    /// Only collective where this pattern is.
    pub pattern: Option<u32>,
    /// Stands inside `master` or under a condition: an error where the pattern is collective.
    pub restricted: Option<Span>,
}
