//! The machine without jobs.
use super::availability::Availability;
use super::machine::Machine;
use super::ranking::Ranked;
use super::request::Request;

/// The machine without jobs.
pub struct EmptyMachine<'a>(pub &'a Machine);

impl Availability for EmptyMachine<'_> {
    fn nodes(&self) -> u32 {
        self.0.nodes()
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        if self.0.node_sets().contains(request.nodes, node) {
            request.slots(self.0.capacity_of(node), true)
        } else {
            0
        }
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        self.0.capacity_of(node)[resource]
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        let slots = |node| request.slots(self.0.capacity_of(node), true);
        self.0.node_sets().nodes_from(request.nodes, from).find(|&node| slots(node) > 0)
    }

    fn visit_by_load(&self, request: &Request, _: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        // All nodes of an empty machine have the same load.
        let mut from = 0;
        while let Some(node) = self.next_with_slots(from, request) {
            if !visit(node) {
                return;
            }
            from = node + 1;
        }
    }
}
