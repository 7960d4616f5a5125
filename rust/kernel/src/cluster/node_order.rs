//! An order of the nodes, and the indices that find the next node with free resources in it.
//!
//! Finding the next node costs O(log n), a change of a node O(log n) for each node set that contains it. If freed nodes
//! go to the tail, places are used up and renumbered once every 3n moves: O(1) more for each move, amortized.
use serde::{Deserialize, Serialize};

use crate::index::{CountedBits, SegmentTree};

use super::node_set::NodeSetId;
use super::node_sets::NodeSets;
use super::request::Request;
use super::whole_nodes::WholeNodes;

/// Marks a place without a node.
const VACANT: u32 = u32::MAX;
/// The free amount of a vacant place, or of a node outside a set: no request fits a negative amount.
const VACANT_VALUE: i64 = -1;

/// All nodes in an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOrder {
    place_of: Vec<u32>,
    node_at: Vec<u32>,
    /// True if freed nodes go to the tail.
    rotates: bool,
    /// True if an allocator cuts the order into blocks, so that feasible nodes are counted.
    is_cut: bool,
}

impl NodeOrder {
    /// Creates the order of these nodes, each node once.
    #[must_use]
    pub fn new(nodes: Vec<u32>) -> Self {
        let mut place_of = vec![0; nodes.len()];
        for (place, &node) in nodes.iter().enumerate() {
            place_of[node as usize] = place as u32;
        }
        Self { place_of, node_at: nodes, rotates: false, is_cut: false }
    }

    /// Sets whether freed nodes go to the tail.
    #[must_use]
    pub fn rotating(self, rotates: bool) -> Self {
        Self { rotates, ..self }
    }

    /// Sets whether an allocator cuts the order into blocks.
    #[must_use]
    pub fn cut(self, is_cut: bool) -> Self {
        Self { is_cut, ..self }
    }

    /// Number of places; some may be vacant.
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

    /// Number of places to reserve for the order.
    fn room(&self) -> usize {
        if self.rotates { 4 * self.place_of.len() } else { self.place_of.len() }
    }

    /// Moves a node to the tail; returns its place before and now.
    fn move_to_tail(&mut self, node: u32) -> (u32, u32) {
        let (from, to) = (self.place_of(node), self.end());
        self.node_at[from as usize] = VACANT;
        self.node_at.push(node);
        self.place_of[node as usize] = to;
        (from, to)
    }

    /// Removes the vacant places.
    fn compact(&mut self) {
        self.node_at.retain(|&node| node != VACANT);
        for (place, &node) in self.node_at.iter().enumerate() {
            self.place_of[node as usize] = place as u32;
        }
    }
}

/// The node order, and the free amounts of each proper node set, indexed by place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OrderIndex {
    order: NodeOrder,
    of_sets: Vec<SegmentTree>,
    /// Present if the order is cut into blocks and all nodes are equal.
    whole: Option<WholeNodes>,
    #[serde(skip)]
    touched: Vec<u32>,
}

impl OrderIndex {
    /// Creates the index, and the tree of all nodes by place. `values` returns the free amounts of a node; `whole` is
    /// the values of an entirely free node if all nodes are equal.
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

    /// The values of the nodes of a set, by place; `of_all` for the set of all nodes.
    pub fn tree<'a>(&'a self, set: NodeSetId, of_all: &'a SegmentTree) -> &'a SegmentTree {
        set.index().checked_sub(1).map_or(of_all, |at| &self.of_sets[at])
    }

    /// The places of the feasible nodes, if they are known without a search.
    pub fn whole_places(&self, request: &Request) -> Option<&CountedBits> {
        self.whole.as_ref()?.of(request)
    }

    /// Updates the indices after the values of some nodes changed.
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
                // With one set only, the node is not needed.
                let node = if self.of_sets.is_empty() { None } else { self.order.node_at(place) };
                let others = node.map_or(&[][..], |node| sets.others_of(node));
                whole.note(place, of_all.values(place as usize), others);
            }
        }
        self.touched = touched;
    }

    /// Moves freed nodes to the tail, in this order, if the order rotates. Also updates the indices for changes of
    /// their values, so that each place is refreshed once.
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

/// Updates the maxima over some places. Neighbours share their ancestors in the tree.
fn refresh(places: &mut [u32], tree: &mut SegmentTree) {
    if !places.is_sorted() {
        places.sort_unstable();
    }
    for run in places.chunk_by(|a, b| b - a <= 2) {
        tree.refresh_range(run[0] as usize, run[run.len() - 1] as usize);
    }
}
