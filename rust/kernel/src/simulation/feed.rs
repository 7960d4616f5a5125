//! Source and sink of jobs.
use std::sync::Arc;

use crate::scenario::Scenario;
use crate::state::State;
use crate::time::Time;
use crate::workload::ExternalEvent;

/// Source of jobs and external events, and sink of jobs that are over.
pub trait Feed {
    /// Error of reading or writing.
    type Error;

    /// True if the records of jobs are kept; otherwise slots are reused, and nothing may be recorded by slot.
    const KEEPS_JOBS: bool = true;

    /// Return when the next job is submitted; [`Time::NEVER`] after the last one.
    fn next_time(&self) -> Time;

    /// Return when the first job is submitted; 0 without jobs. Called before the first `submit`.
    fn first_submission(&self) -> f64 {
        let first = self.next_time();
        if first == Time::NEVER { 0.0 } else { first.0 }
    }

    /// Add the next job, which is due, to the scenario and the state. Return its slot.
    fn submit(&mut self, scenario: &mut Arc<Scenario>, state: &mut State) -> Result<u32, Self::Error>;

    /// Return the time of the next external event; [`Time::NEVER`] after the last one.
    fn next_event_time(&self) -> Time {
        Time::NEVER
    }

    /// Return the next external event, which is due; None if its job does not exist.
    fn take_event(&mut self, _scenario: &Scenario) -> Result<Option<ExternalEvent>, Self::Error> {
        Ok(None)
    }

    /// Stop providing jobs and external events.
    fn close(&mut self) {}

    /// Return the run time of a job without its overheads, seconds.
    fn run_time(&self, scenario: &Scenario, job: u32) -> f64 {
        scenario.job(job).run_time
    }

    /// Handle a job that ended or was rejected.
    fn finished(&mut self, scenario: &Scenario, state: &mut State, job: u32) -> Result<(), Self::Error>;
}
