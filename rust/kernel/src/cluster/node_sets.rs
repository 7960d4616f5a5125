//! The node sets of a scenario, by number, and its partitions.
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::node_set::{NodeSet, NodeSetId};
use super::partitions::Partitions;

/// The node sets of a scenario; the first is the whole machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSets {
    sets: Vec<NodeSet>,
    /// True at a × number of sets + b if set a is a subset of set b.
    within: Vec<bool>,
    /// `containing[offsets[n]..offsets[n + 1]]` are the sets, other than the whole machine, that contain node n. Both
    /// are empty if there are no such sets.
    offsets: Vec<usize>,
    containing: Vec<NodeSetId>,
    /// The partitions of the machine. The sets are parts of them.
    partitions: Partitions,
}

impl Default for NodeSets {
    /// A machine without nodes.
    fn default() -> Self {
        Self::whole(0)
    }
}

impl NodeSets {
    /// Creates the node sets of a machine with this number of nodes: the whole machine only.
    #[must_use]
    pub fn whole(nodes: u32) -> Self {
        Self::with(nodes, Vec::new()).0
    }

    /// Creates the whole machine and these sets, and returns the number of each set; equal sets share one number.
    ///
    /// All nodes of the sets must be smaller than `nodes`. O(sets² · log ranges) and O(nodes of the sets).
    #[must_use]
    pub fn with(nodes: u32, given: Vec<NodeSet>) -> (Self, Vec<NodeSetId>) {
        Self::of_partitions(nodes, given, Vec::new())
    }

    /// Like `with`, on a machine with these distinct partitions. An empty list stands for one partition.
    #[must_use]
    pub fn of_partitions(
        nodes: u32,
        given: Vec<NodeSet>,
        partitions: Vec<NodeSet>,
    ) -> (Self, Vec<NodeSetId>) {
        let mut sets = vec![NodeSet::new(std::iter::once(0..nodes))];
        let numbers = given.into_iter().map(|set| {
            let known = sets.iter().position(|other| *other == set);
            NodeSetId(known.unwrap_or_else(|| {
                sets.push(set);
                sets.len() - 1
            }) as u32)
        });
        let numbers = numbers.collect();
        let within = sets.iter().flat_map(|set| sets.iter().map(|other| set.is_within(other))).collect();
        let (offsets, containing) = sets_of_nodes(nodes, &sets);
        let partitions = Partitions::new(partitions, nodes, &sets);
        (Self { sets, within, offsets, containing, partitions }, numbers)
    }

    /// The partitions of the machine.
    #[must_use]
    pub fn partitions(&self) -> &Partitions {
        &self.partitions
    }

    /// The set of connected partitions that contains all nodes of a set; None if there is no such set, or the node set
    /// is empty.
    #[must_use]
    pub fn connected(&self, set: NodeSetId) -> Option<usize> {
        self.partitions.of_set(set.index())
    }

    /// Number of sets, at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.sets.len()
    }

    /// All sets, the whole machine first.
    pub fn ids(&self) -> impl Iterator<Item = NodeSetId> + use<> {
        (0..self.sets.len() as u32).map(NodeSetId)
    }

    /// Returns whether a node is in a set.
    #[must_use]
    pub fn contains(&self, set: NodeSetId, node: u32) -> bool {
        set == NodeSetId::ALL || self.sets[set.index()].contains(node)
    }

    /// Returns whether all nodes of set `a` are in set `b`.
    #[must_use]
    pub fn is_within(&self, a: NodeSetId, b: NodeSetId) -> bool {
        self.within[a.index() * self.sets.len() + b.index()]
    }

    /// Returns whether two sets share a node. O(ranges).
    #[must_use]
    pub fn overlap(&self, a: NodeSetId, b: NodeSetId) -> bool {
        self.sets[a.index()].overlaps(&self.sets[b.index()])
    }

    /// The sets, other than the whole machine, that contain a node.
    #[must_use]
    pub fn others_of(&self, node: u32) -> &[NodeSetId] {
        match self.offsets.get(node as usize..node as usize + 2) {
            Some(&[begin, end]) => &self.containing[begin..end],
            _ => &[],
        }
    }

    /// The ranges of a set at or after `from`; a range that contains `from` begins there.
    pub fn ranges_from(&self, set: NodeSetId, from: u32) -> impl Iterator<Item = Range<u32>> {
        self.sets[set.index()].ranges_from(from)
    }

    /// The nodes of a set at or after `from`, in ascending order.
    pub fn nodes_from(&self, set: NodeSetId, from: u32) -> impl Iterator<Item = u32> {
        self.ranges_from(set, from).flatten()
    }
}

