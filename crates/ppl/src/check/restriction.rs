//! Why not all ranks come to a place, and what is collective there.

use crate::diagnostic::Span;

/// Can a value differ between ranks?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Taint {
    /// It is the same on all.
    #[default]
    Same,
    /// Perhaps: the result of a command.
    Perhaps,
    /// Surely: the number of the rank, a random number.
    Differs,
}

/// Why only some ranks come to a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Restriction {
    /// `master`
    Master(Span),
    /// `group`
    Group(u32, Span),
    /// A condition or count that can differ; never [`Taint::Same`].
    Differs(Taint, Span),
    /// `parallel`
    Workers(Span),
}

/// A collective operation inside a group: whether all come depends on the ranks of the groups.
#[derive(Clone, Debug)]
pub(crate) struct Collective {
    /// Where.
    pub span: Span,
    /// What it is, for messages.
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
