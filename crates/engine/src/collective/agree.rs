//! One outcome for all ranks of a group.

use ranks::Comm;
use samples::Outcome;

/// Where one rank failed all did; the errno is the largest.
pub(super) fn agreed(comm: &dyn Comm, outcome: Outcome) -> Outcome {
    match comm.barrier(outcome.errno as u64) {
        Ok(errno) => Outcome { errno: if outcome.ok() { errno as i32 } else { outcome.errno }, ..outcome },
        Err(_) => Outcome::error(libc::ECANCELED),
    }
}
