//! An order of the nodes, and the indices by which the next node with room in it is found.
//!
//! Finding the next node costs O(log n), a change of a node O(log n) for each node set that it is in. Where freed nodes go to
//! the tail, places are used up and given anew once every 3n moves: O(1) more for each move, averaged.
use serde::{Deserialize, Serialize};

use crate::index::{CountedBits, SegmentTree};

use super::node_set::NodeSetId;
use super::node_sets::NodeSets;
use super::request::Request;
use super::whole_nodes::WholeNodes;

/// No node is at this place any more.
const VACANT: u32 = u32::MAX;
/// What is free at a vacant place, or on a node outside a set: no request fits where less than nothing is.
const VACANT_VALUE: i64 = -1;

/// All nodes in an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOrder {
    place_of: Vec<u32>,
    node_at: Vec<u32>,
    /// Whether freed nodes go to the tail.
    rotates: bool,
    /// Whether it is cut into blocks, so that feasible nodes are counted.
    is_cut: bool,
}

impl NodeOrder {
    /// The order in which these nodes stand, each node once.
    #[must_use]
    pub fn new(nodes: Vec<u32>) -> Self {
        let mut place_of = vec![0; nodes.len()];
        for (place, &node) in nodes.iter().enumerate() {
            place_of[node as usize] = place as u32;
        }
        Self { place_of, node_at: nodes, rotates: false, is_cut: false }
    }

    /// The same, in which freed nodes go to the tail, or do not.
    #[must_use]
    pub fn rotating(self, rotates: bool) -> Self {
        Self { rotates, ..self }
    }

    /// The same, for a rule that cuts it into blocks, or does not.
    #[must_use]
    pub fn cut(self, is_cut: bool) -> Self {
        Self { is_cut, ..self }
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
        if self.rotates { 4 * self.place_of.len() } else { self.place_of.len() }
    }

    /// Puts a node to the tail; its place before, and now.
    fn move_to_tail(&mut self, node: u32) -> (u32, u32) {
        let (from, to) = (self.place_of(node), self.end());
        self.node_at[from as usize] = VACANT;
        self.node_at.push(node);
        self.place_of[node as usize] = to;
        (from, to)
    }

    /// Closes the gaps.
    fn compact(&mut self) {
        self.node_at.retain(|&node| node != VACANT);
        for (place, &node) in self.node_at.iter().enumerate() {
            self.place_of[node as usize] = place as u32;
        }
    }
}

/// The order, and what is free on the nodes of each node set but that of all, by place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OrderIndex {
    order: NodeOrder,
    of_sets: Vec<SegmentTree>,
    /// Where the order is cut into blocks, and all nodes are equal.
    whole: Option<WholeNodes>,
    #[serde(skip)]
    touched: Vec<u32>,
}

