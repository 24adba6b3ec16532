//! Calls in which ranks send each other bytes, as applications make them.

use std::ffi::{c_int, c_void};

use ranks::{Comm, communication::Communication};
use samples::Outcome;

use crate::communicator::Mpi;
use crate::io::outcome;
use crate::library::MpiStatus;

/// Tags of the two directions of a ring.
const TAG_TO_NEXT: c_int = 3;
const TAG_TO_PREVIOUS: c_int = 4;
/// Bytes of a number that is added.
const NUMBER: usize = 8;

impl Mpi {
    /// Makes the blocking call of `what` with blocks of `size` bytes; the value is what [`Communication::moved`] says. Collective.
    /// EINVAL where the memory is not as large as [`Communication::memory`] says.
    pub fn communicate(
        &self,
        what: Communication,
        size: u64,
        send: &mut [u8],
        receive: &mut [u8],
    ) -> Outcome {
        let ranks = self.size();
        if what.memory(size, ranks) != Some((send.len(), receive.len())) {
            return Outcome::error(libc::EINVAL);
        }
        let (library, handle) = (self.link().library(), self.link().handle);
        let (f, k, count) = (&library.f, &library.k, size as c_int);
        // The address of an empty slice is 1, which is MPI_IN_PLACE of Open MPI.
        let mut nothing = [0_u8; 1];
        let place = &raw mut nothing;
        let address = |bytes: &mut [u8]| match bytes.is_empty() {
            true => place.cast::<c_void>(),
            false => bytes.as_mut_ptr().cast(),
        };
        let (into, from) = (address(receive), address(send).cast_const());
        // SAFETY: both slices hold as many bytes as the call reads or writes, checked above; handles are this library's.
        let (call, code) = unsafe {
            match what {
                Communication::Broadcast { root } => {
                    ("MPI_Bcast", (f.bcast)(into, count, k.byte, root as c_int, handle))
                }
                Communication::AllReduce => {
                    let numbers = (send.len() / NUMBER) as c_int;
                    ("MPI_Allreduce", (f.allreduce)(from, into, numbers, k.uint64, k.sum, handle))
                }
                Communication::AllToAll => {
                    ("MPI_Alltoall", (f.alltoall)(from, count, k.byte, into, count, k.byte, handle))
                }
                Communication::Neighbours => ("MPI_Sendrecv", self.exchange(count, from, into)),
            }
        };
        let moved = what.moved(size, ranks);
        outcome(library, call, code, moved).unwrap_or_else(|failure| failure)
    }

    /// Sends the first of two blocks to the rank before and the second to the one after, and receives theirs in the same order.
    ///
    /// # Safety
    /// Both hold two blocks of `count` bytes.
    unsafe fn exchange(&self, count: c_int, from: *const c_void, into: *mut c_void) -> c_int {
        let (library, handle) = (self.link().library(), self.link().handle);
        let (before, after) = Communication::neighbours(self.rank(), self.size());
        let block = count as usize;
        let ways = [(block, after, 0, before, TAG_TO_NEXT), (0, before, block, after, TAG_TO_PREVIOUS)];
        for (sent_at, to, received_at, source, tag) in ways {
            let mut status = MpiStatus::default();
            // SAFETY: each half holds `count` bytes by this function's contract.
            let code = unsafe {
                (library.f.sendrecv)(
                    from.byte_add(sent_at),
                    count,
                    library.k.byte,
                    to as c_int,
                    tag,
                    into.byte_add(received_at),
                    count,
                    library.k.byte,
                    source as c_int,
                    tag,
                    handle,
                    &raw mut status,
                )
            };
            if code != 0 {
                return code;
            }
        }
        0
    }
}
