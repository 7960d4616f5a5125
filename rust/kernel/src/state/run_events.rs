//! How far jobs are to which something happens while they run (S18).
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::time::Time;
use crate::workload::{JobState, Leg, RunEvent};

use super::State;

/// How many legs of each job are over, and which jobs wait outside the queue for now; empty where nothing happens to jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LegState {
    /// By slot; none where the first is under way.
    over: BTreeMap<u32, u32>,
    /// The jobs whose run an event has ended, so that nothing else happens to them.
    ended: BTreeSet<u32>,
    /// When jobs that were suspended wait in the queue again, by slot.
    pub returns: BTreeMap<u32, Time>,
}

impl State {
    /// The leg that a job is on, or begins with its next run; None where nothing happens to it. A look ahead knows of none.
    #[must_use]
    pub fn leg(&self, scenario: &Scenario, job: u32) -> Option<Leg> {
        let events = &scenario.attributes.run_events;
        if events.is_empty() || self.assumes_estimates {
            return None;
        }
        events.leg(job, self.legs.over.get(&job).copied().unwrap_or_default())
    }

    /// What happens to a job at the end of its present run, so that it waits again; None where it ends then.
    #[must_use]
    pub fn run_event(&self, scenario: &Scenario, job: u32) -> Option<RunEvent> {
        self.leg(scenario, job).map(|leg| leg.event).filter(|event| !matches!(event, RunEvent::End(_)))
    }

    /// Takes the next leg of a job to be its work, of which so much is done.
    pub fn begin_next_leg(&mut self, scenario: &Scenario, job: u32, done: f64) {
        *self.legs.over.entry(job).or_default() += 1;
        if let Some(leg) = self.leg(scenario, job) {
            self.jobs.begin_leg(job, leg.until, done);
        }
    }

    /// An event ends the run of a job, and nothing else happens to it.
    pub fn end_legs(&mut self, scenario: &Scenario, job: u32) {
        let events = &scenario.attributes.run_events;
        if events.is_empty() || self.assumes_estimates {
            return;
        }
        let before_last = events.before_last(job);
        self.legs.ended.insert(job);
        self.legs.over.insert(job, before_last);
        if let Some(leg) = events.leg(job, before_last) {
            self.jobs.set_run_time(job, leg.until);
        }
    }

    /// What a job is when its work is done.
    #[must_use]
    pub fn state_when_done(&self, scenario: &Scenario, job: u32) -> JobState {
        match self.leg(scenario, job).map(|leg| leg.event) {
            Some(RunEvent::End(state)) if !self.legs.ended.contains(&job) => state,
            _ => JobState::Completed,
        }
    }
}
