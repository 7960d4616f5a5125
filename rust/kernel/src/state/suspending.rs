//! Suspended jobs that still hold their nodes (S17).
use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::time::Time;

use super::State;

/// A suspended job that still holds its nodes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Suspension {
    job: u32,
    /// Work that it keeps from its run.
    pub done: f64,
    /// When it was suspended.
    pub since: f64,
    /// When it releases its nodes.
    pub end: f64,
}

impl State {
    /// Return the suspension of a job that still holds its nodes. O(such jobs).
    #[must_use]
    pub fn suspension(&self, job: u32) -> Option<Suspension> {
        self.suspending.iter().copied().find(|each| each.job == job)
    }

    /// Suspend a running job: it releases its nodes at `end`, and keeps its completed work.
    pub fn begin_suspension(&mut self, scenario: &Scenario, job: u32, done: f64, end: f64) {
        self.remove_expected_end(scenario, job);
        self.suspending.push(Suspension { job, done, since: self.now, end });
        self.add_expected_end(scenario, job);
    }

    /// Forget the suspension of a job that no longer runs.
    pub(super) fn forget_suspension(&mut self, job: u32) {
        self.suspending.retain(|each| each.job != job);
    }

    /// Return when a suspended job releases its nodes; never if it is not suspended.
    pub(super) fn suspension_end(&self, job: u32) -> Time {
        self.suspension(job).map_or(Time::NEVER, |each| Time(each.end))
    }
}
