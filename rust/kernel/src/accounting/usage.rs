//! Usage of each account and user: a value, a rate and a time per node.
//!
//! The start and end of a job update the nodes of its path: O(depth). Reading a node's usage costs O(1), independent of
//! the running jobs.
use serde::{Deserialize, Serialize};

use super::billing::Charge;
use super::decay::Decay;
use super::node_usage::NodeUsage;
use super::periodic_usage::PeriodicUsage;
use super::tree::AccountTree;

/// Usage with either kind of decay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Usage {
    /// In closed form, known at every instant.
    Exact(DecayedUsage),
    /// As computed by Slurm, period by period.
    Slurm(PeriodicUsage),
}

impl Usage {
    /// Starts charging a job.
    pub fn start(&mut self, tree: &AccountTree, charge: Charge) {
        match self {
            Self::Exact(usage) => usage.change(tree, charge.node, charge.start, charge.rate),
            Self::Slurm(usage) => usage.start(charge),
        }
    }

    /// Stops charging a job that ends.
    pub fn end(&mut self, tree: &AccountTree, charge: Charge, now: f64) {
        match self {
            Self::Exact(usage) => usage.change(tree, charge.node, now, -charge.rate),
            Self::Slurm(usage) => usage.end(tree, charge, now),
        }
    }

    /// Adds past usage to a user or an account, and to all of its ancestors.
    pub fn add(&mut self, tree: &AccountTree, node: u32, now: f64, amount: f64) {
        match self {
            Self::Exact(usage) => usage.add(tree, node, now, amount),
            Self::Slurm(usage) => usage.add(tree, node, amount),
        }
    }

    /// Performs the calculation at the end of a period; does nothing if usage is exact.
    pub fn pass(&mut self, tree: &AccountTree, now: f64) {
        if let Self::Slurm(usage) = self {
            usage.pass(tree, now);
        }
    }

    /// Performs the calculations of `times` further periods of equal length until `until`, without a start or end of a
    /// job.
    pub fn repeat(&mut self, times: f64, until: f64) {
        if let Self::Slurm(usage) = self {
            usage.repeat(times, until);
        }
    }

    /// Sets the usage of a node as of a time, and what is charged to it per second unless that is NaN.
    pub fn set(&mut self, node: usize, value: f64, time: f64, rate: f64) {
        match self {
            Self::Exact(usage) => {
                let Counter { rate: known, running, .. } = usage.nodes[node];
                let rate = if rate.is_nan() { known } else { rate };
                usage.nodes[node] = Counter { value, rate, time, running };
            }
            Self::Slurm(usage) => usage.set(node, value, rate),
        }
    }

    /// The usage of each node.
    #[must_use]
    pub fn described(&self) -> Vec<NodeUsage> {
        match self {
            Self::Exact(usage) => {
                let described =
                    |each: &Counter| NodeUsage { value: each.value, time: each.time, rate: each.rate };
                usage.nodes.iter().map(described).collect()
            }
            Self::Slurm(usage) => usage.described(),
        }
    }

    /// The usage of all nodes for a calculation at this instant. O(nodes).
    #[must_use]
    pub fn all(&self, now: f64) -> Vec<f64> {
        match self {
            Self::Exact(usage) => (0..usage.nodes.len()).map(|node| usage.at(node, now)).collect(),
            Self::Slurm(usage) => usage.values().to_vec(),
        }
    }
}

/// Usage that is known at every instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecayedUsage {
    decay: Decay,
    nodes: Vec<Counter>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counter {
    value: f64,
    rate: f64,
    time: f64,
    running: u32,
}

impl DecayedUsage {
    /// Creates zero usage at time 0.
    #[must_use]
    pub fn new(tree: &AccountTree, decay: Decay) -> Self {
        Self { decay, nodes: vec![Counter::default(); tree.nodes().len()] }
    }

    /// The usage of a node at a time not before its last change. O(1).
    #[must_use]
    pub fn at(&self, node: usize, now: f64) -> f64 {
        let Counter { value, rate, time, .. } = self.nodes[node];
        self.decay.carry(value, rate, time, now)
    }

    fn change(&mut self, tree: &AccountTree, node: u32, now: f64, rate: f64) {
        for at in tree.path(node as usize) {
            let value = self.at(at, now);
            let Counter { rate: before, running, .. } = self.nodes[at];
            let running = if rate < 0.0 { running.saturating_sub(1) } else { running + 1 };
            // The sum of rates has a rounding error after jobs end; without a running job nothing is charged.
            let rate = if running == 0 { 0.0 } else { before + rate };
            self.nodes[at] = Counter { value, rate, time: now, running };
        }
    }

    fn add(&mut self, tree: &AccountTree, node: u32, now: f64, amount: f64) {
        for at in tree.path(node as usize) {
            let value = self.at(at, now) + amount;
            self.nodes[at] = Counter { value, time: now, ..self.nodes[at] };
        }
    }
}
