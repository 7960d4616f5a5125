//! What happens to jobs while they run, by their own elapsed time (S18): they are requeued, suspended, cancelled or killed.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::JobState;

/// What happens to a job when it has worked for so long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum RunEvent {
    /// Its attempt is over: it keeps nothing, and waits again.
    Requeue,
    /// It keeps what it has done, and waits again after so many seconds.
    Suspend(f64),
    /// Its last run is over: it is in this state.
    End(JobState),
}

/// What a job does until something happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// The work of its attempt until then, seconds at rate 1.
    pub until: f64,
    /// What happens then.
    pub event: RunEvent,
}

/// The legs of each job to which something happens, by slot. The last of each, and no other, is an end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEvents(BTreeMap<u32, Vec<Leg>>);

impl RunEvents {
    /// Nothing happens to jobs while they run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a leg behind those that a job has.
    pub fn add(&mut self, job: u32, leg: Leg) {
        self.0.entry(job).or_default().push(leg);
    }

    /// Whether the last leg of each job, and no other, is its end.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        let is_end = |leg: &Leg| matches!(leg.event, RunEvent::End(_));
        self.0.values().all(|legs| {
            legs.last().is_some_and(is_end) && legs.iter().filter(|&leg| is_end(leg)).count() == 1
        })
    }

    /// The jobs to which something happens, and the first leg of each.
    pub fn first_legs(&self) -> impl Iterator<Item = (u32, Leg)> {
        self.0.iter().filter_map(|(&job, legs)| Some((job, *legs.first()?)))
    }

    /// The leg of a job that follows on so many; the last one behind that.
    #[must_use]
    pub fn leg(&self, job: u32, over: u32) -> Option<Leg> {
        let legs = self.0.get(&job)?;
        legs.get(over as usize).or_else(|| legs.last()).copied()
    }

    /// How many legs a job has before its last one.
    #[must_use]
    pub fn before_last(&self, job: u32) -> u32 {
        self.0.get(&job).map_or(0, |legs| legs.len().saturating_sub(1) as u32)
    }
}
