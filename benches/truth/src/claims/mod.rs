//! Every clause of the screens, one file a screen or a part that several have.

mod distribution;
mod fit;
pub mod others;
mod pair;
mod reasons;
mod run;

use crate::{Clause, Judged, Read, Registry, Screen};

/// The clauses of a screen.
pub fn of(screen: Screen) -> Registry {
    match screen {
        Screen::Fit => of_fit(),
        Screen::Run | Screen::Gate => of_run(),
        Screen::Compare => with(pair::compare()),
        Screen::Ab => Registry::of(pair::ab()),
        Screen::Watch => with(others::watch()),
        Screen::Scale => with(others::scale()),
        Screen::Plan => with(others::plan()),
    }
}

/// With the findings of the tests of independence, which many screens name.
fn with(clauses: Vec<Clause>) -> Registry {
    Registry::of(reasons::clauses().into_iter().chain(clauses).collect())
}

/// The clauses of the first screen of `fit`.
pub fn of_fit() -> Registry {
    Registry::of(
        distribution::clauses().into_iter().chain(reasons::clauses()).chain(fit::clauses()).collect(),
    )
}

/// The clauses of the first screen of `run`.
pub fn of_run() -> Registry {
    Registry::of(
        distribution::clauses().into_iter().chain(reasons::clauses()).chain(run::clauses()).collect(),
    )
}

/// A clause that claims nothing about the distribution.
fn neutral(name: &'static str, words: &'static str) -> Clause {
    Clause { name, words, judge: |_, _| Judged::Neutral }
}

/// A sentence about the distribution.
fn sentence(name: &'static str, words: &'static str, judge: fn(&Read, &crate::Asked) -> Judged) -> Clause {
    Clause { name, words, judge }
}
