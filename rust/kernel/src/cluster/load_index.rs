//! The nodes in order of load, then index.
use serde::{Deserialize, Serialize};

use crate::index::ordered_index::{Greatest, OrderedIndex};
use crate::time::Time;

use super::load_levels::LoadLevels;
use super::node_set::NodeSetId;
use super::node_sets::NodeSets;
use super::ranking::Ranking;
use super::request::Request;

/// All nodes in order of load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum LoadIndex {
    /// For nodes with a load that follows from one free amount.
    Levels(LoadLevels),
    /// One search tree for each node set.
    Trees(LoadTrees),
}

/// The nodes of each set in order of load, then index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LoadTrees {
    by: Ranking,
    load_of: Vec<Time>,
    sets: Vec<OrderedIndex<(Time, u32), Greatest>>,
}

impl LoadIndex {
    /// Creates an index for a number of nodes, still without any node. `equal` is the capacity of a node if all nodes
    /// are equal.
    pub(super) fn new(
        by: Ranking,
        nodes: usize,
        resources: usize,
        equal: Option<&[i64]>,
        sets: &NodeSets,
    ) -> Self {
        // Among equal nodes with one resource, a node with less free has more load.
        if let Some(&[capacity]) = equal
            && let Some(levels) = LoadLevels::new(nodes, capacity)
        {
            return Self::Levels(levels);
        }
        let trees = sets.ids().map(|_| OrderedIndex::new(resources + 1)).collect();
        Self::Trees(LoadTrees { by, load_of: vec![Time::NEVER; nodes], sets: trees })
    }

    /// Moves a node to the position of its values: its free amounts, and 1 if it is idle, −1 if it is drained,
    /// otherwise 0.
    pub(super) fn put(&mut self, node: u32, capacity: &[i64], values: &[i64], sets: &NodeSets) {
        match self {
            Self::Levels(levels) => levels.put(node, values),
            Self::Trees(trees) => trees.put(node, capacity, values, sets),
        }
    }

    /// Visits the nodes of the request's set with slots, busiest or least busy first, then by index, until `visit`
    /// returns false.
    pub(super) fn visit(
        &self,
        sets: &NodeSets,
        request: &Request,
        busiest_first: bool,
        visit: &mut dyn FnMut(u32) -> bool,
    ) {
        match self {
            Self::Levels(levels) => levels.visit(sets, request, busiest_first, visit),
            Self::Trees(trees) => trees.visit(request, busiest_first, visit),
        }
    }
}

impl LoadTrees {
    fn put(&mut self, node: u32, capacity: &[i64], values: &[i64], sets: &NodeSets) {
        let now = Time(self.by.of(capacity, &values[..capacity.len()]));
        let before = std::mem::replace(&mut self.load_of[node as usize], now);
        for set in std::iter::once(&NodeSetId::ALL).chain(sets.others_of(node)) {
            let tree = &mut self.sets[set.index()];
            tree.remove(&(before, node));
            tree.insert((now, node), values);
        }
    }

    fn visit(&self, request: &Request, busiest_first: bool, visit: &mut dyn FnMut(u32) -> bool) {
        let tree = &self.sets[request.nodes.index()];
        let matches = |values: &[i64]| request.admits(values);
        if !busiest_first {
            return tree.visit_matching(None, &matches, &mut |(_, node)| visit(node));
        }
        // Busiest first, but by ascending index within one load: visit one load after the other, from the end.
        let (mut bound, mut goes_on) = (None, true);
        while goes_on && let Some((level, _)) = tree.last_matching(bound.as_ref(), &matches) {
            tree.visit_matching(Some(&below(level)), &matches, &mut |(load, node)| {
                goes_on = load != level || visit(node);
                goes_on && load == level
            });
            bound = Some((level, 0));
        }
    }
}

/// A key just below all nodes of this rank.
fn below(level: Time) -> (Time, u32) {
    (Time(level.0.next_down()), u32::MAX)
}
