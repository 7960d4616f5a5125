//! Equal nodes that are entirely free, counted by place in an order.
//!
//! If a request fits on no partly allocated node, its feasible nodes are the entirely free nodes, and each admits the
//! same number of tasks: the j-th of them is found without a walk. A change costs O(r) for each changed node, with r
//! resources, and for each node set that contains it.
use serde::{Deserialize, Serialize};

use crate::index::CountedBits;

use super::node_set::NodeSetId;
use super::node_sets::NodeSets;
use super::request::Request;

/// Flag in a node's mask: the node is entirely free. The lower bits are set for its positive values.
const WHOLE: u16 = 1 << 15;

/// The entirely free nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WholeNodes {
    /// The values of an entirely free node: its free amounts, and 1 for idle.
    values: Vec<i64>,
    /// The mask of the node at each place; 0 for a vacant place.
    masks: Vec<u16>,
    of_sets: Vec<OfSet>,
}

/// The entirely free nodes of one node set.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct OfSet {
    places: CountedBits,
    /// For each value, the number of nodes not entirely free on which it is positive.
    on_others: Vec<u32>,
}

impl WholeNodes {
    /// The number of values that fit into a mask.
    pub const MOST_VALUES: usize = 15;

    /// Creates an empty index; `values` are the values of an entirely free node.
    #[must_use]
    pub fn new(values: Vec<i64>, places: usize, sets: &NodeSets) -> Self {
        let none = OfSet { places: CountedBits::new(places), on_others: vec![0; values.len()] };
        Self { of_sets: vec![none; sets.count()], masks: vec![0; places], values }
    }

    /// Updates the index for the values of the node at a place; `others` are its node sets except the set of all nodes.
    pub fn note(&mut self, place: u32, values: &[i64], others: &[NodeSetId]) {
        let mask = self.mask(values);
        let before = std::mem::replace(&mut self.masks[place as usize], mask);
        if before == mask {
            return;
        }
        self.of_sets[NodeSetId::ALL.index()].change(place, before, mask);
        for set in others {
            self.of_sets[set.index()].change(place, before, mask);
        }
    }

    /// Returns `WHOLE` for the values of an entirely free node, otherwise the bits of the positive values.
    fn mask(&self, values: &[i64]) -> u16 {
        let (mut is_whole, mut positive) = (true, 0);
        for (at, (value, whole)) in values.iter().zip(&self.values).enumerate() {
            is_whole &= value == whole;
            positive |= u16::from(*value > 0) << at;
        }
        if is_whole { WHOLE } else { positive }
    }

    /// Updates the index after a node moved to another place.
    pub fn moved(&mut self, from: u32, to: u32, others: &[NodeSetId]) {
        let mask = std::mem::take(&mut self.masks[from as usize]);
        self.masks[to as usize] = mask;
        if mask != WHOLE {
            return;
        }
        for set in std::iter::once(&NodeSetId::ALL).chain(others) {
            let places = &mut self.of_sets[set.index()].places;
            places.set(from as usize, false);
            places.set(to as usize, true);
        }
    }

    /// Updates the index after the nodes at these ascending places moved to the front; `place_of` is the new place of
    /// each node.
    pub fn keep(&mut self, kept: &[usize], place_of: &[u32], sets: &NodeSets) {
        for (to, &from) in kept.iter().enumerate() {
            self.masks[to] = self.masks[from];
        }
        self.masks[kept.len()..].fill(0);
        for set in sets.ids() {
            let places = sets.nodes_from(set, 0).map(|node| place_of[node as usize] as usize);
            let mut bits = CountedBits::new(self.masks.len());
            for place in places.filter(|&place| self.masks[place] == WHOLE) {
                bits.set(place, true);
            }
            self.of_sets[set.index()].places = bits;
        }
    }

    /// The places of the feasible nodes, if these are exactly the entirely free nodes.
    pub fn of(&self, request: &Request) -> Option<&CountedBits> {
        let of_set = &self.of_sets[request.nodes.index()];
        let asked = request.amounts.iter().copied().chain([i64::from(request.exclusive)]);
        let admits = asked.clone().zip(&self.values).all(|(asked, &has)| asked <= has);
        // Only nodes of this set have the requested resource.
        let decides = asked.zip(&of_set.on_others).any(|(asked, &others)| asked > 0 && others == 0);
        (admits && decides).then_some(&of_set.places)
    }
}

impl OfSet {
    fn change(&mut self, place: u32, before: u16, now: u16) {
        if (before ^ now) & WHOLE != 0 {
            self.places.set(place as usize, now == WHOLE);
        }
        let (before, now) = (before & !WHOLE, now & !WHOLE);
        if before == now {
            return;
        }
        for (value, nodes) in self.on_others.iter_mut().enumerate() {
            *nodes += u32::from(now >> value & 1);
            *nodes -= u32::from(before >> value & 1);
        }
    }
}
