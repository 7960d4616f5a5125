//! Availability as seen by a job to which reservations close some nodes.
use super::availability::{
    Availability, Place, PlacementRequest, Unanswered, next_place_of_both, previous_place_of_both,
};
use super::node_order::NodeOrder;
use super::node_set::NodeSet;
use super::placement::NodeTasks;
use super::ranking::Ranked;
use super::request::Request;

/// Availability without the nodes that are closed to a job.
pub struct UnreservedNodes<'a, A> {
    room: &'a A,
    closed: &'a NodeSet,
}

impl<'a, A> UnreservedNodes<'a, A> {
    /// The availability without some nodes.
    #[must_use]
    pub fn new(room: &'a A, closed: &'a NodeSet) -> Self {
        Self { room, closed }
    }
}

impl<A: Availability> Availability for UnreservedNodes<'_, A> {
    fn nodes(&self) -> u32 {
        self.room.nodes()
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        if self.closed.contains(node) { 0 } else { self.room.slots(node, request) }
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        let mut from = from;
        loop {
            let node = self.room.next_with_slots(from, request)?;
            match self.closed.end_of_range(node) {
                None => return Some(node),
                Some(end) => from = end,
            }
        }
    }

    fn next_place(&self, order: &NodeOrder, from: u32, request: &Request) -> Option<u32> {
        next_place_of_both((self, self.room), order, from, request)
    }

    fn previous_place(&self, order: &NodeOrder, until: u32, request: &Request) -> Option<u32> {
        previous_place_of_both((self, self.room), order, until, request)
    }

    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        self.room.visit_by_load(request, order, &mut |node| self.closed.contains(node) || visit(node));
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        self.room.free_on(node, resource)
    }

    fn free(&self) -> Option<Vec<i64>> {
        self.room.free()
    }
}

/// Places a job that would start at `start`, on nodes that are neither reserved for others until its time limit nor
/// closed to it.
pub fn place_at(
    place: &mut impl Place,
    room: &impl Availability,
    want: &PlacementRequest<'_>,
    start: f64,
    placement: &mut Vec<NodeTasks>,
) -> Result<bool, Unanswered> {
    let Some(calendar) = want.calendar else {
        return match want.closed {
            None => place.place(room, want, placement),
            closed => place_beside(place, room, want, closed, placement),
        };
    };
    if !calendar.is_in_time(start) {
        placement.clear();
        return Ok(false);
    }
    let reserved = calendar.closed_from(start);
    match want.closed {
        Some(closed) if !reserved.is_empty() => {
            let both = NodeSet::new(reserved.ranges_from(0).chain(closed.ranges_from(0)));
            place_beside(place, room, want, Some(&both), placement)
        }
        Some(closed) => place_beside(place, room, want, Some(closed), placement),
        None => place_beside(place, room, want, Some(&reserved), placement),
    }
}

/// Places a job on nodes that are not closed.
fn place_beside(
    place: &mut impl Place,
    room: &impl Availability,
    want: &PlacementRequest<'_>,
    closed: Option<&NodeSet>,
    placement: &mut Vec<NodeTasks>,
) -> Result<bool, Unanswered> {
    match closed.filter(|closed| !closed.is_empty()) {
        None => place.place(room, want, placement),
        Some(closed) => place.place(&UnreservedNodes { room, closed }, want, placement),
    }
}
