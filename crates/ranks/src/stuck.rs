//! Finds ranks that wait for each other at barriers of different groups.

use std::collections::{HashMap, VecDeque};

/// The barrier at which a rank waits, and in which generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Awaited {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Where ranks of the world wait.
pub(crate) trait Waits {
    /// Where `rank` waits now; `None`: nowhere.
    fn awaited(&self, rank: u32) -> Option<Awaited>;

    /// The ranks of the world that meet at a barrier.
    fn members(&self, slot: u32) -> &[u32];
}

/// The shortest ring of ranks from `me` on, each of which waits for the next one to come and the last for `me`; empty
/// where there is none.
///
/// A rank may leave its barrier while this looks. So what was seen is looked at a second time: a rank that waits at the
/// same barrier in the same generation has been there in between, and all of the ring at one moment.
pub(crate) fn ring_through(me: u32, waits: &impl Waits) -> Vec<u32> {
    let Some(mine) = waits.awaited(me) else { return Vec::new() };
    // Of each rank that was reached: which one waits for it, and where it waits itself.
    let mut reached: HashMap<u32, (u32, Awaited)> = HashMap::from([(me, (me, mine))]);
    let mut open = VecDeque::from([me]);
    while let Some(rank) = open.pop_front() {
        let at = reached[&rank].1;
        for &other in waits.members(at.slot) {
            let Some(there) = waits.awaited(other).filter(|there| *there != at) else { continue };
            if other == me {
                let mut ring = vec![rank];
                while let Some(last) = ring.last().copied().filter(|last| *last != me) {
                    ring.push(reached[&last].0);
                }
                ring.reverse();
                let holds = ring.iter().all(|rank| waits.awaited(*rank) == Some(reached[rank].1));
                return if holds { ring } else { Vec::new() };
            }
            reached.entry(other).or_insert_with(|| {
                open.push_back(other);
                (rank, there)
            });
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The members of each barrier, and where each rank waits.
    struct Scene {
        members: Vec<Vec<u32>>,
        at: Vec<Option<u32>>,
    }

    impl Waits for Scene {
        fn awaited(&self, rank: u32) -> Option<Awaited> {
            self.at[rank as usize].map(|slot| Awaited { slot, generation: 2 })
        }

        fn members(&self, slot: u32) -> &[u32] {
            &self.members[slot as usize]
        }
    }

    #[test]
    fn ranks_that_wait_for_each_other_are_a_ring_and_those_that_wait_for_them_are_not_in_it() {
        let scene = Scene {
            members: vec![vec![0, 1, 2, 3], vec![1, 2], vec![2, 3], vec![3, 1]],
            // Rank 0 waits for all; 1 for 2, 2 for 3, 3 for 1.
            at: vec![Some(0), Some(1), Some(2), Some(3)],
        };
        assert_eq!(ring_through(1, &scene), [1, 2, 3]);
        assert_eq!(ring_through(3, &scene), [3, 1, 2]);
        assert!(ring_through(0, &scene).is_empty());
        // As long as one of them works, it may still come.
        let working = Scene { at: vec![Some(0), Some(1), None, Some(3)], ..scene };
        assert!((0..4).all(|rank| ring_through(rank, &working).is_empty()));
    }

    /// Every rank that can be reached, by trying all.
    fn reaches_itself(me: u32, scene: &Scene) -> bool {
        let mut reached = vec![false; scene.at.len()];
        for _ in 0..scene.at.len() {
            for rank in 0..scene.at.len() as u32 {
                let from = rank == me || reached[rank as usize];
                let Some(slot) = scene.at[rank as usize].filter(|_| from) else { continue };
                for &other in &scene.members[slot as usize] {
                    reached[other as usize] |= scene.at[other as usize].is_some_and(|there| there != slot);
                }
            }
        }
        reached[me as usize]
    }

    #[test]
    fn a_ring_is_found_exactly_where_a_rank_waits_for_itself_through_others() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut rings = 0;
        for _ in 0..2000 {
            let ranks = 2 + draw(5) as u32;
            let members: Vec<Vec<u32>> =
                (0..4).map(|_| (0..ranks).filter(|_| draw(2) == 0).collect()).collect();
            let at = (0..ranks)
                .map(|rank| {
                    let slot = draw(5) as u32;
                    (slot < 4 && members[slot as usize].contains(&rank)).then_some(slot)
                })
                .collect();
            let scene = Scene { members, at };
            for me in 0..ranks {
                let ring = ring_through(me, &scene);
                assert_eq!(!ring.is_empty(), reaches_itself(me, &scene));
                rings += usize::from(!ring.is_empty());
                for (at, rank) in ring.iter().enumerate() {
                    let next = ring[(at + 1) % ring.len()];
                    let slot = scene.at[*rank as usize].expect("it waits");
                    assert!(scene.members[slot as usize].contains(&next));
                    assert_ne!(scene.at[next as usize], Some(slot));
                }
            }
        }
        assert!(rings > 100, "{rings}");
    }
}
