//! Files of a group without MPI, by calls of the driver.
//!
//! Collective means here what a collective call brings in any case: nobody transfers before all have
//! come, and nobody goes on before all are done.

use std::ffi::CStr;

use super::agree::agreed;
use super::maker::FileMaker;
use crate::driver::{Driver, Handle};
use ranks::Comm;
use ranks::layout::{Blocks, Direction, Layout, ParallelMode};
use samples::Outcome;

/// An open file of this rank.
#[derive(Debug)]
pub struct CallsFile {
    handle: Handle,
}

impl CallsFile {
    pub(super) fn open(
        driver: &mut dyn Driver,
        comm: &dyn Comm,
        (path, mode): (&CStr, ParallelMode),
        maker: Option<&dyn FileMaker>,
    ) -> Result<Self, Outcome> {
        let access = match (mode.read, mode.write) {
            (true, false) => libc::O_RDONLY,
            (false, true) => libc::O_WRONLY,
            _ => libc::O_RDWR,
        };
        let create = if mode.create { libc::O_CREAT } else { 0 };
        let opened = match maker {
            Some(maker) => maker.open(driver, access, mode.create),
            None => driver.open(path, access | create, 0o666),
        };
        let all = agreed(comm, opened);
        let handle = Handle(opened.value);
        if all.ok() {
            return Ok(Self { handle });
        }
        if opened.ok() {
            driver.close(handle);
        }
        Err(Outcome { value: 0, ..all })
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.handle.0 as i32
    }

    #[inline]
    pub(super) fn transfer(
        &self,
        driver: &mut dyn Driver,
        comm: &dyn Comm,
        (layout, direction): (&Layout, Direction),
        blocks: &Blocks,
    ) -> Outcome {
        if !driver.capabilities().content {
            return self.extend(driver, comm, (layout, direction));
        }
        let (rank, ranks) = (comm.rank(), comm.size());
        let mut total = Outcome::default();
        let once = layout.is_whole();
        // A single rank's blocks lie one behind the other, in the file as in memory.
        let joined = once && ranks == 1 && layout.pieces.is_none();
        for part in 0..if joined { 1 } else { layout.rounds() } {
            if layout.is_collective() && (part == 0 || !once) && comm.barrier(0).is_err() {
                return Outcome { errno: libc::ECANCELED, ..total };
            }
            if !total.ok() {
                // The other ranks still wait at each collective transfer.
                continue;
            }
            if part >= layout.blocks && !joined {
                // Others have more pieces.
                continue;
            }
            let (memory, length) = match joined {
                true => (blocks.whole(layout), layout.bytes()),
                false => (blocks.block(layout, part), layout.length(part)),
            };
            let Some(memory) = memory else {
                total.errno = libc::EFAULT;
                continue;
            };
            let offset = layout.offset(part, rank, ranks);
            // SAFETY: `Blocks` gives out memory of that length only.
            let moved = unsafe {
                match direction {
                    Direction::Write => driver.pwrite(self.handle, memory, length as usize, offset),
                    Direction::Read => driver.pread(self.handle, memory, length as usize, offset),
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

    /// Where nothing moves and each rank has sizes of its own: what lies between the blocks is of other ranks, so the
    /// file is as long as all of them.
    fn extend(
        &self,
        driver: &mut dyn Driver,
        comm: &dyn Comm,
        (layout, direction): (&Layout, Direction),
    ) -> Outcome {
        let all = layout.file_bytes(comm.size()).unwrap_or(0) as usize;
        // SAFETY: the driver moves no content.
        let moved = unsafe {
            match direction {
                Direction::Write => driver.pwrite(self.handle, std::ptr::dangling(), all, 0),
                Direction::Read => driver.pread(self.handle, std::ptr::dangling_mut(), all, 0),
            }
        };
        Outcome { value: if moved.ok() { layout.bytes() } else { 0 }, ..moved }
    }

    pub(super) fn close(self, driver: &mut dyn Driver) -> Outcome {
        driver.close(self.handle)
    }
}
