//! Events during the runs of jobs, by the job's own elapsed time (S18): requeue, suspension, cancellation or kill.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::JobState;

/// Event of a job after a given amount of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RunEvent {
    /// The attempt ends: the job loses its work, and waits again.
    Requeue,
    /// The job keeps its work, and waits again after this number of seconds.
    Suspend(f64),
    /// The last run ends, in this state.
    End(JobState),
}

/// The part of an attempt up to an event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// The work of the attempt until the event, seconds at rate 1.
    pub until: f64,
    /// The event.
    pub event: RunEvent,
}

/// The legs of each job that has events, by slot. Exactly the last leg of each job is an end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEvents(BTreeMap<u32, Vec<Leg>>);

impl RunEvents {
    /// Returns whether no job has events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends a leg to the legs of a job.
    pub fn add(&mut self, job: u32, leg: Leg) {
        self.0.entry(job).or_default().push(leg);
    }

    /// Returns whether exactly the last leg of each job is its end.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        let is_end = |leg: &Leg| matches!(leg.event, RunEvent::End(_));
        self.0.values().all(|legs| {
            legs.last().is_some_and(is_end) && legs.iter().filter(|&leg| is_end(leg)).count() == 1
        })
    }

    /// The jobs with events, and the first leg of each.
    pub fn first_legs(&self) -> impl Iterator<Item = (u32, Leg)> {
        self.0.iter().filter_map(|(&job, legs)| Some((job, *legs.first()?)))
    }

    /// The leg of a job after `over` earlier ones; the last leg if there are no more.
    #[must_use]
    pub fn leg(&self, job: u32, over: u32) -> Option<Leg> {
        let legs = self.0.get(&job)?;
        legs.get(over as usize).or_else(|| legs.last()).copied()
    }

    /// Number of legs of a job before its last one.
    #[must_use]
    pub fn before_last(&self, job: u32) -> u32 {
        self.0.get(&job).map_or(0, |legs| legs.len().saturating_sub(1) as u32)
    }
}
