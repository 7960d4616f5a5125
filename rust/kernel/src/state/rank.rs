//! The order of the queue.
use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The position of a job in the queue: tier, key, submit time, row (S8); and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank {
    /// Tier of its partitions; the highest comes first.
    pub tier: Reverse<i32>,
    /// Key of the priority rule; the smallest comes first.
    pub key: Time,
    /// Submit time of the job.
    pub submit_time: Time,
    /// Row of the job.
    pub row: u64,
    /// Slot of the job.
    pub job: u32,
}
