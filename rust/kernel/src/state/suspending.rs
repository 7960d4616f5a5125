//! Jobs that have been suspended and still hold their nodes (S17).
use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::time::Time;

use super::State;

/// A job that has been suspended and still holds its nodes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Suspension {
    job: u32,
    /// What it keeps of its run.
    pub done: f64,
    /// When it was suspended.
    pub since: f64,
    /// When it gives up its nodes.
    pub end: f64,
}

impl State {
    /// The suspension of a job that still holds its nodes. O(such jobs).
    #[must_use]
    pub fn suspension(&self, job: u32) -> Option<Suspension> {
        self.suspending.iter().copied().find(|each| each.job == job)
    }

    /// A running job is to give up its nodes at a time, and keeps what it has done.
    pub fn begin_suspension(&mut self, scenario: &Scenario, job: u32, done: f64, end: f64) {
        self.remove_expected_end(scenario, job);
        self.suspending.push(Suspension { job, done, since: self.now, end });
        self.add_expected_end(scenario, job);
    }

    /// A job runs no more.
    pub(super) fn forget_suspension(&mut self, job: u32) {
        self.suspending.retain(|each| each.job != job);
    }

    /// When a job that has been suspended gives up its nodes; never where it has not been.
    pub(super) fn suspension_end(&self, job: u32) -> Time {
        self.suspension(job).map_or(Time::NEVER, |each| Time(each.end))
    }
}
