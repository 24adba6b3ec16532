//! What ranks send each other in one call: how much memory each needs, what lies in it, and whether the right bytes came.
//!
//! Each block begins and ends with up to eight bytes that name sender and receiver; what came is compared with them after the call.
//! [`Communication::AllReduce`] adds numbers of 64 bits, whose sums are known.

/// A communication of all ranks of a communicator. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Communication {
    /// Rank `root` sends one block to all.
    Broadcast {
        /// Who sends.
        root: u32,
    },
    /// The sums, on every rank, of the numbers of all ranks.
    AllReduce,
    /// Each rank sends a block of its own to each, itself included.
    AllToAll,
    /// Each rank exchanges a block with the one before and the one after it, in a ring.
    Neighbours,
}

/// Bytes by which a block is known, at either end.
const MARK: usize = 8;

impl Communication {
    /// Bytes of memory that a rank sends from and receives into; `None` where that is more than an address or the count of a library
    /// can say, where a root is no rank, or where the numbers of a sum do not fill `size`.
    pub fn memory(self, size: u64, ranks: u32) -> Option<(usize, usize)> {
        let size = usize::try_from(i32::try_from(size).ok()?).ok()?;
        let all = size.checked_mul(ranks as usize)?;
        match self {
            Communication::Broadcast { root } => (root < ranks).then_some((0, size)),
            Communication::AllReduce => size.is_multiple_of(MARK).then_some((size, size)),
            Communication::AllToAll => Some((all, all)),
            Communication::Neighbours => Some((2 * size, 2 * size)),
        }
    }

    /// Bytes that a rank is said to have moved: the message of a broadcast and of a sum, all blocks that it sends otherwise.
    pub fn moved(self, size: u64, ranks: u32) -> u64 {
        match self {
            Communication::Broadcast { .. } | Communication::AllReduce => size,
            Communication::AllToAll => size * u64::from(ranks),
            Communication::Neighbours => 2 * size,
        }
    }

    /// The ranks before and after `rank` in the ring.
    pub fn neighbours(rank: u32, ranks: u32) -> (u32, u32) {
        ((rank + ranks - 1) % ranks, (rank + 1) % ranks)
    }

    /// Marks what `rank` sends, and spoils what it receives into, so that bytes of an earlier call are not taken for these.
    pub fn prepare(self, (rank, ranks): (u32, u32), size: usize, send: &mut [u8], receive: &mut [u8]) {
        if size == 0 {
            return;
        }
        let (before, after) = Self::neighbours(rank, ranks);
        match self {
            Communication::Broadcast { root } => {
                let word = mark(root, root);
                set(receive, if rank == root { word } else { !word });
            }
            Communication::AllReduce => {
                send.chunks_exact_mut(MARK)
                    .for_each(|number| number.copy_from_slice(&addend(rank).to_ne_bytes()));
                set(receive, 0);
            }
            Communication::AllToAll => {
                let blocks = (0..).zip(send.chunks_exact_mut(size).zip(receive.chunks_exact_mut(size)));
                for (other, (to, from)) in blocks {
                    set(to, mark(rank, other));
                    set(from, !mark(other, rank));
                }
            }
            Communication::Neighbours => {
                let ((left, right), (from_left, from_right)) =
                    (send.split_at_mut(size), receive.split_at_mut(size));
                set(left, mark(rank, before));
                set(right, mark(rank, after).swap_bytes());
                set(from_left, !mark(before, rank).swap_bytes());
                set(from_right, !mark(after, rank));
            }
        }
    }

    /// Whether `rank` received what the others sent.
    pub fn came(self, (rank, ranks): (u32, u32), size: usize, receive: &[u8]) -> bool {
        if size == 0 {
            return true;
        }
        let (before, after) = Self::neighbours(rank, ranks);
        match self {
            Communication::Broadcast { root } => is(receive, mark(root, root)),
            Communication::AllReduce => {
                let sum = (0..ranks).fold(0_u64, |sum, rank| sum.wrapping_add(addend(rank)));
                is(receive, sum)
            }
            Communication::AllToAll => {
                (0..).zip(receive.chunks_exact(size)).all(|(other, block)| is(block, mark(other, rank)))
            }
            Communication::Neighbours => {
                let (left, right) = receive.split_at(size);
                // To the right goes the mark with its bytes turned, so that both blocks of two ranks differ.
                is(left, mark(before, rank).swap_bytes()) && is(right, mark(after, rank))
            }
        }
    }
}

/// A number of a rank in a sum.
fn addend(rank: u32) -> u64 {
    0x0001_0000_0000_0001 * (u64::from(rank) + 1)
}

