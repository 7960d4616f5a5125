//! Limits: the counts of running and submitted jobs, and the closing and opening of queued jobs.
//!
//! A job is closed when a rule examines it, so that a start costs nothing for waiting jobs. Jobs with equal requests,
//! times and counters have equal chances: of those closed by a counter, the first in order is opened when the counter
//! decreases, and the next one when a rule has started or skipped it. So jobs are opened as they are examined: O(log q)
//! for each, and O(kinds of closed jobs) for a counter that decreases. If keys change in each pass, or if an external
//! scheduler examines the whole queue, all closed jobs are opened: O(closed · log q).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accounting::{Ask, LimitCounts, Limits, Span, microseconds};
use crate::priority::Priority;
use crate::scenario::Scenario;
use crate::time::{Time, ordered_bits};
use crate::workload::LimitedQuantity;

use super::closed::{BEYOND_RESERVATION, Kind};
use super::{JobRecords, Rank, State, Violation};

/// Counts of limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LimitState {
    /// What jobs hold, by counter.
    pub counts: LimitCounts,
    /// True if all jobs of a counter are opened at once, for a rule that plans for each job.
    pub opens_all: bool,
    /// The time spans over which running jobs hold resources, for limits on resource-minutes.
    spans: BTreeMap<u32, Span>,
    /// Kept to reuse the memory.
    #[serde(skip)]
    firsts: Vec<(Kind, Rank)>,
}

impl LimitState {
    /// Create the counts without jobs. `amounts` is the number of resources plus one, for the number of nodes.
    #[must_use]
    pub fn new(limits: &Limits, amounts: usize) -> Self {
        let counts = LimitCounts::new(limits, amounts);
        Self { counts, opens_all: false, spans: BTreeMap::new(), firsts: Vec::new() }
    }

    /// Begin (1) or end (−1) counting a job's use over time.
    fn count_minutes(&mut self, limits: &Limits, job: u32, held: &[i64], span: Span, sign: i32) {
        if sign > 0 {
            self.counts.begin_minutes(limits, job, held, span);
            self.spans.insert(job, span);
        } else if let Some(before) = self.spans.remove(&job) {
            self.counts.end_minutes(limits, job, before, span.since);
        }
    }
}

/// Return the span from now until a running job reaches its limit.
fn span_from(now: f64, jobs: &JobRecords, job: u32) -> Span {
    let until = jobs.start_time(job) + jobs.time_limit(job);
    Span { since: microseconds(now), until: microseconds(until) }
}

impl State {
    /// Return the first of a job's counters that does not allow a start with this many tasks now.
    #[must_use]
    pub fn over_limit(&self, scenario: &Scenario, job: u32, tasks: u32) -> Option<u32> {
        if self.calendar_of(scenario, job).is_some_and(|calendar| !calendar.is_in_time(self.now)) {
            return Some(BEYOND_RESERVATION);
        }
        let (limits, state) = (scenario.limits.as_ref()?, self.limited.as_ref()?);
        if limits.counters(job).is_empty() {
            return None;
        }
        let (request, resources) = (scenario.request(job), self.machine.resources());
        let need = |amount| {
            if amount < resources { request.need(amount, tasks) } else { limits.least_nodes(job) }
        };
        let time = microseconds(self.jobs.time_limit(job));
        state.counts.refuses_start(limits, job, Ask { now: microseconds(self.now), time }, need)
    }

    /// Return the counter that does not allow the submission of a job now.
    #[must_use]
    pub fn over_submission_limit(&self, scenario: &Scenario, job: u32) -> Option<u32> {
        let (limits, state) = (scenario.limits.as_ref()?, self.limited.as_ref()?);
        state.counts.refuses_submission(limits, job, self.jobs.time_limit(job))
    }

