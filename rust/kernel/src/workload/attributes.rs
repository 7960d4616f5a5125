//! What jobs are called and belong to: numbers that stand for names, for rules that go by them.
use serde::{Deserialize, Serialize};

/// Attributes by slot, a column each; a column is empty where nothing asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// The tier of the partitions that a job is submitted to: jobs of a higher tier come first, whatever the order.
    pub tier: Vec<i32>,
    /// The priority of the queue in which a job waits.
    pub queue_priority: Vec<i32>,
}

impl Attributes {
    /// The tier of a job; 0 unless given.
    #[must_use]
    pub fn tier(&self, slot: u32) -> i32 {
        self.tier.get(slot as usize).copied().unwrap_or_default()
    }

    /// The priority of a job's queue; 0 unless given.
    #[must_use]
    pub fn queue_priority(&self, slot: u32) -> i32 {
        self.queue_priority.get(slot as usize).copied().unwrap_or_default()
    }
}
