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

/// Above all numbers of errors and marks.
const FAILED: u64 = 1 << 63;

/// What rank 0 did for all: its mark, below 2^63, or its failure. The others bring nothing.
pub(super) fn agreed_mark(comm: &dyn Comm, mine: Option<Result<u64, Outcome>>) -> Result<u64, Outcome> {
    let brought = match mine {
        Some(Ok(mark)) => mark & !FAILED,
        Some(Err(failure)) => FAILED | failure.errno as u64,
        None => 0,
    };
    match comm.barrier(brought) {
        Ok(failure) if failure & FAILED != 0 => Err(Outcome::error((failure & !FAILED) as i32)),
        Ok(mark) => Ok(mark),
        Err(_) => Err(Outcome::error(libc::ECANCELED)),
    }
}
