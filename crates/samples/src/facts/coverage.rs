//! Coverage: which causes of slow operations could be observed during a run, and which could not.

use serde::{Deserialize, Serialize};

use super::other::OtherFacts;
use crate::cause::Cause;

/// Which causes could be observed: the facts' `sight` section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    /// The tier reached.
    pub tier: Tier,
    /// Causes that are observed whenever they occur.
    pub sees: Vec<Cause>,
    /// In one sentence each: what could not be observed, and why.
    pub blind: Vec<String>,
    /// What another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// How much of a thread's slow operations the machine lets it observe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Counters of the thread, read around long operations.
    #[default]
    Accounting,
    /// Context switches and page faults as records.
    Events,
    /// Interrupts and block devices too.
    Tracepoints,
}
