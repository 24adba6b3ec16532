//! Watches the space that is left where a program writes, so that a loop of writes does not fill the disk.
//!
//! A tenth of what was free at the first look stays free, of each file system by itself. At a look a taker (a rank, or a worker
//! of it) is promised its share of a sixteenth of the rest, so looks come closer together the less is left. What takers were
//! promised stands in memory that all ranks of the machine share, and so does what they are writing: each leaves it to the
//! others. No look lies between two clock reads.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::files::{Ownership, Taken};

/// Bytes that all are promised at a look, at least, as long as twice as many are there: what one leaves unused, the others miss.
const LEAST: u64 = 4 << 20;
/// Which part of the rest they are promised at most.
const PART: u64 = 16;
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
    /// Bytes that may be written before the next look.
    left: u64,
    /// Bytes that the others leave: those, and what is being written.
    promised: u64,
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
            None => true,
        }
    }

    /// Bytes are being written by operations that will be under way while the next ones begin.
    pub(super) fn set_beside(&mut self, bytes: u64) {
        self.beside = bytes;
    }

    /// Do so many bytes more fit? What `now` finds free is asked when the others know of them: of two that look at the same
    /// time, one sees what the other one is about to write. If they do not fit: what is free, and was at the first look.
    pub(super) fn look(
        &mut self,
        file_system: FileSystem,
        bytes: u64,
        now: impl FnOnce() -> Option<Free>,
    ) -> Result<(), (Free, Free)> {
        let Some(watched) = self.all.get_mut(usize::from(file_system.0)) else { return Ok(()) };
        let alone = AtomicU64::new(watched.promised);
        let taken = self.own.taken(watched.device);
        let promised = taken.map_or(&alone, |taken| &taken.promised);
        let wanted = self.beside.saturating_add(bytes);
        let of_others = promised.fetch_add(wanted, Ordering::SeqCst).saturating_sub(watched.promised);
        lower(promised, watched.promised);
        (watched.promised, watched.left) = (wanted, 0);
        let Some(now) = now() else { return Ok(()) };
        let first = *watched.first.get_or_insert_with(|| first_look(taken, now));
        let few_files = first.files.zip(now.files).is_some_and(|(first, now)| now < first / 10);
        let rest = [first.bytes / 10, of_others, wanted]
            .iter()
            .try_fold(now.bytes, |rest, less| rest.checked_sub(*less));
        match rest {
            Some(rest) if !few_files => {
                let share = |rest: u64| rest / self.takers.saturating_mul(PART);
                let names = first.files.zip(now.files).map_or(u64::MAX, |(first, now)| {
                    share(now.saturating_sub(first / 10)).saturating_mul(OF_A_NAME)
                });
                let least = LEAST.min(rest / 2) / self.takers;
                watched.left = share(rest).max(least).min(rest).min(names);
                watched.promised += watched.left;
                promised.fetch_add(watched.left, Ordering::SeqCst);
                Ok(())
            }
            _ => {
                lower(promised, bytes);
                watched.promised -= bytes;
                Err((now, first))
            }
        }
    }

    /// What was looked for is written: whoever looks finds it gone.
    pub(super) fn wrote(&mut self, file_system: FileSystem, bytes: u64) {
        let Some(watched) = self.all.get_mut(usize::from(file_system.0)) else { return };
        let bytes = bytes.min(watched.promised);
        watched.promised -= bytes;
        if let Some(taken) = self.own.taken(watched.device) {
            lower(&taken.promised, bytes);
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
                lower(&taken.promised, watched.promised);
            }
        }
    }
}

fn lower(promised: &AtomicU64, bytes: u64) {
    // Of a rank that was killed nobody takes back what it was promised; never below what there is.
    let _ = promised.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(now.saturating_sub(bytes)));
}

