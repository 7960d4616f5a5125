//! The request of one task, interned: the jobs of a log share a handful of requests.
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::node_set::NodeSetId;

/// The resources that one task requests on one node, how the job's tasks may share a node, and which nodes may be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// Amount of each resource, in the system's order.
    pub amounts: Vec<i64>,
    /// Maximum number of tasks on one node; 0 for no limit.
    pub tasks_per_node: u32,
    /// True if the job occupies whole idle nodes.
    pub exclusive: bool,
    /// The nodes that the job may use.
    pub nodes: NodeSetId,
    /// The set before it was restricted to the requested features; equal to `nodes` if none is requested.
    pub partition: NodeSetId,
    /// The partition through which the job uses the nodes; 0 on a machine without partitions.
    pub in_partition: u32,
}

impl Request {
    /// The empty request.
    pub const NOTHING: Self = Self {
        amounts: Vec::new(),
        tasks_per_node: 0,
        exclusive: false,
        nodes: NodeSetId::ALL,
        partition: NodeSetId::ALL,
        in_partition: 0,
    };

    /// The least amount of a resource that a number of tasks needs.
    #[must_use]
    pub fn need(&self, resource: usize, tasks: u32) -> i64 {
        self.amounts[resource].saturating_mul(i64::from(tasks))
    }

    /// Returns whether indexed values (free amounts; 1 for an idle node, −1 for a drained one) admit a task. The
    /// condition is necessary for a range of nodes, and exact for a single node.
    #[inline]
    pub(super) fn admits(&self, values: &[i64]) -> bool {
        let (idle, free) = (values[values.len() - 1], &values[..values.len() - 1]);
        idle >= i64::from(self.exclusive) && self.amounts.iter().zip(free).all(|(asked, free)| free >= asked)
    }

    /// Number of tasks that `free` amounts admit, on a node of the request's set that is `idle` or not.
    #[must_use]
    pub fn slots(&self, free: &[i64], idle: bool) -> u32 {
        self.slots_of(free.iter().copied(), idle)
    }

    /// Like `slots`, for an iterator of amounts.
    pub fn slots_of(&self, free: impl Iterator<Item = i64>, idle: bool) -> u32 {
        if self.exclusive && !idle {
            return 0;
        }
        let mut slots = if self.tasks_per_node == 0 { u32::MAX } else { self.tasks_per_node };
        for (&asked, free) in self.amounts.iter().zip(free) {
            // Most requests ask for one unit: avoid the division.
            let admitted = match asked {
                0 => continue,
                1 => free,
                _ => free / asked,
            };
            slots = slots.min(admitted.clamp(0, i64::from(u32::MAX)) as u32);
        }
        slots
    }
}

/// All distinct requests, and the granularity of each resource: the greatest common divisor of all capacities and all
/// requested amounts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Requests {
    all: Vec<Request>,
    /// Derived from `all`.
    #[serde(skip)]
    known: HashMap<Request, u32>,
    /// The index of the last interned request: many jobs have the same request as the job before.
    #[serde(skip)]
    latest: u32,
    granularity: Vec<i64>,
    has_exclusive: bool,
}

impl Requests {
    /// Creates an empty list, for nodes of these capacities (node-major).
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64]) -> Self {
        let mut granularity = vec![0; resources];
        for node in capacity.chunks_exact(resources.max(1)) {
            for (g, &amount) in granularity.iter_mut().zip(node) {
                *g = greatest_common_divisor(*g, amount);
            }
        }
        Self { all: Vec::new(), known: HashMap::new(), latest: 0, granularity, has_exclusive: false }
    }

    /// Number of resources.
    #[must_use]
    pub fn resources(&self) -> usize {
        self.granularity.len()
    }

    /// Returns the index of a request; adds it if it is new.
    pub fn intern(&mut self, request: Request) -> u32 {
        if self.all.get(self.latest as usize) == Some(&request) {
            return self.latest;
        }
        if let Some(&index) = self.known.get(&request) {
            self.latest = index;
            return index;
        }
        for (g, &amount) in self.granularity.iter_mut().zip(&request.amounts) {
            *g = greatest_common_divisor(*g, amount);
        }
        self.has_exclusive |= request.exclusive;
        let index = self.all.len() as u32;
        self.all.push(request.clone());
        self.known.insert(request, index);
        self.latest = index;
        index
    }

    /// The request at an index.
    #[must_use]
    pub fn get(&self, index: u32) -> &Request {
        &self.all[index as usize]
    }

    /// Number of distinct requests.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns whether any of the requests is exclusive.
    #[must_use]
    pub fn has_exclusive(&self) -> bool {
        self.has_exclusive
    }

    /// The resource whose free total in the request's node set alone decides whether the request fits, if there is one.
    ///
    /// Free amounts are multiples of the granularity. If a task requests exactly the granularity of one resource and
    /// nothing else, the slots of the set's nodes add up to its free total divided by the granularity, on whichever
    /// nodes it is free.
    #[must_use]
    pub fn limiting_resource(&self, index: u32) -> Option<usize> {
        let request = self.get(index);
        if request.exclusive || request.tasks_per_node != 0 {
            return None;
        }
        let mut asked = (0..request.amounts.len()).filter(|&resource| request.amounts[resource] > 0);
        let resource = asked.next()?;
        (asked.next().is_none() && request.amounts[resource] == self.granularity[resource])
            .then_some(resource)
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(amounts: &[i64]) -> Request {
        Request { amounts: amounts.to_vec(), ..Request::NOTHING }
    }

    #[test]
    fn slots_are_the_scarcest_resource() {
        let request = plain(&[2, 100]);
        assert_eq!(request.slots(&[4, 1000], true), 2);
        assert_eq!(request.slots(&[4, 150], false), 1);
        assert_eq!(Request { tasks_per_node: 1, ..request.clone() }.slots(&[4, 1000], true), 1);
        assert_eq!(Request { exclusive: true, ..request }.slots(&[4, 1000], false), 0);
    }

    #[test]
    fn a_request_is_counted_only_at_the_granularity() {
        let mut requests = Requests::new(2, &[4, 6, 8, 6]);
        let pair = requests.intern(plain(&[4, 0]));
        assert_eq!(requests.limiting_resource(pair), Some(0));
        let both = requests.intern(plain(&[4, 1]));
        assert_eq!(requests.limiting_resource(both), None);
        let single = requests.intern(plain(&[1, 0]));
        assert_eq!((requests.limiting_resource(pair), requests.limiting_resource(single)), (None, Some(0)));
        assert_eq!(requests.intern(plain(&[4, 0])), pair);
    }
}
