//! The shared data types: samples, their sites, the facts of a run, and what is computed of samples alone.
//!
//! Every other crate shares these types: [`Sample`], [`Site`], [`Facts`], [`Run`], and the *gate*, the
//! maximum over ranks of the n-th sample of a site. The crate is pure: no file, clock, thread or system call.
#![forbid(unsafe_code)]

mod attribution;
mod cause;
mod clocks;
pub mod example;
mod facts;
mod gate;
pub mod histogram;
mod outcome;
mod quantile;
pub mod random;
pub mod reduced;
mod sample;
mod site;
mod time_use;
pub mod units;
mod visible;
mod warm_up;

use std::borrow::Cow;

pub use attribution::{Attribution, Share, attribute};
pub use cause::{Cause, Causes, ExcessPart};
pub use clocks::CommonClock;
pub use facts::{
    Bandwidth, BlockDevice, Cache, ClockFacts, ClockKind, ClockOffset, ConfinedBy, ConfinementFacts,
    Coverage, CurvePoint, EndedBy, FACTS_SCHEMA, FIRST, Facts, FileLayout, HintsOfFile, Interface, Judgement,
    JudgementExample, JudgementKind, Judgements, Limits, Load, MACHINE_SCHEMA, MachineFacts, Memory,
    MemoryNode, Mount, MpiFacts, MpiHints, NfsMount, NfsOperation, NodeFacts, Noise, OsKernel, OtherFacts,
    Overhead, PathFacts, Processor, Progress, ProgressUnit, RungFacts, RungGroup, RungQuantiles, SteadyFacts,
    SteadyLimit, SteadyOutcome, SteadyQuantity, SteadyRule, SteadyWindow, Tier, TimingCheck, TourFacts,
    UntilFacts, VerifiedFacts, Virtualisation, Warning, who_answered,
};
pub use gate::{Gate, gates, gates_by_clock};
pub use histogram::{Counted, CountedResponses, Histogram};
pub use outcome::Outcome;
pub use quantile::quantile_rank;
pub use reduced::{Reduced, ReducedSite};
pub use sample::Sample;
pub use site::{Site, SiteKind, sites_called};
pub use time_use::{RankSpan, TimeUse, time_use};
pub use visible::{commands_a_terminal, field, visible, visible_in_colour, visible_json};
pub use warm_up::WarmUp;

/// One execution: its samples, their sites and its facts.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What was run, on what, how.
    pub facts: Facts,
    /// Every site of the run; `Sample::site` is an index into this list.
    pub sites: Vec<Site>,
    /// All samples, by rank, and in time order for each rank and site. A counting run ([`Facts::counted`])
    /// has only the slowest and the failed ones.
    pub samples: Vec<Sample>,
}

impl Run {
    /// The samples of one site, in the order of the run (by rank, then in time).
    pub fn of_site(&self, site: u32) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.site == site)
    }

    /// What was found in it: what its facts say, or, of a run of an earlier version, its samples.
    pub fn judgements(&self) -> Cow<'_, Judgements> {
        match &self.facts.judgements {
            Some(found) => Cow::Borrowed(found),
            None => Cow::Owned(Judgements::of_samples(self)),
        }
    }

    /// Durations of one site in seconds, in the order of the run.
    pub fn durations(&self, site: u32) -> Vec<f64> {
        self.of_site(site).map(Sample::seconds).collect()
    }
}
