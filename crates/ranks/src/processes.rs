//! The communicator of ranks that were forked on one machine.

use std::sync::atomic::Ordering::{Acquire, Release};

use samples::ClockOffset;

use crate::control::{ControlBlock, MAILBOX, SLOTS, StopFlag};
use crate::{Comm, CommError, RankStatus};

/// Ranks that were forked on this machine and meet in shared memory. Made by
/// [`crate::processes`].
///
/// Waiting spins for some microseconds where there is a processor for every rank, and sleeps in a
/// futex after that or where there is not.
pub struct Processes {
    block: &'static ControlBlock,
    /// Number of its barrier in the control block.
    slot: u32,
    /// Number in the world.
    me: u32,
    /// Number in this communicator.
    rank: u32,
}

impl Processes {
    /// The world as rank `me` sees it.
    pub fn world(block: &'static ControlBlock, me: u32) -> Self {
        Self { block, slot: 0, me, rank: me }
    }

    fn member(&self, rank: u32) -> u32 {
        self.block.members(self.slot)[rank as usize]
    }

    fn meet(&self, value: u64) -> Result<u64, CommError> {
        self.block.barrier(self.slot, self.me, value)
    }

    fn post(&self, chunk: &[u8]) {
        assert!(chunk.len() <= MAILBOX);
        // SAFETY: the mailbox holds MAILBOX bytes, is this rank's own, and others read it only
        // between the two barriers around this rank's next write.
        unsafe { std::ptr::copy_nonoverlapping(chunk.as_ptr(), self.block.mailbox(self.me), chunk.len()) };
    }

    fn fetch(&self, from: u32, length: usize, into: &mut Vec<u8>) {
        assert!(length <= MAILBOX);
        // SAFETY: the owner wrote `length` bytes before the barrier that everyone has passed, and
        // writes again only after the next one.
        let chunk = unsafe { std::slice::from_raw_parts(self.block.mailbox(self.member(from)), length) };
        into.extend_from_slice(chunk);
    }
}

/// The `round`-th piece of `length` bytes: from where to where.
fn piece(length: u64, round: u64) -> std::ops::Range<usize> {
    let start = (round * MAILBOX as u64).min(length);
    let end = (start + MAILBOX as u64).min(length);
    start as usize..end as usize
}

impl Comm for Processes {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.block.members(self.slot).len() as u32
    }

    fn barrier(&self, value: u64) -> Result<u64, CommError> {
        self.meet(value)
    }

    fn broadcast(&self, root: u32, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        let own = self.rank == root;
        let length = self.meet(if own { bytes.len() as u64 } else { 0 })?;
        if !own {
            bytes.clear();
        }
        for round in 0..length.div_ceil(MAILBOX as u64) {
            let piece = piece(length, round);
            if own {
                self.post(&bytes[piece.clone()]);
            }
            self.meet(0)?;
            if !own {
                self.fetch(root, piece.len(), bytes);
            }
            self.meet(0)?;
        }
        Ok(())
    }

    fn gather(&self, root: u32, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        let mine = self.block.rank(self.me);
        mine.length.store(bytes.len() as u64, Release);
        let longest = self.meet(bytes.len() as u64)?;
        let lengths: Vec<u64> =
            (0..self.size()).map(|r| self.block.rank(self.member(r)).length.load(Acquire)).collect();
        let mut all: Option<Vec<Vec<u8>>> = (self.rank == root)
            .then(|| lengths.iter().map(|length| Vec::with_capacity(*length as usize)).collect());
        // At least one round: nobody may change its length before all have read it.
        for round in 0..longest.div_ceil(MAILBOX as u64).max(1) {
            self.post(&bytes[piece(bytes.len() as u64, round)]);
            self.meet(0)?;
            for (rank, part) in all.iter_mut().flatten().enumerate() {
                self.fetch(rank as u32, piece(lengths[rank], round).len(), part);
            }
            self.meet(0)?;
        }
        Ok(all)
    }

    fn split(&self, color: Option<u32>, key: u32) -> Result<Option<Box<dyn Comm>>, CommError> {
        let color = color.map_or(0, |color| u64::from(color.min(u32::MAX - 1)) + 1);
        let mine = color << 32 | u64::from(key);
        self.block.rank(self.me).color_key.store(mine, Release);
        self.meet(0)?;
        let mut colors: Vec<(u64, u64, u32)> = (0..self.size())
            .map(|rank| {
                let chosen = self.block.rank(self.member(rank)).color_key.load(Acquire);
                (chosen >> 32, chosen & u64::from(u32::MAX), self.member(rank))
            })
            .filter(|(color, ..)| *color > 0)
            .collect();
        colors.sort_by_key(|(color, key, _)| (*color, *key));
        let groups: Vec<(u64, Vec<u32>)> = colors
            .chunk_by(|a, b| a.0 == b.0)
            .map(|group| (group[0].0, group.iter().map(|(.., member)| *member).collect()))
            .collect();
        let root = self.block.rank(self.member(0));
        if self.rank == 0 {
            let first = self.block.take_slots(groups.len() as u32).unwrap_or(0);
            if first > 0 {
                for (index, (_, members)) in (first..).zip(&groups) {
                    self.block.open_slot(index, members);
                }
            }
            root.first_slot.store(first, Release);
        }
        self.meet(0)?;
        let first = root.first_slot.load(Acquire);
        self.meet(0)?;
        if first == 0 {
            let wanted = groups.len() as u32;
            return Err(CommError::TooManyGroups { wanted, limit: SLOTS });
        }
        let found = (first..).zip(&groups).find_map(|(slot, (_, members))| {
            let rank = members.iter().position(|member| *member == self.me)? as u32;
            Some(Self { block: self.block, slot, me: self.me, rank })
        });
        Ok(found.map(|comm| Box::new(comm) as Box<dyn Comm>))
    }

    fn clock_offsets(&self, now: &mut dyn FnMut() -> u64) -> Result<Vec<ClockOffset>, CommError> {
        self.meet(0)?;
        let same = ClockOffset { at_ns: now(), ..ClockOffset::default() };
        Ok(if self.rank == 0 { vec![same; self.size() as usize] } else { Vec::new() })
    }

    fn status(&self) -> &RankStatus {
        self.block.status(self.me)
    }

    fn stopped(&self) -> Option<CommError> {
        if self.block.is_stopped() { self.block.stopped_of(self.me) } else { None }
    }

    fn is_stopped(&self) -> bool {
        self.block.is_stopped()
    }

    fn stop_flag(&self) -> StopFlag {
        StopFlag(Some(self.block))
    }

    fn raise(&self, phase: u64) {
        self.block.raise(self.slot, phase);
    }

    fn raised(&self, phase: u64) -> bool {
        self.block.raised(self.slot, phase)
    }

    fn abandon(&self, why: &str) {
        self.block.set_message(self.me, why);
        self.block.lose(self.me, &format!("rank {} gave up: {why}", self.me));
    }

    fn name(&self) -> &'static str {
        "processes"
    }

    fn description(&self) -> String {
        let how = if self.block.spins() { "spin, then futex" } else { "futex" };
        format!("{} processes of this machine, shared-memory barrier ({how})", self.block.ranks())
    }
}

impl std::fmt::Debug for Processes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let does = self.status().activity();
        write!(f, "Processes {{ rank: {} of {}, world rank {}, {does:?} }}", self.rank, self.size(), self.me)
    }
}
