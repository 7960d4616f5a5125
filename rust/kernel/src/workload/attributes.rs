//! What jobs are called and belong to: numbers that stand for names, for rules that go by them.
use serde::{Deserialize, Serialize};

use super::RunEvents;

/// Attributes by slot, a column each; a column is empty where nothing asks for it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attributes {
    /// The tier of the partitions that a job is submitted to: jobs of a higher tier come first, whatever the order.
    pub tier: Vec<i32>,
    /// The priority of the queue in which a job waits.
    pub queue_priority: Vec<i32>,
    /// The fewest nodes that a job takes.
    pub nodes: Vec<f64>,
    /// The number of a job's user, from 1; 0 where it has none. Empty where nothing asks for it, as the next.
    pub user: Vec<u32>,
    /// The number of its association: a user in an account.
    pub association: Vec<u32>,
    /// The number of the array that it is a task of.
    pub array: Vec<u32>,
    /// Whether a job may be put back to run again from its start. Empty where all may.
    pub requeue: Vec<bool>,
    /// When a job that has no run time of its own is cancelled, seconds; infinite for the others. Empty where there is none.
    pub cancelled_at: Vec<f64>,
    /// What happens to jobs while they run.
    #[serde(default, skip_serializing_if = "RunEvents::is_empty")]
    pub run_events: RunEvents,
    /// Seconds that jobs may run beyond their limits: in the first partition of each, in the second, and so on. Empty where no
    /// partition says so, or nothing asks for it.
    pub over_time_limits: Vec<Vec<f64>>,
    /// What differs among the partitions of a job: the first of each, then the second, and so on. Empty where nothing does, or
    /// nothing asks for it.
    pub places: Vec<PlaceAttributes>,
    /// What the multifactor priority asks besides; None where nothing asks for it.
    pub factors: Option<Box<JobFactors>>,
}

/// What a partition is to each of the jobs, by slot: a column each, empty where all have 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlaceAttributes {
    /// Its tier.
    pub tier: Vec<i32>,
    /// Its factor in the multifactor priority.
    pub partition: Vec<f64>,
    /// For each resource that has a weight there, the part of what the partition has that a job asks for.
    pub resources: Vec<Vec<f64>>,
}

impl PlaceAttributes {
    /// The tier of the partition of a job.
    #[must_use]
    pub fn tier(&self, slot: u32) -> i32 {
        self.tier.get(slot as usize).copied().unwrap_or_default()
    }
}

/// What the multifactor priority asks of jobs, by slot: a column each, empty where all have 0.
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
    /// For each resource that has a weight, the part of it that a job asks for.
    pub resources: Vec<Vec<f64>>,
}

/// The value of a column that may be empty.
#[must_use]
pub fn value_of(column: &[f64], slot: u32) -> f64 {
    column.get(slot as usize).copied().unwrap_or_default()
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

    /// Seconds that a job may run beyond its limit in the partition at this place among its own; None where none says so.
    #[must_use]
    pub fn over_time_limit(&self, slot: u32, place: usize) -> Option<f64> {
        self.over_time_limits.get(place)?.get(slot as usize).copied()
    }

    /// Whether a job may be put back to run again from its start.
    #[must_use]
    pub fn may_be_requeued(&self, slot: u32) -> bool {
        self.requeue.get(slot as usize).copied().unwrap_or(true)
    }

    /// When a job is cancelled that has no run time of its own; None for the others.
    #[must_use]
    pub fn cancelled_at(&self, slot: u32) -> Option<f64> {
        self.cancelled_at.get(slot as usize).copied().filter(|time| time.is_finite())
    }

    /// Says when the job of a slot, which may be used again, is cancelled. The column stays empty where no job can be.
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

    /// The fewest nodes that a job takes; 0 unless given.
    #[must_use]
    pub fn nodes(&self, slot: u32) -> f64 {
        value_of(&self.nodes, slot)
    }
}
