//! The events of one instant before its passes, in the order of the agenda.
use crate::scheduler::SchedulingRule;
use crate::state::Phase;
use crate::time::Time;
use crate::workload::JobState;

use super::agenda::{EndTies, EventKind, PassRule};
use super::cursor::{LoopState, MAX_IDLE_WAKEUPS};
use super::triggers::Trigger;
use super::{Feed, Simulation, YieldPoint};

impl<F: Feed> Simulation<F> {
    /// Begin an instant. `of_applications_alone` is true if only applications have events at it.
    pub(super) fn begin_instant(&mut self, before: f64, of_applications_alone: bool) {
        if self.state.now > before {
            self.cursor.suspended.clear();
        }
        if self.varies_with_time {
            self.state.changed();
        }
        if self.has_optional_features {
            self.update_optional_features(before);
            self.move_applications(of_applications_alone);
        }
        if !self.waits_for_timers() {
            self.cursor.idle = 0;
        }
        let releases_early = self.agenda.releases_early;
        let is_due = !releases_early && self.reservation_is_due();
        let comes_last = self.agenda.plans_come_last();
        self.cursor.pass_is_due = is_due && !comes_last;
        self.cursor.plan_due = (is_due && comes_last).then_some(Time(self.state.now));
        self.cursor.released_early = !releases_early;
        self.cursor.round = None;
    }

    /// Process events until a pass is due, the instant is over, or an external party has to be called.
    pub(super) fn take_events(&mut self) -> Result<Option<YieldPoint>, F::Error> {
        if self.cursor.idle > MAX_IDLE_WAKEUPS {
            return Ok(Some(YieldPoint::Stuck));
        }
        loop {
            if self.signal_poll.is_due() {
                return Ok(Some(YieldPoint::Pause));
            }
            if self.has_failed() {
                self.cursor.at = LoopState::Failed;
                return Ok(Some(YieldPoint::Failed));
            }
            if let Some((control, event)) = self.cursor.questions.pop_front() {
                return Ok(Some(YieldPoint::Control(control, event)));
            }
            let is_after_each = self.agenda.pass == PassRule::AfterEachEvent && !self.timers_come_first();
            if is_after_each && self.asks_for_pass() {
                self.cursor.at = LoopState::Notifying;
                return Ok(None);
            }
            let Some(kind) = self.next_kind() else { break };
            if let Some(point) = self.take_event(kind)? {
                return Ok(Some(point));
            }
        }
        self.cursor.pass_is_due |= self.cursor.plan_due.take().is_some();
        let is_due = self.pass_is_due();
        self.cursor.pass_is_due = false;
        self.cursor.at = if is_due { LoopState::Notifying } else { LoopState::EndOfInstant };
        if self.state.is_stopped {
            self.leave_scheduling_points();
            // Without passes, nothing else hands them over.
            self.hand_over_ended()?;
        }
        Ok(None)
    }

    /// End the instant. Return false if it has more events.
    pub(super) fn end_instant(&mut self) -> bool {
        let next = self.cursor.timers.next_time().min(self.next_end_besides_applications());
        let next = if self.rare_kinds.is_empty() { next } else { next.min(self.next_gate()) };
        let goes_on = self.cursor.is_disturbed || next <= Time(self.state.now);
        if self.look_at_applications(!goes_on) || goes_on {
            self.cursor.idle += u64::from(self.cursor.is_disturbed);
            self.cursor.pass_is_due |= self.cursor.is_disturbed;
            self.cursor.at = LoopState::Events;
            return false;
        }
        self.cursor.at = LoopState::Idle;
        if self.state.is_stopped && self.recorders.gates.is_some() {
            self.follow_queue();
            self.look_at_gates();
        }
        self.close_key_event();
        self.sleep_and_wake();
        self.fail_if_endless();
        true
    }

    /// Return whether the end of a running job is already being processed, so that decisions about it are refused.
    pub(super) fn is_ending(&self, job: u32) -> bool {
        self.agenda.releases_early && self.cursor.released_early && self.view().ends_now(job)
    }

    /// Return the next kind of event, in the order of the agenda, with an event at this instant.
    fn next_kind(&mut self) -> Option<EventKind> {
        if self.rare_kinds.is_empty()
            && self.cursor.released_early
            && self.next_common_event() > Time(self.state.now)
        {
            self.cursor.round = None;
            return None;
        }
        if self.cursor.round.is_some() {
            if self.next_completion().is_some() {
                return Some(EventKind::Completion);
            }
            self.cursor.round = None;
        }
        for place in 0..self.kinds.len() {
            let kind = self.kinds[place];
            if self.is_due(kind) {
                return Some(kind);
            }
        }
        None
    }

