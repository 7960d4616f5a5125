//! The event loop: one instant after the other, in the order of the [`Agenda`].
//!
//! The loop can be left at every point at which something outside is asked ([`YieldPoint`]) and entered again: all it
//! knows is in the [`Simulation`], so a clone is a fork, also in the middle of an instant.
mod agenda;
mod applications;
mod calculation;
mod check;
mod cursor;
mod cut;
mod decide;
mod eligibility;
mod external_events;
mod failure;
mod feed;
mod instant;
mod lifecycle;
mod look_ahead;
mod pass;
mod patience;
mod preempting;
mod refusal;
mod resize;
mod service;
mod sleep;
mod snapshot;
mod timers;
mod triggers;
mod yield_point;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::placement::Allocator;
use crate::priority::Priority;
use crate::record::{Change, PlatformSensor, Recorders};
use crate::scenario::Scenario;
use crate::scheduler::{PolicyParts, Scheduler, SchedulingRule};
use crate::state::{State, View, Violation};
use crate::time::Time;

pub use agenda::{Agenda, EndTies, EventKind, PassRule, TriggerKind, TriggerRules};
pub use cursor::{Listeners, MAX_IDLE_WAKEUPS};
pub use failure::Failure;
pub use feed::Feed;
pub use refusal::Refusal;
pub use snapshot::SnapshotError;
pub use triggers::Trigger;
pub use yield_point::YieldPoint;

use cursor::{Cursor, LoopState};
use patience::Patience;

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
    /// The kinds of events that this run may have, in the order of the agenda; follows from it and the rest.
    kinds: Vec<EventKind>,
    /// Whether anything may happen but submissions, ends, plans that are due and timers; follows from the kinds.
    has_rare_events: bool,
    /// Whether anything changes with time alone but the work of running jobs; follows likewise.
    has_rare_states: bool,
    /// Whether keys or what limits admit change with time alone; follows likewise.
    varies_with_time: bool,
    listeners: Listeners,
    cursor: Cursor,
    patience: Patience,
    feed: F,
}

