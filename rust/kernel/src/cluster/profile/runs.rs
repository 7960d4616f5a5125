//! Runs of nodes: the time spans in which a node has slots without interruption.
//!
//! Runs are bounds. With rows, a run is a span in which some of each requested resource is free, computed from the
//! bitmaps of whole rows: O(steps in the span and in the runs) for 64 nodes at once. With step functions, it costs
//! O(steps of the node).
use crate::cluster::placement::NodeTasks;
use crate::cluster::request::Request;
use crate::index::{WORD, ones_of};

use super::grid::Grid;
use super::levels::Levels;
use super::rows::Rows;
use super::steps::Steps;
use super::window::slots_of_step;
use super::{Nodes, Profile};

/// The bitmaps of rows: nodes that may have slots for a request.
struct Feasible<'a> {
    grid: &'a Grid<u64>,
    /// Words of a plane.
    words: usize,
    /// The first words of the planes in a row that must all be set.
    planes: Vec<usize>,
}

impl<'a> Feasible<'a> {
    /// The nodes that have the amount of a task free; None if no node ever has it.
    fn by_levels(levels: &'a Levels, request: &Request) -> Option<Self> {
        let asked = request.amounts.iter().enumerate().filter(|&(_, &amount)| amount > 0);
        let plane =
            |(resource, &amount): (usize, &i64)| Some(levels.plane_of(resource, amount)? * levels.words());
        let planes = asked.map(plane).collect::<Option<Vec<usize>>>()?;
        Some(Self { grid: levels.grid(), words: levels.words(), planes })
    }

    /// The nodes that have some of each requested resource free.
    fn by_rows(rows: &'a Rows, request: &Request) -> Self {
        let asked = (0..request.amounts.len()).filter(|&resource| request.amounts[resource] > 0);
        let planes = asked.map(|resource| resource * rows.words()).collect();
        Self { grid: rows.some(), words: rows.words(), planes }
    }

    /// A word of the bitmap of a step.
    #[inline]
    fn word(&self, step: usize, word: usize) -> u64 {
        let row = self.grid.row(step);
        match self.planes[..] {
            [plane] => row[plane + word],
            _ => self.planes.iter().fold(u64::MAX, |nodes, plane| nodes & row[plane + word]),
        }
    }
}

impl Profile {
    /// Visits the runs [begin, end) of these nodes from now on that overlap a time span.
    pub fn visit_runs(
        &self,
        nodes: impl Iterator<Item = u32>,
        request: &Request,
        span: (f64, f64),
        visit: &mut impl FnMut(u32, f64, f64),
    ) {
        if span.1 <= self.now {
            return;
        }
        let nodes = nodes.filter(|&node| self.node_sets.contains(request.nodes, node));
        if let Nodes::Steps(steps) = &self.nodes {
            for node in nodes {
                self.visit_runs_of_node(&steps[node as usize], request, span, &mut |begin, end| {
                    visit(node, begin, end);
                });
            }
        } else if let Some(feasible) = self.feasible(request) {
            let mut mask = vec![0; feasible.words];
            for node in nodes {
                mask[node as usize / WORD] |= 1 << (node as usize % WORD);
            }
            for (word, &mask) in mask.iter().enumerate().filter(|&(_, &mask)| mask != 0) {
                self.visit_runs_of_word(&feasible, word, mask, span, visit);
            }
        }
    }

    fn feasible(&self, request: &Request) -> Option<Feasible<'_>> {
        match &self.nodes {
            Nodes::Levels(levels) => Feasible::by_levels(levels, request),
            Nodes::Rows(rows) => Some(Feasible::by_rows(rows, request)),
            Nodes::Steps(_) => None,
        }
    }

    /// Visits the runs of the nodes of one word.
    fn visit_runs_of_word(
        &self,
        feasible: &Feasible<'_>,
        word: usize,
        mask: u64,
        (begin, end): (f64, f64),
        visit: &mut impl FnMut(u32, f64, f64),
    ) {
        let times = &self.totals.times;
        let node = |bit: usize| (word * WORD + bit) as u32;
        let first = self.totals.find(begin.max(self.now));
        let mut open = mask & feasible.word(first, word);
        let mut since = [self.now; WORD];
        // The runs that contain the begin of the span began earlier.
        let (mut step, mut earlier) = (first, open);
        while earlier != 0 && step > 0 {
            let before = feasible.word(step - 1, word);
            for bit in ones_of(earlier & !before) {
                since[bit] = times[step].max(self.now);
            }
            earlier &= before;
            step -= 1;
        }
        for (step, &time) in times.iter().enumerate().skip(first + 1) {
            // Runs that begin after the span are not needed.
            let of_interest = if time >= end { open } else { mask };
            let now_open = of_interest & feasible.word(step, word);
            for bit in ones_of(open & !now_open) {
                visit(node(bit), since[bit], time);
            }
            for bit in ones_of(now_open & !open) {
                since[bit] = time;
            }
            open = now_open;
            if time >= end && open == 0 {
                return;
            }
        }
        for bit in ones_of(open) {
            visit(node(bit), since[bit], f64::INFINITY);
        }
    }

    fn visit_runs_of_node(
        &self,
        steps: &Steps,
        request: &Request,
        (begin, end): (f64, f64),
        visit: &mut impl FnMut(f64, f64),
    ) {
        let times = &steps.times;
        let past = steps.find(self.now);
        let mut step = steps.find(begin.max(self.now));
        // The run that contains the begin of the span began earlier.
        while step > past && steps.has_slot(step, request) && steps.has_slot(step - 1, request) {
            step -= 1;
        }
        while step < times.len() && (times[step] < end || times[step] <= self.now) {
            if !steps.has_slot(step, request) {
                step += 1;
                continue;
            }
            let first = times[step].max(self.now);
            while step < times.len() && steps.has_slot(step, request) {
                step += 1;
            }
            visit(first, times.get(step).copied().unwrap_or(f64::INFINITY));
        }
    }

    /// Returns whether one of some nodes may have a slot just before a future instant.
    #[must_use]
    pub fn has_slot_before<'a>(
        &self,
        mut parts: impl Iterator<Item = &'a NodeTasks>,
        request: &Request,
        instant: f64,
    ) -> bool {
        // The list is empty in most calls.
        let Some(first) = parts.next() else { return false };
        let before = |times: &[f64]| times.partition_point(|&begin| begin < instant) - 1;
        let step = before(&self.totals.times);
        std::iter::once(first).chain(parts).any(|part| {
            let (word, bit) = (part.node as usize / WORD, part.node as usize % WORD);
            let nodes = match &self.nodes {
                Nodes::Levels(levels) => levels.with_slots(levels.row(step), request, 1, word),
                Nodes::Rows(rows) => rows.with_some(step, request, word),
                Nodes::Steps(nodes) => {
                    let steps = &nodes[part.node as usize];
                    return steps.has_slot(before(&steps.times), request);
                }
            };
            nodes >> bit & 1 == 1
        })
    }
}

impl Steps {
    fn has_slot(&self, step: usize, request: &Request) -> bool {
        slots_of_step(request, self.at(step)) > 0
    }
}
