//! The event loop: it processes one instant after the other, in the order of the [`Agenda`].
//!
//! The loop returns at every point at which an external party is called ([`YieldPoint`]), and can be resumed: its whole
//! state is in the [`Simulation`], so a clone is a fork, also in the middle of an instant.
mod agenda;
mod applications;
mod arrivals;
mod calculation;
mod calendar;
mod check;
mod conditions;
mod cursor;
mod decide;
mod description;
mod external_events;
mod failure;
mod feed;
mod gates;
mod initial_state;
mod instant;
mod lifecycle;
mod look_ahead;
mod pass;
mod preemption;
mod rare_events;
mod refusal;
mod resize;
mod run_times;
mod samples;
mod service;
mod signal_poll;
mod sleep;
mod snapshot;
mod timers;
mod triggers;
mod yield_point;

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use crate::measures::Summary;
use crate::placement::Allocator;
use crate::priority::Priority;
use crate::record::{Change, Log, PlatformSensor, Recorders};
use crate::scenario::Scenario;
use crate::scheduler::{PolicyParts, Scheduler, SchedulingRule};
use crate::state::{State, View, Violation};
use crate::time::Time;

pub use agenda::{Agenda, EndTies, EventKind, PassRule, TriggerKind, TriggerRules};
pub use arrivals::{Arrival, ArrivalRefusal, Resubmits};
pub use cursor::{Listeners, MAX_IDLE_WAKEUPS};
pub use description::{RunDescription, formula_names};
pub use failure::Failure;
pub use feed::Feed;
pub use initial_state::{InitialFault, InitialJob, InitialState, InitialUsage};
pub use refusal::Refusal;
pub use run_times::RunTimeRefusal;
pub use samples::{Samples, SamplingError};
pub use snapshot::SnapshotError;
pub use triggers::Trigger;
pub use yield_point::YieldPoint;

use cursor::{Cursor, LoopState};
use signal_poll::SignalPoll;

/// A simulation: scenario, state and rules.
#[derive(Clone, Debug)]
pub struct Simulation<F> {
    scenario: Arc<Scenario>,
    state: State,
    scheduler: Scheduler,
    priority: Priority,
    allocator: Allocator,
    recorders: Recorders,
    agenda: Arc<Agenda>,
    /// Kinds of events that can occur in this run, in the order of the agenda; derived from the agenda and the other
    /// inputs.
    kinds: Vec<EventKind>,
    /// Those of optional features.
    rare_kinds: Vec<EventKind>,
    /// True if more than the work of running jobs changes with time alone; derived in the same way.
    has_optional_features: bool,
    /// True if keys or limits change with time alone; derived in the same way.
    varies_with_time: bool,
    listeners: Listeners,
    cursor: Cursor,
    signal_poll: SignalPoll,
    feed: F,
}

impl<F: Feed> Simulation<F> {
    /// Create a simulation before its first instant.
    pub fn new(
        mut scenario: Scenario,
        mut state: State,
        policy: PolicyParts,
        agenda: Agenda,
        feed: F,
    ) -> Self {
        let PolicyParts { scheduler, priority, allocator } = policy;
        scenario.first_submission = feed.first_submission();
        let cursor = Cursor::new(&agenda, scenario.first_submission);
        if !scenario.jobs.is_empty() {
            // A streamed run does not know its requests beforehand.
            state.distinguish_requests(&scenario);
        }
        let mut simulation = Self {
            scenario: Arc::new(scenario),
            state,
            scheduler,
            priority,
            allocator,
            recorders: Recorders::default(),
            cursor,
            signal_poll: SignalPoll::default(),
            agenda: Arc::new(agenda),
            kinds: Vec::new(),
            rare_kinds: Vec::new(),
            has_optional_features: true,
            varies_with_time: true,
            listeners: Listeners::default(),
            feed,
        };
        simulation.keep_indices();
        simulation.choose_kinds();
        simulation
    }

