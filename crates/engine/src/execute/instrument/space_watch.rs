//! Watches the space that is left where a program writes, so that a loop of writes does not fill the disk.
//!
//! A tenth of what was free at the first look stays free. Between two looks a rank may take half of its share of the
//! rest, so looks come closer together the less is left. None lies between two clock reads. What ranks begin to write at the
//! same time none of them sees, so the tenth may be less by one write of each.

use std::collections::HashMap;

/// Bytes that all take before the first look.
const FIRST: u64 = 16 << 20;
/// Bytes that all take between two looks, at least.
const LEAST: u64 = 4 << 20;
/// What a name takes: an entry, an inode, perhaps a block.
pub(super) const OF_A_NAME: u64 = 4096;

/// What a file system has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Free {
    /// Its number.
    pub(super) file_system: u64,
    /// Bytes.
    pub(super) bytes: u64,
    /// Files that can still be made; `None` where it has no such limit.
    pub(super) files: Option<u64>,
}

impl Free {
    pub(super) fn of(found: &rustix::fs::StatVfs) -> Self {
        Self {
            file_system: found.f_fsid,
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

/// What a rank, or a worker of it, may take before it looks again.
#[derive(Clone, Debug)]
pub(super) struct SpaceWatch {
    left: u64,
    /// Ranks and their workers, all of which take.
    takers: u64,
    /// What was free on each file system at the first look.
    first: HashMap<u64, Free>,
}

impl Default for SpaceWatch {
    fn default() -> Self {
        Self { left: FIRST, takers: 1, first: HashMap::new() }
    }
}

impl SpaceWatch {
    /// That of one of so many ranks.
    pub(super) fn of(ranks: u32) -> Self {
        let takers = u64::from(ranks.max(1));
        Self { left: FIRST / takers, takers, ..Self::default() }
    }

    /// That of one of `count` workers.
    pub(super) fn of_worker(&self, count: u32) -> Self {
        let count = u64::from(count.max(1));
        Self { left: self.left / count, takers: self.takers.saturating_mul(count), first: self.first.clone() }
    }

    /// Takes so many bytes; `true` where one must look first.
    #[inline(always)]
    pub(super) fn must_look(&mut self, bytes: u64) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                false
            }
            None => true,
        }
    }

    /// Do so many bytes more fit, where so much is free now? If not: what was free at the first look.
    pub(super) fn look(&mut self, now: Free, bytes: u64) -> Result<(), Free> {
        let first = *self.first.entry(now.file_system).or_insert(now);
        let few_files = first.files.zip(now.files).is_some_and(|(first, now)| now < first / 10);
        let rest = now.bytes.checked_sub(first.bytes / 10).and_then(|rest| rest.checked_sub(bytes));
        match rest {
            Some(rest) if !few_files => {
                let share = |rest: u64| rest / self.takers.saturating_mul(2);
                let names = first.files.zip(now.files).map_or(u64::MAX, |(first, now)| {
                    share(now.saturating_sub(first / 10)).saturating_mul(OF_A_NAME)
                });
                self.left = share(rest).max(LEAST / self.takers).min(names);
                Ok(())
            }
            _ => Err(first),
        }
    }

    /// Nobody need look.
    pub(super) fn unwatched(&mut self) {
        self.left = FIRST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn free(bytes: u64) -> Free {
        Free { file_system: 1, bytes, files: None }
    }

    /// What `takers` take in pieces of `piece` from a disk of so many bytes until one is refused.
    fn filled(disk: u64, takers: u32, piece: u64) -> u64 {
        let mut rooms = vec![SpaceWatch::of(takers); takers as usize];
        let mut taken = 0;
        loop {
            for room in &mut rooms {
                if room.must_look(piece) && room.look(free(disk.saturating_sub(taken)), piece).is_err() {
                    return taken;
                }
                taken += piece;
            }
        }
    }

    #[test]
    fn a_tenth_stays_free_however_many_write_in_whatever_pieces() {
        for takers in [1, 2, 16, 64] {
            for piece in [4096, MIB, 300 * MIB] {
                let disk = 64 << 30;
                let share = filled(disk, takers, piece) as f64 / disk as f64;
                assert!((0.8..0.91).contains(&share), "{takers} in pieces of {piece}: {share}");
            }
        }
    }

    #[test]
    fn many_who_write_to_a_small_disk_take_little_more_than_they_may() {
        let disk = 300 * MIB;
        for (takers, piece) in [(1, MIB), (4, 4096), (32, 64 << 10), (512, 4096)] {
            let over = filled(disk, takers, piece).saturating_sub(disk / 10 * 9);
            assert!(over <= LEAST + u64::from(takers) * piece, "{takers} in pieces of {piece}: {over}");
        }
    }

    #[test]
    fn names_do_not_run_out_where_there_is_plenty_of_room_for_bytes() {
        let mut rooms = vec![SpaceWatch::of(4); 4];
        let (all, mut made) = (1_000_000, 0);
        'full: loop {
            for room in &mut rooms {
                let now = Free { files: Some(all - made), ..free(1 << 50) };
                if room.must_look(OF_A_NAME) && room.look(now, OF_A_NAME).is_err() {
                    break 'full;
                }
                made += 1;
            }
        }
        assert!((all / 2..=all / 10 * 9 + 2000).contains(&made), "{made}");
    }

    #[test]
    fn what_is_written_over_is_not_taken() {
        let mut room = SpaceWatch::of(4);
        for _ in 0..1_000_000 {
            if room.must_look(MIB) {
                room.look(free(1 << 30), MIB).expect("nothing is taken");
            }
        }
    }

    #[test]
    fn files_run_out_as_bytes_do() {
        let mut room = SpaceWatch::default();
        let now = |files| Free { files: Some(files), ..free(1 << 40) };
        room.look(now(1000), OF_A_NAME).expect("the first look");
        room.look(now(100), OF_A_NAME).expect("a tenth");
        assert_eq!(room.look(now(99), OF_A_NAME), Err(now(1000)));
    }

    #[test]
    fn workers_share_what_their_rank_may_take() {
        let room = SpaceWatch::of(2);
        let mut worker = room.of_worker(8);
        assert!(!worker.must_look(FIRST / 16) && worker.must_look(1));
        worker.look(free(1 << 40), 1).expect("plenty");
        assert!(worker.left * 16 <= 1 << 40);
    }

    #[test]
    fn no_number_is_too_large() {
        let mut room = SpaceWatch::of(u32::MAX);
        assert!(room.must_look(u64::MAX));
        assert!(room.look(free(u64::MAX), u64::MAX).is_err());
        assert!(room.look(free(0), 0).is_err() || room.look(free(0), 1).is_err());
    }
}
