//! The feed of a replay: a whole workload in the scenario, submitted in order of submit time, then row.
use std::convert::Infallible;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::simulation::{Feed, Resubmits};
use crate::state::State;
use crate::time::Time;
use crate::workload::{ExternalEvent, Job};

/// Jobs in order of submit time, then row. O(1) per job; sorting costs O(n log n), or O(n) if they are sorted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Replay {
    /// Derived from the scenario, and shared by forks.
    #[serde(skip)]
    order: Arc<[u32]>,
    next: usize,
    next_time: Time,
    /// The first submission, if it is not that of the first job: the run began earlier, with other jobs.
    #[serde(skip)]
    origin: Option<f64>,
    /// Number of external events taken.
    events: usize,
    next_event_time: Time,
}

impl Replay {
    /// Creates the feed of the jobs and events of a scenario.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let mut feed = Self::new(&scenario.jobs);
        feed.next_event_time = time_of(scenario, 0);
        feed
    }

    /// Creates the feed of these jobs.
    #[must_use]
    pub fn new(jobs: &[Job]) -> Self {
        let mut order: Vec<u32> = (0..jobs.len() as u32).collect();
        order.sort_by_key(|&job| Time(jobs[job as usize].submit_time));
        let next_time = order.first().map_or(Time::NEVER, |&job| Time(jobs[job as usize].submit_time));
        Self {
            order: order.into(),
            next: 0,
            next_time,
            origin: None,
            events: 0,
            next_event_time: Time::NEVER,
        }
    }

    /// Sets the first submission of a run that began earlier, seconds.
    #[must_use]
    pub fn begun_at(self, origin: Option<f64>) -> Self {
        Self { origin, ..self }
    }

    /// A feed of the same jobs at the position of `other`.
    #[must_use]
    pub fn moved_to(&self, other: &Self) -> Self {
        Self { order: Arc::clone(&self.order), ..other.clone() }
    }
}

/// The time of an external event, by number; [`Time::NEVER`] after the last.
fn time_of(scenario: &Scenario, event: usize) -> Time {
    scenario.events.get(event).map_or(Time::NEVER, |event| Time(event.time))
}

impl Resubmits for Replay {
    fn submit_only(&mut self, scenario: &Scenario, mut jobs: Vec<u32>) {
        self.close();
        jobs.sort_by_key(|&job| (Time(scenario.job(job).submit_time), job));
        self.next = 0;
        self.next_time = jobs.first().map_or(Time::NEVER, |&job| Time(scenario.job(job).submit_time));
        self.order = jobs.into();
    }
}

impl Feed for Replay {
    type Error = Infallible;

    fn next_time(&self) -> Time {
        self.next_time
    }

    fn first_submission(&self) -> f64 {
        let first = if self.next_time == Time::NEVER { 0.0 } else { self.next_time.0 };
        self.origin.unwrap_or(first)
    }

    fn submit(&mut self, scenario: &mut Arc<Scenario>, _: &mut State) -> Result<u32, Infallible> {
        let job = self.order[self.next];
        self.next += 1;
        let next = self.order.get(self.next);
        self.next_time = next.map_or(Time::NEVER, |&job| Time(scenario.job(job).submit_time));
        Ok(job)
    }

    fn next_event_time(&self) -> Time {
        self.next_event_time
    }

    fn take_event(&mut self, scenario: &Scenario) -> Result<Option<ExternalEvent>, Infallible> {
        let Some(event) = scenario.events.get(self.events) else { return Ok(None) };
        self.events += 1;
        self.next_event_time = time_of(scenario, self.events);
        Ok(Some(event.event.clone()))
    }

    fn close(&mut self) {
        self.next = self.order.len();
        self.next_time = Time::NEVER;
        self.next_event_time = Time::NEVER;
    }

    fn finished(&mut self, _: &Scenario, state: &mut State, job: u32) -> Result<(), Infallible> {
        state.jobs.shorten(job);
        Ok(())
    }
}