    /// Return the simulation with listeners.
    #[must_use]
    pub fn with_listeners(mut self, listeners: Listeners) -> Self {
        self.listeners = listeners;
        self.choose_kinds();
        self
    }

    /// Return the simulation with recorders.
    #[must_use]
    pub fn with_recorders(mut self, mut recorders: Recorders) -> Self {
        if let Some(sensor) = &mut recorders.platform {
            sensor.begin(self.scenario.first_submission);
        }
        self.recorders = recorders;
        self.expect_looks();
        self
    }

    /// Maintain the indices that the policy needs.
    fn keep_indices(&mut self) {
        if self.scheduler.needs_running() {
            let is_asked_seldom = self.scheduler.asks_for_running_seldom();
            self.state.index_running(&self.scenario, is_asked_seldom);
        }
        if self.scheduler.needs_changed_runs() {
            self.state.running.keep_changed();
        }
        if let Some(ranking) = self.allocator.ranking() {
            self.state.machine.keep_loads(ranking);
        }
        let order = self.allocator.node_order();
        if order.is_some() || self.state.machine.order().is_some() {
            self.state.machine.keep_order(order);
        }
        if let Some(limited) = &mut self.state.limited {
            // Jobs of reservations differ in when they may start.
            limited.opens_all = self.scheduler.plans_ahead() || self.scenario.calendar.is_some();
        }
    }

