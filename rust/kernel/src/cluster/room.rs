//! Room: the one question that allocators ask of a machine, now or planned, always within the node set of a request.
use super::request::Request;

/// Free amounts, node by node: those of this moment, or the minima over a planned time.
pub trait Room {
    /// Number of nodes.
    fn nodes(&self) -> u32;

    /// How many tasks of the request the node admits; none where it is not in the request's set.
    fn slots(&self, node: u32, request: &Request) -> u32;

    /// The first node at or after `from` with slots for the request.
    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32>;

    /// Visits the nodes with slots by load, busiest or least busy first, then by index, until `visit` says false.
    fn visit_by_load(&self, request: &Request, busiest_first: bool, visit: &mut dyn FnMut(u32) -> bool);

    /// Whether the slots of all nodes add up to `tasks`.
    fn holds(&self, request: &Request, tasks: u32) -> bool {
        let mut found = 0_u32;
        let mut from = 0;
        while let Some(node) = self.next_with_slots(from, request) {
            found = found.saturating_add(self.slots(node, request));
            if found >= tasks {
                return true;
            }
            from = node + 1;
        }
        false
    }
}

/// The load of a node: the sum over its resources of the share in use, in the system's order.
#[must_use]
pub fn load(capacity: &[i64], free: &[i64]) -> f64 {
    let mut load = 0.0;
    for (&capacity, &free) in capacity.iter().zip(free) {
        if capacity > 0 {
            load += (capacity - free) as f64 / capacity as f64;
        }
    }
    load
}
