//! Conditions under which a backfill cycle plans an entry; other entries may only start now.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::controller_input::Entry;

/// Conditions for planning an entry.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reserves {
    /// `bf_job_part_count_reserve`: maximum number of jobs in each partition; 0 for all.
    pub of_partition: usize,
    /// `bf_min_prio_reserve`: minimum priority.
    pub min_priority: f64,
    /// `bf_min_age_reserve`: minimum seconds since the job became eligible.
    pub min_age: f64,
    /// `bf_one_resv_per_job`: only the first possible entry of a job.
    pub one_per_job: bool,
    /// `bf_max_job_array_resv`: maximum number of tasks of an array in each partition, at least one; later tasks are
    /// not examined.
    pub of_array: usize,
}

impl Default for Reserves {
    fn default() -> Self {
        Self { of_partition: 0, min_priority: 0.0, min_age: 0.0, one_per_job: false, of_array: usize::MAX }
    }
}

/// Plans made in a cycle.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Planned {
    /// Number of plans in each partition.
    of_partition: Vec<usize>,
    /// Jobs with a plan, if a job may have only one.
    jobs: BTreeSet<u32>,
    /// Number of plans of each array in each partition.
    of_array: BTreeMap<(u32, usize), usize>,
}

impl Planned {
    /// Create the state without plans.
    pub fn none(partitions: usize) -> Self {
        Self { of_partition: vec![0; partitions], ..Self::default() }
    }

    /// Return whether the maximum number of tasks of an entry's array is planned in its partition.
    pub fn has_all_of_array(&self, reserves: &Reserves, entry: &Entry) -> bool {
        let planned = entry.owner.array.and_then(|array| self.of_array.get(&(array, entry.partition)));
        planned.is_some_and(|&planned| planned >= reserves.of_array)
    }

    /// Return whether an entry may be planned at this time.
    pub fn admits(&self, reserves: &Reserves, entry: &Entry, now: f64) -> bool {
        let is_full =
            reserves.of_partition > 0 && self.of_partition[entry.partition] >= reserves.of_partition;
        let is_young = now - entry.eligible < reserves.min_age;
        !is_full && !is_young && entry.priority >= reserves.min_priority && !self.jobs.contains(&entry.job)
    }

    /// Record the plan of an entry.
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
