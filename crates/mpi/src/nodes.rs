//! Which ranks share a machine, as all of them know it.

use std::cell::OnceCell;
use std::collections::HashMap;

use samples::NodeFacts;

/// The nodes of a job, as every rank knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nodes {
    /// The leader of the node of each rank: the lowest rank there.
    pub(crate) leader: Vec<u32>,
}

impl Nodes {
    /// The leader of the node of a rank.
    pub(crate) fn leader(&self, rank: u32) -> u32 {
        self.leader.get(rank as usize).copied().unwrap_or(rank)
    }

    /// The leaders of all nodes, in the order of ranks.
    pub(crate) fn leaders(&self) -> Vec<u32> {
        (0..).zip(&self.leader).filter(|(rank, leader)| rank == *leader).map(|(rank, _)| rank).collect()
    }

    /// The number of the node of each rank.
    fn numbers(&self) -> Vec<u32> {
        let number: HashMap<u32, u32> = self.leaders().into_iter().zip(0..).collect();
        self.leader.iter().map(|leader| number.get(leader).copied().unwrap_or_default()).collect()
    }
}

/// The nodes of a job, once they are found, and how they are called.
#[derive(Default)]
pub(crate) struct KnownNodes(OnceCell<(Nodes, Vec<String>)>);

impl KnownNodes {
    pub(crate) fn set(&self, nodes: Nodes, names: Vec<String>) {
        let _ = self.0.set((nodes, names));
    }

    /// Which ranks share a machine. Until that is known, each has one of its own.
    pub(crate) fn nodes(&self) -> &Nodes {
        &self.0.get_or_init(Default::default).0
    }

    /// What the machine of a rank is called, where there are several.
    pub(crate) fn host(&self, rank: u32) -> Option<&str> {
        let (nodes, names) = self.0.get().filter(|(_, names)| names.len() > 1)?;
        let number = nodes.leaders().binary_search(&nodes.leader(rank)).ok()?;
        names.get(number).map(String::as_str)
    }

    /// For the facts of the run, which two ranks tell: 0, and should its node be lost the first of the next node.
    pub(crate) fn facts(&self, rank: u32) -> Vec<NodeFacts> {
        let Some((nodes, names)) = self.0.get() else { return Vec::new() };
        if nodes.leaders().iter().take(2).any(|leader| *leader == rank) {
            NodeFacts::of(&nodes.numbers(), names.clone())
        } else {
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_the_number_of_its_leader() {
        let nodes = Nodes { leader: vec![0, 1, 0, 3, 1] };
        assert_eq!((nodes.leaders(), nodes.numbers()), (vec![0, 1, 3], vec![0, 1, 0, 2, 1]));
        let known = KnownNodes::default();
        known.set(nodes, ["a", "b", "c"].map(String::from).into());
        assert_eq!((known.host(4), known.host(3), known.host(2)), (Some("b"), Some("c"), Some("a")));
        assert_eq!([0, 1, 2, 3, 4].map(|rank| known.facts(rank).len()), [3, 3, 0, 0, 0]);
    }
}