/// What was free when the first of all looked.
fn first_look(taken: Option<&Taken>, now: Free) -> Free {
    let Some(taken) = taken else { return now };
    match taken.first.compare_exchange(0, now.bytes.max(1), Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => now,
        Err(bytes) => Free { bytes, ..now },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn free(bytes: u64) -> Free {
        Free { device: 1, bytes, files: None }
    }

    /// So many takers that know of each other.
    fn takers(count: u32) -> Vec<SpaceWatch> {
        let own = Ownership::new();
        (0..count).map(|_| SpaceWatch::of(count, own.clone())).collect()
    }

    /// May so many bytes be written where so much is free now?
    fn may_take(room: &mut SpaceWatch, now: Free, bytes: u64) -> bool {
        let there = room.number(now.device);
        !room.must_look(there, bytes) || room.look(there, bytes, || Some(now)).is_ok()
    }

    /// As `may_take`, and it is written at once.
    fn takes(room: &mut SpaceWatch, now: Free, bytes: u64) -> bool {
        let there = room.number(now.device);
        let looked = room.must_look(there, bytes);
        let may = !looked || room.look(there, bytes, || Some(now)).is_ok();
        if looked && may {
            room.wrote(there, bytes);
        }
        may
    }

    /// What `count` take in pieces of `piece` from a disk of so many bytes until one is refused.
    fn filled(disk: u64, count: u32, piece: u64) -> u64 {
        let mut rooms = takers(count);
        let mut taken = 0;
        loop {
            for room in &mut rooms {
                if !takes(room, free(disk.saturating_sub(taken)), piece) {
                    return taken;
                }
                taken += piece;
            }
        }
    }

    #[test]
    fn a_tenth_stays_free_however_many_write_in_whatever_pieces() {
        for count in [1, 2, 16, 64] {
            for piece in [4096, MIB, 300 * MIB] {
                let disk = 64 << 30;
                let share = filled(disk, count, piece) as f64 / disk as f64;
                assert!((0.8..=0.9).contains(&share), "{count} in pieces of {piece}: {share}");
            }
        }
    }

    #[test]
    fn many_who_write_to_a_small_disk_take_no_more_than_they_may() {
        let disk = 300 * MIB;
        for (count, piece) in [(1, MIB), (4, 4096), (32, 64 << 10), (512, 4096)] {
            let filled = filled(disk, count, piece);
            assert!(
                (disk / 10 * 8..=disk / 10 * 9).contains(&filled),
                "{count} in pieces of {piece}: {filled}"
            );
        }
    }

    #[test]
    fn what_others_are_writing_at_the_same_time_is_left_to_them() {
        // Nothing of it is on the disk when the last one looks.
        let mut rooms = takers(8);
        let may = rooms.iter_mut().map(|room| may_take(room, free(64 * MIB), 8 * MIB));
        let taken = may.filter(|may| *may).count() as u64 * 8 * MIB;
        assert!((40 * MIB..=64 * MIB / 10 * 9).contains(&taken), "{taken}");
        // Those that are over take nothing more.
        rooms.truncate(1);
        assert!(may_take(&mut rooms[0], free(24 * MIB), 8 * MIB));
    }

    #[test]
    fn who_was_promised_much_and_waits_fills_nothing_later() {
        let (disk, mut rooms, mut taken) = (100_u64 << 30, takers(8), 0);
        for room in &mut rooms {
            assert!(takes(room, free(disk), 1));
        }
        for number in [0, 1, 2, 3, 4, 5, 6, 7] {
            while takes(&mut rooms[number], free(disk - taken), MIB) {
                taken += MIB;
            }
        }
        assert!((disk / 10 * 8..=disk / 10 * 9).contains(&taken), "{taken}");
    }

    #[test]
    fn operations_under_way_count_until_they_are_done() {
        let mut room = takers(1).remove(0);
        let there = room.number(1);
        let mut begun = 0;
        while begun < 100 && room.look(there, MIB, || Some(free(64 * MIB))).is_ok() {
            begun += 1;
            room.set_beside(begun * MIB);
        }
        assert!((50..=57).contains(&begun), "{begun}");
    }

    #[test]
    fn a_second_file_system_has_its_own_allowance() {
        let mut room = SpaceWatch::of(1, Ownership::new());
        let small = |bytes| Free { device: 2, ..free(bytes) };
        assert!(takes(&mut room, free(1 << 40), MIB));
        let mut taken = 0;
        while takes(&mut room, small(64 * MIB - taken), MIB) {
            taken += MIB;
            assert!(takes(&mut room, free(1 << 40), MIB), "the large one has as much as before");
        }
        assert!((50 * MIB..=58 * MIB).contains(&taken), "{taken}");
        // More than shared memory has room for are watched all the same.
        for device in 3..20 {
            assert!(takes(&mut room, Free { device, ..free(64 * MIB) }, MIB), "{device}");
            assert!(!takes(&mut room, Free { device, ..free(6 * MIB) }, 60 * MIB), "{device}");
        }
    }

    #[test]
    fn names_do_not_run_out_where_there_is_plenty_of_room_for_bytes() {
        let mut rooms = takers(4);
        let (all, mut made) = (1_000_000, 0);
        'full: loop {
            for room in &mut rooms {
                let now = Free { files: Some(all - made), ..free(1 << 50) };
                if !takes(room, now, OF_A_NAME) {
                    break 'full;
                }
                made += 1;
            }
        }
        assert!((all / 2..=all / 10 * 9 + 2000).contains(&made), "{made}");
    }

    #[test]
    fn what_is_written_over_is_not_taken() {
        let mut room = SpaceWatch::of(4, Ownership::new());
        for _ in 0..1_000_000 {
            assert!(takes(&mut room, free(1 << 30), MIB), "nothing is taken");
        }
    }

    #[test]
    fn files_run_out_as_bytes_do() {
        let mut room = SpaceWatch::default();
        let there = room.number(1);
        let now = |files| Free { files: Some(files), ..free(1 << 40) };
        let mut look = |files| room.look(there, OF_A_NAME, || Some(now(files)));
        look(1000).expect("the first look");
        look(100).expect("a tenth");
        assert_eq!(look(99), Err((now(99), now(1000))));
    }

    #[test]
    fn workers_share_what_their_rank_may_take() {
        let room = SpaceWatch::of(2, Ownership::new());
        let mut worker = room.of_worker(8);
        assert!(takes(&mut worker, free(1 << 40), 1));
        let there = worker.known(1);
        assert!(worker.all[usize::from(there.0)].left * 16 * PART <= 1 << 40);
        assert_eq!(worker.all[1].left, u64::MAX);
    }

    #[test]
    fn no_number_is_too_large() {
        let mut room = SpaceWatch::of(u32::MAX, Ownership::new());
        assert!(!may_take(&mut room, free(u64::MAX), u64::MAX));
        assert!(!may_take(&mut room, free(0), 1));
        room.set_beside(u64::MAX);
        assert!(!may_take(&mut room, free(u64::MAX), u64::MAX));
    }

    #[test]
    fn what_a_taker_was_promised_is_the_others_when_it_is_over() {
        let own = Ownership::new();
        let mut room = SpaceWatch::of(1, own.clone());
        assert!(may_take(&mut room, free(64 * MIB), 50 * MIB));
        let mut other = SpaceWatch::of(1, own.clone());
        assert!(!may_take(&mut other, free(64 * MIB), 50 * MIB));
        drop(room);
        assert!(may_take(&mut other, free(64 * MIB), 50 * MIB));
        drop(other);
        assert_eq!(own.taken(1).map(|taken| taken.promised.load(Ordering::SeqCst)), Some(0));
    }
}
