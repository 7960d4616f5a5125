//! Minima of rows over a time, for searches and allocators.
use crate::cluster::availability::{Availability, PlacementRequest};
use crate::cluster::node_set::NodeSetId;
use crate::cluster::placement::NodeTasks;
use crate::cluster::ranking::{Ranked, Ranking};
use crate::cluster::request::Request;

use super::rows::{LANES, MOST_AMOUNT, Rows};
use super::window::visit_sorted_by_load;
use super::{OverTime, Profile};

/// Number of values that can be added without overflow: each vector of them adds one amount to each lane.
const BLOCK: usize = LANES * (i16::MAX as usize / MOST_AMOUNT as usize);

/// The minima of some planes over a time that grows row by row.
#[derive(Clone)]
pub(super) struct Minima<'a> {
    profile: &'a Profile,
    rows: &'a Rows,
    /// The planes of the requested resources.
    planes: Vec<usize>,
    values: Vec<i16>,
    /// True if the slots of a node are its free amount in the only plane.
    is_count: bool,
}

impl<'a> Minima<'a> {
    /// Creates minima over an empty time, of the planes that matter to a request.
    pub(super) fn of_asked(profile: &'a Profile, rows: &'a Rows, request: &Request) -> Self {
        let resources = profile.resources;
        // A node is idle only if no resource is held.
        let matters = |plane: &usize| request.exclusive || *plane < resources && request.amounts[*plane] > 0;
        let planes: Vec<usize> = (0..rows.planes()).filter(matters).collect();
        let values = vec![i16::MAX; planes.len() * rows.stride()];
        let is_count = request.nodes == NodeSetId::ALL
            && request.tasks_per_node == 0
            && matches!(planes[..], [plane] if plane < resources && request.amounts[plane] == 1);
        Self { profile, rows, planes, values, is_count }
    }

    /// Creates minima over an empty time, of all planes.
    fn of_all(profile: &'a Profile, rows: &'a Rows) -> Self {
        let planes: Vec<usize> = (0..rows.planes()).collect();
        let values = vec![i16::MAX; planes.len() * rows.stride()];
        Self { profile, rows, planes, values, is_count: false }
    }

    /// The minima over [from, until), for allocators.
    pub(super) fn over(profile: &'a Profile, rows: &'a Rows, from: f64, until: f64) -> Self {
        let mut minima = Self::of_all(profile, rows);
        for step in profile.steps_within(from, until) {
            minima.lower(step);
        }
        minima
    }

    /// The free amounts at an instant, for the allocation of a request.
    pub(super) fn at(profile: &'a Profile, rows: &'a Rows, request: &Request, instant: f64) -> Self {
        let asked = Self::of_asked(profile, rows, request);
        let mut minima = if asked.is_whole() { asked } else { Self::of_all(profile, rows) };
        minima.lower(profile.totals.find(instant));
        minima
    }

    /// Adds a step to the time.
    #[inline]
    fn lower(&mut self, step: usize) {
        let stride = self.rows.stride();
        for (values, &plane) in self.values.chunks_exact_mut(stride).zip(&self.planes) {
            for (least, &value) in values.iter_mut().zip(self.rows.plane(step, plane)) {
                *least = (*least).min(value);
            }
        }
    }

    /// Returns whether the slots of all nodes of the request's set add up to its tasks; reads the planes of the request
    /// only.
    fn suffices(&self, request: &Request, tasks: u32) -> bool {
        if self.planes.len() != 1 || request.exclusive || request.tasks_per_node != 0 {
            return self.suffices_by_slots(request, tasks);
        }
        // The requested amount may exceed the capacity of every node.
        let asked = i32::try_from(request.amounts[self.planes[0]]).unwrap_or(i32::MAX);
        let ranges = self.profile.node_sets.ranges_from(request.nodes, 0);
        let slots: i64 = ranges
            .map(|range| {
                let values = &self.values[range.start as usize..range.end as usize];
                let free = |&value: &i16| i32::from(value.max(0));
                i64::from(match asked {
                    1 => values.iter().map(free).sum::<i32>(),
                    _ => values.iter().map(|value| free(value) / asked).sum::<i32>(),
                })
            })
            .sum();
        slots >= i64::from(tasks)
    }

    fn suffices_by_slots(&self, request: &Request, tasks: u32) -> bool {
        let mut left = u64::from(tasks);
        for node in self.profile.node_sets.nodes_from(request.nodes, 0) {
            left = left.saturating_sub(u64::from(self.slots_here(node, request)));
            if left == 0 {
                return true;
            }
        }
        left == 0
    }

