//! What calls found of the waiting jobs (S15), recorded if gates are.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::slurm::Finding;

/// What the latest call found of a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Found {
    /// What it found; jobs are slots.
    pub finding: Finding,
    /// True if the call is a cycle of backfill.
    pub by_cycle: bool,
    /// The number of the call.
    call: u64,
}

/// What calls found of the waiting jobs: the latest cycle of backfill with the job in its queue, or else the latest call
/// of the main loop.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Findings {
    found: BTreeMap<u32, Found>,
    /// Waiting jobs that no cycle has had in its queue.
    uncycled: BTreeSet<u32>,
    /// Jobs with findings since the latest look.
    fresh: BTreeSet<u32>,
    calls: u64,
}

impl Findings {
    /// Return the number of a call that begins.
    pub fn begin_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    /// Add jobs that enter the queue.
    pub fn enter(&mut self, jobs: &[u32]) {
        self.leave(jobs);
        self.uncycled.extend(jobs);
    }

    /// Remove jobs that leave the queue.
    pub fn leave(&mut self, jobs: &[u32]) {
        for job in jobs {
            self.found.remove(job);
            self.uncycled.remove(job);
            self.fresh.remove(job);
        }
    }

    /// Return whether findings of the main loop matter for some job.
    pub fn await_main_loop(&self) -> bool {
        !self.uncycled.is_empty()
    }

    /// Record what a call found of an entry of a job: of its entries, that which is furthest down the table of gates.
    pub fn note(&mut self, job: u32, call: u64, by_cycle: bool, finding: Finding) {
        if !by_cycle && !self.uncycled.contains(&job) {
            return;
        }
        if by_cycle {
            self.uncycled.remove(&job);
        }
        let known = self.found.get(&job).filter(|found| found.call == call);
        if known.is_none_or(|found| finding.rank() > found.finding.rank()) {
            self.found.insert(job, Found { finding, by_cycle, call });
            self.fresh.insert(job);
        }
    }

    /// Return what the latest call found of a job.
    pub fn of(&self, job: u32) -> Option<Found> {
        self.found.get(&job).copied()
    }

    /// Return the jobs with findings since the latest look.
    pub fn fresh(&self) -> &BTreeSet<u32> {
        &self.fresh
    }

    /// End a look.
    pub fn seen(&mut self) {
        self.fresh.clear();
    }
}
