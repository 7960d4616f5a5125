//! Availability over time: the amounts that running and reserved jobs leave free, by node and in total.
//!
//! The totals are a step function whose steps are the instants at which a job begins or ends: a change costs O(B) for B
//! instants, for each node set. The nodes are stored in one of three ways. On machines of up to about ten thousand
//! nodes, each step has a row of all nodes, and the search moves one window over the rows: rows of bits if there are
//! few levels of free amounts, otherwise rows of amounts. On larger machines each node has its own step function, which
//! costs O(k) to change for k steps, and the search examines the nodes of the job's set when the totals admit the job.
mod change;
mod grid;
mod held;
mod level_minima;
mod levels;
mod minima;
mod overlay;
mod rows;
mod runs;
mod scan;
mod search;
mod steps;
mod window;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::availability::{Availability, PlacementRequest};
use super::machine::Machine;
use super::node_set::NodeSetId;
use super::node_sets::{NodeSets, totals_of};
use super::placement::NodeTasks;
use super::request::Request;

pub use overlay::ProfileOverlay;

use held::Held;
use levels::Levels;
use rows::Rows;
use steps::Steps;

/// The free amounts of the nodes over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Nodes {
    /// As bits, for each step of the totals and each level of each resource.
    Levels(Levels),
    /// As rows of amounts, for each step of the totals.
    Rows(Rows),
    /// As a step function per node; the last value of each step is minus the number of jobs on the node.
    Steps(Vec<Steps>),
}

impl Nodes {
    /// Chooses levels if capacities are small, otherwise rows if amounts are not too large; step functions if a row
    /// would be too long.
    fn new(resources: usize, capacity: &[i64], offered: &[i64], node_sets: &NodeSets) -> Self {
        if let Some(levels) = Levels::new(resources, capacity, offered, node_sets) {
            return Self::Levels(levels);
        }
        if let Some(rows) = Rows::new(resources, capacity, offered) {
            return Self::Rows(rows);
        }
        let of_node = |node: &[i64]| Steps::new(node.iter().copied().chain([0]).collect());
        Self::Steps(offered.chunks_exact(resources).map(of_node).collect())
    }

    /// Splits a step of the totals into two equal steps.
    fn split(&mut self, step: usize) {
        match self {
            Self::Levels(levels) => levels.grid_mut().split(step),
            Self::Rows(rows) => rows.split(step),
            Self::Steps(_) => {}
        }
    }

    /// Removes a step of the totals.
    fn remove(&mut self, step: usize) {
        match self {
            Self::Levels(levels) => levels.grid_mut().remove(step),
            Self::Rows(rows) => rows.remove(step),
            Self::Steps(_) => {}
        }
    }

    /// Removes the first steps of the totals, which are past.
    fn trim(&mut self, past: usize) {
        match self {
            Self::Levels(levels) => levels.grid_mut().trim(past),
            Self::Rows(rows) => rows.trim(past),
            Self::Steps(_) => {}
        }
    }
}

/// The minima of rows over a time, which grows row by row.
trait OverTime: Availability + Clone {
    /// Extends the time by a step if the slots still suffice then; returns whether they do. Overwrites the values of
    /// `spare`, which must belong to the same request.
    fn take_in(&mut self, spare: &mut Self, step: usize, want: &PlacementRequest<'_>) -> bool;

    /// Resets to an empty time.
    fn clear(&mut self);

    /// Returns whether allocators can use the minima, i.e. they cover all resources and not only the requested ones.
    fn is_whole(&self) -> bool;

    /// Replaces each value by the minimum with that of another for the same request.
    fn lower_to(&mut self, other: &Self);

    /// Subtracts the amounts that a job holds.
    fn hold(&mut self, request: &Request, placement: &[NodeTasks]);
}

/// Free amounts of every node over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Profile {
    resources: usize,
    node_sets: Arc<NodeSets>,
    capacity: Vec<i64>,
    /// The available capacities of the nodes: smaller if part of the machine is unavailable.
    offered: Vec<i64>,
    now: f64,
    node_count: u32,
    nodes: Nodes,
    /// The totals of each node set, set-major; the last value counts the jobs that begin or end at the step.
    totals: Steps,
    /// Until this time some node may be allocated twice, because a job started late on nodes that had been reserved. A
    /// negative free amount of such a node counts as 0, so the totals are too small.
    overcommitted_until: f64,
    /// Scratch space: the amounts of a change by node; on one node (and the job count); and in each set (and the mark
    /// of the step).
    held: Vec<Held>,
    held_here: Vec<i64>,
    held_in_all: Vec<i64>,
}

