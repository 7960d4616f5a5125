//! Partitions: which of them share nodes (semantics, S11).
//!
//! Two partitions are connected if they share a node, or if both are connected to a third. Jobs of different sets of
//! connected partitions use different nodes, so they do not delay each other.
use serde::{Deserialize, Serialize};

use super::node_set::NodeSet;

/// Marks a node or node set without a set of connected partitions.
const NONE: u32 = u32::MAX;

/// The distinct partitions of a machine. A machine without partitions has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partitions {
    /// The nodes of each partition; empty if the only partition is the whole machine.
    nodes: Vec<NodeSet>,
    /// By partition: the number of its set of connected partitions.
    connected_with: Vec<u32>,
    /// Number of sets of connected partitions.
    connected: usize,
    /// The number of the set of connected partitions of each node set of the scenario, and of each node. Both are empty if all
    /// partitions are connected.
    of_set: Vec<u32>,
    of_node: Vec<u32>,
}

impl Default for Partitions {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            connected_with: vec![0],
            connected: 1,
            of_set: Vec::new(),
            of_node: Vec::new(),
        }
    }
}

impl Partitions {
    /// Creates partitions of these nodes; `machine` is the number of nodes, `sets` are the node sets of the scenario.
    ///
    /// O(partitions² · ranges), and O(nodes) if some partitions are not connected.
    #[must_use]
    pub fn new(nodes: Vec<NodeSet>, machine: u32, sets: &[NodeSet]) -> Self {
        if nodes.is_empty() {
            return Self::default();
        }
        let (connected_with, connected) = components(&nodes);
        let mut partitions =
            Self { nodes, connected_with, connected, of_set: Vec::new(), of_node: Vec::new() };
        if connected > 1 {
            partitions.of_node = vec![NONE; machine as usize];
            for (own, &number) in partitions.nodes.iter().zip(&partitions.connected_with) {
                for node in own.ranges_from(0).flatten() {
                    partitions.of_node[node as usize] = number;
                }
            }
            partitions.of_set = sets.iter().map(|set| partitions.connected_around(set)).collect();
        }
        partitions
    }

    /// The set of connected partitions that contains all of these nodes.
    fn connected_around(&self, set: &NodeSet) -> u32 {
        let Some(some) = set.ranges_from(0).next() else { return NONE };
        let number = self.of_node[some.start as usize];
        let is_within = set.ranges_from(0).flatten().all(|node| self.of_node[node as usize] == number);
        if is_within { number } else { NONE }
    }

    /// Number of partitions, at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.connected_with.len()
    }

    /// The nodes of a partition; None for the whole machine.
    #[must_use]
    pub fn nodes(&self, partition: u32) -> Option<&NodeSet> {
        self.nodes.get(partition as usize)
    }

    /// Number of sets of connected partitions, at least one.
    #[must_use]
    pub fn connected(&self) -> usize {
        self.connected
    }

    /// The number of the set of connected partitions that contains a partition.
    #[must_use]
    pub fn connected_with(&self, partition: u32) -> usize {
        self.connected_with.get(partition as usize).map_or(0, |&number| number as usize)
    }

    /// The number of the set of connected partitions that contains all nodes of a node set, given by index; None if
    /// there is no such set, or the node set is empty.
    #[must_use]
    pub fn of_set(&self, set: usize) -> Option<usize> {
        numbered(&self.of_set, set)
    }

    /// The number of the set of connected partitions that contains a node; None if there is no such set.
    #[must_use]
    pub fn of_node(&self, node: u32) -> Option<usize> {
        numbered(&self.of_node, node as usize)
    }
}

fn numbered(numbers: &[u32], at: usize) -> Option<usize> {
    match numbers.get(at) {
        None => Some(0),
        Some(&NONE) => None,
        Some(&number) => Some(number as usize),
    }
}

/// Returns for each partition the number of its set of connected partitions, numbered by first occurrence, and the
/// number of sets.
fn components(nodes: &[NodeSet]) -> (Vec<u32>, usize) {
    let mut found = vec![NONE; nodes.len()];
    let mut count = 0;
    for first in 0..nodes.len() {
        if found[first] != NONE {
            continue;
        }
        let mut to_visit = vec![first];
        found[first] = count;
        while let Some(one) = to_visit.pop() {
            for other in 0..nodes.len() {
                if found[other] == NONE && nodes[one].overlaps(&nodes[other]) {
                    found[other] = count;
                    to_visit.push(other);
                }
            }
        }
        count += 1;
    }
    (found, count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(begin: u32, end: u32) -> NodeSet {
        NodeSet::new(std::iter::once(begin..end))
    }

    #[test]
    fn partitions_are_connected_through_others() {
        let nodes = vec![set(0, 3), set(6, 8), set(2, 5), set(4, 6)];
        let sets = [set(0, 9), set(1, 2), set(6, 7), set(5, 5), set(4, 7)];
        let partitions = Partitions::new(nodes, 9, &sets);
        assert_eq!((partitions.count(), partitions.connected()), (4, 2));
        let numbers: Vec<usize> = (0..4).map(|partition| partitions.connected_with(partition)).collect();
        assert_eq!(numbers, [0, 1, 0, 0]);
        let of_sets: Vec<Option<usize>> = (0..sets.len()).map(|at| partitions.of_set(at)).collect();
        assert_eq!(of_sets, [None, Some(0), Some(1), None, None]);
        assert_eq!(
            (partitions.of_node(5), partitions.of_node(7), partitions.of_node(8)),
            (Some(0), Some(1), None)
        );
    }

    #[test]
    fn a_machine_without_partitions_is_one() {
        let whole = Partitions::default();
        assert_eq!((whole.count(), whole.connected(), whole.nodes(0)), (1, 1, None));
        assert_eq!((whole.of_set(3), whole.of_node(7), whole.connected_with(0)), (Some(0), Some(0), 0));
    }
}
