//! The journal of a rank: what it tells its parent besides samples (sites, failures, notes).

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use samples::{HintsOfFile, JudgementExample, JudgementKind, Site};
use serde::{Deserialize, Serialize};

use crate::region::SampleRegion;

/// One entry of a rank's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// The next site of this rank; sites are numbered in the order of their entries.
    Site(Site),
    /// The sites that this rank came to, by its numbers, in that order; of a rank that was killed it is missing.
    CameTo(Vec<u32>),
    /// The machine that this rank is on.
    Host(String),
    /// Which ranks share a machine: of rank 0 and one of another node, under MPI.
    Nodes(Vec<samples::NodeFacts>),
    /// An operation that did not end as the program says, in words: only the first few of each site and kind have one.
    Failure {
        /// What it is one of.
        of: FailureKey,
        /// What failed, on what, why; rank and host are added by whoever collects.
        example: JudgementExample,
    },
    /// How many there were: told at the end.
    Failures {
        /// Of what.
        of: FailureKey,
        /// How many.
        count: u64,
    },
    /// Why the rank ended before the end of the program.
    Stop {
        /// What happened and what to do.
        text: String,
        /// True where the program is at fault (exit status 2), false where the run is (3).
        usage: bool,
        /// By whom the run was cut short where no rank was lost: `on_error stop`, a full disk. Empty otherwise.
        by: String,
    },
    /// An `assert` that did not hold (exit status 1).
    Assertion(FailedAssertion),
    /// An `assert` that was not evaluated, because the run was ended before.
    Unevaluated(FailedAssertion),
    /// An `assert` about samples: those of all ranks decide.
    Claim {
        /// What it says.
        claim: ppl::claim::Claim,
        /// When, in ns since the run's epoch: samples that end later do not count.
        at_ns: u64,
    },
    /// A phase with a stonewall is over.
    Stonewall(Stonewalled),
    /// A line that a simulated rank printed, and when: shown in the order of virtual time.
    Print {
        /// Virtual picoseconds.
        at: u64,
        /// The line, with its end.
        text: String,
    },
    /// The offsets of all ranks' clocks against rank 0: at the start, and again at the end.
    ClockOffsets(Vec<samples::ClockOffset>),
    /// When this rank ran the program: at its start without an end, again at its end.
    Span(samples::RankSpan),
    /// From here on samples stand in no order: operations that began later ended earlier (`async`), or workers
    /// recorded beside each other, where some places for samples may also be empty.
    Unordered,
    /// What this rank could see of the causes of slow operations.
    Sight(samples::Coverage),
    /// How this rank meets the others, in the communicator's own words.
    Communicator(String),
    /// Which MPI library it uses, and why.
    Mpi(samples::MpiFacts),
    /// What MPI-IO makes of the program's hints for one file.
    Hints(HintsOfFile),
    /// Something that makes the result less trustworthy.
    Warning(samples::Warning),
}

/// Which operations failed alike: at one site, in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FailureKey {
    /// The rank's own number of the site.
    pub site: u32,
    /// In which way.
    pub kind: JudgementKind,
    /// The positive errno; 0: it succeeded.
    pub errno: i32,
    /// The errno that the program expected.
    pub expected: Option<i32>,
}

/// An assertion that a rank found not to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAssertion {
    /// Line in the program.
    pub line: u32,
    /// What is asserted, as program text.
    pub claim: String,
    /// That it does not hold, with its position and what was found.
    pub text: String,
}

/// What a rank did in a phase with a stonewall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stonewalled {
    /// The rank's own number of the phase's site.
    pub site: u32,
    /// Operations in it.
    pub operations: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// How long the rank was in it, without the barriers around, in ns.
    pub ns: u64,
    /// A loop of it ended early.
    pub cut: bool,
}

/// The writing end: entries as length (u32) and JSON, published one by one.
pub(super) struct Journal {
    region: Arc<SampleRegion>,
    base: NonNull<u8>,
    used: usize,
}

// SAFETY: the pointer is into the region that the journal keeps alive; `append` needs it exclusively.
unsafe impl Send for Journal {}

impl Journal {
    pub(super) fn new(region: &Arc<SampleRegion>) -> Self {
        Self { region: Arc::clone(region), base: region.journal(), used: 0 }
    }

    pub(super) fn append(&mut self, entry: &Entry) -> io::Result<()> {
        let text = serde_json::to_vec(entry).map_err(io::Error::other)?;
        let end = self.used + 4 + text.len();
        if end > self.region.journal_limit() {
            return Err(io::Error::other("the journal of this rank is full: too many labels or messages"));
        }
        // SAFETY: `end` is within the journal's part of the mapping, which only this rank writes.
        unsafe {
            let start = self.base.add(self.used);
            start.cast::<[u8; 4]>().write((text.len() as u32).to_ne_bytes());
            start.add(4).copy_from_nonoverlapping(NonNull::from(&text[..]).cast(), text.len());
        }
        self.used = end;
        self.region.header().journal.publish(end as u64);
        Ok(())
    }
}
