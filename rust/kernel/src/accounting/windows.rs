//! Usage in windows of equal length, the newest first, as counted by Maui and Moab, and targets for it.
use serde::{Deserialize, Serialize};

use super::tree::AccountTree;

/// The share of `own` in `total` usage, per cent, with each window weighted by `decay` to the power of its age.
#[must_use]
pub fn effective_share(own: &[f64], total: &[f64], decay: f64) -> f64 {
    let weighed = |amounts: &[f64]| amounts.iter().rev().fold(0.0, |sum, amount| sum * decay + amount);
    let all = weighed(total);
    if all > 0.0 { 100.0 * weighed(own) / all } else { 0.0 }
}

/// The side of its target on which usage changes a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetKind {
    /// Both sides.
    Both,
    /// Only if usage is below the target: marked `+`.
    Floor,
    /// Only if usage is above the target: marked `-`.
    Ceiling,
}

/// Target usage, per cent of the total.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Per cent.
    pub value: f64,
    /// The side on which it counts.
    pub kind: TargetKind,
}

impl Target {
    /// Target minus usage, per cent; 0 on the side that does not count.
    #[must_use]
    pub fn delta(self, usage: f64) -> f64 {
        let delta = self.value - usage;
        match self.kind {
            TargetKind::Both => delta,
            TargetKind::Floor => delta.max(0.0),
            TargetKind::Ceiling => delta.min(0.0),
        }
    }
}

/// Usage per node and window. The start and end of a job, and reading a node's usage, cost O(depth × windows).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    length: f64,
    count: usize,
    nodes: Vec<Counter>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Counter {
    /// Newest first, as of `time`.
    amounts: Vec<f64>,
    rate: f64,
    time: f64,
    running: u32,
}

impl Windows {
    /// Creates zero usage. Windows are `length` seconds long and begin at its multiples; `count` windows are stored.
    #[must_use]
    pub fn new(tree: &AccountTree, length: f64, count: usize) -> Self {
        let counter = Counter { amounts: vec![0.0; count], rate: 0.0, time: 0.0, running: 0 };
        Self { length, count, nodes: vec![counter; tree.nodes().len()] }
    }

    /// Changes the charge per second by `rate` from now on.
    pub fn change(&mut self, tree: &AccountTree, node: u32, now: f64, rate: f64) {
        for at in tree.path(node as usize) {
            let amounts = self.at(at, now);
            let counter = &mut self.nodes[at];
            counter.running =
                if rate < 0.0 { counter.running.saturating_sub(1) } else { counter.running + 1 };
            counter.rate = if counter.running == 0 { 0.0 } else { counter.rate + rate };
            (counter.amounts, counter.time) = (amounts, now);
        }
    }

    /// The usage of a node in each window, the newest first.
    #[must_use]
    pub fn at(&self, node: usize, now: f64) -> Vec<f64> {
        let Counter { amounts, rate, time, .. } = &self.nodes[node];
        let window = (now / self.length).floor();
        let moved = window - (time / self.length).floor();
        let in_window = |age: usize| {
            let begin = (window - age as f64) * self.length;
            let ran = (now.min(begin + self.length) - begin.max(*time)).max(0.0);
            let before = age as f64 - moved;
            let kept = if before >= 0.0 { amounts[before as usize] } else { 0.0 };
            kept + rate * ran
        };
        (0..self.count).map(in_window).collect()
    }
}
