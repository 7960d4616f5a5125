//! Availability: the questions that allocators ask of the nodes, now or at a planned time, always within the node set of a
//! request.
use std::fmt;
use std::ops::Range;

use crate::index::CountedBits;

use super::calendar::JobCalendar;
use super::node_order::NodeOrder;
use super::node_set::NodeSet;
use super::placement::NodeTasks;
use super::ranking::Ranked;
use super::request::Request;

/// Free amounts, node by node: those of this moment, or the minima over a planned time.
pub trait Availability {
    /// Number of nodes.
    fn nodes(&self) -> u32;

    /// How many tasks of the request the node admits; none where it is not in the request's set.
    fn slots(&self, node: u32, request: &Request) -> u32;

    /// The first node at or after `from` with slots for the request.
    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32>;

    /// Visits the nodes of a range with slots, by index, each with its number of slots, until `visit` says false.
    fn visit_slots(&self, nodes: Range<u32>, request: &Request, visit: &mut impl FnMut(u32, u32) -> bool)
    where
        Self: Sized,
    {
        visit_slots_by_index(self, nodes, request, visit);
    }

    /// Visits the nodes with slots by how busy they are, then by index, until `visit` says false.
    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool);

    /// The first place at or after `from` in an order whose node has slots for the request. O(n) unless there is an index.
    fn next_place(&self, order: &NodeOrder, from: u32, request: &Request) -> Option<u32> {
        (from..order.end()).find(|&place| has_slots(self, order, place, request))
    }

    /// The last place before `until` in an order whose node has slots for the request. O(n) unless there is an index.
    fn previous_place(&self, order: &NodeOrder, until: u32, request: &Request) -> Option<u32> {
        (0..until).rev().find(|&place| has_slots(self, order, place, request))
    }

    /// The places of the nodes with slots for the request, each with as many, where they are counted; None: they are not,
    /// or not all alike.
    fn whole_places(&self, _: &Request) -> Option<&CountedBits> {
        None
    }

    /// How much of a resource is free on the node.
    fn free_on(&self, node: u32, resource: usize) -> i64;

    /// What is free on each node, node-major; None: what is free on the machine now. O(n).
    fn free(&self) -> Option<Vec<i64>> {
        None
    }

    /// Whether the slots of all nodes add up to `tasks`.
    fn holds(&self, request: &Request, tasks: u32) -> bool {
        holds_by_index(self, request, tasks)
    }
}

/// Whether the slots of all nodes add up to `tasks`, counted by index.
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

/// Visits the nodes of a range with slots, found one by one.
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

/// The next place of `inner` that has slots for another view of the same nodes as well.
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

/// The previous place likewise.
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

/// What nodes have when they are empty.
pub trait EmptyNodes: fmt::Debug {
    /// The most tasks of a request that one node of its set admits. O(1) where all nodes are alike, else O(nodes of the set).
    fn most_on_one(&self, request: &Request) -> u32;
}

/// A job as allocators and plans need to know it.
#[derive(Clone, Copy, Debug)]
pub struct PlacementRequest<'a> {
    /// The slot of the job.
    pub job: u32,
    /// What each task asks.
    pub request: &'a Request,
    /// How many tasks.
    pub tasks: u32,
    /// The job's row, for rules that draw by it.
    pub row: u64,
    /// For how long, seconds.
    pub duration: f64,
    /// What its user asks for, seconds.
    pub requested_time: f64,
    /// The reservations of the machine as the job sees them; None where there are none.
    pub calendar: Option<JobCalendar<'a>>,
    /// Nodes that others have closed to it for this pass; None where there are none of its own among them.
    pub closed: Option<&'a NodeSet>,
    /// The order of the nodes, where the allocator has one.
    pub order: Option<&'a NodeOrder>,
    /// What nodes have when they are empty.
    pub empty: &'a dyn EmptyNodes,
    /// What its ranks send to each other, where that is known.
    pub messages: Option<&'a dyn HopBytes>,
}

impl PlacementRequest<'_> {
    /// The amount of a resource that the job needs at least.
    #[must_use]
    pub fn need(&self, resource: usize) -> i64 {
        self.request.need(resource, self.tasks)
    }
}

/// What the ranks of a job send to each other.
pub trait HopBytes: fmt::Debug {
    /// The sum of hops × bytes of all messages with the ranks on these nodes, or any number that is not below `most` where it is
    /// not; None where nothing is sent.
    fn hop_bytes(&self, placement: &[NodeTasks], hops: &dyn Fn(u32, u32) -> u32, most: f64) -> Option<f64>;
}

/// An allocator outside the kernel has to be asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered;

/// Chooses the nodes of jobs.
pub trait Place {
    /// Puts into `placement` where the tasks of a job go; whether it fits.
    fn place(
        &mut self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered>;
}
