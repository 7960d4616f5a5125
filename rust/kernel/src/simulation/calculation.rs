//! Calculations of priorities: what accounts have used, the factors that follow, and the keys of waiting jobs.
//!
//! A calculation is no event. Those that are due by an instant are made before its events, as of the time at which they
//! were due; no pass follows. Between two instants nothing changes, so the periods between them are taken at once: an
//! idle year costs as much as an idle hour, and a run that is over ends. O(accounts and users) at an instant where some
//! are due; the jobs of the queue that are not over a limit are sorted in the next pass that may start one, O(q log q).
use std::sync::Arc;

use crate::accounting::Usage;
use crate::priority::Priority;
use crate::scenario::Scenario;
use crate::scheduler::SchedulingRule;
use crate::state::{AccountUsage, Calculation, Due, State};

use super::{Feed, Simulation};

impl<F: Feed> Simulation<F> {
    /// The same with priorities that are calculated every `period` seconds, or at every pass where that is 0; and with
    /// accounts, where the scenario has some, which begin with this usage.
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

    /// Makes the calculations that are due by this instant.
    pub(super) fn calculate_due(&mut self) {
        let Some(calculation) = &mut self.state.calculation else { return };
        if let Some(due) = calculation.take_due(self.state.now) {
            self.compare_usage(due);
        }
    }

    /// Takes note of the jobs that calls of this pass had in their queue for the first time.
    pub(super) fn note_called(&mut self) {
        if let Some(calculation) = &mut self.state.calculation {
            for (job, eligible) in self.scheduler.take_called() {
                calculation.called(job, eligible, self.state.now);
            }
        }
    }

    /// Sorts the queue by the latest calculation, for a pass that may look at it.
    #[inline(never)]
    pub(super) fn refresh_calculated(&mut self) {
        let Some(calculation) = &self.state.calculation else { return };
        if !(calculation.is_stale() || calculation.is_at_every_pass()) {
            return;
        }
        // Reasons of waiting jobs go by their order at every pass.
        let is_recorded = self.recorders.reasons.is_some();
        if !(self.scheduler.plans_ahead() || is_recorded || self.view().may_start_some()) {
            return;
        }
        if calculation.is_at_every_pass() {
            let now = self.state.now;
            self.compare_usage(Due { first: now, more: 0.0, last: now });
        }
        let Self { scenario, state, priority, .. } = self;
        sort(state, scenario, priority);
    }

    /// Brings all jobs that are not held into the order of the queue, so that it can be read from outside: those over a limit
    /// too, by priorities of the latest calculation. No schedule changes: a rule that comes upon one closes it again. O(1)
    /// where none is closed, else O(q log q).
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

    /// Brings usage up to date, and compares it with shares.
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

/// Sorts the queue; keys of other orders do not change at calculations.
fn sort(state: &mut State, scenario: &Scenario, priority: &Priority) {
    if matches!(priority, Priority::Multifactor(_)) {
        state.refresh_priorities(scenario, priority);
    }
    if let Some(calculation) = &mut state.calculation {
        calculation.keys_are_new();
    }
}
