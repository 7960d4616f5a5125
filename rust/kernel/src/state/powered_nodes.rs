//! View of the machine restricted to powered-on nodes, for jobs that prefer those (S21).
use crate::cluster::{
    Availability, Machine, NodeOrder, Ranked, Request, next_place_of_both, previous_place_of_both,
};

use super::SleepState;

/// Availability on powered-on nodes. A range of sleeping nodes is skipped in O(log n); in load order, nodes are skipped
/// one by one.
pub struct PoweredNodes<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Power states of the nodes.
    pub sleep: &'a SleepState,
}

impl Availability for PoweredNodes<'_> {
    fn nodes(&self) -> u32 {
        self.machine.nodes()
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        if self.sleep.is_on(node) { self.machine.slots(node, request) } else { 0 }
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        self.machine.free_on(node, resource)
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        let mut from = self.sleep.next_on(from)?;
        loop {
            let node = self.machine.next_with_slots(from, request)?;
            if self.sleep.is_on(node) {
                return Some(node);
            }
            from = self.sleep.next_on(node)?;
        }
    }

    fn next_place(&self, order: &NodeOrder, from: u32, request: &Request) -> Option<u32> {
        next_place_of_both((self, self.machine), order, from, request)
    }

    fn previous_place(&self, order: &NodeOrder, until: u32, request: &Request) -> Option<u32> {
        previous_place_of_both((self, self.machine), order, until, request)
    }

    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        let mut visit_powered = |node| !self.sleep.is_on(node) || visit(node);
        self.machine.visit_by_load(request, order, &mut visit_powered);
    }
}
