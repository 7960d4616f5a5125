//! How far preemption is: for which job others have just been preempted, what became of these, and when running jobs may be
//! victims, and when those that run on for their grace time give up their nodes.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::execution::EndKey;
use crate::index::IndexedHeap;
use crate::scenario::Scenario;
use crate::time::Time;

use super::State;

/// How far preemption is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PreemptionState {
    /// The jobs for which others have just been preempted, in the order of the queue.
    pub started_for: Vec<u32>,
    /// Those that have given up their nodes in this pass, and neither wait again nor have ended yet.
    pub victims: Vec<u32>,
    /// When running jobs have run long enough to be victims, until a pass at that time.
    exemptions: BTreeSet<(Time, u32)>,
    /// The grace times that are not over yet, by the places of the victims among the running jobs.
    graces: IndexedHeap<EndKey>,
    /// By the same places, when victims that run on give up their nodes, and for which job; until they do.
    victims_running: BTreeMap<u32, (Time, u32)>,
    /// The victims that have run on for their grace time and wait again, and for which job they gave up their nodes.
    pub fallen: BTreeMap<u32, u32>,
}

impl PreemptionState {
    /// When the next running job may be a victim. O(log n), n running jobs.
    #[must_use]
    pub fn next_exemption(&self) -> Time {
        self.exemptions.first().map_or(Time::NEVER, |&(time, _)| time)
    }

    /// A job starts, which may be a victim from this time on.
    pub fn begin_exemption(&mut self, job: u32, end: f64) {
        self.exemptions.insert((Time(end), job));
    }

    /// A job gives back its nodes.
    pub fn end_exemption(&mut self, job: u32, end: f64) {
        self.exemptions.remove(&(Time(end), job));
    }

    /// A pass looks at all jobs that may be victims now.
    pub fn pass_exemptions(&mut self, now: f64) {
        while self.exemptions.first().is_some_and(|&(time, _)| time <= Time(now)) {
            self.exemptions.pop_first();
        }
    }

    /// When the next victim gives up its nodes. O(1).
    #[must_use]
    pub fn next_grace_end(&self) -> Time {
        self.graces.peek().map_or(Time::NEVER, |((time, _), _)| time)
    }

    /// The next victim that gives up its nodes by now, by its place among the running jobs, and for which job. O(log n).
    pub fn pop_grace_end(&mut self, now: f64) -> Option<(u32, u32)> {
        if self.next_grace_end() > Time(now) {
            return None;
        }
        let (_, run) = self.graces.pop()?;
        self.victims_running.get(&run).map(|&(_, preemptor)| (run, preemptor))
    }

    /// When a running job gives up its nodes as a victim; None where it is none.
    #[must_use]
    pub fn grace_end(&self, run: u32) -> Option<Time> {
        self.victims_running.get(&run).map(|&(time, _)| time)
    }

    /// Whether running jobs are victims of this job already. O(victims).
    #[must_use]
    pub fn has_victims(&self, job: u32) -> bool {
        self.victims_running.values().any(|&(_, preemptor)| preemptor == job)
    }

    /// A run is over.
    pub fn end_grace(&mut self, run: u32) {
        if self.victims_running.remove(&run).is_some() {
            self.graces.remove(run);
        }
    }
}

impl State {
    /// A running job is to give up its nodes at a time, for another job, and is expected to end then at the latest.
    pub fn begin_grace(&mut self, scenario: &Scenario, victim: u32, end: f64, preemptor: u32) {
        let Some(run) = self.jobs.run(victim) else { return };
        self.remove_expected_end(scenario, victim);
        if let Some(preemption) = &mut self.preemption {
            preemption.graces.set(run, (Time(end), scenario.job(victim).row));
            preemption.victims_running.insert(run, (Time(end), preemptor));
        }
        self.add_expected_end(scenario, victim);
    }

    /// When a running job gives up its nodes as a victim; never where it is none.
    pub(super) fn grace_end(&self, job: u32) -> Time {
        let Some(preemption) = &self.preemption else { return Time::NEVER };
        self.jobs.run(job).and_then(|run| preemption.grace_end(run)).unwrap_or(Time::NEVER)
    }
}
