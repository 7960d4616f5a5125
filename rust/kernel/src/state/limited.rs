//! Jobs over their limits: they stay in the queue, and no rule looks at them until one of their limits is counted down.
//!
//! A job is closed when a rule comes upon it, so that a start costs nothing for those that wait. Jobs that ask for the same,
//! for as long, and count alike have the same chance: of those that a counter closed, the first in order is opened when the
//! counter is counted down, and the next one when a rule has started it or passed over it. So jobs are opened as they are
//! looked at: O(log q) for each, and O(kinds of closed jobs · log q) for a counter that is counted down.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::accounting::{Ask, LimitCounts, Limits, Span, microseconds};
use crate::scenario::Scenario;
use crate::time::ordered_bits;

use super::{Rank, State, Violation};

/// What a job asks for and counts in: its requests, its tasks, its estimate and its limit as ordered bits, its list of
/// counters.
type Shape = (u32, u32, u32, i64, i64, u32);

/// A closed job: the counter by which it is over a limit, what it asks for, its place in the queue.
type Closed = (u32, Shape, Rank);

/// Stands for a counter where a job could not end within the reservation that it uses.
pub const OUT_OF_TIME: u32 = u32::MAX;

/// Stands for a counter where a victim waits for the job for which it gave up its nodes.
pub const FALLEN: u32 = u32::MAX - 1;

/// What jobs have that limits count, and the jobs that wait because of that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LimitState {
    /// What jobs have.
    pub counts: LimitCounts,
    /// Whether all jobs of a counter are opened at once, for a rule that plans for each.
    pub opens_all: bool,
    closed: BTreeSet<Closed>,
    /// The same by job.
    of_job: BTreeMap<u32, Closed>,
    /// Over which times running jobs hold what they hold, where limits count that.
    spans: BTreeMap<u32, Span>,
}

impl LimitState {
    /// Nothing waits or runs; `amounts` are the resources and the number of nodes.
    #[must_use]
    pub fn new(limits: &Limits, amounts: usize) -> Self {
        let counts = LimitCounts::new(limits, amounts);
        let (closed, of_job, spans) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Self { counts, opens_all: false, closed, of_job, spans }
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

    /// The counters by which jobs are closed and that time alone counts down.
    fn counted_down(&self, limits: &Limits) -> Vec<u32> {
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(counter) = self.next_counter(from) {
            if !limits.cap(counter).minutes.running.is_empty() {
                found.push(counter);
            }
            from = counter + 1;
        }
        found
    }

    /// The first counter from this one on by which a job is closed.
    fn next_counter(&self, from: u32) -> Option<u32> {
        let from = (from, (0, 0, 0, i64::MIN, i64::MIN, 0), Rank::FIRST);
        self.closed.range(from..).next().map(|entry| entry.0).filter(|&counter| counter < FALLEN)
    }

    fn close(&mut self, entry: Closed) {
        self.open(entry.2.job);
        self.of_job.insert(entry.2.job, entry);
        self.closed.insert(entry);
    }

    /// Forgets that a job is closed; whether it was.
    pub(super) fn open(&mut self, job: u32) -> bool {
        let Some(entry) = self.of_job.remove(&job) else { return false };
        self.closed.remove(&entry)
    }

    /// The first closed job of a counter behind an entry, in the order of shapes and places.
    fn first_behind(&self, counter: u32, behind: Option<&Closed>) -> Option<Closed> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let from = match behind {
            Some(entry) => Excluded(*entry),
            None => Included((counter, (0, 0, 0, i64::MIN, i64::MIN, 0), Rank::FIRST)),
        };
        self.closed.range((from, Unbounded)).next().copied().filter(|entry| entry.0 == counter)
    }

    /// The first closed job of each shape of a counter; or all of them.
    fn firsts(&self, counter: u32) -> Vec<u32> {
        let (mut found, mut last) = (Vec::new(), None);
        while let Some(entry) = self.first_behind(counter, last.as_ref()) {
            found.push(entry.2.job);
            last = Some(if self.opens_all { entry } else { (counter, entry.1, Rank::LAST) });
        }
        found
    }

    /// The first closed job of a shape of a counter.
    fn first_like(&self, counter: u32, shape: Shape) -> Option<u32> {
        let first = self.closed.range((counter, shape, Rank::FIRST)..=(counter, shape, Rank::LAST)).next();
        first.map(|entry| entry.2.job)
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
        let (request, resources) = (scenario.request(job), self.machine.resources());
        let need = |amount| {
            if amount < resources { request.need(amount, tasks) } else { limits.least_nodes(job) }
        };
        let time = microseconds(scenario.job(job).requested_time);
        state.counts.refuses_start(limits, job, Ask { now: microseconds(self.now), time }, need)
    }

    /// The counter by which a job may not be submitted now.
    #[must_use]
    pub fn over_submission_limit(&self, scenario: &Scenario, job: u32) -> Option<u32> {
        let (limits, state) = (scenario.limits.as_ref()?, self.limited.as_ref()?);
        state.counts.refuses_submission(limits, job, scenario.job(job).requested_time)
    }