impl<F: Feed> Simulation<F> {
    /// A simulation before its first instant.
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
            // A streamed run learns of its requests only as it goes on.
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
            patience: Patience::default(),
            agenda: Arc::new(agenda),
            kinds: Vec::new(),
            has_rare_events: true,
            has_rare_states: true,
            varies_with_time: true,
            listeners: Listeners::default(),
            feed,
        };
        simulation.keep_indices();
        simulation.choose_kinds();
        simulation
    }

    /// The same with listeners.
    #[must_use]
    pub fn with_listeners(mut self, listeners: Listeners) -> Self {
        self.listeners = listeners;
        self.choose_kinds();
        self
    }

    /// The same with recorders.
    #[must_use]
    pub fn with_recorders(mut self, mut recorders: Recorders) -> Self {
        if let Some(sensor) = &mut recorders.platform {
            sensor.begin(self.scenario.first_submission);
        }
        self.recorders = recorders;
        self.expect_looks();
        self
    }

    /// Keeps the indices that the policy asks for.
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

    /// What is given, and what changes.
    pub fn view(&self) -> View<'_> {
        View { scenario: &self.scenario, state: &self.state }
    }

    /// What is given.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What changes.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The scheduler as it stands.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The allocator as it stands.
    pub fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    /// What is written down of the run.
    pub fn recorders(&self) -> &Recorders {
        &self.recorders
    }

    /// The feed, with what it has fed.
    pub fn feed_and_view(&mut self) -> (&mut F, View<'_>) {
        (&mut self.feed, View { scenario: &self.scenario, state: &self.state })
    }

    /// The feed, to be closed, with what it has fed.
    pub fn into_parts(self) -> (F, Arc<Scenario>, State) {
        (self.feed, self.scenario, self.state)
    }

    /// Why the scheduler is being asked.
    pub fn trigger(&self) -> Trigger {
        self.cursor.trigger
    }

    /// Why the run cannot go on.
    pub fn failure(&self) -> Option<Failure<'_>> {
        if let Some(defect) = self.state.defect {
            return Some(Failure::Defect(defect));
        }
        if let Some((span, interval)) = self.recorders.platform.as_ref().and_then(PlatformSensor::refused) {
            return Some(Failure::Looks { span, interval });
        }
        self.cursor.failure.as_ref().map(|(job, reason)| Failure::Application { job: *job, reason })
    }

    /// Whether the run cannot go on.
    fn has_failed(&self) -> bool {
        let is_refused = || self.recorders.platform.as_ref().is_some_and(|sensor| sensor.refused().is_some());
        self.state.defect.is_some() || self.cursor.failure.is_some() || is_refused()
    }

    /// What changed since this was asked last.
    pub fn take_changes(&mut self) -> Vec<(Change, u32)> {
        self.recorders.changes.take()
    }

    /// The next instant at which something happens; [`Time::NEVER`] at the end.
    pub fn next_time(&self) -> Time {
        if self.cursor.at != LoopState::Idle {
            return Time(self.state.now);
        }
        self.next_time_among(self.next_besides_work())
    }

    /// The next instant at which something happens besides the end of a phase of a job whose work is a time.
    fn next_besides_work(&self) -> Time {
        let next = self.cursor.timers.next_time().min(self.feed.next_time()).min(self.next_planned());
        let next = next.min(self.next_limit());
        if self.has_rare_events { next.min(self.next_rare_event()) } else { next }
    }

    /// The next submission, end or timer.
    fn next_common_event(&self) -> Time {
        let next = self.cursor.timers.next_time().min(self.feed.next_time());
        next.min(self.next_limit()).min(self.next_end_of_work())
    }

    /// The next instant at which something happens that only runs with further options have.
    #[inline(never)]
    fn next_rare_event(&self) -> Time {
        let applications = self.state.applications.as_ref().map_or(Time::NEVER, |running| running.next);
        self.next_rare_event_besides_applications().min(applications)
    }

    /// The same but for what applications do.
    fn next_rare_event_besides_applications(&self) -> Time {
        self.next_external_event()
            .min(self.next_rare_end())
            .min(self.next_gate())
            .min(self.next_question())
            .min(self.next_in_calendar())
    }

    /// Whether nothing but applications has something to do at the next instant.
    fn is_of_applications_alone(&self, next: Time) -> bool {
        self.state.applications.as_ref().is_some_and(|running| running.next <= next)
            && self.next_common_event() > next
            && self.next_planned() > next
            && self.next_rare_event_besides_applications() > next
            && self.next_power_event() > next
    }

    /// The next instant, where the next besides the ends of work is known; [`Time::NEVER`] also where nothing can happen any more
    /// but timers that bring nothing about.
    fn next_time_among(&self, besides_work: Time) -> Time {
        let next = besides_work.min(self.next_end_of_work());
        let is_timed = self.cursor.timers.any() && next != Time::NEVER;
        let next = if is_timed && self.waits_for_timers() && self.is_in_vain() { Time::NEVER } else { next };
        // What nodes do keeps no run going.
        if next == Time::NEVER { next } else { next.min(self.next_power_event()) }
    }

    /// Where a run stops at which nothing is left to happen. Where no job is left, limits count none.
    fn end_point(&mut self) -> YieldPoint {
        let is_over = self.state.running.is_empty() && self.state.queue.has_none_waiting();
        if is_over && self.state.limited.as_ref().is_some_and(|limited| !limited.counts.are_idle()) {
            self.state.violates(0, Violation::Limits);
            return YieldPoint::Failed;
        }
        YieldPoint::End
    }

    /// The next end, limit, expiry, end of a grace time, or deed of an application.
    fn next_end(&self) -> Time {
        let applications = self.state.applications.as_ref().map_or(Time::NEVER, |running| running.next);
        self.next_end_besides_applications().min(applications)
    }

    /// The same but for what applications do.
    fn next_end_besides_applications(&self) -> Time {
        let next = self.next_end_of_work().min(self.next_limit());
        if self.has_rare_events { next.min(self.next_rare_end()) } else { next }
    }

    fn next_end_of_work(&self) -> Time {
        self.state.work.next().map_or(Time::NEVER, |((time, _), _)| time)
    }

    fn next_limit(&self) -> Time {
        self.state.limits.peek().map_or(Time::NEVER, |((time, _), _)| time)
    }

    /// The next end that only runs with further options have, but for what applications do.
    #[inline(never)]
    fn next_rare_end(&self) -> Time {
        let expiry = self.state.expiries.peek().map_or(Time::NEVER, |((time, _), _)| time);
        expiry.min(self.next_grace_end()).min(self.next_switch())
    }

    /// When the scheduler has a reservation due, or a running job may be a victim from now on; never while it is stopped.
    fn next_planned(&self) -> Time {
        if self.state.is_stopped {
            return Time::NEVER;
        }
        let exemption =
            self.state.preemption.as_ref().map_or(Time::NEVER, |preemption| preemption.next_exemption());
        self.scheduler.next_due().min(exemption)
    }

    /// When the clock alone has the scheduler asked; never where no job is left to be decided about.
    fn next_question(&self) -> Time {
        if self.agenda.triggers.is_none() {
            return Time::NEVER;
        }
        let is_empty = self.feed.next_time() == Time::NEVER
            && self.state.running.is_empty()
            && self.state.queue.has_none_waiting();
        if is_empty { Time::NEVER } else { self.cursor.clock.next_time() }
    }

    /// Whether nothing can happen any more but by timers, or questions of the clock.
    fn waits_for_timers(&self) -> bool {
        (self.cursor.timers.any() || self.next_question() != Time::NEVER)
            && self.feed.next_time() == Time::NEVER
            && self.next_end() == Time::NEVER
            && self.next_gate() == Time::NEVER
            && self.next_external_event() == Time::NEVER
            && self.next_planned() == Time::NEVER
            && self.next_in_calendar() == Time::NEVER
    }

    /// When the next reservation of the machine begins or ends; never where no job waits for that, or runs that it may cancel.
    fn next_in_calendar(&self) -> Time {
        match self.state.occurrences(&self.scenario) {
            Some(calendar) if !self.state.queue.is_empty() && !self.state.is_stopped => {
                Time(calendar.next_after(self.state.now))
            }
            Some(calendar) if !self.state.running.is_empty() => Time(calendar.next_cut_after(self.state.now)),
            _ => Time::NEVER,
        }
    }

    /// Whether timers can bring nothing about: no job is left, or they only watch, or repair for jobs that never fit. A job that
    /// never ends may be killed.
    fn is_in_vain(&self) -> bool {
        (self.state.running.is_empty() && self.state.queue.has_none_waiting())
            || (!self.cursor.timers.any_acting()
                && self.next_question() == Time::NEVER
                && !(self.cursor.timers.any_repairing() && self.repairs_may_help()))
    }

    /// Goes on to the next instant and does everything that happens there; false if nothing is left to happen.
    ///
    /// Nothing outside is asked.
    pub fn step(&mut self) -> Result<bool, F::Error> {
        loop {
            if let Some(goes_on) = self.step_or_pause()? {
                return Ok(goes_on);
            }
        }
    }

    /// The same; None where a while has passed, and the instant is not over.
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

    /// Goes on until a while has passed, or to the end; false if nothing is left to happen.
    pub fn run_a_while(&mut self) -> Result<bool, F::Error> {
        loop {
            match self.step_or_pause()? {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => return Ok(true),
            }
        }
    }

    /// Goes on until a time, inclusive, or until a while has passed: `Pause`, or why it ended. Nothing outside is asked.
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

    /// Goes on to the next point at which something outside is asked, or an instant is over.
    pub fn advance(&mut self) -> Result<YieldPoint, F::Error> {
        self.advance_until(Time::NEVER)
    }

    /// The same; `End` where the next instant is after a time.
    fn advance_until(&mut self, time: Time) -> Result<YieldPoint, F::Error> {
        loop {
            let point = match self.cursor.at {
                LoopState::Idle => {
                    if self.patience.is_over() {
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
