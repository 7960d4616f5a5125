//! Job attributes: numbers that stand for names (users, queues, associations), for rules that use them.
use serde::{Deserialize, Serialize};

use super::RunEvents;

/// Attributes by slot, one column each; a column is empty if nothing reads it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attributes {
    /// The tier of the partitions that a job is submitted to: jobs of a higher tier precede others in any order.
    pub tier: Vec<i32>,
    /// The priority of the queue in which a job waits.
    pub queue_priority: Vec<i32>,
    /// The least number of nodes that a job needs.
    pub nodes: Vec<f64>,
    /// The number of a job's user, from 1; 0 if it has none. Empty if nothing reads it, like the next two columns.
    pub user: Vec<u32>,
    /// The number of the job's association: a user in an account.
    pub association: Vec<u32>,
    /// The number of the job's array.
    pub array: Vec<u32>,
    /// True if a job may be requeued to run again from its start. Empty if all may.
    pub requeue: Vec<bool>,
    /// The time at which a job without a known run time is cancelled, seconds; infinity for other jobs. Empty if
    /// there are no such jobs.
    pub cancelled_at: Vec<f64>,
    /// Events during the runs of jobs.
    #[serde(default, skip_serializing_if = "RunEvents::is_empty")]
    pub run_events: RunEvents,
    /// Seconds that jobs may run beyond their time limits: in the first partition of each job, in the second, and so
    /// on. Empty if no partition sets it, or nothing reads it.
    pub over_time_limits: Vec<Vec<f64>>,
    /// Attributes that differ among the partitions of a job: for the first partition of each job, then the second, and
    /// so on. Empty if none differs, or nothing reads them.
    pub places: Vec<PlaceAttributes>,
    /// Factors of the multifactor priority; None if it is not used.
    pub factors: Option<Box<JobFactors>>,
}

/// Attributes of a partition for each job, by slot: one column each, empty if all values are 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaceAttributes {
    /// Tier of the partition.
    pub tier: Vec<i32>,
    /// Factor of the partition in the multifactor priority.
    pub partition: Vec<f64>,
    /// For each weighted resource, the fraction of the partition's amount that a job requests.
    pub resources: Vec<Vec<f64>>,
}

impl PlaceAttributes {
    /// The tier of the partition of a job.
    #[must_use]
    pub fn tier(&self, slot: u32) -> i32 {
        self.tier.get(slot as usize).copied().unwrap_or_default()
    }
}

/// Job factors of the multifactor priority, by slot: one column each, empty if all values are 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobFactors {
    /// The factor of the association.
    pub association: Vec<f64>,
    /// The factor of the partition.
    pub partition: Vec<f64>,
    /// The factor of the quality of service.
    pub qos: Vec<f64>,
    /// Subtracted from the sum.
    pub nice: Vec<f64>,
    /// For each weighted resource, the fraction of the total that a job requests.
    pub resources: Vec<Vec<f64>>,
}

/// The value of a column that may be empty.
#[must_use]
pub fn value_of(column: &[f64], slot: u32) -> f64 {
    column.get(slot as usize).copied().unwrap_or_default()
}

impl Attributes {
    /// The tier of a job; 0 by default.
    #[must_use]
    pub fn tier(&self, slot: u32) -> i32 {
        self.tier.get(slot as usize).copied().unwrap_or_default()
    }

    /// The priority of a job's queue; 0 by default.
    #[must_use]
    pub fn queue_priority(&self, slot: u32) -> i32 {
        self.queue_priority.get(slot as usize).copied().unwrap_or_default()
    }

    /// Seconds that a job may run beyond its time limit in the partition at this index among its partitions; None if
    /// not set.
    #[must_use]
    pub fn over_time_limit(&self, slot: u32, place: usize) -> Option<f64> {
        self.over_time_limits.get(place)?.get(slot as usize).copied()
    }

    /// Forbids to requeue the job in a slot of a streamed run.
    pub fn forbid_requeue(&mut self, slot: u32) {
        let count = self.requeue.len().max(slot as usize + 1);
        self.requeue.resize(count, false);
    }

    /// Returns whether a job may be requeued to run again from its start.
    #[must_use]
    pub fn may_be_requeued(&self, slot: u32) -> bool {
        self.requeue.get(slot as usize).copied().unwrap_or(true)
    }

    /// The time at which a job without a known run time is cancelled; None for other jobs.
    #[must_use]
    pub fn cancelled_at(&self, slot: u32) -> Option<f64> {
        self.cancelled_at.get(slot as usize).copied().filter(|time| time.is_finite())
    }

    /// Sets the cancellation time of the job in a slot, which may be reused. The column stays empty if no job has one.
    pub fn put_cancellation(&mut self, slot: u32, time: Option<f64>) {
        let slot = slot as usize;
        if self.cancelled_at.is_empty() && time.is_none() {
            return;
        }
        if self.cancelled_at.len() <= slot {
            self.cancelled_at.resize(slot + 1, f64::INFINITY);
        }
        self.cancelled_at[slot] = time.unwrap_or(f64::INFINITY);
    }

    /// The least number of nodes that a job needs; 0 by default.
    #[must_use]
    pub fn nodes(&self, slot: u32) -> f64 {
        value_of(&self.nodes, slot)
    }
}
