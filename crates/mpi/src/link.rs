//! Sends messages on one communicator of the library.

use std::ffi::c_int;
use std::mem::ManuallyDrop;

use ranks::CommError;

use crate::abi::Handle;
use crate::library::{MpiLibrary, MpiStatus};
use crate::world::World;

/// A communicator of the library, as this rank sees it.
pub(crate) struct Link {
    pub(crate) world: &'static World,
    pub(crate) handle: Handle,
    pub(crate) rank: u32,
    /// World ranks of its members.
    pub(crate) members: Vec<u32>,
    /// The number that all members have for it.
    pub(crate) number: u64,
}

impl Link {
    pub(crate) fn library(&self) -> &'static MpiLibrary {
        &self.world.library
    }

    pub(crate) fn size(&self) -> u32 {
        self.members.len() as u32
    }

    pub(crate) fn receive(&self, from: u32, tag: c_int, into: &mut [u8]) -> Result<(), CommError> {
        let library = self.library();
        let mut status = MpiStatus::default();
        // SAFETY: the buffer holds as many bytes as requested.
        let code = unsafe {
            (library.f.recv)(
                into.as_mut_ptr().cast(),
                into.len() as c_int,
                library.k.byte,
                from as c_int,
                tag,
                self.handle,
                &raw mut status,
            )
        };
        library.check("MPI_Recv", code)
    }

    pub(crate) fn send(&self, to: u32, tag: c_int, bytes: &[u8]) -> Result<(), CommError> {
        let library = self.library();
        // SAFETY: the buffer holds as many bytes as are sent.
        let code = unsafe {
            (library.f.send)(
                bytes.as_ptr().cast(),
                bytes.len() as c_int,
                library.k.byte,
                to as c_int,
                tag,
                self.handle,
            )
        };
        library.check("MPI_Send", code)
    }

    /// Gathers one number from each rank, in rank order. Collective.
    pub(crate) fn all_gather(&self, mine: u64) -> Result<Vec<u64>, CommError> {
        Ok(self.all_gather_of([mine])?.into_iter().map(|[number]| number).collect())
    }

    /// Gathers so many numbers from each rank, in rank order. Collective. Unlike a call that waits inside of the library, it
    /// leaves the processor to ranks that share it, and ends when a rank is lost.
    pub(crate) fn all_gather_of<const N: usize>(&self, mine: [u64; N]) -> Result<Vec<[u64; N]>, CommError> {
        let library = self.library();
        // After an error the library may still write to its memory, which is then leaked.
        let mine = Box::into_raw(Box::new(mine));
        let mut all = ManuallyDrop::new(vec![[0_u64; N]; self.members.len()]);
        let mut request: Handle = 0;
        // SAFETY: so many numbers are sent, the buffer has room for as many from each rank, and both live until the request
        // is complete, or for ever.
        let code = unsafe {
            (library.f.iallgather)(
                mine.cast(),
                N as c_int,
                library.k.uint64,
                all.as_mut_ptr().cast(),
                N as c_int,
                library.k.uint64,
                self.handle,
                &raw mut request,
            )
        };
        library.check("MPI_Iallgather", code)?;
        self.world.wait(&mut request, &self.members, None)?;
        // SAFETY: the request is complete, so the library no longer uses the box, which was made above.
        drop(unsafe { Box::from_raw(mine) });
        Ok(ManuallyDrop::into_inner(all))
    }
}
