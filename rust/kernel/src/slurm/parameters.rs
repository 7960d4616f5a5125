//! How the controller is set up.
use serde::{Deserialize, Serialize};

use super::select::Select;
use super::situation::{Amounts, Partition};

/// How backfill is set up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillParameters {
    /// `bf_resolution`, seconds.
    pub resolution: f64,
    /// How far jobs are planned, seconds.
    pub window: f64,
    /// What is added to times to get seconds of the clock, on which plans are rounded.
    pub epoch: f64,
    /// `bf_max_job_test`: so many entries are looked at.
    pub max_entries: usize,
    /// `bf_max_job_part`: so many of each partition; 0 for all.
    pub max_entries_of_partition: usize,
    /// `bf_job_part_count_reserve`: so many jobs of each partition are planned, and those behind may only start now; 0 for all.
    pub plans_of_partition: usize,
}

impl BackfillParameters {
    /// These, with every entry looked at and every job planned.
    #[must_use]
    pub fn unlimited(resolution: f64, window: f64, epoch: f64) -> Self {
        let max_entries = usize::MAX;
        Self { resolution, window, epoch, max_entries, max_entries_of_partition: 0, plans_of_partition: 0 }
    }
}

/// What does not change from call to call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Which nodes a job gets.
    pub select: Select,
    /// What each node has when it is idle.
    pub machine: Vec<Amounts>,
    /// The partitions.
    pub partitions: Vec<Partition>,
    /// How backfill is set up.
    pub backfill: BackfillParameters,
}

impl Setup {
    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.machine.len()
    }
}