/// For each node the sets after the first that contain it: offsets and set numbers.
fn sets_of_nodes(nodes: u32, sets: &[NodeSet]) -> (Vec<usize>, Vec<NodeSetId>) {
    if sets.len() == 1 {
        return (Vec::new(), Vec::new());
    }
    let mut containing: Vec<Vec<NodeSetId>> = vec![Vec::new(); nodes as usize];
    for (number, set) in sets.iter().enumerate().skip(1) {
        for node in set.ranges_from(0).flatten() {
            containing[node as usize].push(NodeSetId(number as u32));
        }
    }
    let mut offsets = vec![0];
    for list in &containing {
        offsets.push(offsets[offsets.len() - 1] + list.len());
    }
    (offsets, containing.concat())
}

/// Adds up amounts (node-major) over the nodes of each set; set-major.
#[must_use]
pub fn totals_of(resources: usize, amounts: &[i64], node_sets: &NodeSets) -> Vec<i64> {
    let mut totals = vec![0; node_sets.count() * resources];
    for set in node_sets.ids() {
        let of_set = &mut totals[set.block(resources)];
        for node in node_sets.nodes_from(set, 0) {
            for (total, amount) in of_set.iter_mut().zip(&amounts[node as usize * resources..]) {
                *total += amount;
            }
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const NODES: u32 = 30;

    fn some_ranges() -> impl Strategy<Value = Vec<Range<u32>>> {
        prop::collection::vec((0..NODES, 0..8_u32), 0..6).prop_map(|pairs| {
            pairs.into_iter().map(|(begin, length)| begin..(begin + length).min(NODES)).collect()
        })
    }

    proptest! {
        #[test]
        fn a_set_is_its_nodes(a in some_ranges(), b in some_ranges(), from in 0..=NODES) {
            let nodes: BTreeSet<u32> = a.iter().cloned().flatten().collect();
            let others: BTreeSet<u32> = b.iter().cloned().flatten().collect();
            let (set, other) = (NodeSet::new(a), NodeSet::new(b));
            for node in 0..NODES {
                prop_assert_eq!(set.contains(node), nodes.contains(&node));
            }
            let later: Vec<u32> = set.ranges_from(from).flatten().collect();
            prop_assert_eq!(later, nodes.range(from..).copied().collect::<Vec<_>>());
            prop_assert_eq!(set.is_within(&other), nodes.is_subset(&others));
            prop_assert_eq!(set == other, nodes == others);
        }

        #[test]
        fn the_sets_of_a_scenario_know_each_node(given in prop::collection::vec(some_ranges(), 0..5)) {
            let given: Vec<NodeSet> = given.into_iter().map(NodeSet::new).collect();
            let (sets, numbers) = NodeSets::with(NODES, given.clone());
            for node in 0..NODES {
                let others: Vec<NodeSetId> =
                    sets.ids().skip(1).filter(|&set| sets.contains(set, node)).collect();
                prop_assert_eq!(sets.others_of(node), &others);
            }
            for (set, &number) in given.iter().zip(&numbers) {
                let nodes: Vec<u32> = set.ranges_from(0).flatten().collect();
                prop_assert_eq!(&sets.nodes_from(number, 0).collect::<Vec<_>>(), &nodes);
                prop_assert!(sets.is_within(number, NodeSetId::ALL));
                for (other, &its_number) in given.iter().zip(&numbers) {
                    let shares = other.ranges_from(0).flatten().any(|node| nodes.contains(&node));
                    prop_assert_eq!(sets.overlap(number, its_number), shares);
                }
            }
        }
    }

    #[test]
    fn equal_sets_share_a_number_and_all_nodes_are_the_whole_machine() {
        let given = vec![NodeSet::new([1..2, 0..1]), NodeSet::new([2..4, 0..2]), NodeSet::new([0..2, 0..2])];
        let (sets, numbers) = NodeSets::with(4, given);
        assert_eq!((sets.count(), numbers), (2, vec![NodeSetId(1), NodeSetId::ALL, NodeSetId(1)]));
        assert!(NodeSets::whole(4).others_of(3).is_empty());
    }
}
