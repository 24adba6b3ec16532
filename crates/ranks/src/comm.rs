//! How do the ranks of a run meet, and what do they tell each other?
//!
//! One trait, [`Comm`], and its implementations: [`Single`] (one rank, nobody to meet),
//! [`Processes`] (forked ranks of this machine that meet in shared memory; see [`crate::launch`]),
//! [`mpi::Mpi`] (whatever MPI library the launcher belongs to).
//! Everything here is *collective* unless said otherwise: every rank of the communicator calls it,
//! in the same order.

use std::time::Duration;

use samples::ClockOffset;

use crate::{Standing, shared};

/// Says, without a communicator at hand, that the run is to stop: between the system calls of an operation
/// that makes many.
#[derive(Clone, Copy, Default)]
pub struct StopFlag(pub Option<&'static shared::Region>);

impl StopFlag {
    /// As [`Comm::stopped`], as far as this machine knows.
    pub fn why(self) -> Option<CommError> {
        self.0.and_then(shared::Region::stopped)
    }
}

/// The ranks that take part in something together: the world, or one group of the program.
pub trait Comm: std::fmt::Debug {
    /// This process's number in the communicator, from 0.
    fn rank(&self) -> u32;

    /// How many ranks there are.
    fn size(&self) -> u32;

    /// Waits until every rank has come, and returns the largest `value` any of them brought.
    ///
    /// # Errors
    /// At once when a rank is lost or the run is stopped, and after the timeout when a rank does
    /// not come; the error names the rank.
    fn barrier(&self, value: u64) -> Result<u64, CommError>;

    /// Gives every rank the bytes of `root`; what the others held is replaced.
    fn broadcast(&self, root: u32, bytes: &mut Vec<u8>) -> Result<(), CommError>;

    /// Brings the bytes of every rank to `root`, which gets them in the order of ranks; the others
    /// get `None`. Lengths may differ.
    fn gather(&self, root: u32, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError>;

    /// Makes one communicator for each `color`; ranks in it are ordered by `key`, then by rank.
    /// A rank that gives no color takes part in the call and gets `None`.
    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn Comm>>, CommError>;

    /// What `now` (nanoseconds) shows on each rank minus what it shows on rank 0 at the same
    /// moment. Rank 0 gets one offset a rank, the others an empty list.
    ///
    /// Processes of one machine read the same clock, so that their offsets are 0 without measuring.
    fn clock_offsets(&self, now: &mut dyn FnMut() -> u64) -> Result<Vec<ClockOffset>, CommError>;

    /// Where this rank publishes what it is doing; others and the parent read it. Not collective.
    fn standing(&self) -> &Standing;

    /// Says why this rank should stop now, if it should: someone pressed Ctrl-C, a rank is lost.
    /// One load; ask it between operations. Not collective.
    fn stopped(&self) -> Option<CommError>;

    /// Where an operation of many system calls looks whether to stop. Not collective.
    fn stop_flag(&self) -> StopFlag {
        StopFlag::default()
    }

    /// This rank is through with the phase number `phase`, counted from 1 by all ranks alike: those that
    /// ask [`Comm::raised`] see it. Not collective.
    fn raise(&self, phase: u64) {
        let _ = phase;
    }

    /// Is a rank through with the phase number `phase`? About one load; ask between operations. Not
    /// collective.
    fn raised(&self, phase: u64) -> bool {
        let _ = phase;
        false
    }

    /// The phase is over for all: what [`Comm::raise`] sent has come everywhere. Every rank has called
    /// `raise` before. Collective.
    ///
    /// # Errors
    /// As [`Comm::barrier`].
    fn settle(&self, phase: u64) -> Result<(), CommError> {
        let _ = phase;
        Ok(())
    }

    /// Tells the others that this rank gives up, so that they do not wait for it. Not collective.
    fn abandon(&self, why: &str);

    /// `single`, `processes` or `mpi`.
    fn name(&self) -> &'static str;

    /// What a reader of the facts wants to know: the library and its version, how ranks meet.
    fn description(&self) -> String;

    /// For the facts of the run: which MPI library, and why. None without MPI.
    fn facts(&self) -> Option<samples::MpiFacts> {
        None
    }

    /// The communicator's own type, where its crate needs it back (MPI-IO does).
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }
}

/// Why ranks could not meet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommError {
    /// A rank died, failed or gave up. `reason` is a whole clause: `rank 3 was killed by SIGKILL`.
    #[error("{reason}")]
    RankLost {
        /// Its number in the world.
        rank: u32,
        /// What happened to it.
        reason: String,
    },
    /// Someone asked the run to stop.
    #[error("the run was stopped by {by}")]
    Stopped {
        /// `Ctrl-C`, `SIGTERM`, `another rank`.
        by: String,
    },
    /// Ranks did not come to a barrier in time.
    #[error("{}", timeout_text(*.line, *.after, .missing))]
    TimedOut {
        /// Program line of the barrier; 0 where it is not known.
        line: u32,
        /// How long this rank waited.
        after: Duration,
        /// The ranks (numbers in the world) that did not come, and where they stand.
        missing: Vec<(u32, String)>,
    },
    /// More groups than the shared memory has room for.
    #[error("no room for {wanted} more groups: at most {limit} communicators in a run")]
    TooManyGroups {
        /// Groups that were to be made.
        wanted: u32,
        /// The most there can be.
        limit: u32,
    },
    /// A call of the MPI library failed.
    #[error("{call} failed: {text}")]
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// The library's own error string.
        text: String,
    },
}

fn timeout_text(line: u32, after: Duration, missing: &[(u32, String)]) -> String {
    let place = if line > 0 { format!("the barrier at line {line}") } else { "a barrier".into() };
    let seconds = after.as_secs_f64();
    let mut text = format!("{place} timed out after {seconds:.0} s, ");
    const SHOWN: usize = 8;
    let who: Vec<String> = missing
        .iter()
        .take(SHOWN)
        .map(|(rank, stands)| format!("rank {rank} never came ({stands})"))
        .collect();
    text.push_str(&who.join(", "));
    if missing.len() > SHOWN {
        text.push_str(&format!(", nor did {} more", missing.len() - SHOWN));
    }
    if missing.is_empty() {
        text.push_str("and nobody is missing: the ranks left it one by one");
    }
    text
}
