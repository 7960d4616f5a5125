//! Unavailable capacity: drained nodes, and withheld amounts.
use serde::{Deserialize, Serialize};

/// Capacity that is not available to jobs; present only while something is unavailable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Unavailable {
    /// True for drained nodes, which accept no job.
    pub drained: Vec<bool>,
    /// Unavailable amounts, node-major.
    pub amounts: Vec<i64>,
    /// Capacity minus use, node-major: never negative, whatever is unavailable.
    pub unused: Vec<i64>,
    /// Number of nodes that do not offer everything unused.
    pub nodes: usize,
}

impl Unavailable {
    /// Changes the unused part of an amount; returns the unused and the available amount after the change.
    #[inline(never)]
    pub fn change(&mut self, node: usize, at: usize, amount: i64) -> (i64, i64) {
        self.unused[at] += amount;
        (self.unused[at], self.offer(node, at, self.unused[at]))
    }

    /// Returns whether a node offers less than its unused amounts.
    pub fn holds_back(&self, node: usize) -> bool {
        let resources = self.amounts.len() / self.drained.len();
        let amounts = &self.amounts[node * resources..(node + 1) * resources];
        self.drained[node] || amounts.iter().any(|&amount| amount != 0)
    }

    /// The available part of an unused amount.
    pub fn offer(&self, node: usize, at: usize, unused: i64) -> i64 {
        if self.drained[node] { 0 } else { (unused - self.amounts[at]).max(0) }
    }
}
