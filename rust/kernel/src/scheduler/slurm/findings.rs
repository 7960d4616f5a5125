//! What calls found of the waiting jobs (S15), recorded if gates are.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::slurm::Finding;
use crate::time::Time;

/// What the latest call found of a job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Found {
    /// What it found; jobs are slots.
    pub finding: Finding,
    /// True if a cycle of backfill has had it in its queue.
    pub by_cycle: bool,
    /// The start that the latest such cycle has planned; NaN for none.
    pub promised: f64,
    /// The number of the call.
    call: u64,
}

/// What calls found of the waiting jobs: the latest cycle of backfill with the job in its queue, or else the latest call
/// of the main loop.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Findings {
    found: BTreeMap<u32, Found>,
    /// Waiting jobs that no cycle has had in its queue.
    uncycled: BTreeSet<u32>,
    /// Jobs with findings since the latest look.
    fresh: BTreeSet<u32>,
    /// Jobs that have left the queue since then.
    left: BTreeSet<u32>,
    calls: u64,
    /// When gates change next without an event or a call.
    turn: Time,
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            found: BTreeMap::new(),
            uncycled: BTreeSet::new(),
            fresh: BTreeSet::new(),
            left: BTreeSet::new(),
            calls: 0,
            turn: Time::NEVER,
        }
    }
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
            if self.found.remove(job).is_some() {
                self.left.insert(*job);
            }
            self.uncycled.remove(job);
            self.fresh.remove(job);
        }
    }

    /// Return whether findings of the main loop matter for some job.
    pub fn await_main_loop(&self) -> bool {
        !self.uncycled.is_empty()
    }

    /// Record what a call found of an entry of a job, and the start that it planned: of its entries, the finding that is
    /// furthest down the table of gates, and the earliest start.
    pub fn note(&mut self, job: u32, (call, is_cycle): (u64, bool), finding: Finding, planned: f64) {
        if is_cycle {
            self.uncycled.remove(&job);
        }
        let by_cycle = !self.uncycled.contains(&job);
        if by_cycle && !is_cycle && finding != Finding::Preempted {
            return;
        }
        let known = self.found.get(&job).copied();
        let of_call = known.filter(|found| found.call == call);
        let promised = match known {
            Some(found) if !is_cycle || of_call.is_some() => planned.min(found.promised),
            _ => planned,
        };
        let finding = match of_call {
            Some(found) if finding.rank() <= found.finding.rank() => found.finding,
            _ => finding,
        };
        self.found.insert(job, Found { finding, by_cycle, promised, call });
        self.fresh.insert(job);
    }

    /// Return what the latest call found of a job.
    pub fn of(&self, job: u32) -> Option<Found> {
        self.found.get(&job).copied()
    }

    /// Return the jobs with findings since the latest look.
    pub fn fresh(&self) -> &BTreeSet<u32> {
        &self.fresh
    }

    /// Return the jobs that have left the queue since then.
    pub fn left(&self) -> &BTreeSet<u32> {
        &self.left
    }

    /// Return when gates change next without an event or a call.
    pub fn turn(&self) -> Time {
        self.turn
    }

    /// End a look; gates change next at this time without an event or a call.
    pub fn seen(&mut self, turn: Time) {
        self.fresh.clear();
        self.left.clear();
        self.turn = turn;
    }
}
