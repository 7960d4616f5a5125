//! Jobs over their limits: they stay in the queue, and no rule looks at them until one of their limits is counted down.
//!
//! A job is closed when a rule comes upon it, so that a start costs nothing for those that wait. When jobs give back what
//! they hold, the closed jobs of their counters that are within their limits now are opened again: O(log q) for each.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::accounting::{LimitCounts, Limits};
use crate::scenario::Scenario;

use super::State;

/// Stands for a counter where a job could not end within the reservation that it uses.
pub const OUT_OF_TIME: u32 = u32::MAX;

/// What jobs have that limits count, and the jobs that wait because of that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LimitState {
    /// What jobs have.
    pub counts: LimitCounts,
    /// The counter by which each closed job is over a limit.
    closed_by: BTreeMap<u32, u32>,
    /// The same, by counter.
    closed: BTreeSet<(u32, u32)>,
}

impl LimitState {
    /// Nothing waits or runs; `amounts` are the resources and the number of nodes.
    #[must_use]
    pub fn new(limits: &Limits, amounts: usize) -> Self {
        let counts = LimitCounts::new(limits, amounts);
        Self { counts, closed_by: BTreeMap::new(), closed: BTreeSet::new() }
    }

    fn close(&mut self, job: u32, counter: u32) {
        self.open(job);
        self.closed_by.insert(job, counter);
        self.closed.insert((counter, job));
    }

    /// Forgets that a job is closed; whether it was.
    pub(super) fn open(&mut self, job: u32) -> bool {
        let Some(counter) = self.closed_by.remove(&job) else { return false };
        self.closed.remove(&(counter, job))
    }

    /// The counter by which a closed job is over a limit.
    #[must_use]
    pub fn closed_by(&self, job: u32) -> Option<u32> {
        self.closed_by.get(&job).copied()
    }

    /// The jobs that are closed by a counter.
    fn closed_of(&self, counter: u32) -> Vec<u32> {
        self.closed.range((counter, 0)..=(counter, u32::MAX)).map(|&(_, job)| job).collect()
    }
}

impl State {
    /// The first of a job's counters by which it may not start on so many tasks now.
    #[must_use]
    pub fn over_limit(&self, scenario: &Scenario, job: u32, tasks: u32) -> Option<u32> {
        if let Some(calendar) = &scenario.calendar
            && !calendar.of(job, scenario.job(job).requested_time).is_in_time(self.now)
        {
            return Some(OUT_OF_TIME);
        }
        let (limits, state) = (scenario.limits.as_ref()?, self.limited.as_ref()?);
        if limits.counters(job).is_empty() {
            return None;
        }
        let request = scenario.request(job);
        let resources = 0..self.machine.resources();
        let mut needs: Vec<i64> = resources.map(|resource| request.need(resource, tasks)).collect();
        needs.push(limits.least_nodes(job));
        state.counts.refuses_start(limits, job, &needs)
    }

    /// The counter by which a job may not be submitted now.
    #[must_use]
    pub fn over_submission_limit(&self, scenario: &Scenario, job: u32) -> Option<u32> {
        let (limits, state) = (scenario.limits.as_ref()?, self.limited.as_ref()?);
        state.counts.refuses_submission(limits, job)
    }

    /// Counts a job that is submitted (1), or neither waits nor runs any more (−1).
    pub fn count_submitted(&mut self, scenario: &Scenario, job: u32, sign: i32) {
        if let (Some(limits), Some(state)) = (&scenario.limits, &mut self.limited) {
            state.counts.submit(limits, job, sign);
        }
    }

    /// Counts what a job takes (1) or gives back (−1) of its limits.
    pub(super) fn count_held(&mut self, scenario: &Scenario, job: u32, sign: i32) {
        let Some(limits) = &scenario.limits else { return };
        if limits.counters(job).is_empty() {
            return;
        }
        let mut held = Vec::new();
        self.held(scenario, job, &mut held);
        held.push(self.jobs.placement(job).len() as i64);
        if let Some(state) = &mut self.limited {
            state.counts.hold(limits, job, &held, sign);
        }
        if sign < 0 {
            self.open_within(scenario, limits.counters(job));
        }
    }

    /// Lets no rule look at a queued job until a limit of this counter is counted down.
    pub fn close(&mut self, scenario: &Scenario, job: u32, counter: u32) {
        let rank = self.rank_of(scenario, job);
        let width = self.machine.node_sets().count() * (self.machine.resources() + 1);
        self.queue.index.remove(&rank);
        self.queue.index.insert(rank, &vec![i64::MAX; width]);
        if let Some(state) = &mut self.limited {
            state.close(job, counter);
        }
    }

    /// Opens all closed jobs: where some limits block, it may be another limit now that they are over. O(closed · log q).
    pub fn open_all(&mut self, scenario: &Scenario) {
        let closed =
            self.limited.as_ref().map_or(Vec::new(), |state| state.closed_by.keys().copied().collect());
        for job in closed {
            self.open(scenario, job);
        }
    }

    /// Lets rules look at a closed job again.
    fn open(&mut self, scenario: &Scenario, job: u32) {
        self.queue.index.remove(&self.rank_of(scenario, job));
        self.insert(scenario, job);
        self.queue.arrived.push(job);
    }

    /// Nodes are reserved, or no longer: what did not fit may fit now, and jobs of reservations may be in time.
    pub fn turn_calendar(&mut self, scenario: &Scenario) {
        self.releases += 1;
        self.open_within(scenario, &[OUT_OF_TIME]);
    }

    /// Opens the jobs that were closed by these counters and are within their limits now.
    fn open_within(&mut self, scenario: &Scenario, counters: &[u32]) {
        for &counter in counters {
            let Some(state) = &self.limited else { return };
            for job in state.closed_of(counter) {
                let over = self.over_limit(scenario, job, scenario.job(job).tasks);
                match (over, &mut self.limited) {
                    (Some(over), Some(state)) => state.close(job, over),
                    (Some(_), None) => {}
                    (None, _) => self.open(scenario, job),
                }
            }
        }
    }
}
