//! Running jobs with applications: the nodes of their ranks, and their next allocations.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::time::Time;

/// A job at a scheduling point, until the scheduler has been asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingPoint {
    /// The job.
    pub job: u32,
    /// Number of tasks requested by its application, if any.
    pub requested_tasks: Option<u32>,
}

/// State of the running jobs with applications.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApplicationState {
    /// Execution of their phases.
    pub execution: Execution,
    /// The nodes of each running job, by rank.
    ranks: BTreeMap<u32, Vec<u32>>,
    /// Nodes of running jobs from their next scheduling point on, by rank.
    pending: BTreeMap<u32, Vec<u32>>,
    /// Nodes by rank of the latest run, for jobs with ranks that are not consecutive on their nodes.
    unpacked: BTreeMap<u32, Vec<u32>>,
    /// GPUs per node of jobs for which the scheduler has chosen them.
    pub chosen_gpus: BTreeMap<u32, u32>,
    at_point: Vec<SchedulingPoint>,
    /// Time of the next application event, as far as computed.
    pub next: Time,
}

impl ApplicationState {
    /// Create the state without running applications.
    #[must_use]
    pub fn new(execution: Execution) -> Self {
        Self {
            execution,
            ranks: BTreeMap::new(),
            pending: BTreeMap::new(),
            unpacked: BTreeMap::new(),
            chosen_gpus: BTreeMap::new(),
            at_point: Vec::new(),
            next: Time::NEVER,
        }
    }

    /// Return the nodes of a running job by rank; empty if it does not run.
    #[must_use]
    pub fn ranks(&self, job: u32) -> &[u32] {
        self.ranks.get(&job).map_or(&[], Vec::as_slice)
    }

    /// Set the nodes of a job by rank.
    pub fn set_ranks(&mut self, job: u32, nodes: Vec<u32>) {
        self.ranks.insert(job, nodes);
    }

    /// Keep the nodes of a job by rank, also after its end, unless its ranks are packed: packed ranks follow from its
    /// placement.
    pub fn keep_ranks(&mut self, job: u32, packed: &[u32]) {
        let ranks = self.ranks(job);
        if ranks == packed {
            self.unpacked.remove(&job);
        } else {
            self.unpacked.insert(job, ranks.to_vec());
        }
    }

    /// Return the nodes by rank of all jobs with ranks that were not packed at their start, by job.
    pub fn unpacked_ranks(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.unpacked.iter().map(|(job, nodes)| (*job, nodes.as_slice()))
    }

    /// Return the nodes of a running job from its next scheduling point on, by rank. None if nothing was decided.
    #[must_use]
    pub fn pending_allocation(&self, job: u32) -> Option<&[u32]> {
        self.pending.get(&job).map(Vec::as_slice)
    }

    /// Set the nodes of a running job from its next scheduling point on; None keeps its current nodes.
    pub fn set_pending_allocation(&mut self, job: u32, nodes: Option<Vec<u32>>) {
        match nodes {
            Some(nodes) => self.pending.insert(job, nodes),
            None => self.pending.remove(&job),
        };
    }

    /// Remove and return the pending allocation of a job, which becomes effective now.
    pub fn take_pending_allocation(&mut self, job: u32) -> Option<Vec<u32>> {
        self.pending.remove(&job)
    }

    /// Return the pending allocation of a running job, by rank; its current nodes if nothing was decided.
    #[must_use]
    pub fn next_ranks(&self, job: u32) -> &[u32] {
        self.pending_allocation(job).unwrap_or_else(|| self.ranks(job))
    }

    /// Return the jobs at a scheduling point, in order of arrival there.
    #[must_use]
    pub fn at_scheduling_point(&self) -> &[SchedulingPoint] {
        &self.at_point
    }

    /// Return the scheduling point of a job, if it is at one.
    #[must_use]
    pub fn scheduling_point(&self, job: u32) -> Option<SchedulingPoint> {
        self.at_point.iter().copied().find(|point| point.job == job)
    }

    /// Record that a job has reached a scheduling point.
    pub fn arrive(&mut self, point: SchedulingPoint) {
        self.at_point.push(point);
    }

    /// Remove and return all jobs at scheduling points; they continue.
    pub fn take_scheduling_points(&mut self) -> Vec<SchedulingPoint> {
        std::mem::take(&mut self.at_point)
    }

    /// Return the nodes of a running job's ranks that its pending allocation `next` no longer includes; none if the job
    /// is at a scheduling point.
    #[must_use]
    pub fn releasing(&self, job: u32, next: &[u32]) -> Vec<u32> {
        if self.scheduling_point(job).is_some() {
            return Vec::new();
        }
        let mut kept: BTreeMap<u32, usize> = BTreeMap::new();
        for &node in next {
            *kept.entry(node).or_default() += 1;
        }
        let is_lost = |node: &u32| match kept.get_mut(node) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        };
        self.ranks(job).iter().copied().filter(is_lost).collect()
    }

    /// Forget a job that no longer runs.
    pub fn forget(&mut self, job: u32) {
        self.ranks.remove(&job);
        self.pending.remove(&job);
        self.chosen_gpus.remove(&job);
        self.at_point.retain(|point| point.job != job);
    }
}