    /// Counts a job that is submitted (1), or neither waits nor runs any more (−1).
    pub fn count_submitted(&mut self, scenario: &Scenario, job: u32, sign: i32) {
        if let (Some(limits), Some(state)) = (&scenario.limits, &mut self.limited)
            && !state.counts.submit(limits, job, sign)
        {
            self.violates(job, Violation::Limits);
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
        let span = Span {
            since: microseconds(self.now),
            until: microseconds(self.jobs.start_time(job) + scenario.job(job).requested_time),
        };
        if let Some(state) = &mut self.limited {
            let adds_up = state.counts.hold(limits, job, &held, sign);
            if limits.counts_minutes() {
                state.count_minutes(limits, job, &held[..self.machine.resources()], span, sign);
            }
            if !adds_up {
                self.violates(job, Violation::Limits);
            }
        }
        // With preemption each pass opens all of them.
        if sign < 0 && scenario.preemption.is_none() {
            self.open_within(scenario, limits.counters(job));
        }
    }

    /// Lets no rule look at a queued job until a limit of this counter is counted down.
    pub fn close(&mut self, scenario: &Scenario, job: u32, counter: u32) {
        let rank = self.rank_of(scenario, job);
        let width = self.machine.node_sets().count() * (self.machine.resources() + 1);
        self.queue.index.remove(&rank);
        self.queue.index.insert(rank, &vec![i64::MAX; width]);
        let entry = (counter, self.shape_of(scenario, job), rank);
        if let Some(state) = &mut self.limited {
            state.close(entry);
        }
    }

    fn shape_of(&self, scenario: &Scenario, job: u32) -> Shape {
        let (row, limits) = (scenario.job(job), scenario.limits.as_ref());
        let list = limits.map_or(0, |limits| limits.list_of(job));
        let (estimate, time) = (ordered_bits(self.jobs.estimate(job)), ordered_bits(row.requested_time));
        (row.request, scenario.alternatives.list_of(job), row.tasks, estimate, time, list)
    }

    /// A rule has started a job or passed over it, or it left the queue: lets rules look at the next one that is like it.
    pub fn open_next_like(&mut self, scenario: &Scenario, job: u32) {
        let (Some(limits), Some(_), None) = (&scenario.limits, &self.limited, &scenario.preemption) else {
            return;
        };
        let shape = self.shape_of(scenario, job);
        for &counter in limits.counters(job) {
            let next = self.limited.as_ref().and_then(|state| state.first_like(counter, shape));
            if let Some(next) = next {
                self.open_or_move(scenario, next);
            }
        }
    }

    /// Opens a closed job that is within its limits; one that is over another limit waits for that.
    fn open_or_move(&mut self, scenario: &Scenario, job: u32) {
        match self.over_limit(scenario, job, scenario.job(job).tasks) {
            None => self.open(scenario, job),
            Some(over) => {
                let entry = (over, self.shape_of(scenario, job), self.rank_of(scenario, job));
                if let Some(state) = &mut self.limited {
                    state.close(entry);
                }
            }
        }
    }

    /// The keys of the queue have changed: closed jobs stand in their new order, and the first of each kind are opened.
    pub(super) fn reorder_closed(&mut self, scenario: &Scenario) {
        let Some(state) = &self.limited else { return };
        let closed: Vec<(u32, u32)> = state.of_job.values().map(|entry| (entry.0, entry.2.job)).collect();
        let entries: Vec<Closed> = closed
            .iter()
            .map(|&(counter, job)| (counter, self.shape_of(scenario, job), self.rank_of(scenario, job)))
            .collect();
        let mut counters: Vec<u32> = closed.iter().map(|&(counter, _)| counter).collect();
        counters.sort_unstable();
        counters.dedup();
        if let Some(state) = &mut self.limited {
            state.closed = entries.iter().copied().collect();
            state.of_job = entries.into_iter().map(|entry| (entry.2.job, entry)).collect();
        }
        self.open_within(scenario, &counters);
    }

    /// Opens all closed jobs: where some limits block, it may be another limit now that they are over. O(closed · log q).
    pub fn open_all(&mut self, scenario: &Scenario) {
        let closed = self.limited.as_ref().map_or(Vec::new(), |state| state.of_job.keys().copied().collect());
        for job in closed {
            self.open(scenario, job);
        }
    }

    /// Opens jobs that a pass looks at since what running jobs may still use has become less. O(counters that are limited so
    /// · kinds of their closed jobs · log q).
    pub fn open_counted_down(&mut self, scenario: &Scenario) {
        let (Some(limits), Some(state)) = (&scenario.limits, &self.limited) else { return };
        if limits.counts_minutes() {
            self.open_within(scenario, &state.counted_down(limits));
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

    /// Opens the first jobs of each kind that were closed by these counters and are within their limits now.
    fn open_within(&mut self, scenario: &Scenario, counters: &[u32]) {
        for &counter in counters {
            let firsts = self.limited.as_ref().map_or(Vec::new(), |state| state.firsts(counter));
            for job in firsts {
                self.open_or_move(scenario, job);
            }
        }
    }
}
