//! Availability over time: what running and reserved jobs leave free, node by node and in all.
//!
//! The totals are a step function, whose steps are the instants at which anything begins or ends: O(B) to change for B
//! instants, for each node set. The nodes are kept in one of three ways. On machines of up to some ten thousand nodes each
//! step has a row of all of them, and the search moves one window over the rows: of bits, where there are few levels of free
//! amounts, else of amounts. On others each node has a step function of its own, O(k) to change where it has k steps, and
//! the search looks at the nodes of the job's own set where the totals admit the job.
mod change;
mod grid;
mod held;
mod level_minima;
mod levels;
mod minima;
mod rows;
mod runs;
mod scan;
mod search;
mod steps;
mod supposed;
mod window;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::availability::{Availability, PlacementRequest};
use super::machine::Machine;
use super::node_set::NodeSetId;
use super::node_sets::{NodeSets, totals_of};
use super::placement::NodeTasks;
use super::request::Request;

pub use supposed::Supposed;

use held::Held;
use levels::Levels;
use rows::Rows;
use steps::Steps;

/// What is free on the nodes over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Nodes {
    /// Bit by bit, for each step of the totals and each level of each resource.
    Levels(Levels),
    /// Row by row, for each step of the totals.
    Rows(Rows),
    /// Node by node, each with its own steps; the last value of each is minus the number of jobs there.
    Steps(Vec<Steps>),
}

impl Nodes {
    /// Levels where capacities are small, else rows where amounts are not too large; steps where a row would be too long.
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

    /// A step of the totals becomes two.
    fn split(&mut self, step: usize) {
        match self {
            Self::Levels(levels) => levels.grid_mut().split(step),
            Self::Rows(rows) => rows.split(step),
            Self::Steps(_) => {}
        }
    }

    /// A step of the totals goes.
    fn remove(&mut self, step: usize) {
        match self {
            Self::Levels(levels) => levels.grid_mut().remove(step),
            Self::Rows(rows) => rows.remove(step),
            Self::Steps(_) => {}
        }
    }

    /// The first steps of the totals are past.
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
    /// Adds a step to the time if the slots suffice with it too: whether they do. The values of `spare`, which is of the same
    /// request, are lost.
    fn take_in(&mut self, spare: &mut Self, step: usize, want: &PlacementRequest<'_>) -> bool;

    /// Forgets the time.
    fn clear(&mut self);

    /// Whether allocators can work with it: it has all resources, not only those that are asked for.
    fn is_whole(&self) -> bool;

    /// Takes the lesser of its values and those of another for the same request.
    fn lower_to(&mut self, other: &Self);

    /// Takes away what a job holds.
    fn hold(&mut self, request: &Request, placement: &[NodeTasks]);
}

/// Free amounts of every node over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Profile {
    resources: usize,
    node_sets: Arc<NodeSets>,
    capacity: Vec<i64>,
    /// What the nodes offer of their capacities: less where part of the machine is unavailable.
    offered: Vec<i64>,
    now: f64,
    node_count: u32,
    nodes: Nodes,
    /// The totals of each node set, set-major; the last value counts what begins or ends there.
    totals: Steps,
    /// Until then some node may be promised twice, by a job that started late where it had been reserved. A negative
    /// amount there is as good as none, so the totals say too little.
    overcommitted_until: f64,
    /// What a change holds on each node; and on one and in each set, with room for the count that stands last.
    held: Vec<Held>,
    held_here: Vec<i64>,
    held_in_all: Vec<i64>,
}

impl Profile {
    /// A profile of an empty machine: `capacity` is node-major.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        Self::of_offered(resources, capacity, capacity.to_vec(), node_sets)
    }

    /// A profile of what an empty machine offers.
    #[must_use]
    pub fn of_machine(machine: &Machine) -> Self {
        Self::of_offered(machine.resources(), machine.capacity(), machine.available(), machine.node_sets())
    }

    fn of_offered(resources: usize, capacity: &[i64], offered: Vec<i64>, node_sets: &Arc<NodeSets>) -> Self {
        let nodes = Nodes::new(resources, capacity, &offered, node_sets);
        let mut totals = totals_of(resources, &offered, node_sets);
        // The last value counts what begins or ends there: a step of the totals stays while anything does.
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

    /// Moves on; what is past is forgotten.
    pub fn advance(&mut self, now: f64) {
        self.now = now;
        let past = self.totals.trim(now);
        self.nodes.trim(past);
    }

    /// What a node offers, by planes of rows: nothing of jobs that hold nothing.
    fn offered_on(&self, node: u32, plane: usize) -> i16 {
        if plane < self.resources { self.offered[node as usize * self.resources + plane] as i16 } else { 0 }
    }

    /// The steps of the totals that lie in [from, until), at least one.
    fn steps_within(&self, from: f64, until: f64) -> std::ops::Range<usize> {
        let first = self.totals.find(from);
        first..self.totals.times.partition_point(|&begin| begin < until).max(first + 1)
    }

    /// Whether the totals of now and later are what is free, on no node less than nothing.
    #[must_use]
    pub fn are_totals_reliable(&self) -> bool {
        self.now >= self.overcommitted_until
    }

    /// Whether the totals of a step are that as well.
    fn is_reliable(&self, step: usize) -> bool {
        self.totals.times[step].max(self.now) >= self.overcommitted_until
    }

    /// Visits the totals of a resource in a node set over [begin, end), and when each holds first from now on.
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

    /// Whether just before an instant the totals reach what a job needs; not where that is now, or past.
    #[must_use]
    pub fn has_total_before(&self, request: &Request, tasks: u32, instant: f64) -> bool {
        let step = self.totals.times.partition_point(|&begin| begin < instant);
        let totals = || &self.totals.at(step - 1)[request.nodes.block(self.resources)];
        instant > self.now
            && totals().iter().enumerate().all(|(resource, &total)| total >= request.need(resource, tasks))
    }

    /// What is free in all at an instant; None where that is not known.
    #[must_use]
    pub fn totals_at(&self, instant: f64) -> Option<&[i64]> {
        let totals = &self.totals.at(self.totals.find(instant))[..self.resources];
        (instant.max(self.now) >= self.overcommitted_until).then_some(totals)
    }
}
