//! Watches the space that is left where a program writes, so that a loop of writes does not fill the disk.
//!
//! A tenth of what was free at the first look stays free, of each file system by itself. A look leaves a sixteenth of the rest to
//! all takers (ranks, and workers of them), so looks come closer together the less is left. Each takes it slice by slice, and gives a
//! slice back when it is written: what takers hold, and what they are writing, stands in memory that all ranks of the machine
//! share, and each leaves it to the others. Before one is refused for that, it waits a moment for their writes to end. No look and
//! no wait lies between two clock reads.

use std::time::{Duration, Instant};

use crate::files::Ownership;

/// Bytes that all may take after a look, at least, as long as twice as many are there.
const LEAST: u64 = 4 << 20;
/// Which part of the rest they may take at most.
const PART: u64 = 16;
/// In how many slices each takes its share: one is held by each, written or not.
const SLICES: u64 = 64;
/// How long writes of others are waited for, and how often their end is asked for.
const PATIENCE: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(1);
/// What a name takes: an entry, an inode, perhaps a block.
pub(super) const OF_A_NAME: u64 = 4096;

/// A file system, by its number in [`SpaceWatch`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileSystem(u8);

impl FileSystem {
    /// Nobody has asked yet in which one a file lies.
    pub(super) const NOT_ASKED: Self = Self(0);
    /// That of devices and pipes, which no write makes fuller.
    pub(super) const TAKES_NONE: Self = Self(1);
}

/// What a file system has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    /// Its device.
    pub(super) device: u64,
    /// Bytes.
    pub(super) bytes: u64,
    /// Files that can still be made; `None` where it has no such limit.
    pub(super) files: Option<u64>,
}

impl Free {
    pub(super) fn of(device: u64, found: &rustix::fs::StatVfs) -> Self {
        Self {
            device,
            bytes: found.f_bavail.saturating_mul(found.f_frsize),
            // Where inodes are made as they are needed, their number is 0.
            files: (found.f_files > 0).then_some(found.f_favail),
        }
    }
}

/// What may be taken for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spare {
    /// Some of what its file system has left.
    Free(Free),
    /// It is a device or a pipe: whatever is written to it, no file system has less.
    TakesNone,
    /// Nobody can say.
    Unknown,
    /// The program may fill what it writes to, or it is not of this machine.
    Unwatched,
}

/// One file system.
#[derive(Clone, Debug, Default)]
struct Watched {
    device: u64,
    /// Bytes that may be written before the next slice.
    left: u64,
    /// Bytes that the others leave: those, and what is being written.
    promised: u64,
    /// What is taken of the pool at a time.
    slice: u64,
    /// What was free at the first look.
    first: Option<Free>,
}

/// What a rank, or a worker of it, may take before it looks again.
#[derive(Debug)]
pub(super) struct SpaceWatch {
    /// By number; the first two stand for [`FileSystem::NOT_ASKED`] and [`FileSystem::TAKES_NONE`].
    all: Vec<Watched>,
    /// Ranks and their workers, all of which take.
    takers: u64,
    /// Who knows what the others take.
    own: Ownership,
    /// Bytes of operations of this taker that are under way beside the next one.
    beside: u64,
}

impl Default for SpaceWatch {
    fn default() -> Self {
        Self::of(1, Ownership::default())
    }
}

/// What a look found.
enum Look {
    /// It fits.
    Fits,
    /// It would fit without what others are writing or hold.
    FitsLater(Free, Free),
    /// It does not fit: what is free, and was at the first look.
    Full(Free, Free),
}

impl SpaceWatch {
    /// That of one of so many ranks.
    pub(super) fn of(ranks: u32, own: Ownership) -> Self {
        let takes_none = Watched { left: u64::MAX, ..Watched::default() };
        Self { all: vec![Watched::default(), takes_none], takers: u64::from(ranks.max(1)), own, beside: 0 }
    }

    /// That of one of `count` workers.
    pub(super) fn of_worker(&self, count: u32) -> Self {
        let takers = self.takers.saturating_mul(u64::from(count.max(1)));
        let all = self.all.iter().enumerate().map(|(number, one)| match number {
            0 | 1 => one.clone(),
            _ => Watched { left: 0, promised: 0, ..one.clone() },
        });
        Self { all: all.collect(), takers, own: self.own.clone(), beside: 0 }
    }

    /// The number of the file system with this device; [`FileSystem::NOT_ASKED`] where nobody has written to it yet.
    #[inline(always)]
    pub(super) fn known(&self, device: u64) -> FileSystem {
        let number = self.all.iter().skip(2).position(|one| one.device == device);
        number.map_or(FileSystem::NOT_ASKED, |number| FileSystem(number as u8 + 2))
    }

    /// As [`SpaceWatch::known`], of one that is written to now.
    pub(super) fn number(&mut self, device: u64) -> FileSystem {
        let known = self.known(device);
        if known != FileSystem::NOT_ASKED || self.all.len() > usize::from(u8::MAX) {
            return known;
        }
        self.all.push(Watched { device, ..Watched::default() });
        FileSystem(self.all.len() as u8 - 1)
    }

