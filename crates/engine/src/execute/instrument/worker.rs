//! What does a worker of `parallel` take over from its rank?

use std::ffi::CString;
use std::sync::Arc;

use super::{OpenFile, Posix};
use crate::files::{Confinement, SharedRegistry};
use crate::ops::buffers::Buffer;
use crate::ops::posix;
use clock::Clock;
use ranks::StopFlag;

/// What a worker's back end is made of, on the worker's own thread.
pub struct Seed {
    clock: Clock,
    seed: u64,
    files: Vec<Option<(i32, CString, u64)>>,
    buffers: Vec<Option<Arc<Buffer>>>,
    registry: SharedRegistry,
    confinement: Confinement,
    verifying: bool,
    watching: bool,
    stop: StopFlag,
}

impl Posix {
    /// Files that are open stay so for the worker, with descriptors and positions of its own; buffers are
    /// shared. Files of a group stay with the rank.
    pub(super) fn seed_of_worker(&mut self) -> Seed {
        let copy = |open: &OpenFile| {
            // SAFETY: a plain call on a descriptor; the result is checked.
            let fd = unsafe { libc::fcntl(open.fd, libc::F_DUPFD_CLOEXEC, 0) };
            (fd >= 0).then(|| (fd, open.path.clone(), open.position))
        };
        Seed {
            clock: self.clock,
            seed: self.seed,
            files: self.files.iter().map(|file| file.as_ref().and_then(copy)).collect(),
            buffers: self.buffers.clone(),
            registry: self.registry.clone(),
            confinement: self.confinement.clone(),
            verifying: self.verifying,
            watching: self.watch.borrow().is_some(),
            stop: self.stop,
        }
    }

    pub(super) fn of_worker(mut seed: Seed) -> Self {
        let open = |(fd, path, position): (i32, CString, u64)| OpenFile {
            fd,
            path,
            position,
            moved: false,
            shared: true,
            parallel: None,
        };
        let files: Vec<_> = std::mem::take(&mut seed.files).into_iter().map(|file| file.map(open)).collect();
        let mut worker =
            Self::with_registry(seed.clock, seed.seed, seed.registry.clone(), seed.confinement.clone());
        worker.free = (0..files.len() as u32).filter(|number| files[*number as usize].is_none()).collect();
        worker.files = files;
        worker.buffers = std::mem::take(&mut seed.buffers);
        worker.verifying = seed.verifying;
        worker.stop = seed.stop;
        if seed.watching {
            worker.look_for_causes();
        }
        worker
    }

    /// The workers are gone: the kernel's positions are ours again.
    pub(super) fn back_alone(&mut self) {
        for open in self.files.iter_mut().flatten().filter(|open| open.fd >= 0) {
            open.moved = true;
        }
        self.land();
    }
}

impl Drop for Seed {
    /// Of a worker that never came to be.
    fn drop(&mut self) {
        for (fd, ..) in self.files.iter().flatten() {
            posix::close(*fd);
        }
    }
}