    /// Change the amount of a quantity that a limit allows, or remove its bound, and open all jobs. Return whether that
    /// is a change.
    pub fn set_limit(
        &mut self,
        scenario: &Scenario,
        priority: &Priority,
        limit: u32,
        quantity: LimitedQuantity,
        value: Option<f64>,
    ) -> bool {
        let (Some(limits), Some(state)) = (&scenario.limits, &mut self.limited) else { return false };
        let applied = state.counts.set_cap(limits, limit, quantity, value);
        if applied {
            self.open_all(scenario, priority);
        }
        applied
    }

    /// Count a job that is submitted (1), or no longer waits or runs (−1).
    pub fn count_submitted(&mut self, scenario: &Scenario, job: u32, sign: i32) {
        if let (Some(limits), Some(state)) = (&scenario.limits, &mut self.limited)
            && !state.counts.submit(limits, job, sign)
        {
            self.violates(job, Violation::Limits);
        }
    }

    /// Count what a job takes (1) or releases (−1) of its limits. `held` lists the resources that it holds.
    pub(super) fn count_held(&mut self, scenario: &Scenario, job: u32, held: &mut Vec<i64>, sign: i32) {
        if let (Some(limits), Some(state)) = (&scenario.limits, &mut self.limited) {
            held.push(self.jobs.placement(job).len() as i64);
            let adds_up = state.counts.hold(limits, job, held, sign);
            held.pop();
            if limits.counts_minutes() {
                let span = span_from(self.now, &self.jobs, job);
                state.count_minutes(limits, job, held, span, sign);
            }
            if !adds_up {
                self.violates(job, Violation::Limits);
            }
        }
    }

    /// Count the use over time again for a running job with a changed limit.
    pub fn recount_minutes(&mut self, scenario: &Scenario, job: u32) {
        let (Some(limits), true) = (&scenario.limits, self.holds_nodes(job)) else { return };
        if !limits.counts_minutes() {
            return;
        }
        let mut held = Vec::new();
        self.held(scenario, job, &mut held);
        let span = span_from(self.now, &self.jobs, job);
        if let Some(state) = &mut self.limited {
            state.count_minutes(limits, job, &held, span, -1);
            state.count_minutes(limits, job, &held, span, 1);
        }
    }

    /// Close a queued job: no rule examines it until a limit of this counter decreases.
    pub fn close(&mut self, scenario: &Scenario, priority: &Priority, job: u32, counter: u32) {
        self.take_out(scenario, priority, job);
        let (kind, place) = self.kind_of(scenario, priority, job);
        self.queue.closed.close(counter, kind, place);
    }

    /// Return the kind of a job, and its place among the jobs of this kind.
    fn kind_of(&self, scenario: &Scenario, priority: &Priority, job: u32) -> (Kind, Rank) {
        let (row, limits) = (scenario.job(job), scenario.limits.as_ref());
        let mut kind = Kind {
            list: limits.map_or(0, |limits| limits.list_of(job)),
            request: row.request,
            alternatives: scenario.alternatives.list_of(job),
            tasks: row.tasks,
            estimate: ordered_bits(self.jobs.estimate(job)),
            requested_time: ordered_bits(self.jobs.requested_time(job)),
            time_limit: ordered_bits(self.jobs.time_limit(job)),
            apart: 0,
        };
        let mut place = self.rank_of(scenario, job);
        if let (Some(calculation), Priority::Multifactor(_)) = (&self.calculation, priority) {
            // Age decides: the job submitted first comes first, unless it became eligible later.
            place.key = Time(0.0);
            if Time(calculation.eligible_since(job)) != Time(row.submit_time) {
                kind.apart = job + 1;
            }
        }
        if self.fixed_priorities.contains_key(&job) {
            kind.apart = job + 1;
        }
        (kind, place)
    }

    /// Remove a job from the closed jobs. Return whether it was closed.
    pub(super) fn forget_closed(&mut self, scenario: &Scenario, priority: &Priority, job: u32) -> bool {
        let Some(counter) = self.queue.closed.counter_of(job) else { return false };
        let (kind, place) = self.kind_of(scenario, priority, job);
        self.queue.closed.open(counter, &kind, &place)
    }

