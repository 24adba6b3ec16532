//! Which ranks shared a machine.

use serde::{Deserialize, Serialize};

use crate::units;

/// A node of a run under MPI: ranks that share the memory and the clock of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeFacts {
    /// What people call it: the host's name, or that of the batch system where several nodes have the same.
    pub host: String,
    /// Its ranks, as ranges of which both ends count: `[[0, 15], [32, 47]]`.
    pub ranks: Vec<[u32; 2]>,
}

impl NodeFacts {
    /// The nodes of ranks that are on the nodes with these numbers, counted from 0; `hosts` are their names.
    pub fn of(node_of_rank: &[u32], hosts: Vec<String>) -> Vec<Self> {
        let named = |host| Self { host, ranks: Vec::new() };
        let mut nodes: Vec<Self> = hosts.into_iter().map(named).collect();
        for (rank, node) in (0..).zip(node_of_rank) {
            let Some(node) = nodes.get_mut(*node as usize) else { continue };
            match node.ranks.last_mut() {
                Some([_, last]) if *last + 1 == rank => *last = rank,
                _ => node.ranks.push([rank, rank]),
            }
        }
        nodes
    }

    /// Its ranks, one by one.
    pub fn each_rank(&self) -> impl Iterator<Item = u32> {
        self.ranks.iter().flat_map(|[first, last]| *first..=*last)
    }

    /// How many ranks it has.
    pub fn rank_count(&self) -> u32 {
        self.ranks.iter().map(|[first, last]| last.saturating_sub(*first).saturating_add(1)).sum()
    }

    /// Whether the rank is one of its own.
    pub fn has(&self, rank: u32) -> bool {
        self.ranks.iter().any(|[first, last]| (*first..=*last).contains(&rank))
    }
}

/// Names told of those that did not answer.
const MOST_NAMES: usize = 8;

/// Who answered, where there are several nodes and some ranks (`silent`, in their order) did not:
/// `997 of 1,000 nodes; n17, n203, n640 did not answer`. A node answers if one of its ranks does; the others of it are named one
/// by one.
pub fn who_answered(nodes: &[NodeFacts], silent: &[u32]) -> Option<String> {
    if nodes.len() < 2 || silent.is_empty() {
        return None;
    }
    let is_silent = |rank: &u32| silent.binary_search(rank).is_ok();
    let (mut gone, mut names) = (0, Vec::new());
    for node in nodes {
        let of_node: Vec<u32> = node.each_rank().filter(is_silent).collect();
        if of_node.len() == node.rank_count() as usize {
            gone += 1;
            names.insert(gone - 1, node.host.clone());
        } else {
            names.extend(of_node.iter().map(|rank| format!("rank {rank} on {}", node.host)));
        }
    }
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    let more = if more > 0 { format!(" and {} more", units::count(more as u64)) } else { String::new() };
    let [answered, all] = [nodes.len() - gone, nodes.len()].map(|count| units::count(count as u64));
    Some(format!("{answered} of {all} nodes; {}{more} did not answer", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_did_not_answer_are_named() {
        let hosts = (0..1000).map(|node| format!("n{node}")).collect();
        let nodes = NodeFacts::of(&(0..2000).map(|rank| rank / 2).collect::<Vec<_>>(), hosts);
        let told = |silent: &[u32]| who_answered(&nodes, silent).expect("some are silent");
        assert_eq!(
            told(&[34, 35, 406, 407, 1280, 1281]),
            "997 of 1,000 nodes; n17, n203, n640 did not answer"
        );
        assert_eq!(told(&[34]), "1,000 of 1,000 nodes; rank 34 on n17 did not answer");
        assert_eq!(told(&[3, 34, 35]), "999 of 1,000 nodes; n17, rank 3 on n1 did not answer");
        let many: Vec<u32> = (0..40).collect();
        assert_eq!(
            told(&many),
            "980 of 1,000 nodes; n0, n1, n2, n3, n4, n5, n6, n7 and 12 more did not answer"
        );
        assert_eq!((who_answered(&nodes, &[]), who_answered(&nodes[..1], &[0])), (None, None));
    }

    #[test]
    fn ranks_of_a_node_are_told_in_ranges() {
        let nodes = NodeFacts::of(&[0, 0, 1, 0, 1, 1], vec!["a".into(), "b".into()]);
        assert_eq!(nodes[0].ranks, [[0, 1], [3, 3]]);
        assert_eq!(nodes[1].ranks, [[2, 2], [4, 5]]);
        assert_eq!(nodes[1].each_rank().collect::<Vec<_>>(), [2, 4, 5]);
        assert!(nodes[0].has(3) && !nodes[0].has(2) && nodes[0].rank_count() == 3);
    }
}
