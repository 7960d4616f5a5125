//! Jobs with events during their runs: suspensions, requeues, ends (S18). A run is divided into legs by these events.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::time::Time;
use crate::workload::{JobState, Leg, RunEvent};

use super::State;

/// Number of completed legs of each job, and jobs that wait outside the queue; empty without such events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LegState {
    /// By slot; missing during the first leg.
    over: BTreeMap<u32, u32>,
    /// Jobs with a run that an event has ended: they have no further events.
    ended: BTreeSet<u32>,
    /// When suspended jobs return to the queue, by slot.
    pub returns: BTreeMap<u32, Time>,
}

impl State {
    /// Return the current leg of a job, or the leg of its next run; None without events. A look-ahead has no events.
    #[must_use]
    pub fn leg(&self, scenario: &Scenario, job: u32) -> Option<Leg> {
        let events = &scenario.attributes.run_events;
        if events.is_empty() || self.assumes_estimates {
            return None;
        }
        events.leg(job, self.legs.over.get(&job).copied().unwrap_or_default())
    }

    /// Return the event at the end of a job's current run after which it waits again; None if it ends then.
    #[must_use]
    pub fn run_event(&self, scenario: &Scenario, job: u32) -> Option<RunEvent> {
        self.leg(scenario, job).map(|leg| leg.event).filter(|event| !matches!(event, RunEvent::End(_)))
    }

    /// Set the next leg of a job as its work, with this much completed.
    pub fn begin_next_leg(&mut self, scenario: &Scenario, job: u32, done: f64) {
        *self.legs.over.entry(job).or_default() += 1;
        if let Some(leg) = self.leg(scenario, job) {
            self.jobs.begin_leg(job, leg.until, done);
        }
    }

    /// End the run of a job by an event; it has no further events.
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

    /// Return the state of a job when its work is completed.
    #[must_use]
    pub fn state_when_done(&self, scenario: &Scenario, job: u32) -> JobState {
        match self.leg(scenario, job).map(|leg| leg.event) {
            Some(RunEvent::End(state)) if !self.legs.ended.contains(&job) => state,
            _ => JobState::Completed,
        }
    }
}
