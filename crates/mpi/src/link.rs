//! Sends messages on one communicator of the library.

use std::ffi::c_int;

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
        let library = self.library();
        let mut all = vec![0_u64; self.members.len()];
        // SAFETY: one number is sent, and the buffer has room for one from each rank.
        let code = unsafe {
            (library.f.allgather)(
                (&raw const mine).cast(),
                1,
                library.k.uint64,
                all.as_mut_ptr().cast(),
                1,
                library.k.uint64,
                self.handle,
            )
        };
        library.check("MPI_Allgather", code)?;
        Ok(all)
    }
}
