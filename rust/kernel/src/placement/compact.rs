//! Compact placements: the nodes around a centre (S22).
//!
//! O(f log n + c f) for f feasible nodes and c centres. The number of centres is bounded, so a machine of tens of
//! thousands of nodes costs a few passes over the free nodes.
use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, NodeOrder};
use crate::platform::Fabric;

use super::filling::Filling;
use super::in_order::Candidate;

/// The objective to minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Closeness {
    /// The sum of the hops from the centre to the nodes and back; ties by the maximum.
    MeanHops,
    /// The maximum hops of one node; ties by the sum.
    Diameter,
}

impl Closeness {
    /// All objectives with their names.
    pub const NAMES: [(&str, Self); 2] = [("mean_hops", Self::MeanHops), ("diameter", Self::Diameter)];

    fn score(self, sum: u64, most: u32) -> (u64, u64) {
        match self {
            Self::MeanHops => (sum, most.into()),
            Self::Diameter => (most.into(), sum),
        }
    }
}

/// The parameters of `compact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compact {
    /// The objective to minimise.
    pub by: Closeness,
    /// Maximum number of feasible nodes that are tried as centres.
    pub centres: u32,
}

impl<A: Availability> Filling<'_, A> {
    /// Fills the nodes nearest to the best centre.
    pub(super) fn compact(&mut self, order: &NodeOrder, fabric: &Fabric, Compact { by, centres }: Compact) {
        let list = self.candidates(order);
        let mut around = Surroundings::new(fabric, &list, self.left.into());
        let mut best: Option<((u64, u64), usize)> = None;
        for at in centres_of(list.len(), centres) {
            let Some((sum, most)) = around.measure(at) else { return };
            let score = by.score(sum, most);
            if best.is_none_or(|(least, _)| score < least) {
                best = Some((score, at));
            }
        }
        let Some((_, centre)) = best else { return };
        for each in around.chosen(centre) {
            self.fill(each.node);
        }
    }
}

/// Evenly spaced indices of a list: the nodes to try as centres.
pub(super) fn centres_of(list: usize, most: u32) -> impl Iterator<Item = usize> {
    let count = list.min(most as usize);
    (0..count).map(move |number| number * list / count)
}

/// Feasible nodes by distance from a centre.
pub(super) struct Surroundings<'a> {
    fabric: &'a Fabric,
    list: &'a [Candidate],
    tasks: u64,
    /// The distance of each node from the current centre.
    distances: Vec<u32>,
    /// Number of nodes and slots at each distance.
    shells: Vec<(u64, u64)>,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(fabric: &'a Fabric, list: &'a [Candidate], tasks: u64) -> Self {
        Self { fabric, list, tasks, distances: vec![0; list.len()], shells: Vec::new() }
    }

    /// Measures from a centre; returns the distance at which the slots suffice, with the totals of the nearer nodes.
    /// None if all slots do not suffice.
    fn last_shell(&mut self, centre: usize) -> Option<Shell> {
        self.shells.iter_mut().for_each(|shell| *shell = (0, 0));
        for (each, distance) in self.list.iter().zip(&mut self.distances) {
            *distance = self.fabric.round_trip(self.list[centre].node, each.node);
            if *distance as usize >= self.shells.len() {
                self.shells.resize(*distance as usize + 1, (0, 0));
            }
            let shell = &mut self.shells[*distance as usize];
            *shell = (shell.0 + 1, shell.1 + each.slots);
        }
        let (mut slots, mut sum) = (0, 0);
        for (distance, &(nodes, more)) in self.shells.iter().enumerate() {
            if slots + more >= self.tasks {
                return Some(Shell { distance: distance as u32, missing: self.tasks - slots, sum });
            }
            slots += more;
            sum += nodes * distance as u64;
        }
        None
    }

    /// The sum of the distances of the nearest sufficient nodes, and the largest distance.
    fn measure(&mut self, centre: usize) -> Option<(u64, u32)> {
        let Shell { distance, missing, sum } = self.last_shell(centre)?;
        let (mut slots, mut nodes) = (0, 0);
        let last = self.list.iter().zip(&self.distances).filter(|(_, far)| **far == distance);
        for (each, _) in last {
            if slots >= missing {
                break;
            }
            slots += each.slots;
            nodes += 1;
        }
        Some((sum + nodes * u64::from(distance), distance))
    }

    /// The nearest sufficient nodes in list order; among nodes at the largest distance, the first ones.
    pub(super) fn chosen(&mut self, centre: usize) -> Vec<Candidate> {
        let Some(Shell { distance, missing, .. }) = self.last_shell(centre) else { return Vec::new() };
        let mut slots = 0;
        let near = |(each, far): (&Candidate, &u32)| {
            let is_last = *far == distance && slots < missing;
            slots += if is_last { each.slots } else { 0 };
            (*far < distance || is_last).then_some(*each)
        };
        self.list.iter().zip(&self.distances).filter_map(near).collect()
    }
}

/// The farthest of the needed nodes.
#[derive(Clone, Copy)]
struct Shell {
    distance: u32,
    /// The slots needed at this distance.
    missing: u64,
    /// The sum of the distances of all nearer nodes.
    sum: u64,
}
