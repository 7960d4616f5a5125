//! Which entries one cycle of backfill plans; others may only start now.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::situation::Entry;

/// What an entry must be to be planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reserves {
    /// `bf_job_part_count_reserve`: so many jobs of each partition; 0 for all.
    pub of_partition: usize,
    /// `bf_min_prio_reserve`: those of this priority or a higher one.
    pub min_priority: f64,
    /// `bf_min_age_reserve`: those that have been eligible for so many seconds.
    pub min_age: f64,
    /// `bf_one_resv_per_job`: only the first entry of a job that can be.
    pub one_per_job: bool,
}

/// What has been planned in a cycle.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Planned {
    /// Plans by partition.
    of_partition: Vec<usize>,
    /// The jobs that have a plan, where they may have one only.
    jobs: BTreeSet<u32>,
}

impl Planned {
    /// Nothing, on so many partitions.
    pub fn none(partitions: usize) -> Self {
        Self { of_partition: vec![0; partitions], jobs: BTreeSet::new() }
    }

    /// Whether an entry may be planned at a time.
    pub fn admits(&self, reserves: &Reserves, entry: &Entry, now: f64) -> bool {
        let is_full =
            reserves.of_partition > 0 && self.of_partition[entry.partition] >= reserves.of_partition;
        let is_young = now - entry.eligible < reserves.min_age;
        !is_full && !is_young && entry.priority >= reserves.min_priority && !self.jobs.contains(&entry.job)
    }

    /// An entry is planned.
    pub fn add(&mut self, reserves: &Reserves, entry: &Entry) {
        self.of_partition[entry.partition] += 1;
        if reserves.one_per_job {
            self.jobs.insert(entry.job);
        }
    }
}
