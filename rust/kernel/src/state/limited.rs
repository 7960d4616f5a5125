//! Limits: what jobs have that they count, and which jobs rules look at.
//!
//! A job is closed when a rule comes upon it, so that a start costs nothing for those that wait. Jobs that ask for the same,
//! for as long, and count alike have the same chance: of those that a counter closed, the first in order is opened when the
//! counter is counted down, and the next one when a rule has started it or passed over it. So jobs are opened as they are
//! looked at: O(log q) for each, and O(kinds of closed jobs) for a counter that is counted down. Where keys change at each
//! pass, or the whole queue is looked at from outside, all of them are opened: O(closed · log q).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accounting::{Ask, LimitCounts, Limits, Span, microseconds};
use crate::priority::Priority;
use crate::scenario::Scenario;
use crate::time::{Time, ordered_bits};
use crate::workload::LimitedQuantity;

use super::closed::{Kind, OUT_OF_TIME};
use super::{JobRecords, Rank, State, Violation};

/// What jobs have that limits count.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LimitState {
    /// What jobs have.
    pub counts: LimitCounts,
    /// Whether all jobs of a counter are opened at once, for a rule that plans for each.
    pub opens_all: bool,
    /// Over which times running jobs hold what they hold, where limits count that.
    spans: BTreeMap<u32, Span>,
    /// Kept for its memory alone.
    #[serde(skip)]
    firsts: Vec<(Kind, Rank)>,
}

impl LimitState {
    /// Nothing waits or runs; `amounts` are the resources and the number of nodes.
    #[must_use]
    pub fn new(limits: &Limits, amounts: usize) -> Self {
        let counts = LimitCounts::new(limits, amounts);
        Self { counts, opens_all: false, spans: BTreeMap::new(), firsts: Vec::new() }
    }

    /// Counts what a job uses over time from now on (1), or no longer (−1).
    fn count_minutes(&mut self, limits: &Limits, job: u32, held: &[i64], span: Span, sign: i32) {
        if sign > 0 {
            self.counts.begin_minutes(limits, job, held, span);
            self.spans.insert(job, span);
        } else if let Some(before) = self.spans.remove(&job) {
            self.counts.end_minutes(limits, job, before, span.since);
        }
    }
}

/// From now until a running job reaches its limit.
fn span_from(now: f64, jobs: &JobRecords, job: u32) -> Span {
    let until = jobs.start_time(job) + jobs.time_limit(job);
    Span { since: microseconds(now), until: microseconds(until) }
}

impl State {
    /// The first of a job's counters by which it may not start on so many tasks now.
    #[must_use]
    pub fn over_limit(&self, scenario: &Scenario, job: u32, tasks: u32) -> Option<u32> {
        if self.calendar_of(scenario, job).is_some_and(|calendar| !calendar.is_in_time(self.now)) {
            return Some(OUT_OF_TIME);
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

    /// The counter by which a job may not be submitted now.
    #[must_use]
    pub fn over_submission_limit(&self, scenario: &Scenario, job: u32) -> Option<u32> {
        let (limits, state) = (scenario.limits.as_ref()?, self.limited.as_ref()?);
        state.counts.refuses_submission(limits, job, self.jobs.time_limit(job))
    }

    /// Lets a limit allow another amount of a quantity, or any, and rules look at all jobs again; whether that is a change.
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

    /// Counts a job that is submitted (1), or neither waits nor runs any more (−1).
    pub fn count_submitted(&mut self, scenario: &Scenario, job: u32, sign: i32) {
        if let (Some(limits), Some(state)) = (&scenario.limits, &mut self.limited)
            && !state.counts.submit(limits, job, sign)
        {
            self.violates(job, Violation::Limits);
        }
    }

    /// Counts what a job takes (1) or gives back (−1) of its limits; `held` are the resources that it holds.
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

    /// Counts the time of a running job anew, whose limit has changed.
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

    /// Lets no rule look at a queued job until a limit of this counter is counted down.
    pub fn close(&mut self, scenario: &Scenario, priority: &Priority, job: u32, counter: u32) {
        self.take_out(scenario, priority, job);
        let (kind, place) = self.kind_of(scenario, priority, job);
        self.queue.closed.close(counter, kind, place);
    }

    /// The kind of a job, and its place among those of its kind.
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
            // The age decides, so that the job comes first that was submitted first, unless it has been eligible only since.
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

    /// Forgets that a job is closed; whether it was.
    pub(super) fn forget_closed(&mut self, scenario: &Scenario, priority: &Priority, job: u32) -> bool {
        let Some(counter) = self.queue.closed.counter_of(job) else { return false };
        let (kind, place) = self.kind_of(scenario, priority, job);
        self.queue.closed.open(counter, &kind, &place)
    }

    /// A rule has started a job or passed over it, or it left the queue: lets rules look at the next one that is like it.
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

    /// Opens a job that a counter closed, if it is within its limits; one that is over another limit waits for that.
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

    /// Opens all closed jobs: where some limits block, it may be another limit now that they are over. O(closed · log q).
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

    /// Opens jobs that a pass looks at since what running jobs may still use has become less. O(counters), and O(kinds of
    /// closed jobs · log q) for those that are limited so.
    #[inline(never)]
    pub fn open_counted_down(&mut self, scenario: &Scenario, priority: &Priority) {
        let Some(limits) = scenario.limits.as_ref().filter(|limits| limits.counts_minutes()) else { return };
        for counter in 0..limits.counters_in_all() as u32 {
            if !limits.cap(counter).minutes.running.is_empty() {
                self.open_within(scenario, priority, counter);
            }
        }
    }

    /// Lets rules look at a job that was closed; a priority that is calculated is that of the latest calculation.
    fn look_again(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        if matches!(priority, Priority::Multifactor(_)) {
            self.rekey(scenario, priority, job);
        }
        self.insert(scenario, job);
        self.queue.arrived.push(job);
    }

    /// Nodes are reserved, or no longer: what did not fit may fit now, and jobs of reservations may be in time.
    pub fn turn_calendar(&mut self, scenario: &Scenario, priority: &Priority) {
        self.releases += 1;
        self.open_within(scenario, priority, OUT_OF_TIME);
    }

    /// A job has given back its nodes: opens the first jobs of each kind that are within their limits now.
    pub fn open_after(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        // With preemption each pass opens all of them.
        if let (Some(limits), None) = (&scenario.limits, &scenario.preemption) {
            for &counter in limits.counters(job) {
                self.open_within(scenario, priority, counter);
            }
        }
    }

    /// Opens the first jobs of each kind that were closed by a counter and are within their limits now.
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
