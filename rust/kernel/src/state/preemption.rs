//! State of preemption: the jobs for which others were just preempted, the victims, the times at which running jobs may
//! become victims, and the ends of grace times.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::execution::EndKey;
use crate::index::IndexedHeap;
use crate::scenario::Scenario;
use crate::time::Time;

use super::State;

/// State of preemption.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PreemptionState {
    /// Jobs for which others were just preempted, in queue order.
    pub started_for: Vec<u32>,
    /// Victims of this pass that have released their nodes, and neither wait again nor have ended yet.
    pub victims: Vec<u32>,
    /// When the exempt times of running jobs end, until a pass at that time.
    exemptions: BTreeSet<(Time, u32)>,
    /// Pending ends of grace times, by the victims' indices among the running jobs.
    graces: IndexedHeap<EndKey>,
    /// By the same index: when a victim in its grace time releases its nodes, and for which job.
    victims_running: BTreeMap<u32, (Time, u32)>,
    /// Victims that wait again after their grace time, and the job for which each released its nodes.
    pub waiting_victims: BTreeMap<u32, u32>,
}

impl PreemptionState {
    /// Return when the next exempt time ends. O(log n) for n running jobs.
    #[must_use]
    pub fn next_exemption(&self) -> Time {
        self.exemptions.first().map_or(Time::NEVER, |&(time, _)| time)
    }

    /// Record that a job starts which may be a victim from this time on.
    pub fn begin_exemption(&mut self, job: u32, end: f64) {
        self.exemptions.insert((Time(end), job));
    }

    /// Remove the exempt time of a job that releases its nodes.
    pub fn end_exemption(&mut self, job: u32, end: f64) {
        self.exemptions.remove(&(Time(end), job));
    }

    /// Remove the exempt times that have ended: this pass examines the jobs as victims.
    pub fn pass_exemptions(&mut self, now: f64) {
        while self.exemptions.first().is_some_and(|&(time, _)| time <= Time(now)) {
            self.exemptions.pop_first();
        }
    }

    /// Return when the next victim releases its nodes. O(1).
    #[must_use]
    pub fn next_grace_end(&self) -> Time {
        self.graces.peek().map_or(Time::NEVER, |((time, _), _)| time)
    }

    /// Remove and return the next victim that releases its nodes by now (its index among the running jobs), and the job
    /// that preempts it. O(log n).
    pub fn pop_grace_end(&mut self, now: f64) -> Option<(u32, u32)> {
        if self.next_grace_end() > Time(now) {
            return None;
        }
        let (_, run) = self.graces.pop()?;
        self.victims_running.get(&run).map(|&(_, preemptor)| (run, preemptor))
    }

    /// Return when a running job releases its nodes as a victim, or None.
    #[must_use]
    pub fn grace_end(&self, run: u32) -> Option<Time> {
        self.victims_running.get(&run).map(|&(time, _)| time)
    }

    /// Return whether running jobs are already victims of this job. O(victims).
    #[must_use]
    pub fn has_victims(&self, job: u32) -> bool {
        self.victims_running.values().any(|&(_, preemptor)| preemptor == job)
    }

    /// Return whether a victim is in its grace time, or waits again after it.
    #[must_use]
    pub fn has_graces(&self) -> bool {
        !self.victims_running.is_empty() || !self.waiting_victims.is_empty()
    }

    /// Forget a run that is over.
    pub fn end_grace(&mut self, run: u32) {
        if self.victims_running.remove(&run).is_some() {
            self.graces.remove(run);
        }
    }
}

impl State {
    /// Begin the grace time of a running job, which releases its nodes for another job at `end` at the latest.
    pub fn begin_grace(&mut self, scenario: &Scenario, victim: u32, end: f64, preemptor: u32) {
        let Some(run) = self.jobs.run(victim) else { return };
        self.remove_expected_end(scenario, victim);
        if let Some(preemption) = &mut self.preemption {
            preemption.graces.set(run, (Time(end), scenario.job(victim).row));
            preemption.victims_running.insert(run, (Time(end), preemptor));
        }
        self.add_expected_end(scenario, victim);
    }

    /// Return when a running job releases its nodes as a victim, or never.
    pub(super) fn grace_end(&self, job: u32) -> Time {
        let Some(preemption) = &self.preemption else { return Time::NEVER };
        self.jobs.run(job).and_then(|run| preemption.grace_end(run)).unwrap_or(Time::NEVER)
    }
}