impl OrderIndex {
    /// The index, and the tree of all nodes by place; `values` gives what is free on a node, `whole` what is where all of it
    /// is free, for all nodes alike.
    pub fn new<'a>(
        order: NodeOrder,
        sets: &NodeSets,
        values: impl Fn(u32) -> &'a [i64],
        whole: Option<Vec<i64>>,
    ) -> (Self, SegmentTree) {
        let mut trees = sets.ids().map(|set| {
            let width = values(0).len();
            let mut all = vec![VACANT_VALUE; order.room() * width];
            for node in sets.nodes_from(set, 0) {
                let at = order.place_of(node) as usize * width;
                all[at..at + width].copy_from_slice(values(node));
            }
            SegmentTree::new(width, &all)
        });
        let of_all = trees.next().unwrap_or_else(|| SegmentTree::new(1, &[]));
        let of_sets = trees.collect();
        let whole = whole.filter(|values| order.is_cut && values.len() <= WholeNodes::MOST_VALUES);
        let mut whole = whole.map(|whole| WholeNodes::new(whole, order.room(), sets));
        if let Some(whole) = &mut whole {
            for node in 0..order.nodes() {
                whole.note(order.place_of(node), values(node), sets.others_of(node));
            }
        }
        (Self { order, of_sets, whole, touched: Vec::new() }, of_all)
    }

    /// The order.
    pub fn order(&self) -> &NodeOrder {
        &self.order
    }

    /// The values of the nodes of a set, by place; of all nodes they are `of_all`.
    pub fn tree<'a>(&'a self, set: NodeSetId, of_all: &'a SegmentTree) -> &'a SegmentTree {
        set.index().checked_sub(1).map_or(of_all, |at| &self.of_sets[at])
    }

    /// The places of the feasible nodes, where they are known without a search.
    pub fn whole_places(&self, request: &Request) -> Option<&CountedBits> {
        self.whole.as_ref()?.of(request)
    }

    /// Takes note that the values of some nodes have changed.
    pub fn changed(&mut self, nodes: impl Iterator<Item = u32>, sets: &NodeSets, of_all: &mut SegmentTree) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        touched.extend(nodes.map(|node| self.order.place_of(node)));
        refresh(&mut touched, of_all);
        if !self.of_sets.is_empty() {
            for &place in &touched {
                self.copy_to_sets(place, sets, of_all);
            }
        }
        if let Some(whole) = &mut self.whole {
            for &place in &touched {
                // It is not asked which node it is where there is one set only.
                let node = if self.of_sets.is_empty() { None } else { self.order.node_at(place) };
                let others = node.map_or(&[][..], |node| sets.others_of(node));
                whole.note(place, of_all.values(place as usize), others);
            }
        }
        self.touched = touched;
    }

    /// Nodes were freed, in this order: they go to the tail, where the order is one in which they do. What has changed of
    /// their values is taken note of as well, so that each place is refreshed once.
    pub fn freed(
        &mut self,
        nodes: impl ExactSizeIterator<Item = u32> + Clone,
        sets: &NodeSets,
        of_all: &mut SegmentTree,
    ) {
        if !self.order.rotates || nodes.len() == 0 {
            return self.changed(nodes, sets, of_all);
        }
        if self.order.node_at.len() + nodes.len() > self.order.room() {
            self.close_gaps(sets, of_all);
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        let first = self.order.node_at.len();
        for node in nodes {
            let (from, to) = self.order.move_to_tail(node);
            of_all.move_values(from as usize, to as usize, VACANT_VALUE);
            touched.push(from);
            let others = sets.others_of(node);
            for set in others {
                let tree = &mut self.of_sets[set.index() - 1];
                tree.values_mut(from as usize).fill(VACANT_VALUE);
                tree.values_mut(to as usize).copy_from_slice(of_all.values(to as usize));
                tree.refresh_range(from as usize, from as usize);
                tree.refresh_range(to as usize, to as usize);
            }
            if let Some(whole) = &mut self.whole {
                whole.moved(from, to, others);
                whole.note(to, of_all.values(to as usize), others);
            }
        }
        refresh(&mut touched, of_all);
        of_all.refresh_range(first, self.order.node_at.len() - 1);
        self.touched = touched;
    }

    fn close_gaps(&mut self, sets: &NodeSets, of_all: &mut SegmentTree) {
        let kept = (0..self.order.end()).filter(|&place| self.order.node_at(place).is_some());
        let kept: Vec<usize> = kept.map(|place| place as usize).collect();
        for tree in std::iter::once(of_all).chain(&mut self.of_sets) {
            tree.keep(&kept, VACANT_VALUE);
        }
        self.order.compact();
        if let Some(whole) = &mut self.whole {
            whole.keep(&kept, &self.order.place_of, sets);
        }
    }

    fn copy_to_sets(&mut self, place: u32, sets: &NodeSets, of_all: &SegmentTree) {
        let Some(node) = self.order.node_at(place) else { return };
        for set in sets.others_of(node) {
            let tree = &mut self.of_sets[set.index() - 1];
            tree.values_mut(place as usize).copy_from_slice(of_all.values(place as usize));
            tree.refresh_range(place as usize, place as usize);
        }
    }
}

/// Brings the maxima over some places up to date. Neighbours share their ancestors in the tree.
fn refresh(places: &mut [u32], tree: &mut SegmentTree) {
    if !places.is_sorted() {
        places.sort_unstable();
    }
    for run in places.chunk_by(|a, b| b - a <= 2) {
        tree.refresh_range(run[0] as usize, run[run.len() - 1] as usize);
    }
}
