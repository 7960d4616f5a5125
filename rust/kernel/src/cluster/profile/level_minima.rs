//! Conjunctions of rows of levels over a time, for searches and allocators.
use std::ops::Range;

use crate::cluster::availability::{Availability, PlacementRequest, holds_by_index};
use crate::cluster::node_set::NodeSetId;
use crate::cluster::placement::NodeTasks;
use crate::cluster::ranking::{Ranked, Ranking};
use crate::cluster::request::Request;
use crate::index::WORD;

use super::levels::Levels;
use super::window::visit_sorted_by_load;
use super::{OverTime, Profile};

/// The planes that are computed.
#[derive(Clone, Copy)]
enum Kept<'a> {
    /// All planes of the levels.
    All,
    /// For each number of tasks, the nodes with at least this number of slots.
    Slots(&'a Request),
}

/// The free amounts of the nodes over a time that grows row by row.
#[derive(Clone)]
pub(super) struct LevelMinima<'a> {
    profile: &'a Profile,
    levels: &'a Levels,
    kept: Kept<'a>,
    planes: Vec<u64>,
    /// Number of tasks that each plane counts on a node.
    weight: u64,
    /// True if the slots are known to suffice; false before the first step.
    is_counted: bool,
    /// If the request has one resource only: the first word of its planes in a row, and the amount per task.
    only: Option<(usize, usize)>,
}

/// Writes the conjunction of two planes to a third; returns whether it differs from the first.
#[inline]
fn conjunction(plane: &mut [u64], one: &[u64], other: &[u64]) -> bool {
    let mut lost = 0;
    for (word, (one, other)) in plane.iter_mut().zip(one.iter().zip(other)) {
        *word = one & other;
        lost |= one & !other;
    }
    lost != 0
}

impl<'a> LevelMinima<'a> {
    /// Creates minima over an empty time, with the slots for a request.
    pub(super) fn of_asked(profile: &'a Profile, levels: &'a Levels, request: &'a Request) -> Self {
        let asked = || request.amounts.iter().enumerate().filter(|&(_, &amount)| amount > 0);
        let most = asked().map(|(resource, &amount)| levels.planes(resource).len() as i64 / amount).min();
        let limit = if request.tasks_per_node == 0 { u32::MAX } else { request.tasks_per_node };
        // A request without resources has as many slots on each node as its limit of tasks per node.
        let (count, weight) = most.map_or((1, limit), |most| ((most as u32).min(limit), 1));
        let mut asked = asked();
        let only = match (asked.next(), asked.next()) {
            (Some((resource, &amount)), None) if !request.exclusive => {
                Some((levels.planes(resource).start * levels.words(), amount as usize))
            }
            _ => None,
        };
        let planes = vec![0; count as usize * levels.words()];
        let weight = u64::from(weight);
        let mut minima =
            Self { profile, levels, kept: Kept::Slots(request), planes, weight, is_counted: false, only };
        minima.clear();
        minima
    }

    /// Creates minima over an empty time, with all planes.
    fn of_all(profile: &'a Profile, levels: &'a Levels) -> Self {
        let planes = vec![u64::MAX; levels.count() * levels.words()];
        Self { profile, levels, kept: Kept::All, planes, weight: 1, is_counted: false, only: None }
    }

    /// The minima over [from, until), for allocators.
    pub(super) fn over(profile: &'a Profile, levels: &'a Levels, from: f64, until: f64) -> Self {
        let mut minima = Self::of_all(profile, levels);
        for step in profile.steps_within(from, until) {
            minima.lower(step);
        }
        minima
    }

    /// The free amounts at an instant, for the allocation of a request.
    pub(super) fn at(profile: &'a Profile, levels: &'a Levels, request: &'a Request, instant: f64) -> Self {
        let asked = Self::of_asked(profile, levels, request);
        let mut minima = if asked.is_whole() { asked } else { Self::of_all(profile, levels) };
        minima.lower(profile.totals.find(instant));
        minima
    }

    /// Adds a step to the time.
    fn lower(&mut self, step: usize) {
        for (plane, &of_step) in self.planes.iter_mut().zip(self.levels.row(step)) {
            *plane &= of_step;
        }
    }

    /// Intersects the slots with the slots of a row into `planes`; returns whether they become fewer.
    fn conjunction_of_slots(&self, planes: &mut [u64], row: &[u64], request: &Request) -> bool {
        let (levels, words) = (self.levels, self.levels.words());
        let mut has_lost = false;
        for (tasks, (plane, before)) in
            (1..).zip(planes.chunks_exact_mut(words).zip(self.planes.chunks_exact(words)))
        {
            if let Some((first, amount)) = self.only {
                has_lost |= conjunction(plane, before, &row[first + (tasks * amount - 1) * words..]);
                continue;
            }
            for (word, (nodes, &before)) in plane.iter_mut().zip(before).enumerate() {
                *nodes = before & levels.with_slots(row, request, tasks as i64, word);
                if request.exclusive {
                    *nodes &= levels.idle(row, word);
                }
                has_lost |= *nodes != before;
            }
        }
        has_lost
    }

    /// Returns whether the counted slots suffice.
    #[inline]
    fn has_bits_for(&self, tasks: u32) -> bool {
        let count = self.planes.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        count.saturating_mul(self.weight) >= u64::from(tasks)
    }

