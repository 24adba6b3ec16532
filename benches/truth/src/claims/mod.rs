//! Every clause of the screens, one file a screen or a part that several have.

mod fit;
mod law;
mod reasons;
mod run;

use crate::{Clause, Judged, Read, Registry};

/// The clauses of the first screen of `fit`.
pub fn of_fit() -> Registry {
    Registry::of(law::clauses().into_iter().chain(reasons::clauses()).chain(fit::clauses()).collect())
}

/// The clauses of the first screen of `run`.
pub fn of_run() -> Registry {
    Registry::of(law::clauses().into_iter().chain(reasons::clauses()).chain(run::clauses()).collect())
}

/// A clause that claims nothing about the law.
fn neutral(name: &'static str, words: &'static str) -> Clause {
    Clause { name, words, judge: |_, _| Judged::Neutral }
}

/// A sentence about the law.
fn sentence(name: &'static str, words: &'static str, judge: fn(&Read, &crate::Asked) -> Judged) -> Clause {
    Clause { name, words, judge }
}