    /// The slots of a node, from the planes of the request.
    fn slots_here(&self, node: u32, request: &Request) -> u32 {
        let stride = self.rows.stride();
        let mut slots = if request.tasks_per_node == 0 { u32::MAX } else { request.tasks_per_node };
        for (values, &plane) in self.values.chunks_exact(stride).zip(&self.planes) {
            let free = i32::from(values[node as usize].max(0));
            match request.amounts.get(plane) {
                // A job holds part of the node.
                _ if request.exclusive && values[node as usize] < self.profile.offered_on(node, plane) => {
                    return 0;
                }
                None | Some(0) => {}
                Some(1) => slots = slots.min(free as u32),
                Some(&asked) => slots = slots.min((i64::from(free) / asked) as u32),
            }
        }
        slots
    }

    fn free_amounts(&self, node: u32) -> Vec<i64> {
        (0..self.profile.resources).map(|resource| self.free_on(node, resource)).collect()
    }

    fn load(&self, node: u32, by: Ranking) -> f64 {
        let resources = self.profile.resources;
        let capacity = &self.profile.capacity[node as usize * resources..][..resources];
        by.of(capacity, &self.free_amounts(node))
    }
}

/// Writes the minima of two rows to a third; returns the sum of the positive minima.
fn minima_and_sum(minima: &mut [i16], one: &[i16], other: &[i16]) -> i64 {
    let mut sum = 0;
    let blocks = minima.chunks_mut(BLOCK).zip(one.chunks(BLOCK).zip(other.chunks(BLOCK)));
    for (minima, (one, other)) in blocks {
        let mut sums = [0_i16; LANES];
        let vectors = one.as_chunks::<LANES>().0.iter().zip(other.as_chunks::<LANES>().0);
        for (minima, (one, other)) in minima.as_chunks_mut::<LANES>().0.iter_mut().zip(vectors) {
            for lane in 0..LANES {
                minima[lane] = one[lane].min(other[lane]);
                sums[lane] += minima[lane].max(0);
            }
        }
        sum += sums.into_iter().map(i64::from).sum::<i64>();
    }
    sum
}

impl OverTime for Minima<'_> {
    #[inline]
    fn take_in(&mut self, spare: &mut Self, step: usize, want: &PlacementRequest<'_>) -> bool {
        let suffices = if self.is_count {
            let row = self.rows.plane(step, self.planes[0]);
            minima_and_sum(&mut spare.values, &self.values, row) >= i64::from(want.tasks)
        } else {
            spare.values.copy_from_slice(&self.values);
            spare.lower(step);
            spare.suffices(want.request, want.tasks)
        };
        if suffices {
            std::mem::swap(&mut self.values, &mut spare.values);
        }
        suffices
    }

    fn clear(&mut self) {
        self.values.fill(i16::MAX);
    }

    fn is_whole(&self) -> bool {
        self.planes.iter().copied().take(self.profile.resources).eq(0..self.profile.resources)
    }

    fn lower_to(&mut self, other: &Self) {
        for (least, &value) in self.values.iter_mut().zip(&other.values) {
            *least = (*least).min(value);
        }
    }

    fn hold(&mut self, request: &Request, placement: &[NodeTasks]) {
        let (stride, profile) = (self.rows.stride(), self.profile);
        for &part in placement {
            for (values, &plane) in self.values.chunks_exact_mut(stride).zip(&self.planes) {
                // These minima are never released, so counting one job too many does no harm.
                let is_resource = plane < profile.resources;
                let amount = if is_resource { profile.amount_on(request, part, plane) } else { 1 };
                values[part.node as usize] -= amount as i16;
            }
        }
    }
}

impl Availability for Minima<'_> {
    fn nodes(&self) -> u32 {
        self.profile.node_count
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        if self.profile.node_sets.contains(request.nodes, node) { self.slots_here(node, request) } else { 0 }
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        let mut nodes = self.profile.node_sets.nodes_from(request.nodes, from);
        nodes.find(|&node| self.slots_here(node, request) > 0)
    }

    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        let nodes = self.profile.node_sets.nodes_from(request.nodes, 0);
        let feasible = nodes.filter(|&node| self.slots_here(node, request) > 0);
        visit_sorted_by_load(
            feasible.map(|node| (self.load(node, order.by), node)),
            order.busiest_first,
            visit,
        );
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        i64::from(self.values[resource * self.rows.stride() + node as usize].max(0))
    }

    fn holds(&self, request: &Request, tasks: u32) -> bool {
        self.suffices(request, tasks)
    }

    fn free(&self) -> Option<Vec<i64>> {
        Some((0..self.nodes()).flat_map(|node| self.free_amounts(node)).collect())
    }
}
