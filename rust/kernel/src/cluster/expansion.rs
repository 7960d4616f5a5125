//! The machine as seen by a running job that grows: its tasks on a node count towards its limit of tasks per node.
use std::borrow::Cow;

use super::placement::NodeTasks;

use super::availability::{Availability, next_place_of_both, previous_place_of_both};
use super::machine::Machine;
use super::node_order::NodeOrder;
use super::node_set::NodeSet;
use super::ranking::Ranked;
use super::request::Request;

/// Availability for further tasks of a running job.
///
/// Each node costs O(log k) more than on the machine itself, for a job on k nodes.
pub struct Expansion<'a> {
    /// The machine with the job on it.
    pub machine: &'a Machine,
    /// The placement of the job, sorted by node.
    pub own: Cow<'a, [NodeTasks]>,
    /// The nodes that are reserved for others.
    pub closed: NodeSet,
}

impl Expansion<'_> {
    /// Number of tasks of the job on a node.
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