impl Profile {
    /// Creates the profile of a machine without jobs; `capacity` is node-major.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        Self::of_offered(resources, capacity, capacity.to_vec(), node_sets)
    }

    /// Creates the profile of the available capacity of a machine, without jobs.
    #[must_use]
    pub fn of_machine(machine: &Machine) -> Self {
        Self::of_offered(machine.resources(), machine.capacity(), machine.available(), machine.node_sets())
    }

    fn of_offered(resources: usize, capacity: &[i64], offered: Vec<i64>, node_sets: &Arc<NodeSets>) -> Self {
        let nodes = Nodes::new(resources, capacity, &offered, node_sets);
        let mut totals = totals_of(resources, &offered, node_sets);
        // The last value counts the jobs that begin or end at a step: the step is kept while the count is not 0.
        totals.push(0);
        Self {
            resources,
            node_sets: Arc::clone(node_sets),
            held_in_all: vec![0; totals.len()],
            capacity: capacity.to_vec(),
            node_count: (offered.len() / resources) as u32,
            offered,
            now: f64::NEG_INFINITY,
            nodes,
            overcommitted_until: f64::NEG_INFINITY,
            totals: Steps::new(totals),
            held: Vec::new(),
            held_here: vec![0; resources + 1],
        }
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Advances the present time, and drops past steps.
    pub fn advance(&mut self, now: f64) {
        self.now = now;
        let past = self.totals.trim(now);
        self.nodes.trim(past);
    }

    /// The available amount of a node by plane of rows; 0 in the plane that counts jobs.
    fn offered_on(&self, node: u32, plane: usize) -> i16 {
        if plane < self.resources { self.offered[node as usize * self.resources + plane] as i16 } else { 0 }
    }

    /// The steps of the totals in [from, until), at least one.
    fn steps_within(&self, from: f64, until: f64) -> std::ops::Range<usize> {
        let first = self.totals.find(from);
        first..self.totals.times.partition_point(|&begin| begin < until).max(first + 1)
    }

    /// Returns whether the totals from now on are exact, because no node has a negative free amount.
    #[must_use]
    pub fn are_totals_reliable(&self) -> bool {
        self.now >= self.overcommitted_until
    }

    /// Returns whether the totals of a step are exact.
    fn is_reliable(&self, step: usize) -> bool {
        self.totals.times[step].max(self.now) >= self.overcommitted_until
    }

    /// Visits the totals of a resource in a node set over [begin, end), each with the time from which it holds, at
    /// least now.
    pub fn visit_totals(
        &self,
        nodes: NodeSetId,
        resource: usize,
        (begin, end): (f64, f64),
        mut visit: impl FnMut(f64, i64),
    ) {
        let value = nodes.block(self.resources).start + resource;
        for step in self.steps_within(begin.max(self.now), end) {
            visit(self.totals.times[step].max(self.now), self.totals.at(step)[value]);
        }
    }

    /// Returns whether the totals just before a future instant suffice for a job; false if the instant is not in the
    /// future.
    #[must_use]
    pub fn has_total_before(&self, request: &Request, tasks: u32, instant: f64) -> bool {
        let step = self.totals.times.partition_point(|&begin| begin < instant);
        let totals = || &self.totals.at(step - 1)[request.nodes.block(self.resources)];
        instant > self.now
            && totals().iter().enumerate().all(|(resource, &total)| total >= request.need(resource, tasks))
    }

    /// The total free amounts at an instant; None if the totals are not exact then.
    #[must_use]
    pub fn totals_at(&self, instant: f64) -> Option<&[i64]> {
        let totals = &self.totals.at(self.totals.find(instant))[..self.resources];
        (instant.max(self.now) >= self.overcommitted_until).then_some(totals)
    }
}