    /// Open the next job of the same kind, after a job was started or skipped by a rule, or left the queue.
    pub fn open_next_like(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        let (Some(limits), None, false) =
            (&scenario.limits, &scenario.preemption, self.queue.closed.is_empty())
        else {
            return;
        };
        let (kind, _) = self.kind_of(scenario, priority, job);
        for &counter in limits.counters(job) {
            if let Some(next) = self.queue.closed.first(counter, &kind) {
                self.open_or_move(scenario, priority, counter, kind, next);
            }
        }
    }

    /// Open a job that a counter closed if it is within its limits. If another limit is exceeded, move it to that
    /// counter.
    fn open_or_move(
        &mut self,
        scenario: &Scenario,
        priority: &Priority,
        counter: u32,
        kind: Kind,
        place: Rank,
    ) {
        let over = self.over_limit(scenario, place.job, kind.tasks);
        if over == Some(counter) || !self.queue.closed.open(counter, &kind, &place) {
            return;
        }
        match over {
            None => self.look_again(scenario, priority, place.job),
            Some(other) => self.queue.closed.close(other, kind, place),
        }
    }

    /// Open all closed jobs: if limits block the queue, another limit may apply to them now. O(closed · log q).
    #[inline(never)]
    pub fn open_all(&mut self, scenario: &Scenario, priority: &Priority) {
        if self.queue.closed.is_empty() {
            return;
        }
        for job in self.queue.closed.jobs() {
            if self.forget_closed(scenario, priority, job) {
                self.look_again(scenario, priority, job);
            }
        }
    }

    /// Open jobs to examine in a pass since running jobs can use less of their remaining time. O(counters), and O(kinds
    /// of closed jobs · log q) for jobs with such limits.
    #[inline(never)]
    pub fn open_counted_down(&mut self, scenario: &Scenario, priority: &Priority) {
        let Some(limits) = scenario.limits.as_ref().filter(|limits| limits.counts_minutes()) else { return };
        for counter in 0..limits.counters_in_all() as u32 {
            if !limits.cap(counter).minutes.running.is_empty() {
                self.open_within(scenario, priority, counter);
            }
        }
    }

    /// Return a closed job to the queue; under `multifactor`, with the priority of the latest calculation.
    fn look_again(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        if matches!(priority, Priority::Multifactor(_)) {
            self.rekey(scenario, priority, job);
        }
        self.insert(scenario, job);
        self.queue.arrived.push(job);
    }

    /// Handle the begin or end of a reservation: jobs that did not fit may fit now, and jobs of reservations may end in
    /// time.
    pub fn turn_calendar(&mut self, scenario: &Scenario, priority: &Priority) {
        self.releases += 1;
        self.open_within(scenario, priority, BEYOND_RESERVATION);
    }

    /// Open the first jobs of each kind that are within their limits after a job has released its nodes.
    pub fn open_after(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        // With preemption, each pass opens all of them.
        if let (Some(limits), None) = (&scenario.limits, &scenario.preemption) {
            for &counter in limits.counters(job) {
                self.open_within(scenario, priority, counter);
            }
        }
    }

    /// Open the first jobs of each kind that a counter closed and that are within their limits now.
    fn open_within(&mut self, scenario: &Scenario, priority: &Priority, counter: u32) {
        if self.queue.closed.is_empty() || self.queue.closed.has_none_of(counter) {
            return;
        }
        let Some(state) = &mut self.limited else { return };
        let mut firsts = std::mem::take(&mut state.firsts);
        firsts.clear();
        self.queue.closed.firsts(counter, state.opens_all, &mut firsts);
        for &(kind, place) in &firsts {
            self.open_or_move(scenario, priority, counter, kind, place);
        }
        if let Some(state) = &mut self.limited {
            state.firsts = firsts;
        }
    }
}
