//! Availability: the queries that allocators put to the nodes, now or at a planned time, always within the node set of
//! the request.
use std::fmt;
use std::ops::Range;

use crate::index::CountedBits;

use super::calendar::JobCalendar;
use super::node_order::NodeOrder;
use super::node_set::NodeSet;
use super::placement::NodeTasks;
use super::ranking::Ranked;
use super::request::Request;

/// Free amounts of each node: those of now, or the minima over a planned time.
pub trait Availability {
    /// Number of nodes.
    fn nodes(&self) -> u32;

    /// Number of tasks of the request that the node admits; 0 if the node is not in the request's set.
    fn slots(&self, node: u32, request: &Request) -> u32;

    /// Returns the first node at or after `from` with slots for the request.
    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32>;

    /// Visits the nodes of a range with slots by index, each with its number of slots, until `visit` returns false.
    fn visit_slots(&self, nodes: Range<u32>, request: &Request, visit: &mut impl FnMut(u32, u32) -> bool)
    where
        Self: Sized,
    {
        visit_slots_by_index(self, nodes, request, visit);
    }

    /// Visits the nodes with slots in order of load, then index, until `visit` returns false.
    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool);

    /// Returns the first place at or after `from` in an order whose node has slots for the request. O(n) without an
    /// index.
    fn next_place(&self, order: &NodeOrder, from: u32, request: &Request) -> Option<u32> {
        (from..order.end()).find(|&place| has_slots(self, order, place, request))
    }

    /// Returns the last place before `until` in an order whose node has slots for the request. O(n) without an index.
    fn previous_place(&self, order: &NodeOrder, until: u32, request: &Request) -> Option<u32> {
        (0..until).rev().find(|&place| has_slots(self, order, place, request))
    }

    /// The places of the nodes with slots for the request, if they are counted and all have the same number of slots;
    /// otherwise None.
    fn whole_places(&self, _: &Request) -> Option<&CountedBits> {
        None
    }

    /// The free amount of a resource on the node.
    fn free_on(&self, node: u32, resource: usize) -> i64;

    /// The free amounts of each node, node-major; None if they are the free amounts of the machine now. O(n).
    fn free(&self) -> Option<Vec<i64>> {
        None
    }

    /// Returns whether the slots of all nodes add up to at least `tasks`.
    fn holds(&self, request: &Request, tasks: u32) -> bool {
        holds_by_index(self, request, tasks)
    }
}

/// Returns whether the slots of all nodes add up to at least `tasks`; visits the nodes by index.
pub fn holds_by_index(room: &(impl Availability + ?Sized), request: &Request, tasks: u32) -> bool {
    let mut found = 0_u32;
    let mut from = 0;
    while let Some(node) = room.next_with_slots(from, request) {
        found = found.saturating_add(room.slots(node, request));
        if found >= tasks {
            return true;
        }
        from = node + 1;
    }
    false
}

/// Visits the nodes of a range with slots; searches for them one after the other.
pub fn visit_slots_by_index(
    room: &impl Availability,
    nodes: Range<u32>,
    request: &Request,
    visit: &mut impl FnMut(u32, u32) -> bool,
) {
    let mut from = nodes.start;
    while let Some(node) = room.next_with_slots(from, request)
        && node < nodes.end
        && visit(node, room.slots(node, request))
    {
        from = node + 1;
    }
}

fn has_slots(room: &(impl Availability + ?Sized), order: &NodeOrder, place: u32, request: &Request) -> bool {
    order.node_at(place).is_some_and(|node| room.slots(node, request) > 0)
}

/// Returns the next place of `inner` that also has slots in `room`, another view of the same nodes.
pub fn next_place_of_both(
    (room, inner): (&impl Availability, &impl Availability),
    order: &NodeOrder,
    from: u32,
    request: &Request,
) -> Option<u32> {
    let mut from = from;
    loop {
        let place = inner.next_place(order, from, request)?;
        if has_slots(room, order, place, request) {
            return Some(place);
        }
        from = place + 1;
    }
}

/// Returns the previous place of `inner` that also has slots in `room`, another view of the same nodes.
pub fn previous_place_of_both(
    (room, inner): (&impl Availability, &impl Availability),
    order: &NodeOrder,
    until: u32,
    request: &Request,
) -> Option<u32> {
    let mut until = until;
    loop {
        let place = inner.previous_place(order, until, request)?;
        if has_slots(room, order, place, request) {
            return Some(place);
        }
        until = place;
    }
}

/// The capacity of nodes without jobs.
pub trait EmptyNodes: fmt::Debug {
    /// The most tasks of a request that one node of its set admits. O(1) if all nodes are equal, otherwise O(nodes of
    /// the set).
    fn most_on_one(&self, request: &Request) -> u32;
}

/// A job as allocators and plans see it.
#[derive(Clone, Copy, Debug)]
pub struct PlacementRequest<'a> {
    /// The slot of the job.
    pub job: u32,
    /// The request of each task.
    pub request: &'a Request,
    /// Number of tasks.
    pub tasks: u32,
    /// The job's row in the workload, for rules that draw a random number for each job.
    pub row: u64,
    /// The time for which the nodes are needed, seconds.
    pub duration: f64,
    /// The requested time of the user, seconds.
    pub requested_time: f64,
    /// The reservations of the machine as the job sees them; None if the machine has none.
    pub calendar: Option<JobCalendar<'a>>,
    /// Nodes that are closed to the job in this pass; None if none of its nodes is closed.
    pub closed: Option<&'a NodeSet>,
    /// The order of the nodes, if the allocator uses one.
    pub order: Option<&'a NodeOrder>,
    /// The capacity of nodes without jobs.
    pub empty: &'a dyn EmptyNodes,
    /// The messages between the ranks of the job, if they are known.
    pub messages: Option<&'a dyn HopBytes>,
}

impl PlacementRequest<'_> {
    /// The amount of a resource that the job needs at least.
    #[must_use]
    pub fn need(&self, resource: usize) -> i64 {
        self.request.need(resource, self.tasks)
    }
}

/// The messages between the ranks of a job.
pub trait HopBytes: fmt::Debug {
    /// The sum of hops × bytes of all messages with the ranks on these nodes. The result may be any number >= `most` if
    /// the sum is not below `most`. None if no message is sent.
    fn hop_bytes(&self, placement: &[NodeTasks], hops: &dyn Fn(u32, u32) -> u32, most: f64) -> Option<f64>;
}

/// An allocator outside the kernel must answer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered;

/// Chooses the nodes of a job.
pub trait Place {
    /// Writes the nodes of the job's tasks to `placement`; returns whether the job fits.
    fn place(
        &mut self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered>;
}
