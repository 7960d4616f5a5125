//! An order of the nodes, and the indices by which the next node with room in it is found.
//!
//! Finding the next node costs O(log n), a change of a node O(log n) for each node set that it is in. Where freed nodes go to
//! the tail, places are used up and given anew once every n moves: O(1) more for each move, averaged.
use serde::{Deserialize, Serialize};

use crate::index::SegmentTree;

use super::node_set::{NodeSetId, NodeSets};

/// No node is at this place any more.
const VACANT: u32 = u32::MAX;

/// All nodes in an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOrder {
    place_of: Vec<u32>,
    node_at: Vec<u32>,
    /// Whether freed nodes go to the tail.
    rotates: bool,
}

impl NodeOrder {
    /// The order in which these nodes stand, each node once; whether freed nodes go to its tail.
    #[must_use]
    pub fn new(nodes: Vec<u32>, rotates: bool) -> Self {
        let mut place_of = vec![0; nodes.len()];
        for (place, &node) in nodes.iter().enumerate() {
            place_of[node as usize] = place as u32;
        }
        Self { place_of, node_at: nodes, rotates }
    }

    /// The number of places; some may be vacant.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.node_at.len() as u32
    }

    /// The node at a place.
    #[must_use]
    pub fn node_at(&self, place: u32) -> Option<u32> {
        self.node_at.get(place as usize).copied().filter(|&node| node != VACANT)
    }

    /// The place of a node.
    #[must_use]
    pub fn place_of(&self, node: u32) -> u32 {
        self.place_of[node as usize]
    }

    /// The number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.place_of.len() as u32
    }

    /// The places that an order needs in all.
    fn room(&self) -> usize {
        if self.rotates { 2 * self.place_of.len() } else { self.place_of.len() }
    }

    /// Closes the gaps.
    fn compact(&mut self) {
        self.node_at.retain(|&node| node != VACANT);
        for (place, &node) in self.node_at.iter().enumerate() {
            self.place_of[node as usize] = place as u32;
        }
    }
}

/// The order, and what is free on its nodes, by place: a tree for each node set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OrderIndex {
    order: NodeOrder,
    trees: Vec<SegmentTree>,
    #[serde(skip)]
    touched: Vec<u32>,
}

impl OrderIndex {
    /// The index of nodes whose values are these.
    pub fn new(order: NodeOrder, sets: &NodeSets, values: &SegmentTree) -> Self {
        let mut made = Self { order, trees: Vec::new(), touched: Vec::new() };
        made.plant(sets, values);
        made
    }

    /// The order.
    pub fn order(&self) -> &NodeOrder {
        &self.order
    }

    /// The values of the nodes of a set, by place.
    pub fn tree(&self, set: NodeSetId) -> &SegmentTree {
        &self.trees[set.index()]
    }

    fn plant(&mut self, sets: &NodeSets, values: &SegmentTree) {
        let width = values.width();
        let order = &self.order;
        let tree = |set| {
            // No request fits where less than nothing is free.
            let mut all = vec![-1; order.room() * width];
            for node in sets.nodes_from(set, 0) {
                let at = order.place_of(node) as usize * width;
                all[at..at + width].copy_from_slice(values.values(node as usize));
            }
            SegmentTree::new(width, &all)
        };
        self.trees = sets.ids().map(tree).collect();
    }

    /// Takes over the values of some nodes.
    pub fn update(&mut self, nodes: impl Iterator<Item = u32>, sets: &NodeSets, values: &SegmentTree) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        for node in nodes {
            let place = self.order.place_of(node);
            touched.push(place);
            let own = values.values(node as usize);
            self.trees[0].values_mut(place as usize).copy_from_slice(own);
            for &set in sets.others_of(node) {
                let tree = &mut self.trees[set.index()];
                tree.values_mut(place as usize).copy_from_slice(own);
                tree.refresh_range(place as usize, place as usize);
            }
        }
        // Neighbours share their ancestors in the tree: these are brought up to date once.
        if !touched.is_sorted() {
            touched.sort_unstable();
        }
        for run in touched.chunk_by(|a, b| b - a <= 2) {
            self.trees[0].refresh_range(run[0] as usize, run[run.len() - 1] as usize);
        }
        self.touched = touched;
    }

    /// Nodes were freed, in this order: they go to the tail, where the order is one in which they do.
    pub fn freed(&mut self, nodes: impl Iterator<Item = u32>, sets: &NodeSets, values: &SegmentTree) {
        if !self.order.rotates {
            return;
        }
        for node in nodes {
            if self.order.node_at.len() == self.order.room() {
                self.order.compact();
                self.plant(sets, values);
            }
            let (from, to) = (self.order.place_of(node) as usize, self.order.node_at.len());
            self.order.node_at[from] = VACANT;
            self.order.node_at.push(node);
            self.order.place_of[node as usize] = to as u32;
            for set in std::iter::once(&NodeSetId::ALL).chain(sets.others_of(node)) {
                let tree = &mut self.trees[set.index()];
                tree.values_mut(from).fill(-1);
                tree.refresh_range(from, from);
                tree.values_mut(to).copy_from_slice(values.values(node as usize));
                tree.refresh_range(to, to);
            }
        }
    }
}
