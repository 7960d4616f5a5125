//! Nodes between which the messages of a job cross the fewest links (S22).
//!
//! O(f log n + c (f + e)) for f feasible nodes, c centres and e pairs of ranks that exchange messages. A trial stops as
//! soon as it is no better than the best.
use crate::cluster::{Availability, NodeOrder, NodeTasks};
use crate::platform::Fabric;

use super::compact::{Closeness, Compact, Surroundings, centres_of};
use super::filling::Filling;
use super::in_order::Candidate;

impl<A: Availability> Filling<'_, A> {
    /// Fills the nodes with the fewest hop-bytes; tries the head of the order, and the nodes near each of some centres
    /// and after it.
    pub(super) fn fewest_hop_bytes(&mut self, order: &NodeOrder, fabric: &Fabric, centres: u32) {
        let Some(messages) = self.want.messages else {
            return self.compact(order, fabric, Compact { by: Closeness::MeanHops, centres });
        };
        let list = self.candidates(order);
        let hops = |one: u32, other: u32| fabric.hops(one, other);
        // The head of the order is used unless another trial costs less.
        let mut best: Option<(f64, Vec<NodeTasks>)> = None;
        let mut attempt = |nodes: &[Candidate]| {
            let Some(placement) = taken(nodes, self.left) else { return };
            let least = best.as_ref().map_or(f64::INFINITY, |best| best.0);
            let cost = messages.hop_bytes(&placement, &hops, least).unwrap_or_default();
            if best.is_none() || cost < least {
                best = Some((cost, placement));
            }
        };
        attempt(&list);
        let mut around = Surroundings::new(fabric, &list, self.left.into());
        for centre in centres_of(list.len(), centres) {
            attempt(&around.chosen(centre));
            attempt(&list[centre..]);
        }
        for part in best.map(|best| best.1).unwrap_or_default() {
            self.fill(part.node);
        }
    }
}

/// Fills the first sufficient nodes; None if all do not suffice.
fn taken(nodes: &[Candidate], tasks: u32) -> Option<Vec<NodeTasks>> {
    let mut left = tasks;
    let mut placement = Vec::new();
    for each in nodes {
        let tasks = u32::try_from(each.slots).map_or(left, |slots| slots.min(left));
        placement.push(NodeTasks { node: each.node, tasks });
        left -= tasks;
        if left == 0 {
            return Some(placement);
        }
    }
    None
}
