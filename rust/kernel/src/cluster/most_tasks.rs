//! Number of tasks of a request that the machine holds without jobs.
use super::availability::{Availability, EmptyNodes};
use super::empty_machine::EmptyMachine;
use super::machine::Machine;
use super::node_set::NodeSet;
use super::request::Request;

impl EmptyNodes for Machine {
    fn most_on_one(&self, request: &Request) -> u32 {
        let empty = EmptyMachine(self);
        let nodes = self.node_sets().nodes_from(request.nodes, 0);
        let asked = if self.has_equal_nodes() { 1 } else { usize::MAX };
        nodes.take(asked).map(|node| empty.slots(node, request)).max().unwrap_or(0)
    }
}

impl Machine {
    /// Number of tasks of a request that the empty machine holds, on nodes of its set. O(nodes of the set).
    #[must_use]
    pub fn most_tasks(&self, request: &Request) -> u64 {
        let empty = EmptyMachine(self);
        let nodes = self.node_sets().nodes_from(request.nodes, 0);
        nodes.map(|node| u64::from(empty.slots(node, request))).sum()
    }

    /// Number of tasks of a request that the available capacity holds without jobs, on nodes that are not closed.
    /// O(nodes).
    #[must_use]
    pub fn most_tasks_offered(&self, request: &Request, closed: &NodeSet) -> u64 {
        let offered = self.available();
        let slots = |node: u32| {
            let free = &offered[node as usize * self.resources()..][..self.resources()];
            let is_open = !self.is_drained(node) && !closed.contains(node);
            if is_open { u64::from(request.slots(free, true)) } else { 0 }
        };
        self.node_sets().nodes_from(request.nodes, 0).map(slots).sum()
    }

    /// Upper bound of the tasks of a request by the total capacity of the nodes of its set, ignoring how it is spread.
    /// O(nodes of the set).
    #[must_use]
    pub fn most_tasks_in_total(&self, request: &Request) -> u64 {
        let asked = request.amounts.iter().enumerate().filter(|(_, amount)| **amount > 0);
        let most = asked.map(|(resource, &amount)| {
            let nodes = self.node_sets().nodes_from(request.nodes, 0);
            let total: i64 = nodes.map(|node| self.capacity_of(node)[resource]).sum();
            total.max(0) as u64 / amount as u64
        });
        most.min().unwrap_or(u64::MAX)
    }
}
