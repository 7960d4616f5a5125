//! The profile over one time span, for allocators.
use std::cell::Cell;

use crate::cluster::availability::Availability;
use crate::cluster::ranking::{Ranked, Ranking};
use crate::cluster::request::Request;

use super::Profile;
use super::steps::Steps;

/// The minima of every node's free amounts over a time span, for one request.
pub(super) struct Window<'a> {
    profile: &'a Profile,
    nodes: &'a [Steps],
    from: f64,
    until: f64,
    /// The slots of the last examined node: allocators query each node twice.
    latest: Cell<(u32, u32)>,
}

impl<'a> Window<'a> {
    pub(super) fn new(profile: &'a Profile, nodes: &'a [Steps], from: f64, until: f64) -> Self {
        Self { profile, nodes, from, until, latest: Cell::new((u32::MAX, 0)) }
    }

    /// The steps of a node in the window, at least one: free amounts, and minus the number of jobs.
    #[inline]
    fn steps(&self, node: u32) -> impl Iterator<Item = &'a [i64]> {
        let (from, until) = (self.from, self.until);
        let steps = &self.nodes[node as usize];
        let first = steps.find(from);
        let values = steps.values[first * steps.width..].chunks_exact(steps.width);
        let begun = steps.times[first..].iter().take_while(move |&&begin| begin <= from || begin < until);
        begun.zip(values).map(|(_, values)| values)
    }

    fn count_slots(&self, node: u32, request: &Request) -> u32 {
        if !self.profile.node_sets.contains(request.nodes, node) {
            return 0;
        }
        let mut slots = u32::MAX;
        for values in self.steps(node) {
            // The slots of the minima equal the minimum of the slots.
            slots = slots.min(slots_of_step(request, values));
            if slots == 0 {
                break;
            }
        }
        slots
    }

    /// The slots of a node, and the end of the last step that admits no more than these.
    pub(super) fn scarcest(&self, node: u32, request: &Request) -> (u32, f64) {
        let times = &self.nodes[node as usize].times;
        let first = self.nodes[node as usize].find(self.from);
        let (mut least, mut until) = (u32::MAX, f64::INFINITY);
        for (step, values) in self.steps(node).enumerate() {
            let slots = slots_of_step(request, values);
            if slots <= least {
                least = slots;
                until = times.get(first + step + 1).copied().unwrap_or(f64::INFINITY);
            }
        }
        (least, until)
    }

    /// The capacity of a node, and its least free amounts.
    fn minima(&self, node: u32) -> (&'a [i64], Vec<i64>) {
        let resources = self.profile.resources;
        let capacity = &self.profile.capacity[node as usize * resources..][..resources];
        let mut minima = capacity.to_vec();
        for values in self.steps(node) {
            for (least, value) in minima.iter_mut().zip(values) {
                *least = (*least).min(*value).max(0);
            }
        }
        (capacity, minima)
    }

    fn load(&self, node: u32, by: Ranking) -> f64 {
        let (capacity, minima) = self.minima(node);
        by.of(capacity, &minima)
    }
}

/// The number of tasks that a node admits in one step.
pub(super) fn slots_of_step(request: &Request, values: &[i64]) -> u32 {
    let (jobs, free) = (values[values.len() - 1], &values[..values.len() - 1]);
    request.slots(free, jobs == 0)
}

/// Visits nodes in order of load, then index, until `visit` returns false.
pub(super) fn visit_sorted_by_load(
    loads: impl Iterator<Item = (f64, u32)>,
    busiest_first: bool,
    visit: &mut dyn FnMut(u32) -> bool,
) {
    let sign = if busiest_first { -1.0 } else { 1.0 };
    let mut nodes: Vec<(f64, u32)> = loads.map(|(load, node)| (sign * load, node)).collect();
    nodes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (_, node) in nodes {
        if !visit(node) {
            return;
        }
    }
}

impl Availability for Window<'_> {
    fn nodes(&self) -> u32 {
        self.profile.node_count
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        let (known, slots) = self.latest.get();
        if known == node {
            return slots;
        }
        let slots = self.count_slots(node, request);
        self.latest.set((node, slots));
        slots
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        self.minima(node).1[resource]
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        self.profile.node_sets.nodes_from(request.nodes, from).find(|&node| self.slots(node, request) > 0)
    }

    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        let nodes = self.profile.node_sets.nodes_from(request.nodes, 0);
        let feasible = nodes.filter(|&node| self.slots(node, request) > 0);
        visit_sorted_by_load(
            feasible.map(|node| (self.load(node, order.by), node)),
            order.busiest_first,
            visit,
        );
    }

    fn free(&self) -> Option<Vec<i64>> {
        Some((0..self.nodes()).flat_map(|node| self.minima(node).1).collect())
    }
}