    /// The nodes of a word that have slots for a request.
    #[inline]
    fn nodes_with_slots(&self, request: &Request, word: usize) -> u64 {
        let nodes = self.levels.nodes_of(request.nodes)[word]
            & self.levels.with_slots(&self.planes, request, 1, word);
        if request.exclusive { nodes & self.levels.idle(&self.planes, word) } else { nodes }
    }

    /// The slots of a node of the request's set.
    #[inline]
    fn slots_of_member(&self, node: u32, request: &Request) -> u32 {
        if let Kept::Slots(_) = self.kept {
            return self.levels.amount(&self.planes, node, 0) as u32;
        }
        request.slots_of(self.free_amounts(node), !request.exclusive || self.is_idle(node))
    }

    fn is_idle(&self, node: u32) -> bool {
        self.levels.idle(&self.planes, node as usize / WORD) >> (node as usize % WORD) & 1 == 1
    }

    fn free_amounts(&self, node: u32) -> impl Iterator<Item = i64> {
        (0..self.profile.resources).map(move |resource| self.free_on(node, resource))
    }

    fn load(&self, node: u32, by: Ranking) -> f64 {
        let resources = self.profile.resources;
        let capacity = &self.profile.capacity[node as usize * resources..][..resources];
        by.of(capacity, &self.free_amounts(node).collect::<Vec<i64>>())
    }
}

impl OverTime for LevelMinima<'_> {
    #[inline]
    fn take_in(&mut self, spare: &mut Self, step: usize, want: &PlacementRequest<'_>) -> bool {
        let row = self.levels.row(step);
        let has_lost = match self.only {
            // The planes of the levels are adjacent.
            Some((first, 1)) => conjunction(&mut spare.planes, &self.planes, &row[first..]),
            _ => self.conjunction_of_slots(&mut spare.planes, row, want.request),
        };
        if !has_lost && self.is_counted {
            // As many slots as before, which suffice.
            return true;
        }
        self.is_counted = spare.has_bits_for(want.tasks);
        if self.is_counted {
            std::mem::swap(&mut self.planes, &mut spare.planes);
        }
        self.is_counted
    }

    fn clear(&mut self) {
        self.is_counted = false;
        let set = match self.kept {
            Kept::All => NodeSetId::ALL,
            Kept::Slots(request) => request.nodes,
        };
        for plane in self.planes.chunks_exact_mut(self.levels.words()) {
            plane.copy_from_slice(self.levels.nodes_of(set));
        }
    }

    fn is_whole(&self) -> bool {
        match self.kept {
            Kept::All => true,
            Kept::Slots(request) => {
                request.amounts == [1]
                    && !request.exclusive
                    && request.nodes == NodeSetId::ALL
                    && self.planes.len() == self.levels.count() * self.levels.words()
            }
        }
    }

    fn lower_to(&mut self, other: &Self) {
        for (plane, &of_other) in self.planes.iter_mut().zip(&other.planes) {
            *plane &= of_other;
        }
    }

    fn hold(&mut self, request: &Request, placement: &[NodeTasks]) {
        for &part in placement {
            for resource in 0..self.profile.resources {
                let amount = self.profile.amount_on(request, part, resource);
                if amount > 0 {
                    self.levels.lower(&mut self.planes, part.node, resource, amount);
                }
            }
        }
    }
}

impl Availability for LevelMinima<'_> {
    fn nodes(&self) -> u32 {
        self.profile.node_count
    }

    fn slots(&self, node: u32, request: &Request) -> u32 {
        if !self.profile.node_sets.contains(request.nodes, node) {
            return 0;
        }
        self.slots_of_member(node, request)
    }

    fn next_with_slots(&self, from: u32, request: &Request) -> Option<u32> {
        let mut seen = u64::MAX << (from as usize % WORD);
        for word in from as usize / WORD..self.levels.words() {
            let nodes = seen & self.nodes_with_slots(request, word);
            if nodes != 0 {
                return Some((word * WORD) as u32 + nodes.trailing_zeros());
            }
            seen = u64::MAX;
        }
        None
    }

    fn visit_slots(&self, nodes: Range<u32>, request: &Request, visit: &mut impl FnMut(u32, u32) -> bool) {
        let mut seen = u64::MAX << (nodes.start as usize % WORD);
        for word in nodes.start as usize / WORD..self.levels.words() {
            let mut found = seen & self.nodes_with_slots(request, word);
            while found != 0 {
                let node = (word * WORD) as u32 + found.trailing_zeros();
                if node >= nodes.end || !visit(node, self.slots_of_member(node, request)) {
                    return;
                }
                found &= found - 1;
            }
            seen = u64::MAX;
        }
    }

    fn visit_by_load(&self, request: &Request, order: Ranked, visit: &mut dyn FnMut(u32) -> bool) {
        let mut from = 0;
        let feasible = std::iter::from_fn(|| {
            let node = self.next_with_slots(from, request)?;
            from = node + 1;
            Some(node)
        });
        visit_sorted_by_load(
            feasible.map(|node| (self.load(node, order.by), node)),
            order.busiest_first,
            visit,
        );
    }

    fn free_on(&self, node: u32, resource: usize) -> i64 {
        self.levels.amount(&self.planes, node, resource)
    }

    fn holds(&self, request: &Request, tasks: u32) -> bool {
        match self.kept {
            Kept::Slots(_) => self.has_bits_for(tasks),
            Kept::All => holds_by_index(self, request, tasks),
        }
    }

    fn free(&self) -> Option<Vec<i64>> {
        Some((0..self.nodes()).flat_map(|node| self.free_amounts(node)).collect())
    }
}
