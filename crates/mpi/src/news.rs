//! How do ranks learn through MPI that one of them is through with a phase?
//!
//! Ranks form a binary tree. Who is through, or hears of it, sends one message to each neighbour in the
//! tree, once a phase; since every rank is through in the end, exactly one message travels each way along
//! each edge, and all of them have come before the next phase begins. So the news needs no progress of
//! any one rank, takes a number of steps that grows with the logarithm of the ranks, and leaves nothing
//! behind. Listening costs a probe for each neighbour, so it is done at most every [`PAUSE`].

use std::ffi::c_int;
use std::time::{Duration, Instant};

use crate::Mpi;
use crate::abi::Handle;
use crate::library::Status;
use ranks::Comm;
use ranks::CommError;

/// On the communicator for data; the tags of `super` are 1 and 2.
const TAG_THROUGH: c_int = 3;
/// How often at most a rank listens.
const PAUSE: Duration = Duration::from_micros(20);

/// What a rank knows of the phase that runs.
#[derive(Debug, Default)]
pub(crate) struct News {
    phase: u64,
    /// Neighbours that have not said yet that they know.
    silent: Vec<u32>,
    /// The news has come, and was sent on.
    known: bool,
    listened: Option<Instant>,
    /// Messages on their way; their memory lives as long.
    sent: Vec<(Handle, Box<u64>)>,
}

/// Parent and children in the tree.
fn neighbours(rank: u32, size: u32) -> Vec<u32> {
    let rank = u64::from(rank);
    let parent = (rank > 0).then(|| (rank - 1) / 2);
    let children = [2 * rank + 1, 2 * rank + 2].into_iter().filter(|child| *child < u64::from(size));
    parent.into_iter().chain(children).map(|rank| rank as u32).collect()
}

impl Mpi {
    /// Turns to the phase of this number, if it is a new one.
    fn turn_to(&self, phase: u64) {
        let mut news = self.news.borrow_mut();
        if news.phase != phase {
            let silent = neighbours(self.rank, self.size());
            *news = News { phase, silent, ..News::default() };
        }
    }

    /// This rank is through, or heard of one: tells the neighbours, once.
    pub(crate) fn spread(&self, phase: u64) {
        self.turn_to(phase);
        let mut news = self.news.borrow_mut();
        if std::mem::replace(&mut news.known, true) {
            return;
        }
        let library = &self.world.library;
        for rank in neighbours(self.rank, self.size()) {
            let message = Box::new(phase);
            let mut request: Handle = 0;
            // SAFETY: the message lives until its request is complete, see `gather_news`; where a rank is
            // lost it lives for ever.
            unsafe {
                (library.f.isend)(
                    std::ptr::from_ref::<u64>(&message).cast(),
                    size_of::<u64>() as c_int,
                    library.k.byte,
                    rank as c_int,
                    TAG_THROUGH,
                    self.handle,
                    &raw mut request,
                )
            };
            news.sent.push((request, message));
        }
    }

    /// Has the news come? Sends it on then.
    pub(crate) fn hear(&self, phase: u64) -> bool {
        self.turn_to(phase);
        let now = {
            let news = self.news.borrow();
            if news.known {
                return true;
            }
            let now = Instant::now();
            if news.listened.is_some_and(|last| now.duration_since(last) < PAUSE) {
                return false;
            }
            now
        };
        self.news.borrow_mut().listened = Some(now);
        let before = self.news.borrow().silent.len();
        // An error shows at the barrier that follows.
        if self.listen().is_ok() && self.news.borrow().silent.len() < before {
            self.spread(phase);
        }
        self.news.borrow().known
    }

    /// Takes the messages of neighbours that have come.
    fn listen(&self) -> Result<(), CommError> {
        let library = &self.world.library;
        let mut news = self.news.borrow_mut();
        let mut still = Vec::with_capacity(news.silent.len());
        for rank in std::mem::take(&mut news.silent) {
            let mut status = Status::default();
            let mut here = 0;
            // SAFETY: the communicator is valid; flag and status are live.
            let code = unsafe {
                (library.f.iprobe)(rank as c_int, TAG_THROUGH, self.handle, &raw mut here, &raw mut status)
            };
            library.check("MPI_Iprobe", code)?;
            if here == 0 {
                still.push(rank);
                continue;
            }
            let mut phase = [0_u8; 8];
            self.receive(rank, TAG_THROUGH, &mut phase)?;
        }
        news.silent = still;
        Ok(())
    }

    /// Waits until the news of every neighbour has come and our own have left.
    pub(crate) fn gather_news(&self, phase: u64) -> Result<(), CommError> {
        self.spread(phase);
        let start = Instant::now();
        while !self.news.borrow().silent.is_empty() {
            self.listen()?;
            if let Some(error) = self.world.look()? {
                return Err(error);
            }
            if start.elapsed() > Duration::from_millis(2) {
                std::thread::sleep(PAUSE);
            } else {
                std::thread::yield_now();
            }
        }
        let sent = std::mem::take(&mut self.news.borrow_mut().sent);
        for (mut request, message) in sent {
            // Every neighbour will listen until it has our message.
            let waited = self.world.wait(&mut request, &self.members);
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
    fn every_edge_of_the_tree_is_known_at_both_ends_and_all_ranks_hang_together() {
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
