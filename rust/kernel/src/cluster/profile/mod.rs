//! Availability over time: what running and reserved jobs leave free, node by node and in all.
//!
//! The totals are a step function, whose steps are the instants at which anything begins or ends: O(B) to change for B
//! instants, for each node set. The nodes are kept in one of two ways. On machines of some thousand nodes each step has a row
//! of all of them, and the search moves one window over the rows. On others each node has a step function of its own, O(k)
//! to change where it has k steps, and the search looks at the nodes of the job's own set where the totals admit the job.
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

use super::machine::Machine;
use super::node_set::{NodeSetId, NodeSets, totals_of};
use super::placement::NodeTasks;
use super::request::Request;

pub use supposed::Supposed;

use rows::{Change, Rows};
use steps::Steps;

/// What is free on the nodes over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Nodes {
    /// Row by row, for each step of the totals.
    Rows(Rows),
    /// Node by node, each with its own steps; the last value of each is minus the number of jobs there.
    Steps(Vec<Steps>),
}

impl Nodes {
    /// All profiles of a machine have the same form, whatever it offers.
    fn new(resources: usize, capacity: &[i64], offered: &[i64]) -> Self {
        if let Some(rows) = Rows::new(resources, capacity, offered) {
            Self::Rows(rows)
        } else {
            let of_node = |node: &[i64]| Steps::new(node.iter().copied().chain([0]).collect());
            Self::Steps(offered.chunks_exact(resources).map(of_node).collect())
        }
    }
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
    /// What a change holds on one node and in each set, with room for the count that stands last.
    held_here: Vec<i64>,
    held_in_all: Vec<i64>,
    /// What it changes in rows.
    held_in_rows: Vec<Change>,
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
        let nodes = Nodes::new(resources, capacity, &offered);
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
            held_here: vec![0; resources + 1],
            held_in_rows: Vec::new(),
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
        if let Nodes::Rows(rows) = &mut self.nodes {
            rows.trim(past);
        }
    }

    /// A job holds its placement over [from, until).
    pub fn hold(&mut self, request: &Request, placement: &[NodeTasks], from: f64, until: f64) {
        self.change(request, placement, from, until, -1);
    }

    /// A job gives up its placement over [from, until), which it held.
    pub fn release(&mut self, request: &Request, placement: &[NodeTasks], from: f64, until: f64) {
        self.change(request, placement, from, until, 1);
    }

    fn change(&mut self, request: &Request, placement: &[NodeTasks], from: f64, until: f64, sign: i64) {
        if until <= from.max(self.now) {
            return;
        }
        let resources = self.resources;
        let mut totals = std::mem::take(&mut self.held_in_all);
        let mut amounts = std::mem::take(&mut self.held_here);
        totals.fill(0);
        for &part in placement {
            let offered = &self.offered[part.node as usize * resources..][..resources];
            for resource in 0..resources {
                let asked = request.amounts[resource] * i64::from(part.tasks);
                amounts[resource] = if request.exclusive { offered[resource] } else { asked };
                totals[resource] += amounts[resource];
            }
            for set in self.node_sets.others_of(part.node) {
                for (total, amount) in totals[set.block(resources)].iter_mut().zip(&amounts) {
                    *total += amount;
                }
            }
            amounts[resources] = 1;
            match &mut self.nodes {
                Nodes::Rows(_) => {
                    let changed = (0_u32..).zip(&amounts).filter(|&(_, &amount)| amount != 0);
                    let change = |(plane, &amount): (u32, &i64)| Change {
                        node: part.node,
                        plane,
                        amount: (sign * amount) as i16,
                    };
                    self.held_in_rows.extend(changed.map(change));
                }
                Nodes::Steps(nodes) => {
                    let node = &mut nodes[part.node as usize];
                    node.trim(self.now);
                    let first = node.begin(from, self.now);
                    let last = node.split(until);
                    node.add(first..last, &amounts, sign);
                    if sign < 0 && node.is_negative(first..last, resources) {
                        self.overcommitted_until = self.overcommitted_until.max(until);
                    }
                    node.join(last);
                    node.join(first);
                }
            }
        }
        self.change_totals(&totals, from, until, sign);
        (self.held_in_all, self.held_here) = (totals, amounts);
    }

    fn change_totals(&mut self, totals: &[i64], from: f64, until: f64, sign: i64) {
        let first = if from <= self.now { 0 } else { self.marked_step(from) };
        let last = self.marked_step(until);
        self.totals.add(first..last, totals, sign);
        if let Nodes::Rows(rows) = &mut self.nodes {
            let minimum = rows.add(first..last, &self.held_in_rows, sign as i16);
            if sign < 0 && minimum < 0 {
                self.overcommitted_until = self.overcommitted_until.max(until);
            }
            self.held_in_rows.clear();
        }
        for step in [last, first] {
            // The first step is what is in force now: it stays.
            if step > 0 {
                let mark = self.mark(step);
                *mark -= sign;
                if *mark == 0 {
                    self.totals.remove(step);
                    if let Nodes::Rows(rows) = &mut self.nodes {
                        rows.remove(step);
                    }
                }
            }
        }
    }

    /// The step of the totals that begins at `time`; a new one has no marks yet.
    fn marked_step(&mut self, time: f64) -> usize {
        let known = self.totals.times.len();
        let step = self.totals.split(time);
        if self.totals.times.len() > known {
            *self.mark(step) = 0;
            if let Nodes::Rows(rows) = &mut self.nodes {
                rows.split(step - 1);
            }
        }
        step
    }

    /// How much begins or ends at a step of the totals.
    fn mark(&mut self, step: usize) -> &mut i64 {
        &mut self.totals.values[(step + 1) * self.totals.width - 1]
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