/// Bytes that no other pair of ranks has.
fn mark(from: u32, to: u32) -> u64 {
    let mixed = ((u64::from(from) << 32) | u64::from(to)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

/// Writes a mark at both ends of a block: of a short one as many of its bytes as there are.
fn set(block: &mut [u8], word: u64) {
    let bytes = word.to_ne_bytes();
    let short = block.len().min(MARK);
    if block.len() >= 2 * MARK {
        let end = block.len() - MARK;
        block[end..].copy_from_slice(&bytes);
    }
    block[..short].copy_from_slice(&bytes[..short]);
}

fn is(block: &[u8], word: u64) -> bool {
    let bytes = word.to_ne_bytes();
    let short = block.len().min(MARK);
    block[..short] == bytes[..short] && (block.len() < 2 * MARK || block.ends_with(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Communication; 5] = [
        Communication::Broadcast { root: 0 },
        Communication::Broadcast { root: 2 },
        Communication::AllReduce,
        Communication::AllToAll,
        Communication::Neighbours,
    ];

    /// The memory of all ranks, sent from and received into.
    type Memory = Vec<(Vec<u8>, Vec<u8>)>;

    fn prepared(what: Communication, ranks: u32, size: usize) -> Memory {
        let (send, receive) = what.memory(size as u64, ranks).unwrap();
        (0..ranks)
            .map(|rank| {
                let mut memory = (vec![0; send], vec![0; receive]);
                what.prepare((rank, ranks), size, &mut memory.0, &mut memory.1);
                memory
            })
            .collect()
    }

    /// What a library would do, byte by byte.
    fn carried_out(what: Communication, ranks: u32, size: usize) -> Memory {
        let mut all = prepared(what, ranks, size);
        let before = all.clone();
        for (rank, (_, into)) in all.iter_mut().enumerate() {
            match what {
                Communication::Broadcast { root } => into.clone_from(&before[root as usize].1),
                Communication::AllReduce => {
                    for (at, number) in into.chunks_exact_mut(8).enumerate() {
                        let of = |memory: &Vec<u8>| {
                            u64::from_ne_bytes(memory[8 * at..8 * at + 8].try_into().unwrap())
                        };
                        let sum: u64 = before.iter().map(|(send, _)| of(send)).sum();
                        number.copy_from_slice(&sum.to_ne_bytes());
                    }
                }
                Communication::AllToAll => {
                    for (other, block) in into.chunks_exact_mut(size.max(1)).enumerate() {
                        block.copy_from_slice(&before[other].0[rank * size..(rank + 1) * size]);
                    }
                }
                Communication::Neighbours => {
                    let (left, right) = Communication::neighbours(rank as u32, ranks);
                    into[..size].copy_from_slice(&before[left as usize].0[size..]);
                    into[size..].copy_from_slice(&before[right as usize].0[..size]);
                }
            }
        }
        all
    }

    #[test]
    fn what_was_carried_out_is_right_and_what_was_not_is_found() {
        for what in ALL {
            for (ranks, size) in [(3, 8), (4, 16), (5, 24), (3, 4096)] {
                let came = |all: &Memory, rank: u32| what.came((rank, ranks), size, &all[rank as usize].1);
                let done = carried_out(what, ranks, size);
                assert!((0..ranks).all(|rank| came(&done, rank)), "{what:?} {ranks} {size}");
                let idle = prepared(what, ranks, size);
                let root = |rank| what == Communication::Broadcast { root: rank };
                assert!((0..ranks).all(|rank| root(rank) || !came(&idle, rank)), "{what:?} {ranks} {size}");
                let mut spoilt = done;
                spoilt.iter_mut().for_each(|(_, receive)| *receive.last_mut().unwrap() ^= 1);
                assert!((0..ranks).all(|rank| !came(&spoilt, rank)), "{what:?} {ranks} {size}");
            }
        }
    }

    #[test]
    fn blocks_of_any_length_are_known_and_one_rank_talks_to_itself() {
        for what in [Communication::Broadcast { root: 0 }, Communication::AllToAll, Communication::Neighbours]
        {
            for (ranks, size) in [(1, 1), (2, 3), (1, 9), (2, 15), (3, 17), (2, 0)] {
                let done = carried_out(what, ranks, size);
                let came = |rank: u32| what.came((rank, ranks), size, &done[rank as usize].1);
                assert!((0..ranks).all(came), "{what:?} {ranks} {size}");
            }
        }
    }

    #[test]
    fn what_cannot_be_sent_needs_no_memory() {
        assert_eq!(Communication::AllReduce.memory(12, 4), None);
        assert_eq!(Communication::Broadcast { root: 4 }.memory(8, 4), None);
        assert_eq!(Communication::AllToAll.memory(1 << 31, 2), None);
        assert_eq!(Communication::AllToAll.memory(10, 4), Some((40, 40)));
        assert_eq!((Communication::AllToAll.moved(10, 4), Communication::Neighbours.moved(10, 4)), (40, 20));
    }
}
