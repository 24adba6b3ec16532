//! How are parallel files done without MPI?
//!
//! Collective means here what a collective call brings in any case: nobody transfers before all have
//! come, and nobody goes on before all are done.

use std::ffi::CStr;

use super::collective::{Direction, Layout, Mode, together};
use ranks::Comm;
use samples::Outcome;

use crate::ops::posix;

/// An open file of this rank.
#[derive(Debug)]
pub struct File {
    descriptor: i32,
}

impl File {
    pub(super) fn open(comm: &dyn Comm, path: &CStr, mode: Mode) -> Result<Self, Outcome> {
        let access = match (mode.read, mode.write) {
            (true, false) => libc::O_RDONLY,
            (false, true) => libc::O_WRONLY,
            _ => libc::O_RDWR,
        };
        let create = if mode.create { libc::O_CREAT } else { 0 };
        let opened = posix::open(path, access | create, 0o666);
        let all = together(comm, opened);
        if all.ok() {
            return Ok(Self { descriptor: opened.value as i32 });
        }
        if opened.ok() {
            posix::close(opened.value as i32);
        }
        Err(Outcome { value: 0, ..all })
    }

    /// # Safety
    /// As [`super::collective::Parallel::transfer`].
    #[inline]
    pub(super) unsafe fn transfer(
        &self,
        comm: &dyn Comm,
        layout: &Layout,
        direction: Direction,
        block: &dyn Fn(u64) -> *mut u8,
    ) -> Outcome {
        let (rank, ranks) = (comm.rank(), comm.size());
        let mut total = Outcome::default();
        let once = layout.is_whole();
        // A single rank's blocks lie one behind the other, in the file as in memory.
        let (parts, length) = match once && ranks == 1 {
            true => (1, layout.bytes()),
            false => (layout.blocks, layout.element),
        };
        let base = block(0);
        for part in 0..parts {
            if layout.is_collective() && (part == 0 || !once) && comm.barrier(0).is_err() {
                return Outcome { errno: libc::ECANCELED, ..total };
            }
            if !total.ok() {
                // The others still wait for us at each collective transfer.
                continue;
            }
            let memory =
                // SAFETY: the memory of a whole transfer holds all blocks, one behind the other.
                if once { unsafe { base.add((part * layout.element) as usize) } } else { block(part) };
            let offset = layout.offset(part, rank, ranks);
            // SAFETY: the caller's promise: the memory holds the block.
            let moved = unsafe {
                match direction {
                    Direction::Write => posix::pwrite(self.descriptor, memory, length as usize, offset),
                    Direction::Read => posix::pread(self.descriptor, memory, length as usize, offset),
                }
            };
            total.value += moved.value;
            total.errno = moved.errno;
            total.causes = samples::Causes(total.causes.0 | moved.causes.0);
            if moved.ok() && moved.value < length {
                total.errno = if direction == Direction::Read { libc::ENODATA } else { libc::EIO };
            }
        }
        if layout.is_collective() && comm.barrier(0).is_err() {
            total.errno = libc::ECANCELED;
        }
        total
    }

    pub(super) fn sync(&self) -> Outcome {
        posix::fsync(self.descriptor)
    }

    pub(super) fn size(&self) -> Outcome {
        posix::size(self.descriptor)
    }

    pub(super) fn set_size(&self, bytes: u64) -> Outcome {
        posix::ftruncate(self.descriptor, bytes)
    }

    pub(super) fn close(self) -> Outcome {
        let descriptor = self.descriptor;
        std::mem::forget(self);
        posix::close(descriptor)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        posix::close(self.descriptor);
    }
}
