//! What nodes have but do not offer: those that are drained, and amounts that are withheld.
use serde::{Deserialize, Serialize};

/// What is on the nodes but not on offer; kept only while something is unavailable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Unavailable {
    /// Nodes that take no job.
    pub drained: Vec<bool>,
    /// Amounts not on offer, node-major.
    pub amounts: Vec<i64>,
    /// Capacity less use, node-major: negative never, whatever is unavailable.
    pub unused: Vec<i64>,
    /// How many nodes do not offer all that is unused.
    pub nodes: usize,
}

impl Unavailable {
    /// Jobs hold so much less, or more, of an amount: what is unused and what is on offer of it then.
    #[inline(never)]
    pub fn change(&mut self, node: usize, at: usize, amount: i64) -> (i64, i64) {
        self.unused[at] += amount;
        (self.unused[at], self.offer(node, at, self.unused[at]))
    }

    /// Whether a node does not offer all that is unused.
    pub fn holds_back(&self, node: usize) -> bool {
        let resources = self.amounts.len() / self.drained.len();
        let amounts = &self.amounts[node * resources..(node + 1) * resources];
        self.drained[node] || amounts.iter().any(|&amount| amount != 0)
    }

    /// What is on offer of an unused amount.
    pub fn offer(&self, node: usize, at: usize, unused: i64) -> i64 {
        if self.drained[node] { 0 } else { (unused - self.amounts[at]).max(0) }
    }
}
