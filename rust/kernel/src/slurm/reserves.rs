//! Conditions under which a backfill cycle plans an entry; other entries may only start now.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::controller_input::Entry;
use super::parameters::SlurmParameters;

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
    pub fn has_all_of_array(&self, parameters: &SlurmParameters, entry: &Entry) -> bool {
        let planned = entry.owner.array.and_then(|array| self.of_array.get(&(array, entry.partition)));
        planned.is_some_and(|&planned| planned >= parameters.bf_max_job_array_resv.max(1))
    }

    /// Return whether an entry may be planned at this time.
    pub fn admits(&self, parameters: &SlurmParameters, entry: &Entry, now: f64) -> bool {
        let most = parameters.bf_job_part_count_reserve;
        let is_full = most > 0 && self.of_partition[entry.partition] >= most;
        let is_young = now - entry.eligible < parameters.bf_min_age_reserve;
        let has_priority = entry.priority >= parameters.bf_min_prio_reserve;
        !is_full && !is_young && has_priority && !self.jobs.contains(&entry.job)
    }

    /// Record the plan of an entry.
    pub fn add(&mut self, parameters: &SlurmParameters, entry: &Entry) {
        self.of_partition[entry.partition] += 1;
        if parameters.bf_one_resv_per_job {
            self.jobs.insert(entry.job);
        }
        if let Some(array) = entry.owner.array {
            *self.of_array.entry((array, entry.partition)).or_default() += 1;
        }
    }
}
