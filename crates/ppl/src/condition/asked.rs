//! What a condition of a program asks of the answer of its run.

use super::Compared;

/// What a quantity without parentheses is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The run, as its answer is.
    Run,
    /// The block with a label.
    Block,
    /// Samples with a label or of an operation.
    Named,
}

impl Scope {
    /// How the code keeps it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Scope::Run => "run",
            Scope::Block => "block",
            Scope::Named => "named",
        }
    }

    fn find(word: &str) -> Option<Scope> {
        [Scope::Run, Scope::Block, Scope::Named].into_iter().find(|scope| scope.word() == word)
    }
}

/// A quantity of the answer of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedAnswer {
    /// The quantity.
    pub quantity: Compared,
    /// Whether a width is asked for as a share of its quantile.
    pub share: bool,
    /// What it is of.
    pub scope: Scope,
    /// The label or operation; empty of the run.
    pub name: String,
}

/// The quantity, whether it is a share, and the scope, as the code of a program keeps them.
pub(crate) fn estimate_of(quantity: &str, scope: &str) -> Option<(Compared, bool, Scope)> {
    let (text, share) = quantity.strip_suffix(" %").map_or((quantity, false), |text| (text, true));
    Some((Compared::of_text(text)?, share, Scope::find(scope)?))
}
