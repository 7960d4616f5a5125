//! Availability over time: what running and reserved jobs leave free, node by node and in all.
//!
//! Each node has a short step function; the totals have one too, whose steps are the instants at which anything
//! begins or ends. With k steps on a node, holding or releasing it costs O(k), the totals O(B) for B instants and for
//! each node set. The earliest fit walks the totals of the job's own set once and looks at the nodes of this set only
//! where these admit the job.
mod search;
mod steps;
mod window;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::availability::PlacementRequest;
use super::machine::Machine;
use super::node_set::{NodeSets, totals_of};
use super::placement::NodeTasks;
use super::request::Request;

use steps::Steps;

/// Free amounts of every node over time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Profile {
    resources: usize,
    node_sets: Arc<NodeSets>,
    capacity: Vec<i64>,
    /// What the nodes offer of their capacities: less where part of the machine is unavailable.
    offered: Vec<i64>,
    now: f64,
    nodes: Vec<Steps>,
    /// The totals of each node set, set-major; the last value counts what begins or ends there.
    totals: Steps,
    /// Until then some node may be promised twice, by a job that started late where it had been reserved. A negative
    /// amount there is as good as none, so the totals say too little.
    overcommitted_until: f64,
    /// The greatest total of each resource in each node set from now until each step, as far as it is known.
    peaks: Vec<i64>,
    /// What a change holds on one node and in each set, with room for the count that stands last.
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
        // The last value counts the jobs there, negated, so that minima serve for it too.
        let of_node = |node: &[i64]| Steps::new(node.iter().copied().chain([0]).collect());
        let nodes = offered.chunks_exact(resources).map(of_node).collect();
        let mut totals = totals_of(resources, &offered, node_sets);
        // The last value counts what begins or ends there: a step of the totals stays while anything does.
        totals.push(0);
        Self {
            resources,
            node_sets: Arc::clone(node_sets),
            held_in_all: vec![0; totals.len()],
            capacity: capacity.to_vec(),
            offered,
            now: f64::NEG_INFINITY,
            nodes,
            overcommitted_until: f64::NEG_INFINITY,
            totals: Steps::new(totals),
            peaks: Vec::new(),
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
        if self.totals.find(now) > 0 {
            self.totals.trim(now);
            self.peaks.clear();
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
            let node = &mut self.nodes[part.node as usize];
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
        self.change_totals(&totals, from, until, sign);
        (self.held_in_all, self.held_here) = (totals, amounts);
    }

    fn change_totals(&mut self, totals: &[i64], from: f64, until: f64, sign: i64) {
        let first = if from <= self.now { 0 } else { self.marked_step(from) };
        let last = self.marked_step(until);
        self.totals.add(first..last, totals, sign);
        for step in [last, first] {
            // The first step is what is in force now: it stays.
            if step > 0 {
                let mark = self.mark(step);
                *mark -= sign;
                if *mark == 0 {
                    self.totals.remove(step);
                }
            }
        }
        self.peaks.truncate(first * (self.totals.width - 1));
    }

    /// The step of the totals that begins at `time`; a new one has no marks yet.
    fn marked_step(&mut self, time: f64) -> usize {
        let known = self.totals.times.len();
        let step = self.totals.split(time);
        if self.totals.times.len() > known {
            *self.mark(step) = 0;
        }
        step
    }

    /// How much begins or ends at a step of the totals.
    fn mark(&mut self, step: usize) -> &mut i64 {
        &mut self.totals.values[(step + 1) * self.totals.width - 1]
    }

    /// Whether at some instant in [now, before) the totals of the job's node set reach the needs: a necessary condition
    /// for a start there.
    #[must_use]
    pub fn may_start_before(&mut self, want: &PlacementRequest<'_>, before: f64) -> bool {
        if self.now < self.overcommitted_until {
            return true;
        }
        let last = self.totals.times.partition_point(|&begin| begin < before);
        if last == 0 {
            return false;
        }
        let peaks = &mut self.peaks;
        let width = self.totals.width - 1;
        for step in peaks.len() / width..last {
            for value in 0..width {
                let total = self.totals.at(step)[value];
                let before = if step == 0 { total } else { peaks[(step - 1) * width + value] };
                peaks.push(total.max(before));
            }
        }
        let own = &peaks[(last - 1) * width..][want.request.nodes.block(self.resources)];
        own.iter().enumerate().all(|(resource, &peak)| peak >= want.need(resource))
    }
}
