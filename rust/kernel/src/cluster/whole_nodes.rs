//! Equal nodes that are wholly free, counted by their places in an order.
//!
//! Where a request fits on no node of which a part is taken, its feasible nodes are those that are wholly free, and each
//! admits as many tasks: then the j-th of them is found without a walk. O(r) for each node that changes, with r resources,
//! and for each node set that it is in.
use serde::{Deserialize, Serialize};

use crate::index::CountedBits;

use super::node_set::{NodeSetId, NodeSets};
use super::request::Request;

/// In a node's mask: all of it is free. The bits below say which of its values are positive.
const WHOLE: u64 = 1 << 63;

/// The nodes that are wholly free.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WholeNodes {
    /// What is free on a node that is wholly free, and 1 as it is idle.
    values: Vec<i64>,
    /// What each node has.
    masks: Vec<u64>,
    of_sets: Vec<OfSet>,
}

/// Those of one node set.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OfSet {
    places: CountedBits,
    /// For each value on how many nodes that are not wholly free it is positive.
    on_others: Vec<u32>,
}

impl WholeNodes {
    /// The most values that a mask has bits for.
    pub const MOST_VALUES: usize = 63;

    /// None is known yet; `values` are those of any node that is wholly free.
    #[must_use]
    pub fn new(values: Vec<i64>, nodes: usize, places: usize, sets: &NodeSets) -> Self {
        let none = OfSet { places: CountedBits::new(places), on_others: vec![0; values.len()] };
        Self { of_sets: vec![none; sets.count()], masks: vec![0; nodes], values }
    }

    /// Takes note of what is free on a node.
    pub fn note(&mut self, node: u32, place: u32, values: &[i64], sets: &NodeSets) {
        let mask = if values == self.values { WHOLE } else { positive(values) };
        let before = std::mem::replace(&mut self.masks[node as usize], mask);
        if before == mask {
            return;
        }
        for set in std::iter::once(&NodeSetId::ALL).chain(sets.others_of(node)) {
            self.of_sets[set.index()].change(place, before, mask);
        }
    }

    /// Takes note that a node has moved.
    pub fn moved(&mut self, node: u32, from: u32, to: u32, sets: &NodeSets) {
        if self.masks[node as usize] != WHOLE {
            return;
        }
        for set in std::iter::once(&NodeSetId::ALL).chain(sets.others_of(node)) {
            let places = &mut self.of_sets[set.index()].places;
            places.set(from as usize, false);
            places.set(to as usize, true);
        }
    }

    /// Counts anew where the nodes have other places.
    pub fn count_anew(&mut self, place_of: &[u32], places: usize, sets: &NodeSets) {
        for set in sets.ids() {
            let whole = sets.nodes_from(set, 0).filter(|&node| self.masks[node as usize] == WHOLE);
            let mut bits = CountedBits::new(places);
            whole.for_each(|node| bits.set(place_of[node as usize] as usize, true));
            self.of_sets[set.index()].places = bits;
        }
    }

    /// The places of the feasible nodes, where these are just the ones that are wholly free.
    pub fn of(&self, request: &Request) -> Option<&CountedBits> {
        let of_set = &self.of_sets[request.nodes.index()];
        let asked = request.amounts.iter().copied().chain([i64::from(request.exclusive)]);
        let admits = asked.clone().zip(&self.values).all(|(asked, &has)| asked <= has);
        // What it asks for is on no other node.
        let decides = asked.zip(&of_set.on_others).any(|(asked, &others)| asked > 0 && others == 0);
        (admits && decides).then_some(&of_set.places)
    }
}

impl OfSet {
    fn change(&mut self, place: u32, before: u64, now: u64) {
        if (before ^ now) & WHOLE != 0 {
            self.places.set(place as usize, now == WHOLE);
        }
        for (value, nodes) in self.on_others.iter_mut().enumerate() {
            *nodes -= u32::from(before != WHOLE && before >> value & 1 == 1);
            *nodes += u32::from(now != WHOLE && now >> value & 1 == 1);
        }
    }
}

/// Which values are positive.
fn positive(values: &[i64]) -> u64 {
    let bits = values.iter().enumerate().filter(|(_, value)| **value > 0);
    bits.fold(0, |mask, (at, _)| mask | 1 << at)
}