    fn is_due(&mut self, kind: EventKind) -> bool {
        let now = Time(self.state.now);
        match kind {
            EventKind::Timer => self.cursor.timers.next_time() <= now,
            EventKind::Completion => self.next_completion().is_some(),
            EventKind::Submission => self.feed.next_time() <= now,
            EventKind::EarlyRelease => !self.cursor.released_early,
            rare => self.is_rare_event_due(rare),
        }
    }

    /// Process one event of a kind that is due.
    fn take_event(&mut self, kind: EventKind) -> Result<Option<YieldPoint>, F::Error> {
        // A timer changes nothing itself, and a notice of an application may change nothing.
        if !matches!(kind, EventKind::Timer | EventKind::Application) {
            self.state.changed();
        }
        match kind {
            EventKind::Completion => {
                if self.agenda.ties == EndTies::ByStart && self.cursor.round.is_none() {
                    self.cursor.round = Some(self.state.starts);
                }
                self.take_completion();
                Ok(None)
            }
            EventKind::Submission => self.submit(),
            rare => self.take_rare_event(rare),
        }
    }

    /// Return whether timers, ends of grace times or cuts are due before any pass: their changes at one instant count
    /// as one event, unless the scheduler is called event by event.
    fn timers_come_first(&self) -> bool {
        let first = self.cursor.timers.next_time().min(self.next_grace_end());
        let now = Time(self.state.now);
        let are_due = first <= now || self.external_event_is_due(now);
        (are_due || self.cursor.cut.is_some())
            && self.agenda.triggers.is_none()
            && self.cursor.round.is_none()
    }

    /// Return whether a pass is due after the last event; if the scheduler is called event by event, whether it is
    /// called about this event.
    fn asks_for_pass(&mut self) -> bool {
        if self.agenda.triggers.is_none() {
            let is_due = self.pass_is_due();
            self.cursor.pass_is_due = false;
            return is_due;
        }
        let is_woken = std::mem::take(&mut self.cursor.pass_is_due);
        if std::mem::take(&mut self.cursor.is_disturbed) || is_woken {
            return self.asks_about(Trigger::Instant);
        }
        match self.cursor.happened.take() {
            Some(trigger) => self.asks_about(trigger),
            None => false,
        }
    }

    /// Return whether the scheduler is called about an event. If not, a job at a scheduling point continues.
    fn asks_about(&mut self, trigger: Trigger) -> bool {
        if self.state.is_stopped {
            self.leave_scheduling_points();
            return false;
        }
        let now = self.state.now;
        let agenda = std::sync::Arc::clone(&self.agenda);
        let Some(rules) = &agenda.triggers else { return true };
        let mut asked = self.cursor.clock.asks(rules, trigger, now).then_some(trigger);
        if let (None, Trigger::SchedulingPoint(job)) = (asked, trigger) {
            let is_resized = self.pending_allocation(job).is_some();
            let other = Trigger::Reconfiguration(job);
            asked = (is_resized && self.cursor.clock.asks(rules, other, now)).then_some(other);
            if asked.is_none() {
                self.leave_scheduling_points();
            }
        }
        self.cursor.trigger = asked.unwrap_or_default();
        asked.is_some()
    }

    /// Return the next run that ends at this instant, in a round only runs that started before it, and whether it ends
    /// by its limit.
    pub(super) fn next_completion(&self) -> Option<(u32, bool)> {
        let now = Time(self.state.now);
        let by_work = self.state.work.next().filter(|&((time, _), _)| time <= now);
        let by_limit = self.state.limits.peek().filter(|&((time, _), _)| time <= now);
        // If a job reaches its limit and completes its work at the same time, the completion counts.
        let at_limit = match (by_work, by_limit) {
            (Some(work), Some(limit)) => limit.0 < work.0,
            (work, _) => work.is_none(),
        };
        let ((_, sequence), run) = if at_limit { by_limit? } else { by_work? };
        // Its work may be due too, behind the end of another run on the same clock.
        let is_done = at_limit && self.state.work.end_key(run).is_some_and(|(time, _)| time <= now);
        self.cursor.round.is_none_or(|round| sequence < round).then_some((run, at_limit && !is_done))
    }

