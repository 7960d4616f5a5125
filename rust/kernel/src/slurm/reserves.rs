//! Which entries one cycle of backfill plans; others may only start now.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::situation::Entry;

/// What an entry must be to be planned.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reserves {
    /// `bf_job_part_count_reserve`: so many jobs of each partition; 0 for all.
    pub of_partition: usize,
    /// `bf_min_prio_reserve`: those of this priority or a higher one.
    pub min_priority: f64,
    /// `bf_min_age_reserve`: those that have been eligible for so many seconds.
    pub min_age: f64,
    /// `bf_one_resv_per_job`: only the first entry of a job that can be.
    pub one_per_job: bool,
    /// `bf_max_job_array_resv`: so many tasks of an array in each partition, at least one; those behind are not looked at.
    pub of_array: usize,
}

impl Default for Reserves {
    fn default() -> Self {
        Self { of_partition: 0, min_priority: 0.0, min_age: 0.0, one_per_job: false, of_array: usize::MAX }
    }
}

/// What has been planned in a cycle.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Planned {
    /// Plans by partition.
    of_partition: Vec<usize>,
    /// The jobs that have a plan, where they may have one only.
    jobs: BTreeSet<u32>,
    /// The plans of each array in each partition.
    of_array: BTreeMap<(u32, usize), usize>,
}

impl Planned {
    /// Nothing, on so many partitions.
    pub fn none(partitions: usize) -> Self {
        Self { of_partition: vec![0; partitions], ..Self::default() }
    }

    /// Whether as many tasks of an entry's array are planned in its partition as may be.
    pub fn has_all_of_array(&self, reserves: &Reserves, entry: &Entry) -> bool {
        let planned = entry.owner.array.and_then(|array| self.of_array.get(&(array, entry.partition)));
        planned.is_some_and(|&planned| planned >= reserves.of_array)
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
        if let Some(array) = entry.owner.array {
            *self.of_array.entry((array, entry.partition)).or_default() += 1;
        }
    }
}
