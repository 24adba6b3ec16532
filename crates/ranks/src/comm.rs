//! What ranks do together: the trait of every communicator.
//!
//! Its implementations: [`crate::Single`] (one rank), [`crate::Processes`] (forked ranks of this machine that
//! meet in shared memory), and that of the crate `mpi`. Every method is *collective* unless it says
//! otherwise: each rank of the communicator calls it, in the same order.

use samples::ClockOffset;

use crate::{CommError, RankStatus, StopFlag};

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

    /// Tells the other ranks which meeting this one goes into, without waiting: before a collective call that waits
    /// inside of a library. Ranks that come to another meeting learn of it. [`Comm::confirm`] follows.
    ///
    /// # Errors
    /// Where a call of the library fails.
    fn announce(&self) -> Result<(), CommError> {
        Ok(())
    }

    /// After the call: waits until all ranks have announced theirs.
    ///
    /// # Errors
    /// As [`Comm::barrier`].
    fn confirm(&self) -> Result<(), CommError> {
        Ok(())
    }

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
    /// Forked ranks read the same clock, so that their offsets are 0 without measuring.
    fn clock_offsets(&self, now: &mut dyn FnMut() -> u64) -> Result<Vec<ClockOffset>, CommError>;

    /// As [`Comm::clock_offsets`], of virtual time, which is one for all ranks: they only meet.
    ///
    /// # Errors
    /// As [`Comm::barrier`].
    fn virtual_clocks(&self, at_ns: u64) -> Result<Vec<ClockOffset>, CommError> {
        self.barrier(0)?;
        let ranks = if self.rank() == 0 { self.size() } else { 0 };
        Ok(vec![ClockOffset { at_ns, ..ClockOffset::default() }; ranks as usize])
    }

    /// Where this rank publishes what it is doing; others and the parent read it. Not collective.
    fn status(&self) -> &RankStatus;

    /// Says why this rank should stop now, if it should: someone pressed Ctrl-C, a rank is lost.
    /// One load; ask it between operations. Not collective.
    fn stopped(&self) -> Option<CommError>;

    /// Is [`Comm::stopped`] some reason? Ranks ask before each operation. Not collective.
    fn is_stopped(&self) -> bool {
        self.stopped().is_some()
    }

    /// For an operation of many system calls, which asks between them whether to stop. Not collective.
    fn stop_flag(&self) -> StopFlag {
        StopFlag::default()
    }

    /// Announces that this rank has completed the stonewalled phase number `phase`, which all ranks count
    /// from 1: [`Comm::raised`] is true from now on. Not collective.
    fn raise(&self, phase: u64) {
        let _ = phase;
    }

    /// Has any rank completed the phase number `phase`? About one load; ask between operations. Not
    /// collective.
    fn raised(&self, phase: u64) -> bool {
        let _ = phase;
        false
    }

    /// Waits until every announcement of [`Comm::raise`] for this phase has arrived. Every rank has called
    /// `raise` before. Collective.
    ///
    /// # Errors
    /// As [`Comm::barrier`].
    fn settle(&self, phase: u64) -> Result<(), CommError> {
        let _ = phase;
        Ok(())
    }

    /// Why this process may have no second thread, if that is so. Not collective.
    fn one_thread(&self) -> Option<String> {
        None
    }

    /// Sends the signals that threads of this process gave (see [`crate::board`]) to the ranks that do not share its memory,
    /// and counts those that came from them. Not collective; the rank's own thread calls it.
    ///
    /// # Errors
    /// Where a call of the library fails, or a signal cannot be counted.
    fn carry_signals(&self) -> Result<(), CommError> {
        Ok(())
    }

    /// Whether [`Comm::carry_signals`] is how signals of other ranks come here. Not collective.
    fn carries_signals(&self) -> bool {
        false
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

    /// What the machine of this rank is called, where ranks are known to be on several. Not collective.
    fn host(&self) -> Option<String> {
        None
    }

    /// For the facts of the run: which ranks share a machine, from rank 0 of the world and one rank of another node; the others
    /// get an empty list, as without MPI. Not collective.
    fn nodes(&self) -> Vec<samples::NodeFacts> {
        Vec::new()
    }

    /// The communicator's own type, where its crate needs it back (MPI-IO does).
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }
}
