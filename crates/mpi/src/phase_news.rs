//! Tells every rank of a communicator that one of them has completed a stonewalled phase.
//!
//! Ranks form a binary tree. A rank that has completed the phase, or hears of one, sends one message to each
//! neighbour in the tree, once a phase. Since every rank completes the phase in the end, exactly one message
//! is sent each way along each edge, and all have arrived before the next phase begins. The broadcast
//! therefore does not depend on the progress of any particular rank, takes a logarithmic number of steps, and
//! leaves no message unreceived. Listening costs a probe for each neighbour, so it is done at most once every
//! [`PAUSE`].

use std::ffi::c_int;
use std::time::{Duration, Instant};

use ranks::CommError;

use crate::abi::Handle;
use crate::library::MpiStatus;
use crate::link::Link;

/// A tag on the communicator for data, which uses tags 1 and 2 otherwise.
const TAG_PHASE: c_int = 3;
/// The shortest time between two listens.
const PAUSE: Duration = Duration::from_micros(20);

/// A rank's state of the current phase.
#[derive(Debug, Default)]
pub(crate) struct PhaseNews {
    phase: u64,
    /// Neighbours that have sent no message yet.
    silent: Vec<u32>,
    /// Whether a rank has completed the phase and the neighbours were notified.
    known: bool,
    listened: Option<Instant>,
    /// Messages in flight, with their memory.
    sent: Vec<(Handle, Box<u64>)>,
}

/// Parent and children in the tree.
fn neighbours(rank: u32, size: u32) -> Vec<u32> {
    let rank = u64::from(rank);
    let parent = (rank > 0).then(|| (rank - 1) / 2);
    let children = [2 * rank + 1, 2 * rank + 2].into_iter().filter(|child| *child < u64::from(size));
    parent.into_iter().chain(children).map(|rank| rank as u32).collect()
}

impl PhaseNews {
    /// Resets the state if `phase` is a new phase.
    fn enter_phase(&mut self, link: &Link, phase: u64) {
        if self.phase != phase {
            *self = Self { phase, silent: neighbours(link.rank, link.size()), ..Self::default() };
        }
    }

    /// Notifies the neighbours, once a phase, that this or another rank has completed it.
    pub(crate) fn announce(&mut self, link: &Link, phase: u64) {
        self.enter_phase(link, phase);
        if std::mem::replace(&mut self.known, true) {
            return;
        }
        let library = link.library();
        for rank in neighbours(link.rank, link.size()) {
            let message = Box::new(phase);
            let mut request: Handle = 0;
            // SAFETY: the message lives until its request is complete, see `settle`; if a rank is lost, it is
            // leaked.
            unsafe {
                (library.f.isend)(
                    std::ptr::from_ref::<u64>(&message).cast(),
                    size_of::<u64>() as c_int,
                    library.k.byte,
                    rank as c_int,
                    TAG_PHASE,
                    link.handle,
                    &raw mut request,
                )
            };
            self.sent.push((request, message));
        }
    }

    /// Whether any rank has completed the phase. If so, notifies the neighbours.
    pub(crate) fn heard(&mut self, link: &Link, phase: u64) -> bool {
        self.enter_phase(link, phase);
        if self.known {
            return true;
        }
        let now = Instant::now();
        if self.listened.is_some_and(|last| now.duration_since(last) < PAUSE) {
            return false;
        }
        self.listened = Some(now);
        let before = self.silent.len();
        // An error is reported by the barrier that follows.
        if self.listen(link).is_ok() && self.silent.len() < before {
            self.announce(link, phase);
        }
        self.known
    }

    /// Receives the messages that have arrived from neighbours.
    fn listen(&mut self, link: &Link) -> Result<(), CommError> {
        let library = link.library();
        let mut still = Vec::with_capacity(self.silent.len());
        for rank in std::mem::take(&mut self.silent) {
            let mut status = MpiStatus::default();
            let mut here = 0;
            // SAFETY: the communicator is valid; flag and status are live.
            let code = unsafe {
                (library.f.iprobe)(rank as c_int, TAG_PHASE, link.handle, &raw mut here, &raw mut status)
            };
            library.check("MPI_Iprobe", code)?;
            if here == 0 {
                still.push(rank);
                continue;
            }
            let mut phase = [0_u8; 8];
            link.receive(rank, TAG_PHASE, &mut phase)?;
        }
        self.silent = still;
        Ok(())
    }

    /// Waits until the message of every neighbour has arrived and the messages of this rank are sent.
    pub(crate) fn settle(&mut self, link: &Link, phase: u64) -> Result<(), CommError> {
        self.announce(link, phase);
        let start = Instant::now();
        while !self.silent.is_empty() {
            self.listen(link)?;
            if let Some(error) = link.world.check_notices()? {
                return Err(error);
            }
            if start.elapsed() > Duration::from_millis(2) {
                std::thread::sleep(PAUSE);
            } else {
                std::thread::yield_now();
            }
        }
        for (mut request, message) in std::mem::take(&mut self.sent) {
            // Every neighbour receives until it has our message.
            let waited = link.world.wait(&mut request, &link.members, None);
            if waited.is_err() {
                std::mem::forget(message);
                return waited;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::neighbours;

    #[test]
    fn the_tree_is_symmetric_and_connected() {
        for size in 1..40_u32 {
            let mut reached = vec![0];
            for rank in 0..size {
                for other in neighbours(rank, size) {
                    assert!(other < size && neighbours(other, size).contains(&rank));
                    if other > rank {
                        reached.push(other);
                    }
                }
            }
            reached.sort_unstable();
            assert_eq!(reached, (0..size).collect::<Vec<_>>());
        }
    }
}