    fn take_completion(&mut self) {
        let Some((run, at_limit)) = self.next_completion() else { return };
        // The consequences of the previous event are known now, and the job's resources still count.
        self.close_key_event();
        let goes_on = if at_limit { self.cut_run(run) } else { self.go_on_to_next_phase(run) };
        if goes_on {
            let is_over = matches!(self.state.running.get(run).phase, Phase::Completing(_));
            self.cursor.pass_is_due |= is_over && self.scheduler.needs_pass_at_completion();
            return;
        }
        let job = self.state.running.get(run).job;
        self.complete(job, at_limit);
        self.happened(match self.state.jobs.state(job) {
            JobState::Killed => Trigger::Kill(job),
            _ => Trigger::Completion(job),
        });
    }

    /// Record an event that makes a pass due, or about which the scheduler may be called.
    pub(super) fn happened(&mut self, trigger: Trigger) {
        if self.agenda.triggers.is_some() {
            self.cursor.happened = Some(trigger);
        } else {
            self.cursor.pass_is_due = true;
        }
    }

    /// Release the nodes of jobs that end at this instant as estimated: the scheduler already counts them as free.
    pub(super) fn release_early(&mut self) {
        self.cursor.released_early = true;
        let ending: Vec<u32> = self.ending_runs();
        for &run in &ending {
            let job = self.state.running.get(run).job;
            if self.view().expected_end(job).time <= Time(self.state.now) {
                self.release_nodes(job);
            }
        }
        // If only a reservation is due, it gets a pass of its own.
        self.cursor.pass_is_due =
            ending.is_empty() && self.feed.next_time() > Time(self.state.now) && self.reservation_is_due();
    }

    /// Return the runs that end at this instant, in the order of their ends.
    fn ending_runs(&self) -> Vec<u32> {
        let now = Time(self.state.now);
        let mut ending: Vec<((Time, u64), u32)> =
            self.state.work.due(now).into_iter().chain(self.state.limits.due(&(now, u64::MAX))).collect();
        ending.sort_unstable();
        ending.dedup_by_key(|&mut (_, run)| run);
        ending.into_iter().map(|(_, run)| run).filter(|&run| self.view().is_last_phase(run)).collect()
    }

    /// Process a due timer. A pass of an external scheduler follows; with a kernel scheduler only if something is
    /// changed, so that observing a run does not change it.
    pub(super) fn wake(&mut self) -> Option<YieldPoint> {
        let timer = self.cursor.timers.pop_at(Time(self.state.now))?;
        self.cursor.idle += 1;
        if !timer.watching {
            self.cursor.pass_is_due |= self.scheduler.is_external();
        }
        Some(YieldPoint::Timer(timer.caller))
    }

    /// Return whether a reservation is due, or a running job's exempt time ends.
    fn reservation_is_due(&self) -> bool {
        self.cursor.calendar_turn.is_some() || self.next_planned() <= Time(self.state.now)
    }

    /// Return whether a pass is due after the last events; never while the scheduler is stopped.
    fn pass_is_due(&mut self) -> bool {
        if self.state.is_stopped {
            self.cursor.is_disturbed = false;
            return false;
        }
        self.cursor.pass_is_due || self.cursor.is_disturbed
    }

    /// Return the next run that reaches its estimate now. A job that ends as estimated needs no correction.
    pub(super) fn next_expiry(&mut self) -> Option<u32> {
        while let Some(((time, _), run)) = self.state.expiries.peek() {
            if time > Time(self.state.now) {
                return None;
            }
            if !self.view().phase_ends_now(run) {
                return Some(run);
            }
            self.state.expiries.remove(run);
        }
        None
    }

    /// Process a running job that reaches its estimate. The corrector is notified of all earlier changes first.
    pub(super) fn expire(&mut self) -> Option<YieldPoint> {
        let run = self.next_expiry()?;
        if self.recorders.changes.any() {
            return Some(YieldPoint::Changes);
        }
        self.state.expiries.remove(run);
        self.cursor.pass_is_due = true;
        Some(YieldPoint::Expiry(self.state.running.get(run).job))
    }

    /// Submit the next job. Return a yield point if its run time is estimated outside.
    fn submit(&mut self) -> Result<Option<YieldPoint>, F::Error> {
        if self.listeners.estimates && self.recorders.changes.any() {
            // The estimator is notified of all earlier changes first.
            return Ok(Some(YieldPoint::Changes));
        }
        let job = self.feed.submit(&mut self.scenario, &mut self.state)?;
        // Also if the job is rejected at once.
        self.cursor.pass_is_due |= self.agenda.triggers.is_none();
        if self.listeners.estimates {
            self.cursor.at = LoopState::Admitting(job);
            return Ok(Some(YieldPoint::Submission(job)));
        }
        self.admit(job)?;
        Ok(None)
    }
}
