//! Equal nodes that are wholly free, counted by their places in an order.
//!
//! Where a request fits on no node of which a part is taken, its feasible nodes are those that are wholly free, and each
//! admits as many tasks: then the j-th of them is found without a walk. O(r) for each node that changes, with r resources,
//! and for each node set that it is in.
use serde::{Deserialize, Serialize};

use crate::index::CountedBits;

use super::node_set::NodeSetId;
use super::node_sets::NodeSets;
use super::request::Request;

/// In a node's mask: all of it is free. The bits below say which of its values are positive.
const WHOLE: u16 = 1 << 15;

/// The nodes that are wholly free.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WholeNodes {
    /// What is free on a node that is wholly free, and 1 as it is idle.
    values: Vec<i64>,
    /// What the node at each place has; 0 where there is none.
    masks: Vec<u16>,
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
    pub const MOST_VALUES: usize = 15;

    /// None is known yet; `values` are those of any node that is wholly free.
    #[must_use]
    pub fn new(values: Vec<i64>, places: usize, sets: &NodeSets) -> Self {
        let none = OfSet { places: CountedBits::new(places), on_others: vec![0; values.len()] };
        Self { of_sets: vec![none; sets.count()], masks: vec![0; places], values }
    }

    /// Takes note of what is free on the node at a place; `others` are the sets that it is in, but that of all.
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

    /// Whether these are the values of a node that is wholly free; else which of them are positive.
    fn mask(&self, values: &[i64]) -> u16 {
        let (mut is_whole, mut positive) = (true, 0);
        for (at, (value, whole)) in values.iter().zip(&self.values).enumerate() {
            is_whole &= value == whole;
            positive |= u16::from(*value > 0) << at;
        }
        if is_whole { WHOLE } else { positive }
    }

    /// Takes note that a node has moved.
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

    /// The nodes at these places, which ascend, have moved to the front; `place_of` has where each node is now.
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
