//! The order of the queue.
use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The place of a job in the queue: tier, key, submit time, row (S8); and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rank {
    /// The tier of its partitions, the highest first.
    pub tier: Reverse<i32>,
    /// What the priority rule gives, the smallest first.
    pub key: Time,
    /// When the job was submitted.
    pub submit_time: Time,
    /// Its row.
    pub row: u64,
    /// Its slot.
    pub job: u32,
}