    /// Takes so many bytes; `true` where one must look first.
    #[inline(always)]
    pub(super) fn must_look(&mut self, file_system: FileSystem, bytes: u64) -> bool {
        let Some(watched) = self.all.get_mut(usize::from(file_system.0)) else { return true };
        match watched.left.checked_sub(bytes) {
            Some(left) => {
                watched.left = left;
                false
            }
            None => !self.take_slice(file_system, bytes),
        }
    }

    /// Takes a further slice of what all may take, and so many bytes of it. What was written of the last one is on the disk.
    #[cold]
    fn take_slice(&mut self, file_system: FileSystem, bytes: u64) -> bool {
        let watched = &mut self.all[usize::from(file_system.0)];
        let slice = watched.slice.max(bytes);
        let Some(taken) = (watched.slice > 0).then(|| self.own.taken(watched.device)).flatten() else {
            return false;
        };
        if !taken.take(slice) {
            return false;
        }
        taken.take_back(watched.promised.saturating_sub(self.beside));
        watched.promised = watched.promised.min(self.beside).saturating_add(slice);
        watched.left = slice - bytes;
        true
    }

    /// Bytes are being written by operations that will be under way while the next ones begin.
    pub(super) fn set_beside(&mut self, bytes: u64) {
        self.beside = bytes;
    }

    /// Do so many bytes more fit? What `now` finds free is asked when the others know of them: of two that look at the same
    /// time, one sees what the other one is about to write. If they do not fit: what is free, and was at the first look.
    /// They are refused for what others are writing only if that takes long.
    pub(super) fn look(
        &mut self,
        file_system: FileSystem,
        bytes: u64,
        now: impl Fn() -> Option<Free>,
    ) -> Result<(), (Free, Free)> {
        let begun = Instant::now();
        loop {
            match self.look_once(file_system, bytes, &now) {
                Look::Fits => return Ok(()),
                Look::FitsLater(..) if begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Look::FitsLater(now, first) | Look::Full(now, first) => return Err((now, first)),
            }
        }
    }

    fn look_once(&mut self, file_system: FileSystem, bytes: u64, now: impl Fn() -> Option<Free>) -> Look {
        let Some(watched) = self.all.get_mut(usize::from(file_system.0)) else { return Look::Fits };
        let taken = self.own.taken(watched.device);
        let wanted = self.beside.saturating_add(bytes);
        if let Some(taken) = taken {
            taken.promise(wanted);
            taken.take_back(watched.promised);
        }
        (watched.promised, watched.left) = (wanted, 0);
        let look = taken.map(|taken| (taken, taken.begin_look()));
        let of_others = taken.map_or(0, |taken| taken.promised().saturating_sub(wanted));
        let Some(now) = now() else { return Look::Fits };
        let first = *watched.first.get_or_insert_with(|| {
            let bytes = taken.map_or(now.bytes, |taken| taken.first(now.bytes));
            Free { bytes, ..now }
        });
        let few_files = first.files.zip(now.files).is_some_and(|(first, now)| now < first / 10);
        let rest = now.bytes.checked_sub(first.bytes / 10).and_then(|rest| rest.checked_sub(wanted));
        let of_all = rest.and_then(|rest| rest.checked_sub(of_others));
        if let Some(rest) = of_all.filter(|_| !few_files) {
            let names = first.files.zip(now.files).map_or(u64::MAX, |(first, now)| {
                (now.saturating_sub(first / 10) / PART).saturating_mul(OF_A_NAME)
            });
            let pool = (rest / PART).max(LEAST.min(rest / 2)).min(names);
            match look {
                Some((taken, look)) => {
                    watched.slice = (pool / self.takers.saturating_mul(SLICES)).max(1);
                    taken.end_look(look, pool);
                }
                None => {
                    watched.left = pool / self.takers;
                    watched.promised = watched.promised.saturating_add(watched.left);
                }
            }
            return Look::Fits;
        }
        // Who waits as well may write meanwhile.
        watched.promised -= bytes;
        if let Some(taken) = taken {
            taken.take_back(bytes);
        }
        match rest {
            Some(_) if !few_files => Look::FitsLater(now, first),
            _ => Look::Full(now, first),
        }
    }

    /// What was looked for is written: whoever looks finds it gone.
    pub(super) fn wrote(&mut self, file_system: FileSystem, bytes: u64) {
        let Some(watched) = self.all.get_mut(usize::from(file_system.0)) else { return };
        let bytes = bytes.min(watched.promised);
        watched.promised -= bytes;
        if let Some(taken) = self.own.taken(watched.device) {
            taken.take_back(bytes);
        }
    }

    /// Nobody need look.
    pub(super) fn unwatched(&mut self) {
        self.all.iter_mut().for_each(|one| one.left = u64::MAX);
    }
}

impl Drop for SpaceWatch {
    fn drop(&mut self) {
        for watched in &self.all {
            if let Some(taken) = self.own.taken(watched.device).filter(|_| watched.promised > 0) {
                taken.take_back(watched.promised);
            }
        }
    }
}

#[cfg(test)]
mod tests;
