//! Compares the clocks of ranks: those of a node through the clock of their machine, nodes by messages.
//!
//! Within a node all ranks read one clock of the kernel. Each reads its own beside it, which tells its offset from its
//! leader to some 50 ns without a message. Only leaders exchange messages with rank 0.

use ranks::CommError;
use samples::ClockOffset;

use crate::link::Link;
use crate::nodes::Nodes;

/// A tag on the communicator for data; see `communicator` for others.
const TAG_CLOCK: std::ffi::c_int = 2;
/// Number of exchanges. The fastest one is used: its error bound is the smallest.
const EXCHANGES: u32 = 24;
/// Reads of a rank's clock beside that of its machine. The fastest one is used.
const READS: u32 = 8;
/// By how much a rank's clock may run faster or slower than that of its machine: one part in so many.
const RATE: u64 = 100_000;

/// What two clocks showed at the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pair {
    own_ns: u64,
    machine_ns: u64,
    /// The largest possible error.
    within_ns: u64,
}

/// As [`ranks::Comm::clock_offsets`], of ranks that have just met.
pub(crate) fn offsets(
    link: &Link,
    nodes: &Nodes,
    now: &mut dyn FnMut() -> u64,
) -> Result<Vec<ClockOffset>, CommError> {
    let leaders = leaders(link, nodes);
    let own = leaders[link.rank as usize];
    // By rank, of leaders alone.
    let mut measured = vec![ClockOffset::default(); leaders.len()];
    if link.rank == 0 {
        for rank in (1..link.size()).filter(|rank| leaders[*rank as usize] == *rank) {
            measured[rank as usize] = ask(link, rank, now)?;
        }
    } else if own == link.rank {
        answer(link, now)?;
    }
    let pair = read(now);
    let all = link.all_gather_of([pair.own_ns, pair.machine_ns, pair.within_ns])?;
    if link.rank > 0 {
        return Ok(Vec::new());
    }
    let pair = |rank: u32| {
        let [own_ns, machine_ns, within_ns] = all[rank as usize];
        Pair { own_ns, machine_ns, within_ns }
    };
    let of_rank = |(rank, leader): (u32, &u32)| match rank {
        0 => ClockOffset { at_ns: pair(0).own_ns, ..ClockOffset::default() },
        _ if rank == *leader => measured[rank as usize],
        _ => beside(measured[*leader as usize], pair(*leader), pair(rank)),
    };
    Ok((0..).zip(&leaders).map(of_rank).collect())
}

/// The first member of the communicator on the node of each.
fn leaders(link: &Link, nodes: &Nodes) -> Vec<u32> {
    let mut first = std::collections::HashMap::new();
    let leader = |(rank, member): (u32, &u32)| *first.entry(nodes.leader(*member)).or_insert(rank);
    (0..).zip(&link.members).map(leader).collect()
}

/// The offset of a rank on the node of a leader whose offset is known, from what both showed beside the machine's clock.
fn beside(of_leader: ClockOffset, leader: Pair, rank: Pair) -> ClockOffset {
    let apart = rank.machine_ns.wrapping_sub(leader.machine_ns);
    // What rank 0's clock showed when the rank read its own.
    let at_ns = leader.own_ns.wrapping_add(apart).wrapping_sub(of_leader.offset_ns as u64);
    let drifted = (apart as i64).unsigned_abs() / RATE;
    ClockOffset {
        offset_ns: rank.own_ns.wrapping_sub(at_ns) as i64,
        uncertainty_ns: of_leader.uncertainty_ns + leader.within_ns + rank.within_ns + drifted,
        at_ns,
    }
}

/// On rank 0: compares its clock with that of a leader.
fn ask(link: &Link, rank: u32, now: &mut dyn FnMut() -> u64) -> Result<ClockOffset, CommError> {
    let mut best = (u64::MAX, ClockOffset::default());
    let mut theirs = [0_u8; 8];
    for _ in 0..EXCHANGES {
        let before = now();
        link.send(rank, TAG_CLOCK, &[0])?;
        link.receive(rank, TAG_CLOCK, &mut theirs)?;
        let after = now();
        let at_ns = before + (after - before) / 2;
        let offset_ns = u64::from_ne_bytes(theirs).wrapping_sub(at_ns) as i64;
        let uncertainty_ns = (after - before).div_ceil(2);
        if after - before < best.0 {
            best = (after - before, ClockOffset { offset_ns, uncertainty_ns, at_ns });
        }
    }
    Ok(best.1)
}

/// On a leader: the other side of [`ask`].
fn answer(link: &Link, now: &mut dyn FnMut() -> u64) -> Result<(), CommError> {
    for _ in 0..EXCHANGES {
        link.receive(0, TAG_CLOCK, &mut [0])?;
        link.send(0, TAG_CLOCK, &now().to_ne_bytes())?;
    }
    Ok(())
}

/// Reads the rank's clock beside that of its machine.
fn read(now: &mut dyn FnMut() -> u64) -> Pair {
    let mut best = Pair { within_ns: u64::MAX, ..Pair::default() };
    for _ in 0..READS {
        let before = machine_ns();
        let own_ns = now();
        let width = machine_ns() - before;
        let within_ns = width.div_ceil(2).max(1);
        if within_ns < best.within_ns {
            best = Pair { own_ns, machine_ns: before + width / 2, within_ns };
        }
    }
    best
}

/// A clock that all processes of a machine share.
fn machine_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_beside_its_leader_needs_no_message() {
        // The leader is 500 ns ahead of rank 0, the rank 20 ns behind the leader, and read 1000 ns later.
        let of_leader = ClockOffset { offset_ns: 500, uncertainty_ns: 300, at_ns: 9_000 };
        let leader = Pair { own_ns: 10_500, machine_ns: 70_000, within_ns: 25 };
        let rank = Pair { own_ns: 11_480, machine_ns: 71_000, within_ns: 30 };
        let found = beside(of_leader, leader, rank);
        assert_eq!(found, ClockOffset { offset_ns: 480, uncertainty_ns: 355, at_ns: 11_000 });
        // One that read before its leader did, with a younger epoch.
        let rank = Pair { own_ns: 500, machine_ns: 69_000, within_ns: 0 };
        assert_eq!(beside(of_leader, leader, rank).offset_ns, 500 - 9_000);
    }

    #[test]
    fn a_clock_is_read_beside_the_machines() {
        let pair = read(&mut || machine_ns() - 1_000);
        assert!(pair.within_ns > 0);
        assert!(pair.machine_ns.abs_diff(pair.own_ns + 1_000) <= pair.within_ns, "{pair:?}");
    }
}
