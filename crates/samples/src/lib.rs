//! One timed operation, where in the program it came from, and views over many of them.
//!
//! This crate holds the words every other crate shares: [`Sample`], [`Site`], [`Facts`], [`Run`],
//! and the *gate*, the maximum over ranks of the n-th sample of a site. It is pure: no file,
//! clock, thread or system call.
#![forbid(unsafe_code)]

mod attribution;
mod cause;
mod clocks;
pub mod example;
mod facts;
mod gate;
pub mod histogram;
mod outcome;
pub mod random;
mod sample;
mod site;
mod time_use;
pub mod units;

pub use attribution::{Attribution, Share, attribute};
pub use cause::{Cause, Causes, ExcessPart};
pub use clocks::CommonClock;
pub use facts::{
    Bandwidth, BlockDevice, Cache, ClockFacts, ClockKind, ClockOffset, Coverage, CurvePoint, FACTS_SCHEMA,
    Facts, FileLayout, HintsOfFile, Kernel, Limits, Load, MACHINE_SCHEMA, Machine, Memory, MemoryNode, Mount,
    MpiFacts, MpiHints, NfsMount, NfsOperation, Noise, OtherFacts, Overhead, PathFacts, Processor, RungFacts,
    RungGroup, RungQuantiles, Tier, TimingCheck, TourFacts, Virtualisation, Warning,
};
pub use gate::{Gate, gates, gates_by_clock};
pub use histogram::{Counted, Histogram};
pub use outcome::Outcome;
pub use sample::Sample;
pub use site::{Site, SiteKind};
pub use time_use::{Span, TimeUse, time_use};

/// All samples of one execution, the places they come from, and its facts.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What was run, on what, how.
    pub facts: Facts,
    /// Every site of the run; `Sample::site` is an index into this list.
    pub sites: Vec<Site>,
    /// All samples: for one rank and site in time order. Ranks follow each other. Of a run that counts
    /// ([`Facts::counted`]) only the slowest and those that failed.
    pub samples: Vec<Sample>,
}

impl Run {
    /// The samples of one site, in the order they stand in the run (by rank, then in time).
    pub fn of_site(&self, site: u32) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.site == site)
    }

    /// Durations of one site in seconds, in the order they stand in the run.
    pub fn durations(&self, site: u32) -> Vec<f64> {
        self.of_site(site).map(Sample::seconds).collect()
    }
}
