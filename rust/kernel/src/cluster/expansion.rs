//! The machine as a job sees it that is there already: its tasks on a node count towards those that it may have there.
use std::borrow::Cow;

use super::placement::NodeTasks;

use super::availability::{Availability, next_place_of_both, previous_place_of_both};
use super::machine::Machine;
use super::node_order::NodeOrder;
use super::node_set::NodeSet;
use super::ranking::Ranked;
use super::request::Request;

/// Availability for further tasks of a job in addition to those that it has, sorted by node.
///
/// O(log k) more per node than without those, k the number of the job's nodes.
pub struct Expansion<'a> {
    /// The machine, with the job on it.
    pub machine: &'a Machine,
    /// What the job has.
    pub own: Cow<'a, [NodeTasks]>,
    /// The nodes that are reserved for others.
    pub closed: NodeSet,
}

impl Expansion<'_> {
    /// How many tasks of the job are on a node.
    #[must_use]
    pub fn tasks_on(&self, node: u32) -> u32 {
        let place = self.own.binary_search_by_key(&node, |part| part.node);
        place.map_or(0, |place| self.own[place].tasks)
    }
}

impl Availability for Expansion<'_> {
    fn nodes(&self) -> u32 {
        self.machine.nodes()
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        if self.closed.contains(node) {
            return 0;
        }
        let slots = self.machine.slots(node, request);
        match request.tasks_per_node {
            0 => slots,
            most => slots.min(most.saturating_sub(self.tasks_on(node))),
        }
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        self.machine.free_on(node, resource)
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        let mut from = from;
        loop {
            let node = self.machine.next_with_slots(from, request)?;
            if self.slots(node, request) > 0 {
                return Some(node);
            }
            from = node + 1;
        }
    }

    fn next_place(&self, order: &NodeOrder, from: u32, request: &Request) -> Option<u32> {
        next_place_of_both((self, self.machine), order, from, request)
    }

    fn previous_place(&self, order: &NodeOrder, until: u32, request: &Request) -> Option<u32> {
        previous_place_of_both((self, self.machine), order, until, request)
    }

    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        self.machine.visit_by_load(request, order, &mut |node| self.slots(node, request) == 0 || visit(node));
    }
}
