//! Facts of coverage: which causes of slow operations could be observed during a run.

use serde::{Deserialize, Serialize};

use super::other::OtherFacts;
use crate::cause::Cause;

/// The causes that could be observed: the section `sight` of the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    /// The tier reached.
    pub tier: Tier,
    /// Causes that are observed whenever they occur.
    pub sees: Vec<Cause>,
    /// Whether nobody was to look for causes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unwanted: bool,
    /// The causes that could not be observed, with the reason: one sentence each.
    pub blind: Vec<String>,
    /// Keys that another version wrote.
    #[serde(flatten)]
    pub other: OtherFacts,
}

/// Extent of the observation that the machine allows a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Counters of the thread, read around long operations.
    #[default]
    Accounting,
    /// Context switches and page faults as records.
    Events,
    /// Also interrupts and block devices.
    Tracepoints,
}