    /// Return a view of scenario and state.
    pub fn view(&self) -> View<'_> {
        View { scenario: &self.scenario, state: &self.state }
    }

    /// Return the scenario: the constant inputs.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Return the state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Return the scheduler with its state.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Return the allocator with its state.
    pub fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    /// Return the recorders of the run.
    pub fn recorders(&self) -> &Recorders {
        &self.recorders
    }

    /// Remove and return the measures of a run that has ended; None if they were not requested.
    pub fn take_summary(&mut self) -> io::Result<Option<Summary>> {
        self.recorders.tally.take_summary(View { scenario: &self.scenario, state: &self.state })
    }

    /// Return the tables of the recorders so far, by name.
    pub fn logs(&mut self) -> Vec<(&'static str, Box<dyn Log>)> {
        self.recorders.logs()
    }

    /// Return the feed to be closed, the scenario and the state.
    pub fn into_parts(self) -> (F, Arc<Scenario>, State) {
        (self.feed, self.scenario, self.state)
    }

    /// Return the reason of the current call of the scheduler.
    pub fn trigger(&self) -> Trigger {
        self.cursor.trigger
    }

    /// Return why the run cannot continue, or None.
    pub fn failure(&self) -> Option<Failure<'_>> {
        if let Some(defect) = self.state.defect {
            return Some(Failure::Defect(defect));
        }
        if let Some((span, interval)) = self.recorders.platform.as_ref().and_then(PlatformSensor::refused) {
            return Some(Failure::Looks { span, interval });
        }
        self.cursor.failure.as_ref().map(|(job, reason)| Failure::Application { job: *job, reason })
    }

    /// Return whether the run cannot continue.
    fn has_failed(&self) -> bool {
        let is_refused = || self.recorders.platform.as_ref().is_some_and(|sensor| sensor.refused().is_some());
        self.state.defect.is_some() || self.cursor.failure.is_some() || is_refused()
    }

    /// Remove and return the changes since the last call.
    pub fn take_changes(&mut self) -> Vec<(Change, u32)> {
        self.recorders.changes.take()
    }

    /// Return the next instant with an event; [`Time::NEVER`] at the end.
    pub fn next_time(&self) -> Time {
        if self.cursor.at != LoopState::Idle {
            return Time(self.state.now);
        }
        self.next_time_among(self.next_besides_work())
    }

    /// Return the next instant with an event other than the end of a phase of a job with fixed work.
    fn next_besides_work(&self) -> Time {
        let next = self.cursor.timers.next_time().min(self.feed.next_time()).min(self.next_planned());
        let next = next.min(self.next_limit());
        if self.rare_kinds.is_empty() { next } else { next.min(self.next_rare_event()) }
    }

    /// Return the time of the next submission, end or timer.
    fn next_common_event(&self) -> Time {
        let next = self.cursor.timers.next_time().min(self.feed.next_time());
        next.min(self.next_limit()).min(self.next_end_of_work())
    }

    /// Return whether only applications have an event at the next instant.
    fn is_of_applications_alone(&self, next: Time) -> bool {
        self.next_notice() <= next
            && self.next_common_event() > next
            && self.next_planned() > next
            && self.next_rare_event_besides_applications() > next
            && self.next_power_event() > next
    }

    /// Return the next instant, given the next event other than ends of work. [`Time::NEVER`] also if only timers
    /// without possible effect are left.
    fn next_time_among(&self, besides_work: Time) -> Time {
        let next = besides_work.min(self.next_end_of_work());
        let is_timed = self.cursor.timers.any() && next != Time::NEVER;
        let next =
            if is_timed && self.waits_for_timers() && self.timers_cannot_help() { Time::NEVER } else { next };
        // Transitions of nodes do not keep a run going.
        if next == Time::NEVER { next } else { next.min(self.next_power_event()) }
    }

    /// Return the final yield point of a run without further events. Without jobs, all counts of limits must be zero.
    fn end_point(&mut self) -> YieldPoint {
        let is_over = self.state.running.is_empty() && self.state.queue.has_none_waiting();
        if is_over && self.state.limited.as_ref().is_some_and(|limited| !limited.counts.are_idle()) {
            self.state.violates(0, Violation::Limits);
            return YieldPoint::Failed;
        }
        YieldPoint::End
    }

    /// Return the time of the next end, limit, expiry, end of a grace time, or switch of a rate.
    fn next_end_besides_applications(&self) -> Time {
        let next = self.next_end_of_work().min(self.next_limit());
        if self.rare_kinds.is_empty() { next } else { next.min(self.next_rare_end()) }
    }

    fn next_end_of_work(&self) -> Time {
        self.state.work.next().map_or(Time::NEVER, |((time, _), _)| time)
    }

    fn next_limit(&self) -> Time {
        self.state.limits.peek().map_or(Time::NEVER, |((time, _), _)| time)
    }

    /// Return when a reservation of the scheduler is due, or a running job's exempt time ends; never while the
    /// scheduler is stopped.
    fn next_planned(&self) -> Time {
        if self.state.is_stopped {
            return Time::NEVER;
        }
        let exemption =
            self.state.preemption.as_ref().map_or(Time::NEVER, |preemption| preemption.next_exemption());
        self.scheduler.next_due().min(exemption)
    }

    /// Return when the period of the scheduler ends; never if no job is left to decide about.
    fn next_question(&self) -> Time {
        if self.agenda.triggers.is_none() {
            return Time::NEVER;
        }
        let is_empty = self.feed.next_time() == Time::NEVER
            && self.state.running.is_empty()
            && self.state.queue.has_none_waiting();
        if is_empty { Time::NEVER } else { self.cursor.clock.next_time() }
    }

    /// Return whether only timers or periodic calls of the scheduler are left.
    fn waits_for_timers(&self) -> bool {
        (self.cursor.timers.any() || self.next_question() != Time::NEVER)
            && self.feed.next_time() == Time::NEVER
            && self.next_end_of_work() == Time::NEVER
            && self.next_limit() == Time::NEVER
            && self.next_planned() == Time::NEVER
            && self
                .rare_kinds
                .iter()
                .all(|&kind| kind == EventKind::Periodic || self.next_time_of(kind) == Time::NEVER)
    }

    /// Return whether timers cannot have an effect: no job is left, or they only observe, or they repair nodes while no
    /// waiting job fits on the whole machine. A job that never ends may still be killed by a timer.
    fn timers_cannot_help(&self) -> bool {
        (self.state.running.is_empty() && self.state.queue.has_none_waiting())
            || (!self.cursor.timers.any_acting()
                && self.next_question() == Time::NEVER
                && !(self.cursor.timers.any_repairing() && self.repairs_may_help()))
    }

    /// Advance to the next instant and process it completely. Return false if no event is left.
    ///
    /// External parties are not called.
    pub fn step(&mut self) -> Result<bool, F::Error> {
        loop {
            if let Some(goes_on) = self.step_or_pause()? {
                return Ok(goes_on);
            }
        }
    }

    /// Same as `step`; None if the time slice has ended within the instant.
    pub fn step_or_pause(&mut self) -> Result<Option<bool>, F::Error> {
        loop {
            match self.advance()? {
                YieldPoint::InstantOver => return Ok(Some(true)),
                YieldPoint::End | YieldPoint::Stuck | YieldPoint::Failed => return Ok(Some(false)),
                YieldPoint::Pause => return Ok(None),
                YieldPoint::Changes => drop(self.take_changes()),
                YieldPoint::Allocation(_) => self.allocator_answers(None),
                _ => {}
            }
        }
    }

    /// Advance until the time slice ends, or to the end. Return false if no event is left.
    pub fn run_a_while(&mut self) -> Result<bool, F::Error> {
        loop {
            match self.step_or_pause()? {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => return Ok(true),
            }
        }
    }

    /// Advance until a time, inclusive, or until the time slice ends. Return `Pause` or the reason of the end. External
    /// parties are not called.
    pub fn run_a_while_until(&mut self, time: Time) -> Result<YieldPoint, F::Error> {
        if self.cursor.at != LoopState::Idle && Time(self.state.now) > time {
            return Ok(YieldPoint::End);
        }
        loop {
            match self.advance_until(time)? {
                YieldPoint::Changes => drop(self.take_changes()),
                YieldPoint::Allocation(_) => self.allocator_answers(None),
                point @ (YieldPoint::End | YieldPoint::Stuck | YieldPoint::Failed | YieldPoint::Pause) => {
                    return Ok(point);
                }
                _ => {}
            }
        }
    }

    /// Advance to the next point at which an external party is called, or an instant is over.
    pub fn advance(&mut self) -> Result<YieldPoint, F::Error> {
        self.advance_until(Time::NEVER)
    }

    /// Same as `advance`; return `End` if the next instant is after `time`.
    fn advance_until(&mut self, time: Time) -> Result<YieldPoint, F::Error> {
        loop {
            let point = match self.cursor.at {
                LoopState::Idle => {
                    if self.signal_poll.is_due() {
                        return Ok(YieldPoint::Pause);
                    }
                    let besides_work = self.next_besides_work();
                    let now = self.next_time_among(besides_work);
                    if now == Time::NEVER {
                        return Ok(self.end_point());
                    }
                    if now > time {
                        return Ok(YieldPoint::End);
                    }
                    if self.scenario.overheads.is_some() && self.take_phase_before(besides_work) {
                        return Ok(YieldPoint::InstantOver);
                    }
                    let is_alone = self.is_of_applications_alone(now);
                    let before = std::mem::replace(&mut self.state.now, now.0);
                    self.begin_instant(before, is_alone);
                    self.cursor.at = LoopState::Events;
                    None
                }
                LoopState::Failed => Some(YieldPoint::Failed),
                LoopState::Events => self.take_events()?,
                LoopState::Admitting(job) => {
                    self.cursor.at = LoopState::Events;
                    self.admit(job)?;
                    None
                }
                LoopState::Notifying
                | LoopState::Prioritising
                | LoopState::Passing
                | LoopState::Proposing
                | LoopState::AfterPass => self.go_on_with_pass()?,
                LoopState::EndOfInstant if self.recorders.changes.any() => Some(YieldPoint::Changes),
                LoopState::EndOfInstant => self.end_instant().then_some(YieldPoint::InstantOver),
            };
            if let Some(point) = point {
                return Ok(point);
            }
        }
    }
}
