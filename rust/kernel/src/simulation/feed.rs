//! Where jobs come from, and where they go.
use std::sync::Arc;

use crate::scenario::Scenario;
use crate::state::{State, View};
use crate::time::Time;
use crate::workload::ExternalEvent;

/// Where jobs come from and where they go when they are over.
pub trait Feed {
    /// What can go wrong in reading or writing.
    type Error;

    /// Whether what became of jobs is kept; if not, slots are used again, and nothing may be recorded by slot.
    const KEEPS_JOBS: bool = true;

    /// When the next job is submitted; [`Time::NEVER`] after the last.
    fn next_time(&self) -> Time;

    /// When the first job is submitted, whatever becomes of it; 0 without jobs. Asked before any job is handed over.
    fn first_submission(&self) -> f64 {
        let first = self.next_time();
        if first == Time::NEVER { 0.0 } else { first.0 }
    }

    /// Hands over the next job, which is due: its slot.
    fn submit(&mut self, scenario: &mut Arc<Scenario>, state: &mut State) -> Result<u32, Self::Error>;

    /// When the next external event is; [`Time::NEVER`] after the last.
    fn next_event_time(&self) -> Time {
        Time::NEVER
    }

    /// Takes the next external event, which is due; None where it is about a job that is not there.
    fn take_event(&mut self, _scenario: &Scenario) -> Result<Option<ExternalEvent>, Self::Error> {
        Ok(None)
    }

    /// No further job shall come, and no external event.
    fn close(&mut self) {}

    /// Takes note of a job that entered the queue.
    fn enqueued(&mut self, _view: View<'_>, _job: u32) {}

    /// Takes note of a job that started.
    fn started(&mut self, _view: View<'_>, _job: u32) {}

    /// Takes note of a job whose run is being cut short; `saved` seconds of its run_time need not be run again.
    fn interrupted(&mut self, _view: View<'_>, _job: u32, _saved: f64) {}

    /// Takes note of a job that ended or was rejected.
    fn finished(&mut self, scenario: &Scenario, state: &mut State, job: u32) -> Result<(), Self::Error>;
}
