//! The running jobs that carry applications: the nodes of their ranks, and the nodes that they are to have next.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::time::Time;

/// A job at a scheduling point, until the scheduler has been asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingPoint {
    /// The job.
    pub job: u32,
    /// How many tasks its application asks for, where it does.
    pub requested_tasks: Option<u32>,
}

/// The running jobs that carry applications.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApplicationState {
    /// What they do.
    pub execution: Execution,
    /// The nodes of each running job by rank.
    ranks: BTreeMap<u32, Vec<u32>>,
    /// What running jobs are to have from their next scheduling point on, by rank.
    pending: BTreeMap<u32, Vec<u32>>,
    /// The nodes by rank of jobs whose ranks do not follow one another on their nodes, in their latest run.
    unpacked: BTreeMap<u32, Vec<u32>>,
    /// GPUs per node of jobs for which the scheduler chose them.
    pub chosen_gpus: BTreeMap<u32, u32>,
    at_point: Vec<SchedulingPoint>,
    /// When an application does something next, as far as it was looked at.
    pub next: Time,
}

impl ApplicationState {
    /// No application runs yet.
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

    /// The nodes of a running job by rank; empty where it does not run.
    #[must_use]
    pub fn ranks(&self, job: u32) -> &[u32] {
        self.ranks.get(&job).map_or(&[], Vec::as_slice)
    }

    /// Sets the nodes of a job by rank.
    pub fn set_ranks(&mut self, job: u32, nodes: Vec<u32>) {
        self.ranks.insert(job, nodes);
    }

    /// Keeps the nodes of a job by rank, beyond its end too, unless its ranks are packed: these follow from its placement.
    pub fn keep_ranks(&mut self, job: u32, packed: &[u32]) {
        let ranks = self.ranks(job);
        if ranks == packed {
            self.unpacked.remove(&job);
        } else {
            self.unpacked.insert(job, ranks.to_vec());
        }
    }

    /// The nodes by rank of all jobs whose ranks were not packed when they started, by job.
    pub fn unpacked_ranks(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.unpacked.iter().map(|(job, nodes)| (*job, nodes.as_slice()))
    }

    /// What a running job is to have from its next scheduling point on, by rank; None where nothing was decided.
    #[must_use]
    pub fn pending_allocation(&self, job: u32) -> Option<&[u32]> {
        self.pending.get(&job).map(Vec::as_slice)
    }

    /// Sets what a running job is to have from its next scheduling point on; None: what it has.
    pub fn set_pending_allocation(&mut self, job: u32, nodes: Option<Vec<u32>>) {
        match nodes {
            Some(nodes) => self.pending.insert(job, nodes),
            None => self.pending.remove(&job),
        };
    }

    /// Takes out what a job is to have, which it gets now.
    pub fn take_pending_allocation(&mut self, job: u32) -> Option<Vec<u32>> {
        self.pending.remove(&job)
    }

    /// What a running job is to have, or has where nothing was decided, by rank.
    #[must_use]
    pub fn next_ranks(&self, job: u32) -> &[u32] {
        self.pending_allocation(job).unwrap_or_else(|| self.ranks(job))
    }

    /// The jobs at a scheduling point, in the order in which they came there.
    #[must_use]
    pub fn at_scheduling_point(&self) -> &[SchedulingPoint] {
        &self.at_point
    }

    /// The scheduling point at which a job is.
    #[must_use]
    pub fn scheduling_point(&self, job: u32) -> Option<SchedulingPoint> {
        self.at_point.iter().copied().find(|point| point.job == job)
    }

    /// A job comes to a scheduling point.
    pub fn arrive(&mut self, point: SchedulingPoint) {
        self.at_point.push(point);
    }

    /// Takes out all jobs at scheduling points, which go on.
    pub fn take_scheduling_points(&mut self) -> Vec<SchedulingPoint> {
        std::mem::take(&mut self.at_point)
    }

    /// Ranks of a running job that it loses at its next scheduling point if it is to have `next`, and could keep as well.
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

    /// A job no longer runs.
    pub fn forget(&mut self, job: u32) {
        self.ranks.remove(&job);
        self.pending.remove(&job);
        self.chosen_gpus.remove(&job);
        self.at_point.retain(|point| point.job != job);
    }
}
