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

    /// When the next job is submitted; [`Time::NEVER`] after the last.
    fn next_time(&self) -> Time;

    /// Hands over the next job, which is due: its slot.
    fn submit(&mut self, scenario: &mut Arc<Scenario>, state: &mut State) -> Result<u32, Self::Error>;

    /// When the next external event is; [`Time::NEVER`] after the last.
    fn next_event_time(&self) -> Time {
        Time::NEVER
    }

    /// Takes the next external event, which is due.
    fn take_event(&mut self, _scenario: &Scenario) -> Option<ExternalEvent> {
        None
    }

    /// No further job shall come, and no external event.
    fn close(&mut self) {}

    /// Takes note of a job that entered the queue.
    fn enqueued(&mut self, _view: View<'_>, _job: u32) {}

    /// Takes note of a job that started.
    fn started(&mut self, _view: View<'_>, _job: u32) {}

    /// Takes note that nothing happens from the present instant until `next`; [`Time::NEVER`] at the end.
    fn time_passes(&mut self, _view: View<'_>, _next: Time) {}

    /// Takes note of a job that ended or was rejected.
    fn finished(&mut self, scenario: &Scenario, state: &mut State, job: u32) -> Result<(), Self::Error>;
}
