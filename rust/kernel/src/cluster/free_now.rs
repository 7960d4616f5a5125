//! Availability now, from the indices of the machine.
use std::ops::Range;

use crate::index::{CountedBits, SegmentTree};

use super::availability::{Availability, holds_by_index, visit_slots_by_index};
use super::machine::Machine;
use super::node_order::NodeOrder;
use super::node_set::NodeSetId;
use super::ranking::Ranked;
use super::request::Request;

/// Visits the entries in [from, until) that admit a task, by index, until `visit` returns false.
#[inline]
fn visit_admitting(
    tree: &SegmentTree,
    range: Range<usize>,
    request: &Request,
    visit: impl FnMut(usize, &[i64]) -> bool,
) {
    match *request.amounts {
        // One resource is the most common machine.
        [amount] => {
            let idle = i64::from(request.exclusive);
            let admits = |values: &[i64]| matches!(*values, [free, state] if free >= amount && state >= idle);
            tree.visit(range.start, range.end, admits, visit);
        }
        _ => tree.visit(range.start, range.end, |values| request.admits(values), visit),
    }
}

/// Returns the first entry in [from, until) that admits a task.
fn next_admitting(tree: &SegmentTree, range: Range<usize>, request: &Request) -> Option<usize> {
    let mut found = None;
    visit_admitting(tree, range, request, |entry, _| {
        found = Some(entry);
        false
    });
    found
}

impl Availability for Machine {
    fn nodes(&self) -> u32 {
        self.node_count()
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        if self.is_drained(node) || !self.node_sets().contains(request.nodes, node) {
            return 0;
        }
        request.slots(self.free_of(node), self.jobs_on(node) == 0)
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        self.free_of(node)[resource]
    }

    /// O(n) if the machine keeps an order of its nodes.
    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        let next = |range: Range<u32>| {
            let (from, until) = (range.start as usize, range.end as usize);
            if self.by_order.is_some() {
                return range.into_iter().find(|&node| request.admits(self.values(node)));
            }
            next_admitting(&self.by_index, from..until, request).map(|node| node as u32)
        };
        if request.nodes == NodeSetId::ALL {
            return next(from..self.nodes());
        }
        self.node_sets().ranges_from(request.nodes, from).find_map(next)
    }

    fn visit_slots(&self, nodes: Range<u32>, request: &Request, visit: &mut impl FnMut(u32, u32) -> bool) {
        if self.by_order.is_some() || request.nodes != NodeSetId::ALL {
            return visit_slots_by_index(self, nodes, request, visit);
        }
        let range = nodes.start as usize..nodes.end as usize;
        visit_admitting(&self.by_index, range, request, |node, values| {
            // The search does not find drained nodes.
            let [free @ .., idle] = values else { return false };
            visit(node as u32, request.slots(free, *idle > 0))
        });
    }

    fn holds(&self, request: &Request, tasks: u32) -> bool {
        let Some(order) = self.order() else { return holds_by_index(self, request, tasks) };
        let (mut found, mut from) = (0_u32, 0);
        while let Some(place) = self.next_place(order, from, request) {
            found = found.saturating_add(order.node_at(place).map_or(0, |node| self.slots(node, request)));
            if found >= tasks {
                return true;
            }
            from = place + 1;
        }
        false
    }

    fn next_place(&self, order: &NodeOrder, from: u32, request: &Request) -> Option<u32> {
        let tree = self.by_order.as_ref()?.tree(request.nodes, &self.by_index);
        next_admitting(tree, from as usize..order.end() as usize, request).map(|at| at as u32)
    }

    fn whole_places(&self, request: &Request) -> Option<&CountedBits> {
        self.by_order.as_ref()?.whole_places(request)
    }

    fn previous_place(&self, _: &NodeOrder, until: u32, request: &Request) -> Option<u32> {
        let tree = self.by_order.as_ref()?.tree(request.nodes, &self.by_index);
        tree.previous(until as usize, |values| request.admits(values)).map(|at| at as u32)
    }

    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        if let Some(index) = &self.by_load {
            index.visit(self.node_sets(), request, order.busiest_first, visit);
        }
    }
}
