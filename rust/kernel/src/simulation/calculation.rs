//! Priority calculations: usage of accounts, fair-share factors, and keys of waiting jobs.
//!
//! A calculation is not an event. Calculations due by an instant are made before its events, as of their due times; no
//! pass follows. Nothing changes between two instants, so the periods between them are processed together: an idle year
//! costs as much as an idle hour, and calculations do not keep a finished run going. O(accounts and users) at an
//! instant with due calculations; queued jobs within their limits are sorted in the next pass that may start one, O(q
//! log q).
use std::sync::Arc;

use crate::accounting::Usage;
use crate::priority::Priority;
use crate::scenario::Scenario;
use crate::scheduler::SchedulingRule;
use crate::state::{AccountUsage, Calculation, Due, State};

use super::{Feed, Simulation};

impl<F: Feed> Simulation<F> {
    /// Return the simulation with priorities calculated every `period` seconds, or in each pass if it is 0; and with
    /// accounts, if the scenario has any, that begin with this usage.
    #[must_use]
    pub fn with_calculations(mut self, period: f64, usage: Option<Usage>) -> Self {
        let (origin, jobs) = (self.scenario.first_submission, self.state.jobs.len());
        let mut calculation = Calculation::new(period, origin, jobs);
        calculation.age_by_calls(self.scheduler.ages_by_calls());
        self.state.calculation = Some(Box::new(calculation));
        let with = |usage| self.scenario.accounts.as_ref().map(|accounts| AccountUsage::new(usage, accounts));
        self.state.usage = usage.and_then(with).map(Box::new);
        Arc::make_mut(&mut self.scenario).split_limits_by_factors();
        self.choose_kinds();
        self
    }

    /// Make the calculations that are due by this instant.
    pub(super) fn calculate_due(&mut self) {
        let Some(calculation) = &mut self.state.calculation else { return };
        if let Some(due) = calculation.take_due(self.state.now) {
            self.compare_usage(due);
        }
    }

    /// Record the jobs that were in the queue of a scheduler call for the first time in this pass.
    pub(super) fn note_called(&mut self) {
        if let Some(calculation) = &mut self.state.calculation {
            for (job, eligible) in self.scheduler.take_called() {
                calculation.called(job, eligible, self.state.now);
            }
        }
    }

    /// Sort the queue by the latest calculation, for a pass that may examine it.
    #[inline(never)]
    pub(super) fn refresh_calculated(&mut self) {
        let Some(calculation) = &self.state.calculation else { return };
        if !(calculation.is_stale() || calculation.is_at_every_pass()) {
            return;
        }
        if !(self.scheduler.plans_ahead() || self.view().may_start_some()) {
            return;
        }
        if calculation.is_at_every_pass() {
            let now = self.state.now;
            self.compare_usage(Due { first: now, more: 0.0, last: now });
        }
        let Self { scenario, state, priority, .. } = self;
        sort(state, scenario, priority);
    }

    /// Add all jobs that are not on hold to the queue order, also those over a limit, with priorities of the latest
    /// calculation, so that the queue can be read from outside. Schedules do not change: a rule that examines a job
    /// over a limit closes it again. O(1) if no job is closed, else O(q log q).
    pub fn complete_queue(&mut self) {
        if self.state.queue.closed.is_empty() {
            return;
        }
        let Self { scenario, state, priority, .. } = self;
        if state.calculation.as_ref().is_some_and(|calculation| calculation.is_stale()) {
            sort(state, scenario, priority);
        }
        state.open_all(scenario, priority);
    }

    /// Put all jobs that are not on hold in the order of this instant, since a pass in which nothing could start has
    /// left them in an older one. O(q log q); O(q) if the order does not change.
    pub fn order_queue(&mut self) {
        let Self { scenario, state, priority, .. } = self;
        if state.calculation.as_ref().is_some_and(|calculation| calculation.is_stale()) {
            sort(state, scenario, priority);
        }
        self.complete_queue();
        if self.priority.changes_with_time() && !self.priority.is_external() {
            self.state.refresh_priorities(&self.scenario, &self.priority);
        }
    }

    /// Update usage, and compute the fair-share factors.
    fn compare_usage(&mut self, due: Due) {
        let state = &mut self.state;
        state.changed();
        if let Some(calculation) = &mut state.calculation {
            calculation.calculate(due.last);
        }
        let (Some(usage), Some(accounts)) = (&mut state.usage, &self.scenario.accounts) else { return };
        usage.end_periods(accounts, due.first, due.more, due.last);
        let of_nodes = usage.calculate(accounts, due.last);
        if let Some(log) = &mut self.recorders.usage {
            log.add(due.last, &of_nodes, usage.factors());
        }
    }
}

/// Sort the queue. Keys of other orders do not change at calculations.
fn sort(state: &mut State, scenario: &Scenario, priority: &Priority) {
    if matches!(priority, Priority::Multifactor(_)) {
        state.refresh_priorities(scenario, priority);
    }
    if let Some(calculation) = &mut state.calculation {
        calculation.keys_are_new();
    }
}
